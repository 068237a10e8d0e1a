//! Leaving loops and blocks: `break`, `continue`, labels, and a `return` within a value.
//!
//! Law: `break 'outer` in an inner loop becomes a mark that is set and a `break`; each loop that is left on the way ends
//! with a test of the mark. So a loop is left by its own `break` only, and no stage knows labels. `break value` sets a
//! variable that is declared before the loop, and that variable is the loop's value. A block with a label is a loop of one
//! round. So is the body of a function whose `return` is within a value (`let x = match k { 0 => return, n => n };`):
//! each such `return` is a `break` of it.

use super::Lowering;
use crate::returns::{returns_within, without_returns};
use crate::span::Place;
use layout_compiler::ir::{Annotation, Block, ExprId, ExprKind, LocalId, Pattern, Statement, StatementKind};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, ExprBlock, ExprLoop, ExprReturn, Label, Lifetime};

/// A loop around the code that is lowered, or what is left as one.
pub(super) struct Around {
    kind: Kind,
    label: Option<String>,
    /// The ways on which it is left for a loop further out.
    ways: Vec<Way>,
    /// The variable of its value, once a `break` sets it.
    value: Option<LocalId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A `for` or a `while`, which has no value.
    Counted,
    /// A `loop`.
    Endless,
    /// A block with a label.
    Block,
    /// The body of a function, which `return` leaves.
    Function,
}

impl Around {
    fn new(kind: Kind, label: &Option<Label>) -> Around {
        Around { kind, label: named(label), ways: vec![], value: None }
    }
}

/// A way out of several loops at once.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Way {
    /// The loop that is left, or begun anew: its place among those around.
    target: usize,
    goes_on: bool,
    mark: LocalId,
}

impl Lowering<'_> {
    /// A loop: its body is lowered, and `whole` makes the loop's statement of it.
    pub(super) fn loop_with(
        &mut self,
        label: &Option<Label>,
        place: Place,
        body: &syn::Block,
        whole: impl FnOnce(&mut Self, Block) -> Option<StatementKind>,
    ) -> Vec<Statement> {
        self.around(Around::new(Kind::Counted, label), place, body, whole).0
    }

    /// A `loop`, and the variable that holds its value where a `break` gives it one.
    pub(super) fn endless(&mut self, place: Place, node: &ExprLoop) -> (Vec<Statement>, Option<LocalId>) {
        self.no_attributes(&node.attrs);
        let condition = self.add(Place::token(node.loop_token.span), ExprKind::Bool(true));
        let around = Around::new(Kind::Endless, &node.label);
        self.around(around, place, &node.body, |_, body| Some(StatementKind::While { condition, body }))
    }

    /// `'label: { .. }`, as a block of statements and perhaps a value.
    pub(super) fn labelled(&mut self, place: Place, node: &ExprBlock) -> Block {
        self.once(Around::new(Kind::Block, &node.label), place, &node.block)
    }

    /// The body of a function.
    pub(super) fn function_body(&mut self, body: &syn::Block) -> Block {
        if !returns_within(&body.stmts) {
            let plain = without_returns(body);
            return self.block(&plain);
        }
        let place = Place { start: body.brace_token.span.open(), end: body.brace_token.span.close() };
        self.once(Around::new(Kind::Function, &None), place, body)
    }

    /// A loop of one round.
    fn once(&mut self, around: Around, place: Place, body: &syn::Block) -> Block {
        let condition = self.add(place, ExprKind::Bool(true));
        let (statements, value) =
            self.around(around, place, body, |_, body| Some(StatementKind::While { condition, body }));
        let value = value.map(|local| self.add(place, ExprKind::Local(local)));
        Block { statements, value }
    }

    /// `return;`, `return value;` in a function that is left so.
    pub(super) fn returned(&mut self, place: Place, node: &ExprReturn) -> Vec<Statement> {
        let Some(target) = self.around.iter().rposition(|around| around.kind == Kind::Function) else {
            self.errors.push(
                place,
                "`return` as a value",
                "write it as a statement: `if c { return; }`, or the value as the last of its block",
            );
            return vec![];
        };
        let mut out = vec![];
        if let Some(value) = &node.expr {
            let value = self.expr(value);
            out.push(self.takes(place, target, value));
        }
        out.extend(self.leave_for(place, false, target));
        out
    }

    /// What `break value` does before it leaves: the loop's variable takes the value.
    pub(super) fn loop_value(
        &mut self,
        place: Place,
        label: Option<&Lifetime>,
        value: &Expr,
    ) -> Option<Statement> {
        let value = self.expr(value);
        let target = self.target(label)?;
        if self.around[target].kind == Kind::Counted {
            self.errors.push(
                place,
                "a `break` with a value leaves a `for` or a `while`",
                "only a `loop` has a value, as in Rust: set a variable that is declared before, then `break;`",
            );
            return None;
        }
        Some(self.takes(place, target, value))
    }

    /// The variable of a loop's value takes it.
    fn takes(&mut self, place: Place, target: usize, value: ExprId) -> Statement {
        let name = if self.around[target].kind == Kind::Function { "result" } else { "value" };
        let local = match self.around[target].value {
            Some(local) => local,
            None => {
                let local = self.local(&Ident::new(name, place.start), true);
                self.kernel.locals[local.0 as usize].left = true;
                self.around[target].value = Some(local);
                local
            }
        };
        let shape = self.shape_of(value);
        self.shaped(local, shape);
        let place_of = self.add(place, ExprKind::Local(local));
        self.statement(place, StatementKind::Assign { place: place_of, op: None, value })
    }

    /// What is left as a loop of one round ends with its value, and is left.
    fn ended(&mut self, place: Place, body: &mut Block) {
        let Some(innermost) = self.around.len().checked_sub(1) else { return };
        if let Some(value) = body.value.take() {
            let statement = self.takes(place, innermost, value);
            body.statements.push(statement);
        }
        if !matches!(body.statements.last().map(|last| &last.kind), Some(StatementKind::Break)) {
            let leave = self.statement(place, StatementKind::Break);
            body.statements.push(leave);
        }
    }

    fn around(
        &mut self,
        around: Around,
        place: Place,
        body: &syn::Block,
        whole: impl FnOnce(&mut Self, Block) -> Option<StatementKind>,
    ) -> (Vec<Statement>, Option<LocalId>) {
        let once = matches!(around.kind, Kind::Block | Kind::Function);
        self.around.push(around);
        let mut body = self.block(body);
        if once {
            self.ended(place, &mut body);
        }
        let (ways, value) = self.around.pop().map(|own| (own.ways, own.value)).unwrap_or_default();
        let depth = self.around.len();
        let Some(kind) = whole(self, body) else { return (vec![], value) };
        let mut out = vec![];
        if let Some(local) = value {
            out.push(self.statement(place, StatementKind::Declare { local, ty: Annotation::Any }));
        }
        for way in ways.iter().filter(|way| way.target + 1 == depth) {
            let value = self.add(place, ExprKind::Bool(false));
            let pattern = Pattern::Local(way.mark);
            out.push(self.statement(
                place,
                StatementKind::Let { pattern, ty: Annotation::Any, value, constant: false },
            ));
        }
        out.push(self.statement(place, kind));
        for way in ways {
            let last = way.target + 1 == depth;
            let leave = if last && way.goes_on { StatementKind::Continue } else { StatementKind::Break };
            let leave = Block { statements: vec![self.statement(place, leave)], value: None };
            let condition = self.add(place, ExprKind::Local(way.mark));
            let test = self.add(place, ExprKind::If(condition, leave, Block::default()));
            out.push(self.statement(place, StatementKind::Expr(test)));
        }
        (out, value)
    }

    /// The loop that a `break` or a `continue` means: its place among those around.
    fn target(&self, label: Option<&Lifetime>) -> Option<usize> {
        match label {
            None => {
                let is_loop = |around: &Around| matches!(around.kind, Kind::Counted | Kind::Endless);
                self.around.iter().rposition(is_loop)
            }
            Some(label) => {
                let name = label.ident.to_string();
                self.around.iter().rposition(|around| around.label.as_deref() == Some(&name))
            }
        }
    }

    /// `break` or `continue`, perhaps of a loop further out.
    pub(super) fn leave(&mut self, place: Place, goes_on: bool, label: Option<&Lifetime>) -> Vec<Statement> {
        let Some(target) = self.target(label) else {
            let word = if goes_on { "continue" } else { "break" };
            match label {
                Some(label) => {
                    let message = format!("no loop around is called `{label}`");
                    let help =
                        format!("write the label in front of the loop: `{label}: for i in 0..n {{ .. }}`");
                    self.errors.push(Place::token(label.ident.span()), message, help);
                }
                None => {
                    let message = format!("`{word}` outside of a loop");
                    self.errors.push(place, message, "leave it out, or write the loop around it");
                }
            }
            return vec![];
        };
        self.leave_for(place, goes_on, target)
    }

    /// Leaves the loops up to this one, or begins it anew.
    fn leave_for(&mut self, place: Place, goes_on: bool, target: usize) -> Vec<Statement> {
        let innermost = self.around.len().saturating_sub(1);
        if target == innermost {
            let kind = if goes_on { StatementKind::Continue } else { StatementKind::Break };
            return vec![self.statement(place, kind)];
        }
        let known =
            self.around[innermost].ways.iter().find(|way| (way.target, way.goes_on) == (target, goes_on));
        let mark = match known {
            Some(way) => way.mark,
            None => {
                let mark = self.local(&Ident::new(if goes_on { "skip" } else { "leave" }, place.start), true);
                let way = Way { target, goes_on, mark };
                // A loop between may be left on this way by another loop of its own already, with another mark.
                self.around[target + 1..].iter_mut().for_each(|around| around.ways.push(way));
                mark
            }
        };
        let (marked, value) = (self.add(place, ExprKind::Local(mark)), self.add(place, ExprKind::Bool(true)));
        vec![
            self.statement(place, StatementKind::Assign { place: marked, op: None, value }),
            self.statement(place, StatementKind::Break),
        ]
    }
}

fn named(label: &Option<Label>) -> Option<String> {
    label.as_ref().map(|label| label.name.ident.to_string())
}

/// Whether a `break`, a `continue` or a `return` is in an expression; one of a closure inside may be its own.
pub(super) fn jumps(expr: &Expr) -> bool {
    fn any(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|tree| match tree {
            TokenTree::Ident(word) => word == "break" || word == "continue" || word == "return",
            TokenTree::Group(group) => any(group.stream()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
    any(expr.to_token_stream())
}

/// Whether some `break` of a `loop` has a value.
pub(super) fn has_value(node: &ExprLoop) -> bool {
    gives_value(&node.body)
}

/// The same of a block that is left by its label.
pub(super) fn gives_value(block: &syn::Block) -> bool {
    breaks(block.to_token_stream())
}

/// Whether a `break` among these tokens is followed by more than a label. One of another loop inside may be: then the value is
/// that of a loop without any, which is nothing.
fn breaks(tokens: TokenStream) -> bool {
    let mut open = tokens.into_iter().peekable();
    while let Some(tree) = open.next() {
        match tree {
            TokenTree::Group(group) if breaks(group.stream()) => return true,
            TokenTree::Ident(word) if word == "break" => {
                if matches!(open.peek(), Some(TokenTree::Punct(quote)) if quote.as_char() == '\'') {
                    open.next();
                    open.next();
                }
                match open.peek() {
                    None => {}
                    Some(TokenTree::Punct(end)) if matches!(end.as_char(), ';' | ',') => {}
                    Some(_) => return true,
                }
            }
            _ => {}
        }
    }
    false
}
