//! Products of matrices on the matrix units: each warp its tile, fragments read from tensors or from shared memory.
//!
//! Law: the elements are small whole numbers, so that every order of sums gives the same bits.

use super::Generator;
use crate::tree::*;
use crate::types::Type;
use crate::value::{self, Value};

/// The types of the factors and of the sums, and the extents of the instruction: rows, columns, depth.
const ATOMS: [(Type, Type, [i64; 3]); 9] = [
    (Type::F64, Type::F64, [8, 8, 4]),
    (Type::F64, Type::F64, [16, 8, 4]),
    (Type::F64, Type::F64, [16, 8, 8]),
    (Type::F64, Type::F64, [16, 8, 16]),
    (Type::F16, Type::F32, [16, 8, 16]),
    (Type::F16, Type::F16, [16, 8, 16]),
    (Type::Bf16, Type::F32, [16, 8, 16]),
    (Type::I8, Type::I32, [16, 8, 32]),
    (Type::U8, Type::I32, [16, 8, 32]),
];

impl Generator {
    pub fn product(&mut self, out: &mut Vec<Stmt>) {
        let (factor, sum, atom) = self.pick(&ATOMS);
        let tiles = [self.between(1, 2), self.pick(&[1, 2, 4])];
        let depth = self.pick(&[1, 1, 2]) * atom[2];
        let rounds = self.between(1, 3);
        let warps = i64::from(self.kernel.block / 32 * self.kernel.grid);
        let (rows, columns) = (warps * tiles[0] * atom[0], tiles[1] * atom[1]);
        let first = self.kernel.tensors.len();
        for (number, extents) in
            [[rows, rounds * depth], [rounds * depth, columns], [rows, columns]].into_iter().enumerate()
        {
            let extents = extents.map(|extent| Extent::Static(self.between((extent - 3).max(1), extent + 5)));
            self.tensor(extents.to_vec(), number == 2);
            let elem = if number == 2 { sum } else { factor };
            let count = self.kernel.tensors[first + number].data.len();
            let least = if elem == Type::U8 { 0 } else { -3 };
            let whole = |this: &mut Generator| {
                value::cast(Type::I64, elem, Value::Int(this.between(least, 3).into()))
            };
            self.kernel.tensors[first + number].data = (0..count).map(|_| whole(self)).collect();
            self.kernel.tensors[first + number].elem = elem;
        }
        self.reserved.push(first + 2);
        let of = |number| Place { base: Base::Tensor(number), steps: vec![] };
        let var = self.var(VarType::Scalar(factor));
        let staged = self.chance(50);
        let padding = self.pick(&[0, 0, 16]) / factor.bytes() as i64;
        out.push(Stmt::Product(Box::new(Product {
            var,
            atom,
            tiles,
            depth,
            rounds,
            factors: [of(first), of(first + 1)],
            to: of(first + 2),
            staged: staged.then_some(padding),
        })));
    }
}
