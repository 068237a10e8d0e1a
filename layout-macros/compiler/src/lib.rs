//! The compiler of tiled kernels: the IR of a kernel and the stages of compilation.
//!
//! It has no stable interface: its version is that of `layout-macros`, which uses it, and anything here may change
//! with each. `layout_cuda` exports what programs name. Modules without documentation are for the simulator.
//!
//! ```text
//! ir::Kernel ──specialise(ParamSet, Promises)──► Specialised ──check──► Checked ─┬─► emit: CUDA C
//!                                                                               └─► simulate: results and findings
//! ```
//!
//! Each stage is a type with one constructor. `emit` and `layout_simulator::simulate` take only `&Checked`, so no
//! kernel makes them fail.
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
mod certify;
#[doc(hidden)]
pub mod check;
mod compile;
mod configuration;
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
pub use bind::{Bound, BoundMap, LaunchArgument, overlaps};
pub use bind_error::{BindError, ViolatedPromise};
pub use certify::{BankConflict, Certificate, Unproved, bank_conflicts, certify, certify_set};
#[doc(hidden)]
pub use certify::{Damage, damaged};
pub use check::{Checked, check};
pub use compile::compile;
pub use configuration::{Missing, follow, small_grid};
pub use definition::{Definition, Variant};
pub use elem::{Constant, Elem, Known};
pub use emit::{CudaSource, emit};
pub use explain::{Explained, ExplainedView, Explanation, Remark, Transport, explain, views};
pub use ir::{Kernel, RemarkKind};
pub use origin::{Errors, KernelError, Origin, Position};
pub use params::{NARROW_LIMIT, ParamSet, ParamValue, Promises, WIDE_LIMIT};
pub use program::TensorMap;
pub use sets::Need;
pub use specialise::{Specialised, specialise};
