//! Leaving loops: `break`, `continue`, and labels.
//!
//! Law: `break 'outer` in an inner loop is a mark that is set and a `break`; each loop that is left on the way ends with a
//! test of the mark. So a loop is left by its own `break` only, and no stage knows of labels.

use super::Lowering;
use crate::place::Place;
use layout_core::kernel::ir::{Annotation, Block, ExprKind, LocalId, Pattern, Statement, StatementKind};
use proc_macro2::Ident;
use syn::{Label, Lifetime};

/// A loop around the code that is lowered.
pub(super) struct Around {
    label: Option<String>,
    /// The ways on which it is left for a loop further out.
    ways: Vec<Way>,
}

/// A way out of several loops at once.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Way {
    /// The loop that is left, or begun anew: its place among those around.
    target: usize,
    goes_on: bool,
    mark: LocalId,
}

impl Lowering<'_> {
    /// A loop: its body is lowered, and `whole` makes the loop's statement of it.
    pub(super) fn loop_with(
        &mut self,
        label: &Option<Label>,
        place: Place,
        body: &syn::Block,
        whole: impl FnOnce(&mut Self, Block) -> Option<StatementKind>,
    ) -> Vec<Statement> {
        let label = label.as_ref().map(|label| label.name.ident.to_string());
        self.around.push(Around { label, ways: vec![] });
        let body = self.block(body);
        let ways = self.around.pop().map(|own| own.ways).unwrap_or_default();
        let depth = self.around.len();
        let Some(kind) = whole(self, body) else { return vec![] };
        let mut out = vec![];
        for way in ways.iter().filter(|way| way.target + 1 == depth) {
            let value = self.add(place, ExprKind::Bool(false));
            let pattern = Pattern::Local(way.mark);
            out.push(self.statement(
                place,
                StatementKind::Let { pattern, ty: Annotation::Any, value, constant: false },
            ));
        }
        out.push(self.statement(place, kind));
        for way in ways {
            let last = way.target + 1 == depth;
            let leave = if last && way.goes_on { StatementKind::Continue } else { StatementKind::Break };
            let leave = Block { statements: vec![self.statement(place, leave)], value: None };
            let condition = self.add(place, ExprKind::Local(way.mark));
            let test = self.add(place, ExprKind::If(condition, leave, Block::default()));
            out.push(self.statement(place, StatementKind::Expr(test)));
        }
        out
    }

    /// `break` or `continue`, perhaps of a loop further out.
    pub(super) fn leave(&mut self, place: Place, goes_on: bool, label: Option<&Lifetime>) -> Vec<Statement> {
        let word = if goes_on { "continue" } else { "break" };
        let Some(innermost) = self.around.len().checked_sub(1) else {
            let message = format!("`{word}` outside of a loop");
            self.errors.push(place, message, "leave it out, or write the loop around it");
            return vec![];
        };
        let named = |label: &Lifetime| {
            let name = label.ident.to_string();
            self.around.iter().rposition(|around| around.label.as_deref() == Some(&name))
        };
        let target = match label {
            None => innermost,
            Some(label) => match named(label) {
                Some(target) => target,
                None => {
                    let message = format!("no loop around is called `{label}`");
                    let help =
                        format!("write the label in front of the loop: `{label}: for i in 0..n {{ .. }}`");
                    self.errors.push(Place::token(label.ident.span()), message, help);
                    return vec![];
                }
            },
        };
        if target == innermost {
            let kind = if goes_on { StatementKind::Continue } else { StatementKind::Break };
            return vec![self.statement(place, kind)];
        }
        let known =
            self.around[innermost].ways.iter().find(|way| (way.target, way.goes_on) == (target, goes_on));
        let mark = match known {
            Some(way) => way.mark,
            None => {
                let mark = self.local(&Ident::new(if goes_on { "skip" } else { "leave" }, place.start), true);
                let way = Way { target, goes_on, mark };
                // A loop between may be left on this way by another loop of its own already, with another mark.
                self.around[target + 1..].iter_mut().for_each(|around| around.ways.push(way));
                mark
            }
        };
        let (marked, value) = (self.add(place, ExprKind::Local(mark)), self.add(place, ExprKind::Bool(true)));
        vec![
            self.statement(place, StatementKind::Assign { place: marked, op: None, value }),
            self.statement(place, StatementKind::Break),
        ]
    }
}
