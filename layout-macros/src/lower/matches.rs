//! `match` on numbers and truth values: a chain of `if`.
//!
//! Law: the value is evaluated once, the arms are tried from the first on. rustc has checked that they leave nothing out, so
//! the last one is the `else`.

use super::Lowering;
use super::scope::{Binding, Found};
use super::shape::Shape;
use super::statement::is_value;
use crate::span::Place;
use layout_compiler::ir::{BinaryOp, Block, ExprId, ExprKind, LocalId, Pattern, UnaryOp};
use proc_macro2::Ident;
use std::borrow::Cow;
use syn::ext::IdentExt;
use syn::{Arm, Expr, ExprMatch, Lit, Pat, PatTuple, RangeLimits};

const HELP: &str = "a pattern is a number, `true`, `false`, a constant, a range, `_`, a name, a tuple or a struct of such, or several with `|`";

impl Lowering<'_> {
    /// `match value { 0 | 1 => .., 2..=7 => .., n if n > 9 => .., _ => .. }`
    pub(super) fn match_expr(&mut self, expr: &Expr, node: &ExprMatch, wanted: &Shape) -> ExprId {
        self.no_attributes(&node.attrs);
        let place = Place::of_expr(expr);
        let value = self.given(&node.expr);
        let name = Ident::new("matched", node.match_token.span);
        let patterns: Vec<Cow<'_, Pat>> = node.arms.iter().map(|arm| self.plain_pattern(&arm.pat)).collect();
        let (matched, pattern) = self.matched(&name, &patterns.iter().map(|pat| &**pat).collect::<Vec<_>>());
        let references = self.references_in(value);
        self.refer_like(&pattern, &references);
        let bind = self.bound(place, pattern, value);
        let arms: Vec<(Option<ExprId>, Block)> =
            node.arms.iter().zip(&patterns).map(|(arm, pat)| self.arm(arm, pat, &matched, wanted)).collect();
        let last = arms.len().saturating_sub(1);
        let mut rest = Block::default();
        for (number, (condition, block)) in arms.into_iter().enumerate().rev() {
            rest = match condition {
                Some(condition) if number < last || matches!(*patterns[number], Pat::Guard(_)) => {
                    let chain = self.add(place, ExprKind::If(condition, block, rest));
                    Block { statements: vec![], value: Some(chain) }
                }
                // What is behind an arm that takes everything is never reached.
                _ => block,
            };
        }
        rest.statements.insert(0, bind);
        self.add(place, ExprKind::Block(rest))
    }

    /// What these patterns take apart: a local for each part of which none takes parts.
    fn matched(&mut self, name: &Ident, patterns: &[&Pat]) -> (Matched, Pattern) {
        let mut parts = vec![];
        patterns.iter().for_each(|pat| tuples(pat, &mut parts));
        let Some(first) = parts.first() else {
            let local = self.local(name, false);
            return (Matched::Whole(local), Pattern::Local(local));
        };
        let each = (0..first.elems.len()).map(|number| {
            let own: Vec<&Pat> = parts.iter().filter_map(|tuple| tuple.elems.get(number)).collect();
            self.matched(name, &own)
        });
        let (matched, patterns) = each.unzip();
        (Matched::Parts(matched), Pattern::Tuple(patterns))
    }

    /// When an arm is taken, and what it does; it may bind the value to a name.
    fn arm(&mut self, arm: &Arm, pat: &Pat, matched: &Matched, wanted: &Shape) -> (Option<ExprId>, Block) {
        self.no_attributes(&arm.attrs);
        let mark = self.scopes.enter();
        let condition = self.taken(pat, matched, true);
        let block = match &*arm.body {
            Expr::Block(block) if block.label.is_none() => self.block_as(&block.block, wanted),
            body if is_value(body) => {
                Block { statements: vec![], value: Some(self.given_as(body, wanted.clone())) }
            }
            body => Block { statements: self.expr_statement(body), value: None },
        };
        self.scopes.leave(mark);
        (condition, block)
    }

    /// The condition under which a pattern takes a value; `None` for every value. One of several joined by `|` binds nothing.
    fn taken(&mut self, pat: &Pat, matched: &Matched, binds: bool) -> Option<ExprId> {
        let place = Place::of(pat);
        if let Pat::Tuple(tuple) = pat {
            let Matched::Parts(parts) = matched else {
                return Some(self.refuse(place, "a kernel does not have this pattern", HELP));
            };
            let parts: Vec<ExprId> = tuple
                .elems
                .iter()
                .zip(parts)
                .filter_map(|(part, own)| self.taken(part, own, binds))
                .collect();
            return self.joined(BinaryOp::And, parts, place);
        }
        match (pat, matched) {
            (Pat::Wild(_), _) => None,
            (Pat::Paren(inner), _) => self.taken(&inner.pat, matched, binds),
            (Pat::Guard(guarded), _) => {
                // The guard may name what the pattern binds.
                let first = self.taken(&guarded.pat, matched, binds);
                let guard = self.expr(&guarded.guard);
                self.joined(BinaryOp::And, first.into_iter().chain([guard]).collect(), place)
            }
            (Pat::Or(or), _) => {
                let cases: Vec<Option<ExprId>> =
                    or.cases.iter().map(|case| self.taken(case, matched, false)).collect();
                // One that takes everything makes the whole do so.
                let parts = cases.into_iter().collect::<Option<Vec<ExprId>>>()?;
                self.joined(BinaryOp::Or, parts, place)
            }
            (_, Matched::Parts(_)) => Some(self.refuse(place, "a tuple is matched by tuples and `_`", HELP)),
            (Pat::Lit(literal), Matched::Whole(value)) => match &literal.lit {
                Lit::Bool(wanted) => {
                    let value = self.add(place, ExprKind::Local(*value));
                    Some(match wanted.value {
                        true => value,
                        false => self.add(place, ExprKind::Unary(UnaryOp::Not, value)),
                    })
                }
                _ => {
                    let wanted = self.expr(&Expr::Lit(literal.clone()));
                    Some(self.compared(BinaryOp::Eq, wanted, place, *value))
                }
            },
            (Pat::Path(path), Matched::Whole(value)) => {
                let wanted = self.path(path, &Shape::Other);
                Some(self.compared(BinaryOp::Eq, wanted, place, *value))
            }
            (Pat::Range(range), Matched::Whole(value)) => {
                let mut parts = vec![];
                if let Some(start) = &range.start {
                    let start = self.expr(start);
                    parts.push(self.compared(BinaryOp::Ge, start, place, *value));
                }
                if let Some(end) = &range.end {
                    let closed = matches!(range.limits, RangeLimits::Closed(_));
                    let end = self.expr(end);
                    let op = if closed { BinaryOp::Le } else { BinaryOp::Lt };
                    parts.push(self.compared(op, end, place, *value));
                }
                self.joined(BinaryOp::And, parts, place)
            }
            (Pat::Ident(ident), Matched::Whole(value))
                if ident.by_ref.is_none() && ident.mutability.is_none() =>
            {
                let text = ident.ident.unraw().to_string();
                let constant = matches!(self.scopes.find(&text), Found::Binding(Binding::Constant(_)))
                    || self.kernel.parameters.iter().any(|parameter| parameter.name == text);
                if constant && ident.subpat.is_none() {
                    let wanted = self.name(&ident.ident);
                    return Some(self.compared(BinaryOp::Eq, wanted, place, *value));
                }
                if !binds {
                    return Some(self.refuse(place, "a name in one of several patterns", HELP));
                }
                let inner = ident.subpat.as_ref().map(|(_, inner)| self.taken(inner, matched, false));
                self.free(&ident.ident);
                self.scopes.bind(text, Binding::Local(*value));
                inner.flatten()
            }
            _ => Some(self.refuse(place, "a kernel does not have this pattern", HELP)),
        }
    }

    fn compared(&mut self, op: BinaryOp, wanted: ExprId, place: Place, value: LocalId) -> ExprId {
        let value = self.add(place, ExprKind::Local(value));
        self.add(place, ExprKind::Binary(op, value, wanted))
    }

    fn joined(&mut self, op: BinaryOp, parts: Vec<ExprId>, place: Place) -> Option<ExprId> {
        parts.into_iter().reduce(|left, right| self.add(place, ExprKind::Binary(op, left, right)))
    }
}

/// What is matched: a value, or the parts of a tuple.
enum Matched {
    Whole(LocalId),
    Parts(Vec<Matched>),
}

/// The tuples that a pattern takes: one, or each of several joined by `|`.
fn tuples<'p>(pat: &'p Pat, out: &mut Vec<&'p PatTuple>) {
    match pat {
        Pat::Tuple(tuple) => out.push(tuple),
        Pat::Paren(inner) => tuples(&inner.pat, out),
        Pat::Guard(guarded) => tuples(&guarded.pat, out),
        Pat::Or(or) => or.cases.iter().for_each(|case| tuples(case, out)),
        _ => {}
    }
}
