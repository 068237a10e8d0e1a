//! Reproducible noise: the same numbers on the GPU and here, without a transfer.
//!
//! Law: [`noise`]`(i, seed)` is element `i` of a tensor after [`fill`] with the seed, to the last bit.
//!
//! ```
//! use layout_cuda::Device;
//! use layout_bench::noise::{fill, noise};
//!
//! let device = Device::best();
//! let mut x = device.zeros::<f32, 2>([3, 5])?;
//! fill(&device.stream(), &mut x, 7)?;
//! assert_eq!(x.download()?, (0..15).map(|i| noise(i, 7)).collect::<Vec<_>>());
//! # Ok::<(), layout_cuda::Error>(())
//! ```

use layout_cuda::{Error, Stream, Tensor};
use layout_kernels::kernels::memory as kernels;

/// A number in [-1, 1), a multiple of 2^-23.
pub fn noise(i: usize, seed: u32) -> f32 {
    let mut hash = ((i as u32) ^ seed).wrapping_mul(0x9e37_79b1);
    hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^= hash >> 16;
    (hash >> 8) as f32 * 2f32.powi(-23) - 1.0
}

/// Writes noise to every element, in the order of the memory.
///
/// # Errors
/// Those of a launch.
pub fn fill<const R: usize>(stream: &Stream, x: &mut Tensor<f32, R>, seed: u32) -> Result<(), Error> {
    let len = x.len();
    kernels::noise::launch(stream, &mut x.part_mut(0, [len], [1])?, seed)
}
