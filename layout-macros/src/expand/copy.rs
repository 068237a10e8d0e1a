//! The never-called copy of the function, with the user's own tokens, that rustc type-checks against `lang`.
//!
//! Parameters are beside it as `const` items and types, dimensions stay const generics. Nothing of the program
//! around the kernel is in scope. Types that a list binds are checked for the list's first value; the stages of
//! layout-core check each. A nested function that asks for a `View` takes every tensor of its elements, as in the language: its
//! parameter becomes `impl Tensor`, and a view of that takes its name. A `&mut` tensor that is an argument of a call becomes
//! `&mut *x`: rustc reborrows by itself only where the parameter is a reference. Floats that Rust lacks have literals and
//! conversions (`small_floats.rs`).

use super::small_floats::Rewriting;
use crate::attr;
use crate::lower::{Lowered, allowed_kinds};
use crate::signature;
use layout_compiler::{ParamSet, ParamValue};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;
use syn::parse::Parser as _;
use syn::{
    Attribute, Block, Expr, FnArg, GenericArgument, GenericParam, ImplItem, Item, ItemFn, Pat, PathArguments,
    Signature, Stmt, Type, TypeParamBound,
};

/// The module that holds the copy.
pub fn checked_copy(
    attribute: &attr::Attribute,
    Lowered { kernel, small_floats, .. }: &Lowered,
    sets: &[ParamSet],
    signature: &signature::Signature,
    function: &ItemFn,
) -> TokenStream {
    let constants = attribute.parameters.iter().zip(&kernel.parameters).map(|(bound, parameter)| {
        let name = &bound.name;
        let listed: Vec<ParamValue> = sets.iter().filter_map(|set| set.get(&parameter.name)).collect();
        let negative = listed.iter().any(|value| matches!(value, ParamValue::Int(value) if *value < 0));
        // Of a kernel with errors no set may be known.
        let first = listed.first().or(parameter.values.first()).copied().unwrap_or(ParamValue::Int(1));
        match first {
            ParamValue::Int(value) => {
                let value = proc_macro2::Literal::i64_unsuffixed(value);
                if negative {
                    quote!(pub const #name: isize = #value;)
                } else {
                    quote!(pub const #name: usize = #value;)
                }
            }
            ParamValue::Bool(value) => quote!(pub const #name: bool = #value;),
            ParamValue::Type(elem) => {
                let elem = Ident::new(elem.name(), Span::call_site());
                quote!(pub type #name = #elem;)
            }
            // Inside of the body, where the function is.
            ParamValue::Function(_) => quote!(),
        }
    });
    let functions = attribute.parameters.iter().zip(&kernel.parameters).filter_map(|(bound, parameter)| {
        let (name, first) = (&bound.name, sets.first().and_then(|set| set.get(&parameter.name)));
        match first.or(parameter.values.first().copied())? {
            ParamValue::Function(function) => {
                let function = syn::parse_str::<Ident>(function).ok()?;
                Some(quote!(use #function as #name;))
            }
            _ => None,
        }
    });
    let bound = |name: &Ident| attribute.parameters.iter().any(|bound| bound.name == *name);
    let dims = function.sig.generics.params.iter().filter(|parameter| match parameter {
        GenericParam::Const(dim) => !bound(&dim.ident),
        GenericParam::Type(ty) => !bound(&ty.ident) && signature.types.contains(&ty.ident),
        GenericParam::Lifetime(_) => true,
    });
    let (name, output) = (&function.sig.ident, &function.sig.output);
    let mut statements = function.block.stmts.clone();
    views(&mut statements);
    let lent = Lent { names: lent(function), methods: methods(function) };
    let rewriting = Rewriting::of(small_floats, kernel, sets);
    let statements = statements.iter().map(|statement| match statement {
        Stmt::Item(item) => rewriting.apply(unmarked(quote!(#item))),
        other => reborrowed(rewriting.apply(unmarked(quote!(#other))), &lent),
    });
    let plain = |name: &Ident| bound(name) || signature.dims.contains(name);
    let inputs = function.sig.inputs.iter().cloned().map(|mut input| {
        if let FnArg::Typed(typed) = &mut input {
            extents(&mut typed.ty, &plain);
        }
        input
    });
    quote! {
        #[allow(warnings, unused, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
        mod checked_by_rustc {
            use ::layout_cuda::lang::*;
            #(#constants)*
            fn #name<#(#dims),*>(#(#inputs),*) #output { #(#functions)* #(#statements)* }
        }
    }
}

/// What is reborrowed, and in the arguments of which methods.
struct Lent {
    names: Vec<Ident>,
    methods: Vec<Ident>,
}

/// The methods of the structs at the head of the body.
fn methods(function: &ItemFn) -> Vec<Ident> {
    let items = function.block.stmts.iter().flat_map(|statement| match statement {
        Stmt::Item(Item::Impl(block)) => block.items.as_slice(),
        _ => &[],
    });
    let methods = items.filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method.sig.ident.clone()),
        _ => None,
    });
    methods.collect()
}

/// The tensors that the kernel writes, under the names that nothing else in its body has.
fn lent(function: &ItemFn) -> Vec<Ident> {
    let own = function.block.stmts.iter().filter(|statement| !matches!(statement, Stmt::Item(_)));
    let mut bound = vec![];
    own.for_each(|statement| bindings(quote!(#statement), &mut bound));
    let tensors = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => match (&*typed.pat, &*typed.ty) {
            (Pat::Ident(pat), Type::Reference(reference)) if reference.mutability.is_some() => {
                Some(pat.ident.clone())
            }
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    tensors.filter(|name| !bound.contains(name)).collect()
}

/// The names that `let`, `for` and closures bind in these tokens.
fn bindings(tokens: TokenStream, out: &mut Vec<Ident>) {
    let mut pattern = false;
    for tree in tokens {
        match tree {
            TokenTree::Ident(word) if word == "let" || word == "for" => pattern = true,
            TokenTree::Ident(word) if word == "in" => pattern = false,
            TokenTree::Ident(name) if pattern => out.push(name),
            TokenTree::Punct(sign) if sign.as_char() == '|' => pattern = !pattern,
            TokenTree::Punct(sign) if matches!(sign.as_char(), '=' | ';') => pattern = false,
            TokenTree::Group(group) if pattern => names(group.stream(), out),
            TokenTree::Group(group) => bindings(group.stream(), out),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Every identifier.
fn names(tokens: TokenStream, out: &mut Vec<Ident>) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(name) => out.push(name),
            TokenTree::Group(group) => names(group.stream(), out),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// The tokens without `#[allow(narrowed)]`, which stable Rust does not take before an assignment.
fn unmarked(tokens: TokenStream) -> TokenStream {
    let is_pound = |tree: &TokenTree| matches!(tree, TokenTree::Punct(sign) if sign.as_char() == '#');
    let mut out: Vec<TokenTree> = vec![];
    for tree in tokens {
        let TokenTree::Group(group) = tree else {
            out.push(tree);
            continue;
        };
        let (inner, marked) = (group.stream(), out.last().is_some_and(is_pound));
        let attribute = || Attribute::parse_outer.parse2(quote!(#[#inner])).ok();
        if marked && attribute().is_some_and(|all| all.iter().all(|one| allowed_kinds(one).is_some())) {
            out.pop();
            continue;
        }
        let mut new = Group::new(group.delimiter(), unmarked(inner));
        new.set_span(group.span());
        out.push(new.into());
    }
    out.into_iter().collect()
}

/// The tokens with `&mut *x` for each `x` of these names that is an argument of a function.
fn reborrowed(tokens: TokenStream, lent: &Lent) -> TokenStream {
    let mut out: Vec<TokenTree> = vec![];
    let is_dot =
        |tree: Option<&TokenTree>| matches!(tree, Some(TokenTree::Punct(sign)) if sign.as_char() == '.');
    for tree in tokens {
        let TokenTree::Group(group) = &tree else {
            out.push(tree);
            continue;
        };
        // A method of the language takes references.
        let called = match out.last() {
            Some(TokenTree::Ident(name)) => !is_dot(out.iter().rev().nth(1)) || lent.methods.contains(name),
            _ => false,
        };
        let inner = match called && group.delimiter() == Delimiter::Parenthesis {
            true => arguments(group.stream(), lent),
            false => reborrowed(group.stream(), lent),
        };
        let mut new = Group::new(group.delimiter(), inner);
        new.set_span(group.span());
        out.push(new.into());
    }
    out.into_iter().collect()
}

fn arguments(tokens: TokenStream, lent: &Lent) -> TokenStream {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let is_comma = |tree: &TokenTree| matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ',');
    let each = list.split_inclusive(is_comma).map(|part| match part {
        [TokenTree::Ident(name), rest @ ..] if lent.names.contains(name) && rest.iter().all(is_comma) => {
            let rest = rest.iter();
            quote!(&mut *#name #(#rest)*)
        }
        part => reborrowed(part.iter().cloned().collect(), lent),
    });
    each.collect()
}

/// Puts a number for each extent that is an expression, which stable Rust takes no dimension in; no type depends on it.
fn extents(ty: &mut Type, plain: &impl Fn(&Ident) -> bool) {
    match ty {
        Type::Reference(reference) => extents(&mut reference.elem, plain),
        Type::Group(group) => extents(&mut group.elem, plain),
        Type::Paren(paren) => extents(&mut paren.elem, plain),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last_mut() else { return };
            let PathArguments::AngleBracketed(arguments) = &mut last.arguments else { return };
            let layout = crate::signature::is_layout(&last.ident);
            for argument in &mut arguments.args {
                let expression = match argument {
                    GenericArgument::Const(Expr::Block(_)) => true,
                    GenericArgument::Type(Type::Path(path)) if layout => {
                        path.path.get_ident().is_some_and(|name| !plain(name))
                    }
                    GenericArgument::Type(ty) => {
                        extents(ty, plain);
                        false
                    }
                    _ => false,
                };
                if layout && expression {
                    *argument = GenericArgument::Const(syn::parse_quote!(0));
                }
            }
        }
        _ => {}
    }
}

/// Lets the functions among these statements take tensors for views.
fn views(statements: &mut [Stmt]) {
    for statement in statements {
        match statement {
            Stmt::Item(Item::Fn(function)) => views_of(&mut function.sig, &mut function.block),
            Stmt::Item(Item::Impl(block)) => {
                for item in &mut block.items {
                    if let ImplItem::Fn(method) = item {
                        views_of(&mut method.sig, &mut method.block);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The same of one function.
fn views_of(sig: &mut Signature, block: &mut Block) {
    views(&mut block.stmts);
    let generics = sig.generics.clone();
    let output = &sig.output;
    let result = quote!(#output);
    let mut taken: Vec<Stmt> = vec![];
    for input in &mut sig.inputs {
        let FnArg::Typed(typed) = input else { continue };
        let Pat::Ident(pat) = &mut *typed.pat else { continue };
        let (name, mutable) = (pat.ident.clone(), pat.mutability);
        let view = match &*typed.ty {
            Type::Path(path) => match view_of(path) {
                Some((tensor, view)) => {
                    *typed.ty = tensor;
                    view
                }
                None if is_tensor_parameter(path, &generics, &result) => quote!(view_of),
                None => continue,
            },
            Type::ImplTrait(known) if known.bounds.iter().any(is_tensor) => quote!(view_of),
            Type::Reference(reference) => match &*reference.elem {
                Type::ImplTrait(known) if known.bounds.iter().any(is_tensor) => quote!(view_of),
                Type::Path(path) if is_tensor_parameter(path, &generics, &result) => quote!(view_of),
                _ => continue,
            },
            _ => continue,
        };
        pat.mutability = None;
        taken.push(syn::parse_quote!(let #mutable #name = #view(#name);));
    }
    // Items come first in any case.
    taken.append(&mut block.stmts);
    block.stmts = taken;
}

/// What represents `View<T, Read>`, `View<T, Write>`, `View<T, A>`, and what makes the view of it.
fn view_of(path: &syn::TypePath) -> Option<(Type, TokenStream)> {
    let last = path.path.segments.last().filter(|last| last.ident == "View")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let mut arguments = arguments.args.iter();
    let (Some(elem), Some(access), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        return None;
    };
    let reads = matches!(access, GenericArgument::Type(Type::Path(path)) if path.path.is_ident("Read"));
    Some(match reads {
        true => (syn::parse_quote!(impl Tensor<Elem = #elem>), quote!(read_of)),
        false => (syn::parse_quote!(impl Tensor<Elem = #elem, Access = #access>), quote!(view_of)),
    })
}

fn is_tensor(bound: &TypeParamBound) -> bool {
    let TypeParamBound::Trait(bound) = bound else { return false };
    bound.path.segments.last().is_some_and(|last| last.ident == "Tensor")
}

/// Whether a type is a type parameter that is a tensor, and not also what the function gives.
fn is_tensor_parameter(path: &syn::TypePath, generics: &syn::Generics, result: &TokenStream) -> bool {
    let Some(name) = path.path.get_ident() else { return false };
    let given = result.clone().into_iter().any(|tree| *name == tree.to_string());
    !given && generics.type_params().any(|own| own.ident == *name && own.bounds.iter().any(is_tensor))
}
