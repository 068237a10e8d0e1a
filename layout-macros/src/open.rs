//! Modules that give their text to others: `#[tiled_kernels(open = NAME)]`, taken by `NAME! { .. }` and `#[tiled_kernels(functions = NAME)]`.
//!
//! Law: `NAME! { (P = f) mod own { fn f .. } }` is the open module's text with `f` beside its functions, and with `P = f`
//! in place of what each kernel's attribute says of `P`. Conditions on sets (`filter`) are left out, since the sets are
//! picked here. `functions = NAME` puts the open module's items behind one's own, and nothing else. One's own item takes
//! the place of one with its name. The result is a kernel like any other: no later stage knows where its text came from.

use crate::lower::owner;
use crate::report::Errors;
use crate::span::Place;
use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Item, ItemMod, LitInt, Meta, Path, Token, token};

/// The entries of `#[tiled_kernels(..)]`.
#[derive(Default)]
pub struct Entries {
    /// The macro that gives the module to others.
    pub open: Option<Ident>,
    /// Parameters that are set here.
    pub with: Option<Vec<(Ident, Expr)>>,
    /// Macros of open modules whose functions this one's kernels may call.
    pub functions: Vec<Path>,
    /// How many of the module's items are such functions: the last ones.
    pub taken: usize,
}

/// A parameter and its value.
struct Bound(Ident, Expr);

impl Parse for Bound {
    fn parse(input: ParseStream<'_>) -> syn::Result<Bound> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Bound(name, input.parse()?))
    }
}

impl Entries {
    /// What the attribute says; what it may not say is an error each.
    pub fn parse(tokens: TokenStream, errors: &mut Errors) -> Entries {
        let mut entries = Entries::default();
        let parser = |input: ParseStream<'_>| -> syn::Result<()> {
            while !input.is_empty() {
                let name: Ident = input.parse()?;
                if name == "with" && input.peek(token::Paren) {
                    let content;
                    syn::parenthesized!(content in input);
                    let all = Punctuated::<Bound, Token![,]>::parse_terminated(&content)?;
                    entries.with = Some(all.into_iter().map(|Bound(name, value)| (name, value)).collect());
                } else if name == "open" && input.peek(Token![=]) {
                    input.parse::<Token![=]>()?;
                    entries.open = Some(input.parse()?);
                } else if name == "functions" && input.peek(Token![=]) {
                    input.parse::<Token![=]>()?;
                    entries.functions.push(input.parse()?);
                } else if name == "taken" && input.peek(Token![=]) {
                    input.parse::<Token![=]>()?;
                    entries.taken += input.parse::<LitInt>()?.base10_parse::<usize>()?;
                } else {
                    let message = format!(
                        "`tiled_kernels` has no entry `{name}`: there are `open = NAME`, `functions = NAME` and `with(PARAMETER = value, \
                         ..)`; write the entries of one kernel in its own `#[tiled_kernel(..)]`"
                    );
                    return Err(syn::Error::new(name.span(), message));
                }
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = syn::parse::Parser::parse2(parser, tokens) {
            errors.syntax(&error);
        }
        entries
    }
}

/// The macro that puts the module's text under functions and parameters of others, or behind others' kernels.
pub fn opened(name: &Ident, items: &[Item]) -> TokenStream {
    let d = Punct::new('$', Spacing::Alone);
    let text = format!(
        "The kernels of this module with functions and parameters of one's own: `{name}! {{ (PARAMETER = function) mod own {{ fn function(..) \
         .. }} }}`. A function of one's own has the arguments of the one whose place it takes. Under `#[tiled_kernels(functions = {name})]` a \
         module's kernels call the functions of this one."
    );
    let count = items.len();
    quote! {
        #[doc = #text]
        #[macro_export]
        macro_rules! #name {
            (functions (#d (#d entries:tt)*) #d (#[#d meta:meta])* #d vis:vis mod #d own:ident { #d (#d items:tt)* }) => {
                #[::layout_cuda::tiled_kernels(taken = #count, #d (#d entries)*)]
                #d (#[#d meta])*
                #d vis mod #d own {
                    #d (#d items)*
                    #(#items)*
                }
            };
            (#d entries:tt #d (#[#d meta:meta])* #d vis:vis mod #d own:ident { #d (#d items:tt)* }) => {
                #[::layout_cuda::tiled_kernels(with #d entries)]
                #d (#[#d meta])*
                #d vis mod #d own {
                    #d (#d items)*
                    #(#items)*
                }
            };
        }
    }
}

/// The module under the macro of another one, which puts its items behind this one's.
pub fn behind(module: &ItemMod, entries: &Entries, from: &Path) -> TokenStream {
    let Entries { open, functions, taken, .. } = entries;
    let (open, others) = (open.iter(), functions.iter().skip(1));
    quote!(#from! { functions (taken = #taken, #(open = #open,)* #(functions = #others,)*) #module })
}

/// Of two items with one name the first: one's own are in front. Gives how many of the last `taken` are left.
pub fn own_first(items: &mut Vec<Item>, taken: usize) -> usize {
    let before = items.len();
    let mut names = Vec::new();
    let mut hidden = Vec::new();
    items.retain(|item| match (item, name_of(item)) {
        // Those of a struct go with it.
        (Item::Impl(block), _) => !owner(block).is_some_and(|name| hidden.contains(name)),
        (_, Some(name)) if names.contains(&name) => {
            hidden.push(name);
            false
        }
        (_, name) => {
            names.extend(name);
            true
        }
    });
    taken.saturating_sub(before - items.len())
}

/// The module with these parameters in its kernels' attributes. The kernels are where the module's name does, in the file that they
/// are compiled in.
pub fn with(module: &mut ItemMod, bound: &[(Ident, Expr)], errors: &mut Errors) {
    let Some((_, items)) = &mut module.content else { return };
    let mut met = vec![false; bound.len()];
    for item in items {
        let Item::Fn(function) = item else { continue };
        function.sig.fn_token.span = module.ident.span();
        for attribute in
            function.attrs.iter_mut().filter(|attribute| crate::share::is_kernel_attribute(attribute))
        {
            rebind(attribute, bound, &mut met);
        }
    }
    for ((name, _), _) in bound.iter().zip(met).filter(|(_, met)| !met) {
        errors.push(
            Place::token(name.span()),
            format!("no kernel of the module has the parameter `{name}`"),
            "name a parameter of its `#[tiled_kernel(..)]`, or leave it out",
        );
    }
}

/// The name of a function, a constant or a struct.
fn name_of(item: &Item) -> Option<Ident> {
    match item {
        Item::Fn(function) => Some(function.sig.ident.clone()),
        Item::Const(constant) => Some(constant.ident.clone()),
        Item::Struct(own) => Some(own.ident.clone()),
        _ => None,
    }
}

/// A kernel's attribute with these parameters, and without `filter`.
fn rebind(attribute: &mut Attribute, bound: &[(Ident, Expr)], met: &mut [bool]) {
    let Meta::List(list) = &mut attribute.meta else { return };
    let mut entries: Vec<TokenStream> = Vec::new();
    for entry in crate::attr::split(list.tokens.clone()) {
        let mut trees = entry.clone().into_iter();
        let Some(TokenTree::Ident(name)) = trees.next() else {
            entries.push(entry);
            continue;
        };
        if name == "filter" {
            continue;
        }
        let assigned = matches!(trees.next(), Some(TokenTree::Punct(punct)) if punct.as_char() == '=');
        let own = bound.iter().position(|(known, _)| assigned && *known == name);
        entries.push(match own {
            Some(at) => {
                met[at] = true;
                let value = Group::new(Delimiter::None, bound[at].1.to_token_stream());
                quote!(#name = #value)
            }
            None => entry,
        });
    }
    list.tokens = quote!(#(#entries),*);
}
