//! `println!`, and assertions with their messages.
//!
//! Law: what is known at compile time is text; an array, a tuple and a view become their elements. A condition that is known
//! at compile time is no code: a false one is an error. Any other one is a fact to the end of its block, as that of `assume`
//! is, but for `debug_assert!`, which a GPU does not test. Values are evaluated once, in order; those of an
//! assertion's message have no side effect, so that only a thread that fails needs them.

use super::assume::effect;
use super::constant;
use super::datum::StaticValue;
use super::evaluator::{Evaluator, Failed, Outcome};
use super::expression::negated;
use super::tile::TileAccess;
use crate::elem::{Constant, Elem};
use crate::index::Index;
use crate::ir::{AssertKind, ExprId, Format, Piece, Spec, Style};
use crate::launch::MOST_ASSERTED;
use crate::origin::Origin;
use crate::program::message::text;
use crate::program::{Message, MessagePart, StatementKind, Value};
use crate::view::View;

/// The most elements of a view that is printed.
const MOST_ELEMENTS: i64 = 256;

type Parts = Vec<MessagePart<TileAccess>>;

impl Evaluator<'_> {
    /// The text, with its values evaluated.
    pub(super) fn message(&mut self, format: &Format, origin: Origin) -> Outcome<Message<TileAccess>> {
        let values = self.exprs(&format.values)?;
        let mut parts = Parts::new();
        for piece in &format.pieces {
            match piece {
                Piece::Text(own) => append(&mut parts, own),
                Piece::Value(number, spec) => {
                    // The number is in range: `valid.rs`.
                    let (at, value) = match format.values.get(*number as usize) {
                        Some(id) => (self.origin(*id), values.get(*number as usize).cloned()),
                        None => (origin, None),
                    };
                    self.written_out(value.unwrap_or(StaticValue::Unknown), *spec, 0, &mut parts, at)?;
                }
            }
        }
        Ok(Message { parts })
    }

    /// A value as parts of a text, within so many arrays and tuples under `{:#?}`.
    fn written_out(
        &mut self,
        value: StaticValue,
        spec: Spec,
        depth: usize,
        out: &mut Parts,
        origin: Origin,
    ) -> Outcome<()> {
        match value {
            StaticValue::Scalar(value, elem) => self.number_out(value, elem, spec, out, origin),
            StaticValue::Index(index) => {
                let elem = if self.tables.atoms.range(&index).beyond_i64() { Elem::U64 } else { Elem::I64 };
                self.number_out(Value::Index(index, elem), elem, spec, out, origin)
            }
            StaticValue::Bool(value) => {
                self.number_out(Value::Constant(Constant::bool(value)), Elem::Bool, spec, out, origin)
            }
            StaticValue::Float(value) => {
                let constant = Constant { elem: Elem::F64, bits: value.to_bits() };
                self.number_out(Value::Constant(constant), Elem::F64, spec, out, origin)
            }
            StaticValue::Unit => self.list_out(("()", ""), vec![], spec, depth, out, origin),
            StaticValue::Array(parts) => self.list_out(("[", "]"), parts, spec, depth, out, origin),
            StaticValue::Tuple(parts) => self.list_out(("(", ")"), parts, spec, depth, out, origin),
            StaticValue::View(view) => self.view_out(&view, spec, out, origin),
            StaticValue::Borrowed(binding) => {
                let value = self.referent(StaticValue::Borrowed(binding), origin)?;
                self.written_out(value, spec, depth, out, origin)
            }
            StaticValue::Unknown => Err(Failed),
            other @ (StaticValue::Layout(_)
            | StaticValue::Barriers(..)
            | StaticValue::Pipeline(..)
            | StaticValue::Barrier(_)
            | StaticValue::TensorCore(_)
            | StaticValue::Function(..)) => self.fail_help(
                origin,
                format!("{} cannot be printed", other.kind()),
                "print numbers, bools, arrays and tuples of them, and views",
            ),
        }
    }

    fn number_out(
        &mut self,
        value: Value<TileAccess>,
        elem: Elem,
        spec: Spec,
        out: &mut Parts,
        origin: Origin,
    ) -> Outcome<()> {
        if let Some((message, help)) = refused(elem, spec) {
            return self.fail_help(origin, message, help);
        }
        let known = match &value {
            Value::Index(index, elem) => {
                index.as_constant().and_then(|value| Constant::integer(*elem, value.into()))
            }
            value => constant::known(value),
        };
        match known {
            Some(known) => append(out, &text(known, spec)),
            None => out.push(MessagePart::Value(value, elem, spec)),
        }
        Ok(())
    }

    /// `[a, b]`, `(a, b)`; under `{:#?}` a line for each.
    fn list_out(
        &mut self,
        (open, close): (&str, &str),
        parts: Vec<StaticValue>,
        spec: Spec,
        depth: usize,
        out: &mut Parts,
        origin: Origin,
    ) -> Outcome<()> {
        if spec.style != Style::Debug {
            let what = if open == "[" { "an array" } else { "a tuple" };
            return self.fail_help(origin, format!("`{{}}` of {what}"), "write `{:?}`");
        }
        let (lines, last) = (spec.alternate && !parts.is_empty(), parts.len().saturating_sub(1));
        let single = open == "(" && last == 0 && !lines && !parts.is_empty();
        append(out, open);
        for (number, part) in parts.into_iter().enumerate() {
            if lines {
                append(out, &format!("\n{}", "    ".repeat(depth + 1)));
            }
            self.written_out(part, spec, depth + 1, out, origin)?;
            if lines || number < last || single {
                append(out, if lines || single { "," } else { ", " });
            }
        }
        if lines {
            append(out, &format!("\n{}", "    ".repeat(depth)));
        }
        append(out, close);
        Ok(())
    }

    /// A view by its coordinates: the last mode in a line, a line for each row.
    fn view_out(&mut self, view: &View, spec: Spec, out: &mut Parts, origin: Origin) -> Outcome<()> {
        let name = self.tables.place(view.place).name.clone();
        let mut extents = Vec::with_capacity(view.rank());
        for (number, mode) in view.modes.iter().enumerate() {
            let Some(extent) = mode.extent.as_constant() else {
                return self.fail_help(
                    origin,
                    format!("the extent of mode {number} of `{name}` is not known at compile time"),
                    format!("print a tile of it: `{name}.tile([..], [..])`"),
                );
            };
            extents.push(extent.saturating_mul(mode.lanes).max(0));
        }
        let count = extents.iter().fold(1i64, |all, extent| all.saturating_mul(*extent));
        if count > MOST_ELEMENTS {
            return self.fail_help(
                origin,
                format!("{count} elements of `{name}`; at most {MOST_ELEMENTS} are printed at once"),
                format!("print a smaller tile of it: `{name}.tile([..], [..])`"),
            );
        }
        self.rows_out(view, &extents, &mut Vec::new(), spec, out, origin)
    }

    fn rows_out(
        &mut self,
        view: &View,
        extents: &[i64],
        at: &mut Vec<i64>,
        spec: Spec,
        out: &mut Parts,
        origin: Origin,
    ) -> Outcome<()> {
        let Some(extent) = extents.get(at.len()) else {
            let coordinates = at.iter().map(|at| StaticValue::Index(Index::constant(*at))).collect();
            let (access, elem) = self.place(StaticValue::View(view.clone()), (&[], coordinates), origin)?;
            let element = self.load_of(access, elem, origin)?;
            return self.written_out(element, spec, 0, out, origin);
        };
        append(out, "[");
        for i in 0..*extent {
            let inner = extents.len() - at.len() - 1;
            match (i, inner) {
                (0, _) => {}
                (_, 0) => append(out, ", "),
                // Of matrices an empty line, as in numpy.
                (_, inner) => append(out, &format!(",{}{}", "\n".repeat(inner), " ".repeat(at.len() + 1))),
            }
            at.push(i);
            self.rows_out(view, extents, at, spec, out, origin)?;
            at.pop();
        }
        append(out, "]");
        Ok(())
    }

    pub(super) fn asserted(
        &mut self,
        kind: AssertKind,
        condition: ExprId,
        format: &Format,
        origin: Origin,
    ) -> Outcome<()> {
        let condition = match kind {
            AssertKind::Panic => Err(Value::Constant(Constant::bool(false))),
            AssertKind::Debug => {
                let (made, condition) = self.nested(|this| this.condition(condition));
                self.without_effect("the condition of `debug_assert!`", &made, origin)?;
                self.out.extend(made);
                condition?
            }
            AssertKind::Always => self.condition(condition)?,
        };
        match condition {
            Ok(true) => Ok(()),
            Ok(false) => {
                let message = self.nested(|this| this.message(format, origin)).1?;
                let known = message.parts.iter().map(|part| match part {
                    MessagePart::Text(text) => text.as_str(),
                    MessagePart::Value(..) => "_",
                });
                let known: String = known.collect();
                let set = self.params.key();
                let set = if set.is_empty() { set } else { format!(" for {set}") };
                self.fail(origin, format!("assertion failed{set}: {known}"))
            }
            Err(condition) if kind == AssertKind::Always && self.ask_condition(&condition) => Err(Failed),
            Err(condition) => {
                let fails = match kind {
                    AssertKind::Panic => Value::Constant(Constant::bool(true)),
                    AssertKind::Always | AssertKind::Debug => negated(condition.clone()),
                };
                let (made, message) =
                    self.under(&fails, true, |this| this.nested(|this| this.message(format, origin)));
                self.without_effect("the message of an assertion", &made, origin)?;
                self.out.extend(made);
                let debug = kind == AssertKind::Debug;
                let message = message?;
                let count = message.values().count();
                if count > MOST_ASSERTED {
                    return self.fail_help(
                        origin,
                        format!(
                            "{count} values in the message of an assertion; at most {MOST_ASSERTED} are kept"
                        ),
                        "print the view by `println!` under an `if` before it",
                    );
                }
                self.push(origin, StatementKind::Assert { fails, message, debug });
                if !debug {
                    self.rely_on(&condition, origin);
                }
                Ok(())
            }
        }
    }

    fn without_effect(
        &mut self,
        what: &str,
        made: &[super::evaluator::TileStatement],
        origin: Origin,
    ) -> Outcome<()> {
        match effect(made, &mut Vec::new(), false) {
            Some(effect) => self.fail_help(
                origin,
                format!("{what} {effect}, and may be left out"),
                "do that in a `let` before it",
            ),
            None => Ok(()),
        }
    }
}

/// Adds text behind text.
fn append(out: &mut Parts, text: &str) {
    match out.last_mut() {
        Some(MessagePart::Text(last)) => last.push_str(text),
        _ => out.push(MessagePart::Text(text.to_owned())),
    }
}

/// What Rust, or `printf`, does not have for a type.
fn refused(elem: Elem, spec: Spec) -> Option<(String, &'static str)> {
    let letter = match spec.style {
        Style::Display | Style::Debug => "",
        Style::LowerHex => "x",
        Style::UpperHex => "X",
        Style::Octal => "o",
        Style::LowerExp => "e",
        Style::UpperExp => "E",
    };
    match spec.style {
        Style::LowerHex | Style::UpperHex | Style::Octal if !elem.is_integer() => {
            let help = if elem.is_float() { "print its bits: `x.to_bits()`" } else { "write `{}`" };
            Some((format!("`{{:{letter}}}` of a value of type {elem}"), help))
        }
        Style::LowerExp | Style::UpperExp if !elem.is_float() => {
            Some((format!("`{{:{letter}}}` of a value of type {elem}"), "convert it first: `x as f32`"))
        }
        Style::LowerHex | Style::UpperHex | Style::Octal
            if spec.alternate && spec.width.is_some() && !spec.zero =>
        {
            let message =
                format!("`#` with a width of spaces, `{{:#8{letter}}}`, which `printf` does not have");
            Some((message, "fill with zeros, `{:#010x}`, or write the prefix yourself: `0x{:x}`"))
        }
        _ if spec.sign && spec.width.is_some() && elem.is_integer() && !elem.is_signed() => {
            let message = format!("`+` with a width of a value of type {elem}, which `printf` does not have");
            Some((message, "write the sign yourself: `+{}`"))
        }
        _ => None,
    }
}
