//! Kernels as functions of a Python module: [`Kernel`] is called with tensors of PyTorch, NumPy, JAX or CuPy, and numbers.
//!
//! ```text
//! use layout_cuda::tiled_kernel;
//! use layout_python::Kernel;
//! use pyo3::prelude::*;
//!
//! #[tiled_kernel(block = [256], grid = [N.div_ceil(256)])]
//! fn doubled<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
//!     let i = 256 * block_idx.x + thread_idx.x;
//!     if i < N {
//!         y[[i]] = 2.0 * x[[i]];
//!     }
//! }
//!
//! #[pymodule]
//! fn mine(module: &Bound<'_, PyModule>) -> PyResult<()> {
//!     module.add("doubled", Kernel::new(&doubled::DEFINITION)?)
//! }
//! ```
//!
//! Then `mine.doubled(x, y)` in Python. `examples/python` is a whole package of such a module, which runs these lines.
//!
//! Law: no element is copied. CUDA tensors are launched on with the stream that their library works on at this moment, in its
//! order, so that a capture of it holds the launch; tensors of the CPU run on the simulator, before the call returns. What
//! does not fit is an exception, and nothing has run.
//!
//! For speed tensors are read by DLPack's C functions where the library has them (PyTorch from 2.10 on): no Python code runs,
//! nothing is allocated for a tensor, no event is recorded.

mod error;
mod kernel;
mod operand;
mod parameters;

pub use error::{launch_error, tensor_error};
pub use kernel::Kernel;
pub use layout_dlpack::stream_of;
pub use operand::Operand;
