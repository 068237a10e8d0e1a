//! Products, element by element in whole numbers.

use super::{Machine, Run, Thread};
use crate::tree::Product;
use crate::types::Type;
use crate::value::{self, Value};

impl<'a> Machine<'a> {
    /// The tiles of every warp of these threads.
    pub fn product(&mut self, product: &'a Product, threads: &mut [Thread]) -> Run<()> {
        let warps = self.kernel.block / 32;
        let Product { atom, tiles, depth, rounds, .. } = product;
        let (rows, columns) = (atom[0] * tiles[0], atom[1] * tiles[1]);
        for own in threads.iter_mut().step_by(32) {
            self.step()?;
            let warp = i128::from(own.block * warps + own.thread / 32);
            let [left, right] = &product.factors;
            let (left, right) = (self.view(left, own)?, self.view(right, own)?);
            let to = self.view(&product.to, own)?;
            let (factor, sum) = (self.kernel.elem(&product.factors[0]), self.kernel.elem(&product.to));
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let at = [warp * i128::from(rows) + i128::from(row), column.into()];
                let mut total = 0;
                for step in 0..i128::from(depth * rounds) {
                    let (a, b) = (self.load(&left, &[at[0], step])?, self.load(&right, &[step, at[1]])?);
                    let whole = |x: Value| value::cast(factor, Type::I64, x).int();
                    total += whole(a) * whole(b);
                }
                self.store(&to, &at, value::cast(Type::I64, sum, Value::Int(total)));
            }
        }
        Ok(())
    }
}
