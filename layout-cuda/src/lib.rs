//! Compiles tiled kernels with NVRTC and launches them, on a GPU or on the simulator.

pub mod bench;
pub mod cache;
pub mod compile;
mod device;
mod doctor;
pub mod driver;
mod element;
mod error;
mod functions;
pub mod launch;
pub mod nvrtc;
mod shape;
mod tensor;
#[cfg(test)]
mod test_folder;
#[cfg(test)]
mod test_gpu;
mod view;

pub use cudarc;
pub use device::{Device, Properties, Stream};
pub use doctor::{CacheReport, FoundNvrtc, Report, doctor};
pub use element::Element;
pub use error::{Error, Result};
pub use tensor::{Tensor, TensorError};
pub use view::{TensorArg, TensorArgMut, TensorView, TensorViewMut};
