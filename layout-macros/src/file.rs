//! The kernels of a Rust file as it is edited: functions with `#[tiled_kernel]`, and those of modules with `#[tiled_kernels]`.
//!
//! Law: a kernel is the one that the macro makes of it, with the same messages. Functions of `functions = NAME` are those of
//! the module with `open = NAME`, in this file or in one that the caller gives; where neither has it, the kernels that may
//! call them are left out and the name is in [`File::missing`].

use crate::compile;
use crate::depth;
use crate::open::{self, Entries};
use crate::report::Errors;
use crate::share::{Shared, computing, is_kernel, is_kernel_attribute, needed, unused, whole};
use crate::span::Place;
use crate::{TextError, text_error};
use layout_compiler::{Kernel, Position};
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::{Attribute, Item, ItemFn, ItemMod, Meta, Path, Stmt};

/// Stack that reading a file takes, bytes: how deep a file may nest follows from it.
pub const STACK: usize = TIMES * (8 << 20);

/// [`STACK`] in stacks of a macro.
const TIMES: usize = 16;

/// Open modules whose functions take those of another one.
const MODULES: usize = 8;

/// A place in another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The file's name, as its [`Source`] has it.
    pub file: String,
    /// Line and column.
    pub position: Position,
}

/// Another file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A kernel of a file.
#[derive(Clone, Debug)]
pub struct FileKernel {
    /// Its name.
    pub name: String,
    /// Where its name begins, and ends.
    pub named: (Position, Position),
    /// Where its attribute begins, and where its body ends.
    pub whole: (Position, Position),
    /// Behind the entries of its attribute, with whether there are any; `None` for an attribute without parentheses.
    pub entries: Option<(Position, bool)>,
    /// The kernel, or all that is wrong with its text.
    pub kernel: Result<Kernel, Vec<TextError>>,
    /// Where each of [`Kernel::positions`] ends.
    pub ends: Vec<Position>,
}

/// What a file has of kernels.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The kernels, in the order of the text.
    pub kernels: Vec<FileKernel>,
    /// What is wrong with modules of kernels.
    pub errors: Vec<TextError>,
    /// Macros of open modules that were not found, each where it is named.
    pub missing: Vec<(String, Position)>,
    /// Where modules of kernels begin, and end.
    pub modules: Vec<(Position, Position)>,
}

/// Reads a file on a thread with [`STACK`]. `other` gives the file that has a module with `open = NAME`.
///
/// # Errors
/// The first place where the text is no Rust.
pub fn file(text: &str, other: &mut dyn FnMut(&str) -> Option<Source>) -> Result<File, TextError> {
    let result = read(text).map(|file| {
        let own = file.items.first().map(|item| item.span().file()).unwrap_or_default();
        let files = vec![(own, String::new())];
        let mut reader = Reader { items: &file.items, files, other, file: File::default() };
        reader.items(&file.items);
        reader.file
    });
    proc_macro2::extra::invalidate_current_thread_spans();
    result
}

fn read(text: &str) -> Result<syn::File, TextError> {
    let wrong = |place: Place, message: String| text_error(place, &message);
    let tokens: TokenStream = text
        .parse()
        .map_err(|error: proc_macro2::LexError| wrong(Place::token(error.span()), error.to_string()))?;
    if let Some(group) = depth::too_deep_for(&tokens, TIMES) {
        return Err(wrong(Place::token(group.span_open()), "this nests too deep".into()));
    }
    syn::parse2(tokens).map_err(|error| wrong(Place::token(error.span()), error.to_string()))
}

struct Reader<'a> {
    /// The file's own.
    items: &'a [Item],
    /// The names of files by those that spans have; this file is the first.
    files: Vec<(String, String)>,
    other: &'a mut dyn FnMut(&str) -> Option<Source>,
    file: File,
}

impl Reader<'_> {
    fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Fn(function) if is_kernel(function) => self.kernel(function, function),
                Item::Fn(function) => {
                    for statement in &function.block.stmts {
                        if let Stmt::Item(item) = statement {
                            self.items(std::slice::from_ref(item));
                        }
                    }
                }
                Item::Mod(module) => match module.attrs.iter().find(|attribute| is_module(attribute)) {
                    Some(attribute) => self.module(module, entries_of(attribute)),
                    None => self.items(module.content.as_ref().map_or(&[], |(_, items)| items)),
                },
                _ => {}
            }
        }
    }

    /// The kernels of `#[tiled_kernels(..)] mod name { .. }`.
    fn module(&mut self, module: &ItemMod, tokens: TokenStream) {
        let mut errors = Errors::default();
        let entries = Entries::parse(tokens, &mut errors);
        let Some((brace, own)) = &module.content else { return };
        self.file.modules.push((Place::token(brace.span.open()).position(), end(brace.span.close())));
        let (mut items, mut found) = (own.clone(), true);
        for path in &entries.functions {
            let taken = self.opened(path, MODULES);
            found &= taken.is_some();
            items.extend(taken.unwrap_or_default());
        }
        let taken = items.len() - own.len();
        let taken = open::own_first(&mut items, taken);
        let count = items.len() - taken;
        if found {
            for kernel in kernels(&items, count, entries.open.is_some(), &mut errors) {
                let written = own.iter().find_map(|item| match item {
                    Item::Fn(function) if function.sig.ident == kernel.sig.ident => Some(function),
                    _ => None,
                });
                self.kernel(&kernel, written.unwrap_or(&kernel));
            }
        }
        let errors = self.errors(&errors, module.ident.span());
        self.file.errors.extend(errors);
    }

    /// The items of the module with `open = NAME`, those that it takes of others among them.
    fn opened(&mut self, path: &Path, depth: usize) -> Option<Vec<Item>> {
        let name = path.segments.last()?.ident.to_string();
        let found = open_module(self.items, &name).or_else(|| {
            let source = (self.other)(&name)?;
            let file = read(&source.text).ok()?;
            let known = file.items.first()?.span().file();
            self.files.push((known, source.name));
            open_module(&file.items, &name)
        });
        let Some((mut items, functions)) = found.filter(|_| depth > 0) else {
            self.file.missing.push((name, Place::of(path).position()));
            return None;
        };
        for path in &functions {
            items.extend(self.opened(path, depth - 1)?);
        }
        Some(items)
    }

    /// One kernel: whole, and as it is written.
    fn kernel(&mut self, kernel: &ItemFn, written: &ItemFn) {
        let mut function = kernel.clone();
        let Some(place) = function.attrs.iter().position(is_kernel_attribute) else { return };
        let tokens = entries_of(&function.attrs.remove(place));
        let mut errors = Errors::default();
        let read = compile::read(tokens, function.to_token_stream(), &mut errors);
        let own = written.sig.ident.span();
        let (kernel, ends) = match read.filter(|_| errors.is_empty()) {
            Some(read) => {
                let ends = read.lowered.places.iter().map(|place| match place.end.file() == own.file() {
                    true => end(place.end),
                    false => end(own),
                });
                let ends = ends.collect();
                (Ok(read.lowered.kernel), ends)
            }
            None => (Err(self.errors(&errors, own)), vec![]),
        };
        let attribute = written.attrs.iter().find(|attribute| is_kernel_attribute(attribute));
        let start = attribute.map_or(own, |attribute| attribute.pound_token.span);
        let entries = attribute.and_then(|attribute| match &attribute.meta {
            Meta::List(list) => {
                let close = Place::token(list.delimiter.span().close()).position();
                let last = list.tokens.clone().into_iter().last();
                let comma = last.as_ref().is_none_or(|last| last.to_string() == ",");
                // Behind the last entry, where a closing bracket may be lines further.
                Some((last.map_or(close, |last| end(last.span())), comma))
            }
            Meta::Path(_) | Meta::NameValue(_) => None,
        });
        self.file.kernels.push(FileKernel {
            name: written.sig.ident.to_string(),
            named: (Place::token(own).position(), end(own)),
            whole: (Place::token(start).position(), end(written.block.brace_token.span.close())),
            entries,
            kernel,
            ends,
        });
    }

    /// The errors, those of other files at `own` with the place where they are.
    fn errors(&self, errors: &Errors, own: Span) -> Vec<TextError> {
        let one = |(place, message): (Place, &str)| {
            let file = place.start.file();
            if file == own.file() {
                return text_error(place, message);
            }
            let known = self.files.iter().find(|(known, _)| *known == file);
            let elsewhere =
                known.map(|(_, name)| Elsewhere { file: name.clone(), position: place.position() });
            TextError { elsewhere, ..text_error(Place::token(own), message) }
        };
        errors.iter().map(one).collect()
    }
}

/// The kernels among the first `own` items of a module, each with what it reaches: what `#[tiled_kernels]` leaves of them.
/// `open` is whether others take the module's functions.
fn kernels(items: &[Item], own: usize, open: bool, errors: &mut Errors) -> Vec<ItemFn> {
    let shared: Vec<Shared<'_>> = items.iter().filter_map(Shared::of).collect();
    let (mut reached, mut list) = (BTreeSet::new(), Vec::new());
    for item in &items[..own] {
        let Item::Fn(kernel) = item else { continue };
        if is_kernel(kernel) {
            let needed = needed(kernel.to_token_stream(), &shared);
            list.push(whole(kernel, needed.iter().map(|number| shared[*number].item)));
            reached.extend(needed);
        }
    }
    if !(open && list.is_empty()) {
        let own = items[..own].iter().filter_map(Shared::of).count();
        reached.extend(computing(items, &shared));
        unused(&shared[..own], &reached, errors);
    }
    list
}

fn end(span: Span) -> Position {
    let end = span.end();
    Position { line: end.line as u32, column: end.column as u32 + 1 }
}

fn is_module(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "tiled_kernels")
}

/// The tokens in the parentheses of an attribute.
fn entries_of(attribute: &Attribute) -> TokenStream {
    match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
    }
}

/// The module with `open = NAME` among the items: its items, and the modules whose functions it takes.
fn open_module(items: &[Item], name: &str) -> Option<(Vec<Item>, Vec<Path>)> {
    items.iter().find_map(|item| {
        let Item::Mod(ItemMod { content: Some((_, items)), attrs, .. }) = item else { return None };
        let entries = attrs.iter().find(|attribute| is_module(attribute)).map(entries_of)?;
        let entries = Entries::parse(entries, &mut Errors::default());
        match entries.open.is_some_and(|open| open == name) {
            true => Some((items.clone(), entries.functions)),
            false => open_module(items, name),
        }
    })
}

#[cfg(test)]
mod tests {
    //! Files with kernels of every kind.

    use super::*;

    const FILE: &str = "use layout_cuda::{tiled_kernel, tiled_kernels};
#[tiled_kernels(functions = shapes)]
mod kernels {
    struct Pair { a: f32, b: f32 }
    #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
    pub fn add<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {
        let i = block_idx.x * 32 + thread_idx.x;
        let pair = Pair { a: y[[i]], b: 1.0 };
        y[[i]] = bent(pair.a + pair.b);
    }
}
fn main() {
    #[tiled_kernel(block = [1], grid = [1])]
    fn one(y: &mut LayoutTensor<f32, RowMajor<1>>) {
        y[[0]] = z;
    }
}
";
    const OTHER: &str =
        "#[tiled_kernels(open = shapes)]\nmod f {\n    fn bent(x: f32) -> f32 {\n        x * 2.0\n    }\n}";

    fn with(other: &str) -> File {
        let source = |name: &str| Source { name: "other.rs".into(), text: other.replace("NAME", name) };
        file(FILE, &mut |name| Some(source(name))).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn kernels_of_a_module_have_functions_of_another_file() {
        let file = with(OTHER);
        assert_eq!((file.errors.as_slice(), file.missing.as_slice()), ([].as_slice(), [].as_slice()));
        let [add, one] = file.kernels.as_slice() else { panic!("{:?}", file.kernels) };
        let kernel = add.kernel.as_ref().unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!((kernel.name.as_str(), add.named.0.line, add.whole.1.line), ("add", 6, 10));
        assert_eq!(kernel.positions.len(), add.ends.len());
        let errors = one.kernel.as_ref().expect_err("no z");
        assert_eq!((errors[0].start.line, errors[0].start.column), (15, 18));
        // A position is one of this file, whatever the function's own is.
        assert!(kernel.positions.iter().all(|position| (5..=10).contains(&position.line)));
    }

    #[test]
    fn what_is_wrong_elsewhere_is_at_the_kernel() {
        let file = with(&OTHER.replace("x * 2.0", "w * 2.0"));
        let error = &file.kernels[0].kernel.as_ref().expect_err("no w")[0];
        assert_eq!((error.start.line, error.end.column), (6, 15));
        let place = error.elsewhere.as_ref().map(|other| (other.file.as_str(), other.position.line));
        assert_eq!(place, Some(("other.rs", 4)));
    }

    #[test]
    fn what_is_not_found_is_no_error() {
        let file = file(FILE, &mut |_| None).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(file.missing, [("shapes".to_owned(), Position { line: 2, column: 29 })]);
        assert_eq!((file.kernels.len(), file.errors.len()), (1, 0));
        // Modules that take of each other.
        let ring = with("#[tiled_kernels(open = shapes, functions = shapes)]\nmod f {}");
        assert_eq!((ring.missing.len(), ring.kernels.len()), (1, 1));
    }

    #[test]
    fn a_text_that_is_no_rust_is_one_error() {
        let error = |text: &str| file(text, &mut |_| None).expect_err("no Rust").to_string();
        assert!(error("fn f( {").starts_with("1:"), "{}", error("fn f( {"));
        assert!(error("fn f() {\n    let = 1;\n}").starts_with("2:9: "));
        let deep = format!("fn f() {{ {}1{} }}", "(".repeat(5000), ")".repeat(5000));
        assert!(error(&deep).contains("nests too deep"));
    }
}
