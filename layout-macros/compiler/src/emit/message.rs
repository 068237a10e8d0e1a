//! `printf`, and assertions.
//!
//! Law: a text that `printf` writes has Rust's characters, but for floats without a precision: those have as many digits as
//! give the value back (`%.9g` of an `f32`), exponents are as C writes them, and NaN is `nan`. A call has at most 32
//! values, so a longer text is several calls, between which other threads may print.

use super::cuda_c::Emitter;
use super::expression::Expression;
use super::wrap;
use crate::elem::{Elem, Format};
use crate::ir::{Align, Spec, Style};
use crate::program::{Access, Message, MessagePart, Value};

/// The most values of one `printf`.
const MOST_VALUES: usize = 32;

impl Emitter<'_> {
    pub(super) fn print(&mut self, message: &Message<Access>) {
        let (mut text, mut arguments) = (String::new(), Vec::new());
        for part in &message.parts {
            match part {
                MessagePart::Text(own) => text.push_str(&escaped(&own.replace('%', "%%"))),
                MessagePart::Value(value, elem, spec) => {
                    if arguments.len() == MOST_VALUES {
                        self.printf(&std::mem::take(&mut text), std::mem::take(&mut arguments));
                    }
                    text.push_str(&directive(*elem, *spec));
                    arguments.push(self.printed(value, *elem, *spec));
                }
            }
        }
        if !text.is_empty() {
            self.printf(&text, arguments);
        }
    }

    fn printf(&mut self, text: &str, mut arguments: Vec<Expression>) {
        arguments.insert(0, Expression::leaf(format!("\"{text}\"")));
        self.wrapped(|room| wrap::call("printf", &arguments, room));
    }

    /// A value as `printf` takes it.
    fn printed(&mut self, value: &Value<Access>, elem: Elem, spec: Spec) -> Expression {
        let bits = matches!(spec.style, Style::LowerHex | Style::UpperHex | Style::Octal);
        let to = match elem.format() {
            Format::SmallFloat(_) => Elem::F32,
            // Of a negative number as many bits as its type has.
            Format::Signed if bits => elem.unsigned(),
            _ => elem,
        };
        let value = self.converted_to(value, to);
        match elem {
            Elem::Bool => {
                Expression::conditional(value, Expression::leaf("\"true\""), Expression::leaf("\"false\""))
            }
            _ => value,
        }
    }

    /// `if (fails) { assertion_failed(..); }`
    pub(super) fn assertion(&mut self, fails: &Value<Access>, message: &Message<Access>) {
        let always = matches!(fails, Value::Constant(constant) if constant.bits != 0);
        if !always {
            let fails = self.value(fails);
            self.open("if", &fails);
            self.writer.indent();
        }
        let record = self.name(super::names::Name::Failure);
        let mut arguments = vec![record, Expression::leaf(self.assertions.to_string())];
        self.assertions += 1;
        for part in &message.parts {
            if let MessagePart::Value(value, elem, _) = part {
                let value = self.converted_to(value, *elem);
                arguments.push(match elem {
                    Elem::F32 => Expression::call("__float_as_uint", vec![value]),
                    Elem::F64 => Expression::call("__double_as_longlong", vec![value]),
                    _ => value,
                });
            }
        }
        self.device.call("assertion_failed(");
        self.wrapped(|room| wrap::call("assertion_failed", &arguments, room));
        if !always {
            self.writer.dedent();
            self.line("}");
        }
    }
}

/// The directive of `printf` for a value.
fn directive(elem: Elem, spec: Spec) -> String {
    let number = elem != Elem::Bool;
    let (float, long) = (elem.is_float(), !elem.is_float() && elem.bits() == 64);
    let zero = spec.zero && number;
    let left = match spec.align {
        Align::Usual => !number,
        Align::Left => !zero,
        Align::Right => false,
    };
    let (mut head, mut flags, mut width) = (String::new(), String::new(), spec.width);
    let letter = match (spec.style, elem.format()) {
        (_, Format::Truth) => "s",
        (Style::LowerHex, _) => "x",
        (Style::UpperHex, _) => "X",
        (Style::Octal, _) => "o",
        (Style::LowerExp, _) => "e",
        (Style::UpperExp, _) => "E",
        (_, Format::Signed) => "d",
        (_, Format::Unsigned) => "u",
        (_, Format::Float | Format::SmallFloat(_)) if spec.precision.is_some() => "f",
        (_, Format::Float | Format::SmallFloat(_)) => "g",
    };
    let bits = matches!(letter, "x" | "X" | "o");
    if spec.sign && number {
        // `printf` has no sign of what is unsigned.
        if bits || letter == "u" { head.push('+') } else { flags.push('+') }
    }
    if spec.alternate && bits {
        head.push_str(if letter == "o" { "0o" } else { "0x" });
    }
    if !head.is_empty() {
        width = width.map(|width| width.saturating_sub(head.len() as u32));
    }
    if left && width.is_some() {
        flags.push('-');
    }
    if zero && width.is_some_and(|width| width > 0) {
        flags.push('0');
    }
    let precision = match spec.precision {
        Some(digits) if float || !number => format!(".{digits}"),
        // As many digits as give the value back.
        None if float => {
            let digits = match (elem, letter) {
                (Elem::F64, "g") => 17,
                (Elem::F64, _) => 16,
                (_, "g") => 9,
                _ => 8,
            };
            format!(".{digits}")
        }
        _ => String::new(),
    };
    let width = width.filter(|width| *width > 0).map_or(String::new(), |width| width.to_string());
    let long = if long { "ll" } else { "" };
    format!("{head}%{flags}{width}{precision}{long}{letter}")
}

/// A text within a literal of C.
fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'\n' => "\\n".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'"' => "\\\"".to_owned(),
        b'\\' => "\\\\".to_owned(),
        // `??=` would be another character in older C.
        b' '..=b'~' if byte != b'?' => char::from(byte).to_string(),
        byte => format!("\\{byte:03o}"),
    };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_those_of_printf() {
        let plain = Spec::default();
        let hex = Spec { style: Style::LowerHex, ..plain };
        let rows = [
            (Elem::I8, plain, "%d"),
            (Elem::U16, plain, "%u"),
            (Elem::I64, plain, "%lld"),
            (Elem::U64, hex, "%llx"),
            (Elem::F32, plain, "%.9g"),
            (Elem::Bf16, plain, "%.9g"),
            (Elem::F64, plain, "%.17g"),
            (Elem::F64, Spec { precision: Some(3), width: Some(8), ..plain }, "%8.3f"),
            (Elem::F32, Spec { style: Style::LowerExp, ..plain }, "%.8e"),
            (
                Elem::F32,
                Spec { sign: true, zero: true, width: Some(9), precision: Some(1), ..plain },
                "%+09.1f",
            ),
            (Elem::I32, Spec { align: Align::Left, width: Some(5), precision: Some(2), ..plain }, "%-5d"),
            (Elem::I32, Spec { align: Align::Left, width: Some(5), zero: true, ..plain }, "%05d"),
            (Elem::U32, Spec { sign: true, ..plain }, "+%u"),
            (Elem::U32, Spec { alternate: true, ..hex }, "0x%x"),
            (Elem::U32, Spec { alternate: true, zero: true, width: Some(10), ..hex }, "0x%08x"),
            (Elem::U32, Spec { alternate: true, style: Style::Octal, ..plain }, "0o%o"),
            (Elem::Bool, Spec { width: Some(6), ..plain }, "%-6s"),
            (Elem::Bool, Spec { width: Some(6), zero: true, align: Align::Right, ..plain }, "%6s"),
        ];
        for (elem, spec, text) in rows {
            assert_eq!(directive(elem, spec), text, "{elem} {spec:?}");
        }
    }

    #[test]
    fn a_text_is_a_literal() {
        assert_eq!(escaped("a\"b\\c\n?µ"), "a\\\"b\\\\c\\n\\077\\302\\265");
    }
}
