//! Tiles of warpgroup instructions (`wgmma`, `stmatrix`): their matrix descriptors and registers.
//!
//! Law: every accepted tile is one that the hardware can address; every other tile is an error that names the rule.
//! Source: PTX ISA, "Shared memory matrix layout", "wgmma.mma_async", "stmatrix".

use super::lower::{Failed, Lower, Out};
use crate::elem::{Constant, Elem};
use crate::index::{Index, IndexOverflow};
use crate::ir::BinaryOp;
use crate::origin::Origin;
use crate::program::{
    Access, Comparison, MatrixSource, Operation, SharedMatrix, Signal, Space, Statement, StatementKind,
    StoreMatrix, Value, Wgmma,
};
use crate::specialise::TileAccess;
use crate::view::{Mode, View};

impl Lower {
    /// What orders asynchronous work, where its numbers are the hardware's.
    pub(super) fn signal(&mut self, signal: &Signal, origin: Origin) -> Result<Signal, Failed> {
        if let Signal::NamedBarrier { barrier, .. } = signal {
            let low = Comparison { op: BinaryOp::Ge, left: barrier.clone(), right: Index::constant(1) };
            let high = Comparison { op: BinaryOp::Le, left: barrier.clone(), right: Index::constant(15) };
            if ![low, high].iter().all(|bound| self.facts.holds(&self.tables.atoms, bound)) {
                return self.fail(
                    origin,
                    "the number of a barrier that is not known to be 1 to 15; 0 is the block's own",
                    "`named_barrier(1 + warp_group(), 128)`",
                );
            }
        }
        Ok(signal.clone())
    }

    /// The first element of a view of shared memory, before the swizzle.
    pub(super) fn first_element(
        &mut self,
        view: &View,
        name: &str,
        origin: Origin,
    ) -> Result<Access, Failed> {
        let place = self.tables.place(view.place).clone();
        if !matches!(place.space, Space::Shared { .. }) {
            return self.fail(
                origin,
                format!("`{name}` of `{}`, which is not in shared memory", place.name),
                "one side is a tile of an argument, the other a `shared` tensor",
            );
        }
        let plain = View { swizzle: None, ..view.clone() };
        let zeros = vec![Index::constant(0); view.rank()];
        let first = self.access(&plain, &zeros, &vec![0; view.rank()], origin)?;
        if !first.mask.is_empty() || view.lanes() != 1 {
            return self.fail(
                origin,
                format!("`{name}` of a part of `{}` that may be out of bounds", place.name),
                "take stages modulo their number, and no `vectorize`",
            );
        }
        Ok(first)
    }

    pub(super) fn moved(&mut self, first: &Access, offset: i64, origin: Origin) -> Result<Access, Failed> {
        let index = first.index.plus(offset);
        Ok(Access { index: self.index(origin, index)?, ..first.clone() })
    }

    /// The divisor of an element's byte address, as far as it is known.
    pub(super) fn alignment(&self, view: &View, access: &Access) -> i64 {
        let place = self.tables.place(access.place);
        let pointer = view.pointer.as_ref().map(|(_, index)| self.tables.atoms.divisor(index));
        let elements = crate::arith::gcd(self.tables.atoms.divisor(&access.index), pointer.unwrap_or(0));
        let bytes = elements.saturating_mul(i64::from(place.elem.bytes()));
        crate::arith::gcd(bytes, i64::from(place.align))
    }

    /// Bytes of the swizzle of a shared view, where the hardware has it; 0 for none.
    pub(super) fn swizzle_bytes(&mut self, view: &View, name: &str, origin: Origin) -> Result<u32, Failed> {
        let Some(swizzle) = view.swizzle else { return Ok(0) };
        let place = self.tables.place(view.place).clone();
        let base = 4 - place.elem.bytes().ilog2().min(4);
        let (bits, shift) = (swizzle.bits(), swizzle.shift());
        if swizzle.base() == base && shift == 3 && (1..=3).contains(&bits) {
            return Ok(16 << bits);
        }
        self.fail(
            origin,
            format!("`{name}` cannot do the swizzle of `{}`", place.name),
            "the hardware's are `.swizzle_bytes(32)`, `.swizzle_bytes(64)` and `.swizzle_bytes(128)`",
        )
    }

    pub(super) fn wgmma(
        &mut self,
        accumulator: &View,
        a: &View,
        b: &View,
        accumulate: &Value<TileAccess>,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let accumulate = self.value(accumulate)?;
        let registers = self.tables.place(accumulator.place).clone();
        let n = 4 * registers.len as i64 / 2;
        // The instruction numbers its registers: `4 j + 2 h + c` is lane `c` of vector `(h, j)`, the first one 0.
        let number = Index::constant;
        let flat = |m: &Mode| (m.extent.clone(), m.stride.clone(), m.lanes, m.lane_stride.clone());
        let modes: Vec<_> = accumulator.modes.iter().map(flat).collect();
        let whole = [(number(2), number(2), 1, number(0)), (number(n / 8), number(4), 2, number(1))];
        let elem = self.tables.place(b.place).elem;
        if registers.space != Space::Local
            || registers.elem != Wgmma::sums(elem)
            || modes != whole
            || accumulator.offset != number(0)
        {
            return self.fail(
                origin,
                format!("`{}` is no accumulator of a warpgroup for operands of {elem}", registers.name),
                "make it with `accumulator([64, n])`, of i8 and u8 with `accumulator_of::<i32>([64, n])`, and give it whole",
            );
        }
        if self.tables.place(a.place).elem != elem {
            return self.fail(origin, "`wgmma` of operands of two element types", "both are of one type");
        }
        let integers = matches!(elem, Elem::I8 | Elem::U8);
        if !integers && !matches!(elem, Elem::F16 | Elem::Bf16 | Elem::F32 | Elem::E4m3 | Elem::E5m2) {
            return self.fail(
                origin,
                format!("`wgmma` of {elem}"),
                "there are f16, bf16, f32 (as tf32), e4m3, e5m2, i8 and u8",
            );
        }
        if !Wgmma::has_columns(elem, n) {
            return self.fail(
                origin,
                format!("`wgmma` of {elem} into {n} columns"),
                "of i8 and u8 there are 8, 24 and the multiples of 16 up to 256",
            );
        }
        if integers && self.tables.place(a.place).space == Space::Local {
            return self.fail(
                origin,
                format!("`wgmma` of {elem} with its left operand in registers"),
                "of i8 and u8 both operands must be in shared memory",
            );
        }
        if elem == Elem::F32 {
            self.tf32.extend([a.place, b.place]);
        }
        let (a, m, k) = match self.tables.place(a.place).space {
            Space::Local => self.fragments(a, origin, out)?,
            _ => {
                let (parts, m, k) = self.matrix(a, "wgmma", false, origin)?;
                (parts.into_iter().map(MatrixSource::Shared).collect(), m, k)
            }
        };
        let (b, columns, depth) = self.matrix(b, "wgmma", true, origin)?;
        let step = 32 / i64::from(elem.bytes());
        if m != 64 || columns != n || k != depth || k % step != 0 {
            return self.fail(
                origin,
                format!("`wgmma` of ({m}, {k}) by ({depth}, {columns}) into (64, {n})"),
                "A has 64 rows, B the accumulator's columns, and both as many k, 32 bytes or a multiple",
            );
        }
        for (number, (a, b)) in a.into_iter().zip(b).enumerate() {
            let zeros = [Index::constant(0), Index::constant(0)];
            let product = Wgmma {
                n: n as u32,
                elem,
                accumulator: self.access(accumulator, &zeros, &[0, 0], origin)?,
                a,
                b,
                accumulate: match number {
                    0 => accumulate.clone(),
                    _ => Value::Constant(Constant::bool(true)),
                },
            };
            let kind = StatementKind::Operation(Operation::Wgmma(Box::new(product)));
            out.push(Statement { kind, origin });
        }
        Ok(())
    }

    /// An operand in shared memory, one descriptor for each 32 bytes of `k`; its rows (columns of B); its `k`.
    pub(super) fn matrix(
        &mut self,
        view: &View,
        word: &str,
        is_b: bool,
        origin: Origin,
    ) -> Result<(Vec<SharedMatrix>, i64, i64), Failed> {
        let place = self.tables.place(view.place).clone();
        let first = self.first_element(view, word, origin)?;
        let span = self.swizzle_bytes(view, word, origin)?;
        let size = i64::from(place.elem.bytes());
        let extents = self.extents(view, origin)?;
        let strides: Option<Vec<i64>> = view.modes.iter().map(|mode| mode.stride.as_constant()).collect();
        let row = i64::from(span) / size;
        let help = "operands are `row_major([rows, 64]).swizzle_bytes(128)`-like: rows as long as the swizzle, or slabs \
                    of them, `[n / 64, k, 64]`";
        let (Some(strides), 1..) = (strides, row) else {
            let message = format!("`{word}` of `{}`, whose layout the matrix units cannot read", place.name);
            return self.fail(origin, message, help);
        };
        // (outer extent, k extent, outer stride, k stride, slabs of the outer mode, their stride)
        let found = match (extents.as_slice(), strides.as_slice(), is_b) {
            ([m, k], [sm, sk], false) => Some((*m, *k, *sm, *sk, 1, 0)),
            ([k, n], [sk, sn], true) => Some((*n, *k, *sn, *sk, 1, 0)),
            // Slabs of which each begins where the one before ends are one.
            ([slabs, k, n], [ss, sk, sn], true) | ([slabs, n, k], [ss, sn, sk], false)
                if n.checked_mul(*sn) == Some(*ss) =>
            {
                Some((slabs * n, *k, *sn, *sk, 1, 0))
            }
            ([slabs, k, n], [ss, sk, sn], true) | ([slabs, n, k], [ss, sn, sk], false) => {
                Some((*n, *k, *sn, *sk, *slabs, *ss))
            }
            _ => None,
        };
        let Some((outer, k, outer_stride, k_stride, slabs, slab_stride)) = found else {
            let message = format!("`{word}` of a view of `{}` of rank {}", place.name, extents.len());
            let merged = match extents.split_last() {
                Some((last, outer @ [_, _, ..])) => {
                    format!(
                        "; as two modes it is `{}.reshape({:?})`",
                        place.name,
                        [outer.iter().product(), *last]
                    )
                }
                _ => String::new(),
            };
            return self.fail(origin, message, &format!("{help}{merged}"));
        };
        let k_major = k_stride == 1;
        let fits = if k_major {
            outer_stride == row && k <= row && slabs == 1 && outer % 8 == 0
        } else {
            outer_stride == 1 && k_stride == row && outer == row && k % 8 == 0
        };
        if !fits {
            let message = format!(
                "`{word}` of `{}` of extents {extents:?} and strides {strides:?} with a swizzle over {span} bytes",
                place.name
            );
            return self.fail(origin, message, help);
        }
        if !k_major && size != 2 {
            return self.fail(
                origin,
                format!("`{word}` of {} whose `k` is not contiguous", place.elem),
                "only 16-bit types support this: make `k` the operand's contiguous mode, or transpose it first",
            );
        }
        let alignment = 8 * i64::from(span);
        if self.alignment(view, &first) % alignment != 0 {
            let message = format!(
                "`{word}`: the part of `{}` does not begin at a multiple of {alignment} bytes",
                place.name
            );
            return self.fail(
                origin,
                message,
                "make a stage, and each warpgroup's part of it, a multiple of it",
            );
        }
        let step = 32 / size;
        let mut parts = Vec::new();
        for number in 0..k / step {
            let offset = number * step * k_stride;
            parts.push(SharedMatrix {
                first: self.moved(&first, offset, origin)?,
                k_major,
                swizzle_bytes: span,
                leading_bytes: if k_major || slabs == 1 { 0 } else { (slab_stride * size) as u32 },
                stride_bytes: 8 * span,
            });
        }
        Ok((parts, outer * slabs, k))
    }

    pub(super) fn store_matrix(
        &mut self,
        destination: &View,
        source: &View,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let (to, from) =
            (self.tables.place(destination.place).clone(), self.tables.place(source.place).clone());
        let shape: Vec<_> = source.modes.iter().map(|m| (m.extent.as_constant(), m.lanes)).collect();
        let extents = self.extents(destination, origin)?;
        let columns: i64 = match (shape.as_slice(), extents.as_slice()) {
            ([(Some(2), 1), (Some(vectors), 2)], [64, n]) if 8 * vectors == *n => *n,
            ([(Some(2), 1), (Some(vectors), 2)], [slabs, 64, n]) if 8 * vectors == slabs * n => *n,
            _ => 0,
        };
        let places = from.space == Space::Local && matches!(to.space, Space::Shared { .. });
        let elems = from.elem == Elem::F32 && matches!(to.elem, Elem::F16 | Elem::Bf16 | Elem::F32);
        if columns == 0
            || extents.last().is_none_or(|n| n % 16 != 0)
            || !places
            || !elems
            || destination.lanes() != 1
        {
            return self.fail(
                origin,
                format!("`store_matrix` of `{}` to a part of `{}` of extents {extents:?}", from.name, to.name),
                "it takes an accumulator, or tiles of its columns, to a shared tensor of f16, bf16 or f32 of extents \
                 [64, n] or slabs of columns [n / w, 64, w]",
            );
        }
        if to.elem == Elem::F32 {
            return self.store_pairs(destination, source, columns, origin, out);
        }
        let thread = self.thread.clone();
        let constant = Index::constant;
        // Lane l gives row l % 16 of two matrices on top of each other, those of lanes 16 and up eight columns on.
        let row = {
            let atoms = self.atoms();
            let warp = atoms.rem(&thread, &constant(128)).and_then(|t| atoms.div(&t, &constant(32)));
            let lane = atoms.rem(&thread, &constant(16));
            warp.and_then(|warp| warp.scale(16)).and_then(|warp| lane.and_then(|lane| warp.add(&lane)))
        };
        let row = self.index(origin, row)?;
        let column = {
            let atoms = self.atoms();
            let lane = atoms.rem(&thread, &constant(32)).and_then(|lane| atoms.div(&lane, &constant(16)));
            lane.and_then(|half| half.scale(8))
        };
        let column = self.index(origin, column)?;
        let row = self.thread_index("matrix_row", &row, origin);
        let column = self.thread_index("matrix_col", &column, origin);
        let slabs = if extents.len() == 3 { extents[0] } else { 1 };
        let inner = columns; // of a slab
        self.nest(&[slabs, inner / 16], true, origin, out, &mut |this, at, out| {
            let own = at[1].scale(16).and_then(|at| at.add(&column));
            let own = this.index(origin, own)?;
            let coordinates = if extents.len() == 3 {
                vec![at[0].clone(), row.clone(), own]
            } else {
                vec![row.clone(), own]
            };
            let zeros = vec![0; destination.rank()];
            let mut target = this.access(destination, &coordinates, &zeros, origin)?;
            target.width = 8;
            let plain = View { swizzle: None, ..destination.clone() };
            let unswizzled = this.access(&plain, &coordinates, &zeros, origin)?;
            let aligned = this.alignment(destination, &unswizzled) % 16 == 0
                && destination.swizzle.is_none_or(|swizzle| swizzle.base() >= 3)
                && destination.modes.last().is_some_and(|mode| mode.stride == constant(1))
                && target.mask.is_empty();
            if !aligned {
                return this.fail(
                    origin,
                    format!(
                        "`store_matrix`: rows of eight elements of `{}` are not 16 bytes in one piece",
                        to.name
                    ),
                    "make its columns contiguous and align its rows to 16 bytes",
                );
            }
            let mut values = Vec::new();
            for matrix in 0..4i64 {
                let vector = at[0]
                    .scale(inner / 8)
                    .and_then(|slab| slab.add(&at[1].scale(2)?).and_then(|vector| vector.plus(matrix / 2)));
                let vector = this.index(origin, vector)?;
                for lane in 0..2 {
                    let half = [constant(matrix % 2), vector.clone()];
                    let part = this.access(source, &half, &[0, lane], origin)?;
                    values.push(Value::Load(Box::new(part)));
                }
            }
            let store = StoreMatrix { destination: target, values };
            out.push(Statement { kind: StatementKind::Operation(Operation::StoreMatrix(store)), origin });
            Ok(())
        })
    }

    /// An accumulator to a shared tensor of f32: each thread its pairs of neighbours.
    fn store_pairs(
        &mut self,
        destination: &View,
        source: &View,
        columns: i64,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let thread = self.thread.clone();
        let atoms = self.atoms();
        let of = |n: i64| Index::constant(n);
        let own = (|| {
            let lane = atoms.rem(&thread, &of(32))?;
            let warp = atoms.rem(&thread, &of(128))?;
            Ok((atoms.div(&warp, &of(32))?, atoms.div(&lane, &of(4))?, atoms.rem(&lane, &of(4))?))
        })();
        let (warp, row, column) = self.index(origin, own)?;
        let slabs =
            if destination.rank() == 3 { destination.modes[0].extent.as_constant().unwrap_or(1) } else { 1 };
        let mut exact = |extent: &Index, by: i64| extent.exact_div(by).ok_or(IndexOverflow);
        for slab in 0..slabs {
            let views = (|| {
                let whole =
                    if destination.rank() == 3 { destination.slice(&of(slab))? } else { destination.clone() };
                let rows = whole.tile(&[16, columns], &[warp.clone(), of(0)])?;
                let pairs = rows.vectorize(&[1, 2], &mut exact)?;
                let own = pairs.distribute(&[8, 4], &[row.clone(), column.clone()], &mut exact)?;
                Ok((own, source.tile(&[2, columns / 8], &[of(0), of(slab)])?))
            })();
            let (own, part) = self.index(origin, views)?;
            self.thread_copy((&own, &part), false, origin, out)?;
        }
        Ok(())
    }
}
