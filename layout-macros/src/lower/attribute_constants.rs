//! Constants that the attribute and the signature may name: of the body's outermost block, and of the structs there.
//!
//! Law: the value of such a constant is where its name is, with the arguments of a generic struct in place of its parameters. So
//! the attribute, which is read before the body, needs no scope.

use super::arguments::{bare, of_block};
use super::constants::is_generic;
use super::structs::owner;
use super::{Lowering, Site};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{
    AngleBracketedGenericArguments, Expr, GenericArgument, ImplItem, Item, ItemFn, ItemImpl, PathArguments,
    Stmt,
};

/// The `const` items of the body's outermost block.
pub(super) fn constants_at_the_head(function: &ItemFn) -> Vec<(String, Expr)> {
    let constants = |statement: &Stmt| match statement {
        Stmt::Item(Item::Const(item)) => vec![(item.ident.unraw().to_string(), (*item.expr).clone())],
        Stmt::Item(Item::Impl(block)) if !is_generic(block) => of_impl(block),
        _ => vec![],
    };
    function.block.stmts.iter().flat_map(constants).collect()
}

/// The constants of a struct, as `Point::SIZE`.
fn of_impl(block: &ItemImpl) -> Vec<(String, Expr)> {
    let Some(own) = owner(block) else { return vec![] };
    let constant = |item: &ImplItem| {
        let ImplItem::Const(item) = item else { return None };
        let value = syn::parse2(named(item.expr.to_token_stream(), own)).ok()?;
        Some((format!("{own}::{}", item.ident), value))
    };
    block.items.iter().filter_map(constant).collect()
}

/// A constant of a generic struct at the head of the body, which the attribute may name with its arguments.
pub(super) struct OfGeneric {
    /// `Ring::SIZE`
    name: String,
    owner: Ident,
    parameters: Vec<Ident>,
    value: TokenStream,
}

pub(super) fn of_generics(function: &ItemFn) -> Vec<OfGeneric> {
    let blocks = function.block.stmts.iter().filter_map(|statement| match statement {
        Stmt::Item(Item::Impl(block)) if is_generic(block) => Some((block, owner(block)?)),
        _ => None,
    });
    let constants = blocks.flat_map(|(block, own)| {
        block.items.iter().filter_map(move |item| match item {
            ImplItem::Const(item) => Some(OfGeneric {
                name: format!("{own}::{}", item.ident),
                owner: own.clone(),
                parameters: of_block(block).cloned().collect(),
                value: item.expr.to_token_stream(),
            }),
            _ => None,
        })
    });
    constants.collect()
}

impl OfGeneric {
    /// Its value for these arguments of the struct.
    fn with(&self, given: &AngleBracketedGenericArguments) -> Option<Expr> {
        let arguments: Vec<TokenStream> = given
            .args
            .iter()
            .map(|argument| match argument {
                GenericArgument::Const(value) => bare(value).to_token_stream(),
                other => other.to_token_stream(),
            })
            .collect();
        syn::parse2(self.replaced(self.value.clone(), given, &arguments)).ok()
    }

    fn replaced(
        &self,
        tokens: TokenStream,
        given: &AngleBracketedGenericArguments,
        arguments: &[TokenStream],
    ) -> TokenStream {
        let one = |tree| match tree {
            TokenTree::Ident(word) if word == "Self" => {
                let (own, given) = (&self.owner, &given.args);
                quote!(#own::<#given>)
            }
            TokenTree::Ident(word) => {
                let own = self.parameters.iter().position(|own| *own == word);
                match own.and_then(|own| arguments.get(own)) {
                    Some(argument) => Group::new(Delimiter::None, argument.clone()).into_token_stream(),
                    None => word.into_token_stream(),
                }
            }
            TokenTree::Group(group) => {
                let inner = self.replaced(group.stream(), given, arguments);
                let mut new = Group::new(group.delimiter(), inner);
                new.set_span(group.span());
                new.into_token_stream()
            }
            other => other.into_token_stream(),
        };
        tokens.into_iter().map(one).collect()
    }
}

/// The tokens with the struct's name in place of `Self`.
fn named(tokens: TokenStream, own: &Ident) -> TokenStream {
    let one = |tree| match tree {
        TokenTree::Ident(word) if word == "Self" => Ident::new(&own.to_string(), word.span()).into(),
        TokenTree::Group(group) => {
            let mut new = Group::new(group.delimiter(), named(group.stream(), own));
            new.set_span(group.span());
            new.into()
        }
        other => other,
    };
    tokens.into_iter().map(one).collect()
}

impl Lowering<'_> {
    /// `Ring::<4>::SIZE` in the attribute.
    pub(super) fn constant_of_generic(&self, path: &syn::Path) -> Option<Expr> {
        let [of, name] = path.segments.iter().collect::<Vec<_>>()[..] else { return None };
        let PathArguments::AngleBracketed(given) = &of.arguments else { return None };
        let text = format!("{}::{}", of.ident, name.ident);
        let known = self.of_generics.iter().find(|known| known.name == text && self.site == Site::Attribute);
        known?.with(given)
    }
}
