//! `launch`, `launch_with`, `simulate`, `simulate_with`, `explain`: typed by the kernel's own signature.
//!
//! Each is thin: it passes its arguments on without their Rust types, and calls one function of the run time.

use super::{runtime, runtime_at};
use crate::signature::{Argument, Kind};
use crate::stub::Face;
use layout_compiler::ir::TypeRef;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

/// The pieces that the functions share.
struct Parts {
    /// `<T: Element>`
    generics: TokenStream,
    /// `a: &impl TensorArg<f32, 2>, ..`
    inputs: Vec<TokenStream>,
    /// `let a = TensorArg::view(a); ..`
    views: Vec<TokenStream>,
    /// `Argument::read(&a), ..`
    arguments: Vec<TokenStream>,
    /// `a, b, c`
    names: Vec<Ident>,
}

fn parts(face: &Face) -> Parts {
    let run = runtime();
    let types = &face.types;
    let known = |ty: &Ident| uses(face, ty);
    let bound: Vec<&Ident> = types.iter().filter(|ty| known(ty)).collect();
    let generics = if bound.is_empty() { quote!() } else { quote!(<#(#bound: #run::Element),*>) };
    let (mut inputs, mut views, mut arguments) = (vec![], vec![], vec![]);
    for Argument { name, kind } in &face.arguments {
        match kind {
            Kind::Tensor { elem, extents, mutable, .. } => {
                let (elem, rank, at) = (type_tokens(*elem, types), extents.len(), runtime_at(name.span()));
                if *mutable {
                    inputs
                        .push(quote_spanned!(name.span()=> #name: &mut impl #at::TensorArgMut<#elem, #rank>));
                    views.push(quote!(let mut #name = #run::TensorArgMut::view_mut(#name);));
                    arguments.push(quote!(#run::Argument::write(&mut #name)));
                } else {
                    inputs.push(quote_spanned!(name.span()=> #name: &impl #at::TensorArg<#elem, #rank>));
                    views.push(quote!(let #name = #run::TensorArg::view(#name);));
                    arguments.push(quote!(#run::Argument::read(&#name)));
                }
            }
            Kind::Scalar(ty) => {
                let ty_tokens = type_tokens(*ty, types);
                inputs.push(quote!(#name: #ty_tokens));
                arguments.push(match ty {
                    TypeRef::Usize | TypeRef::Isize => quote!(#run::Argument::index(#name)),
                    TypeRef::Elem(_) | TypeRef::Parameter(_) => quote!(#run::Argument::scalar(#name)),
                });
            }
            Kind::Unknown => inputs.push(quote!(#name: impl ::core::marker::Sized)),
        }
    }
    let names = face.arguments.iter().map(|argument| argument.name.clone()).collect();
    Parts { generics, inputs, views, arguments, names }
}

/// Whether an argument's type names a type parameter: only then can a call infer it.
fn uses(face: &Face, ty: &Ident) -> bool {
    let Some(number) = face.types.iter().position(|known| known == ty) else { return false };
    let wanted = TypeRef::Parameter(number as u32);
    face.arguments.iter().any(|argument| match &argument.kind {
        Kind::Tensor { elem, .. } => *elem == wanted,
        Kind::Scalar(scalar) => *scalar == wanted,
        Kind::Unknown => false,
    })
}

fn type_tokens(ty: TypeRef, types: &[Ident]) -> TokenStream {
    let name = match ty {
        TypeRef::Elem(elem) if elem.is_float() && elem.bytes() < 4 => {
            // Rust has no such type; the run time does.
            let (run, name) = (runtime(), Ident::new(elem.name(), Span::call_site()));
            return quote!(#run::#name);
        }
        TypeRef::Elem(elem) => Ident::new(elem.name(), Span::call_site()),
        TypeRef::Usize => Ident::new("usize", Span::call_site()),
        TypeRef::Isize => Ident::new("isize", Span::call_site()),
        TypeRef::Parameter(number) => match types.get(number as usize) {
            Some(name) => name.clone(),
            None => return quote!(_),
        },
    };
    quote!(#name)
}

/// Names that no argument of the kernel has, whatever it is called.
fn own_names() -> [Ident; 3] {
    ["stream", "config", "options"].map(|name| Ident::new(name, Span::mixed_site()))
}

/// The functions' names, which are where the kernel's name does.
fn function_names(face: &Face) -> [Ident; 5] {
    ["launch", "launch_with", "simulate", "simulate_with", "explain"]
        .map(|name| Ident::new(name, face.name.span()))
}

/// The functions of a kernel that compiled.
pub fn functions(face: &Face) -> TokenStream {
    let run = runtime();
    let Parts { generics, inputs, views, arguments, names } = parts(face);
    let [stream, config, options] = own_names();
    let [launch, launch_with, simulate, simulate_with, explain] = function_names(face);
    quote! {
        /// Launches the kernel on the stream; returns once it is queued.
        ///
        /// Takes the variant that the tensors allow, compiles it where that was not yet done, and checks the shapes
        /// first.
        ///
        /// # Errors
        /// Shapes that disagree, a `require` that does not hold, tensors of another device, or what the compiler or
        /// the driver says. Nothing has run then.
        #[allow(clippy::too_many_arguments)]
        pub fn #launch #generics(
            #stream: &#run::Stream, #(#inputs),*
        ) -> ::core::result::Result<(), #run::Error> {
            launch_with(#run::LaunchConfig::default(), #stream, #(#names),*)
        }

        /// Launches the kernel with a grid, or for a parameter set, other than the attribute's own.
        ///
        /// # Errors
        /// As [`launch`], and a parameter set that the kernel does not allow.
        #[allow(clippy::too_many_arguments)]
        pub fn #launch_with #generics(
            #config: #run::LaunchConfig<'_>, #stream: &#run::Stream, #(#inputs),*
        ) -> ::core::result::Result<(), #run::Error> {
            #(#views)*
            #run::launch(&DEFINITION, #stream, #config, &mut [#(#arguments),*])
        }

        /// Runs the kernel on the simulator and says what it found and counted. Takes tensors of the simulator's
        /// device.
        ///
        /// # Errors
        /// As [`launch`]; findings are no errors, the report holds them.
        #[allow(clippy::too_many_arguments)]
        pub fn #simulate #generics(#(#inputs),*) -> ::core::result::Result<#run::Report, #run::Error> {
            simulate_with(#run::LaunchConfig::default(), &#run::Options::default(), #(#names),*)
        }

        /// Runs the kernel on the simulator with a grid, a parameter set or options of the simulator other than its own.
        ///
        /// # Errors
        /// As [`simulate`], and a parameter set that the kernel does not allow.
        #[allow(clippy::too_many_arguments)]
        pub fn #simulate_with #generics(
            #config: #run::LaunchConfig<'_>, #options: &#run::Options, #(#inputs),*
        ) -> ::core::result::Result<#run::Report, #run::Error> {
            #(#views)*
            #run::simulate(&DEFINITION, #config, &mut [#(#arguments),*], #options)
        }

        /// Reports each access of the variant that a launch would take how many bytes it moves at once, and what it lost:
        /// width, a mask, its being asynchronous.
        ///
        /// # Errors
        /// As [`launch`].
        #[allow(clippy::too_many_arguments)]
        pub fn #explain #generics(
            #config: #run::LaunchConfig<'_>, #(#inputs),*
        ) -> ::core::result::Result<#run::Explanation, #run::Error> {
            #(#views)*
            #run::explain(&DEFINITION, #config, &[#(#arguments),*])
        }
    }
}

/// The same functions, and the same items beside them, for a kernel with errors. The program does not compile, so
/// none of them is ever called.
pub fn functions_with_errors(face: &Face) -> TokenStream {
    let run = runtime();
    let Parts { generics, inputs, .. } = parts(face);
    let [stream, config, options] = own_names();
    let [launch, launch_with, simulate, simulate_with, explain] = function_names(face);
    let body = quote!(::core::unreachable!("the kernel has compile errors"));
    quote! {
        #[allow(missing_docs)]
        pub static DEFINITION: #run::Definition =
            #run::Definition { name: "", file: ::core::file!(), bytes: &[], variants: &[] };
        #[allow(missing_docs)]
        pub const SOURCE: &str = "";
        #[allow(missing_docs)]
        pub fn variants() -> &'static [#run::Variant] { &[] }
        #[allow(unused, missing_docs, clippy::too_many_arguments)]
        pub fn #launch #generics(
            #stream: &#run::Stream, #(#inputs),*
        ) -> ::core::result::Result<(), #run::Error> { #body }
        #[allow(unused, missing_docs, clippy::too_many_arguments)]
        pub fn #launch_with #generics(
            #config: #run::LaunchConfig<'_>, #stream: &#run::Stream, #(#inputs),*
        ) -> ::core::result::Result<(), #run::Error> { #body }
        #[allow(unused, missing_docs, clippy::too_many_arguments)]
        pub fn #simulate #generics(#(#inputs),*) -> ::core::result::Result<#run::Report, #run::Error> { #body }
        #[allow(unused, missing_docs, clippy::too_many_arguments)]
        pub fn #simulate_with #generics(
            #config: #run::LaunchConfig<'_>, #options: &#run::Options, #(#inputs),*
        ) -> ::core::result::Result<#run::Report, #run::Error> { #body }
        #[allow(unused, missing_docs, clippy::too_many_arguments)]
        pub fn #explain #generics(
            #config: #run::LaunchConfig<'_>, #(#inputs),*
        ) -> ::core::result::Result<#run::Explanation, #run::Error> { #body }
    }
}
