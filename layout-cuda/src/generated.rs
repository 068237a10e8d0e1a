//! What the code that `#[tiled_kernel]` writes refers to. No part of the crate's interface: names here come and go.

pub use crate::{Argument, Element, Error, LaunchConfig, Stream, TensorArg, TensorArgMut, launch, simulate};
pub use crate::{E4m3 as e4m3, E5m2 as e5m2, bf16, f16};
pub use layout_core::kernel::simulate::{Options, Report};
pub use layout_core::kernel::{Definition, Elem, ParamValue, Promises, Variant};

use layout_core::kernel::ParamSet;

/// The parameter set of a launch whose type parameters were given by its arguments: the set asked for, or the
/// attribute's first, with those types in it. `None` where that is the attribute's first set itself.
pub fn typed(
    definition: &'static Definition,
    config: LaunchConfig<'_>,
    types: &[(&'static str, Elem)],
) -> Option<ParamSet> {
    let first = definition.variants.first().map(|variant| variant.parameters).unwrap_or_default();
    let is_first = |(name, elem): &(&str, Elem)| first.contains(&(*name, ParamValue::Type(*elem)));
    if config.set.is_none() && types.iter().all(is_first) {
        return None;
    }
    let set = match config.set {
        Some(set) => set.clone(),
        None => ParamSet(first.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()),
    };
    Some(types.iter().fold(set, |set, (name, elem)| set.with(name, ParamValue::Type(*elem))))
}
