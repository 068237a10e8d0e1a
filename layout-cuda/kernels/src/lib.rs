//! GPU kernels in Rust, and the functions that launch them: they check shapes, choose kernels and parameter sets, and compute what their
//! documentation says or give an error.
//!
//! Law: nothing has run where the arguments do not fit.

#[cfg(feature = "attention")]
pub mod attention;
#[cfg(feature = "attention")]
pub mod backward;
#[cfg(feature = "attention")]
pub mod decode;
pub mod kernels;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "mesh")]
pub mod mesh;
#[cfg(feature = "matmul")]
pub mod product;

use layout_cuda::{ParamSet, ParamValue};

/// A parameter set of numbers.
///
/// ```
/// use layout_cuda::ParamValue;
/// assert_eq!(layout_kernels::set(&[("BM", 64)]).get("BM"), Some(ParamValue::Int(64)));
/// ```
pub fn set(parameters: &[(&str, usize)]) -> ParamSet {
    ParamSet(
        parameters.iter().map(|(name, value)| ((*name).to_owned(), ParamValue::Int(*value as i64))).collect(),
    )
}
