//! `&mut` places: which expressions are references, and what is done through one.
//!
//! Law: a reference is the place that it was made of, and an assignment through it changes that place. Where a reference is
//! bound, given to a function or is a block's value, the place is handed on; everywhere else it is read. An assignment
//! through what is not known to be a reference is refused: it would change a copy.

use super::Lowering;
use super::shape::Shape;
use crate::span::Place;
use layout_compiler::ir::{Annotation, Block, ExprId, ExprKind, LocalId, Pattern, Statement, StatementKind};
use proc_macro2::Ident;
use syn::{Expr, ExprReference, Type, UnOp};

/// Where a value has references.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum References {
    /// Nowhere.
    None,
    /// It is one.
    Whole,
    /// In these parts of a tuple.
    Parts(Vec<References>),
}

/// The references in what has this type.
pub(super) fn references_of(ty: &Type) -> References {
    match ty {
        Type::Group(group) => references_of(&group.elem),
        Type::Paren(paren) => references_of(&paren.elem),
        Type::Reference(reference) if reference.mutability.is_some() => References::Whole,
        Type::Tuple(tuple) => References::of_parts(tuple.elems.iter().map(references_of).collect()),
        _ => References::None,
    }
}

/// The expression within brackets.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(node) => bare(&node.expr),
        Expr::Group(node) => bare(&node.expr),
        _ => expr,
    }
}

impl References {
    fn of_parts(parts: Vec<References>) -> References {
        match parts.iter().all(|part| *part == References::None) {
            true => References::None,
            false => References::Parts(parts),
        }
    }
}

impl Lowering<'_> {
    /// `&place`, `&mut place`. A view is a value that says where its elements are: borrowing it changes nothing.
    pub(super) fn reference(&mut self, expr: &Expr, node: &ExprReference, wanted: Shape) -> ExprId {
        let id = self.expr_as(&node.expr, wanted);
        if node.mutability.is_none() || !self.is_place(id) {
            return id;
        }
        self.add(Place::of_expr(expr), ExprKind::Borrow(id))
    }

    /// `*reference`
    pub(super) fn dereference(&mut self, expr: &Expr, operand: &Expr) -> ExprId {
        // `x ** 2.0`, as other languages write it.
        if let Expr::Lit(_) = operand {
            return self.refuse(
                Place::of_expr(expr),
                "`*` in front of a number, which is no reference",
                "a power is `x * x`, `x.powi(3)`, `x.powf(0.5)`, of integers `n.pow(2)`",
            );
        }
        let (place, id) = (Place::of_expr(expr), self.expr(operand));
        match self.kernel.exprs[id.0 as usize].kind {
            ExprKind::Borrow(of) => of,
            ExprKind::If(..) | ExprKind::Block(_) | ExprKind::Call(..)
                if self.references_in(id) == References::Whole =>
            {
                // A name of the place is read as the place is.
                let local = self.local(&Ident::new("referred", place.start), false);
                let statements = vec![self.bound(place, Pattern::Local(local), id)];
                let value = Some(self.add(place, ExprKind::Local(local)));
                self.add(place, ExprKind::Block(Block { statements, value }))
            }
            _ => id,
        }
    }

    /// Whether an expression names a local, an element of a view, or a part of one.
    pub(super) fn is_place(&self, id: ExprId) -> bool {
        match self.kernel.exprs[id.0 as usize].kind {
            ExprKind::Local(_) | ExprKind::Index(..) => true,
            ExprKind::Element(of, _) | ExprKind::Field(of, _) => {
                matches!(self.kernel.exprs[of.0 as usize].kind, ExprKind::Argument(_)) || self.is_place(of)
            }
            _ => false,
        }
    }

    /// A value that is handed on: a name of what `&mut` borrowed is handed on as that.
    pub(super) fn given(&mut self, value: &Expr) -> ExprId {
        let id = self.expr(value);
        let kind = &self.kernel.exprs[id.0 as usize].kind;
        let names = matches!(bare(value), Expr::Path(_) | Expr::Field(_))
            && matches!(kind, ExprKind::Local(_) | ExprKind::Field(..));
        match names && self.named_references(id) != References::None {
            true => self.add(Place::of_expr(value), ExprKind::Borrow(id)),
            false => id,
        }
    }

    /// Whether a local represents a place of another's.
    pub(super) fn refers_whole(&self, local: LocalId) -> bool {
        self.references.get(&local) == Some(&References::Whole)
    }

    /// A local that represents a place of another's.
    pub(super) fn refers(&mut self, local: LocalId) {
        self.references.insert(local, References::Whole);
        self.kernel.locals[local.0 as usize].mutable = true;
    }

    /// The names of a pattern represent the places that its value refers to.
    pub(super) fn refer_like(&mut self, pattern: &Pattern, value: &References) {
        match (pattern, value) {
            (Pattern::Local(local), References::Whole) => self.refers(*local),
            (Pattern::Local(local), References::Parts(_)) => {
                self.references.insert(*local, value.clone());
            }
            (Pattern::Tuple(names), References::Parts(parts)) => {
                names.iter().zip(parts).for_each(|(name, part)| self.refer_like(name, part));
            }
            (Pattern::Tuple(names), References::Whole) => {
                names.iter().for_each(|name| self.refer_like(name, value));
            }
            (Pattern::Wildcard, _) | (_, References::None) => {}
        }
    }

    /// Where what an expression names has references.
    fn named_references(&self, id: ExprId) -> References {
        match &self.kernel.exprs[id.0 as usize].kind {
            ExprKind::Local(local) => self.references.get(local).cloned().unwrap_or(References::None),
            ExprKind::Field(of, number) => match self.named_references(*of) {
                References::Parts(mut parts) if (*number as usize) < parts.len() => {
                    parts.swap_remove(*number as usize)
                }
                _ => References::None,
            },
            _ => self.references_in(id),
        }
    }

    /// Where the value of an expression has references. A name that is not handed on is read.
    pub(super) fn references_in(&self, id: ExprId) -> References {
        let of_block =
            |block: &Block| block.value.map_or(References::None, |value| self.references_in(value));
        match &self.kernel.exprs[id.0 as usize].kind {
            ExprKind::Borrow(of) => match self.named_references(*of) {
                // A tuple of references that is handed on.
                parts @ References::Parts(_) => parts,
                References::None | References::Whole => References::Whole,
            },
            ExprKind::Tuple(parts) => {
                References::of_parts(parts.iter().map(|part| self.references_in(*part)).collect())
            }
            ExprKind::Block(block) => of_block(block),
            ExprKind::If(_, then, otherwise) => match of_block(then) {
                References::None => of_block(otherwise),
                found => found,
            },
            ExprKind::Call(function, _) => match &self.kernel.functions[*function as usize].result {
                Annotation::Mutable(_) => References::Whole,
                _ => References::None,
            },
            _ => References::None,
        }
    }

    /// Refuses `*place = value` where the place is not known to be what a reference was made of.
    pub(super) fn through_reference(&mut self, target: &Expr, place: ExprId) -> bool {
        let dereferenced = match bare(target) {
            Expr::Unary(node) => {
                matches!(node.op, UnOp::Deref(_)) && !matches!(bare(&node.expr), Expr::Reference(_))
            }
            _ => false,
        };
        let name = match self.kernel.exprs[place.0 as usize].kind {
            ExprKind::Local(local) => self.kernel.locals[local.0 as usize].name.clone(),
            ExprKind::Field(..) | ExprKind::Element(..) => "this".to_owned(),
            _ => return true,
        };
        if !dereferenced || self.named_references(place) == References::Whole {
            return true;
        }
        let name = if name == "this" { name } else { format!("`{name}`") };
        self.errors.push(
            Place::of_expr(target),
            format!("{name} is assigned through `*`, and which place it refers to is not known"),
            "bind the reference where it is made: `let r = &mut y[[i]]; *r = x;`, or write its type: `|r: &mut f32| *r = x`",
        );
        false
    }

    /// `let pattern = value;`
    pub(super) fn bound(&mut self, place: Place, pattern: Pattern, value: ExprId) -> Statement {
        let shape = self.shape_of(value);
        self.shape_like(&pattern, &shape);
        self.statement(place, StatementKind::Let { pattern, ty: Annotation::Any, value, constant: false })
    }
}
