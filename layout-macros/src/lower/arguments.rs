//! Arguments of generic structs: what is written between `<` and `>`, and what it is.
//!
//! Law: an argument is resolved in the scope in which it is written, a default in that of the declaration. A type is what it is
//! in each of the three ways in which types count; a number is an expression, which is evaluated where its name is.

use super::Lowering;
use super::shape::Shape;
use super::suggest;
use super::type_annotations::Ty;
use crate::attr::ungroup;
use crate::span::Place;
use layout_compiler::ir::{Annotation, ExprId, ExprKind, TypeRef};
use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{
    AngleBracketedGenericArguments, Expr, ExprPath, GenericArgument, GenericParam, Generics, ItemImpl, Path,
    PathArguments, Stmt, Type,
};

/// An argument, as it is written.
#[derive(Clone)]
pub(super) struct Argument {
    pub what: What,
    pub text: String,
}

/// What an argument is.
#[derive(Clone)]
pub(super) enum What {
    Type(Known),
    Value(ExprId),
}

/// A type, in the three ways in which types count.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub annotation: Annotation,
    pub ty: Ty,
    pub shape: Shape,
}

/// The parameters of a struct or of an `impl` block.
pub(super) fn parameters(generics: &Generics) -> impl Iterator<Item = &Ident> {
    generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(own) => Some(&own.ident),
        GenericParam::Const(own) => Some(&own.ident),
        GenericParam::Lifetime(_) => None,
    })
}

/// The arguments of a path's last name, where it has some.
pub(super) fn arguments_at(path: &Path) -> Option<&AngleBracketedGenericArguments> {
    match &path.segments.last()?.arguments {
        PathArguments::AngleBracketed(arguments) => Some(arguments),
        _ => None,
    }
}

/// The name that an argument is, if it is one.
pub(super) fn name_of(argument: &GenericArgument) -> Option<&Ident> {
    match argument {
        GenericArgument::Type(Type::Path(path)) if path.qself.is_none() => path.path.get_ident(),
        GenericArgument::Const(Expr::Path(path)) if path.qself.is_none() => path.path.get_ident(),
        _ => None,
    }
}

/// `{ A * 2 }` is its one expression.
fn bare(expr: &Expr) -> &Expr {
    match ungroup(expr) {
        Expr::Block(node) => match node.block.stmts.as_slice() {
            [Stmt::Expr(inner, None)] if node.label.is_none() => bare(inner),
            _ => expr,
        },
        other => other,
    }
}

/// The names of an `impl` block for the parameters of its struct, in their order.
pub(super) fn of_block(block: &ItemImpl) -> impl Iterator<Item = &Ident> {
    let given = match &*block.self_ty {
        Type::Path(path) => arguments_at(&path.path),
        _ => None,
    };
    given.into_iter().flat_map(|given| &given.args).filter_map(name_of)
}

pub(super) fn names<'n>(
    names: impl Iterator<Item = &'n Ident>,
    arguments: &[Argument],
) -> Vec<(String, What)> {
    let each = names.zip(arguments);
    each.map(|(name, argument)| (name.unraw().to_string(), argument.what.clone())).collect()
}

impl Lowering<'_> {
    /// The arguments that are written, and defaults for the rest; `None` where one is `_` or wrong.
    pub(super) fn resolved(
        &mut self,
        template: u32,
        given: Option<&AngleBracketedGenericArguments>,
    ) -> Option<Vec<Argument>> {
        let item = self.structs.templates[template as usize].item.clone();
        let mut given = given.into_iter().flat_map(|given| &given.args);
        let mut out = vec![];
        for parameter in &item.generics.params {
            let argument = match parameter {
                GenericParam::Lifetime(_) => continue,
                GenericParam::Type(own) => match given.next() {
                    Some(GenericArgument::Type(Type::Infer(_))) => None,
                    Some(GenericArgument::Type(ty)) => self.type_argument(ty),
                    Some(_) => None,
                    None => {
                        let (_, ty) = own.default.as_ref()?;
                        self.within(template, vec![], None, |this| this.type_argument(ty))
                    }
                },
                GenericParam::Const(own) => match given.next() {
                    Some(GenericArgument::Type(Type::Infer(_))) => None,
                    Some(GenericArgument::Const(value)) => self.value_argument(&own.ty, value),
                    Some(GenericArgument::Type(Type::Path(path))) if path.qself.is_none() => {
                        let path = ExprPath { attrs: vec![], qself: None, path: path.path.clone() };
                        self.value_argument(&own.ty, &Expr::Path(path))
                    }
                    Some(_) => None,
                    None => {
                        let (_, value) = own.default.as_ref()?;
                        self.within(template, vec![], None, |this| this.value_argument(&own.ty, value))
                    }
                },
            };
            out.push(argument?);
        }
        Some(out)
    }

    fn type_argument(&mut self, ty: &Type) -> Option<Argument> {
        let errors = self.errors.len();
        let annotation = self.annotation(ty);
        let (written, shape) = (self.written_type_of(ty, None), self.shape_of_type(ty));
        let known = Known { annotation, ty: written, shape };
        let text = suggest::text_of(ty);
        (self.errors.len() == errors).then_some(Argument { what: What::Type(known), text })
    }

    fn value_argument(&mut self, ty: &Type, value: &Expr) -> Option<Argument> {
        let errors = self.errors.len();
        let value = bare(value);
        let text = suggest::text_of(value);
        let id = self.expr(value);
        let id = match self.written_type(ty) {
            Some(TypeRef::Usize) => id,
            Some(ty) => {
                let name = Ident::new("value", Place::of_expr(value).start);
                self.named_value(Place::of_expr(value), &name, Annotation::Type(ty), id)
            }
            None => return None,
        };
        (self.errors.len() == errors).then_some(Argument { what: What::Value(id), text })
    }

    /// `{ const name: ty = value; name }`
    fn named_value(&mut self, place: Place, name: &Ident, ty: Annotation, value: ExprId) -> ExprId {
        let local = self.local(name, false);
        self.constant_block(place, local, ty, value)
    }

    pub(super) fn are_same(&self, some: &[Argument], others: &[Argument]) -> bool {
        some.len() == others.len()
            && some.iter().zip(others).all(|(one, other)| match (&one.what, &other.what) {
                (What::Type(one), What::Type(other)) => one == other,
                (What::Value(one), What::Value(other)) => self.is_same(*one, *other),
                _ => false,
            })
    }

    /// Whether two arguments are one value by their text: where they are not, two instances have the same functions.
    fn is_same(&self, one: ExprId, other: ExprId) -> bool {
        let kind = |id: ExprId| &self.kernel.exprs[id.0 as usize].kind;
        match (kind(one), kind(other)) {
            (ExprKind::Int(one, _), ExprKind::Int(other, _)) => one == other,
            (ExprKind::Bool(one), ExprKind::Bool(other)) => one == other,
            (ExprKind::Local(one), ExprKind::Local(other)) => one == other,
            (ExprKind::Parameter(one), ExprKind::Parameter(other)) => one == other,
            (ExprKind::Dim(one), ExprKind::Dim(other)) => one == other,
            (ExprKind::Binary(op, a, b), ExprKind::Binary(other, c, d)) => {
                op == other && self.is_same(*a, *c) && self.is_same(*b, *d)
            }
            _ => one == other,
        }
    }
}
