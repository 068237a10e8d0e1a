//! The module that takes the function's place.
//!
//! Generated code names nothing but `::layout_cuda`: a user's manifest needs no other crate.

mod copy;
mod definition;
mod functions;
mod small_floats;

use crate::compile::Text;
use crate::report::Errors;
use crate::signature::Kind;
use crate::stub::Face;
use layout_compiler::Kernel;
use layout_compiler::ir::{Expr, ExprKind};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Attribute;
use syn::ext::IdentExt;

pub use copy::checked_copy;

/// What a kernel became: the kernel, its texts, and the copy that rustc checks.
pub struct Compiled {
    /// The kernel.
    pub kernel: Kernel,
    /// The entries of the attribute that follow from the body.
    pub configuration: Option<String>,
    /// The text of each variant.
    pub texts: Vec<Text>,
    /// The never-called copy.
    pub copy: TokenStream,
    /// Names that the body binds and never reads.
    pub unused: Vec<Ident>,
    /// The tensors that no variant writes.
    pub unwritten: Vec<String>,
    /// What a warning is about, and its words.
    pub warning: Option<(Ident, String)>,
}

impl Compiled {
    /// A function whose arguments are those of the kernel that neither its body nor its attribute names, and whose locals are those that
    /// the body does not read: rustc's own lint reports them, at the level that holds there. It has none for a `&mut` tensor that is
    /// only read, and for a grid of few blocks.
    fn unused(&self, face: &Face) -> TokenStream {
        let is_named = |number: u32| {
            let names = |expr: &Expr| matches!(expr.kind, ExprKind::Argument(own) if own == number);
            self.kernel.exprs.iter().any(names)
        };
        let unused = (0..).zip(&face.arguments).filter(|(number, _)| !is_named(*number));
        let unused: Vec<&Ident> = unused.map(|(_, argument)| &argument.name).collect();
        let locals = &self.unused;
        let only_read = (0..).zip(&face.arguments).filter(|(number, argument)| {
            let mutable = matches!(argument.kind, Kind::Tensor { mutable: true, .. });
            mutable && is_named(*number) && self.unwritten.contains(&argument.name.unraw().to_string())
        });
        let only_read = only_read.map(|(_, argument)| {
            let name = &argument.name;
            let text = format!("nothing writes `{name}`: pass it as `&LayoutTensor<..>`, or write an element, `{name}[[i]] = ..`");
            warning(name, &text)
        });
        let others = self.warning.iter().map(|(name, text)| warning(name, text));
        let only_read: TokenStream = only_read.chain(others).collect();
        if unused.is_empty() && locals.is_empty() {
            return only_read;
        }
        quote!(#only_read fn unused_arguments(#(#unused: ()),*) { #(let #locals = ();)* })
    }
}

/// A warning at a name: the lint of deprecated items has its words.
fn warning(name: &Ident, text: &str) -> TokenStream {
    let mut own = name.clone();
    own.set_span(Span::call_site());
    quote!(const _: () = { #[deprecated(note = #text)] const #own: () = (); #name };)
}

/// The module of a kernel that compiled.
pub fn module(face: &Face, compiled: &Compiled) -> TokenStream {
    let definition = definition::definition(&compiled.kernel, &compiled.texts);
    let functions = functions::functions(face);
    let (copy, unused) = (&compiled.copy, compiled.unused(face));
    // Behind the function's own documentation.
    let follows = compiled.configuration.as_ref().map(|entries| format!("\n\nFrom the body: {entries}."));
    let follows = follows.map(|text| quote!(#![doc = #text]));
    // In front, as in `module_with_errors`.
    around(face, quote!(#follows #[cfg(any(rust_analyzer, all()))] #copy #definition #functions #unused))
}

/// The module of a kernel with errors: the same functions, so that its callers are not reported as well.
///
/// Editors complete and explain a wrong kernel too; rustc would report its mistakes a second time, and `any()` is false.
/// rust-analyzer completes by a second expansion with a name put in at the cursor, and takes that name's offset there for the
/// cursor's in the first one. So up to the copy the text is as long with errors as without.
pub fn module_with_errors(face: &Face, errors: &Errors, copy: &TokenStream) -> TokenStream {
    let functions = functions::functions_with_errors(face);
    let copy = if copy.is_empty() { quote!() } else { quote!(#[cfg(any(rust_analyzer, any()))] #copy) };
    let module = around(face, quote!(#copy #functions));
    let errors = errors.tokens();
    quote!(#module #errors)
}

fn around(face: &Face, content: TokenStream) -> TokenStream {
    let Face { visibility, name, .. } = face;
    let attributes = face.attributes.iter().filter(|attribute| is_kept(attribute));
    quote! {
        #(#attributes)*
        #[allow(dead_code, non_snake_case, unexpected_cfgs)]
        #visibility mod #name {
            #content
        }
    }
}

/// Whether an attribute of the function has a meaning on its module.
pub fn is_kept(attribute: &Attribute) -> bool {
    let names = ["doc", "cfg", "allow", "warn", "deny", "expect", "deprecated"];
    names.iter().any(|name| attribute.path().is_ident(name))
}

/// The hidden module of layout-cuda that generated code uses.
fn runtime() -> TokenStream {
    runtime_at(Span::call_site())
}

/// The same, for errors that are about the tokens at `span`.
fn runtime_at(span: Span) -> TokenStream {
    quote_spanned!(span=> ::layout_cuda::generated)
}
