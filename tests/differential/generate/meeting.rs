//! Kernels whose threads work together: shuffles, votes, sums of a warp and of a block, shared memory between barriers.

use super::Generator;
use super::index::{binary, number};
use crate::tree::*;
use crate::types::Type;

impl Generator {
    pub fn meetings(&mut self, out: &mut Vec<Stmt>) {
        for _ in 0..2 + self.below(5) {
            match self.below(8) {
                0..=3 => self.meeting(out),
                4 => self.exchange(out),
                5 => {
                    let var = self.var(VarType::Scalar(Type::Index));
                    let mark = self.scope.mark();
                    self.scope.declare(var, false);
                    let mut body = vec![];
                    self.meeting(&mut body);
                    self.simple(&mut body, 1);
                    self.scope.leave(mark);
                    let end = number(self.between(1, 3));
                    let unroll = self.chance(40);
                    out.push(Stmt::For {
                        var,
                        start: number(0),
                        end,
                        step: None,
                        reversed: false,
                        unroll,
                        body,
                    });
                }
                _ => {
                    self.budget += 1;
                    self.statement(out, 1);
                }
            }
        }
        for _ in 0..2 {
            self.budget += 1;
            self.simple(out, 2);
        }
    }

    fn meeting(&mut self, out: &mut Vec<Stmt>) {
        use Together::*;
        let what = self.pick(&[
            Shuffle,
            ShuffleUp,
            ShuffleDown,
            ShuffleXor,
            WarpMin,
            WarpMax,
            WarpSum,
            WarpPrefixSum,
            BlockMin,
            BlockMax,
            BlockSum,
            BlockPrefixSum,
            Ballot,
            Any,
            All,
        ]);
        let ty = match what {
            _ if what.votes() => Type::Bool,
            Shuffle | ShuffleUp | ShuffleDown | ShuffleXor => {
                self.pick(&[Type::I32, Type::U32, Type::I64, Type::F32, Type::F64])
            }
            // Sums of floats depend on their order; which zero is the least one is open.
            _ => self.pick(&[Type::I32, Type::U32, Type::I64]),
        };
        let value = self.expr(ty, 2);
        let number = what.takes_number().then(|| self.natural(1));
        let result = match what {
            Ballot => Type::U32,
            _ => ty,
        };
        let var = self.var(VarType::Scalar(result));
        self.scope.declare(var, false);
        out.push(Stmt::Together { var, what, value, number });
    }

    /// Each thread writes an element of shared memory, all wait, each reads another one's.
    fn exchange(&mut self, out: &mut Vec<Stmt>) {
        let elem = self.element_type();
        let block = i64::from(self.kernel.block);
        let rows = self.pick(&[1, 2, 4, 8]);
        let extents = vec![rows, block / rows];
        let var = self.var(VarType::View(elem));
        let columns = self.chance(40);
        let lying = Lying { extents, columns, swizzle: None };
        out.push(Stmt::LetTensor { var, elem, lying, shared: true });
        let place = || Place { base: Base::View(var), steps: vec![] };
        let split = |at: Expr| {
            vec![
                binary(BinaryOp::Div, at.clone(), number(block / rows)),
                binary(BinaryOp::Rem, at, number(block / rows)),
            ]
        };
        let value = self.expr(elem, 2);
        out.push(Stmt::Store(place(), split(Expr::Thread), None, value));
        out.push(Stmt::Barrier);
        let other = match self.below(3) {
            0 => binary(BinaryOp::Sub, number(block - 1), Expr::Thread),
            1 => binary(
                BinaryOp::Rem,
                binary(BinaryOp::Add, Expr::Thread, number(self.between(1, block))),
                number(block),
            ),
            _ => binary(BinaryOp::Rem, self.natural(2), number(block)),
        };
        let read = self.var(VarType::Scalar(elem));
        self.scope.declare(read, false);
        let value = Expr::Load(place(), split(other));
        out.push(Stmt::Let { var: read, mutable: false, written: false, value });
        out.push(Stmt::Barrier);
    }
}
