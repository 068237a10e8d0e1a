//! Products in tensor memory and moves of it.

use super::access::Located;
use super::{Compiler, Result, malformed};
use crate::async_op::{AsyncOp, TensorLeft, TensorMoveOperands, TensorProductOperands};
use layout_compiler::elem::Elem;
use layout_compiler::index::Index;
use layout_compiler::program::tensor_memory::packed;
use layout_compiler::program::{LeftMatrix, Space, TensorAt, TensorMove, TensorProduct};

impl Compiler<'_> {
    /// The site of an allocation.
    fn tensor_site(&mut self, at: &TensorAt) -> Result<u32> {
        let place = self.place(at.place)?;
        if !matches!(place.space, Space::Tensor { .. }) {
            return Err(malformed(format!("`{}` is not in tensor memory", place.name)));
        }
        let access = self.plain(at.place, &Index::constant(0));
        self.site(Some(&access))
    }

    pub(super) fn tensor_product(&mut self, product: &TensorProduct) -> Result {
        let (m, n, elem) = (product.m, product.n, product.elem);
        if !TensorProduct::has_shape(elem, m.into(), n.into()) || TensorProduct::kind(elem).is_none() {
            return Err(malformed(format!("a product of {m} rows and {n} columns of {elem}")));
        }
        let site = self.tensor_site(&product.d)?;
        let a = match &product.a {
            LeftMatrix::Shared(matrix) => TensorLeft::Shared(self.matrix(matrix, elem)?),
            LeftMatrix::Tensor(at) => TensorLeft::Tensor(self.index(&at.address)?, self.tensor_site(at)?),
        };
        let b = self.matrix(&product.b, elem)?;
        let address = self.index(&product.d.address)?;
        let accumulate = self.condition(&product.accumulate)?;
        let operands = TensorProductOperands { m, n, elem, address, site, a, b, accumulate };
        self.emit_async(AsyncOp::TensorProduct(Box::new(operands)));
        Ok(())
    }

    pub(super) fn tensor_move(&mut self, moved: &TensorMove) -> Result {
        let site = self.tensor_site(&moved.tensor)?;
        let columns = moved.columns;
        let held = self.place(moved.registers.place)?;
        let first = moved.registers.index.as_constant().unwrap_or(-1);
        let elem = held.elem;
        let count = columns.saturating_mul(packed(elem) as u32);
        let fits = first >= 0 && first as u64 + u64::from(count) <= held.len && columns <= 128;
        let moved_so =
            matches!(elem, Elem::F32 | Elem::I32) || moved.stores && TensorProduct::kind(elem).is_some();
        if !moved_so || held.space != Space::Local || !fits {
            return Err(malformed(format!("a move of {columns} columns of tensor memory")));
        }
        let registers = self.site(Some(&moved.registers))?;
        let Located::Registers { first: register, slot } = self.locate(&moved.registers, registers)? else {
            return Err(malformed("a move of tensor memory and of no registers"));
        };
        self.check_accumulator(moved.registers.place, slot, count, registers);
        if moved.stores {
            (0..count).for_each(|number| self.check_initialised(Some(slot + number), registers));
        }
        let address = self.index(&moved.tensor.address)?;
        let stores = moved.stores;
        self.emit_async(AsyncOp::TensorMove(TensorMoveOperands {
            stores,
            elem,
            address,
            register,
            slot,
            columns,
            site,
        }));
        if !stores {
            (0..count).for_each(|number| self.now_initialised(Some(slot + number)));
        }
        Ok(())
    }
}
