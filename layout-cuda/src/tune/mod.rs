//! Tuning: the fastest of a kernel's parameter sets for a problem, found by measuring, and kept as a record.
//!
//! ```text
//! space ─► planned (specialised, `require`, grid; nothing compiled) ─► compiled (NVRTC, beside the measuring)
//!       ─► right (one launch against the reference) ─► timed (a few samples) ─► final (interleaved rounds) ─► record
//! ```
//!
//! Law: a set is timed only after its result was right; every set that does not win says why; the winner is never slower than the
//! default it was measured beside. With the same records the same set is chosen, on every machine and rank.
//!
//! ```
//! use layout_cuda::tune::{Budget, Problem, Search, Space, Tuner};
//! use layout_cuda::{Device, Error, LaunchConfig, Stream, Tensor, tiled_kernel};
//!
//! #[tiled_kernel(B = 32, block = [B], grid = [N.div_ceil(B)])]
//! fn double<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
//!     let i = block_idx.x * B + thread_idx.x;
//!     if i < N {
//!         y[[i]] = 2.0 * x[[i]];
//!     }
//! }
//!
//! /// The tensors, and what is right.
//! struct Doubling {
//!     x: Tensor<f32, 1>,
//!     y: Tensor<f32, 1>,
//! }
//!
//! impl Problem for Doubling {
//!     fn launch(&mut self, stream: &Stream, config: LaunchConfig<'_>) -> Result<(), Error> {
//!         double::launch_with(config, stream, &self.x, &mut self.y)
//!     }
//!     fn spoil(&mut self) -> Result<(), Error> {
//!         self.y.poison()
//!     }
//!     fn check(&mut self) -> Result<(), String> {
//!         let y = self.y.download().map_err(|error| error.to_string())?;
//!         if y.iter().all(|y| *y == 2.0) { Ok(()) } else { Err("not twice x".into()) }
//!     }
//! }
//!
//! let device = Device::best();
//! let mut problem = Doubling { x: device.upload(&[1.0; 1000], [1000])?, y: device.zeros([1000])? };
//! let space = Space::of("B", [32, 64, 2048]);
//! let tuner = Tuner::new(&double::DEFINITION).space(space).search(Search::All).budget(Budget::trials(10));
//! let outcome = tuner.run(&device.stream(), &mut problem)?;
//! println!("{outcome}");
//! // A block of 2048 threads is refused before anything is compiled.
//! assert_eq!(outcome.trials.iter().filter(|trial| trial.fate.is_refused()).count(), 1);
//! assert!(outcome.best().is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choose;
mod model;
mod outcome;
mod record;
mod search;
mod space;
mod tuner;

pub use choose::Tuned;
pub use outcome::{Fate, Outcome, Trial};

pub use record::{Record, RecordError, Records};
pub use search::Search;
pub use space::Space;
pub use tuner::{Budget, Problem, RunError, Tuner};

/// Records that are part of the program: `tuned!("tuned/gemm.jsonl")`, a path from the file that says so.
///
/// ```
/// use layout_cuda::tune::Tuned;
/// // Here the text itself; `tuned!` takes a file.
/// let tuned = Tuned::parse("")?;
/// assert!(tuned.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! tuned {
    ($path:literal) => {
        $crate::tune::Tuned::parse(include_str!($path))
    };
}
