//! Induction variables: indices that a counted loop only increases, by constants, at most once a round each; and those
//! that any loop only divides.
//!
//! Law: after `r` rounds that add at most `c` each, the variable is at most `r * c` above its value before the loop,
//! on every path: an `if`, a `continue` or a `break` only leaves additions out. One that is only divided or shifted to the right,
//! and is not negative, stays between 0 and its value before the loop. A variable is no induction variable
//! if it is also assigned in another way, in an inner loop, or through a reference.

use super::datum::{Binding, StaticValue};
use super::evaluator::Evaluator;
use crate::index::{Index, Range, VarId};
use crate::ir::{BinaryOp, Block, ExprId, ExprKind, Seen, Statement, StatementKind};
use std::collections::HashMap;

/// How an assignment changes a variable.
enum Change {
    Added(ExprId),
    Divided(ExprId),
}

/// The intervals of an induction variable.
pub(super) struct Induction {
    var: VarId,
    head: Range,
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
        let inductions = self.inductions(None, body, Some((span + step - 1).max(0) / step));
        self.enter_with(changed, inductions)
    }

    /// The same of a `while`.
    pub(super) fn enter_while(
        &mut self,
        changed: &[VarId],
        (condition, body): (ExprId, &Block),
    ) -> (Vec<(VarId, i64)>, Vec<Induction>) {
        let inductions = self.inductions(Some(condition), body, None);
        self.enter_with(changed, inductions)
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

    /// The induction variables of a loop of so many rounds at most; called in front of it.
    fn inductions(
        &mut self,
        condition: Option<ExprId>,
        body: &Block,
        rounds: Option<i128>,
    ) -> Vec<Induction> {
        let mut changes: Vec<(VarId, Change)> = Vec::new();
        let mut others = Vec::new();
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
                                Some(BinaryOp::Add) => Some(Change::Added(*value)),
                                Some(BinaryOp::Div | BinaryOp::Shr) => Some(Change::Divided(*value)),
                                Some(_) => None,
                                None => self.part_of(*var, *value).map(Change::Divided),
                            };
                            match change {
                                Some(change) => changes.push((*var, change)),
                                None => others.push(*var),
                            }
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
        others.extend(self.assigned_indices(condition, &[]));
        // For each the sum of a round's additions, or `None` where it is divided.
        let mut sums: HashMap<VarId, Option<i128>> = HashMap::new();
        for (var, change) in changes {
            let (by, sum) = match change {
                Change::Added(by) => (by, true),
                Change::Divided(by) => (by, false),
            };
            let by = self.literal(by).filter(|by| *by >= i64::from(!sum)).map(i128::from);
            match (by, sums.get(&var).copied()) {
                (Some(by), None) => drop(sums.insert(var, sum.then_some(by))),
                (Some(by), Some(Some(known))) if sum => drop(sums.insert(var, Some(known + by))),
                (Some(_), Some(None)) if !sum => {}
                _ => others.push(var),
            }
        }
        sums.retain(|var, _| !others.contains(var));
        let mut found = Vec::new();
        for (var, sum) in sums {
            let now = self.read_index(var);
            let now = self.tables.atoms.range(&now);
            let after = |rounds: i128, sum: i128| {
                Range::new(now.low, now.high.saturating_add(sum.saturating_mul(rounds)))
            };
            let (head, behind) = match (sum, rounds) {
                (None, _) if now.low >= 0 => (Range::new(0, now.high), Range::new(0, now.high)),
                (Some(sum), Some(rounds)) => (after((rounds - 1).max(0), sum), after(rounds.max(0), sum)),
                (None, _) | (Some(_), None) => continue,
            };
            // What leaves 64 bits wraps.
            if behind.fits_i64() {
                found.push(Induction { var, head, behind });
            }
        }
        found
    }

    /// What `var / by` and `var >> by` are divided by.
    fn part_of(&self, var: VarId, value: ExprId) -> Option<ExprId> {
        match &self.kernel.expr(value).kind {
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Shr, left, by) => {
                matches!(self.named(*left), Some((_, Binding::Index(own))) if *own == var).then_some(*by)
            }
            _ => None,
        }
    }

    /// A number that an expression is without being evaluated at run time.
    fn literal(&mut self, id: ExprId) -> Option<i64> {
        let datum = match &self.kernel.expr(id).kind {
            ExprKind::Int(..) | ExprKind::Parameter(_) | ExprKind::Known(..) => self.expr(id).ok()?,
            ExprKind::Local(local) => match self.bindings.get(local)? {
                Binding::Value(datum) => datum.clone(),
                _ => return None,
            },
            _ => return None,
        };
        match datum {
            StaticValue::Index(index) => Index::as_constant(&index),
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
