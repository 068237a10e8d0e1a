//! Early `return`, taken out of a function's body before it is lowered.
//!
//! Law: `if c { a; return v; } rest` is `if c { a; v } else { rest }`. A `return v` in a loop leaves the loop with a mark set:
//! `result = v; returned = true; break 'returned;`, and what follows the loop stands behind `if returned { return result; }`.
//! Statements move into a branch only where the names of that branch do not reach them, and are never written twice.

use crate::place::Place;
use crate::report::Errors;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::borrow::Cow;
use syn::spanned::Spanned;
use syn::{Block, Expr, Label, Stmt};

/// The body without `return`; refused where it cannot be had so.
pub fn without_returns<'b>(body: &'b Block, errors: &mut Errors) -> Cow<'b, Block> {
    if !has_return(body.to_token_stream()) {
        return Cow::Borrowed(body);
    }
    let mut block = body.clone();
    block.stmts = Rewrite { errors }.statements(block.stmts);
    Cow::Owned(block)
}

struct Rewrite<'e> {
    errors: &'e mut Errors,
}

impl Rewrite<'_> {
    /// The statements of a function's body, or of what is left of it.
    fn statements(&mut self, statements: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = vec![];
        let mut open = statements.into_iter();
        while let Some(statement) = open.next() {
            if !statement_returns(&statement) {
                out.push(statement);
                continue;
            }
            // A `return` within a value is refused where values are lowered.
            let Stmt::Expr(expr, semicolon) = statement else {
                out.push(statement);
                continue;
            };
            let rest: Vec<Stmt> = open.by_ref().collect();
            match expr {
                // What follows is never reached.
                Expr::Return(node) => out.extend(node.expr.map(|value| Stmt::Expr(*value, None))),
                Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => out.extend(self.looped(expr, rest)),
                // At most one way goes on to what follows.
                branches if ways_on(&branches) > 1 && !rest.is_empty() => {
                    self.refuse(&Stmt::Expr(branches, semicolon));
                }
                branches => out.push(Stmt::Expr(self.with_rest(branches, rest), None)),
            }
            break;
        }
        out
    }

    /// Every way of an `if`, a `match` or a block with a `return` in it, with `rest` behind the one that goes on.
    fn with_rest(&mut self, expr: Expr, rest: Vec<Stmt>) -> Expr {
        match expr {
            Expr::If(mut node) => {
                let then = std::mem::take(&mut node.then_branch.stmts);
                node.then_branch.stmts = self.way(then, &rest);
                let otherwise = match node.else_branch.take() {
                    Some((_, otherwise)) => self.with_rest(*otherwise, rest),
                    None => block_expr(self.statements(rest), node.if_token.span),
                };
                node.else_branch = Some((syn::Token![else](node.if_token.span), Box::new(otherwise)));
                Expr::If(node)
            }
            Expr::Match(mut node) => {
                for arm in &mut node.arms {
                    let body = std::mem::replace(&mut arm.body, Box::new(Expr::PLACEHOLDER));
                    *arm.body = self.with_rest(*body, rest.clone());
                }
                Expr::Match(node)
            }
            Expr::Block(mut node) if node.label.is_none() => {
                let own = std::mem::take(&mut node.block.stmts);
                node.block.stmts = self.way(own, &rest);
                Expr::Block(node)
            }
            Expr::Return(node) => {
                let span = node.return_token.span;
                block_expr(node.expr.map(|value| Stmt::Expr(*value, None)).into_iter().collect(), span)
            }
            other => {
                let span = other.span();
                let semicolon = (!rest.is_empty()).then(|| syn::Token![;](span));
                let first = Stmt::Expr(other, semicolon);
                block_expr(std::iter::once(first).chain(self.statements(rest)).collect(), span)
            }
        }
    }

    /// A branch: its own statements in a scope of their own, then the rest, unless it returns.
    fn way(&mut self, own: Vec<Stmt>, rest: &[Stmt]) -> Vec<Stmt> {
        if own.is_empty() || rest.is_empty() || returns_always(&own) {
            let all = if own.is_empty() { rest.to_vec() } else { own };
            return self.statements(all);
        }
        if !binds(&own) {
            let mut all = own;
            if let Some(Stmt::Expr(last, semicolon @ None)) = all.last_mut() {
                *semicolon = Some(syn::Token![;](last.span()));
            }
            all.extend(rest.iter().cloned());
            return self.statements(all);
        }
        if let Some(first) = own.iter().find(|statement| statement_returns(statement)) {
            self.refuse(first);
            return vec![];
        }
        let span = own[0].span();
        let scope = Stmt::Expr(block_expr(own, span), Some(syn::Token![;](span)));
        std::iter::once(scope).chain(self.statements(rest.to_vec())).collect()
    }

    /// A loop with a `return` in it.
    fn looped(&mut self, expr: Expr, rest: Vec<Stmt>) -> Vec<Stmt> {
        let mut expr = expr;
        let span = expr.span();
        // Names that the function does not use.
        let all = rest.iter().fold(expr.to_token_stream(), |mut all, statement| {
            statement.to_tokens(&mut all);
            all
        });
        let free = |name: &str| {
            let mut name = String::from(name);
            while names(all.clone(), &name) {
                name.push('_');
            }
            name
        };
        let (name, result) = (free("returned"), free("result"));
        let (mark, result) = (Ident::new(&name, span), Ident::new(&result, span));
        let label = syn::Lifetime::new(&format!("'{name}"), span);
        let (body, old) = match &mut expr {
            Expr::ForLoop(node) => (&mut node.body, &mut node.label),
            Expr::While(node) => (&mut node.body, &mut node.label),
            Expr::Loop(node) => (&mut node.body, &mut node.label),
            _ => return vec![Stmt::Expr(expr, None)],
        };
        let label =
            old.get_or_insert_with(|| Label { name: label, colon_token: syn::Token![:](span) }).name.clone();
        let mut leaving = Leaving { mark: &mark, result: &result, label: &label, valued: false };
        if let Some(within) = leaving.marked(&mut body.stmts) {
            self.errors.push(
                within,
                "a `return` within a value",
                "let it stand as a statement of its own: `if c { return x; }`",
            );
            return vec![];
        }
        let mut out = vec![];
        if leaving.valued {
            out.push(syn::parse_quote_spanned!(span=> let #result;));
        }
        let test: Expr = match leaving.valued {
            true => syn::parse_quote_spanned!(span=> if #mark { return #result; }),
            false => syn::parse_quote_spanned!(span=> if #mark { return; }),
        };
        let endless = matches!(expr, Expr::Loop(_));
        out.push(syn::parse_quote_spanned!(span=> let mut #mark = false;));
        out.push(Stmt::Expr(expr, Some(syn::Token![;](span))));
        if !rest.is_empty() {
            let after: Vec<Stmt> = std::iter::once(Stmt::Expr(test, None)).chain(rest).collect();
            out.extend(self.statements(after));
        } else if leaving.valued && endless {
            // A `loop` that ends the function is left by its `return`s only.
            out.push(Stmt::Expr(syn::parse_quote_spanned!(span=> #result), None));
        }
        out
    }

    fn refuse(&mut self, statement: &Stmt) {
        self.errors.push(
            Place::of(statement),
            "a `return` on one way of several that go on",
            "let each branch either return or go on: `if c { return; }`; or put what follows into the other branch",
        );
    }
}

/// How the `return`s of a loop leave it.
struct Leaving<'l> {
    mark: &'l Ident,
    result: &'l Ident,
    label: &'l syn::Lifetime,
    /// Whether one has a value.
    valued: bool,
}

impl Leaving<'_> {
    /// Turns each `return` of a loop's body into a mark and a `break`; gives the place of one that stands within a value.
    fn marked(&mut self, statements: &mut Vec<Stmt>) -> Option<Place> {
        let mut within = None;
        for statement in std::mem::take(statements) {
            match statement {
                Stmt::Expr(Expr::Return(node), _) => statements.extend(self.leave(node).stmts),
                Stmt::Expr(mut expr, semicolon) => {
                    within = within.or(self.marked_expr(&mut expr));
                    statements.push(Stmt::Expr(expr, semicolon));
                }
                other => {
                    within = within.or(statement_returns(&other).then(|| Place::of(&other)));
                    statements.push(other);
                }
            }
        }
        within
    }

    fn marked_expr(&mut self, expr: &mut Expr) -> Option<Place> {
        match expr {
            Expr::If(node) => {
                let then = self.marked(&mut node.then_branch.stmts);
                let otherwise =
                    node.else_branch.as_mut().and_then(|(_, otherwise)| self.marked_expr(otherwise));
                then.or(otherwise)
            }
            Expr::Match(node) => {
                let arms = node.arms.iter_mut().map(|arm| self.marked_expr(&mut arm.body));
                arms.fold(None, Option::or)
            }
            Expr::Block(node) => self.marked(&mut node.block.stmts),
            Expr::ForLoop(node) => self.marked(&mut node.body.stmts),
            Expr::While(node) => self.marked(&mut node.body.stmts),
            Expr::Loop(node) => self.marked(&mut node.body.stmts),
            Expr::Return(node) => {
                let (span, node) = (node.return_token.span, node.clone());
                *expr = block_expr(self.leave(node).stmts, span);
                None
            }
            other => has_return(other.to_token_stream()).then(|| Place::of(other)),
        }
    }

    /// `result = value; returned = true; break 'returned;`
    fn leave(&mut self, node: syn::ExprReturn) -> Block {
        let (mark, result, label) = (self.mark, self.result, self.label);
        let span = node.return_token.span;
        match node.expr {
            Some(value) => {
                self.valued = true;
                syn::parse_quote_spanned!(span=> { #result = #value; #mark = true; break #label; })
            }
            None => syn::parse_quote_spanned!(span=> { #mark = true; break #label; }),
        }
    }
}

fn block_expr(stmts: Vec<Stmt>, span: Span) -> Expr {
    let mut block: Block = syn::parse_quote_spanned!(span=> {});
    block.stmts = stmts;
    Expr::Block(syn::ExprBlock { attrs: vec![], label: None, block })
}

/// On how many ways control leaves the expression by its end.
fn ways_on(expr: &Expr) -> usize {
    match expr {
        Expr::Return(_) => 0,
        Expr::If(node) => {
            let otherwise = node.else_branch.as_ref().map_or(1, |(_, otherwise)| ways_on(otherwise));
            ways_of(&node.then_branch.stmts) + otherwise
        }
        Expr::Match(node) => node.arms.iter().map(|arm| ways_on(&arm.body)).sum(),
        Expr::Block(node) => ways_of(&node.block.stmts),
        _ => 1,
    }
}

fn ways_of(statements: &[Stmt]) -> usize {
    let returning = statements.iter().filter(|statement| statement_returns(statement));
    returning.fold(1, |ways, statement| match statement {
        Stmt::Expr(expr, _) => ways * ways_on(expr),
        _ => ways,
    })
}

fn returns_always(statements: &[Stmt]) -> bool {
    ways_of(statements) == 0
}

fn binds(statements: &[Stmt]) -> bool {
    statements.iter().any(|statement| matches!(statement, Stmt::Local(_) | Stmt::Item(_)))
}

/// Whether a statement holds a `return` of this function.
fn statement_returns(statement: &Stmt) -> bool {
    match statement {
        // A nested function has its own.
        Stmt::Item(_) => false,
        other => has_return(other.to_token_stream()),
    }
}

fn has_return(tokens: TokenStream) -> bool {
    names(tokens, "return")
}

fn names(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(word) => word == name,
        TokenTree::Group(group) => names(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
