//! The errors of one kernel: gathered, each at its own place, each with its way out.
//!
//! Invariant: a place is reported once; what follows from a first error there is noise.

use crate::span::Place;
use layout_compiler::KernelError;
use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, TokenStream, TokenTree};

/// What is wrong, where, and the way out.
#[derive(Clone, Debug)]
struct Diagnostic {
    place: Place,
    message: String,
}

/// The errors so far.
#[derive(Debug, Default)]
pub struct Errors {
    list: Vec<Diagnostic>,
}

impl Errors {
    /// Adds an error with its way out.
    pub fn push(&mut self, place: Place, message: impl AsRef<str>, help: impl AsRef<str>) {
        self.add(place, format!("{}\n  = help: {}", message.as_ref(), help.as_ref()));
    }

    /// Adds an error of a stage of layout-core.
    pub fn stage(&mut self, error: &KernelError, places: &[Place]) {
        let place = places.get(error.origin.0 as usize).copied();
        self.add(place.unwrap_or(Place::token(proc_macro2::Span::call_site())), error.to_string());
    }

    /// Adds what syn found wrong with the syntax.
    pub fn syntax(&mut self, error: &syn::Error) {
        for part in error {
            let message = part.to_string();
            let help = if message.ends_with("expected `]`") {
                "\n  = help: an element of several modes has two brackets: `x[[i, j]]`"
            } else {
                ""
            };
            self.add(Place::token(part.span()), message + help);
        }
    }

    fn add(&mut self, place: Place, message: String) {
        // Spans have no equality on a stable compiler; their debug form is their bytes.
        let ends = |place: Place| format!("{:?} {:?}", place.start, place.end);
        if !self.list.iter().any(|known| ends(known.place) == ends(place)) {
            self.list.push(Diagnostic { place, message });
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Each one's place and message, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Place, &str)> {
        self.list.iter().map(|error| (error.place, error.message.as_str()))
    }

    /// The messages, in order.
    #[cfg(test)]
    pub fn messages(&self) -> Vec<&str> {
        self.iter().map(|(_, message)| message).collect()
    }

    /// One `::core::compile_error! { ".." }` for each error, at its place.
    pub fn tokens(&self) -> TokenStream {
        self.iter().flat_map(|(place, message)| compile_error(place, message)).collect()
    }
}

/// The compiler marks an invocation from its first token to its last: the path carries the start, the braces the end.
fn compile_error(place: Place, message: &str) -> Vec<TokenTree> {
    let punct = |character, spacing| {
        let mut punct = Punct::new(character, spacing);
        punct.set_span(place.start);
        TokenTree::Punct(punct)
    };
    let mut text = Literal::string(message);
    text.set_span(place.end);
    let mut braces = Group::new(Delimiter::Brace, TokenTree::Literal(text).into());
    braces.set_span(place.end);
    vec![
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        TokenTree::Ident(Ident::new("core", place.start)),
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        TokenTree::Ident(Ident::new("compile_error", place.start)),
        punct('!', Spacing::Alone),
        TokenTree::Group(braces),
    ]
}
