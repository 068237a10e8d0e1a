//! `DEFINITION`, `SOURCE` and `variants()`: the kernel's bytes and its texts.

use super::runtime;
use crate::compile::Text;
use layout_compiler::{Kernel, ParamValue, wire};
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

/// The items that hold a kernel and its texts.
pub fn definition(kernel: &Kernel, texts: &[Text]) -> TokenStream {
    let run = runtime();
    let name = &kernel.name;
    let bytes = Literal::byte_string(&wire::encode(kernel));
    let variants = texts.iter().enumerate().map(|(number, text)| variant(text, number == 0));
    let first = texts.first().map(|text| text.source.text.as_str()).unwrap_or_default();
    quote! {
        /// The kernel: its encoded form, and the text made for each variant.
        pub static DEFINITION: #run::Definition = #run::Definition {
            name: #name,
            file: ::core::file!(),
            bytes: #bytes,
            variants: &[#(#variants),*],
        };
        /// The CUDA C of the first variant.
        pub const SOURCE: &str = #first;
        /// The CUDA C of every variant, with its parameters and what its launch takes.
        pub fn variants() -> &'static [#run::Variant] {
            DEFINITION.variants
        }
    }
}

fn variant(text: &Text, first: bool) -> TokenStream {
    let run = runtime();
    let parameters = text.parameters.0.iter().map(|(name, value)| {
        let value = match value {
            ParamValue::Int(value) => quote!(Int(#value)),
            ParamValue::Bool(value) => quote!(Bool(#value)),
            ParamValue::Function(name) => quote!(Function(#name)),
            ParamValue::Type(elem) => {
                let elem = format_ident!("{}", format!("{elem:?}"));
                quote!(Type(#run::Elem::#elem))
            }
        };
        quote!((#name, #run::ParamValue::#value))
    });
    let layout_compiler::Promises { narrow, aligned, variant_if } = text.promises;
    let variant_if = match variant_if {
        Some(number) => quote!(::core::option::Option::Some(#number)),
        None => quote!(::core::option::Option::None),
    };
    let layout_compiler::CudaSource { entry, text: source, lines, flags } = &text.source;
    let source = if first { quote!(SOURCE) } else { quote!(#source) };
    let Text { key, block: [x, y, z], shared_bytes, .. } = text;
    quote! {
        #run::Variant {
            key: #key,
            parameters: &[#(#parameters),*],
            promises: #run::Promises { narrow: #narrow, aligned: #aligned, variant_if: #variant_if },
            entry: #entry,
            text: #source,
            lines: &[#(#lines),*],
            flags: &[#(#flags),*],
            block: [#x, #y, #z],
            shared_bytes: #shared_bytes,
        }
    }
}
