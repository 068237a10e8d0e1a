//! Trip counts: how often a loop runs at most, and what its condition says of the indices that it compares.
//!
//! Law: a `while` whose condition needs an index to be at most a number, and each round of which adds to that index, or which needs a
//! positive one and divides it in each round, has a largest number of rounds. A round that a `continue` may shorten counts for none.

use super::datum::Binding;
use super::evaluator::Evaluator;
use crate::index::VarId;
use crate::ir::{BinaryOp, Block, ExprId, ExprKind, Seen, Statement, StatementKind};
use std::collections::HashMap;

/// What bounds the rounds of a loop.
pub(super) enum Bound<'b> {
    /// Their number, of a `for`.
    Rounds(i128),
    /// The condition of a `while`, and the indices that the loop assigns.
    Condition(ExprId, &'b [VarId]),
}

impl Evaluator<'_> {
    /// Of a search, `while low < high`: both are supposed to stay at most what `high` is before the loop.
    pub(super) fn suppose_search(&mut self, condition: ExprId, changed: &[VarId]) {
        let ExprKind::Binary(op, left, right) = self.kernel.expr(condition).kind else { return };
        let (low, high) = match op {
            BinaryOp::Lt | BinaryOp::Le => (left, right),
            BinaryOp::Gt | BinaryOp::Ge => (right, left),
            BinaryOp::Ne => (left, right),
            _ => return,
        };
        let changing = |side| match self.named(side) {
            Some((_, Binding::Index(var))) if changed.contains(var) => Some(*var),
            _ => None,
        };
        let (Some(low), Some(high)) = (changing(low), changing(high)) else { return };
        let [low, high] = [low, high].map(|var| self.read_index(var));
        let most = [&low, &high].map(|index| self.tables.atoms.range(index).high).into_iter().max();
        if let Some(count) = most.and_then(|most| i64::try_from(most + 1).ok()).filter(|count| *count > 0) {
            self.require_below(&low, count);
            self.require_below(&high, count);
        }
    }

    /// The most that indices are where a condition holds.
    pub(super) fn limits(&mut self, condition: ExprId, changed: &[VarId], found: &mut HashMap<VarId, i128>) {
        let kernel = self.kernel;
        let ExprKind::Binary(op, left, right) = &kernel.expr(condition).kind else { return };
        let (least, most) = match op {
            BinaryOp::And => {
                self.limits(*left, changed, found);
                return self.limits(*right, changed, found);
            }
            BinaryOp::Lt | BinaryOp::Le => (*left, *right),
            BinaryOp::Gt | BinaryOp::Ge => (*right, *left),
            _ => return,
        };
        let Some((_, Binding::Index(var))) = self.named(least) else { return };
        let var = *var;
        let most = match self.named(most) {
            Some((_, Binding::Index(other))) if !changed.contains(other) => {
                let other = *other;
                Some(self.read_index(other))
            }
            _ => self.fixed(most),
        };
        if let Some(most) = most {
            let high =
                self.tables.atoms.range(&most).high - i128::from(matches!(op, BinaryOp::Lt | BinaryOp::Gt));
            found.entry(var).and_modify(|known| *known = high.min(*known)).or_insert(high);
        }
    }

    /// The indices that are positive where a condition holds, if they are not negative.
    pub(super) fn positive(&mut self, condition: ExprId) -> Vec<VarId> {
        let ExprKind::Binary(op, left, right) = self.kernel.expr(condition).kind else { return vec![] };
        if op == BinaryOp::And {
            return [self.positive(left), self.positive(right)].concat();
        }
        let (greater, op, least) = match op {
            BinaryOp::Lt => (right, BinaryOp::Gt, left),
            BinaryOp::Le => (right, BinaryOp::Ge, left),
            op => (left, op, right),
        };
        let least = self.literal(least);
        match (op, least, self.named(greater)) {
            (BinaryOp::Gt | BinaryOp::Ne, Some(0), Some((_, Binding::Index(var))))
            | (BinaryOp::Ge, Some(1), Some((_, Binding::Index(var)))) => vec![*var],
            _ => vec![],
        }
    }

    /// The most rounds of a `while` that ends where an induction variable is beyond its limit, or 0, and each round of which increases
    /// it, or divides it.
    pub(super) fn rounds_below(
        &mut self,
        (limits, positive): (&HashMap<VarId, i128>, &[VarId]),
        body: &Block,
    ) -> Option<i128> {
        let mut leaves_out = false;
        self.kernel.each_statement(body, &mut |seen| {
            leaves_out |= matches!(seen, Seen::Statement(Statement { kind: StatementKind::Continue, .. }));
            true
        });
        if leaves_out {
            return None;
        }
        let mut least = None;
        for statement in &body.statements {
            let StatementKind::Assign { place, op, value } = &statement.kind else { continue };
            let Some((_, Binding::Index(var))) = self.named(*place) else { continue };
            let var = *var;
            let by = match op {
                Some(op) => Some((*op, *value)),
                None => self.changed_by(var, *value),
            };
            let Some((op, by)) = by else { continue };
            let Some(by) = self.literal(by).filter(|by| *by >= 1) else { continue };
            let now = self.read_index(var);
            let now = self.tables.atoms.range(&now);
            let rounds = match (op, limits.get(&var)) {
                (BinaryOp::Add, Some(last)) => match last - now.low {
                    span if span < 0 => 0,
                    span => span / i128::from(by) + 1,
                },
                // At least halved.
                (BinaryOp::Div, _) if by == 1 => continue,
                (BinaryOp::Div | BinaryOp::Shr, _) if positive.contains(&var) && now.low >= 0 => {
                    i128::from(i128::BITS - now.high.leading_zeros())
                }
                _ => continue,
            };
            least = Some(least.map_or(rounds, |known: i128| known.min(rounds)));
        }
        least
    }
}
