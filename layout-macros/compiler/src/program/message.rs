//! Formatted text: its parts, and the text of a value as Rust writes it.
//!
//! Law: for every element type and every [`Spec`] the text of a value is that of Rust's `format!`; an `f16` is written as the
//! `f32` that it equals, and so are the other small floats.

use super::Value;
use crate::elem::{Constant, Elem, Format};
use crate::ir::{Align, Spec, Style};
use crate::small_float::decode;
use std::fmt::{Debug, Display, LowerExp, UpperExp};

/// What `println!` prints, or an assertion reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Message<A> {
    /// In order.
    pub parts: Vec<MessagePart<A>>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum MessagePart<A> {
    /// As it is.
    Text(String),
    /// A value of this type.
    Value(Value<A>, Elem, Spec),
}

impl<A> Message<A> {
    /// The values, in order.
    pub fn values(&self) -> impl Iterator<Item = &Value<A>> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Text(_) => None,
            MessagePart::Value(value, ..) => Some(value),
        })
    }

    /// The text for these values: `bits` gives those of each in order, of a narrow type in the lowest ones.
    pub fn text(&self, mut bits: impl FnMut() -> u64) -> String {
        let one = |part: &MessagePart<A>| match part {
            MessagePart::Text(text) => text.clone(),
            MessagePart::Value(_, elem, spec) => {
                let own = u64::MAX >> (64 - elem.bits().clamp(1, 64));
                text(Constant { elem: *elem, bits: bits() & own }, *spec)
            }
        };
        self.parts.iter().map(one).collect()
    }
}

/// The text of a value.
pub fn text(value: Constant, spec: Spec) -> String {
    let elem = value.elem;
    let plain = match elem.format() {
        Format::Float if elem == Elem::F64 => float(f64::from_bits(value.bits), spec),
        Format::Float => float(f32::from_bits(value.bits as u32), spec),
        Format::SmallFloat(_) => float(decode(value.bits as u32, elem), spec),
        Format::Signed | Format::Unsigned => integer(value, spec),
        Format::Truth => {
            let text = if value.bits == 0 { "false" } else { "true" };
            text.chars().take(spec.precision.unwrap_or(u32::MAX) as usize).collect()
        }
    };
    padded(plain, spec, elem != Elem::Bool)
}

fn float<T: Display + Debug + LowerExp + UpperExp>(value: T, spec: Spec) -> String {
    use Style::{Debug, LowerExp, UpperExp};
    match (spec.style, spec.precision.map(|digits| digits as usize), spec.sign) {
        (Debug, None, false) => format!("{value:?}"),
        (Debug, None, true) => format!("{value:+?}"),
        (Debug, Some(p), false) => format!("{value:.p$?}"),
        (Debug, Some(p), true) => format!("{value:+.p$?}"),
        (LowerExp, None, false) => format!("{value:e}"),
        (LowerExp, None, true) => format!("{value:+e}"),
        (LowerExp, Some(p), false) => format!("{value:.p$e}"),
        (LowerExp, Some(p), true) => format!("{value:+.p$e}"),
        (UpperExp, None, false) => format!("{value:E}"),
        (UpperExp, None, true) => format!("{value:+E}"),
        (UpperExp, Some(p), false) => format!("{value:.p$E}"),
        (UpperExp, Some(p), true) => format!("{value:+.p$E}"),
        (_, None, false) => format!("{value}"),
        (_, None, true) => format!("{value:+}"),
        (_, Some(p), false) => format!("{value:.p$}"),
        (_, Some(p), true) => format!("{value:+.p$}"),
    }
}

fn integer(value: Constant, spec: Spec) -> String {
    // Of a negative number the bits, as many as its type has.
    let bits = value.bits & u64::MAX >> (64 - value.elem.bits().clamp(1, 64));
    let sign = if spec.sign { "+" } else { "" };
    match (spec.style, spec.alternate) {
        (Style::LowerHex, false) => format!("{sign}{bits:x}"),
        (Style::LowerHex, true) => format!("{sign}{bits:#x}"),
        (Style::UpperHex, false) => format!("{sign}{bits:X}"),
        (Style::UpperHex, true) => format!("{sign}{bits:#X}"),
        (Style::Octal, false) => format!("{sign}{bits:o}"),
        (Style::Octal, true) => format!("{sign}{bits:#o}"),
        _ if spec.sign => format!("{:+}", value.as_i128()),
        _ => value.as_i128().to_string(),
    }
}

fn padded(plain: String, spec: Spec, number: bool) -> String {
    let missing = (spec.width.unwrap_or(0) as usize).saturating_sub(plain.chars().count());
    if spec.zero && number {
        let sign = usize::from(plain.starts_with(['+', '-']));
        let prefix = if plain[sign..].starts_with("0x") || plain[sign..].starts_with("0o") { 2 } else { 0 };
        let (head, digits) = plain.split_at(sign + prefix);
        return format!("{head}{}{digits}", "0".repeat(missing));
    }
    let left = match spec.align {
        Align::Usual => !number,
        Align::Left => true,
        Align::Right => false,
    };
    let spaces = " ".repeat(missing);
    if left { plain + &spaces } else { spaces + &plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row for each form: the specification and Rust's own text.
    macro_rules! rows {
        ($value:expr; $($form:literal => { $($field:ident: $of:expr),* },)*) => {
            vec![$((Spec { $($field: $of,)* ..Spec::default() }, format!($form, $value))),*]
        };
    }

    #[test]
    fn texts_are_those_of_rust() {
        use Style::{Debug, LowerExp, LowerHex, Octal, UpperExp, UpperHex};
        let w = Some(9);
        for value in
            [0.0f32, -0.0, 1.0, -2.5, 0.1, 1e20, 3.4e38, 1e-40, f32::NAN, f32::INFINITY, -f32::INFINITY]
        {
            let rows = rows!(value;
                "{}" => {}, "{:+}" => { sign: true }, "{:?}" => { style: Debug }, "{:+?}" => { style: Debug, sign: true },
                "{:.3}" => { precision: Some(3) }, "{:+.0}" => { precision: Some(0), sign: true },
                "{:.2?}" => { style: Debug, precision: Some(2) }, "{:e}" => { style: LowerExp },
                "{:.1e}" => { style: LowerExp, precision: Some(1) }, "{:E}" => { style: UpperExp },
                "{:9}" => { width: w }, "{:<9}" => { width: w, align: Align::Left },
                "{:>9}" => { width: w, align: Align::Right }, "{:09}" => { width: w, zero: true },
                "{:<09}" => { width: w, zero: true, align: Align::Left },
                "{:+09.2}" => { width: w, zero: true, sign: true, precision: Some(2) },
            );
            for (spec, expected) in rows {
                let constant = Constant { elem: Elem::F32, bits: u64::from(value.to_bits()) };
                assert_eq!(text(constant, spec), expected, "{value} {spec:?}");
            }
        }
        for value in [0i16, 7, -1, i16::MIN, i16::MAX] {
            let rows = rows!(value;
                "{}" => {}, "{:+}" => { sign: true }, "{:?}" => { style: Debug }, "{:.3}" => { precision: Some(3) },
                "{:x}" => { style: LowerHex }, "{:#x}" => { style: LowerHex, alternate: true },
                "{:X}" => { style: UpperHex }, "{:#X}" => { style: UpperHex, alternate: true },
                "{:o}" => { style: Octal }, "{:#o}" => { style: Octal, alternate: true },
                "{:09}" => { width: w, zero: true }, "{:+09}" => { width: w, zero: true, sign: true },
                "{:#09x}" => { width: w, zero: true, alternate: true, style: LowerHex },
                "{:<9x}" => { width: w, align: Align::Left, style: LowerHex }, "{:9}" => { width: w },
            );
            for (spec, expected) in rows {
                let constant = Constant { elem: Elem::I16, bits: u64::from(value as u16) };
                assert_eq!(text(constant, spec), expected, "{value} {spec:?}");
            }
        }
        for value in [false, true] {
            let rows = rows!(value;
                "{}" => {}, "{:?}" => { style: Debug }, "{:9}" => { width: w }, "{:>9}" => { width: w, align: Align::Right },
                "{:.2}" => { precision: Some(2) }, "{:09}" => { width: w, zero: true },
            );
            for (spec, expected) in rows {
                assert_eq!(text(Constant::bool(value), spec), expected, "{value} {spec:?}");
            }
        }
        let others = [
            (Constant { elem: Elem::F64, bits: 0.1f64.to_bits() }, "0.1"),
            (Constant { elem: Elem::F16, bits: 0x2e66 }, "0.099975586"),
            (Constant { elem: Elem::U64, bits: u64::MAX }, "18446744073709551615"),
            (Constant { elem: Elem::I64, bits: u64::MAX }, "-1"),
            (Constant { elem: Elem::U8, bits: 200 }, "200"),
        ];
        for (value, expected) in others {
            assert_eq!(text(value, Spec::default()), expected);
        }
    }
}
