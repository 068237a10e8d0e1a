//! `for tile in x.tiles([BM, BN])`: every tile of a view, the last mode's tiles fastest.
//!
//! Law: it is the loops over the tiles' numbers, one for each mode, with `let tile = x.tile([BM, BN], [i, j]);` in front of the body.

use super::Lowering;
use super::constants::names;
use crate::span::Place;
use layout_compiler::ir::Statement;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{Expr, ExprForLoop};

/// What a `for` over tiles runs over.
pub(super) struct Tiles<'e> {
    view: &'e Expr,
    extents: &'e Expr,
    /// Whether each tile comes with its number.
    numbered: bool,
}

/// `x.tiles([BM, BN])`, perhaps with `.enumerate()`.
pub(super) fn tiles(expr: &Expr) -> Option<Tiles<'_>> {
    match expr {
        Expr::Paren(node) => tiles(&node.expr),
        Expr::MethodCall(node) if node.method == "tiles" && node.args.len() == 1 => {
            Some(Tiles { view: &node.receiver, extents: node.args.first()?, numbered: false })
        }
        Expr::MethodCall(node) if node.method == "enumerate" && node.args.is_empty() => tiles(&node.receiver)
            .filter(|inner| !inner.numbered)
            .map(|inner| Tiles { numbered: true, ..inner }),
        _ => None,
    }
}

impl Lowering<'_> {
    pub(super) fn for_tiles(&mut self, place: Place, node: &ExprForLoop, of: &Tiles<'_>) -> Vec<Statement> {
        let Expr::Array(extents) = of.extents else {
            self.errors.push(
                Place::of_expr(of.extents),
                "the extents of `tiles` are an array, one for each mode",
                "write `for tile in x.tiles([BM, BN])`",
            );
            return vec![];
        };
        let rank = extents.elems.len();
        let several = rank > 1;
        if several && (node.label.is_some() || leaves(node.body.to_token_stream())) {
            self.errors.push(
                Place::token(node.for_token.span),
                "a `for` over the tiles of several modes is several loops, which no label and no `break` leaves at once",
                "write the loops: `for i in 0..x.dim(0).div_ceil(BM)`, and `x.tile([BM, BN], [i, j])` in the inner one",
            );
            return vec![];
        }
        let span = place.start;
        // Names that the loop's own text does not have.
        let text = node.to_token_stream();
        let free = |name: String| {
            let mut ident = Ident::new(&name, span);
            while names(text.clone(), &ident) {
                ident = Ident::new(&format!("{ident}_"), span);
            }
            ident
        };
        let view = free("tiles_of".to_owned());
        let at: Vec<Ident> = (0..rank).map(|mode| free(format!("tile_{mode}"))).collect();
        let (written, extents, body, pattern) = (of.view, &extents.elems, &node.body.stmts, &node.pat);
        let count = |mode: usize| {
            let extent = &extents[mode];
            quote_spanned!(span=> #view.dim(#mode).div_ceil(#extent))
        };
        let number =
            at.iter().enumerate().skip(1).fold(at.first().to_token_stream(), |number, (mode, at)| {
                let count = count(mode);
                quote_spanned!(span=> (#number) * #count + #at)
            });
        let tile = quote_spanned!(span=> #view.tile([#extents], [#(#at),*]));
        let tile = if of.numbered { quote_spanned!(span=> (#number, #tile)) } else { tile };
        let label = &node.label;
        let mut loops = quote_spanned!(span=> let #pattern = #tile; #(#body)*);
        for mode in (0..rank).rev() {
            let (count, at) = (count(mode), &at[mode]);
            loops = quote_spanned!(span=> #label for #at in 0..#count { #loops });
        }
        match syn::parse2(quote_spanned!(span=> { let #view = #written; #loops })) {
            Ok(block) => self.block(&block).statements,
            Err(error) => {
                self.errors.syntax(&error);
                vec![]
            }
        }
    }
}

/// Whether a `break` without a label leaves a loop around this.
fn leaves(tokens: TokenStream) -> bool {
    let (mut own, mut trees) = (false, tokens.into_iter().peekable());
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(word) if word == "loop" || word == "while" || word == "for" => own = true,
            TokenTree::Ident(word) if word == "break" => {
                let labelled = matches!(trees.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == '\'');
                if !labelled {
                    return true;
                }
            }
            TokenTree::Group(group) if own && group.delimiter() == Delimiter::Brace => own = false,
            TokenTree::Group(group) if leaves(group.stream()) => return true,
            _ => {}
        }
    }
    false
}
