//! Functions and structs of the language that are written in it: a kernel gets those that it names.
//!
//! Law: a kernel that names one is the kernel that has it in front of its body, as with `#[tiled_kernels]`. rustc checks the
//! use against the item in `layout_core::lang`.

use crate::lower::owner;
use crate::share::{Shared, needed, nested};
use layout_core::library::LIBRARY;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::borrow::Cow;
use syn::ext::IdentExt;
use syn::{Item, ItemFn, Stmt};

/// The kernel with what it calls of the library, which an item of its own of that name hides.
pub fn with_library(kernel: &ItemFn) -> Cow<'_, ItemFn> {
    if !names_one(kernel.block.to_token_stream()) {
        return Cow::Borrowed(kernel);
    }
    let named = |statement: &Stmt| match statement {
        Stmt::Item(Item::Fn(own)) => Some(own.sig.ident.clone()),
        Stmt::Item(Item::Struct(own)) => Some(own.ident.clone()),
        _ => None,
    };
    let names: Vec<_> = kernel.block.stmts.iter().filter_map(named).collect();
    let own = |item: &Item| match item {
        Item::Fn(function) => names.contains(&function.sig.ident),
        Item::Struct(known) => names.contains(&known.ident),
        Item::Impl(block) => owner(block).is_some_and(|name| names.contains(name)),
        _ => false,
    };
    let files = LIBRARY.iter().filter_map(|text| syn::parse_file(text).ok());
    let items: Vec<Item> = files.flat_map(|file| file.items).collect();
    let shared: Vec<Shared<'_>> = items.iter().filter(|item| !own(item)).filter_map(Shared::of).collect();
    let called = needed(kernel.block.to_token_stream(), &shared)
        .into_iter()
        .map(|number| Stmt::Item(nested(shared[number].item)));
    let mut whole = kernel.clone();
    whole.block.stmts = called.chain(kernel.block.stmts.iter().cloned()).collect();
    Cow::Owned(whole)
}

/// Whether an item of the library is named.
fn names_one(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Group(group) => names_one(group.stream()),
        TokenTree::Ident(word) => {
            let heads = [format!("\npub fn {}(", word.unraw()), format!("\npub struct {}<", word.unraw())];
            LIBRARY.iter().any(|text| heads.iter().any(|head| text.contains(head)))
        }
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
