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
pub(super) fn bare(expr: &Expr) -> &Expr {
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
        let given = given.map(|given| &given.args);
        let mut given = given.into_iter().flatten();
        let item = self.structs.templates[template as usize].item.clone();
        let all = item.generics.params.iter().filter(|own| !matches!(own, GenericParam::Lifetime(_)));
        all.map(|parameter| match given.next() {
            Some(argument) => self.argument(parameter, argument),
            None => self.default_of(template, parameter),
        })
        .collect()
    }

    /// Each argument that is written.
    pub(super) fn each_resolved(
        &mut self,
        template: u32,
        given: &AngleBracketedGenericArguments,
    ) -> Vec<Option<Argument>> {
        let item = self.structs.templates[template as usize].item.clone();
        let mut given = given.args.iter();
        let all = item.generics.params.iter().filter(|own| !matches!(own, GenericParam::Lifetime(_)));
        all.map(|parameter| given.next().and_then(|argument| self.argument(parameter, argument))).collect()
    }

    /// What is written for a parameter; `None` for `_`.
    fn argument(&mut self, parameter: &GenericParam, written: &GenericArgument) -> Option<Argument> {
        match (parameter, written) {
            (_, GenericArgument::Type(Type::Infer(_))) => None,
            (GenericParam::Type(_), GenericArgument::Type(ty)) => self.type_argument(ty),
            (GenericParam::Const(own), GenericArgument::Const(value)) => self.value_argument(&own.ty, value),
            (GenericParam::Const(own), GenericArgument::Type(Type::Path(path))) if path.qself.is_none() => {
                let path = ExprPath { attrs: vec![], qself: None, path: path.path.clone() };
                self.value_argument(&own.ty, &Expr::Path(path))
            }
            _ => None,
        }
    }

    fn default_of(&mut self, template: u32, parameter: &GenericParam) -> Option<Argument> {
        match parameter {
            GenericParam::Type(own) => {
                let (_, ty) = own.default.as_ref()?;
                self.within(template, vec![], None, |this| this.type_argument(ty))
            }
            GenericParam::Const(own) => {
                let (_, value) = own.default.as_ref()?;
                self.within(template, vec![], None, |this| this.value_argument(&own.ty, value))
            }
            GenericParam::Lifetime(_) => None,
        }
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
