//! Induction variables: indices that a counted loop only increases, by constants, at most once a round each.
//!
//! Law: after `r` rounds that add at most `c` each, the variable is at most `r * c` above its value before the loop,
//! on every path: an `if`, a `continue` or a `break` only leaves additions out. A variable is no induction variable
//! if it is also assigned in another way, in an inner loop, or through a reference.

use super::datum::{Binding, StaticValue};
use super::evaluator::Evaluator;
use crate::index::{Index, Range, VarId};
use crate::ir::{BinaryOp, Block, ExprId, ExprKind, Seen, Statement, StatementKind};
use std::collections::HashMap;

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
        let inductions = self.inductions(body, (span + step - 1).max(0) / step);
        let modular_bounds = self.enter_loop(changed);
        for Induction { var, head, .. } in &inductions {
            self.present.entry(*var).or_insert(*head);
        }
        (modular_bounds, inductions)
    }

    /// The induction variables of a loop of so many rounds at most; called in front of it.
    fn inductions(&mut self, body: &Block, rounds: i128) -> Vec<Induction> {
        let mut added: Vec<(VarId, ExprId)> = Vec::new();
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
                    match (self.named(*place), op) {
                        (Some((_, Binding::Index(var))), Some(BinaryOp::Add)) => added.push((*var, *value)),
                        (Some((_, binding)), _) => binding.indices(&mut others),
                        (None, _) => {}
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
        others.extend(self.assigned_indices(None, &[]));
        let mut sums: HashMap<VarId, Option<i128>> = HashMap::new();
        for (var, value) in added {
            let more = self.literal(value).filter(|number| *number >= 0).map(i128::from);
            let sum = sums.entry(var).or_insert(Some(0));
            *sum = sum.zip(more).map(|(sum, more)| sum + more);
        }
        sums.retain(|var, _| !others.contains(var));
        let mut found = Vec::new();
        for (var, sum) in sums {
            let Some(sum) = sum else { continue };
            let now = self.read_index(var);
            let now = self.tables.atoms.range(&now);
            let after =
                |rounds: i128| Range::new(now.low, now.high.saturating_add(sum.saturating_mul(rounds)));
            let (head, behind) = (after((rounds - 1).max(0)), after(rounds.max(0)));
            // What leaves 64 bits wraps.
            if behind.fits_i64() {
                found.push(Induction { var, head, behind });
            }
        }
        found
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
