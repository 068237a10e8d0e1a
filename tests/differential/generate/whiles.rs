//! `while` loops: counted, searches, indices that grow and shrink together.
//!
//! Law: each ends whatever its body does: what its condition needs changes at the head of the body, and no `continue` is in
//! front of that.

use super::Generator;
use super::index::{binary, number};
use crate::tree::*;
use crate::types::Type;

impl Generator {
    /// A `while` that ends after some rounds whatever else its condition says.
    pub fn while_loop(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let ty = self.pick(&[Type::Index, Type::I32]);
        let literal = |value: i64| Expr::Literal {
            ty,
            value: crate::value::Value::Int(value.into()),
            bare: ty == Type::Index,
        };
        let count = self.var(VarType::Scalar(ty));
        let grows = self.chance(30);
        let (first, last) =
            if grows { (self.between(1, 3), self.between(2, 90)) } else { (0, self.between(1, 6)) };
        let value = literal(first);
        out.push(Stmt::Let { var: count, mutable: true, written: true, value });
        let limit = binary(BinaryOp::Lt, Expr::Var(count), literal(last));
        let condition = match self.below(3) {
            0 => limit,
            1 => binary(BinaryOp::And, limit, self.plain_condition(2)),
            _ => {
                let effects = std::mem::replace(&mut self.effects, true);
                let other = self.plain_condition(2);
                self.effects = effects;
                binary(BinaryOp::And, other, limit)
            }
        };
        let mark = self.scope.mark();
        self.scope.declare(count, false);
        self.loops += 1;
        let step = match grows {
            true => Stmt::Assign(count, Some(BinaryOp::Mul), literal(self.between(2, 4))),
            false => Stmt::Assign(count, Some(BinaryOp::Add), literal(1)),
        };
        let mut body = vec![step];
        body.extend(self.block(depth));
        self.loops -= 1;
        self.scope.leave(mark);
        out.push(Stmt::While(condition, body));
    }

    /// A condition without `break` and `continue`: of the loop itself, or in front of what ends it.
    fn plain_condition(&mut self, depth: usize) -> Expr {
        let loops = std::mem::take(&mut self.loops);
        let condition = self.expr(Type::Bool, depth);
        self.loops = loops;
        condition
    }

    fn changing_index(&mut self, out: &mut Vec<Stmt>, value: i64) -> Var {
        let var = self.var(VarType::Scalar(Type::Index));
        out.push(Stmt::Let { var, mutable: true, written: true, value: number(value) });
        var
    }

    /// `while low < high { let middle = (low + high) / 2; .. }`: it ends however the comparison goes.
    pub fn search(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let first = self.between(0, 5);
        let (low, last) = (self.changing_index(out, first), self.between(0, 70));
        let high = self.changing_index(out, last);
        let mark = self.scope.mark();
        [low, high].into_iter().for_each(|var| self.scope.declare(var, false));
        let middle = self.var(VarType::Scalar(Type::Index));
        let sum = binary(BinaryOp::Add, Expr::Var(low), Expr::Var(high));
        let value = binary(BinaryOp::Div, sum, number(2));
        self.scope.declare(middle, false);
        let condition = self.plain_condition(2);
        self.loops += 1;
        let body = self.block(depth);
        self.loops -= 1;
        self.scope.leave(mark);
        let next = binary(BinaryOp::Add, Expr::Var(middle), number(1));
        let mut round = vec![
            Stmt::Let { var: middle, mutable: false, written: true, value },
            Stmt::If(
                condition,
                vec![Stmt::Assign(low, None, next)],
                vec![Stmt::Assign(high, None, Expr::Var(middle))],
            ),
        ];
        round.extend(body);
        out.push(Stmt::While(binary(BinaryOp::Lt, Expr::Var(low), Expr::Var(high)), round));
        // Both are seen behind it too.
        [low, high].into_iter().for_each(|var| self.scope.declare(var, true));
    }

    /// `while count > 0 { reach *= 2; now = 1 - now; count /= 2; .. }`: some of them at random.
    pub fn sweep(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let firsts = [self.between(0, 40), self.between(0, 3), self.between(0, 1)];
        let [count, reach, now] = firsts.map(|first| self.changing_index(out, first));
        let (times, by) = (self.between(1, 3), self.between(2, 3));
        let divided = self.pick(&[BinaryOp::Div, BinaryOp::Shr]);
        let mark = self.scope.mark();
        [count, reach, now].into_iter().for_each(|var| self.scope.declare(var, false));
        let mut round = vec![
            Stmt::Assign(count, Some(divided), number(by)),
            Stmt::Assign(reach, Some(BinaryOp::Mul), number(times)),
            Stmt::Assign(now, None, binary(BinaryOp::Sub, number(self.between(1, 2)), Expr::Var(now))),
        ];
        let placed = self.below(3);
        round.rotate_left(placed);
        if self.chance(30) {
            let condition = self.plain_condition(1);
            let last = round.pop().into_iter().collect();
            round.push(Stmt::If(condition, last, vec![Stmt::Assign(count, None, number(0))]));
        }
        self.loops += 1;
        round.extend(self.block(depth));
        self.loops -= 1;
        self.scope.leave(mark);
        out.push(Stmt::While(binary(BinaryOp::Gt, Expr::Var(count), number(0)), round));
        [count, reach, now].into_iter().for_each(|var| self.scope.declare(var, true));
    }
}
