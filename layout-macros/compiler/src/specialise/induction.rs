//! Induction variables: indices that a loop only increases by constants, only multiplies by constants, or only divides.
//!
//! Law: after `r` rounds that add at most `c` each, the variable is at most `r * c` above its value before the loop,
//! on every path: an `if`, a `continue` or a `break` only leaves additions out. Where a `while` needs it to be at most `m`, a round begins
//! with at most that, and ends with at most `m + c`, or `m * c`. One that is only divided or shifted to the right,
//! and is not negative, stays between 0 and its value before the loop. A variable is no induction variable
//! if it is also assigned in another way, in an inner loop, or through a reference.

use super::datum::{Binding, StaticValue};
use super::evaluator::Evaluator;
use super::locals;
use super::trip_count::Bound;
use crate::index::{Atom, Index, Range, VarId};
use crate::ir::{BinaryOp, Block, ExprId, ExprKind, Seen, Statement, StatementKind};
use std::collections::HashMap;

/// How a round changes a variable.
#[derive(Clone, Copy)]
enum Change {
    /// By at most so much.
    Added(i128),
    /// By at most this factor.
    Multiplied(i128),
    Divided,
}

impl Change {
    /// Both in one round; `None` where they are of different kinds.
    fn and(self, other: Change) -> Option<Change> {
        match (self, other) {
            (Change::Added(a), Change::Added(b)) => a.checked_add(b).map(Change::Added),
            (Change::Multiplied(a), Change::Multiplied(b)) => a.checked_mul(b).map(Change::Multiplied),
            (Change::Divided, Change::Divided) => Some(Change::Divided),
            _ => None,
        }
    }
}

/// The intervals of an induction variable.
pub(super) struct Induction {
    var: VarId,
    /// Where the condition of a `while` is evaluated.
    head: Range,
    /// In the body.
    body: Range,
    behind: Range,
}

impl Evaluator<'_> {
    /// [`Evaluator::enter_loop`] of a loop over `(first..last).step_by(step)`, with its induction variables.
    pub(super) fn enter_counted(
        &mut self,
        changed: &[VarId],
        body: &Block,
        (first, last, step): (&Index, &Index, i64),
    ) -> (Vec<(VarId, i64)>, Vec<Induction>) {
        let atoms = &self.tables.atoms;
        let (span, step) = (atoms.range(last).high - atoms.range(first).low, i128::from(step));
        let inductions = self.inductions(&Bound::Rounds((span + step - 1).max(0) / step), body);
        self.enter_with(changed, inductions)
    }

    /// The same of a `while`.
    pub(super) fn enter_while(
        &mut self,
        changed: &[VarId],
        (condition, body): (ExprId, &Block),
    ) -> (Vec<(VarId, i64)>, Vec<Induction>) {
        let inductions = self.inductions(&Bound::Condition(condition, changed), body);
        self.suppose_search(condition, changed);
        self.enter_with(changed, inductions)
    }

    /// Behind the condition of a `while`: what it did not read has the interval of the body.
    pub(super) fn enter_body(&mut self, inductions: &[Induction]) {
        for Induction { var, head, body, .. } in inductions {
            let version = self.versions.get(var).copied().unwrap_or(0);
            if self.tables.atoms.find(&Atom::Variable(*var, version)).is_none()
                && self.present.get(var) == Some(head)
            {
                self.present.insert(*var, *body);
            }
        }
    }

    fn enter_with(
        &mut self,
        changed: &[VarId],
        inductions: Vec<Induction>,
    ) -> (Vec<(VarId, i64)>, Vec<Induction>) {
        let modular_bounds = self.enter_loop(changed);
        for Induction { var, head, .. } in &inductions {
            self.present.entry(*var).or_insert(*head);
        }
        (modular_bounds, inductions)
    }

    /// The induction variables of a loop; called in front of it.
    fn inductions(&mut self, bound: &Bound<'_>, body: &Block) -> Vec<Induction> {
        let (changes, others) = self.loop_changes(bound, body);
        let mut sums: HashMap<VarId, Option<Change>> = HashMap::new();
        for (var, change) in changes {
            let sum = match sums.get(&var) {
                Some(known) => known.zip(change).and_then(|(known, change)| known.and(change)),
                None => change,
            };
            sums.insert(var, sum.filter(|_| !others.contains(&var)));
        }
        let (limits, rounds) = match bound {
            Bound::Rounds(rounds) => (HashMap::new(), Some(*rounds)),
            Bound::Condition(condition, changed) => {
                let mut limits = HashMap::new();
                self.limits(*condition, changed, &mut limits);
                limits.retain(|var, _| matches!(sums.get(var), Some(Some(_))));
                let mut positive = self.positive(*condition);
                positive.retain(|var| matches!(sums.get(var), Some(Some(Change::Divided))));
                let rounds = self.rounds_below((&limits, &positive), body);
                (limits, rounds)
            }
        };
        let mut found = Vec::new();
        for (var, change) in sums {
            let Some(change) = change else { continue };
            let now = self.read_index(var);
            let now = self.tables.atoms.range(&now);
            if matches!(change, Change::Divided | Change::Multiplied(_)) && now.low < 0 {
                continue;
            }
            let after = |rounds: i128| match change {
                Change::Divided => now.high,
                Change::Added(sum) => now.high.saturating_add(sum.saturating_mul(rounds)),
                Change::Multiplied(by) => {
                    let factor = u32::try_from(rounds).ok().and_then(|rounds| by.checked_pow(rounds));
                    now.high.saturating_mul(factor.unwrap_or(i128::MAX))
                }
            };
            // A round begins with at most the limit of the condition.
            let last = limits.get(&var).map(|last| match change {
                Change::Divided => now.high,
                Change::Added(sum) => now.high.max(last + sum),
                Change::Multiplied(by) => now.high.max(last.saturating_mul(by)),
            });
            let highs = match (change, rounds) {
                (Change::Divided, _) => Some([now.high; 3]),
                (_, Some(rounds)) => {
                    let (body, behind) = (after((rounds - 1).max(0)), after(rounds));
                    // The condition is evaluated once more than the body.
                    let head = if let Bound::Rounds(_) = bound { body } else { behind };
                    Some([head, body, behind].map(|high| last.map_or(high, |last| last.min(high))))
                }
                (_, None) => last.map(|last| [last; 3]),
            };
            let low = if matches!(change, Change::Divided) { 0 } else { now.low };
            let Some([head, body, behind]) = highs.map(|highs| highs.map(|high| Range::new(low, high)))
            else {
                continue;
            };
            // What leaves 64 bits wraps.
            if behind.fits_i64() && head.fits_i64() {
                found.push(Induction { var, head, body, behind });
            }
        }
        found
    }

    /// How the loop's own statements change indices, `None` where in another way; and those that anything else changes.
    fn loop_changes(
        &mut self,
        bound: &Bound<'_>,
        body: &Block,
    ) -> (Vec<(VarId, Option<Change>)>, Vec<VarId>) {
        let mut changes: Vec<(VarId, Option<(BinaryOp, ExprId)>)> = Vec::new();
        let mut others = Vec::new();
        self.forget_names(body);
        let mut see = |seen: Seen<'_>| match seen {
            Seen::Statement(Statement { kind, .. }) => match kind {
                StatementKind::For { start, end, step, body, .. } => {
                    others.extend(self.assigned_indices(None, &[body]));
                    for header in [Some(*start), Some(*end), *step] {
                        others.extend(self.assigned_indices(header, &[]));
                    }
                    false
                }
                StatementKind::While { condition, body } => {
                    others.extend(self.assigned_indices(Some(*condition), &[body]));
                    false
                }
                StatementKind::Assign { place, op, value } => {
                    match self.named(*place) {
                        Some((_, Binding::Index(var))) => {
                            let change = match op {
                                Some(op) => Some((*op, *value)),
                                None => self.changed_by(*var, *value),
                            };
                            changes.push((*var, change));
                        }
                        Some((_, binding)) => binding.indices(&mut others),
                        None => {}
                    }
                    true
                }
                _ => true,
            },
            Seen::Borrow(place) => {
                self.named(place).into_iter().for_each(|(_, binding)| binding.indices(&mut others));
                true
            }
        };
        self.kernel.each_statement(body, &mut see);
        // What closures and `advance` change is seen in no statement here.
        let condition = match bound {
            Bound::Rounds(_) => None,
            Bound::Condition(condition, _) => Some(*condition),
        };
        others.extend(self.assigned_indices(condition, &[]));
        let mut change = |(op, by): (BinaryOp, ExprId)| {
            let by = i128::from(self.literal(by)?);
            match op {
                BinaryOp::Add if by >= 0 => Some(Change::Added(by)),
                BinaryOp::Mul if by >= 1 => Some(Change::Multiplied(by)),
                BinaryOp::Shl if (0..32).contains(&by) => Some(Change::Multiplied(1 << by)),
                BinaryOp::Div | BinaryOp::Shr if by >= 1 => Some(Change::Divided),
                _ => None,
            }
        };
        let changes = changes.into_iter().map(|(var, by)| (var, by.and_then(&mut change))).collect();
        (changes, others)
    }

    /// Names of a loop's body have no value in front of it. One that they had in an earlier evaluation is another's.
    fn forget_names(&mut self, body: &Block) {
        let mut names = Vec::new();
        self.kernel.each_statement(body, &mut |seen| {
            match seen {
                Seen::Statement(Statement { kind: StatementKind::Let { pattern, .. }, .. }) => {
                    locals(pattern, &mut names);
                }
                Seen::Statement(Statement { kind: StatementKind::Declare { local, .. }, .. })
                | Seen::Statement(Statement { kind: StatementKind::For { local, .. }, .. }) => {
                    names.push(*local)
                }
                _ => {}
            }
            true
        });
        names.iter().for_each(|name| drop(self.bindings.remove(name)));
    }

    /// The operator and the operand of `var op by`, `by + var`, `by * var`.
    pub(super) fn changed_by(&self, var: VarId, value: ExprId) -> Option<(BinaryOp, ExprId)> {
        let ExprKind::Binary(op, left, right) = &self.kernel.expr(value).kind else { return None };
        let is_own =
            |side: &ExprId| matches!(self.named(*side), Some((_, Binding::Index(own))) if *own == var);
        match op {
            _ if is_own(left) => Some((*op, *right)),
            BinaryOp::Add | BinaryOp::Mul if is_own(right) => Some((*op, *left)),
            _ => None,
        }
    }

    /// A number that an expression is without being evaluated at run time.
    pub(super) fn literal(&mut self, id: ExprId) -> Option<i64> {
        self.fixed(id)?.as_constant()
    }

    /// An index that an expression is without being evaluated at run time, or by a name that does not change.
    pub(super) fn fixed(&mut self, id: ExprId) -> Option<Index> {
        let datum = match &self.kernel.expr(id).kind {
            ExprKind::Int(..) | ExprKind::Parameter(_) | ExprKind::Known(..) | ExprKind::Dim(_) => {
                self.expr(id).ok()?
            }
            ExprKind::Local(local) => match self.bindings.get(local)? {
                Binding::Value(datum) => datum.clone(),
                _ => return None,
            },
            _ => return None,
        };
        match datum {
            StaticValue::Index(index) => Some(index),
            _ => None,
        }
    }

    /// Behind it.
    pub(super) fn behind_inductions(&mut self, inductions: &[Induction]) {
        for Induction { var, behind, .. } in inductions {
            self.present.entry(*var).or_insert(*behind);
        }
    }
}
