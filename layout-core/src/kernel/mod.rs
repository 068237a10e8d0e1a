//! Kernels: what they mean, and the stages they pass.
//!
//! ```text
//! ir::Kernel ──specialise(ParamSet, Promises)──► Specialised ──check──► Checked ─┬─► emit: CUDA C
//!                                                                               └─► simulate: results and findings
//! ```
//!
//! A stage is a type with one constructor. `emit` and `simulate` take only `&Checked` and cannot fail on the kernel's
//! account.

mod arch;
mod arith;
mod bind;
mod bind_error;
mod check;
mod compile;
mod definition;
mod elem;
pub mod emit;
mod explain;
mod index;
pub mod intrinsic;
pub mod ir;
pub mod launch;
#[cfg(test)]
mod laws;
mod library;
pub mod math;
mod meaning;
mod origin;
mod params;
pub mod precision;
mod program;
mod prove;
mod sets;
pub mod simulate;
mod small_float;
mod specialise;
mod valid;
mod view;
pub mod wire;

pub use arch::{Arch, ArchError, Features};
pub use bind::{Bound, BoundMap, LaunchArgument};
pub use bind_error::{BindError, Broken};
pub use check::{Checked, check};
pub use compile::compile;
pub use definition::{Definition, Variant};
pub use elem::{Constant, Elem, Known};
pub use emit::{CudaSource, emit};
pub use explain::{Degraded, Explained, Explanation, Means, explain};
pub use ir::{Degradation, Kernel};
pub use library::LIBRARY;
pub use origin::{Errors, KernelError, Origin, Position};
pub use params::{NARROW_LIMIT, ParamSet, ParamValue, Promises, WIDE_LIMIT};
pub use program::TensorMap;
pub use sets::Need;
pub use specialise::{Specialised, specialise};
