//! Kernels: what they mean, and the stages they pass.
//!
//! ```text
//! ir::Kernel ──specialise(ParamSet, Promises)──► Specialised ──check──► Checked ─┬─► emit: CUDA C
//!                                                                               └─► simulate: results and findings
//! ```
//!
//! A stage is a type with one constructor. `emit` and `simulate` take only `&Checked` and cannot fail on the kernel's
//! account.

pub mod check;
pub mod definition;
pub mod elem;
pub mod emit;
pub mod index;
pub mod intrinsic;
pub mod ir;
pub mod launch;
pub mod origin;
pub mod params;
pub mod program;
pub mod simulate;
pub mod wire;

pub use check::Checked;
pub use definition::{Definition, Variant};
pub use elem::{Constant, Elem};
pub use emit::CudaSource;
pub use ir::Kernel;
pub use origin::{Errors, KernelError, Origin, Position};
pub use params::{ParamSet, ParamValue, Promises};
