//! Index expressions: small ones, ones that are known not to be negative, and ones that may leave 64 bits.

use super::Generator;
use crate::tree::*;
use crate::types::Type;
use crate::value::Value;

pub fn number(value: i64) -> Expr {
    Expr::Literal { ty: Type::Index, value: Value::Int(value.into()), bare: true }
}

pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary(op, Box::new([left, right]))
}

impl Generator {
    /// Any index.
    pub fn index(&mut self, depth: usize) -> Expr {
        let depth = self.depth(depth);
        if depth == 0 {
            return self.index_leaf();
        }
        use BinaryOp::*;
        match self.below(18) {
            16 | 17 => self.overtaken(Type::Index, depth - 1),
            0 | 1 => binary(Add, self.index(depth - 1), self.index(depth - 1)),
            2 | 3 => binary(Sub, self.index(depth - 1), self.index(depth - 1)),
            4 => {
                let factor = if self.huge { self.index(depth - 1) } else { number(self.between(-4, 9)) };
                binary(Mul, self.index(depth - 1), factor)
            }
            5 | 6 => {
                let op = self.pick(&[Div, Rem]);
                let divisor = self.divisor(depth - 1);
                binary(op, self.index(depth - 1), divisor)
            }
            7 => {
                let function = self.pick(&[Math::Min, Math::Max]);
                Expr::Math(function, vec![self.index(depth - 1), self.index(depth - 1)])
            }
            8 => {
                let mut from: Vec<Type> =
                    self.types.iter().copied().filter(|ty| ty.is_integer() || *ty == Type::Bool).collect();
                if !self.huge {
                    from.retain(|ty| ty.bytes() < 8);
                }
                let from = self.pick(&from);
                Expr::Cast(Type::Index, Box::new(self.expr(from, depth - 1)))
            }
            9 => Expr::Unary(UnaryOp::Neg, Box::new(self.index(depth - 1))),
            10 => self.branches(Type::Index, depth - 1),
            11 => self.call(Type::Index, depth - 1),
            12 | 13 => self.natural(depth),
            _ => self.index_leaf(),
        }
    }

    /// What may be divided by: never 0.
    fn divisor(&mut self, depth: usize) -> Expr {
        match self.below(5) {
            0 => Expr::Math(Math::Max, vec![self.index(depth), number(1)]),
            1 => binary(BinaryOp::Add, self.natural(0), number(1)),
            2 => number(-self.between(1, 9)),
            3 if self.huge => number(self.random_large()),
            _ => number(self.between(1, 12)),
        }
    }

    pub fn random_large(&mut self) -> i64 {
        self.pick(&[
            70_000,
            (1 << 31) - 1,
            1 << 31,
            -(1 << 31),
            (1 << 32) - 1,
            1 << 32,
            6_364_136_223_846_793_005,
            1_442_695_040_888_963_407,
            1 << 62,
            i64::MAX,
            -i64::MAX,
        ])
    }

    /// An index that the compiler knows not to be negative.
    pub fn natural(&mut self, depth: usize) -> Expr {
        use BinaryOp::*;
        let depth = self.depth(depth);
        if depth == 0 {
            return match self.below(5) {
                0 => Expr::Thread,
                1 => Expr::Block,
                2 if self.row.is_some() => Expr::Dim(self.below(self.kernel.dims.len())),
                3 if self.row.is_some() => Expr::Var(self.row.unwrap_or(0)),
                _ => number(self.between(0, 20)),
            };
        }
        match self.below(9) {
            0 => binary(Add, self.natural(depth - 1), self.natural(depth - 1)),
            1 => binary(Mul, self.natural(depth - 1), number(self.between(0, 9))),
            2 => binary(Div, self.natural(depth - 1), number(self.between(1, 9))),
            3 => binary(Rem, self.natural(depth - 1), number(self.between(1, 9))),
            4 => {
                let op = self.pick(&[BitAnd, BitOr, Xor]);
                binary(op, self.natural(depth - 1), self.natural(depth - 1))
            }
            5 => {
                let op = self.pick(&[Shl, Shr]);
                let most = if self.huge { 40 } else { 4 };
                let count = match self.below(3) {
                    // Known only at run time.
                    0 => binary(Rem, self.natural(depth - 1), number(most + 1)),
                    _ => number(self.between(0, most)),
                };
                binary(op, self.natural(depth - 1), count)
            }
            6 => Expr::Math(Math::Max, vec![self.index(depth - 1), number(0)]),
            7 => Expr::Math(Math::DivCeil, vec![self.natural(depth - 1), number(self.between(1, 9))]),
            _ => self.natural(0),
        }
    }

    pub fn index_leaf(&mut self) -> Expr {
        if let Some(expr) = self.known(Type::Index)
            && self.chance(65)
        {
            return expr;
        }
        match self.below(4) {
            0 => self.natural(0),
            1 if self.huge => number(self.random_large()),
            2 => number(self.between(-5, 5)),
            _ => number(self.between(0, 12)),
        }
    }

    /// A coordinate inside of a mode of this extent.
    pub fn inside(&mut self, extent: i64) -> Expr {
        if let Some(counter) = self.counter_below(extent) {
            return counter;
        }
        match self.below(3) {
            0 => binary(BinaryOp::Rem, self.natural(2), number(extent.max(1))),
            _ => number(self.between(0, (extent - 1).max(0))),
        }
    }

    /// A coordinate for a mode of this extent: mostly inside.
    pub fn coordinate(&mut self, extent: i64) -> Expr {
        match self.below(6) {
            0 => self.index(2),
            1 => binary(BinaryOp::Rem, self.index(2), number(extent.max(1))),
            2 if self.chance(50) => self.index_leaf(),
            _ => self.inside(extent),
        }
    }
}
