//! Format strings: `println!("{name:>8.3} {}", x)`, in the grammar of `std::fmt`.
//!
//! Law: each value that is written is used, and each piece names a value; a name that is no value of the macro is one in
//! scope. What `printf` does not have is refused: a fill, a centred value, binary digits, a width that is a value.

use super::Lowering;
use crate::span::Place;
use layout_compiler::ir::{Align, ExprId, Format, Piece, Spec, Style};
use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, LitStr, Token};

/// The most characters of a width, and digits of a precision.
const MOST: u32 = 500;

/// `"..", a, name = b`; nothing at all for `println!()`.
#[derive(Default)]
pub(super) struct FormatArguments {
    text: Option<LitStr>,
    values: Vec<(Option<Ident>, Expr)>,
}

impl Parse for FormatArguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<FormatArguments> {
        let mut out = FormatArguments::default();
        if input.is_empty() {
            return Ok(out);
        }
        if !input.peek(LitStr) {
            let found: Expr = input.parse()?;
            return Err(syn::Error::new_spanned(found, "a format string is a literal"));
        }
        out.text = Some(input.parse()?);
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let mut name = None;
            if input.peek(Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
                name = Some(input.call(Ident::parse_any)?);
                input.parse::<Token![=]>()?;
            }
            out.values.push((name, input.parse()?));
        }
        Ok(out)
    }
}

impl FormatArguments {
    /// Whether there is no format string.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_none()
    }
}

/// What is wrong with a format string, and the way out.
type Wrong = (String, String);

/// Which value a piece names.
enum Named<'t> {
    Next,
    Number(usize),
    Name(&'t str),
}

/// A part of a format string before its values are found.
enum Part<'t> {
    Text(String),
    Value(Named<'t>, Spec),
}

impl Lowering<'_> {
    /// The format; `None` where an error is reported.
    pub(super) fn format(&mut self, arguments: &FormatArguments) -> Option<Format> {
        let mut format = Format::default();
        let Some(literal) = &arguments.text else { return Some(format) };
        let (text, place) = (literal.value(), Place::token(literal.span()));
        let percent = text.contains('%');
        let parts = match parts(&text) {
            Ok(parts) => parts,
            Err((message, help)) => {
                self.errors.push(place, message, help);
                return None;
            }
        };
        let before = self.errors.len();
        for (_, value) in &arguments.values {
            let id = self.printable(value);
            format.values.push(id);
        }
        let mut used = vec![false; arguments.values.len()];
        let (mut next, mut captured): (usize, Vec<&str>) = (0, vec![]);
        for part in parts {
            let (named, spec) = match part {
                Part::Text(text) => {
                    format.pieces.push(Piece::Text(text));
                    continue;
                }
                Part::Value(named, spec) => (named, spec),
            };
            let own = |name: &str| {
                let names =
                    |(own, _): &(Option<Ident>, Expr)| own.as_ref().is_some_and(|own| own.unraw() == name);
                arguments.values.iter().position(names)
            };
            let number = match named {
                Named::Next => {
                    next += 1;
                    next - 1
                }
                Named::Number(number) => number,
                Named::Name(name) => match (own(name), captured.iter().position(|known| *known == name)) {
                    (Some(own), _) => own,
                    (None, Some(known)) => arguments.values.len() + known,
                    (None, None) => {
                        let ident = Ident::new(name, literal.span());
                        let id = self.printable(&syn::parse_quote!(#ident));
                        captured.push(name);
                        format.values.push(id);
                        format.values.len() - 1
                    }
                },
            };
            if number >= arguments.values.len() && !matches!(named, Named::Name(_)) {
                let given = arguments.values.len();
                self.errors.push(
                    place,
                    format!("`{{{number}}}` of the format string has no value; values given: {given}"),
                    "write a value for each `{}` behind the format string, or its name inside: `{x}`",
                );
                return None;
            }
            if let Some(used) = used.get_mut(number) {
                *used = true;
            }
            format.pieces.push(Piece::Value(number as u32, spec));
        }
        for ((name, value), _) in arguments.values.iter().zip(&used).filter(|(_, used)| !**used) {
            if percent {
                self.errors.push(
                    Place::of_expr(value),
                    "no `{}` of the format string names this value",
                    "a value's place is `{}`, not `%d` or `%f`",
                );
                continue;
            }
            let place = name.as_ref().map_or(Place::of_expr(value), |name| Place::token(name.span()));
            self.errors.push(
                place,
                "no `{}` of the format string names this value",
                "leave it out, or write `{}` for it",
            );
        }
        (self.errors.len() == before).then_some(format)
    }

    /// A value to print.
    fn printable(&mut self, value: &Expr) -> ExprId {
        let id = self.expr(value);
        if self.struct_of(id).is_some() {
            self.errors.push(
                Place::of_expr(value),
                "a struct cannot be printed",
                "print its fields: `{} {}`, s.x, s.y",
            );
        }
        id
    }
}

/// Adds text behind a format.
pub(super) fn append(format: &mut Format, text: &str) {
    match format.pieces.last_mut() {
        Some(Piece::Text(last)) => last.push_str(text),
        _ => format.pieces.push(Piece::Text(text.to_owned())),
    }
}

/// The parts of a format string.
fn parts(text: &str) -> Result<Vec<Part<'_>>, Wrong> {
    let (mut out, mut plain, mut rest) = (vec![], String::new(), text);
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        if from.starts_with("{{") || from.starts_with("}}") {
            plain.push_str(&from[..1]);
            rest = &from[2..];
            continue;
        }
        let end = from.find('}').filter(|_| from.starts_with('{'));
        let Some(end) = end else {
            let brace = &from[..1];
            return Err((
                format!("a `{brace}` without its other brace in a format string"),
                format!("write `{brace}{brace}` for the character `{brace}`"),
            ));
        };
        if !plain.is_empty() {
            out.push(Part::Text(std::mem::take(&mut plain)));
        }
        out.push(value(&from[1..end])?);
        rest = &from[end + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        out.push(Part::Text(plain));
    }
    Ok(out)
}

/// What is between braces.
fn value(inner: &str) -> Result<Part<'_>, Wrong> {
    let (name, spec) = inner.split_once(':').unwrap_or((inner, ""));
    let name = name.trim();
    let named = if name.is_empty() {
        Named::Next
    } else if let Ok(number) = name.parse() {
        Named::Number(number)
    } else if syn::parse_str::<Ident>(name).is_ok() {
        Named::Name(name)
    } else {
        return Err((
            format!("`{{{name}}}` is no name and no number"),
            "write the expression behind the format string: `\"{}\", a + b`".to_owned(),
        ));
    };
    Ok(Part::Value(named, specification(spec.trim_end())?))
}

/// What is behind the colon.
fn specification(text: &str) -> Result<Spec, Wrong> {
    let wrong = |what: &str, help: &str| Err((format!("{what} in `{{:{text}}}`"), help.to_owned()));
    let (mut spec, mut rest) = (Spec::default(), text);
    let mut letters = rest.chars();
    let (first, second) = (letters.next(), letters.next());
    if second.is_some_and(|second| "<^>".contains(second)) && first != Some(' ') {
        return wrong("a fill", "fill with spaces, `{:>8}`, or with zeros: `{:08}`");
    }
    rest = rest.strip_prefix(' ').filter(|rest| rest.starts_with(['<', '^', '>'])).unwrap_or(rest);
    for (sign, align) in [('<', Align::Left), ('>', Align::Right)] {
        if let Some(behind) = rest.strip_prefix(sign) {
            (spec.align, rest) = (align, behind);
            break;
        }
    }
    if rest.starts_with('^') {
        return wrong("a centred value", "write `{:<8}` or `{:>8}`");
    }
    (spec.sign, rest) = flag(rest, '+');
    rest = flag(rest, '-').1;
    (spec.alternate, rest) = flag(rest, '#');
    (spec.zero, rest) = match rest.starts_with("0$") {
        true => (false, rest),
        false => flag(rest, '0'),
    };
    let literal = "write the width and the precision as numbers: `{:8.3}`";
    (spec.width, rest) = number(rest);
    if let Some(behind) = rest.strip_prefix('.') {
        (spec.precision, rest) = number(behind);
        if spec.precision.is_none() || rest.starts_with('$') {
            return wrong("a precision that is a value", literal);
        }
    }
    spec.style = match rest {
        "" => Style::Display,
        "?" => Style::Debug,
        "x" => Style::LowerHex,
        "X" => Style::UpperHex,
        "o" => Style::Octal,
        "e" => Style::LowerExp,
        "E" => Style::UpperExp,
        "b" => {
            return wrong("binary digits, which `printf` does not have,", "write hexadecimal ones: `{:x}`");
        }
        "p" => return wrong("an address", "print the indices of the element: a view has no address"),
        "x?" | "X?" => return wrong("hexadecimal `Debug`", "write `{:x}` for each number"),
        _ if rest.contains('$') => return wrong("a width that is a value", literal),
        _ => {
            let help =
                "the forms are `{}`, `{:?}`, `{:x}`, `{:X}`, `{:o}`, `{:e}`, `{:E}`, each as `{:+#08.3e}`";
            return wrong(&format!("`{rest}`, which is no form of a value,"), help);
        }
    };
    match [spec.width, spec.precision].into_iter().flatten().find(|number| *number > MOST) {
        Some(number) => {
            wrong(&format!("{number} characters, of which at most {MOST} are padded,"), "write fewer")
        }
        None => Ok(spec),
    }
}

fn flag(text: &str, sign: char) -> (bool, &str) {
    text.strip_prefix(sign).map_or((false, text), |rest| (true, rest))
}

/// The number in front, saturated.
fn number(text: &str) -> (Option<u32>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    ((!digits.is_empty()).then(|| digits.parse().unwrap_or(u32::MAX)), rest)
}

/// A place: `src/main.rs:7`, and `line 7` of a text without a file.
pub(super) fn located(span: Span) -> String {
    let (file, line) = (span.file(), span.start().line);
    if file.starts_with('<') { format!("line {line}") } else { format!("{file}:{line}") }
}
