//! `C = A B` in float32 on the host: one function, and an [`Algorithm`] that says which kernel does it.
//!
//! Law: every algorithm gives the same product, up to the order of its sums; `Auto` only chooses.

use crate::kernels;
use layout_cuda::{Device, Error, Stream, Tensor};
use std::fmt;
use std::str::FromStr;

type Matrix = Tensor<f32, 2>;

/// Which kernel multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// The fastest for the shape, by [`Algorithm::for_shape`].
    Auto,
    /// A thread for each element, neighbours one under the other.
    Naive,
    /// A thread for each element, neighbours side by side.
    Coalescing,
    /// Tiles in shared memory.
    Tiled,
    /// A column of elements for each thread.
    TiledRegister,
    /// A rectangle of elements for each thread.
    BlockTiled,
    /// The same, memory read and written by vectors.
    BlockTiledVectorized,
    /// Warp tiles, copies that run ahead.
    Sgemm,
    /// The warps of a block share out K: for small C.
    SgemmSliced,
}

/// From so many tiles of 128 x 128 on, `sgemm` gives every multiprocessor of a large GPU something to do.
const MANY_TILES: usize = 132;

impl Algorithm {
    /// Every one that is a kernel, in the order of the ladder.
    pub const KERNELS: [Algorithm; 8] = [
        Algorithm::Naive,
        Algorithm::Coalescing,
        Algorithm::Tiled,
        Algorithm::TiledRegister,
        Algorithm::BlockTiled,
        Algorithm::BlockTiledVectorized,
        Algorithm::Sgemm,
        Algorithm::SgemmSliced,
    ];

    /// The name on the command line.
    ///
    /// ```
    /// use layout_examples::algorithm::Algorithm;
    /// assert_eq!("block_tiled".parse(), Ok(Algorithm::BlockTiled));
    /// assert_eq!(Algorithm::BlockTiled.name(), "block_tiled");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Naive => "naive",
            Algorithm::Coalescing => "coalescing",
            Algorithm::Tiled => "tiled",
            Algorithm::TiledRegister => "tiled_register",
            Algorithm::BlockTiled => "block_tiled",
            Algorithm::BlockTiledVectorized => "block_tiled_vectorized",
            Algorithm::Sgemm => "sgemm",
            Algorithm::SgemmSliced => "sgemm_sliced",
        }
    }

    /// The kernel that `Auto` takes for C of `m` by `n`.
    ///
    /// ```
    /// use layout_examples::algorithm::Algorithm;
    /// assert_eq!(Algorithm::for_shape(4096, 4096), Algorithm::Sgemm);
    /// assert_eq!(Algorithm::for_shape(1024, 512), Algorithm::SgemmSliced);
    /// ```
    pub fn for_shape(m: usize, n: usize) -> Algorithm {
        match m.div_ceil(128).saturating_mul(n.div_ceil(128)) {
            0..MANY_TILES => Algorithm::SgemmSliced,
            _ => Algorithm::Sgemm,
        }
    }

    /// Starts the kernel: `c = a b`.
    ///
    /// # Errors
    /// Shapes that disagree, or what NVRTC, the driver or the simulator say.
    pub fn launch(self, stream: &Stream, a: &Matrix, b: &Matrix, c: &mut Matrix) -> Result<(), Error> {
        match self {
            Algorithm::Auto => {
                let [m, n] = c.shape();
                Algorithm::for_shape(m, n).launch(stream, a, b, c)
            }
            Algorithm::Naive => kernels::naive::launch(stream, a, b, c),
            Algorithm::Coalescing => kernels::coalescing::launch(stream, a, b, c),
            Algorithm::Tiled => kernels::tiled::launch(stream, a, b, c),
            Algorithm::TiledRegister => kernels::tiled_register::launch(stream, a, b, c),
            Algorithm::BlockTiled => kernels::block_tiled::launch(stream, a, b, c),
            Algorithm::BlockTiledVectorized => kernels::block_tiled_vectorized::launch(stream, a, b, c),
            Algorithm::Sgemm => kernels::sgemm::launch(stream, a, b, c),
            Algorithm::SgemmSliced => kernels::sgemm_sliced::launch(stream, a, b, c),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(name: &str) -> Result<Algorithm, String> {
        let known = || std::iter::once(Algorithm::Auto).chain(Algorithm::KERNELS);
        known().find(|algorithm| algorithm.name() == name).ok_or_else(|| {
            let names: Vec<&str> = known().map(Algorithm::name).collect();
            format!("there is no kernel `{name}`; there are {}", names.join(", "))
        })
    }
}

/// The product of `a` (M x K) and `b` (K x N), on the device that holds them.
///
/// ```
/// use layout_cuda::Device;
/// use layout_examples::algorithm::{Algorithm, matmul};
/// let device = Device::simulator();
/// let a = device.upload(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
/// let b = device.upload(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], [3, 2])?;
/// let c = matmul(&device, &a, &b, Algorithm::Tiled)?;
/// assert_eq!(c.download()?, [4.0, 5.0, 10.0, 11.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
///
/// # Errors
/// Inner extents that disagree, a device without memory for the product, or an error of the launch.
pub fn matmul(device: &Device, a: &Matrix, b: &Matrix, algorithm: Algorithm) -> Result<Matrix, Error> {
    let mut c = device.zeros::<f32, 2>([a.shape()[0], b.shape()[1]])?;
    algorithm.launch(&device.stream(), a, b, &mut c)?;
    Ok(c)
}
