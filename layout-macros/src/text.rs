//! A kernel from text at run time: the macro's own files with another root, the library `layout_text`.
//!
//! For programs that make or read kernels: random kernels under test, a page that compiles what is typed. Law: the kernel is
//! the one that the macro makes of the same text, and so are the messages.
#![forbid(unsafe_code)]
// The half of the macro that writes Rust has no use here.
#![allow(dead_code)]

mod attr;
mod compile;
mod depth;
mod expand;
mod file;
mod library;
mod lower;
mod open;
mod report;
mod returns;
mod share;
mod signature;
mod span;
mod stub;

pub use file::{Elsewhere, File, FileKernel, STACK, Source, file};
use layout_compiler::{Kernel, Position};
use report::Errors;
use std::fmt;
use syn::{ItemFn, Meta};

/// What is wrong with a text, and where. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Where it begins.
    pub start: Position,
    /// Where it ends: behind the last character.
    pub end: Position,
    /// What is wrong, and the way out.
    pub message: String,
    /// Where in another file, where a function of that file is wrong.
    pub elsewhere: Option<Elsewhere>,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.start.line, self.start.column, self.message)
    }
}

/// The kernel of a text: one function with its attribute `#[tiled_kernel(..)]`.
///
/// What the later stages of layout-core find wrong, [`layout_compiler::compile()`] says; [`Kernel::positions`] has the
/// place of each [`Origin`](layout_compiler::Origin). Nothing that proc-macro2 parsed before on this thread may be asked for
/// its place afterwards: the texts are forgotten, so that a program may read any number of them.
///
/// # Errors
/// All that is wrong, in the order of finding.
pub fn kernel(text: &str) -> Result<Kernel, Vec<TextError>> {
    let result = read(text);
    proc_macro2::extra::invalidate_current_thread_spans();
    result
}

fn read(text: &str) -> Result<Kernel, Vec<TextError>> {
    let mut errors = Errors::default();
    let lowered = match syn::parse_str::<ItemFn>(text) {
        Err(error) => {
            errors.syntax(&error);
            None
        }
        Ok(mut function) => {
            let own = |attribute: &syn::Attribute| attribute.path().is_ident("tiled_kernel");
            let attribute = match function.attrs.iter().position(own) {
                Some(place) => function.attrs.remove(place).meta,
                None => {
                    let message = "the attribute `#[tiled_kernel(..)]` is missing";
                    errors.push(
                        span::Place::token(function.sig.fn_token.span),
                        message,
                        "write it before `fn`",
                    );
                    return Err(text_errors(&errors));
                }
            };
            let entries = match attribute {
                Meta::List(list) => list.tokens,
                Meta::Path(_) | Meta::NameValue(_) => proc_macro2::TokenStream::new(),
            };
            compile::read(entries, quote::ToTokens::to_token_stream(&function), &mut errors)
        }
    };
    match lowered {
        Some(read) if errors.is_empty() => Ok(read.lowered.kernel),
        _ => Err(text_errors(&errors)),
    }
}

fn text_errors(errors: &Errors) -> Vec<TextError> {
    errors.iter().map(|(place, message)| text_error(place, message)).collect()
}

fn text_error(place: span::Place, message: &str) -> TextError {
    let end = place.end.end();
    let end = Position { line: end.line as u32, column: end.column as u32 + 1 };
    TextError { start: place.position(), end, message: message.to_owned(), elsewhere: None }
}

#[cfg(test)]
mod configuration_tests;

#[cfg(test)]
mod message_tests;
#[cfg(test)]
mod tests;

#[cfg(test)]
mod text_tests {
    //! Texts that are kernels, and texts that are none.

    use super::*;

    #[test]
    fn a_text_is_a_kernel_or_errors_with_their_places() {
        let text = "#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn twice<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 32 + thread_idx.x;
    y[[i]] = y[[i]] * 2.0;
}";
        let kernel = kernel(text).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!((kernel.name.as_str(), kernel.dims.as_slice()), ("twice", ["N".to_owned()].as_slice()));
        let wrong = |text: &str| super::kernel(text).expect_err("a mistake")[0].to_string();
        let named = wrong(&text.replace("y[[i]] *", "z[[i]] *"));
        assert!(named.starts_with("4:14: "), "{named}");
        assert!(wrong(text.split_once('\n').expect("two lines").1).starts_with("1:1: the attribute"));
        assert!(wrong("fn (").starts_with("1:4: "));
    }
}
