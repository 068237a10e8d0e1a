//! Kernels: what they mean, and the stages they pass.
//!
//! ```text
//! ir::Kernel ──specialise(ParamSet, Promises)──► Specialised ──check──► Checked ─┬─► emit: CUDA C
//!                                                                               └─► simulate: results and findings
//! ```
//!
//! A stage is a type with one constructor. `emit` and `simulate` take only `&Checked` and cannot fail on the kernel's
//! account.

mod arith;
pub mod asynchronous;
pub mod bind;
pub mod bind_error;
pub mod check;
pub mod definition;
pub mod elem;
pub mod emit;
pub mod index;
pub mod intrinsic;
pub mod ir;
pub mod launch;
#[cfg(test)]
mod laws;
pub mod matrix;
pub mod origin;
pub mod params;
pub mod program;
pub mod prove;
pub mod simulate;
mod small_float;
pub mod specialise;
mod valid;
pub mod view;
pub mod wire;

pub use bind::{Bound, BoundMap, LaunchArgument};
pub use bind_error::{BindError, Broken};
pub use check::{Checked, check, compile};
pub use definition::{Definition, Variant};
pub use elem::{Constant, Elem};
pub use emit::{CudaSource, emit};
pub use ir::Kernel;
pub use origin::{Errors, KernelError, Origin, Position};
pub use params::{ParamSet, ParamValue, Promises};
pub use specialise::{Specialised, specialise};
