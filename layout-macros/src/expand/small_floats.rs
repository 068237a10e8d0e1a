//! Literals and conversions of floats that Rust lacks, in the copy that rustc checks: `2.0` where an `f16` is expected,
//! `x as bf16`, `x as f32` of a half.
//!
//! Law: each becomes `.cast::<T>()` with the spans of what was written; everything else stays as it is.

use crate::lower::SmallFloats;
use layout_compiler::ir::{Kernel, TypeRef};
use layout_compiler::{Elem, ParamSet, ParamValue};
use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::quote_spanned;

/// A file, a line and a column: a kernel may have functions of another file.
type Start = (String, usize, usize);

/// What is rewritten, by where it starts.
pub struct Rewriting {
    literals: Vec<(Start, Ident)>,
    /// By the start of the type.
    casts: Vec<Start>,
}

fn start(span: Span) -> Start {
    let start = span.start();
    (span.file(), start.line, start.column)
}

/// Whether Rust has no such float.
fn is_small(elem: Elem) -> bool {
    elem.is_float() && !matches!(elem, Elem::F32 | Elem::F64)
}

impl Rewriting {
    /// Of a kernel; a type parameter is of the first set's type, as in the copy.
    pub fn of(uses: &SmallFloats, kernel: &Kernel, sets: &[ParamSet]) -> Rewriting {
        let elem = |ty: TypeRef| match ty {
            TypeRef::Elem(elem) => Some((elem, elem.name().to_owned())),
            TypeRef::Parameter(number) => {
                let name = kernel.types.get(number as usize)?;
                match sets.first()?.get(name)? {
                    ParamValue::Type(elem) => Some((elem, name.clone())),
                    _ => None,
                }
            }
            TypeRef::Usize | TypeRef::Isize => None,
        };
        let small = |ty: TypeRef| elem(ty).filter(|(elem, _)| is_small(*elem));
        let literals = uses.literals.iter().filter_map(|(place, ty)| {
            let (_, name) = small(*ty)?;
            Some((start(*place), Ident::new(&name, Span::call_site())))
        });
        let of_small = |ty: &Option<TypeRef>| ty.is_some_and(|ty| small(ty).is_some());
        let casts = uses.casts.iter().filter(|(_, from, to)| of_small(from) || of_small(&Some(*to)));
        Rewriting { literals: literals.collect(), casts: casts.map(|(place, ..)| start(*place)).collect() }
    }

    /// The tokens as rustc takes them.
    pub fn apply(&self, tokens: TokenStream) -> TokenStream {
        if self.literals.is_empty() && self.casts.is_empty() {
            return tokens;
        }
        let mut out: Vec<TokenTree> = vec![];
        let mut rest = tokens.into_iter().peekable();
        while let Some(tree) = rest.next() {
            match tree {
                TokenTree::Group(group) => {
                    let mut new = Group::new(group.delimiter(), self.apply(group.stream()));
                    new.set_span(group.span());
                    out.push(new.into());
                }
                TokenTree::Literal(literal) => {
                    let at = start(literal.span());
                    match self.literals.iter().find(|(own, _)| *own == at) {
                        Some((_, ty)) => out.extend(cast(single(&literal), ty)),
                        None => out.push(literal.into()),
                    }
                }
                TokenTree::Ident(word) if word == "as" => {
                    let to = rest.next_if(|next| self.casts.contains(&start(next.span())));
                    match (to, out.pop()) {
                        (Some(TokenTree::Ident(ty)), Some(TokenTree::Literal(of))) => {
                            out.extend(cast(single(&of), &ty));
                        }
                        (Some(TokenTree::Ident(ty)), of) => {
                            out.extend(of);
                            out.extend(quote_spanned!(word.span()=> .cast::<#ty>()));
                        }
                        (to, of) => {
                            out.extend(of);
                            out.push(word.into());
                            out.extend(to);
                        }
                    }
                }
                other => out.push(other),
            }
        }
        out.into_iter().collect()
    }
}

/// `(2.0 as f32).cast::<f16>()`
fn cast(of: Literal, ty: &Ident) -> TokenStream {
    let span = of.span();
    quote_spanned!(span=> (#of as f32).cast::<#ty>())
}

/// A literal without the suffix of a type that Rust lacks.
fn single(literal: &Literal) -> Literal {
    let text = literal.to_string();
    let bare = ["bf16", "f16"].iter().find_map(|suffix| text.strip_suffix(suffix));
    let plain = bare.map(|bare| bare.trim_end_matches('_')).and_then(|bare| bare.parse::<Literal>().ok());
    let mut plain = plain.unwrap_or_else(|| literal.clone());
    plain.set_span(literal.span());
    plain
}

#[cfg(test)]
mod tests {
    //! What becomes of expressions, by the places of their literals and types.

    use super::*;

    #[test]
    fn literals_and_conversions_are_casts() {
        let text = "a[i] * 2.0f16 + b as f16 * (c as f32) + 1 as bf16";
        let tokens: TokenStream = text.parse().expect("tokens");
        let file = tokens.clone().into_iter().next().expect("a token").span().file();
        let of = |part: &str, name: &str| {
            let column = text.find(part).expect("it is there");
            ((file.clone(), 1, column), Ident::new(name, Span::call_site()))
        };
        let rewriting = Rewriting {
            literals: vec![of("2.0f16", "f16")],
            casts: ["f16 *", "bf16"].iter().map(|text| of(text, "f16").0).collect(),
        };
        let wanted: TokenStream =
            "a[i] * (2.0 as f32).cast::<f16>() + b.cast::<f16>() * (c as f32) + (1 as f32).cast::<bf16>()"
                .parse()
                .expect("tokens");
        // Spaces depend on who made the tokens.
        let plain = |tokens: TokenStream| tokens.to_string().replace(' ', "");
        assert_eq!(plain(rewriting.apply(tokens)), plain(wanted));
    }
}
