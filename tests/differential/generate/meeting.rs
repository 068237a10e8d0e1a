//! Kernels whose threads work together: shuffles, votes, sums of a warp and of a block, shared memory between barriers.

use super::index::{binary, number};
use super::{Family, Generator};
use crate::tree::*;
use crate::types::Type;

impl Generator {
    pub fn meetings(&mut self, out: &mut Vec<Stmt>) {
        for _ in 0..2 + self.below(5) {
            if self.kernel.cluster > 1 && self.chance(60) {
                self.exchange_by_rank(out);
                continue;
            }
            if self.family == Family::Products && self.chance(60) {
                self.product(out);
                continue;
            }
            match self.below(10) {
                8 | 9 => self.tiles(out),
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
        let what = self.pick(Together::ALL);
        let ty = match what {
            _ if what.votes() => Type::Bool,
            _ if what.takes_number() || what.matches() => {
                let own = if self.chance(25) { Type::Bool } else { self.element_type() };
                // Which NaN there is, is open.
                if what.matches() && own.is_float() { Type::U32 } else { own }
            }
            // Sums of floats depend on their order; which zero is the least one is open.
            _ => {
                let own = self.element_type();
                if own.is_integer() { own } else { self.pick(&[Type::I32, Type::U32, Type::I64]) }
            }
        };
        let value = self.expr(ty, 2);
        let number = what.takes_number().then(|| self.natural(1));
        let result = match what {
            Ballot | MatchAny => Type::U32,
            MatchAll => Type::Bool,
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
        let layout = AllocationLayout { extents, columns, swizzle: None };
        out.push(Stmt::LetTensor { var, elem, layout, shared: true });
        let place = || Place { base: Base::View(var), steps: vec![] };
        let split = |at: Expr| {
            vec![
                binary(BinaryOp::Div, at.clone(), number(block / rows)),
                binary(BinaryOp::Rem, at, number(block / rows)),
            ]
        };
        let value = self.expr(elem, 2);
        out.push(Stmt::Store(place(), split(Expr::Thread), None, value));
        out.push(self.barrier());
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
        out.push(self.barrier());
    }

    /// Each block copies its tile of a tensor to its tile of another, each thread its part: at once, or by shared memory that
    /// is read in another order.
    fn tiles(&mut self, out: &mut Vec<Stmt>) {
        let elem = self.element_type();
        let block = i64::from(self.kernel.block);
        let rows = self.pick(&[1, 2, 4, 8, 16]);
        let vector = self.pick(&[1, 1, 2, 4]);
        let threads = vec![rows, block / rows];
        let (down, across) = (self.between(1, 2), self.between(1, 2));
        let tile = vec![rows * down, threads[1] * across * vector];
        if tile.iter().product::<i64>() > 2048 {
            return;
        }
        let from = self.kernel.tensors.len();
        let near =
            |this: &mut Generator, extent: i64| Extent::Static(this.between((extent - 3).max(1), extent + 5));
        let heights = i64::from(self.kernel.grid) * tile[0];
        let extents = [near(self, heights), near(self, tile[1])];
        self.tensor(extents.to_vec(), false);
        let extents = [near(self, heights), near(self, tile[1])];
        self.tensor(extents.to_vec(), true);
        for number in [from, from + 1] {
            self.kernel.tensors[number].elem = elem;
            let count = self.kernel.tensors[number].data.len();
            self.kernel.tensors[number].data = (0..count).map(|_| self.data(elem)).collect();
        }
        self.reserved.push(from + 1);
        let columns = self.chance(30);
        let share = |mut steps: Vec<Step>, vector: i64| {
            if vector > 1 {
                steps.push(Step::Vectorize(vec![1, vector]));
            }
            steps.push(Step::Distribute { threads: threads.clone(), columns, thread: Expr::Thread });
            steps
        };
        let own = |base: Base| (base, vec![Step::Tile(tile.clone(), vec![Expr::Block, number(0)])]);
        let place = |(base, steps): (Base, Vec<Step>), vector| Place { base, steps: share(steps, vector) };
        let (source, target) = (own(Base::Tensor(from)), own(Base::Tensor(from + 1)));
        if self.chance(40) {
            out.push(Stmt::Copy { to: place(target, vector), from: place(source, vector) });
            return;
        }
        let var = self.var(VarType::View(elem));
        let turned = self.chance(50);
        let extents = if turned { vec![tile[1], tile[0]] } else { tile.clone() };
        let layout = AllocationLayout { extents, columns: self.chance(40), swizzle: None };
        out.push(Stmt::LetTensor { var, elem, layout, shared: true });
        let turn = if turned { vec![Step::Transpose] } else { vec![] };
        out.push(Stmt::Copy {
            to: place((Base::View(var), turn.clone()), vector),
            from: place(source, vector),
        });
        out.push(Stmt::Barrier(Meet::Block));
        let other = self.pick(&[1, vector]);
        if other == vector {
            out.push(Stmt::Copy { to: place(target, other), from: place((Base::View(var), turn), other) });
        } else {
            // The same elements dealt out one by one: other threads read what these wrote.
            out.push(Stmt::Copy { to: place(target, 1), from: place((Base::View(var), turn), 1) });
        }
        out.push(Stmt::Barrier(Meet::Block));
    }
}
