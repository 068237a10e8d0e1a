//! `#[tiled_kernels]`: the functions, constants and structs that the kernels of a module share.
//!
//! Law: a kernel of the module is the kernel with the shared items that it reaches in front of its body. So sharing needs
//! no stage of its own. A message inside a shared function is at that function's line; so is a finding, where the function
//! is in the kernel's file.

use crate::lower::owner;
use crate::open::{self, Entries};
use crate::report::Errors;
use crate::span::Place;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use std::collections::BTreeSet;
use syn::ext::IdentExt;
use syn::{Attribute, Item, ItemFn, ItemMod, Stmt, Visibility};

/// What takes the module's place: the module with its kernels, each of them whole.
pub fn run(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut entries = Entries::parse(attribute, &mut errors);
    let mut module = match syn::parse2::<ItemMod>(item.clone()) {
        Ok(module) => module,
        Err(error) => {
            errors.syntax(&error);
            let errors = errors.tokens();
            return quote!(#errors #item);
        }
    };
    if let Some((_, items)) = &mut module.content
        && (entries.with.is_some() || entries.taken > 0)
    {
        entries.taken = open::own_first(items, entries.taken);
    }
    if let Some(bound) = &entries.with {
        open::with(&mut module, bound, &mut errors);
    }
    let Some((_, items)) = &module.content else {
        errors.push(
            Place::of(&module),
            "the module is not here",
            "write it where the attribute is: `mod name { .. }`",
        );
        let errors = errors.tokens();
        return quote!(#errors #item);
    };
    if let Some(from) = entries.functions.first() {
        let (module, errors) = (open::behind(&module, &entries, from), errors.tokens());
        return quote!(#module #errors);
    }
    let opened = entries.open.as_ref().map(|name| open::opened(name, items));
    let shared: Vec<Shared<'_>> = items.iter().filter_map(Shared::of).collect();
    let own = items[..items.len().saturating_sub(entries.taken)].iter().filter_map(Shared::of).count();
    // Of another module's text only some functions are taken, and a module of functions is there for others.
    let kernels = items.iter().any(|item| matches!(item, Item::Fn(function) if is_kernel(function)));
    let own = if entries.with.is_some() || opened.is_some() && !kernels { 0 } else { own };
    let of = |item: &Item| match item {
        Item::Fn(kernel) if is_kernel(kernel) => needed(kernel.to_token_stream(), &shared),
        _ => BTreeSet::new(),
    };
    let needs: Vec<BTreeSet<usize>> = items.iter().map(of).collect();
    let mut reached: BTreeSet<usize> = needs.iter().flatten().copied().collect();
    // A struct of the kernels is theirs alone, as a function is: its fields may be views.
    let taken: Vec<&Item> =
        reached.iter().map(|number| shared[*number].item).filter(|item| is_struct(item)).collect();
    let types: Vec<Shared<'_>> = taken.iter().filter_map(|item| Shared::of(item)).collect();
    let computing = computing(items, &shared);
    let computes = |item: &Item| computing.iter().any(|number| std::ptr::eq(shared[*number].item, item));
    let others = if opened.is_some() && !kernels { 0 } else { items.len().saturating_sub(entries.taken) };
    let items: Vec<TokenStream> = items
        .iter()
        .zip(needs)
        .enumerate()
        .filter_map(|(number, (item, needed))| match item {
            Item::Fn(kernel) if is_kernel(kernel) => {
                let needed = needed.into_iter().map(|number| shared[number].item);
                Some(whole(kernel, needed).into_token_stream())
            }
            Item::Fn(function) if function.sig.constness.is_some() && computes(item) => {
                Some(quote!(#[allow(dead_code)] #item))
            }
            Item::Fn(_) => None,
            item if taken.iter().any(|known| std::ptr::eq(*known, item))
                || number >= others && is_struct(item) =>
            {
                None
            }
            Item::Const(constant)
                if !types.is_empty() && !self::needed(constant.to_token_stream(), &types).is_empty() =>
            {
                None
            }
            // The program may use a constant, or only the kernels do.
            Item::Const(_) => Some(quote!(#[allow(dead_code)] #item)),
            other => Some(other.to_token_stream()),
        })
        .collect();
    reached.extend(&computing);
    unused(&shared[..own], &reached, &mut errors);
    let (attributes, visibility, name) = (&module.attrs, &module.vis, &module.ident);
    let errors = errors.tokens();
    quote! {
        #(#attributes)*
        #visibility mod #name {
            #(#items)*
        }
        #opened
        #errors
    }
}

/// The numbers of the shared items that compute constants: the program has these as well.
pub fn computing(items: &[Item], shared: &[Shared<'_>]) -> BTreeSet<usize> {
    let constants = items.iter().filter(|item| matches!(item, Item::Const(_)));
    constants.flat_map(|item| needed(item.to_token_stream(), shared)).collect()
}

/// Reports the functions that no kernel and no constant reaches.
pub fn unused(own: &[Shared<'_>], reached: &BTreeSet<usize>, errors: &mut Errors) {
    for (number, unused) in own.iter().enumerate() {
        if matches!(unused.item, Item::Fn(_)) && !reached.contains(&number) {
            errors.push(
                Place::token(unused.name.span()),
                format!("no kernel of the module calls `{}`", unused.name),
                "call it, or leave it out: a function is compiled with the kernels that call it",
            );
        }
    }
}

/// An item that every kernel of the module may name.
pub struct Shared<'a> {
    /// Its name.
    pub name: &'a Ident,
    /// The item.
    pub item: &'a Item,
}

impl<'a> Shared<'a> {
    /// A function that is no kernel, a constant, a struct, or an `impl` block, which has its struct's name.
    pub fn of(item: &'a Item) -> Option<Shared<'a>> {
        match item {
            Item::Fn(function) if !is_kernel(function) => Some(Shared { name: &function.sig.ident, item }),
            Item::Const(constant) => Some(Shared { name: &constant.ident, item }),
            Item::Struct(own) => Some(Shared { name: &own.ident, item }),
            Item::Impl(own) => Some(Shared { name: owner(own)?, item }),
            _ => None,
        }
    }
}

fn is_struct(item: &Item) -> bool {
    matches!(item, Item::Struct(_) | Item::Impl(_))
}

/// Whether the function is a kernel of its own.
pub fn is_kernel(function: &ItemFn) -> bool {
    function.attrs.iter().any(is_kernel_attribute)
}

pub fn is_kernel_attribute(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "tiled_kernel")
}

/// The numbers of the shared items that these tokens name (a kernel with its attribute and signature), and that those name,
/// in the module's order.
pub fn needed(tokens: TokenStream, shared: &[Shared<'_>]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![tokens];
    while let Some(tokens) = open.pop() {
        for tree in tokens {
            match tree {
                TokenTree::Group(group) => open.push(group.stream()),
                TokenTree::Ident(word) => {
                    let word = word.unraw();
                    for (number, known) in
                        shared.iter().enumerate().filter(|(_, known)| known.name.unraw() == word)
                    {
                        if found.insert(number) {
                            open.push(known.item.to_token_stream());
                        }
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// The kernel, with these items in front of its body.
pub fn whole<'a>(kernel: &ItemFn, items: impl Iterator<Item = &'a Item>) -> ItemFn {
    let mut kernel = kernel.clone();
    let body = std::mem::take(&mut kernel.block.stmts);
    kernel.block.stmts = items.map(|item| Stmt::Item(nested(item))).chain(body).collect();
    for attribute in kernel.attrs.iter_mut().filter(|attribute| is_kernel_attribute(attribute)) {
        // The module needs no `use` for its own kernels.
        let (syn::Meta::List(syn::MetaList { path, .. }) | syn::Meta::Path(path)) = &mut attribute.meta
        else {
            continue;
        };
        *path = syn::parse_quote!(::layout_cuda::tiled_kernel);
    }
    kernel
}

/// The item as it is in a function, where a visibility would be refused by rustc's lints.
pub fn nested(item: &Item) -> Item {
    let mut item = item.clone();
    match &mut item {
        Item::Fn(function) => function.vis = Visibility::Inherited,
        Item::Const(constant) => constant.vis = Visibility::Inherited,
        Item::Struct(own) => own.vis = Visibility::Inherited,
        _ => {}
    }
    item
}
