//! Functions whose parameters are numbers, or the arguments of generic structs: `fn drain<const N: usize>(ring: &mut Ring<N>)`.
//!
//! Law: a call of one is a call of the function with its arguments in place of the parameters, lowered once for each combination, as
//! an instance of a struct is. Other type parameters follow from the values of each call (see `functions`).

use super::arguments::{Argument, names, parameters};
use super::constants::names as has_name;
use super::generics::{Pending, Template, Written};
use super::scope::Binding;
use super::settle::{Inferred, Value};
use super::shape::Shape;
use super::type_annotations::Ty;
use super::{Lowering, suggest};
use crate::span::Place;
use layout_compiler::ir::ExprId;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use std::borrow::Cow;
use syn::ext::IdentExt;
use syn::{Fields, FnArg, GenericParam, ItemFn, PathArguments, ReturnType};

/// The most functions that one generic function becomes.
const MAX_INSTANCES: usize = 256;

impl Lowering<'_> {
    /// Keeps a function with such parameters, under its name: `false` where it is another one.
    pub(super) fn keep_function(&mut self, item: &ItemFn) -> bool {
        let own = |name: &Ident| {
            item.sig.inputs.iter().any(|input| match input {
                FnArg::Typed(typed) => {
                    has_name(typed.ty.to_token_stream(), name)
                        && self.names_template(typed.ty.to_token_stream())
                }
                FnArg::Receiver(_) => false,
            })
        };
        let generics = &item.sig.generics;
        if generics.const_params().next().is_none() && !generics.type_params().any(|known| own(&known.ident))
        {
            return false;
        }
        self.free(&item.sig.ident);
        let written = Written {
            ident: item.sig.ident.clone(),
            generics: generics.clone(),
            fields: Fields::Unit,
            function: Some(item.clone()),
        };
        self.structs.templates.push(Template::of(written, self.types.clone(), self.generics.clone()));
        let number = self.structs.templates.len() as u32 - 1;
        self.scopes.bind(item.sig.ident.unraw().to_string(), Binding::Generic(number));
        true
    }

    fn names_template(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|tree| match tree {
            TokenTree::Ident(name) => {
                self.struct_named(&name).is_some_and(|number| self.template_at(number).is_some())
            }
            TokenTree::Group(group) => self.names_template(group.stream()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }

    /// `drain(&mut ring)`, `zeros::<4>()`
    pub(super) fn call_generic(
        &mut self,
        place: Place,
        (template, path): (u32, &syn::PathSegment),
        given: &syn::ExprCall,
        wanted: &Shape,
    ) -> ExprId {
        let item = self.structs.templates[template as usize].item.clone();
        let Some(function) = &item.function else { return self.nothing(place) };
        let values: Vec<ExprId> = given.args.iter().map(|argument| self.given(argument)).collect();
        let mut found = Inferred::of(parameters(&item.generics).collect());
        if let PathArguments::AngleBracketed(written) = &path.arguments {
            found.arguments = self.each_resolved(template, written);
        }
        for (input, id) in function.sig.inputs.iter().zip(&values) {
            if let FnArg::Typed(typed) = input {
                let value = Value { ty: self.type_of(*id), shape: self.shape_of(*id), id: Some(*id) };
                self.match_type(&typed.ty, value, &mut found);
            }
        }
        if let ReturnType::Type(_, ty) = &function.sig.output {
            self.match_type(ty, Value { ty: Ty::Other, shape: wanted.clone(), id: None }, &mut found);
        }
        let open = item.generics.const_params().find(|own| found.is_open(&own.ident));
        if let Some(open) = open {
            if !self.errors.is_empty() {
                return self.nothing(place);
            }
            let (name, own) = (&item.ident, &open.ident);
            return self.refuse(
                Place::token(path.ident.span()),
                format!("which `{own}` this `{name}` has is not known here"),
                format!(
                    "it follows from a struct that is given, `Ring<{own}>`; else write it, `{name}::<{}>(..)`",
                    suggest::list(parameters(&item.generics))
                ),
            );
        }
        match self.function_of(template, function, found.arguments, Place::token(path.ident.span())) {
            Some(number) => self.apply(place, &path.ident, number, values, 0),
            None => self.nothing(place),
        }
    }

    /// The function with these arguments; a parameter without one stays.
    fn function_of(
        &mut self,
        template: u32,
        item: &ItemFn,
        arguments: Vec<Option<Argument>>,
        place: Place,
    ) -> Option<u32> {
        let made = &self.structs.templates[template as usize].made;
        let same = |known: &Vec<Option<Argument>>| {
            known.iter().zip(&arguments).all(|(known, own)| match (known, own) {
                (Some(known), Some(own)) => {
                    self.are_same(std::slice::from_ref(known), std::slice::from_ref(own))
                }
                (None, None) => true,
                _ => false,
            })
        };
        if let Some((_, number)) = made.iter().find(|(known, _)| same(known)) {
            return Some(*number);
        }
        if made.len() >= MAX_INSTANCES {
            self.errors.push(
                place,
                format!("`{}` becomes too many functions", item.sig.ident),
                format!("at most {MAX_INSTANCES}: each combination of arguments is one"),
            );
            return None;
        }
        let mut item = item.clone();
        let all: Vec<Ident> = parameters(&item.sig.generics).cloned().collect();
        let bound = |name: &Ident| {
            all.iter()
                .position(|own| own == name)
                .is_some_and(|at| arguments.get(at).is_some_and(Option::is_some))
        };
        let left = item.sig.generics.params.iter().filter(|parameter| match parameter {
            GenericParam::Type(own) => !bound(&own.ident),
            GenericParam::Const(_) | GenericParam::Lifetime(_) => false,
        });
        item.sig.generics.params = left.cloned().collect();
        item.sig.generics.where_clause = None;
        let known: Vec<(&Ident, &Argument)> =
            all.iter().zip(&arguments).filter_map(|(name, own)| Some((name, own.as_ref()?))).collect();
        let owned: Vec<Argument> = known.iter().map(|(_, own)| (*own).clone()).collect();
        let names = names(known.iter().map(|(name, _)| *name), &owned);
        let declared =
            self.within(template, names.clone(), None, |this| this.declare_function(Cow::Owned(item), None));
        let number = declared.number();
        self.structs.templates[template as usize].made.push((arguments, number));
        self.structs.pending.push(Pending::of(template, names, declared));
        Some(number)
    }
}
