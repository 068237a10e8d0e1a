//! GPU kernels in Rust, and the functions that launch them. The functions here take tensors or views and have workspaces of their own; the
//! modules behind them have the options. [`kernels`] has the kernels themselves.
//!
//! Law: nothing has run where the arguments do not fit.

// Helpers of several features are of use to none of some.
#![cfg_attr(not(feature = "default"), allow(dead_code, unused_imports))]

#[cfg(feature = "block-scale")]
pub mod absmax;
#[cfg(feature = "attention")]
pub mod attention;
#[cfg(feature = "attention")]
pub mod backward;
#[cfg(feature = "block-scale")]
pub mod block_scale;
#[cfg(any(feature = "block-scale", feature = "convolution", feature = "transforms"))]
mod compact;
#[cfg(feature = "convolution")]
pub mod convolution;
#[cfg(feature = "attention")]
pub mod decode;
#[cfg(feature = "elementwise")]
pub mod elementwise;
#[cfg(feature = "experts")]
pub mod experts;
pub mod kernels;
#[cfg(feature = "linear")]
pub mod linear;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "mesh")]
pub mod mesh;
#[cfg(feature = "elementwise")]
mod modes;
#[cfg(feature = "movement")]
pub mod movement;
#[cfg(any(feature = "attention", feature = "matmul", feature = "memory"))]
mod operations;
#[cfg(feature = "orders")]
pub mod orders;
#[cfg(feature = "convolution")]
pub mod pooling;
#[cfg(feature = "matmul")]
pub mod product;
#[cfg(feature = "quantized")]
pub mod quantized;
#[cfg(feature = "random")]
pub mod random;
#[cfg(feature = "reductions")]
pub mod reductions;
#[cfg(feature = "rows")]
pub mod rows;
#[cfg(feature = "selection")]
pub mod selection;
#[cfg(any(feature = "movement", feature = "reductions"))]
mod three;
#[cfg(feature = "transforms")]
pub mod transforms;

#[cfg(feature = "memory")]
pub use memory::{add_rms_norm, cross_entropy, gemv, layer_norm, softmax, transpose};
#[cfg(feature = "attention")]
pub use operations::attention;
#[cfg(feature = "convolution")]
pub use operations::convolution;
#[cfg(feature = "quantized")]
pub use operations::matmul_quantized;
#[cfg(feature = "experts")]
pub use operations::mixture_of_experts;
#[cfg(feature = "memory")]
pub use operations::{argmax, column_sums, dot, exclusive_scan, inclusive_scan, max, sum};
#[cfg(feature = "matmul")]
pub use operations::{matmul, matmul_block_scaled};
#[cfg(feature = "matmul")]
pub use product::grouped_matmul;

use layout_cuda::{BindError, Element, Error, LaunchError, ParamSet, ParamValue, bf16, f16};

/// The types of elements that are computed in float32 and rounded once: `f32`, `bf16`, `f16`.
pub trait Real: Element {}

impl Real for f32 {}
impl Real for bf16 {}
impl Real for f16 {}

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

/// An error where an argument's extent is not the one that another argument has.
fn same(
    of: &str,
    argument: &str,
    mode: usize,
    found: usize,
    (dim, other): (&str, &str),
    expected: usize,
) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    let (argument, dim) = (argument.to_owned(), Some((dim.to_owned(), other.to_owned())));
    let expected = i64::try_from(expected).unwrap_or(i64::MAX);
    let error = BindError::Extent { argument, mode, found, expected, dim };
    Err(LaunchError::Arguments { kernel: of.to_owned(), error }.into())
}

/// An error of an operation's own condition.
fn refused<U>(of: &str, condition: &str, values: String) -> Result<U, Error> {
    let error = BindError::Require { condition: condition.to_owned(), values };
    Err(LaunchError::Arguments { kernel: of.to_owned(), error }.into())
}

/// An operation by its kernels: what they refuse of its arguments has its name, and of gaps the way out.
fn operation(of: &str, launch: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let error = match launch() {
        Err(Error::Launch(LaunchError::Arguments { error, .. })) => error,
        done => return done,
    };
    let error = match error {
        BindError::Stride { argument, mode, found, expected, .. } => BindError::Require {
            condition: format!("the elements of `{argument}` follow one another without gaps"),
            values: format!(
                "its stride in mode {mode} is {found}, not {expected}; `movement::permute` copies between it and a tensor without gaps"
            ),
        },
        other => other,
    };
    Err(LaunchError::Arguments { kernel: of.to_owned(), error }.into())
}

/// An error where two elements of what is written may share memory: what a launch refuses, of a tensor that several launches write.
fn separate<T: Element, const R: usize>(
    of: &str,
    argument: &str,
    view: &layout_cuda::TensorViewMut<'_, T, R>,
) -> Result<(), Error> {
    if !view.has_overlaps() {
        return Ok(());
    }
    let error = BindError::Overlap { argument: argument.to_owned() };
    Err(LaunchError::Arguments { kernel: of.to_owned(), error }.into())
}

/// Whether TMA cannot address an argument: its first element or its lines are not at multiples of 16 bytes.
fn is_unaligned(done: &Result<(), Error>) -> bool {
    matches!(done, Err(Error::Launch(LaunchError::Arguments { error: BindError::Map { .. }, .. })))
}

/// An error where a tensor has no such mode.
fn is_mode(of: &str, argument: &str, axis: usize, modes: usize) -> Result<(), Error> {
    if axis < modes {
        return Ok(());
    }
    let values = match modes {
        0 => format!("axis {axis}, and `{argument}` has no modes"),
        1 => format!("axis {axis}, and `{argument}` has mode 0 alone"),
        _ => format!("axis {axis}, and `{argument}` has modes 0 to {}", modes - 1),
    };
    refused(of, &format!("axis < {modes}"), values)
}

/// So many elements of what is kept; of new memory where that has fewer.
fn kept<'a, T: Element>(
    stream: &layout_cuda::Stream,
    count: usize,
    own: &'a mut Option<layout_cuda::Tensor<T, 1>>,
) -> Result<layout_cuda::TensorViewMut<'a, T, 1>, Error> {
    let tensor = match own.take().filter(|own| own.len() >= count) {
        Some(tensor) => tensor,
        None => stream.zeros([count])?,
    };
    Ok(own.insert(tensor).view_mut())
}
