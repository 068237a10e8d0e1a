//! Compiles tiled kernels with NVRTC and launches them, on a GPU or on the simulator.
//!
//! ```
//! use layout_cuda::{Device, tiled_kernel};
//!
//! /// `c = a + b`
//! #[tiled_kernel(THREADS = 256, block = [THREADS], grid = [N.div_ceil(THREADS)])]
//! pub fn add<const N: usize>(
//!     a: &LayoutTensor<f32, RowMajor<N>>,
//!     b: &LayoutTensor<f32, RowMajor<N>>,
//!     c: &mut LayoutTensor<f32, RowMajor<N>>,
//! ) {
//!     let i = block_idx.x * THREADS + thread_idx.x;
//!     if i < N {
//!         c[[i]] = a[[i]] + b[[i]];
//!     }
//! }
//!
//! let device = Device::best(); // a GPU if there is one, else the simulator
//! println!("{}", device.describe());
//! let a = device.upload(&[1.0f32, 2.0, 3.0], [3])?;
//! let b = device.upload(&[10.0f32, 20.0, 30.0], [3])?;
//! let mut c = device.zeros::<f32, 1>([3])?;
//! add::launch(&device.stream(), &a, &b, &mut c)?;
//! assert_eq!(c.download()?, [11.0, 22.0, 33.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! | to | take |
//! |---|---|
//! | know what Rust is in a kernel and what is not | [`rust`] |
//! | choose where kernels run | [`Device`], [`Stream`]; cudarc's own by [`Stream::from_cudarc`] |
//! | hold data | [`Tensor`], of Rust's numbers, [`struct@f16`], [`bf16`], [`E4m3`], [`E5m2`]; the caller's GPU memory by [`TensorView::over`] and [`TensorViewMut::over`] |
//! | know what went wrong | [`Error`]; on the simulator its [`Report`] |
//! | step through a launch on the simulator, forward and back | [`debug`], and the package `layout-debugger` |
//! | show findings in an editor or in CI | [`report`]: JSON lines and SARIF |
//! | know what a machine has, and how to get what it lacks | [`doctor()`] |
//! | test a kernel, once it is written | `layout_cuda::testing`, with the feature `testing` |
//! | time a launch, with a step outside of the clock where it needs one | [`bench::time`], [`bench::time_after`] |
//! | know what bounds a kernel, and how near it is | [`roofline`] |
//! | find the fastest parameter set, keep it, and have launches take it | `tune` (feature `tune`) |
//! | see what a launch would start | [`Probe`] |
//! | make a kernel ready early | [`prepare()`] |
//! | launch a chain of kernels again and again, at the price of one | [`graph`] |
//! | build the device code into the program, which then needs no NVRTC | [`bundle`] |
//! | learn what the launched kernels use: registers, memory, occupancy | [`prepared()`], [`Prepared::usage`] |
//! | read the PTX, the SASS and the resources of a variant | [`code::Code`] |
//! | compile every variant of one's kernels, and test what they use | [`code::check_all`] |
//! | compile any CUDA C without a GPU | [`nvrtc::compile`], [`compile::compile_cached`] |
//!
//! # Cards and drivers
//!
//! | least card | kernels may use |
//! |---|---|
//! | sm_75 (T4, RTX 20) | numbers but bf16 and 8-bit floats, shared memory, warps, atomics, `mma_atom::<f16>([16, 8, 8])`, of bytes `([8, 8, 16])` |
//! | sm_80 (A100, RTX 30), and without `arch` | and bf16, asynchronous copies, other `mma_atom`, policies of L2 |
//! | sm_89 (L4, RTX 40) | and 8-bit floats |
//! | sm_90 (H100, H200) | and TMA, mbarriers that count bytes, clusters, `mma_atom::<f64>` of 16 rows |
//! | sm_90a | and `wgmma`; registers by `set_max_registers`, as with sm_100f, sm_110f, sm_120f and their later members |
//!
//! What an architecture lacks is refused where the kernel uses it, and the message names the least one. A kernel without `arch` is
//! checked for sm_80; on an sm_75 it is made for that at its first launch, with ordinary copies for asynchronous ones. The driver is of CUDA
//! 12.0 (525.60 on Linux) or later, and its major number is not below NVRTC's: NVRTC 13 needs CUDA 13.0 (580.65).
//!
//! Environment: `LAYOUT_NVRTC` names NVRTC's file or folder, `LAYOUT_CACHE` the folder of the kernel cache (`off` for
//! none). Nothing of CUDA is needed to build. Code is loaded only from places that other users cannot write: see [`trusted`].

mod allocation;
mod argument;
mod assertion;
pub mod bench;
pub mod bundle;
pub mod cache;
pub mod code;
pub mod compile;
pub mod debug;
mod device;
mod doctor;
pub mod driver;
mod element;
mod error;
mod explain;
mod float8;
mod functions;
#[doc(hidden)]
pub mod generated;
#[cfg(test)]
mod gpu_tests;
pub mod graph;
mod launch;
mod launch_error;
#[cfg(test)]
mod launch_tests;
mod launch_uses;
mod loader;
mod module;
pub mod nvrtc;
mod order;
mod prepare;
mod probe;
pub mod report;
pub mod roofline;
pub mod rust;
mod shape;
mod simulator;
pub mod speed;
mod tensor;
mod tensor_map;
#[cfg(test)]
mod test_folder;
#[cfg(test)]
mod test_gpu;
#[cfg(test)]
mod test_kernels;
#[cfg(feature = "testing")]
pub mod testing;
mod transfer;
pub mod trusted;
#[cfg(feature = "tune")]
pub mod tune;
mod view;

pub use argument::{Argument, TensorBytes};
pub use cudarc;
pub use device::{Device, Properties, Stream};
pub use doctor::{CacheReport, Diagnosis, FoundNvrtc, doctor};
pub use element::Element;
pub use error::{Error, Result};
pub use explain::explain;
pub use float8::{E4m3, E5m2};
pub use half::{bf16, f16};
pub use launch::{LaunchConfig, launch, launch_slice};
pub use launch_error::LaunchError;
pub use layout_compiler::{Arch, BindError, Definition, Elem, ParamSet, ParamValue, Promises, Variant};
pub use layout_compiler::{Certificate, Unproved};
pub use layout_compiler::{Explained, Explanation, Remark, RemarkKind, Transport};
pub use layout_core::lang;
pub use layout_macros::tiled_kernel;
/// # Example
/// ```
/// use layout_cuda::{Device, tiled_kernels};
///
/// #[tiled_kernels]
/// mod scaled {
///     pub const BLOCK: usize = 32;
///
///     /// The place of this thread's element.
///     fn place() -> usize {
///         block_idx.x * BLOCK + thread_idx.x
///     }
///
///     #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
///     pub fn doubled<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
///         let i = place();
///         if i < N {
///             x[[i]] = x[[i]] * 2.0;
///         }
///     }
///
///     #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
///     pub fn numbered<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
///         let i = place();
///         if i < N {
///             x[[i]] = i as f32;
///         }
///     }
/// }
///
/// let device = Device::simulator();
/// let mut x = device.zeros::<f32, 1>([scaled::BLOCK + 1])?;
/// scaled::numbered::launch(&device.stream(), &mut x)?;
/// scaled::doubled::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[31..], [62.0, 64.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
///
/// # Kernels that take functions of others
/// `#[tiled_kernels(open = scaled_with)]` makes the module's text a macro, too, exported by the crate. Under it another crate binds
/// parameters to functions of its own, which have the arguments of those whose place they take:
///
/// ```text
/// library::scaled_with! {
///     (OP = cube)
///     mod cubed {
///         fn cube(x: f32) -> f32 {
///             x * x * x
///         }
///     }
/// }
/// cubed::apply::launch(&stream, &mut x)?;
/// ```
///
/// # Functions that modules share
/// An open module may hold functions alone. `functions = NAME` puts them behind a module's own, in another file or another crate
/// (`functions = library::activations`); an own function hides one of its name. Within a crate the open module is first.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernels};
/// #[tiled_kernels(open = activations)]
/// mod functions {
///     fn relu(x: f32) -> f32 {
///         x.max(0.0)
///     }
/// }
///
/// #[tiled_kernels(functions = activations)]
/// mod layers {
///     #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
///     pub fn activate<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
///         let i = block_idx.x * 32 + thread_idx.x;
///         if i < N {
///             x[[i]] = relu(x[[i]]);
///         }
///     }
/// }
///
/// # fn main() -> Result<(), layout_cuda::Error> {
/// let device = Device::simulator();
/// let mut x = device.upload(&[-1.0f32, 2.0], [2])?;
/// layers::activate::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [0.0, 2.0]);
/// # Ok(())
/// # }
/// ```
///
/// A finding inside of such a function is at the kernel's `fn`, since a position is a line of the kernel's own file.
pub use layout_macros::tiled_kernels;
pub use layout_simulator::{Counts, Finding, FindingKind, Options, Printed, Report};
pub use prepare::{Prepared, Usage, prepare, prepared};
pub use probe::{Planned, Probe};
pub use simulator::simulate;
pub use tensor::{Tensor, TensorError};
pub use tensor_map::TensorMapError;
#[doc(hidden)]
pub use view::OnStream;
pub use view::{TensorArg, TensorArgMut, TensorView, TensorViewMut};
