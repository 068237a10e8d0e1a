//! Written types: what a parameter, a result or a `let` says, as far as the types of literals follow from it.

use crate::signature::type_ref;
use layout_compiler::ir::TypeRef;
use proc_macro2::Ident;
use syn::{GenericArgument, Generics, Path, PathArguments, ReturnType, Type, TypeParamBound};

/// A type, as far as literals can follow from it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ty {
    /// Found out later: a variable of the inference.
    Open(usize),
    /// A number or a truth value.
    Number(TypeRef),
    /// A tensor or a view of such elements.
    View(Box<Ty>),
    /// `(a, b)`
    Tuple(Vec<Ty>),
    /// `[a; n]`
    Array(Box<Ty>),
    /// A function.
    Function(Vec<Ty>, Box<Ty>),
    /// Nothing follows from it.
    Other,
}

impl Ty {
    /// Whether nothing of it is open.
    pub fn is_closed(&self) -> bool {
        match self {
            Ty::Open(_) | Ty::Other => false,
            Ty::Number(_) => true,
            Ty::View(of) | Ty::Array(of) => of.is_closed(),
            Ty::Tuple(parts) => parts.iter().all(Ty::is_closed),
            Ty::Function(parts, result) => parts.iter().all(Ty::is_closed) && result.is_closed(),
        }
    }
}

/// The type that is written, in a function with these generics. `structs` are tuples.
pub(super) fn written(
    ty: &Type,
    types: &[Ident],
    generics: Option<&Generics>,
    structs: &mut dyn FnMut(&Path) -> Option<Ty>,
) -> Ty {
    let own = |name: &Ident| {
        let parameters = generics.into_iter().flat_map(|generics| generics.type_params());
        parameters.into_iter().find(|own| own.ident == *name)
    };
    let mut inner = |ty: &Type| written(ty, types, generics, structs);
    match ty {
        Type::Group(group) => inner(&group.elem),
        Type::Paren(paren) => inner(&paren.elem),
        Type::Reference(reference) => inner(&reference.elem),
        Type::Tuple(tuple) if tuple.elems.is_empty() => Ty::Other,
        Type::Tuple(tuple) => Ty::Tuple(tuple.elems.iter().map(&mut inner).collect()),
        Type::Array(array) => Ty::Array(Box::new(inner(&array.elem))),
        Type::ImplTrait(bounds) => called(bounds.bounds.iter(), &mut inner),
        Type::Path(path) if path.qself.is_none() => {
            if let Some(name) = path.path.get_ident() {
                return match own(name) {
                    // `F: Fn(f32) -> f32`
                    Some(own) => called(own.bounds.iter(), &mut inner),
                    None => structs(&path.path)
                        .unwrap_or_else(|| type_ref(ty, types).map_or(Ty::Other, Ty::Number)),
                };
            }
            let Some(last) = path.path.segments.last() else { return Ty::Other };
            match &last.arguments {
                PathArguments::AngleBracketed(arguments)
                    if last.ident == "View" || last.ident == "LayoutTensor" =>
                {
                    match arguments.args.first() {
                        Some(GenericArgument::Type(elem)) => Ty::View(Box::new(inner(elem))),
                        _ => Ty::Other,
                    }
                }
                PathArguments::AngleBracketed(_) => structs(&path.path).unwrap_or(Ty::Other),
                _ => Ty::Other,
            }
        }
        _ => Ty::Other,
    }
}

/// `impl Fn(f32, f32) -> f32`
fn called<'a>(bounds: impl Iterator<Item = &'a TypeParamBound>, inner: &mut dyn FnMut(&Type) -> Ty) -> Ty {
    for bound in bounds {
        let TypeParamBound::Trait(bound) = bound else { continue };
        let Some(last) = bound.path.segments.last() else { continue };
        if let PathArguments::Parenthesized(arguments) = &last.arguments {
            let result = match &arguments.output {
                ReturnType::Type(_, ty) => inner(ty),
                ReturnType::Default => Ty::Other,
            };
            return Ty::Function(
                arguments.inputs.iter().map(|argument| inner(&argument.ty)).collect(),
                Box::new(result),
            );
        }
    }
    Ty::Other
}
