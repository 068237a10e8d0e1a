//! Early `return`, taken out of a function's body before it is lowered.
//!
//! Law: `if c { a; return v; } rest` becomes `if c { a; v } else { rest }`. Where several paths go on to the code behind, a
//! path that returns sets a mark instead, `result = v; returned = true;`, and the code behind is under it. A `return v`
//! in a loop leaves the loop with a mark set: `result = v; returned = true; break 'returned;`, and the code behind the loop
//! is behind `if returned { return result; }`. Statements move into a branch only where the names of that branch do not
//! reach them, and are never written twice. A function with a `return` within a value ([`returns_within`]) is left as it
//! is: `lower/leave.rs` makes a loop of it.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::borrow::Cow;
use syn::spanned::Spanned;
use syn::{Block, Expr, Label, Stmt};

/// The body without `return`, of a function that has none within a value.
pub fn without_returns(body: &Block) -> Cow<'_, Block> {
    if !has_return(body.to_token_stream()) {
        return Cow::Borrowed(body);
    }
    let mut block = body.clone();
    block.stmts = Rewrite { marks: 0, leaving: None }.statements(block.stmts);
    Cow::Owned(block)
}

/// Whether a `return` of this function is within a value, or in a block with a label: not where a statement is.
pub fn returns_within(statements: &[Stmt]) -> bool {
    statements.iter().any(|statement| match statement {
        // A nested function has its own.
        Stmt::Item(_) => false,
        Stmt::Local(local) => local.init.as_ref().is_some_and(|init| holds_return(&init.expr)),
        Stmt::Expr(expr, _) => returns_within_expr(expr),
        Stmt::Macro(node) => has_return(node.to_token_stream()),
    })
}

/// The same of an expression that is as a statement.
fn returns_within_expr(expr: &Expr) -> bool {
    match expr {
        Expr::If(node) => {
            holds_return(&node.cond)
                || returns_within(&node.then_branch.stmts)
                || node.else_branch.as_ref().is_some_and(|(_, otherwise)| returns_within_expr(otherwise))
        }
        Expr::Match(node) => {
            let within =
                |arm: &syn::Arm| has_return(arm.pat.to_token_stream()) || returns_within_expr(&arm.body);
            holds_return(&node.expr) || node.arms.iter().any(within)
        }
        Expr::Block(node) => match node.label {
            None => returns_within(&node.block.stmts),
            Some(_) => has_return(node.block.to_token_stream()),
        },
        Expr::ForLoop(node) => holds_return(&node.expr) || returns_within(&node.body.stmts),
        Expr::While(node) => holds_return(&node.cond) || returns_within(&node.body.stmts),
        Expr::Loop(node) => returns_within(&node.body.stmts),
        Expr::Return(node) => node.expr.as_ref().is_some_and(|value| holds_return(value)),
        other => holds_return(other),
    }
}

/// Whether a value holds a `return` of this function: a closure has its own.
pub fn holds_return(expr: &Expr) -> bool {
    match expr {
        Expr::Closure(_) => false,
        Expr::Assign(node) => holds_return(&node.left) || holds_return(&node.right),
        Expr::Call(node) => node.args.iter().any(holds_return),
        Expr::MethodCall(node) => holds_return(&node.receiver) || node.args.iter().any(holds_return),
        other => has_return(other.to_token_stream()),
    }
}

struct Rewrite {
    /// Marks made so far.
    marks: usize,
    /// What a `return` sets, where it does not end the function by itself.
    leaving: Option<Mark>,
}

/// The variables of a `return` on one way of several.
struct Mark {
    returned: Ident,
    result: Ident,
    /// Whether one has a value.
    valued: bool,
}

impl Rewrite {
    /// The statements of a function's body, or of what is left of it.
    fn statements(&mut self, statements: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = vec![];
        let mut open = statements.into_iter();
        while let Some(statement) = open.next() {
            if !statement_returns(&statement) {
                out.push(statement);
                continue;
            }
            // A closure's own.
            let Stmt::Expr(expr, semicolon) = statement else {
                out.push(statement);
                continue;
            };
            let rest: Vec<Stmt> = open.by_ref().collect();
            match expr {
                // What follows is never reached.
                Expr::Return(node) => out.extend(self.left(node)),
                Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => out.extend(self.looped(expr, rest)),
                // What follows is never written twice.
                branches if ways_on(&branches) > 1 && !rest.is_empty() => {
                    out.extend(self.marked(branches, semicolon, rest));
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
                block_expr(self.left(node), span)
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
        let span = own[0].span();
        if own.iter().any(statement_returns) {
            return self.marked(block_expr(own, span), Some(syn::Token![;](span)), rest.to_vec());
        }
        let scope = Stmt::Expr(block_expr(own, span), Some(syn::Token![;](span)));
        std::iter::once(scope).chain(self.statements(rest.to_vec())).collect()
    }

    /// What a `return` is: the value of the function, or a mark.
    fn left(&mut self, node: syn::ExprReturn) -> Vec<Stmt> {
        let span = node.return_token.span;
        let Some(Mark { returned, result, valued }) = &mut self.leaving else {
            return node.expr.map(|value| Stmt::Expr(*value, None)).into_iter().collect();
        };
        let mut out = vec![];
        if let Some(value) = node.expr {
            *valued = true;
            out.push(syn::parse_quote_spanned!(span=> #result = #value;));
        }
        out.push(syn::parse_quote_spanned!(span=> #returned = true;));
        out
    }

    /// Branches of which several go on to `rest`, and one or more return.
    fn marked(&mut self, branches: Expr, semicolon: Option<syn::Token![;]>, rest: Vec<Stmt>) -> Vec<Stmt> {
        let span = branches.span();
        let mut all = branches.to_token_stream();
        rest.iter().for_each(|statement| statement.to_tokens(&mut all));
        let [returned, result] = self.free(&all, span);
        let mark = Mark { returned: returned.clone(), result: result.clone(), valued: false };
        let outer = self.leaving.replace(mark);
        let branches = self.with_rest(branches, vec![]);
        let valued = std::mem::replace(&mut self.leaving, outer).is_some_and(|mark| mark.valued);
        let mut out = vec![];
        if valued {
            out.push(syn::parse_quote_spanned!(span=> #[left] let #result;));
        }
        out.push(syn::parse_quote_spanned!(span=> let mut #returned = false;));
        out.push(Stmt::Expr(branches, semicolon.or(Some(syn::Token![;](span)))));
        let test: Expr = match valued {
            true => syn::parse_quote_spanned!(span=> if #returned { return #result; }),
            false => syn::parse_quote_spanned!(span=> if #returned { return; }),
        };
        out.extend(self.statements(std::iter::once(Stmt::Expr(test, None)).chain(rest).collect()));
        out
    }

    /// Names for a mark and a result that nobody else uses.
    fn free(&mut self, all: &TokenStream, span: Span) -> [Ident; 2] {
        self.marks += 1;
        let number = if self.marks == 1 { String::new() } else { format!("_{}", self.marks) };
        ["returned", "result"].map(|name| {
            let mut name = format!("{name}{number}");
            while names(all.clone(), &name) {
                name.push('_');
            }
            Ident::new(&name, span)
        })
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
        let [mark, result] = self.free(&all, span);
        let label = syn::Lifetime::new(&format!("'{mark}"), span);
        let (body, old) = match &mut expr {
            Expr::ForLoop(node) => (&mut node.body, &mut node.label),
            Expr::While(node) => (&mut node.body, &mut node.label),
            Expr::Loop(node) => (&mut node.body, &mut node.label),
            _ => return vec![Stmt::Expr(expr, None)],
        };
        let label =
            old.get_or_insert_with(|| Label { name: label, colon_token: syn::Token![:](span) }).name.clone();
        let mut leaving = Leaving { mark: &mark, result: &result, label: &label, valued: false };
        leaving.marked(&mut body.stmts);
        let mut out = vec![];
        if leaving.valued {
            out.push(syn::parse_quote_spanned!(span=> #[left] let #result;));
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
    /// Turns each `return` of a loop's body into a mark and a `break`.
    fn marked(&mut self, statements: &mut Vec<Stmt>) {
        for statement in std::mem::take(statements) {
            match statement {
                Stmt::Expr(Expr::Return(node), _) => statements.extend(self.leave(node).stmts),
                Stmt::Expr(mut expr, semicolon) => {
                    self.marked_expr(&mut expr);
                    statements.push(Stmt::Expr(expr, semicolon));
                }
                other => statements.push(other),
            }
        }
    }

    fn marked_expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::If(node) => {
                self.marked(&mut node.then_branch.stmts);
                node.else_branch.iter_mut().for_each(|(_, otherwise)| self.marked_expr(otherwise));
            }
            Expr::Match(node) => node.arms.iter_mut().for_each(|arm| self.marked_expr(&mut arm.body)),
            Expr::Block(node) => self.marked(&mut node.block.stmts),
            Expr::ForLoop(node) => self.marked(&mut node.body.stmts),
            Expr::While(node) => self.marked(&mut node.body.stmts),
            Expr::Loop(node) => self.marked(&mut node.body.stmts),
            Expr::Return(node) => {
                let (span, node) = (node.return_token.span, node.clone());
                *expr = block_expr(self.leave(node).stmts, span);
            }
            _ => {}
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
