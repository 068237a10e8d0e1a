//! Tensors of other libraries as arguments of kernels, and ours for them, by [DLPack](https://dmlc.github.io/dlpack/latest/).
//!
//! ```
//! use layout_cuda::{Device, tiled_kernel};
//! use layout_dlpack::{Imported, export};
//!
//! #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
//! fn doubled<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
//!     let i = 32 * block_idx.x + thread_idx.x;
//!     if i < N {
//!         x[[i]] = 2.0 * x[[i]];
//!     }
//! }
//!
//! let stream = Device::simulator().stream();
//! let given = export(stream.upload(&[1.0f32, 2.0, 3.0], [3])?)?; // what another library would give
//! // SAFETY: nobody else has the tensor.
//! let mut taken = unsafe { Imported::new(given, &stream) }?;
//! doubled::launch(&stream, &mut taken.view_mut::<f32, 1>()?)?;
//! assert_eq!(stream.download(&taken.view::<f32, 1>()?)?, [2.0, 4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Law: no element is copied. What was imported is given back to who made it exactly once, when [`Imported`] is dropped, on
//! whatever thread; what was exported lives until the other side says so.

mod described;
mod elem;
mod error;
mod export;
mod import;
mod stream;

pub use described::{Described, MODES};
pub use dlpark::{self, Managed, legacy, versioned};
pub use error::DlpackError;
pub use export::export;
pub use import::Imported;
pub use stream::stream_of;
