//! Kernels of clusters: blocks that read and write each other's shared memory, the other one named by a number, by the round of a
//! loop, unrolled or not, or by what a thread computes.
//!
//! Law: each element is written by one thread between two barriers of the cluster, and read behind the second.

use super::Generator;
use super::index::{binary, number};
use crate::tree::*;
use crate::types::Type;

impl Generator {
    /// A barrier of the block: its own, or a named one that all threads come to.
    pub fn barrier(&mut self) -> Stmt {
        // The kernels of the other family are what they were.
        let named = self.kernel.cluster > 1 && self.chance(50);
        Stmt::Barrier(if named { Meet::Named(self.between(1, 15) as u32) } else { Meet::Block })
    }

    /// Each thread writes an element, of its own block or of another one's; all wait; each reads elements of several blocks.
    pub fn exchange_by_rank(&mut self, out: &mut Vec<Stmt>) {
        let elem = self.element_type();
        let (block, cluster) = (i64::from(self.kernel.block), i64::from(self.kernel.cluster));
        let held = self.var(VarType::View(elem));
        let rows = if self.chance(50) { cluster } else { 1 };
        let columns = self.chance(40);
        let layout = AllocationLayout { extents: vec![rows, block], columns, swizzle: None };
        out.push(Stmt::LetTensor { var: held, elem, layout, shared: true });
        // Nothing may be done to a block that has not begun.
        out.push(Stmt::Barrier(Meet::Cluster));
        let of = |rank: Expr| Place { base: Base::View(held), steps: vec![Step::Rank(rank)] };
        let own = Place { base: Base::View(held), steps: vec![] };
        let turned = |by: Expr| binary(BinaryOp::Rem, binary(BinaryOp::Add, Expr::Rank, by), number(cluster));
        if rows > 1 {
            // A row of each block's from each rank.
            let unroll = self.chance(70);
            self.each_rank(out, unroll, |this, round, body| {
                let place = of(if this.chance(50) { round.clone() } else { turned(round) });
                let value = this.expr(elem, 2);
                body.push(Stmt::Store(place, vec![Expr::Rank, Expr::Thread], None, value));
            });
        } else {
            let by = number(self.between(0, cluster - 1));
            let place = if self.chance(40) { own.clone() } else { of(turned(by)) };
            let value = self.expr(elem, 2);
            out.push(Stmt::Store(place, vec![number(0), Expr::Thread], None, value));
        }
        out.push(Stmt::Barrier(Meet::Cluster));
        self.reads_by_rank(out, (held, elem), [rows, block]);
        out.push(Stmt::Barrier(Meet::Cluster));
    }

    /// Reads that are folded into a variable.
    fn reads_by_rank(&mut self, out: &mut Vec<Stmt>, (held, elem): (Var, Type), [rows, block]: [i64; 2]) {
        let cluster = i64::from(self.kernel.cluster);
        let sum = self.var(VarType::Scalar(elem));
        let value = self.expr(elem, 1);
        out.push(Stmt::Let { var: sum, mutable: true, written: true, value });
        self.scope.declare(sum, true);
        for _ in 0..1 + self.below(2) {
            match self.below(4) {
                0 => {
                    let rank = binary(BinaryOp::Rem, self.natural(2), number(cluster));
                    let read = self.read_of(held, rank, [rows, block]);
                    out.push(Stmt::Assign(sum, None, read));
                }
                1 => {
                    // A view of another block's, by a name.
                    let var = self.var(VarType::View(elem));
                    let rank = binary(BinaryOp::Rem, self.natural(1), number(cluster));
                    let place = Place { base: Base::View(held), steps: vec![Step::Rank(rank)] };
                    out.push(Stmt::LetView { var, place, local: false });
                    let place = Place { base: Base::View(var), steps: vec![] };
                    let at = self.inside_of([rows, block]);
                    out.push(Stmt::Assign(sum, None, Expr::Load(place, at)));
                }
                _ => {
                    let unroll = self.chance(70);
                    self.each_rank(out, unroll, |this, round, body| {
                        let by = binary(BinaryOp::Add, round.clone(), number(this.between(0, 3)));
                        let rank = match this.below(3) {
                            0 => round,
                            1 => binary(BinaryOp::Rem, by, number(cluster)),
                            _ => binary(
                                BinaryOp::Rem,
                                binary(BinaryOp::Add, this.natural(1), by),
                                number(cluster),
                            ),
                        };
                        let read = this.read_of(held, rank, [rows, block]);
                        // Each round counts: the last one alone would hide the others.
                        let chosen = Expr::Select(Box::new([this.expr(Type::Bool, 1), read, Expr::Var(sum)]));
                        body.push(Stmt::Assign(sum, None, chosen));
                    });
                }
            }
        }
    }

    /// A loop over the ranks.
    fn each_rank(
        &mut self,
        out: &mut Vec<Stmt>,
        unroll: bool,
        make: impl FnOnce(&mut Generator, Expr, &mut Vec<Stmt>),
    ) {
        let var = self.var(VarType::Scalar(Type::Index));
        let mark = self.scope.mark();
        self.scope.declare(var, false);
        let mut body = vec![];
        make(self, Expr::Var(var), &mut body);
        self.scope.leave(mark);
        let (start, end) = (number(0), number(self.kernel.cluster.into()));
        out.push(Stmt::For { var, start, end, step: None, reversed: self.chance(30), unroll, body });
    }

    fn read_of(&mut self, held: Var, rank: Expr, extents: [i64; 2]) -> Expr {
        let place = Place { base: Base::View(held), steps: vec![Step::Rank(rank)] };
        Expr::Load(place, self.inside_of(extents))
    }

    fn inside_of(&mut self, [rows, block]: [i64; 2]) -> Vec<Expr> {
        let row = binary(BinaryOp::Rem, self.natural(1), number(rows));
        let column = match self.below(3) {
            0 => Expr::Thread,
            1 => binary(BinaryOp::Sub, number(block - 1), Expr::Thread),
            _ => binary(BinaryOp::Rem, self.natural(2), number(block)),
        };
        vec![row, column]
    }
}
