//! `for` over the elements of an array, and other words of Rust's library for arrays: `len`, `swap`; and `sin_cos`.
//!
//! Law: each becomes its definition. `for x in a` is a loop over `0..a.len()` whose body begins with `let x = a[k];`, or
//! with `let x = &mut a[k];` where the elements are borrowed.

use super::Lowering;
use crate::span::Place;
use layout_compiler::intrinsic::{Form, Intrinsic};
use layout_compiler::ir::{BinaryOp, Block, ExprId, ExprKind, LocalId, Pattern, Statement, StatementKind};
use proc_macro2::Ident;
use syn::{Expr, ExprForLoop, ExprMethodCall};

/// What a `for` runs over, where that is an array.
pub(super) struct Sequence<'e> {
    array: &'e Expr,
    /// Whether its elements are borrowed, and whether they may change.
    borrowed: bool,
    mutable: bool,
    /// Whether each comes with its number.
    numbered: bool,
    /// Whether the last comes first, numbered from 0; and whether their numbers come from the last on, too.
    reversed: bool,
    backwards: bool,
}

/// The array of `a`, `&a`, `&mut a`, `a.iter()`, `a.iter_mut()`, `a.into_iter()`, each perhaps with `.enumerate()` and `.rev()`.
pub(super) fn sequence(expr: &Expr) -> Option<Sequence<'_>> {
    let plain = |array| Sequence {
        array,
        borrowed: false,
        mutable: false,
        numbered: false,
        reversed: false,
        backwards: false,
    };
    match expr {
        Expr::Paren(node) => sequence(&node.expr),
        Expr::Group(node) => sequence(&node.expr),
        Expr::Array(_) | Expr::Repeat(_) | Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => {
            Some(plain(expr))
        }
        Expr::Unary(node) if matches!(node.op, syn::UnOp::Deref(_)) => Some(plain(expr)),
        Expr::Reference(node) => {
            let mutable = node.mutability.is_some();
            Some(Sequence { borrowed: true, mutable, ..sequence(&node.expr)? })
        }
        Expr::MethodCall(node) if node.args.is_empty() => {
            let inner = sequence(&node.receiver);
            match node.method.to_string().as_str() {
                "iter" => Some(Sequence { borrowed: true, ..inner? }),
                "iter_mut" => Some(Sequence { borrowed: true, mutable: true, ..inner? }),
                "into_iter" | "copied" | "cloned" => inner,
                "enumerate" => {
                    Some(Sequence { numbered: true, ..inner? }).filter(|_| is_iterator(&node.receiver))
                }
                "rev" if is_iterator(&node.receiver) => {
                    let inner = inner?;
                    Some(match inner.numbered {
                        true => Sequence { backwards: !inner.backwards, ..inner },
                        false => Sequence { reversed: !inner.reversed, ..inner },
                    })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether an expression calls a method: an array by itself has no `enumerate`.
fn is_iterator(expr: &Expr) -> bool {
    matches!(expr, Expr::MethodCall(_))
}

impl Lowering<'_> {
    /// `for x in array { .. }`
    pub(super) fn for_each(
        &mut self,
        place: Place,
        node: &ExprForLoop,
        sequence: &Sequence<'_>,
    ) -> Vec<Statement> {
        let mut array = self.given(sequence.array);
        // `for x in rows` of a `rows: &mut [f32; 4]` gives references, too.
        let mutable = sequence.mutable
            || !sequence.borrowed && matches!(self.kernel.exprs[array.0 as usize].kind, ExprKind::Borrow(_));
        if sequence.borrowed && self.is_place(array) {
            array = self.add(place, ExprKind::Borrow(array));
        }
        let name = |text: &str| Ident::new(text, place.start);
        let (all, counter) = (self.local(&name("all"), false), self.local(&name("k"), false));
        let mut out = vec![self.bound(place, Pattern::Local(all), array)];
        let read = |this: &mut Self, local| this.add(place, ExprKind::Local(local));
        let (start, of) = (self.add(place, ExprKind::Int(0, None)), read(self, all));
        let end = self.add(place, ExprKind::Len(of));
        let (of, mut at) = (read(self, all), read(self, counter));
        if sequence.reversed {
            let one = self.add(place, ExprKind::Int(1, None));
            let last = self.add(place, ExprKind::Binary(BinaryOp::Sub, end, one));
            at = self.add(place, ExprKind::Binary(BinaryOp::Sub, last, at));
        }
        let mut element = self.add(place, ExprKind::Element(of, at));
        // With the origin of the length, a value that is no array is reported once.
        self.kernel.exprs[element.0 as usize].origin = self.kernel.exprs[end.0 as usize].origin;
        if mutable {
            element = self.add(place, ExprKind::Borrow(element));
        }
        if sequence.numbered {
            let number = read(self, counter);
            element = self.add(place, ExprKind::Tuple(vec![number, element]));
        }
        let mark = self.scopes.enter();
        let pattern = self.pattern(&node.pat);
        let references = self.references_in(element);
        self.refer_like(&pattern, &references);
        let first = self.bound(place, pattern, element);
        out.extend(self.loop_with(&node.label, place, &node.body, |_, mut body| {
            body.statements.insert(0, first);
            let (closed, step, unroll, reversed) = (false, None, false, sequence.backwards);
            Some(StatementKind::For { local: counter, start, end, closed, step, unroll, reversed, body })
        }));
        self.scopes.leave(mark);
        out
    }

    /// What a method of Rust's arrays and numbers is short for.
    pub(super) fn short_for(&mut self, place: Place, node: &ExprMethodCall) -> Option<ExprId> {
        let arguments: Vec<&Expr> = node.args.iter().collect();
        match (node.method.to_string().as_str(), arguments.as_slice()) {
            ("len", []) => {
                let array = self.expr(&node.receiver);
                Some(self.add(place, ExprKind::Len(array)))
            }
            ("is_multiple_of", [of]) => {
                let (number, of) = (self.expr(&node.receiver), self.expr(of));
                let rest = self.add(place, ExprKind::Binary(BinaryOp::Rem, number, of));
                let none = self.add(place, ExprKind::Int(0, None));
                Some(self.add(place, ExprKind::Binary(BinaryOp::Eq, rest, none)))
            }
            ("sin_cos", []) => {
                let angle = self.expr(&node.receiver);
                let local = self.local(&Ident::new("angle", place.start), false);
                let statements = vec![self.bound(place, Pattern::Local(local), angle)];
                let of = |this: &mut Self, word: &str| {
                    let angle = this.add(place, ExprKind::Local(local));
                    let word = Intrinsic::from_name(word, Form::Method)?;
                    Some(this.add(place, ExprKind::Intrinsic(word, vec![], vec![angle])))
                };
                let both = vec![of(self, "sin")?, of(self, "cos")?];
                let value = Some(self.add(place, ExprKind::Tuple(both)));
                Some(self.add(place, ExprKind::Block(Block { statements, value })))
            }
            ("swap", [one, other]) => Some(self.swapped(place, &node.receiver, [one, other])),
            _ => None,
        }
    }

    /// `array.swap(i, j)`
    fn swapped(&mut self, place: Place, array: &Expr, at: [&Expr; 2]) -> ExprId {
        let mut array = self.expr(array);
        if self.is_place(array) {
            array = self.add(place, ExprKind::Borrow(array));
        }
        // The place of the array is found once.
        let all = self.local(&Ident::new("all", place.start), false);
        let mut statements = vec![self.bound(place, Pattern::Local(all), array)];
        let mut named = |this: &mut Self, text: &str, value: ExprId| -> LocalId {
            let local = this.local(&Ident::new(text, place.start), false);
            let statement = this.bound(place, Pattern::Local(local), value);
            statements.push(statement);
            local
        };
        let places = at.map(|at| {
            let at = self.expr(at);
            named(self, "place", at)
        });
        let element = |this: &mut Self, at: LocalId| {
            let (all, at) = (this.add(place, ExprKind::Local(all)), this.add(place, ExprKind::Local(at)));
            this.add(place, ExprKind::Element(all, at))
        };
        let values = places.map(|at| {
            let value = element(self, at);
            named(self, "element", value)
        });
        for (at, value) in places.into_iter().zip(values.into_iter().rev()) {
            let (to, value) = (element(self, at), self.add(place, ExprKind::Local(value)));
            statements.push(self.statement(place, StatementKind::Assign { place: to, op: None, value }));
        }
        self.add(place, ExprKind::Block(Block { statements, value: None }))
    }
}
