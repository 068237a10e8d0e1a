//! The function's signature: its dimensions, its type parameters, its arguments.
//!
//! An argument that is not understood is kept as [`Kind::Unknown`]: the launch functions have the right number of
//! arguments whatever is wrong.

use crate::attr::ungroup;
use crate::report::Errors;
use crate::span::Place;
use layout_compiler::Elem;
use layout_compiler::ir::{ArgumentLayout, TypeRef};
use proc_macro2::{Ident, Span};
use quote::{ToTokens, quote_spanned};
use syn::{Expr, FnArg, GenericArgument, GenericParam, Pat, PathArguments, ReturnType, Stmt, Type};

/// What the signature says.
#[derive(Default)]
pub struct Signature {
    /// The const generics, in order.
    pub dims: Vec<Ident>,
    /// The type parameters, in order.
    pub types: Vec<Ident>,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

/// An argument.
pub struct Argument {
    /// The name.
    pub name: Ident,
    /// What it is.
    pub kind: Kind,
}

/// The layout type of a tensor argument.
pub enum LayoutType {
    /// A layout without a mode.
    Named(ArgumentLayout),
    /// `Contiguous<MODE, ..>`: the mode, not yet resolved.
    Contiguous(Box<Expr>),
}

/// What an argument is.
pub enum Kind {
    /// `&LayoutTensor<f32, RowMajor<M, K>>`, or `&mut`.
    Tensor {
        /// The element type.
        elem: TypeRef,
        /// The layout type.
        layout: LayoutType,
        /// The extents, not yet resolved.
        extents: Vec<Expr>,
        /// Whether it is `&mut`.
        mutable: bool,
    },
    /// `f32`, `usize`
    Scalar(TypeRef),
    /// Something that is an error.
    Unknown,
}

const TENSOR_HELP: &str = "write `&LayoutTensor<f32, RowMajor<M, K>>` or `&mut LayoutTensor<..>`; \
                           the layouts are `RowMajor`, `ColMajor`, `Pitched`, `Contiguous` and `Strided`";

/// Reads a signature.
pub fn parse(signature: &syn::Signature, errors: &mut Errors) -> Signature {
    let mut out = Signature::default();
    generics(signature, &mut out, errors);
    let unwanted = [
        signature.asyncness.as_ref().map(|token| (token.span, "async")),
        signature.constness.as_ref().map(|token| (token.span, "const")),
        signature.abi.as_ref().map(|abi| (abi.extern_token.span, "extern")),
        match &signature.safety {
            syn::Safety::Unsafe(token) => Some((token.span, "unsafe")),
            _ => None,
        },
    ];
    for (span, word) in unwanted.into_iter().flatten() {
        errors.push(Place::token(span), format!("a kernel is no `{word}` function"), "leave the word out");
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        errors.push(
            Place::of(ty),
            "a kernel returns nothing",
            "write its results to an argument of type `&mut LayoutTensor<..>`",
        );
    }
    for (number, input) in signature.inputs.iter().enumerate() {
        let argument = argument(input, number, &out.types, errors);
        if out.arguments.iter().any(|known| known.name == argument.name) {
            errors.push(
                Place::token(argument.name.span()),
                format!("two arguments are called `{}`", argument.name),
                "give each argument a name of its own",
            );
        }
        out.arguments.push(argument);
    }
    if out.arguments.is_empty() {
        errors.push(
            Place::token(signature.ident.span()),
            "the kernel has no arguments, so it can have no effect",
            TENSOR_HELP,
        );
    }
    out
}

/// Whether a tensor's layout has an extent of this name.
fn is_extent(signature: &syn::Signature, name: &Ident) -> bool {
    let is_it = |argument: &&GenericArgument| matches!(argument, GenericArgument::Type(Type::Path(path)) if path.path.is_ident(name));
    signature.inputs.iter().any(|input| {
        let FnArg::Typed(typed) = input else { return false };
        let Type::Reference(reference) = &*typed.ty else { return false };
        let layout = path_with_arguments(&reference.elem).map(|(_, [_, layout])| layout);
        let Some(GenericArgument::Type(layout)) = layout else { return false };
        path_and_arguments(layout).is_some_and(|(_, extents)| extents.iter().any(is_it))
    })
}

fn generics(signature: &syn::Signature, out: &mut Signature, errors: &mut Errors) {
    let generics = &signature.generics;
    for parameter in &generics.params {
        match parameter {
            GenericParam::Const(dim) => {
                if !matches!(&dim.ty, Type::Path(ty) if ty.path.is_ident("usize")) {
                    errors.push(
                        Place::of(&dim.ty),
                        format!("dimension `{}` is not of type `usize`", dim.ident),
                        format!(
                            "write `const {}: usize`; values of other types are parameters of the attribute",
                            dim.ident
                        ),
                    );
                }
                out.dims.push(dim.ident.clone());
            }
            GenericParam::Type(ty) => {
                let bound = ty.bounds.first();
                let number = bound.is_some_and(|bound| {
                    ["usize", "u32", "i32"].contains(&bound.to_token_stream().to_string().as_str())
                });
                if number || is_extent(signature, &ty.ident) {
                    errors.push(
                        Place::of(ty),
                        format!("the dimension `{}` is written as a type", ty.ident),
                        format!("write `const {}: usize`", ty.ident),
                    );
                    out.dims.push(ty.ident.clone());
                    continue;
                }
                if let Some(bound) = bound {
                    errors.push(
                        Place::of(bound),
                        format!("type parameter `{}` has a bound", ty.ident),
                        "leave it out: the attribute lists its element types",
                    );
                }
                out.types.push(ty.ident.clone());
            }
            GenericParam::Lifetime(lifetime) => errors.push(
                Place::of(lifetime),
                "a kernel has no lifetimes",
                "leave it out: views are values, and live as long as the kernel runs",
            ),
        }
    }
    if let Some(clause) = &generics.where_clause {
        errors.push(
            Place::of(clause),
            "a kernel has no `where` clause",
            "write conditions on dimensions in the attribute: `require(K % 8 == 0)`",
        );
    }
}

/// Reads one argument.
pub fn argument(input: &FnArg, number: usize, types: &[Ident], errors: &mut Errors) -> Argument {
    let unnamed = || Ident::new(&format!("argument_{number}"), Span::call_site());
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            let way = "write the kernel outside of the `impl`, and pass tensors and scalars by name";
            errors.push(Place::of(receiver), "a kernel has no `self`", way);
            return Argument { name: unnamed(), kind: Kind::Unknown };
        }
    };
    if let Some(attribute) = typed.attrs.first() {
        errors.push(Place::of(attribute), "an argument has an attribute", "leave it out");
    }
    let name = match &*typed.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() && pat.mutability.is_none() => {
            if ["DEFINITION", "SOURCE"].iter().any(|own| pat.ident == own) {
                errors.push(
                    Place::token(pat.ident.span()),
                    format!("an argument is called `{}`, as an item of the kernel's module is", pat.ident),
                    format!("rename it: `{}`", pat.ident.to_string().to_lowercase()),
                );
                return Argument { name: unnamed(), kind: kind(&typed.ty, types, errors) };
            }
            pat.ident.clone()
        }
        other => {
            errors.push(
                Place::of(other),
                "an argument is a name and a type",
                "name it plainly: `alpha: f32`; a changing copy is a local: `let mut x = alpha;`",
            );
            unnamed()
        }
    };
    Argument { name, kind: kind(&typed.ty, types, errors) }
}

fn kind(ty: &Type, types: &[Ident], errors: &mut Errors) -> Kind {
    match ty {
        Type::Reference(reference) => {
            if let Some(lifetime) = &reference.lifetime {
                errors.push(Place::token(lifetime.ident.span()), "a kernel has no lifetimes", "leave it out");
            }
            tensor(&reference.elem, reference.mutability.is_some(), types, errors)
        }
        Type::Group(group) => kind(&group.elem, types, errors),
        Type::Paren(paren) => kind(&paren.elem, types, errors),
        other => match type_ref(other, types) {
            Some(scalar) => Kind::Scalar(scalar),
            None => {
                let tensor = path_and_arguments(other).is_some_and(|(name, _)| name == "LayoutTensor");
                let help = match tensor {
                    _ if matches!(other, Type::FnPtr(_) | Type::ImplTrait(_)) => {
                        "a kernel is compiled for each function: bind it, `#[tiled_kernel(F = name, ..)]` with `fn name(x: f32) -> f32 { .. }` in \
                         the kernel, and call `F(x)`".to_owned()
                    }
                    _ if matches!(other, Type::Ptr(_)) => {
                        "a kernel takes tensors, not pointers: `x: &LayoutTensor<f32, RowMajor<N>>`, or `&mut` where the kernel writes it".to_owned()
                    }
                    true => "a tensor is passed by reference: write `&` in front of it, or `&mut` where the kernel writes it".to_owned(),
                    false => format!("pass its parts, each as an argument: scalars are {}, usize and isize; tensors are `&LayoutTensor<..>`", elements()),
                };
                errors.push(Place::of(other), "an argument of this type cannot be passed to a kernel", help);
                Kind::Unknown
            }
        },
    }
}

fn tensor(ty: &Type, mutable: bool, types: &[Ident], errors: &mut Errors) -> Kind {
    let refuse = |errors: &mut Errors, place: Place, message: &str| {
        errors.push(place, message, TENSOR_HELP);
        Kind::Unknown
    };
    let Some((name, [elem, layout])) = path_with_arguments(ty) else {
        if path_and_arguments(ty).is_some_and(|(name, _)| name == "LayoutTensor") {
            return refuse(errors, Place::of(ty), "a `LayoutTensor` has an element type and a layout");
        }
        return refuse(errors, Place::of(ty), "a reference in a kernel's signature is to a `LayoutTensor`");
    };
    if name != "LayoutTensor" {
        return refuse(
            errors,
            Place::token(name.span()),
            "a reference in a kernel's signature is to a `LayoutTensor`",
        );
    }
    let elem_ref = match elem {
        GenericArgument::Type(ty) => {
            type_ref(ty, types).filter(|ty| !matches!(ty, TypeRef::Usize | TypeRef::Isize))
        }
        _ => None,
    };
    let Some(elem_ref) = elem_ref else {
        errors.push(
            Place::of(elem),
            format!("`{}` is no element type", quote::quote!(#elem)),
            match crate::lower::type_advice(&quote::quote!(#elem).to_string()) {
                Some(way) => way.to_owned(),
                None => format!("the element types are {}, or a type parameter of the function", elements()),
            },
        );
        return Kind::Unknown;
    };
    let GenericArgument::Type(layout_ty) = layout else {
        return refuse(errors, Place::of(layout), "this is no layout");
    };
    let Some((layout_name, mut arguments)) = path_and_arguments(layout_ty) else {
        return refuse(errors, Place::of(layout), "this is no layout");
    };
    let layout = match layout_name.to_string().as_str() {
        "RowMajor" => LayoutType::Named(ArgumentLayout::RowMajor),
        "ColMajor" => LayoutType::Named(ArgumentLayout::ColMajor),
        "Pitched" => LayoutType::Named(ArgumentLayout::Pitched),
        "Strided" => LayoutType::Named(ArgumentLayout::Strided),
        "Contiguous" if arguments.is_empty() => {
            return refuse(errors, Place::of(layout_ty), "which mode is contiguous?");
        }
        "Contiguous" => match extent(arguments.remove(0), errors) {
            Some(mode) => LayoutType::Contiguous(Box::new(mode)),
            None => return Kind::Unknown,
        },
        other => {
            let message = format!("`{other}` is no layout");
            return refuse(errors, Place::token(layout_name.span()), &message);
        }
    };
    if arguments.is_empty() || arguments.len() > 5 {
        errors.push(
            Place::of(layout_ty),
            format!("a tensor of rank {}", arguments.len()),
            "a tensor has 1 to 5 extents: `RowMajor<M, K>`",
        );
        return Kind::Unknown;
    }
    let extents: Vec<Expr> = arguments.iter().filter_map(|argument| extent(argument, errors)).collect();
    if extents.len() < arguments.len() {
        return Kind::Unknown;
    }
    Kind::Tensor { elem: elem_ref, layout, extents, mutable }
}

/// Whether a type is one of the layouts.
pub fn is_layout(name: &Ident) -> bool {
    ["RowMajor", "ColMajor", "Pitched", "Contiguous", "Strided"].iter().any(|known| name == known)
}

/// A dimension, a parameter, a number, or an expression of them.
fn extent(argument: &GenericArgument, errors: &mut Errors) -> Option<Expr> {
    match argument {
        GenericArgument::Const(expr) => match ungroup(expr) {
            Expr::Lit(_) => return Some(expr.clone()),
            // `{ M + 1 }`: one expression.
            Expr::Block(block) => {
                if let [Stmt::Expr(expr, None)] = block.block.stmts.as_slice() {
                    return Some(expr.clone());
                }
            }
            _ => {}
        },
        GenericArgument::Type(Type::Path(path)) if path.qself.is_none() => {
            if let Some(name) = path.path.get_ident() {
                return syn::parse2(quote_spanned!(name.span()=> #name)).ok();
            }
        }
        _ => {}
    }
    errors.push(
        Place::of(argument),
        "an extent is a dimension, a parameter, a number, or an expression of them in braces",
        "name a const generic of the function (`RowMajor<M, K>`), or write a number (`RowMajor<128, K>`) or an expression \
         (`RowMajor<{ M + 1 }, K>`)",
    );
    None
}

/// The name and exactly two generic arguments of a path of one segment.
fn path_with_arguments(ty: &Type) -> Option<(&Ident, [&GenericArgument; 2])> {
    let (name, arguments) = path_and_arguments(ty)?;
    Some((name, arguments.try_into().ok()?))
}

/// The name and the generic arguments of a path; its last segment counts.
fn path_and_arguments(ty: &Type) -> Option<(&Ident, Vec<&GenericArgument>)> {
    match ty {
        Type::Path(path) if path.qself.is_none() && path.path.segments.len() == 1 => {
            let segment = path.path.segments.last()?;
            let arguments = match &segment.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.iter().collect(),
                _ => vec![],
            };
            Some((&segment.ident, arguments))
        }
        Type::Group(group) => path_and_arguments(&group.elem),
        Type::Paren(paren) => path_and_arguments(&paren.elem),
        _ => None,
    }
}

/// The names of the element types.
pub fn elements() -> String {
    Elem::ALL.map(Elem::name).join(", ")
}

/// The element type, type parameter or index type that a type names.
pub fn type_ref(ty: &Type, types: &[Ident]) -> Option<TypeRef> {
    let path = match ty {
        Type::Path(path) if path.qself.is_none() => &path.path,
        Type::Group(group) => return type_ref(&group.elem, types),
        Type::Paren(paren) => return type_ref(&paren.elem, types),
        _ => return None,
    };
    let name = path.get_ident()?;
    if let Some(number) = types.iter().position(|known| known == name) {
        return Some(TypeRef::Parameter(number as u32));
    }
    match name.to_string().as_str() {
        "usize" => Some(TypeRef::Usize),
        "isize" => Some(TypeRef::Isize),
        other => Elem::from_name(other).map(TypeRef::Elem),
    }
}
