//! The never-called copy of the function, with the user's own tokens, that rustc type-checks against `lang`.
//!
//! Parameters stand beside it as `const` items and types, dimensions stay const generics. Nothing of the program
//! around the kernel is in scope. Types that a list binds are checked for the list's first value; the stages of
//! layout-core check each.

use crate::attr::Attribute;
use crate::signature::Signature;
use layout_core::kernel::ParamValue;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{GenericParam, ItemFn};

/// The module that holds the copy.
pub fn checked_copy(attribute: &Attribute, signature: &Signature, function: &ItemFn) -> TokenStream {
    let constants = attribute.parameters.iter().filter_map(|bound| {
        let name = &bound.name;
        let negative = bound.values.iter().any(|value| matches!(value, ParamValue::Int(value) if *value < 0));
        Some(match bound.values.first()? {
            ParamValue::Int(value) => {
                let value = proc_macro2::Literal::i64_unsuffixed(*value);
                if negative {
                    quote!(pub const #name: isize = #value;)
                } else {
                    quote!(pub const #name: usize = #value;)
                }
            }
            ParamValue::Bool(value) => quote!(pub const #name: bool = #value;),
            ParamValue::Type(elem) => {
                let elem = Ident::new(elem.name(), Span::call_site());
                quote!(pub type #name = #elem;)
            }
        })
    });
    let bound = |name: &Ident| attribute.parameters.iter().any(|bound| bound.name == *name);
    let dims = function.sig.generics.params.iter().filter(|parameter| match parameter {
        GenericParam::Const(dim) => !bound(&dim.ident),
        GenericParam::Type(ty) => !bound(&ty.ident) && signature.types.contains(&ty.ident),
        GenericParam::Lifetime(_) => true,
    });
    let (name, inputs, output, block) =
        (&function.sig.ident, &function.sig.inputs, &function.sig.output, &function.block);
    quote! {
        #[allow(warnings, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
        mod checked_by_rustc {
            use ::layout_cuda::lang::*;
            #(#constants)*
            fn #name<#(#dims),*>(#inputs) #output #block
        }
    }
}
