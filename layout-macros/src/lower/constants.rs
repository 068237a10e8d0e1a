//! `const` items of blocks and of structs.
//!
//! Law: a constant is in scope in its whole block, and is lowered behind those that its value names.

use super::arguments::arguments_at;
use super::scope::Binding;
use super::structs::{Member, owner};
use super::{Lowering, Site};
use crate::span::Place;
use layout_compiler::ir::{LocalId, Pattern, Statement, StatementKind};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use std::borrow::Cow;
use syn::ext::IdentExt;
use syn::{ImplItem, Item, ItemConst, ItemImpl, Stmt, Type, parse_quote};

/// A constant of a block, or of a struct of it.
pub(super) struct Constant<'b> {
    item: Cow<'b, ItemConst>,
    owner: Option<&'b Ident>,
    /// Its name in the kernel, where that is in scope already.
    local: Option<LocalId>,
}

impl Constant<'_> {
    /// Whether its value names another one.
    fn names(&self, other: &Constant<'_>) -> bool {
        let names = |name: &Ident| names(self.item.expr.to_token_stream(), name);
        let own = self.owner == other.owner && names(&Ident::new("Self", other.item.ident.span()));
        names(&other.item.ident) && other.owner.is_none_or(|owner| own || names(owner))
    }
}

/// The `const` items of a block, each behind those of the block that it names: items have no order in Rust.
pub(super) fn constants_in_order(block: &syn::Block) -> Vec<Constant<'_>> {
    let mut open: Vec<Constant<'_>> = block.stmts.iter().flat_map(constant_items).collect();
    let mut ordered = vec![];
    while !open.is_empty() {
        let ready = |number: &usize| {
            !open.iter().enumerate().any(|(other, known)| other != *number && open[*number].names(known))
        };
        // Of a circle the first, which rustc refuses as well.
        let next = (0..open.len()).find(ready).unwrap_or(0);
        ordered.push(open.remove(next));
    }
    ordered
}

fn constant_items(statement: &Stmt) -> Vec<Constant<'_>> {
    match statement {
        Stmt::Item(Item::Const(item)) => {
            vec![Constant { item: Cow::Borrowed(item), owner: None, local: None }]
        }
        // Those of a generic struct are lowered where they are named.
        Stmt::Item(Item::Impl(item)) if !is_generic(item) => {
            let constant = |own: &ImplItem| match own {
                ImplItem::Const(own) => Some(parse_quote!(#own)),
                _ => None,
            };
            let own = item.items.iter().filter_map(constant);
            own.map(|constant| Constant { item: Cow::Owned(constant), owner: owner(item), local: None })
                .collect()
        }
        _ => vec![],
    }
}

/// Whether an `impl` block is of a struct with parameters.
pub(super) fn is_generic(item: &ItemImpl) -> bool {
    let given = match &*item.self_ty {
        Type::Path(path) => arguments_at(&path.path).is_some(),
        _ => false,
    };
    given || !item.generics.params.is_empty()
}

/// Whether a name is among these tokens.
pub(super) fn names(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(word) => word == *name,
        TokenTree::Group(group) => names(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

impl Lowering<'_> {
    /// Puts the name of a constant in scope, ahead of its value.
    pub(super) fn name_constant(&mut self, constant: &mut Constant<'_>) {
        let own = constant.owner.map(|name| self.struct_named(name));
        let name = constant.item.ident.unraw().to_string();
        let local = self.local(&constant.item.ident, false);
        match own {
            Some(None) => return,
            Some(Some(own)) => {
                self.structs.all[own as usize].members.insert(name, Member::Constant(local));
            }
            None => self.scopes.bind(name, Binding::Constant(local)),
        }
        constant.local = Some(local);
    }

    pub(super) fn constant(&mut self, Constant { item, owner, local }: &Constant<'_>) -> Option<Statement> {
        let own = owner.and_then(|name| self.struct_named(name));
        if owner.is_some() && own.is_none() {
            return None; // its `impl` is refused
        }
        let outer = self.structs.own;
        self.structs.own = own.or(outer);
        self.no_attributes(item.attrs.iter().filter(|known| !known.path().is_ident("doc")));
        let place = Place { start: item.const_token.span, end: item.semi_token.span };
        if owner.is_none() {
            self.free(&item.ident);
        }
        let ty = self.annotation(&item.ty);
        let site = std::mem::replace(&mut self.site, Site::Constant);
        let shape = self.shape_of_type(&item.ty);
        let value = self.expr_as(&item.expr, shape.clone());
        self.site = site;
        let local = local.unwrap_or_else(|| self.local(&item.ident, false));
        self.shaped(local, shape);
        self.structs.own = outer;
        let name = item.ident.unraw().to_string();
        match own {
            Some(own) => {
                self.structs.all[own as usize].members.insert(name, Member::Constant(local));
            }
            None => self.scopes.bind(name, Binding::Constant(local)),
        }
        let pattern = Pattern::Local(local);
        Some(self.statement(place, StatementKind::Let { pattern, ty, value, constant: true }))
    }
}
