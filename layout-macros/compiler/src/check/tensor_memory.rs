//! Products in tensor memory, and a warp's loads and stores of it: what the tables of `tcgen05` have, and addresses.
//!
//! Law: every accepted product is an instruction of the table and its operands are where the descriptors say; a warp's move
//! is of its own quarter of the lanes, as far as that is known here.

use super::lower::{Failed, Lower, Out};
use crate::elem::{Constant, Elem};
use crate::index::Index;
use crate::ir::BinaryOp;
use crate::origin::Origin;
use crate::program::tensor_memory::{LANE, packed};
use crate::program::{
    Comparison, LeftMatrix, Operation, Space, Statement, StatementKind, TensorAt, TensorMove, TensorProduct,
    Value, Wgmma,
};
use crate::specialise::TileAccess;
use crate::view::View;

impl Lower {
    pub(super) fn tensor_product(
        &mut self,
        d: &View,
        [a, b]: [&View; 2],
        accumulate: &Value<TileAccess>,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let word = "tcgen05_mma";
        let accumulate = self.value(accumulate)?;
        let (at, extents) = self.tensor(d, word, origin)?;
        let name = self.tables.place(d.place).name.clone();
        let [4, rows, n] = extents[..] else {
            return self.fail(
                origin,
                format!("`{word}` into a part of `{name}` of extents {extents:?}"),
                "D is all rows of `tensor_memory::<f32>([m, n])`, or a tile of its columns: `d.tile([4, 32, 64], [0, 0, j])`",
            );
        };
        let m = 4 * rows;
        let (elem, sums) = (self.tables.place(b.place).elem, self.tables.place(d.place).elem);
        if sums != Wgmma::sums(elem) {
            return self.fail(
                origin,
                format!("`{word}` of {elem} into `{name}`, which is of {sums}"),
                &format!("its sums are of {0}: `tensor_memory::<{0}>([m, n])`", Wgmma::sums(elem)),
            );
        }
        if self.tables.place(a.place).elem != elem {
            return self.fail(
                origin,
                format!("`{word}` of operands of two element types"),
                "both are of one type",
            );
        }
        if TensorProduct::kind(elem).is_none() {
            let help = "there are f16, bf16, f32 (as tf32), e4m3, e5m2, i8 and u8";
            return self.fail(origin, format!("`{word}` of {elem}"), help);
        }
        if !TensorProduct::has_shape(elem, m, n) {
            return self.fail(
                origin,
                format!("`{word}` into {m} rows of {n} columns"),
                "of 64 rows there are multiples of 8 columns (of integers 8, and multiples of 16), of 128 rows multiples of 16, each \
                 up to 256",
            );
        }
        if elem == Elem::F32 {
            self.tf32.extend([a.place, b.place]);
        }
        let (a, own_m, k) = match self.tables.place(a.place).space {
            Space::Tensor { .. } => self.left(a, word, origin)?,
            _ => {
                let (parts, m, k) = self.matrix(a, word, false, origin)?;
                (parts.into_iter().map(|part| LeftMatrix::Shared(Box::new(part))).collect(), m, k)
            }
        };
        let (b, columns, depth) = self.matrix(b, word, true, origin)?;
        if own_m != m || columns != n || k != depth || k % (32 / i64::from(elem.bytes())) != 0 {
            return self.fail(
                origin,
                format!("`{word}` of ({own_m}, {k}) by ({depth}, {columns}) into ({m}, {n})"),
                "A has the rows of D, B its columns, and both as many k, 32 bytes or a multiple",
            );
        }
        for (number, (a, b)) in a.into_iter().zip(b).enumerate() {
            let accumulate = match number {
                0 => accumulate.clone(),
                _ => Value::Constant(Constant::bool(true)),
            };
            let (m, n) = (m as u32, n as u32);
            let product = TensorProduct { m, n, elem, d: at.clone(), a, b, accumulate };
            let kind = StatementKind::Operation(Operation::TensorProduct(Box::new(product)));
            out.push(Statement { kind, origin });
        }
        Ok(())
    }

    /// A left operand in tensor memory, in parts of 32 bytes of `k`; its rows and its `k`.
    fn left(&mut self, a: &View, word: &str, origin: Origin) -> Result<(Vec<LeftMatrix>, i64, i64), Failed> {
        let (at, extents) = self.tensor(a, word, origin)?;
        let place = self.tables.place(a.place);
        let (name, step) = (place.name.clone(), 8 * packed(place.elem));
        let [4, 32, k] = extents[..] else {
            return self.fail(
                origin,
                format!("`{word}` of a part of `{name}` of extents {extents:?}"),
                "A in tensor memory has 128 rows: `tensor_memory::<bf16>([128, k])`, or a tile of its columns",
            );
        };
        let mut parts = Vec::new();
        for number in 0..k / step {
            let address = self.index(origin, at.address.plus(8 * number))?;
            parts.push(LeftMatrix::Tensor(TensorAt { address, ..at.clone() }));
        }
        Ok((parts, 128, k))
    }

    /// A move of columns, in pieces of powers of two.
    pub(super) fn tensor_move(
        &mut self,
        stores: bool,
        tensor: &View,
        registers: &View,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let word = if stores { "tcgen05_store" } else { "tcgen05_load" };
        let (at, extents) = self.tensor(tensor, word, origin)?;
        let name = self.tables.place(tensor.place).name.clone();
        let [16 | 32, n] = extents[..] else {
            return self.fail(
                origin,
                format!("`{word}` of a part of `{name}` of extents {extents:?}"),
                "a warp moves all of its rows: `d.slice(warp)`, or a tile of their columns: `d.slice(warp).tile([32, 64], [0, j])`",
            );
        };
        let held = self.tables.place(registers.place).clone();
        let shape: Vec<_> = registers
            .modes
            .iter()
            .map(|mode| (mode.extent.as_constant(), &mode.stride, mode.lanes))
            .collect();
        let fits = matches!(shape[..], [(Some(count), stride, 1)] if count == n && (n == 1 || *stride == Index::constant(1)));
        let elem = self.tables.place(tensor.place).elem;
        let packed = packed(elem);
        if packed > 1 && !stores {
            return self.fail(
                origin,
                format!("`{word}` of `{name}`, which is of {elem}"),
                "what has fewer than 32 bits is a left operand, which threads store and products read",
            );
        }
        if held.space != Space::Local || held.elem != elem || n % packed != 0 || !fits {
            return self.fail(
                origin,
                format!("`{word}` of {n} columns with `{}`", held.name),
                &format!("a thread holds a row of them in registers: `local::<{elem}>(row_major([{n}]))`"),
            );
        }
        self.own_quarter(&at, word, &name, origin)?;
        let (mut column, all) = (0, n / packed);
        while column < all {
            // The largest power of two that is left.
            let width = 1i64 << (all - column).ilog2().min(7);
            let next = at.address.plus(column);
            let address = self.index(origin, next)?;
            let first = self.access(registers, &[Index::constant(column * packed)], &[0], origin)?;
            let moved = TensorMove {
                stores,
                tensor: TensorAt { address, ..at.clone() },
                columns: width as u32,
                registers: first,
            };
            let kind = StatementKind::Operation(Operation::TensorMove(Box::new(moved)));
            out.push(Statement { kind, origin });
            column += width;
        }
        Ok(())
    }

    /// Refuses lanes that are known to be another warp's.
    fn own_quarter(&mut self, at: &TensorAt, word: &str, name: &str, origin: Origin) -> Result<(), Failed> {
        let thread = self.thread.clone();
        let atoms = self.atoms();
        let constant = Index::constant;
        let beyond = (|| {
            let warp = atoms.div(&thread, &constant(32))?;
            let own = atoms.rem(&warp, &constant(4))?.scale(32 * LANE)?;
            at.address.sub(&own)
        })();
        let beyond = self.index(origin, beyond)?;
        // In its own quarter there are columns only.
        let below = Comparison { op: BinaryOp::Lt, left: beyond.clone(), right: constant(0) };
        let above = Comparison { op: BinaryOp::Ge, left: beyond, right: constant(LANE) };
        if [below, above].iter().any(|other| self.facts.holds(&self.tables.atoms, other)) {
            return self.fail(
                origin,
                format!("`{word}` of a part of `{name}` whose lanes are another warp's"),
                "a warp reaches the lanes of its place in its warpgroup only: `d.slice(warp_id() % 4)`",
            );
        }
        Ok(())
    }

    /// The address of a view of tensor memory, and its extents.
    fn tensor(&mut self, view: &View, word: &str, origin: Origin) -> Result<(TensorAt, Vec<i64>), Failed> {
        let place = self.tables.place(view.place).clone();
        let Space::Tensor { base, column } = place.space else {
            let message = format!("`{word}` of `{}`, which is not in tensor memory", place.name);
            return self.fail(origin, message, "make it with `tensor_memory::<f32>([m, n])`");
        };
        let extents = self.extents(view, origin)?;
        let steps = |index: usize| view.modes[index].stride.as_constant();
        let last = extents.len().wrapping_sub(1);
        let packed = packed(place.elem);
        let lane = LANE * packed;
        let compact = view.lanes() == 1
            && (extents.len() < 2 || steps(last) == Some(1) && steps(last - 1) == Some(lane))
            && (extents.len() < 3 || steps(last - 2) == Some(32 * lane));
        if !compact {
            let message =
                format!("`{word}` of a part of `{}` whose modes are exchanged or vectors", place.name);
            return self.fail(origin, message, "give a slice of it, or a tile of its columns, as it is");
        }
        let zeros = vec![0; view.rank()];
        for far in [false, true] {
            let corner: Vec<Index> = extents
                .iter()
                .map(|extent| Index::constant(if far { (extent - 1).max(0) } else { 0 }))
                .collect();
            let element = view.element(&corner, &zeros);
            let (_, edges) = self.index(origin, element)?;
            for (left, right) in edges {
                let above = Comparison { op: BinaryOp::Ge, left: left.clone(), right: Index::constant(0) };
                let below = Comparison { op: BinaryOp::Lt, left, right };
                if ![above, below].iter().all(|bound| self.facts.holds(&self.tables.atoms, bound)) {
                    return self.fail(
                        origin,
                        format!("`{word}` of a part of `{}` that may be out of bounds", place.name),
                        "take the warp modulo 4: `d.slice(warp_id() % 4)`, or the stage modulo their number",
                    );
                }
            }
        }
        let offset = self.index(origin, view.full_offset())?;
        let Some(offset) = offset.exact_div(packed) else {
            return self.fail(
                origin,
                format!("`{word}` of a part of `{}` that may begin within a column", place.name),
                &format!("a column has 32 bits: begin at multiples of {packed} elements"),
            );
        };
        let address = offset.plus(i64::from(column));
        Ok((TensorAt { place: view.place, base, address: self.index(origin, address)? }, extents))
    }
}
