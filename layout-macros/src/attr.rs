//! The attribute: `#[tiled_kernel(BM = 64, block = [BM], require(K % 8 == 0))]`.
//!
//! Upper-case names bind parameters, lower-case names are the language's own. Entries are parsed one by one, so that a
//! wrong one hides no other.

use crate::place::Place;
use crate::report::Errors;
use layout_core::kernel::{Elem, ParamValue};
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, Lit, Token, UnOp};

/// The lower-case entries, for messages.
const KEYS: &str = "`block`, `grid`, `cluster`, `arch`, `min_blocks`, `opt_level`, `fast_math`, `require(..)` and `variant_if(..)`";

/// `NAME = value` or `NAME = [v, ..]`.
pub struct Bound {
    /// The name.
    pub name: Ident,
    /// Its values, at least one, all of one kind.
    pub values: Vec<ParamValue>,
}

/// The entries of the attribute; expressions are not yet resolved.
#[derive(Default)]
pub struct Attribute {
    /// The parameters, in order.
    pub parameters: Vec<Bound>,
    /// `block = [..]`
    pub block: Option<(Ident, Vec<Expr>)>,
    /// `grid = [..]`
    pub grid: Option<(Ident, Vec<Expr>)>,
    /// `cluster = [..]`
    pub cluster: Option<(Ident, Vec<Expr>)>,
    /// `arch = ".."`
    pub arch: Option<(Ident, String)>,
    /// `min_blocks = n`
    pub min_blocks: Option<(Ident, Expr)>,
    /// `opt_level = n`
    pub opt_level: Option<(Ident, Expr)>,
    /// `fast_math = true`
    pub fast_math: Option<(Ident, Expr)>,
    /// Every condition of every `require`.
    pub require: Vec<Expr>,
    /// The conditions of each `variant_if`.
    pub variant_if: Vec<Vec<Expr>>,
}

/// Parses the attribute's tokens.
pub fn parse(tokens: TokenStream, errors: &mut Errors) -> Attribute {
    let mut attribute = Attribute::default();
    for entry in split(tokens) {
        if let Err(error) = self::entry(&mut attribute, entry, errors) {
            errors.syntax(&error);
        }
    }
    attribute
}

/// The tokens between commas of the outermost level.
fn split(tokens: TokenStream) -> Vec<TokenStream> {
    let mut entries = vec![];
    let mut entry: Vec<TokenTree> = vec![];
    for tree in tokens {
        match &tree {
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                entries.push(std::mem::take(&mut entry).into_iter().collect());
            }
            _ => entry.push(tree),
        }
    }
    if !entry.is_empty() {
        entries.push(entry.into_iter().collect());
    }
    entries
}

fn entry(attribute: &mut Attribute, tokens: TokenStream, errors: &mut Errors) -> syn::Result<()> {
    let parser = |input: ParseStream| -> syn::Result<(Ident, Option<Vec<Expr>>, Option<Expr>)> {
        let name: Ident = input.parse()?;
        if input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            let conditions = Punctuated::<Expr, Token![,]>::parse_terminated(&content)?;
            return Ok((name, Some(conditions.into_iter().collect()), None));
        }
        if input.is_empty() {
            return Ok((name, None, None));
        }
        input.parse::<Token![=]>()?;
        Ok((name, None, Some(input.parse()?)))
    };
    let (name, conditions, value) = parser.parse2(tokens)?;
    match (name.to_string().as_str(), conditions, value) {
        ("require", Some(conditions), _) => attribute.require.extend(conditions),
        ("variant_if", Some(conditions), _) => attribute.variant_if.push(conditions),
        ("require" | "variant_if", None, _) => errors.push(
            Place::token(name.span()),
            format!("`{name}` is not a value"),
            format!("write `{name}(K % 8 == 0)`"),
        ),
        ("block", _, Some(value)) => axes(&mut attribute.block, name, value, errors),
        ("grid", _, Some(value)) => axes(&mut attribute.grid, name, value, errors),
        ("cluster", _, Some(value)) => axes(&mut attribute.cluster, name, value, errors),
        ("min_blocks", _, Some(value)) => once(&mut attribute.min_blocks, name, value, errors),
        ("opt_level", _, Some(value)) => once(&mut attribute.opt_level, name, value, errors),
        ("fast_math", _, Some(value)) => once(&mut attribute.fast_math, name, value, errors),
        ("arch", _, Some(value)) => match ungroup(&value) {
            Expr::Lit(literal) if matches!(&literal.lit, Lit::Str(text) if is_architecture(&text.value())) => {
                if let Lit::Str(text) = &literal.lit {
                    once(&mut attribute.arch, name, text.value(), errors);
                }
            }
            other => errors.push(
                Place::of_expr(other),
                "an architecture is a string such as \"sm_80\" or \"sm_90a\"",
                "write `arch = \"sm_90a\"`, or leave it out for every architecture",
            ),
        },
        (text, _, Some(value)) if is_parameter(text) => parameter(attribute, name, &value, errors),
        (text, _, _) if is_parameter(text) => errors.push(
            Place::token(name.span()),
            format!("parameter `{name}` has no value"),
            format!("write `{name} = 64`, or `{name} = [32, 64]` for a variant of each"),
        ),
        ("block" | "grid" | "cluster" | "min_blocks" | "opt_level" | "fast_math" | "arch", ..) => errors
            .push(
                Place::token(name.span()),
                format!("`{name}` has no value"),
                format!("write `{name} = ..`"),
            ),
        _ => errors.push(
            Place::token(name.span()),
            format!("unknown entry `{name}`"),
            format!("the entries are {KEYS}; parameters are upper-case: `BM = 64`"),
        ),
    }
    Ok(())
}

fn is_parameter(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_uppercase)
}

/// `sm_` and digits, perhaps with the letter of an architecture's own features.
fn is_architecture(text: &str) -> bool {
    text.strip_prefix("sm_").is_some_and(|number| {
        let digits = number.trim_end_matches(['a', 'f']);
        digits.len() >= 2 && number.len() <= digits.len() + 1 && digits.bytes().all(|c| c.is_ascii_digit())
    })
}

fn once<T>(slot: &mut Option<(Ident, T)>, name: Ident, value: T, errors: &mut Errors) {
    if slot.is_some() {
        errors.push(
            Place::token(name.span()),
            format!("`{name}` is given twice"),
            format!("leave one `{name}` out"),
        );
    } else {
        *slot = Some((name, value));
    }
}

fn axes(slot: &mut Option<(Ident, Vec<Expr>)>, name: Ident, value: Expr, errors: &mut Errors) {
    let place = Place::of_expr(&value);
    let axes: Vec<Expr> = match ungroup(&value) {
        Expr::Array(array) => array.elems.iter().cloned().collect(),
        one => vec![one.clone()],
    };
    if axes.is_empty() || axes.len() > 3 {
        errors.push(
            place,
            format!("`{name}` has {} axes", axes.len()),
            format!("a {name} has 1 to 3 axes, x first: `{name} = [x, y]`"),
        );
    } else {
        once(slot, name, axes, errors);
    }
}

fn parameter(attribute: &mut Attribute, name: Ident, value: &Expr, errors: &mut Errors) {
    let place = Place::token(name.span());
    if attribute.parameters.iter().any(|known| known.name == name) {
        errors.push(
            place,
            format!("parameter `{name}` is bound twice"),
            format!("a list makes a variant for each value: `{name} = [32, 64]`"),
        );
        return;
    }
    let values = match ungroup(value) {
        Expr::Array(array) => array.elems.iter().map(|value| constant(value, errors)).collect(),
        one => vec![constant(one, errors)],
    };
    if values.is_empty() {
        errors.push(
            Place::of_expr(value),
            format!("parameter `{name}` has no value"),
            "a list has at least one value",
        );
    }
    let Some(values) = values.into_iter().collect::<Option<Vec<ParamValue>>>() else {
        // Kept with some value, so that its uses are not reported as unknown names.
        attribute.parameters.push(Bound { name, values: vec![ParamValue::Int(1)] });
        return;
    };
    if values.iter().any(|other| std::mem::discriminant(other) != std::mem::discriminant(&values[0])) {
        errors.push(
            Place::of_expr(value),
            format!("the values of `{name}` are of several kinds"),
            "a list holds integers, truth values or element types",
        );
    }
    if let Some(twice) = values.iter().enumerate().find(|(i, v)| values[..*i].contains(v)).map(|(_, v)| v) {
        errors.push(
            Place::of_expr(value),
            format!("`{name}` has the value {twice} twice"),
            "each value makes a variant: name it once",
        );
    }
    attribute.parameters.push(Bound { name, values });
}

/// The value of a parameter: an integer (an expression of literals folds), a truth value or an element type.
fn constant(value: &Expr, errors: &mut Errors) -> Option<ParamValue> {
    let value = ungroup(value);
    if let Expr::Path(path) = value
        && let Some(elem) = path.path.get_ident().and_then(|name| Elem::from_name(&name.to_string()))
    {
        return Some(ParamValue::Type(elem));
    }
    if let Expr::Lit(literal) = value
        && let Lit::Bool(literal) = &literal.lit
    {
        return Some(ParamValue::Bool(literal.value));
    }
    let folded = fold(value).map(ParamValue::Int);
    if folded.is_none() {
        errors.push(
            Place::of_expr(value),
            "a parameter's value is an integer, a truth value or an element type",
            "write `BM = 64`, `BM = 2 * 32`, `STAGED = true`, `T = f32`, or a list of such values",
        );
    }
    folded
}

/// What a macro's fragment holds: `$value` arrives in a group that cannot be seen.
pub fn ungroup(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungroup(&group.expr),
        other => other,
    }
}

/// The value of an expression of integer literals.
fn fold(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) if matches!(number.suffix(), "" | "usize" | "isize") => {
                number.base10_parse().ok()
            }
            _ => None,
        },
        Expr::Paren(inner) => fold(&inner.expr),
        Expr::Group(inner) => fold(&inner.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => fold(&unary.expr)?.checked_neg(),
        Expr::Binary(binary) => {
            let (left, right) = (fold(&binary.left)?, fold(&binary.right)?);
            match binary.op {
                BinOp::Add(_) => left.checked_add(right),
                BinOp::Sub(_) => left.checked_sub(right),
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Div(_) => left.checked_div(right),
                BinOp::Rem(_) => left.checked_rem(right),
                BinOp::Shl(_) => left.checked_mul(1i64.checked_shl(u32::try_from(right).ok()?)?),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Attribute, Errors, parse};
    use layout_core::kernel::{Elem, ParamValue};

    fn attribute(text: &str) -> (Attribute, Vec<String>) {
        let mut errors = Errors::default();
        let parsed = parse(text.parse().expect("tokens"), &mut errors);
        (parsed, errors.messages().iter().map(|message| message.to_string()).collect())
    }

    #[test]
    fn values_fold_and_lists_keep_their_order() {
        let (parsed, errors) =
            attribute("BM = 2 * 32, PAD = -1, STAGED = true, T = [f32, f64], block = [BM], min_blocks = 2,");
        assert!(errors.is_empty(), "{errors:?}");
        let values: Vec<_> = parsed.parameters.iter().map(|bound| bound.values.clone()).collect();
        assert_eq!(values[0], [ParamValue::Int(64)]);
        assert_eq!(values[1], [ParamValue::Int(-1)]);
        assert_eq!(values[2], [ParamValue::Bool(true)]);
        assert_eq!(values[3], [ParamValue::Type(Elem::F32), ParamValue::Type(Elem::F64)]);
        assert_eq!(parsed.block.map(|(_, axes)| axes.len()), Some(1));
    }

    #[test]
    fn wrong_entries_are_refused_one_by_one() {
        for (text, message) in [
            ("BM = 64, BM = 32", "parameter `BM` is bound twice"),
            ("block = [1], block = [2]", "`block` is given twice"),
            ("blocks = [1]", "unknown entry `blocks`"),
            ("block = []", "`block` has 0 axes"),
            ("BM = \"a\"", "a parameter's value is an integer"),
            ("BM = []", "parameter `BM` has no value"),
            ("BM = [1, 1]", "`BM` has the value 1 twice"),
            ("BM = [1, true]", "the values of `BM` are of several kinds"),
            ("BM(1)", "parameter `BM` has no value"),
            ("BM", "parameter `BM` has no value"),
            ("grid", "`grid` has no value"),
            ("opt_level", "`opt_level` has no value"),
            ("arch = sm_90a", "an architecture is a string"),
            ("arch = \"sm_90ab\"", "an architecture is a string"),
            ("require = 1", "`require` is not a value"),
            ("BM = 9223372036854775807 + 1", "a parameter's value is an integer"),
        ] {
            let (_, errors) = attribute(&format!("{text}, AFTER = 1"));
            assert_eq!(errors.len(), 1, "{text}: {errors:?}");
            assert!(errors[0].contains(message), "{text}: {errors:?}");
        }
        assert_eq!(attribute("x = 1, y = 2, = 3").1.len(), 3);
    }
}
