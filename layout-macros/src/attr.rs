//! The attribute: `#[tiled_kernel(BM = 64, block = [BM], require(K % 8 == 0))]`.
//!
//! Upper-case names bind parameters, lower-case names are the language's own. Entries are parsed one by one, so that a
//! wrong one hides no other.

use crate::lower::nearest;
use crate::report::Errors;
use crate::span::Place;
use layout_compiler::{Arch, Elem, ParamValue, RemarkKind};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, Lit, LitInt, Stmt, Token, UnOp};

/// The lower-case entries, for messages.
const KEYS: &str = "`block`, `grid`, `cluster`, `arch`, `min_blocks`, `opt_level`, `fast_math`, `cooperative`, `certified`, `deny(..)`, `filter(..)`, `require(..)` and `variant_if(..)`";

/// The most variants of one kernel.
pub const VARIANTS: usize = 512;

/// `NAME = value` or `NAME = [v, ..]`.
pub struct Bound {
    /// The name.
    pub name: Ident,
    /// Its values, at least one.
    pub values: Vec<Written>,
    /// Whether they are in a list.
    pub list: bool,
}

/// A value as it is written.
pub enum Written {
    /// A number, a truth value, an element type.
    Known(ParamValue),
    /// An expression that names constants or other parameters, not yet resolved.
    Open(Box<Expr>),
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
    pub arch: Option<(Ident, Expr)>,
    /// `min_blocks = n`
    pub min_blocks: Option<(Ident, Expr)>,
    /// `opt_level = n`
    pub opt_level: Option<(Ident, Expr)>,
    /// Every condition of every `filter`.
    pub filter: Vec<Expr>,
    /// `fast_math = true`
    pub fast_math: Option<(Ident, Expr)>,
    /// Every word of every `deny`.
    pub deny: Vec<RemarkKind>,
    pub cooperative: Option<(Ident, Expr)>,
    /// Every condition of every `require`.
    pub require: Vec<Expr>,
    /// The conditions of each `variant_if`, and the words of the `deny` among them.
    pub variant_if: Vec<(Vec<Expr>, Vec<RemarkKind>)>,
}

/// Parses the attribute's tokens.
pub fn parse(tokens: TokenStream, errors: &mut Errors) -> Attribute {
    let mut attribute = Attribute::default();
    for entry in split(tokens) {
        if let Err(error) = self::entry(&mut attribute, entry, errors) {
            for part in &error {
                let help =
                    "an entry is `NAME = value`, `name = [..]` or `name(..)`, and a comma is behind each";
                errors.push(Place::token(part.span()), part.to_string(), help);
            }
        }
    }
    attribute
}

/// The tokens between commas of the outermost level.
pub fn split(tokens: TokenStream) -> Vec<TokenStream> {
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
        ("filter", Some(conditions), _) => attribute.filter.extend(conditions),
        ("require", Some(conditions), _) => attribute.require.extend(conditions),
        ("variant_if", Some(entries), _) => attribute.variant_if.push(variant(&name, entries, errors)),
        ("deny", Some(words), _) => words.iter().for_each(|word| denied(&mut attribute.deny, word, errors)),
        ("deny", None, _) => errors.push(
            Place::token(name.span()),
            "`deny` is not a value",
            format!("write `deny({})`, or one of them", degradations()),
        ),
        ("certified", words, None) => certified(&mut attribute.deny, words, errors),
        ("filter" | "require" | "variant_if", None, _) => errors.push(
            Place::token(name.span()),
            format!("`{name}` is not a value"),
            match name == "filter" {
                true => "write `filter(T == bf16 || STAGES < 4)`".to_owned(),
                false => format!("write `{name}(K % 8 == 0)`"),
            },
        ),
        ("block", _, Some(value)) => axes(&mut attribute.block, name, value, errors),
        ("grid", _, Some(value)) => axes(&mut attribute.grid, name, value, errors),
        ("cluster", _, Some(value)) => axes(&mut attribute.cluster, name, value, errors),
        ("min_blocks", _, Some(value)) => once(&mut attribute.min_blocks, name, value, errors),
        ("opt_level", _, Some(value)) => once(&mut attribute.opt_level, name, value, errors),
        ("fast_math", _, Some(value)) => once(&mut attribute.fast_math, name, value, errors),
        ("cooperative", _, Some(value)) => once(&mut attribute.cooperative, name, value, errors),
        ("arch", _, Some(mut value)) => {
            if architecture(&mut value, errors) {
                once(&mut attribute.arch, name, value, errors);
            }
        }
        (text, _, Some(value)) if is_parameter(text) => parameter(attribute, name, &value, errors),
        (text, _, _) if is_parameter(text) => errors.push(
            Place::token(name.span()),
            format!("parameter `{name}` has no value"),
            format!("write `{name} = 64`, or `{name} = [32, 64]` for a variant of each"),
        ),
        (
            "block" | "grid" | "cluster" | "min_blocks" | "opt_level" | "fast_math" | "cooperative" | "arch",
            ..,
        ) => errors.push(
            Place::token(name.span()),
            format!("`{name}` has no value"),
            format!("write `{name} = ..`"),
        ),
        (text, _, value) => {
            let keys = KEYS.split('`').skip(1).step_by(2).map(|key| key.trim_end_matches("(..)"));
            let near = match text {
                "threads" | "block_size" | "block_dim" | "workgroup_size" | "local_size"
                | "launch_bounds" | "num_threads" => Some("block"),
                // Of a kernel that has no `block` yet.
                "blocks" if attribute.block.is_none() => Some("block"),
                "grid_size" | "grid_dim" | "blocks" | "num_blocks" => Some("grid"),
                _ => nearest(text, keys),
            };
            let help = match near {
                Some(_) if text == "blocks" => {
                    "the threads of a block are `block`, the blocks of a launch `grid`".to_owned()
                }
                Some(near) => format!("is `{near}` meant?"),
                None if value.is_some() => format!(
                    "a parameter has a capital letter: `{} = ..`; the entries are {KEYS}",
                    text.to_uppercase()
                ),
                None => format!("the entries are {KEYS}"),
            };
            errors.push(Place::token(name.span()), format!("unknown entry `{name}`"), help);
            // What follows of it is no error of its own.
            match (near, value) {
                (Some("block"), Some(value)) => axes(&mut attribute.block, name, value, errors),
                (Some("grid"), Some(value)) => axes(&mut attribute.grid, name, value, errors),
                (None, Some(value)) => parameter(attribute, name, &value, errors),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Replaces the names of architectures by their codes, also in the branches of an `if` over parameters; whether all are known.
fn architecture(value: &mut Expr, errors: &mut Errors) -> bool {
    let place = Place::of_expr(value);
    match value {
        Expr::Group(group) => return architecture(&mut group.expr, errors),
        Expr::If(node) => {
            let last = match node.then_branch.stmts.as_mut_slice() {
                [Stmt::Expr(one, None)] => Some(one),
                _ => None,
            };
            if let (Some(one), Some((_, other))) = (last, &mut node.else_branch) {
                return architecture(one, errors) & architecture(other, errors);
            }
        }
        Expr::Block(block) => {
            if let [Stmt::Expr(one, None)] = block.block.stmts.as_mut_slice() {
                return architecture(one, errors);
            }
        }
        Expr::Lit(literal) => {
            if let Lit::Str(text) = &literal.lit {
                let (text, span) = (text.value(), text.span());
                if let Some(arch) = text.parse().ok().filter(|arch: &Arch| arch.is_known()) {
                    literal.lit = Lit::Int(LitInt::new(&arch.code().to_string(), span));
                    return true;
                }
                if text.starts_with("sm_") {
                    let message = format!("`{text}` is no architecture that is known here");
                    errors.push(place, message, format!("they are {}", Arch::list()));
                    return false;
                }
            }
        }
        _ => {}
    }
    errors.push(
        place,
        "an architecture is a string such as \"sm_80\" or \"sm_90a\", or an `if` over parameters that gives one",
        "write `arch = \"sm_90a\"`, or leave it out for sm_80 and later",
    );
    false
}

/// `narrowed, masked, synchronous, wide`
fn degradations() -> String {
    RemarkKind::ALL.map(RemarkKind::name).join(", ")
}

/// The conditions of a `variant_if`, and the words of `deny(..)` among them.
fn variant(name: &Ident, entries: Vec<Expr>, errors: &mut Errors) -> (Vec<Expr>, Vec<RemarkKind>) {
    let (mut conditions, mut deny) = (vec![], vec![]);
    for entry in entries {
        match &entry {
            Expr::Call(call) if matches!(&*call.func, Expr::Path(path) if path.path.is_ident("deny")) => {
                call.args.iter().for_each(|word| denied(&mut deny, word, errors));
            }
            _ => conditions.push(entry),
        }
    }
    if conditions.is_empty() {
        let help = "give the condition: `variant_if(N % 8 == 0, deny(narrowed))`";
        errors.push(Place::token(name.span()), "a `variant_if` without a condition", help);
    }
    (conditions, deny)
}

/// A word of `deny`.
fn denied(known: &mut Vec<RemarkKind>, word: &Expr, errors: &mut Errors) {
    let name = match ungroup(word) {
        Expr::Path(path) => path.path.get_ident().map(Ident::to_string),
        _ => None,
    };
    match name.as_deref().and_then(RemarkKind::from_name) {
        Some(one) if known.contains(&one) => {}
        Some(one) => known.push(one),
        None => errors.push(
            Place::of_expr(word),
            "this is nothing that `deny` refuses",
            format!("an access may lose three things: {}", degradations()),
        ),
    }
}

/// `certified`, or the words in it.
fn certified(known: &mut Vec<RemarkKind>, words: Option<Vec<Expr>>, errors: &mut Errors) {
    let mut demand = |kind: RemarkKind| {
        if !known.contains(&kind) {
            known.push(kind);
        }
    };
    let Some(words) = words else { return RemarkKind::CERTIFIED.into_iter().for_each(demand) };
    for word in &words {
        let name = match ungroup(word) {
            Expr::Path(path) => path.path.get_ident().map(Ident::to_string),
            _ => None,
        };
        match RemarkKind::CERTIFIED.into_iter().find(|kind| Some(kind.name()) == name.as_deref()) {
            Some(kind) => demand(kind),
            None => errors.push(
                Place::of_expr(word),
                "this is nothing that is certified",
                "write `certified`, `certified(races)` or `certified(bounds)`",
            ),
        }
    }
}

fn is_parameter(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_uppercase)
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
        Expr::Tuple(_) => {
            let help = format!("write brackets, x first: `{name} = [x, y]`");
            return errors.push(place, format!("`{name}` is an array, not a tuple"), help);
        }
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
    let (elements, list): (Vec<&Expr>, bool) = match ungroup(value) {
        Expr::Array(array) => (array.elems.iter().collect(), true),
        one => (vec![one], false),
    };
    if elements.len() > VARIANTS {
        errors.push(
            place,
            format!("`{name}` has {} values, and each makes a variant", elements.len()),
            format!(
                "at most {VARIANTS} are compiled; other parameter sets can be launched without being listed"
            ),
        );
        attribute.parameters.push(Bound { name, values: vec![Written::Known(ParamValue::Int(1))], list });
        return;
    }
    if elements.is_empty() {
        errors.push(
            Place::of_expr(value),
            format!("parameter `{name}` has no value"),
            "a list has at least one value",
        );
    }
    let values: Vec<Option<Written>> = elements.into_iter().map(|value| written(value, errors)).collect();
    // Kept with some value, so that its uses are not reported as unknown names.
    let values = values.into_iter().collect::<Option<Vec<Written>>>().filter(|values| !values.is_empty());
    let values = values.unwrap_or_else(|| vec![Written::Known(ParamValue::Int(1))]);
    attribute.parameters.push(Bound { name, values, list });
}

/// The value of a parameter: an integer (an expression of literals folds), a truth value, an element type, or an expression
/// that names something.
fn written(value: &Expr, errors: &mut Errors) -> Option<Written> {
    let value = ungroup(value);
    if let Expr::Path(path) = value
        && let Some(elem) = path.path.get_ident().and_then(|name| Elem::from_name(&name.to_string()))
    {
        return Some(Written::Known(ParamValue::Type(elem)));
    }
    if let Expr::Lit(literal) = value
        && let Lit::Bool(literal) = &literal.lit
    {
        return Some(Written::Known(ParamValue::Bool(literal.value)));
    }
    if let Some(number) = fold(value) {
        return Some(Written::Known(ParamValue::Int(number)));
    }
    if names_something(value.to_token_stream()) {
        return Some(Written::Open(Box::new(value.clone())));
    }
    errors.push(
        Place::of_expr(value),
        "a parameter's value is an integer, a truth value or an element type",
        "write `BM = 64`, `BM = 2 * 32`, `BM = 64 * WARPS`, `STAGED = true`, `T = f32`, or a list of such values",
    );
    None
}

/// Whether an expression names anything, such as a constant or a parameter.
fn names_something(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(_) => true,
        TokenTree::Group(group) => names_something(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
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
    use super::{Attribute, Errors, Written, parse};
    use layout_compiler::{Elem, ParamValue};

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
        let known = |value: &Written| match value {
            Written::Known(value) => *value,
            Written::Open(_) => panic!("every value folds"),
        };
        let values: Vec<Vec<_>> =
            parsed.parameters.iter().map(|bound| bound.values.iter().map(known).collect()).collect();
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
            ("block = [1], blocks = [2]", "unknown entry `blocks`"),
            // Its value is the block's, then: the grid is given once.
            ("blocks = [32], grid = [1]", "unknown entry `blocks`"),
            ("block = []", "`block` has 0 axes"),
            ("BM = \"a\"", "a parameter's value is an integer"),
            ("BM = []", "parameter `BM` has no value"),
            ("BM(1)", "parameter `BM` has no value"),
            ("BM", "parameter `BM` has no value"),
            ("grid", "`grid` has no value"),
            ("opt_level", "`opt_level` has no value"),
            ("arch = sm_90a", "an architecture is a string"),
            ("arch = \"sm_90ab\"", "`sm_90ab` is no architecture"),
            ("arch = \"sm_999\"", "`sm_999` is no architecture"),
            ("arch = \"sm_80a\"", "`sm_80a` is no architecture"),
            ("arch = if BM > 8 { \"sm_80\" } else { \"sm_80a\" }", "`sm_80a` is no architecture"),
            ("arch = if BM > 8 { \"sm_80\" }", "an architecture is a string"),
            ("filter = 1", "`filter` is not a value"),
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
