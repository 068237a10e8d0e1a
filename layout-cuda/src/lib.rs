//! Compiles tiled kernels with NVRTC and launches them, on a GPU or on the simulator.

mod argument;
pub mod bench;
pub mod cache;
pub mod compile;
#[cfg(feature = "cublas")]
pub mod cublas;
mod device;
mod doctor;
pub mod driver;
mod element;
mod error;
mod functions;
#[doc(hidden)]
pub mod generated;
#[cfg(test)]
mod gpu_tests;
mod launch;
mod launch_error;
#[cfg(test)]
mod launch_tests;
mod loader;
mod module;
pub mod nvrtc;
mod prepare;
mod shape;
mod simulator;
mod tensor;
#[cfg(test)]
mod test_folder;
#[cfg(test)]
mod test_gpu;
#[cfg(test)]
mod test_kernels;
mod view;

pub use argument::Argument;
pub use cudarc;
pub use device::{Device, Properties, Stream};
pub use doctor::{CacheReport, Diagnosis, FoundNvrtc, doctor};
pub use element::Element;
pub use error::{Error, Result};
pub use launch::{LaunchConfig, launch};
pub use launch_error::LaunchError;
pub use layout_core::kernel::simulate::{Counts, Finding, FindingKind, Options, Report};
pub use layout_core::kernel::{Definition, ParamSet, ParamValue, Promises, Variant};
pub use layout_core::lang;
pub use layout_macros::tiled_kernel;
pub use prepare::{Prepared, prepare};
pub use simulator::simulate;
pub use tensor::{Tensor, TensorError};
pub use view::{TensorArg, TensorArgMut, TensorView, TensorViewMut};
