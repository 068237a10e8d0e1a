//! The macros of a kernel: `println!`, `dbg!`, `assert!` and their families.
//!
//! Law: operands are evaluated once, in order, and those of a message where the assertion fails. `assert_eq!(a, b)` is `assert!(a
//! == b)` whose message ends with both values.

use super::format::{FormatArguments, append, located};
use super::statement::text;
use super::{Lowering, refuse};
use crate::span::Place;
use layout_compiler::ir::{
    AssertKind, BinaryOp, Block, ExprId, ExprKind, Format, LocalId, Pattern, Piece, Spec, Statement,
    StatementKind, Style,
};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::parse::ParseStream;
use syn::{Expr, Macro, Token};

/// `{:?}`
const DEBUG: Spec = Spec {
    style: Style::Debug,
    align: layout_compiler::ir::Align::Usual,
    sign: false,
    alternate: false,
    zero: false,
    width: None,
    precision: None,
};

/// The way out of a macro's syntax.
const FORMS: &str = "the forms are `println!(\"{} {name}\", x)`, `dbg!(x)`, `assert!(c, \"{}\", x)` and `assert_eq!(a, b, \"{}\", x)`";

/// Whether a macro has a value.
pub(super) fn has_value(mac: &Macro) -> bool {
    mac.path.is_ident("dbg")
}

impl Lowering<'_> {
    /// A macro as a statement.
    pub(super) fn macro_statement(&mut self, place: Place, mac: &Macro) -> Vec<Statement> {
        let name = mac.path.to_token_stream().to_string().replace(' ', "");
        let debug = name.starts_with("debug_");
        let kind = if debug { AssertKind::Debug } else { AssertKind::Always };
        match name.as_str() {
            "println" | "print" => self.print(place, mac, name == "println").into_iter().collect(),
            "dbg" => {
                let value = self.debugged(place, mac);
                vec![self.statement(place, StatementKind::Expr(value))]
            }
            "assert" | "debug_assert" => self.assertion(place, mac, kind).into_iter().collect(),
            "assert_eq" | "debug_assert_eq" => self.comparison(place, mac, kind, BinaryOp::Eq),
            "assert_ne" | "debug_assert_ne" => self.comparison(place, mac, kind, BinaryOp::Ne),
            "panic" => self.panic(place, mac, "explicit panic", ""),
            "unreachable" => self.panic(place, mac, UNREACHABLE, UNREACHABLE),
            "todo" => self.panic(place, mac, "not yet implemented", "not yet implemented"),
            "unimplemented" => self.panic(place, mac, "not implemented", "not implemented"),
            _ => {
                self.no_macro(mac);
                vec![]
            }
        }
    }

    /// A macro as a value.
    pub(super) fn macro_value(&mut self, place: Place, mac: &Macro) -> ExprId {
        if has_value(mac) { self.debugged(place, mac) } else { self.no_macro(mac) }
    }

    /// Refuses a macro.
    fn no_macro(&mut self, mac: &Macro) -> ExprId {
        let name = mac.path.to_token_stream().to_string().replace(' ', "");
        let message = format!("a kernel cannot call `{name}!` here");
        self.refuse(Place::of(&mac.path), message, refuse::mac(&name))
    }

    /// The parts of a macro; `None` where an error is reported.
    fn parsed<T>(&mut self, mac: &Macro, parse: impl Fn(ParseStream<'_>) -> syn::Result<T>) -> Option<T> {
        match mac.parse_body_with(parse) {
            Ok(parts) => Some(parts),
            Err(error) => {
                for part in &error {
                    self.errors.push(Place::token(part.span()), part.to_string(), FORMS);
                }
                None
            }
        }
    }

    fn print(&mut self, place: Place, mac: &Macro, line: bool) -> Option<Statement> {
        let arguments = self.parsed(mac, |input| input.parse::<FormatArguments>())?;
        let mut format = self.format(&arguments)?;
        if line {
            append(&mut format, "\n");
        }
        Some(self.statement(place, StatementKind::Print(format)))
    }

    /// `dbg!(a, b)`: each value is printed with its text, and is the macro's.
    fn debugged(&mut self, place: Place, mac: &Macro) -> ExprId {
        let list = self.parsed(mac, syn::punctuated::Punctuated::<Expr, Token![,]>::parse_terminated);
        let Some(list) = list else { return self.nothing(place) };
        let at = located(place.start);
        let (mut statements, mut values) = (vec![], vec![]);
        for expr in &list {
            let (local, bound) = self.named("value", expr);
            statements.push(bound);
            let value = self.add(Place::of_expr(expr), ExprKind::Local(local));
            if self.struct_of(value).is_some() {
                return self.refuse(
                    Place::of_expr(expr),
                    "a struct cannot be printed",
                    "print its fields: `dbg!(s.x)`",
                );
            }
            let pieces = vec![
                Piece::Text(format!("[{at}] {} = ", text(expr))),
                Piece::Value(0, DEBUG),
                Piece::Text("\n".to_owned()),
            ];
            let format = Format { pieces, values: vec![value] };
            statements.push(self.statement(place, StatementKind::Print(format)));
            values.push(local);
        }
        if list.is_empty() {
            let format = Format { pieces: vec![Piece::Text(format!("[{at}]\n"))], values: vec![] };
            statements.push(self.statement(place, StatementKind::Print(format)));
        }
        let mut values: Vec<ExprId> =
            values.into_iter().map(|local| self.add(place, ExprKind::Local(local))).collect();
        let value = match values.len() {
            0 => None,
            1 if !list.trailing_punct() => values.pop(),
            _ => Some(self.add(place, ExprKind::Tuple(values))),
        };
        self.add(place, ExprKind::Block(Block { statements, value }))
    }

    /// A name for an operand, which the program does not see.
    fn named(&mut self, name: &str, expr: &Expr) -> (LocalId, Statement) {
        let (place, value) = (Place::of_expr(expr), self.given(expr));
        let local = self.local(&Ident::new(name, place.start), false);
        let pattern = Pattern::Local(local);
        let references = self.references_in(value);
        self.refer_like(&pattern, &references);
        (local, self.bound(place, pattern, value))
    }

    fn assertion(&mut self, place: Place, mac: &Macro, kind: AssertKind) -> Option<Statement> {
        if mac.tokens.is_empty() {
            self.errors.push(place, "`assert!` needs a condition", "write `assert!(i < N, \"i is {i}\")`");
            return None;
        }
        let (condition, arguments) = self.parsed(mac, |input| {
            let condition: Expr = input.parse()?;
            Ok((condition, rest(input)?))
        })?;
        let message = match arguments.is_empty() {
            true => Format { pieces: vec![Piece::Text(text(&condition))], values: vec![] },
            false => self.format(&arguments)?,
        };
        let condition = self.expr(&condition);
        Some(self.statement(place, StatementKind::Assert { kind, condition, message }))
    }

    /// `assert_eq!(a, b, "..", ..)`
    fn comparison(&mut self, place: Place, mac: &Macro, kind: AssertKind, op: BinaryOp) -> Vec<Statement> {
        let parts = self.parsed(mac, |input| {
            let left: Expr = input.parse()?;
            input.parse::<Token![,]>()?;
            Ok((left, input.parse::<Expr>()?, rest(input)?))
        });
        let Some((left, right, arguments)) = parts else { return vec![] };
        let ((a, first), (b, second)) = (self.named("left", &left), self.named("right", &right));
        let Some(mut message) = self.format(&arguments) else { return vec![] };
        let own = if arguments.is_empty() { "" } else { ": " };
        append(&mut message, &format!("{own}{} {} {}", text(&left), op.symbol(), text(&right)));
        for (name, local) in [(", left: ", a), (", right: ", b)] {
            append(&mut message, name);
            message.pieces.push(Piece::Value(message.values.len() as u32, DEBUG));
            let value = self.add(place, ExprKind::Local(local));
            message.values.push(value);
        }
        let (left, right) = (self.add(place, ExprKind::Local(a)), self.add(place, ExprKind::Local(b)));
        let condition = self.add(place, ExprKind::Binary(op, left, right));
        vec![first, second, self.statement(place, StatementKind::Assert { kind, condition, message })]
    }

    /// `panic!("..", ..)`; without a message `alone`, and in front of one `before`.
    fn panic(&mut self, place: Place, mac: &Macro, alone: &str, before: &str) -> Vec<Statement> {
        let Some(arguments) = self.parsed(mac, |input| input.parse::<FormatArguments>()) else {
            return vec![];
        };
        let Some(mut message) = self.format(&arguments) else { return vec![] };
        match (arguments.is_empty(), before) {
            (true, _) => append(&mut message, alone),
            (false, "") => {}
            (false, before) => message.pieces.insert(0, Piece::Text(format!("{before}: "))),
        }
        let condition = self.add(place, ExprKind::Bool(false));
        let kind = AssertKind::Panic;
        vec![self.statement(place, StatementKind::Assert { kind, condition, message })]
    }
}

const UNREACHABLE: &str = "internal error: entered unreachable code";

/// `, "..", ..` behind an operand.
fn rest(input: ParseStream<'_>) -> syn::Result<FormatArguments> {
    match input.is_empty() {
        true => Ok(FormatArguments::default()),
        false => {
            input.parse::<Token![,]>()?;
            input.parse()
        }
    }
}
