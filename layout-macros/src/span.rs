//! Where a node of the syntax tree is: its first and its last token.
//!
//! A stable compiler cannot join two spans, so both ends are kept; an error marks everything between them. The common
//! nodes are measured without printing their tokens: every expression of a kernel asks for its place.

use layout_compiler::Position;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Expr;

/// The spans of the first and the last token.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The first token.
    pub start: Span,
    /// The last token.
    pub end: Span,
}

impl Place {
    /// The place of one token.
    pub fn token(span: Span) -> Place {
        Place { start: span, end: span }
    }

    /// From the start of one place to the end of another.
    pub fn to(self, other: Place) -> Place {
        Place { start: self.start, end: other.end }
    }

    /// The place of anything that has tokens; the macro's call where it has none.
    pub fn of(node: &impl ToTokens) -> Place {
        Place::of_tokens(node.to_token_stream())
    }

    /// The place of tokens.
    pub fn of_tokens(tokens: TokenStream) -> Place {
        let mut trees = tokens.into_iter();
        let Some(first) = trees.next() else {
            return Place::token(Span::call_site());
        };
        let last = trees.last();
        let end = match last.as_ref().unwrap_or(&first) {
            TokenTree::Group(group) => group.span_close(),
            other => other.span(),
        };
        let start = match &first {
            TokenTree::Group(group) => group.span_open(),
            other => other.span(),
        };
        Place { start, end }
    }

    /// The place of an expression.
    pub fn of_expr(expr: &Expr) -> Place {
        match expr {
            Expr::Lit(node) => Place::token(node.lit.span()),
            Expr::Path(node) if node.path.segments.len() == 1 && node.qself.is_none() => {
                Place::token(node.path.segments[0].ident.span())
            }
            Expr::Binary(node) => Place::of_expr(&node.left).to(Place::of_expr(&node.right)),
            Expr::Assign(node) => Place::of_expr(&node.left).to(Place::of_expr(&node.right)),
            Expr::MethodCall(node) => {
                Place::of_expr(&node.receiver).to(Place::token(node.paren_token.span.close()))
            }
            Expr::Call(node) => Place::of_expr(&node.func).to(Place::token(node.paren_token.span.close())),
            Expr::Index(node) => Place::of_expr(&node.expr).to(Place::token(node.bracket_token.span.close())),
            Expr::Paren(node) => {
                Place { start: node.paren_token.span.open(), end: node.paren_token.span.close() }
            }
            Expr::Tuple(node) => {
                Place { start: node.paren_token.span.open(), end: node.paren_token.span.close() }
            }
            Expr::Array(node) => {
                Place { start: node.bracket_token.span.open(), end: node.bracket_token.span.close() }
            }
            Expr::Group(node) => Place::of_expr(&node.expr),
            Expr::If(node) => Place {
                start: node.if_token.span,
                end: match &node.else_branch {
                    Some((_, otherwise)) => Place::of_expr(otherwise).end,
                    None => node.then_branch.brace_token.span.close(),
                },
            },
            Expr::Block(node) if node.label.is_none() => {
                Place { start: node.block.brace_token.span.open(), end: node.block.brace_token.span.close() }
            }
            Expr::ForLoop(node) => {
                Place { start: node.for_token.span, end: node.body.brace_token.span.close() }
            }
            Expr::Match(node) => Place { start: node.match_token.span, end: node.brace_token.span.close() },
            Expr::While(node) => {
                Place { start: node.while_token.span, end: node.body.brace_token.span.close() }
            }
            other => Place::of(other),
        }
    }

    /// Line and column of the first token, both from 1.
    pub fn position(self) -> Position {
        let start = self.start.start();
        Position { line: start.line as u32, column: start.column as u32 + 1 }
    }
}
