//! tcgen05: tensor memory, the products of one thread, and their commits.
//!
//! A product computes at its issue; its operands and its sums count as in use until a wait for an mbarrier has the arrival of
//! a commit of the issuing thread. The arrival comes as late as the schedule allows. A move takes effect at its issue, too,
//! and is in flight until the warp's wait. Sums are as in `wgmma`.
//!
//! Law: nothing beyond the lanes and the columns of tensor memory is read or written, and a warp reaches its quarter only.

use crate::async_op::{
    AsyncOp, BarrierOperand, DEPTH, TensorLeft, TensorMoveOperands, TensorProductOperands,
};
use crate::bytecode::{LANES, Sum};
use crate::event::{Event, TensorAccess, TensorSync, TensorUse};
use crate::machine::Machine;
use crate::report::FindingKind;
use crate::state::lanes::Direction;
use crate::state::proxy::PendingLoad;
use crate::state::warp::{State, Warp, each_lane};
use layout_compiler::elem::Elem;
use layout_compiler::program::tensor_memory::{self, COLUMNS, LANE, packed};
use layout_compiler::small_float;

impl Machine<'_> {
    /// The allocation by a warp: its address, which is 0, goes to shared memory.
    pub(crate) fn tensor_allocate(&mut self, warp: &mut Warp, src: u32, site: u32) {
        self.converged(warp, "the allocation of tensor memory", site);
        let rank = self.rank(warp.number as usize);
        self.proxy.tensor.allocated[rank] = Some((warp.number, site));
        warp.int[src as usize] = [0; LANES];
        // One store, by any lane of the warp.
        let active = warp.active;
        warp.active &= active.wrapping_neg();
        self.store(warp, src, Sum::constant(0), None, site);
        warp.active = active;
    }

    pub(crate) fn tensor_free(&mut self, warp: &mut Warp, site: u32) {
        self.converged(warp, "the end of tensor memory", site);
        let rank = self.rank(warp.number as usize);
        let columns = 0..COLUMNS;
        self.tensor_used(warp, TensorAccess { site, what: TensorUse::Free, quarters: 0..4, columns });
        self.proxy.tensor.allocated[rank] = None;
    }

    /// A fence of some lanes, or a wait of the warp.
    pub(crate) fn tensor_sync(&mut self, warp: &mut Warp, what: TensorSync, site: u32) {
        if let TensorSync::Wait { .. } = what {
            self.converged(warp, "a wait for tensor memory", site);
            warp.tensor_loads.clear();
        }
        self.notify(&Event::TensorSync { warp, what });
        // What follows is after it.
        self.clocks.of(warp.number).tick();
    }

    /// Reports the use of tensor memory that is not allocated, then what else is wrong with it.
    fn tensor_used(&mut self, warp: &Warp, access: TensorAccess) {
        let rank = self.rank(warp.number as usize);
        if self.proxy.tensor.allocated[rank].is_none() {
            self.report(FindingKind::Uninitialised, access.site, warp.number, warp.active, None, |_| {
                "tensor memory is used that is not allocated".to_owned()
            });
        }
        self.notify(&Event::TensorAccess { warp, access: &access });
    }

    /// Lane and column of an address, where so many lanes and columns are in tensor memory.
    fn tensor_at(
        &mut self,
        warp: &Warp,
        address: Sum,
        [lanes, columns]: [u32; 2],
        site: u32,
    ) -> Option<[u32; 2]> {
        let address = warp.lanes(address)[warp.active.trailing_zeros() as usize % LANES];
        let (lane, column) = (address.div_euclid(LANE), address.rem_euclid(LANE));
        let fits =
            |first: i64, count: u32, all: u32| first >= 0 && first + i64::from(count) <= i64::from(all);
        if fits(lane, lanes, tensor_memory::LANES) && fits(column, columns, COLUMNS) {
            return Some([lane as u32, column as u32]);
        }
        self.report(FindingKind::OutOfBounds, site, warp.number, warp.active, None, |_| {
            format!(
                "{lanes} lanes and {columns} columns of tensor memory from lane {lane}, column {column} on"
            )
        });
        None
    }

    /// The product of one thread.
    pub(crate) fn tensor_product(&mut self, warp: &mut Warp, product: &TensorProductOperands) {
        let issuing = warp.active.count_ones();
        if issuing > 1 {
            self.report(FindingKind::DivergentBarrier, product.site, warp.number, warp.active, None, |_| {
                format!("{issuing} threads of a warp issue this product; one thread does: `if elect_one() {{ .. }}`")
            });
        }
        let (m, n) = (product.m, product.n);
        let Some([_, column]) = self.tensor_at(warp, product.address, [1, n], product.site) else { return };
        let (number, lane) = (warp.number as usize, warp.active.trailing_zeros() as usize % LANES);
        let rank = self.rank(number);
        let engine = self.proxy.tensor_engine(number);
        self.proxy.tensor.issued[number] += 1;
        let time = self.proxy.tensor.issued[number];
        let thread = warp.number * LANES as u32 + lane as u32;
        self.proxy.tensor.last.retain(|(by, _)| *by != thread);
        self.proxy.tensor.last.push((thread, time));
        self.proxy.tensor.uncommitted.push((thread, product.site));
        let adds = warp.mask[product.accumulate as usize] >> lane & 1 != 0;
        let what = TensorUse::Product { engine, time, form: (m, n, product.elem), adds };
        let columns = column..column + n;
        self.tensor_used(warp, TensorAccess { site: product.site, what, quarters: 0..4, columns });
        let by = (engine, time, 1 << lane);
        let a = match &product.a {
            TensorLeft::Shared(matrix) => self.operand(warp, matrix, product.elem, 0..m as usize, by),
            TensorLeft::Tensor(address, site) => {
                let Some(at) = self.tensor_at(warp, *address, [m, DEPTH as u32 / 4], *site) else { return };
                let what = TensorUse::Operand { engine, time };
                let columns = at[1]..at[1] + DEPTH as u32 / 4;
                self.tensor_used(warp, TensorAccess { site: *site, what, quarters: 0..4, columns });
                self.left_operand(rank, at, m as usize, product.elem)
            }
        };
        let b = self.operand(warp, &product.b, product.elem, 0..n as usize, by);
        let depth = DEPTH / product.elem.bytes() as usize;
        let (rows, count) = (m as usize, n as usize);
        let (mut sums, mut wholes, integers) = (vec![0f32; count], vec![0; count], product.elem.is_integer());
        for row in 0..rows {
            let lane = tensor_memory::lane(m, row as u32);
            for (j, sum) in sums.iter_mut().enumerate() {
                let before = self.proxy.tensor.read(rank, lane, column + j as u32);
                *sum = if adds && !integers { f32::from_bits(before) } else { 0.0 };
                wholes[j] = if adds { before } else { 0 };
            }
            for k in 0..depth {
                let a = a[k * rows + row];
                let b = &b[k * count..(k + 1) * count];
                sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
            }
            for (j, sum) in sums.iter().enumerate() {
                // 32 products of bytes are exact in f32.
                let bits = if integers { wholes[j].wrapping_add(*sum as i32 as u32) } else { sum.to_bits() };
                self.proxy.tensor.write(rank, lane, column + j as u32, bits);
            }
        }
        self.clocks.of(warp.number).tick();
    }

    /// A left operand of so many rows from lane and column on, as `[k][row]`.
    fn left_operand(&self, rank: usize, [lane, column]: [u32; 2], rows: usize, elem: Elem) -> Vec<f32> {
        let each = packed(elem) as usize;
        let mut values = vec![0f32; DEPTH / elem.bytes() as usize * rows];
        for (at, value) in values.iter_mut().enumerate() {
            let (k, row) = (at / rows, (at % rows) as u32);
            let bits = self.proxy.tensor.read(rank, lane + row, column + (k / each) as u32);
            *value = match elem {
                Elem::F32 => f32::from_bits(bits & !0x1fff),
                Elem::I8 => f32::from(element(bits, k % each, elem) as u8 as i8),
                Elem::U8 => f32::from(element(bits, k % each, elem) as u8),
                small => small_float::decode(element(bits, k % each, small), small),
            };
        }
        values
    }

    /// A warp's load or store.
    pub(crate) fn tensor_move(&mut self, warp: &mut Warp, moved: &TensorMoveOperands) {
        let TensorMoveOperands { stores, elem, register, slot, columns, site, .. } = *moved;
        let word = if stores { "tcgen05_store" } else { "tcgen05_load" };
        self.converged(warp, word, site);
        let Some([lane, column]) = self.tensor_at(warp, moved.address, [32, columns], site) else { return };
        let number = warp.number as usize;
        let (rank, own) = (self.rank(number), self.inside(number) as u32 % 4);
        if lane != 32 * own {
            let (last, first) = (lane + 31, 32 * own);
            self.report(FindingKind::OutOfBounds, site, warp.number, warp.active, None, |_| {
                format!(
                    "`{word}` of the lanes {lane} to {last} of tensor memory by warp {number}, which reaches {first} to {} only",
                    first + 31
                )
            });
            return;
        }
        let what = if stores { TensorUse::Store } else { TensorUse::Load };
        let range = column..column + columns;
        self.tensor_used(warp, TensorAccess { site, what, quarters: own..own + 1, columns: range });
        let each = packed(elem) as u32;
        for j in 0..columns {
            for thread in each_lane(warp.active) {
                let lane = lane + thread as u32;
                if stores {
                    let part = |at: u32| {
                        let register = (register + each * j + at) as usize;
                        let bits = match elem {
                            Elem::I32 => warp.int[register][thread] as u32,
                            Elem::I8 | Elem::U8 => u32::from(warp.int[register][thread] as u8),
                            _ => small_float::held(warp.f32[register][thread], elem),
                        };
                        bits << (at * 8 * elem.bytes())
                    };
                    let bits = (0..each).map(part).fold(0, |bits, part| bits | part);
                    self.proxy.tensor.write(rank, lane, column + j, bits);
                } else {
                    let bits = self.proxy.tensor.read(rank, lane, column + j);
                    match elem {
                        Elem::I32 => warp.int[(register + j) as usize][thread] = i64::from(bits as i32),
                        _ => warp.f32[(register + j) as usize][thread] = f32::from_bits(bits),
                    }
                }
            }
        }
        if !stores {
            warp.tensor_loads.push((slot, columns));
        }
    }

    /// The mbarrier gets an arrival when the thread's products are complete.
    pub(crate) fn tensor_commit(&mut self, warp: &mut Warp, barrier: &BarrierOperand) {
        let elements = self.ready(warp, barrier.index, None, barrier.site, Direction::Write);
        let number = warp.number as usize;
        let rank = self.rank(number);
        self.notify(&Event::BarrierAccess { warp, site: barrier.site, elements: &elements, rank });
        self.tensor_sync(warp, TensorSync::Fence { after: false }, barrier.site);
        for lane in each_lane(elements.active) {
            let thread = warp.number * LANES as u32 + lane as u32;
            let at = self.barrier_at(rank, barrier, elements.index[lane]);
            let mut arrival = self.clocks.of(warp.number).release(1 << lane);
            let engine = self.proxy.tensor_engine(number);
            let mine = |(by, _): &&(u32, u32)| *by == thread;
            self.proxy.tensor.uncommitted.retain(|one| !mine(&one));
            // Without a product of its own it arrives at once.
            let time = self.proxy.tensor.last.iter().find(mine).map_or(0, |(_, last)| last + 1);
            if time > 0 {
                arrival.engines.resize(self.proxy.actors() - self.count, 0);
                arrival.acquire_engine(engine - self.count, time);
            }
            let made = self.proxy.barriers.get(at).filter(|known| known.arrivals > 0);
            let barrier_phase = made.map(|known| (at, known.phase));
            self.proxy.pending_loads.push(PendingLoad {
                barrier: barrier_phase,
                engine: (engine, time),
                bytes: 0,
                what: "a commit of products",
                pieces: Vec::new(),
                size: 0,
                site: barrier.site,
                thread,
                arrival: Some(arrival),
            });
        }
    }

    /// Reports tensor memory that a block never frees: the next block of the multiprocessor would wait for it for ever.
    pub(crate) fn finish_tensor_memory(&mut self) {
        for (warp, site) in std::mem::take(&mut self.proxy.tensor.allocated).into_iter().flatten() {
            self.report(FindingKind::InFlightAtEnd, site, warp, 1, None, |_| {
                "the block ends with tensor memory that it has not freed".to_owned()
            });
        }
    }

    /// Reports products that their thread never commits, having ended or without a commit in the program: nothing can wait
    /// for them.
    pub(crate) fn uncommitted_products(&mut self) {
        let program = self.launch.program;
        let commits = program.async_ops.list.iter().any(|work| matches!(work, AsyncOp::TensorCommit { .. }));
        let mut reported = Vec::new();
        for (thread, site) in std::mem::take(&mut self.proxy.tensor.uncommitted) {
            let (warp, lane) = (thread / LANES as u32, thread % LANES as u32);
            if reported.contains(&site) || commits && self.warps[warp as usize].state != State::Ended {
                continue;
            }
            reported.push(site);
            self.report(FindingKind::InFlightAtEnd, site, warp, 1 << lane, None, |_| {
                "this product is never committed: no `tcgen05_commit` after it by the thread that issues it"
                    .to_owned()
            });
        }
    }
}

/// The bits of an element of a column.
fn element(column: u32, number: usize, elem: Elem) -> u32 {
    let bits = 8 * elem.bytes();
    (column >> (number as u32 * bits)) & ((1 << bits) - 1)
}
