//! Nested functions: declared with their block, lowered once, inlined where they are called.

use super::reference::references_of;
use super::scope::{Binding, Found};
use super::shape::Shape;
use super::structs::Member;
use super::{Lowering, Site};
use crate::span::Place;
use layout_compiler::intrinsic::{Form, Intrinsic};
use layout_compiler::ir::{Annotation, Block, Function, LocalId, Pattern};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use std::borrow::Cow;
use syn::ext::IdentExt;
use syn::{
    FnArg, GenericArgument, ItemFn, Pat, PatType, PathArguments, ReturnType, Stmt, Type, TypeParam,
    TypeParamBound, parse_quote,
};

/// A function whose name is in scope and whose body is not lowered yet.
pub(super) struct Declared<'b> {
    number: u32,
    /// Where its own types begin.
    first_type: usize,
    item: Cow<'b, ItemFn>,
    /// The struct that it is a function of.
    own: Option<u32>,
}

impl Declared<'_> {
    /// The number of the function.
    pub(super) fn number(&self) -> u32 {
        self.number
    }
}

/// The first name in a type that is one of these.
fn named_in(tokens: TokenStream, is_one: &dyn Fn(&Ident) -> bool) -> Option<Ident> {
    tokens.into_iter().find_map(|tree| match tree {
        TokenTree::Ident(name) if is_one(&name) => Some(name),
        TokenTree::Group(group) => named_in(group.stream(), is_one),
        _ => None,
    })
}

/// The name of a parameter that is a pattern, as a whole.
fn whole(place: usize, pattern: &Pat) -> Ident {
    format_ident!("__parameter_{place}", span = Place::of(pattern).start)
}

/// A function's body, behind the `let`s that take apart its parameters that are tuples.
fn taken_apart(item: &ItemFn) -> syn::Block {
    let lets = item.sig.inputs.iter().enumerate().filter_map(|(place, input)| match input {
        FnArg::Typed(PatType { pat, .. }) => match &**pat {
            pattern @ (Pat::Tuple(_) | Pat::Struct(_) | Pat::TupleStruct(_)) => {
                let whole = whole(place, pattern);
                Some::<Stmt>(parse_quote!(let #pattern = #whole;))
            }
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    let mut block = (*item.block).clone();
    block.stmts.splice(0..0, lets);
    block
}

/// Whether a type parameter represents an element type: by its bound.
fn is_element(own: &TypeParam) -> bool {
    own.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().is_some_and(|last| {
            ["Element", "Constants", "Float", "Number", "Integer", "Approximate"]
                .iter()
                .any(|known| last.ident == *known)
        }),
        _ => false,
    })
}

/// Whether a parameter of this type determines what a type parameter is: a value or a view of such elements.
fn is_of(ty: &Type, own: &Ident) -> bool {
    match ty {
        Type::Group(group) => is_of(&group.elem, own),
        Type::Paren(paren) => is_of(&paren.elem, own),
        Type::Reference(reference) => is_of(&reference.elem, own),
        Type::Array(array) => is_of(&array.elem, own),
        Type::ImplTrait(bounds) => bounds.bounds.iter().any(|bound| match bound {
            TypeParamBound::Trait(bound) => in_arguments(&bound.path, own),
            _ => false,
        }),
        Type::Path(path) => path.path.is_ident(own) || in_arguments(&path.path, own),
        _ => false,
    }
}

/// `View<T, Read>`, `Tensor<Elem = T>`: what is first, or is called `Elem`.
fn in_arguments(path: &syn::Path, own: &Ident) -> bool {
    let Some(PathArguments::AngleBracketed(arguments)) = path.segments.last().map(|last| &last.arguments)
    else {
        return false;
    };
    arguments.args.iter().enumerate().any(|(place, argument)| match argument {
        GenericArgument::Type(ty) => place == 0 && is_of(ty, own),
        GenericArgument::AssocType(elem) => elem.ident == "Elem" && is_of(&elem.ty, own),
        _ => false,
    })
}

impl Lowering<'_> {
    /// Puts the name of a function in scope, or in the table of its struct.
    pub(super) fn declare_function<'b>(&mut self, item: Cow<'b, ItemFn>, own: Option<u32>) -> Declared<'b> {
        let name = item.sig.ident.unraw().to_string();
        if own.is_none() {
            self.free(&item.sig.ident);
            if Intrinsic::from_name(&name, Form::Function).is_some() || name == "unroll" {
                self.errors.push(
                    Place::token(item.sig.ident.span()),
                    format!("`{name}` is a word of the kernel language and cannot be defined again"),
                    "choose another name",
                );
            }
        }
        self.no_dimensions(&item.sig);
        let number = self.kernel.functions.len() as u32;
        let inputs = item.sig.inputs.iter().enumerate();
        let parameters =
            inputs.map(|(place, input)| self.declare_parameter(place, input, &item.sig.generics)).collect();
        let body = Block::default();
        let (types, result) = self.annotations(&item.sig);
        let first_type = self.kernel.own_types.len();
        let type_sources = self.own_types(&item.sig);
        let whole = match own {
            Some(own) => format!("{}::{name}", self.structs.all[own as usize].plain_name()),
            None => name.clone(),
        };
        self.kernel.functions.push(Function { name: whole, parameters, types, type_sources, result, body });
        let shape = match &item.sig.output {
            ReturnType::Type(_, ty) => {
                let written = self.written_type_of(ty, Some(&item.sig.generics));
                self.returns.insert(number, written);
                self.shape_of_type(ty)
            }
            ReturnType::Default => Shape::Other,
        };
        self.structs.results.insert(number, shape);
        match own {
            Some(own) => {
                self.structs.all[own as usize].members.insert(name, Member::Function(number));
            }
            None => self.scopes.bind(name, Binding::Function(number)),
        }
        Declared { number, first_type, item, own }
    }

    /// Refuses parameters whose types name dimensions of the kernel, which rustc does not take there.
    fn no_dimensions(&mut self, signature: &syn::Signature) {
        for input in &signature.inputs {
            let FnArg::Typed(PatType { pat, ty, .. }) = input else { continue };
            // Those of a function of its own numbers have values in its scope.
            let is_dim = |name: &Ident| {
                self.kernel.dims.iter().any(|dim| *name == dim)
                    && !signature.generics.const_params().any(|own| own.ident == *name)
                    && matches!(self.scopes.find(&name.to_string()), Found::Nothing)
            };
            let tokens = ty.to_token_stream();
            let tensor = named_in(tokens.clone(), &|name| name == "LayoutTensor");
            let named = tensor.and_then(|_| named_in(tokens, &is_dim));
            let Some(name) = named else { continue };
            let (access, pat) = match &**ty {
                Type::Reference(reference) if reference.mutability.is_some() => ("Write", pat),
                _ => ("Read", pat),
            };
            let pat = pat.to_token_stream();
            self.errors.push(
                Place::token(name.span()),
                format!("a nested function does not see the dimension `{name}` of the kernel around it"),
                format!(
                    "take a view, which has its own extents: `{pat}: View<f32, {access}>`, `{pat}.dim(0)`"
                ),
            );
        }
    }

    fn declare_parameter(&mut self, place: usize, input: &FnArg, generics: &syn::Generics) -> LocalId {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => return self.no_parameter(Place::of(receiver)),
        };
        let local = match &*typed.pat {
            Pat::Ident(pat) => {
                self.free(&pat.ident);
                self.local(&pat.ident, pat.mutability.is_some())
            }
            pat @ (Pat::Tuple(_) | Pat::Struct(_) | Pat::TupleStruct(_)) => {
                self.local(&whole(place, pat), false)
            }
            other => return self.no_parameter(Place::of(other)),
        };
        let written = self.written_type_of(&typed.ty, Some(generics));
        self.written.insert(local, written);
        self.refer_like(&Pattern::Local(local), &references_of(&typed.ty));
        let shape = self.shape_of_type(&typed.ty);
        self.shaped(local, shape);
        local
    }

    /// The types of a function's parameters and of its result.
    fn annotations(&mut self, signature: &syn::Signature) -> (Vec<Annotation>, Annotation) {
        let outer = self.hide(&signature.generics);
        let types = signature
            .inputs
            .iter()
            .map(|input| match input {
                FnArg::Typed(typed) => self.annotation(&typed.ty),
                FnArg::Receiver(_) => Annotation::Any,
            })
            .collect();
        let result = match &signature.output {
            syn::ReturnType::Default => Annotation::Any,
            syn::ReturnType::Type(_, ty) => self.annotation(ty),
        };
        (self.types, self.generics) = outer;
        (types, result)
    }

    /// Declares the type parameters of a function that represent element types. Returns which of its parameters determine them.
    fn own_types(&mut self, signature: &syn::Signature) -> Vec<(u32, u32)> {
        let mut type_sources = vec![];
        for own in signature.generics.type_params().filter(|own| is_element(own)) {
            let number = self.kernel.own_types.len() as u32;
            self.kernel.own_types.push(own.ident.unraw().to_string());
            let inputs = signature.inputs.iter().enumerate();
            type_sources.extend(inputs.filter_map(|(place, input)| match input {
                FnArg::Typed(typed) => is_of(&typed.ty, &own.ident).then_some((place as u32, number)),
                FnArg::Receiver(_) => None,
            }));
        }
        type_sources
    }

    /// The types that a function's body can name: its own type parameters have the numbers that [`Self::own_types`] gave them.
    fn name_own_types(&mut self, generics: &syn::Generics, first: usize) {
        for (place, own) in generics.type_params().filter(|own| is_element(own)).enumerate() {
            let number = self.kernel.types.len() + first + place;
            if self.types.len() <= number {
                self.types.resize_with(number + 1, || Ident::new("_hidden", own.ident.span()));
            }
            self.types[number] = own.ident.clone();
        }
    }

    /// Lets a function's type parameters be its own: they say of which views it is, and name nothing of the kernel's.
    /// Gives what was before.
    fn hide(&mut self, generics: &syn::Generics) -> (Vec<Ident>, Vec<Ident>) {
        let outer = (self.types.clone(), self.generics.clone());
        for hidden in generics.type_params() {
            let own = self.types.iter_mut().filter(|known| **known == hidden.ident);
            own.for_each(|known| *known = Ident::new("_hidden", known.span()));
            self.generics.push(hidden.ident.clone());
        }
        outer
    }

    fn no_parameter(&mut self, place: Place) -> LocalId {
        self.errors.push(
            place,
            "a parameter is a name and a type",
            "write `fn name(x: f32, (a, b): (View<f32, Write>, usize))`",
        );
        self.local(&Ident::new("parameter", place.start), false)
    }

    /// Lowers the bodies, once the constants of the block are in scope.
    pub(super) fn define_functions(&mut self, declared: Vec<Declared<'_>>) {
        for Declared { number, first_type, item, own } in declared {
            // What a function is for may be said in front of it.
            self.no_attributes(item.attrs.iter().filter(|known| !known.path().is_ident("doc")));
            let generics = &item.sig.generics;
            if let Some(first) = generics.const_params().next() {
                self.errors.push(
                    Place::of(first),
                    "a method has type parameters only",
                    "numbers are arguments: one that is known where it is called is known inside",
                );
                continue;
            }
            let taken = |own: &&syn::TypeParam| {
                matches!(self.scopes.find(&own.ident.unraw().to_string()), Found::Binding(Binding::Type(_)))
            };
            if let Some(taken) = generics.type_params().find(taken) {
                // It would mean what it means there.
                self.errors.push(
                    Place::token(taken.ident.span()),
                    format!("`{}` is a type parameter of the function or the `impl` around it", taken.ident),
                    "give this one another name",
                );
                continue;
            }
            if let Some(clause) = &generics.where_clause {
                self.errors.push(
                    Place::of(clause),
                    "a nested function has no `where` clause",
                    "write the bound at the parameter: `fn sum<T: Number>(..)`",
                );
            }
            if item.sig.asyncness.is_some() || item.sig.abi.is_some() {
                self.errors.push(
                    Place::of(&item.sig),
                    "a nested function is a plain `fn`",
                    "leave the words out",
                );
            }
            let outer = std::mem::replace(&mut self.structs.own, own);
            let mark = self.scopes.enter_function();
            let site = std::mem::replace(&mut self.site, Site::Function(number));
            let around = std::mem::take(&mut self.around);
            let types = self.hide(generics);
            self.name_own_types(generics, first_type);
            for local in self.kernel.functions[number as usize].parameters.clone() {
                let name = self.kernel.locals[local.0 as usize].name.clone();
                self.scopes.bind(name, Binding::Local(local));
            }
            self.wanted = self.structs.results.get(&number).cloned().unwrap_or_default();
            let body = self.function_body(&taken_apart(&item));
            self.kernel.functions[number as usize].body = body;
            (self.site, self.around) = (site, around);
            (self.types, self.generics) = types;
            self.structs.own = outer;
            self.scopes.leave(mark);
        }
    }

    /// Refuses functions that call themselves, directly or in a circle: they are inlined.
    pub(super) fn no_recursion(&mut self) {
        let count = self.kernel.functions.len();
        let mut reported = vec![false; count];
        for (site, callee, place) in &self.calls {
            let Site::Function(caller) = site else { continue };
            if reported[*caller as usize] || reported[*callee as usize] {
                continue;
            }
            // Whether the callee reaches the caller.
            let mut reached = vec![false; count];
            let mut open = vec![*callee];
            while let Some(function) = open.pop() {
                if std::mem::replace(&mut reached[function as usize], true) {
                    continue;
                }
                let next = self.calls.iter().filter(|(from, ..)| *from == Site::Function(function));
                open.extend(next.map(|(_, to, _)| *to));
            }
            if reached[*caller as usize] {
                (reported[*caller as usize], reported[*callee as usize]) = (true, true);
                let name = &self.kernel.functions[*callee as usize].name;
                self.errors.push(
                    *place,
                    format!("`{name}` calls itself"),
                    "nested functions are inlined: write a loop instead of a recursion",
                );
            }
        }
    }
}
