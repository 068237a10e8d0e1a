//! The compiler of tiled kernels: what a kernel means, and the stages it passes.
//!
//! It has no interface of its own: its version is that of `layout-macros`, which uses it, and anything here may change with
//! each. What a program names is at `layout_cuda`. Modules without documentation are for the simulator.
//!
//! ```text
//! ir::Kernel ──specialise(ParamSet, Promises)──► Specialised ──check──► Checked ─┬─► emit: CUDA C
//!                                                                               └─► simulate: results and findings
//! ```
//!
//! A stage is a type with one constructor. `emit` and `layout_simulator::simulate` take only `&Checked` and cannot fail on the
//! kernel's account.
#![forbid(unsafe_code)]
// What is `pub` is part of the interface, so that the test for examples can read it off the text.
#![deny(unreachable_pub)]
// The documentation is for who works on it: links to private items are meant.
#![allow(rustdoc::private_intra_doc_links)]

mod arch;
#[doc(hidden)]
pub mod arith;
#[doc(hidden)]
pub mod bind;
mod bind_error;
#[doc(hidden)]
pub mod check;
mod compile;
mod definition;
#[doc(hidden)]
pub mod elem;
pub mod emit;
mod explain;
#[doc(hidden)]
pub mod index;
pub mod intrinsic;
pub mod ir;
pub mod launch;
#[cfg(test)]
mod laws;
pub mod math;
#[doc(hidden)]
pub mod meaning;
#[doc(hidden)]
pub mod origin;
mod params;
pub mod precision;
#[doc(hidden)]
pub mod program;
mod prove;
mod sets;
#[doc(hidden)]
pub mod small_float;
mod specialise;
#[cfg(test)]
mod tests;
mod valid;
mod view;
pub mod wire;

pub use arch::{Arch, ArchError, Features};
pub use bind::{Bound, BoundMap, LaunchArgument};
pub use bind_error::{BindError, ViolatedPromise};
pub use check::{Checked, check};
pub use compile::compile;
pub use definition::{Definition, Variant};
pub use elem::{Constant, Elem, Known};
pub use emit::{CudaSource, emit};
pub use explain::{Explained, Explanation, Remark, Transport, explain};
pub use ir::{Kernel, RemarkKind};
pub use origin::{Errors, KernelError, Origin, Position};
pub use params::{NARROW_LIMIT, ParamSet, ParamValue, Promises, WIDE_LIMIT};
pub use program::TensorMap;
pub use sets::Need;
pub use specialise::{Specialised, specialise};
