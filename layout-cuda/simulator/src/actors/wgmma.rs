//! wgmma: products of a warpgroup from shared memory; and stores of matrices.
//!
//! Each of the four warps computes its 16 rows at the issue. Operands and accumulator count as in use until the warp
//! has waited for the group. The layout of an operand is a [`SharedMatrix`](layout_compiler::program::SharedMatrix).
//! Products of two elements are exact in f32; they are added in f32 in the order of `k`, with one rounding each. f32
//! operands lose their low 13 bits. A GPU adds products of 8-bit floats with fewer bits than f32 has; this is not
//! simulated. Sums of integers wrap.
//!
//! Law: a group is complete for a warp when all warps of the warpgroup have committed it and the warp has waited.

use crate::async_op::{DEPTH, LeftOperand, MatrixOperand, ROWS, WgmmaOperands};
use crate::bytecode::{LANES, Sum, Target};
use crate::event::Event;
use crate::findings::Message;
use crate::machine::Machine;
use crate::memory::bytes;
use crate::memory::tensor_map::{PIECE, swizzled};
use crate::report::FindingKind;
use crate::state::lanes::Direction;
use crate::state::warp::{State, Warp, each_lane};
use layout_compiler::elem::Elem;
use layout_compiler::small_float;

impl Machine<'_> {
    pub(crate) fn warpgroup(&self, warp: usize) -> std::ops::Range<usize> {
        let block = self.warps_of(self.rank(warp));
        let first = block.start + (warp - block.start) / 4 * 4;
        first..block.end.min(first + 4)
    }

    /// The number of a warp's warpgroup in the cluster.
    fn group(&self, warp: usize) -> usize {
        self.rank(warp) * self.warps_of_block().div_ceil(4) + self.inside(warp) / 4
    }

    /// Whether every warp of the warpgroup has committed this many groups.
    pub(crate) fn issued_by_all(&self, warp: usize, groups: u32) -> bool {
        self.warpgroup(warp).all(|other| self.proxy.products.committed[other] >= groups)
    }

    pub(crate) fn matrix_commit(&mut self, warp: &mut Warp, site: u32) {
        self.converged(warp, "wgmma_commit_group", site);
        self.proxy.products.committed[warp.number as usize] += 1;
    }

    /// Waits until at most `groups` groups are in flight; false if another warp has not committed its group.
    pub(crate) fn matrix_wait(&mut self, warp: &mut Warp, groups: u32, site: u32) -> bool {
        self.converged(warp, "wgmma_wait_group", site);
        let number = warp.number as usize;
        let done = self.proxy.products.committed[number].saturating_sub(groups);
        if !self.issued_by_all(number, done) {
            warp.state = State::Products { groups: done, site };
            return false;
        }
        warp.accumulators.retain(|(group, _, _)| *group > done);
        let engine = self.proxy.product_engine(self.group(number)) - self.count;
        self.clocks.of(warp.number).acquire(warp.active, |known| known.acquire_engine(engine, done + 1));
        true
    }

    /// Reports an access to an accumulator in flight.
    pub(crate) fn touched(&mut self, warp: &mut Warp, slot: u32, width: u32, number: u32) {
        let loading =
            warp.tensor_loads.iter().any(|(first, count)| slot < first + count && *first < slot + width);
        if loading {
            let site = &self.launch.program.sites[number as usize];
            let name = self.launch.program.names.get(site.place as usize).cloned().unwrap_or_default();
            self.report(FindingKind::MissingWait, number, warp.number, warp.active, None, |_| {
                format!("`{name}` is accessed while a load of tensor memory into it is in flight: no `tcgen05_wait_load()` in \
                between")
            });
        }
        let hit =
            warp.accumulators.iter().find(|(_, first, count)| slot < first + count && *first < slot + width);
        if hit.is_none() {
            return;
        }
        let site = &self.launch.program.sites[number as usize];
        let name = self.launch.program.names.get(site.place as usize).cloned().unwrap_or_default();
        self.report(FindingKind::MissingWait, number, warp.number, warp.active, None, |_| {
            format!("the accumulator `{name}` is accessed while a product into it is in flight: no `wgmma_wait_group` in \
            between")
        });
    }

    /// The rows of a warp of one wgmma.
    pub(crate) fn product(&mut self, warp: &mut Warp, product: &WgmmaOperands) {
        self.converged(warp, "wgmma", product.site);
        self.take_part(warp, product);
        let depth = DEPTH / product.elem.bytes() as usize;
        let n = product.n as usize;
        let (number, half) = (warp.number as usize, product.n / 2);
        let group = self.proxy.products.committed[number] + 1;
        let adds = warp.mask[product.accumulate as usize];
        let registers = product.register as usize..(product.register + half) as usize;
        let in_flight = warp.accumulators.iter().any(|(_, first, _)| *first == product.slot);
        self.notify(&Event::WgmmaIssued { warp, product, adds: adds & warp.active, in_flight });
        let rows = self.inside(number) % 4 * ROWS;
        let by = (self.proxy.product_engine(self.group(number)), group, 0);
        let a = match &product.a {
            LeftOperand::Shared(matrix) => self.operand(warp, matrix, product.elem, rows..rows + ROWS, by),
            LeftOperand::Registers(registers) => fragment(warp, registers, product.elem),
        };
        let b = self.operand(warp, &product.b, product.elem, 0..n, by);
        let mut d = vec![0f32; ROWS * n];
        // 32 products of bytes are exact in f32; they are added to the accumulator as integers.
        let integers = product.elem.is_integer();
        if !integers {
            for (register, lanes) in warp.f32[registers.clone()].iter().enumerate() {
                for lane in each_lane(warp.active & adds) {
                    d[at(register, lane, n)] = lanes[lane];
                }
            }
        }
        for (row, d) in d.chunks_exact_mut(n).enumerate() {
            for k in 0..depth {
                let a = a[k * ROWS + row];
                for (d, b) in d.iter_mut().zip(&b[k * n..(k + 1) * n]) {
                    *d += a * b;
                }
            }
        }
        if integers {
            for (register, lanes) in warp.int[registers].iter_mut().enumerate() {
                for lane in each_lane(warp.active) {
                    let before = if adds >> lane & 1 != 0 { lanes[lane] } else { 0 };
                    lanes[lane] = Elem::I32.wrap(before.wrapping_add(d[at(register, lane, n)] as i64));
                }
            }
        } else {
            for (register, lanes) in warp.f32[registers].iter_mut().enumerate() {
                for lane in each_lane(warp.active) {
                    lanes[lane] = d[at(register, lane, n)];
                }
            }
        }
        if !warp.accumulators.contains(&(group, product.slot, half)) {
            warp.accumulators.push((group, product.slot, half));
        }
    }

    /// Checks that the four warps of a warpgroup issue the same wgmma.
    fn take_part(&mut self, warp: &Warp, product: &WgmmaOperands) {
        let number = warp.number as usize;
        let group = self.warpgroup(number);
        if group.len() < 4 && self.proxy.products.issued[number] == 0 {
            let count = group.len();
            self.report(FindingKind::DivergentBarrier, product.site, warp.number, warp.live, None, |_| {
                format!("a product of a warpgroup that has {count} warps; it takes 4")
            });
        }
        let at = self.group(number);
        let log = &mut self.proxy.products.log[at];
        let mine = self.proxy.products.issued[number];
        self.proxy.products.issued[number] += 1;
        let Some(other) = log.get(mine).copied() else {
            log.push(product.site);
            return;
        };
        if other != product.site {
            let line = self.launch.program.sites[other as usize].line;
            self.report(FindingKind::DivergentBarrier, product.site, warp.number, warp.live, None, |_| {
                let message = format!("warp {number} takes part in this product while another warp of its warpgroup is at the one in line {line}");
                Message::with_line(message, line)
            });
        }
    }

    /// Reports warps that skipped wgmmas of their warpgroup.
    pub(crate) fn divergent_products(&mut self) {
        for number in 0..self.count {
            let group = self.warpgroup(number);
            let most = group.clone().map(|warp| self.proxy.products.issued[warp]).max().unwrap_or(0);
            let mine = self.proxy.products.issued[number];
            let site = self.proxy.products.log.get(self.group(number)).and_then(|log| log.get(mine)).copied();
            if let Some(site) = site.filter(|_| mine < most) {
                self.report(FindingKind::DivergentBarrier, site, number as u32, 1, None, |_| {
                    format!("warp {number} takes part in {mine} of the {most} products of its warpgroup")
                });
            }
        }
    }

    /// Reports wgmmas in flight at the end of a block, and warps that skipped some.
    pub(crate) fn finish_products(&mut self) {
        self.divergent_products();
        for number in 0..self.count {
            let in_flight = self.warps[number].accumulators.len();
            let site = self.proxy.products.log.get(self.group(number)).and_then(|log| log.last()).copied();
            if let Some(site) = site.filter(|_| in_flight > 0) {
                self.report(FindingKind::InFlightAtEnd, site, number as u32, 1, None, |_| {
                    "the block ends with products in flight: no `wgmma_wait_group(0)` after them".to_owned()
                });
            }
        }
    }

    /// Reads rows of A or columns of B as `[k][outer]`, by an engine at its time; `lanes` issue the product, of a whole warp 0.
    pub(crate) fn operand(
        &mut self,
        warp: &Warp,
        matrix: &MatrixOperand,
        elem: Elem,
        outer: std::ops::Range<usize>,
        (engine, time, lanes): (usize, u32, u32),
    ) -> Vec<f32> {
        let size = elem.bytes() as usize;
        let (depth, count) = (DEPTH / size, outer.len());
        let mut values = vec![0f32; depth * count];
        let lane = warp.active.trailing_zeros() as usize;
        let index = warp.lanes(matrix.first)[lane];
        let site = &self.launch.program.sites[matrix.site as usize];
        let Target::Shared(base) = site.target else { return values };
        if !(0..site.len.max(1)).contains(&index) {
            self.ready(warp, Sum::constant(index), None, matrix.site, Direction::Read);
            return values;
        }
        let first = u64::from(warp.shared + base) + index as u64 * size as u64;
        let span = matrix.swizzle_bytes as usize;
        let width = (span / size).max(1);
        let pack = PIECE / size;
        let (mut outside, mut addresses) = (false, Vec::new());
        let observed = self.observed();
        let mut piece = |offset: usize, put: &mut dyn FnMut(usize, f32)| {
            let address = swizzled(first + offset as u64, matrix.swizzle_bytes);
            if observed {
                addresses.push(address);
            }
            let Some(bytes) = self.shared.get(address as usize..address as usize + PIECE) else {
                outside = true;
                return;
            };
            for element in 0..pack {
                let bits = bytes::read(bytes, element * size, elem.bytes()) as u32;
                let value = match elem {
                    Elem::F32 => f32::from_bits(bits & !0x1fff),
                    Elem::I8 => f32::from(bits as u8 as i8),
                    Elem::U8 => f32::from(bits as u8),
                    small => small_float::decode(bits, small),
                };
                put(element, value);
            }
        };
        if matrix.k_major {
            for (at, i) in outer.enumerate() {
                let row = i % 8 * span + i / 8 * matrix.stride_bytes as usize;
                for part in 0..DEPTH / PIECE {
                    piece(row + part * PIECE, &mut |element, value| {
                        values[(part * pack + element) * count + at] = value;
                    });
                }
            }
        } else {
            for k in 0..depth {
                let row = k % 8 * span + k / 8 * matrix.stride_bytes as usize;
                for (at, i) in outer.clone().enumerate().step_by(pack) {
                    let offset = i % width * size + i / width * matrix.leading_bytes as usize + row;
                    piece(offset, &mut |element, value| {
                        if let Some(known) = values.get_mut(k * count + at + element) {
                            *known = value;
                        }
                    });
                }
            }
        }
        self.notify(&Event::OperandRead { warp, matrix, engine: (engine, time), lanes, pieces: &addresses });
        if outside {
            self.report(FindingKind::OutOfBounds, matrix.site, warp.number, warp.active, Some(index), |_| {
                format!("an operand of a product that begins at element {index} ends beyond shared memory")
            });
        }
        values
    }

    /// Four matrices of 8 x 8: the address of lane `l` is row `l % 8` of matrix `l / 8`; its registers are two elements
    /// of row `l / 4` of each matrix.
    pub(crate) fn store_matrix(&mut self, warp: &mut Warp, src: u32, dst: u32, address: Sum, site: u32) {
        self.converged(warp, "store_matrix", site);
        for column in 0..8 {
            for lane in 0..LANES {
                let (matrix, row) = (lane / 8, lane % 8);
                let register = src as usize + 2 * matrix + column % 2;
                warp.f32[dst as usize + column][lane] = warp.f32[register][4 * row + column / 2];
            }
        }
        self.store(warp, dst, address, None, site);
    }
}

/// The index of an accumulator register in the warp's 16 rows of `n`.
fn at(register: usize, lane: usize, n: usize) -> usize {
    let (j, h, c) = (register / 4, register / 2 % 2, register % 2);
    (lane / 4 + 8 * h) * n + 8 * j + 2 * (lane % 4) + c
}

/// The left operand from registers as `[k][row]`.
fn fragment(warp: &Warp, registers: &[u32], elem: Elem) -> Vec<f32> {
    let size = elem.bytes() as usize;
    // Elements in a 32-bit register, contiguous in k.
    let pack = 4 / size;
    let mut values = vec![0f32; DEPTH / size * ROWS];
    for (number, register) in registers.iter().enumerate() {
        let (inner, half, far) = (number % pack, number / pack % 2, number / pack / 2);
        for lane in 0..LANES {
            let row = lane / 4 + 8 * half;
            let k = lane % 4 * pack + inner + 4 * pack * far;
            let value = warp.f32[*register as usize][lane];
            let value = if elem == Elem::F32 { f32::from_bits(value.to_bits() & !0x1fff) } else { value };
            if let Some(known) = values.get_mut(k * ROWS + row) {
                *known = value;
            }
        }
    }
    values
}
