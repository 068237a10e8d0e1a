//! Patterns: of `let`, parameters, loops and `match`.
//!
//! Law: the pattern of a struct is the pattern of its tuple.

use super::fields::text_of;
use super::{Lowering, refuse};
use crate::span::Place;
use layout_compiler::ir::Pattern;
use proc_macro2::Span;
use std::borrow::Cow;
use syn::{Pat, PatTuple};

impl Lowering<'_> {
    /// Binds the names of a pattern from here on.
    pub(super) fn pattern(&mut self, pat: &Pat) -> Pattern {
        match pat {
            Pat::Struct(_) | Pat::TupleStruct(_) if !matches!(self.plain_pattern(pat), Cow::Borrowed(_)) => {
                let plain = self.plain_pattern(pat).into_owned();
                self.pattern(&plain)
            }
            Pat::Wild(_) => Pattern::Wildcard,
            Pat::Paren(inner) => self.pattern(&inner.pat),
            Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
                Pattern::Local(self.bind(&ident.ident, ident.mutability.is_some()))
            }
            Pat::Tuple(tuple) => Pattern::Tuple(tuple.elems.iter().map(|part| self.pattern(part)).collect()),
            // `let [a, b] = pair;`
            Pat::Slice(slice) if !slice.elems.iter().any(|part| matches!(part, Pat::Rest(_))) => {
                Pattern::Tuple(slice.elems.iter().map(|part| self.pattern(part)).collect())
            }
            // `for &x in &all`: numbers are copied.
            Pat::Reference(inner) if inner.mutability.is_none() => self.pattern(&inner.pat),
            other => {
                let (what, help) = refuse::pattern(other);
                self.errors.push(Place::of(other), format!("the kernel language does not have {what}"), help);
                Pattern::Wildcard
            }
        }
    }

    /// The pattern with tuples in place of structs.
    pub(super) fn plain_pattern<'p>(&mut self, pat: &'p Pat) -> Cow<'p, Pat> {
        let tuple = |paren_token, elems: Vec<Pat>| {
            Pat::Tuple(PatTuple { attrs: vec![], paren_token, elems: elems.into_iter().collect() })
        };
        let each = |this: &mut Self, parts: &mut dyn Iterator<Item = &Pat>| -> Vec<Pat> {
            parts.map(|part| this.plain_pattern(part).into_owned()).collect()
        };
        match pat {
            Pat::Struct(node) => {
                let paren = syn::token::Paren(node.brace_token.span);
                let Some(number) = self.struct_at(&node.path) else {
                    self.no_struct(&node.path);
                    return Cow::Owned(wild(node.brace_token.span.open()));
                };
                let fields = self.structs.all[number as usize].fields.len();
                let mut parts: Vec<Pat> = (0..fields).map(|_| wild(node.brace_token.span.open())).collect();
                for field in &node.fields {
                    let own = &self.structs.all[number as usize];
                    let name = text_of(&field.member);
                    match own.field(&name) {
                        Some(place) => parts[place] = self.plain_pattern(&field.pat).into_owned(),
                        None => {
                            let (message, help) =
                                (format!("`{}` has no field `{name}`", own.name), own.near(&name));
                            self.errors.push(Place::of(&field.member), message, help);
                        }
                    }
                }
                Cow::Owned(tuple(paren, parts))
            }
            Pat::TupleStruct(node) => {
                let Some(number) = self.struct_at(&node.path) else { return Cow::Borrowed(pat) };
                let rest = node.elems.iter().position(|part| matches!(part, Pat::Rest(_)));
                let mut parts = each(self, &mut node.elems.iter());
                if let Some(rest) = rest {
                    let left =
                        (self.structs.all[number as usize].fields.len() + 1).saturating_sub(parts.len());
                    parts.splice(rest..=rest, (0..left).map(|_| wild(node.paren_token.span.open())));
                }
                Cow::Owned(tuple(node.paren_token, parts))
            }
            Pat::Tuple(node) => Cow::Owned(tuple(node.paren_token, each(self, &mut node.elems.iter()))),
            Pat::Paren(node) => self.plain_pattern(&node.pat),
            Pat::Or(node) => {
                let mut whole = node.clone();
                whole.cases.iter_mut().for_each(|case| *case = self.plain_pattern(case).into_owned());
                Cow::Owned(Pat::Or(whole))
            }
            Pat::Guard(node) => {
                let mut whole = node.clone();
                *whole.pat = self.plain_pattern(&node.pat).into_owned();
                Cow::Owned(Pat::Guard(whole))
            }
            _ => Cow::Borrowed(pat),
        }
    }
}

fn wild(span: Span) -> Pat {
    Pat::Wild(syn::PatWild { attrs: vec![], underscore_token: syn::Token![_](span) })
}
