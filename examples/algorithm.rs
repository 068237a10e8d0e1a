//! `C = A B` in float32 on the host: one function, and an [`Algorithm`] that says which kernel does it.
//!
//! Law: every algorithm gives the same product, up to the order of its sums and [`Algorithm::precision`]; `Auto` only
//! chooses, and among those in full float32.

use crate::kernels;
use crate::lines;
use crate::padded::{self, Workspace};
use crate::reference::Precision;
use layout_cuda::{
    Definition, Device, Error, LaunchConfig, Report, Stream, Tensor, TensorView, TensorViewMut,
};
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
    /// Tiles of each warp on the tensor cores; operands rounded to TF32.
    TensorCore,
    /// Warp tiles, copies that run ahead.
    Sgemm,
    /// The warps of a block share out K: for small C.
    SgemmSliced,
    /// `Sgemm` fed by Hopper's copy engine.
    SgemmFed,
    /// `SgemmSliced` fed by Hopper's copy engine.
    SgemmSlicedFed,
}

/// From so many tiles of 128 x 128 on, `sgemm` gives every multiprocessor of a large GPU something to do.
const MANY_TILES: usize = 132;

impl Algorithm {
    /// Every one that is a kernel, in the order of the ladder.
    pub const KERNELS: [Algorithm; 11] = [
        Algorithm::Naive,
        Algorithm::Coalescing,
        Algorithm::Tiled,
        Algorithm::TiledRegister,
        Algorithm::BlockTiled,
        Algorithm::BlockTiledVectorized,
        Algorithm::TensorCore,
        Algorithm::Sgemm,
        Algorithm::SgemmSliced,
        Algorithm::SgemmFed,
        Algorithm::SgemmSlicedFed,
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
            Algorithm::TensorCore => "tensor_core",
            Algorithm::Sgemm => "sgemm",
            Algorithm::SgemmSliced => "sgemm_sliced",
            Algorithm::SgemmFed => "sgemm_fed",
            Algorithm::SgemmSlicedFed => "sgemm_sliced_fed",
        }
    }

    /// The kernel that `Auto` takes for C of `m` by `n`: on a Hopper GPU one that the copy engine feeds.
    ///
    /// ```
    /// use layout_cuda::Device;
    /// use layout_examples::algorithm::Algorithm;
    /// let simulator = Device::simulator();
    /// assert_eq!(Algorithm::for_shape(&simulator, [4096, 4096]), Algorithm::Sgemm);
    /// assert_eq!(Algorithm::for_shape(&simulator, [1024, 512]), Algorithm::SgemmSliced);
    /// ```
    pub fn for_shape(device: &Device, [m, n]: [usize; 2]) -> Algorithm {
        let few_tiles = m.div_ceil(128).saturating_mul(n.div_ceil(128)) < MANY_TILES;
        match (few_tiles, is_hopper(device)) {
            (true, true) => Algorithm::SgemmSlicedFed,
            (true, false) => Algorithm::SgemmSliced,
            (false, true) => Algorithm::SgemmFed,
            (false, false) => Algorithm::Sgemm,
        }
    }

    /// Whether the copy engine feeds it: it wants rows at multiples of 16 bytes.
    pub const fn is_fed(self) -> bool {
        matches!(self, Algorithm::SgemmFed | Algorithm::SgemmSlicedFed)
    }

    /// Whether the device has what it asks for; the simulator has everything.
    ///
    /// ```
    /// use layout_cuda::Device;
    /// use layout_examples::algorithm::Algorithm;
    /// let simulator = Device::simulator();
    /// assert!(Algorithm::KERNELS.iter().all(|algorithm| algorithm.runs_on(&simulator)));
    /// ```
    pub fn runs_on(self, device: &Device) -> bool {
        !self.is_fed() || device.is_simulator() || is_hopper(device)
    }

    /// The kernel itself; `None` of `Auto`.
    pub fn definition(self) -> Option<&'static Definition> {
        Some(match self {
            Algorithm::Auto => return None,
            Algorithm::Naive => &kernels::naive::DEFINITION,
            Algorithm::Coalescing => &kernels::coalescing::DEFINITION,
            Algorithm::Tiled => &kernels::tiled::DEFINITION,
            Algorithm::TiledRegister => &kernels::tiled_register::DEFINITION,
            Algorithm::BlockTiled => &kernels::block_tiled::DEFINITION,
            Algorithm::BlockTiledVectorized => &kernels::block_tiled_vectorized::DEFINITION,
            Algorithm::TensorCore => &kernels::tensor_core::DEFINITION,
            Algorithm::Sgemm => &kernels::sgemm::DEFINITION,
            Algorithm::SgemmSliced => &kernels::sgemm_sliced::DEFINITION,
            Algorithm::SgemmFed => &kernels::sgemm_fed::DEFINITION,
            Algorithm::SgemmSlicedFed => &kernels::sgemm_sliced_fed::DEFINITION,
        })
    }

    /// What the operands are rounded to before they are multiplied.
    pub const fn precision(self) -> Precision {
        match self {
            Algorithm::TensorCore => Precision::Tf32,
            _ => Precision::Float32,
        }
    }

    /// Starts the kernel: `c = a b`.
    ///
    /// # Errors
    /// Shapes that disagree, or what NVRTC, the driver or the simulator say.
    pub fn launch(self, stream: &Stream, a: &Matrix, b: &Matrix, c: &mut Matrix) -> Result<(), Error> {
        self.launch_with(LaunchConfig::default(), stream, a, b, c)
    }

    /// Starts the kernel with tiles other than its own: `c = a b`.
    ///
    /// # Errors
    /// As [`Algorithm::launch`], and a parameter set that the kernel does not allow.
    pub fn launch_with(
        self,
        config: LaunchConfig<'_>,
        stream: &Stream,
        a: &Matrix,
        b: &Matrix,
        c: &mut Matrix,
    ) -> Result<(), Error> {
        self.launch_in(&mut Workspace::default(), config, stream, a, b, c)
    }

    /// The same, with memory that is kept from product to product: large ones whose rows begin at odd places are made of
    /// padded operands, and a few rows beyond whole tiles by themselves ([`padded`]).
    ///
    /// # Errors
    /// As [`Algorithm::launch_with`], and a device without memory for the copies.
    pub fn launch_in(
        self,
        workspace: &mut Workspace,
        config: LaunchConfig<'_>,
        stream: &Stream,
        a: &Matrix,
        b: &Matrix,
        c: &mut Matrix,
    ) -> Result<(), Error> {
        let ([m, k], [inner, n]) = (a.shape(), b.shape());
        let compact = |matrix: &Matrix| matrix.strides() == [matrix.shape()[1].max(1), 1];
        if k != inner || c.shape() != [m, n] || ![a, b, &*c].into_iter().all(compact) {
            // Others are given parts of the matrices; the simplest kernel's launch says what disagrees.
            return kernels::naive::launch(stream, a, b, c);
        }
        let algorithm = match self {
            Algorithm::Auto => Algorithm::for_shape(stream.device(), [m, n]),
            other => other,
        };
        match algorithm {
            Algorithm::TensorCore | Algorithm::SgemmSlicedFed => {
                return lines::launch(algorithm, config, workspace, stream, a, b, c);
            }
            Algorithm::SgemmFed if padded::is_odd([m, n, k]) => {}
            Algorithm::Sgemm | Algorithm::BlockTiledVectorized if padded::pays(algorithm, [m, n, k]) => {}
            _ => return algorithm.launch_alone(config, stream, &a.view(), &b.view(), &mut c.view_mut()),
        }
        padded::launch(algorithm, config, workspace, stream, a, b, c)
    }

    /// The kernel and nothing beside it.
    pub(crate) fn launch_alone(
        self,
        config: LaunchConfig<'_>,
        stream: &Stream,
        a: &TensorView<'_, f32, 2>,
        b: &TensorView<'_, f32, 2>,
        c: &mut TensorViewMut<'_, f32, 2>,
    ) -> Result<(), Error> {
        let launch_with = match self {
            Algorithm::Auto => {
                let algorithm = Algorithm::for_shape(stream.device(), c.shape());
                return algorithm.launch_alone(config, stream, a, b, c);
            }
            Algorithm::Naive => kernels::naive::launch_with,
            Algorithm::Coalescing => kernels::coalescing::launch_with,
            Algorithm::Tiled => kernels::tiled::launch_with,
            Algorithm::TiledRegister => kernels::tiled_register::launch_with,
            Algorithm::BlockTiled => kernels::block_tiled::launch_with,
            Algorithm::BlockTiledVectorized => kernels::block_tiled_vectorized::launch_with,
            Algorithm::TensorCore => kernels::tensor_core::launch_with,
            Algorithm::Sgemm => kernels::sgemm::launch_with,
            Algorithm::SgemmSliced => kernels::sgemm_sliced::launch_with,
            Algorithm::SgemmFed => kernels::sgemm_fed::launch_with,
            Algorithm::SgemmSlicedFed => kernels::sgemm_sliced_fed::launch_with,
        };
        launch_with(config, stream, a, b, c)
    }
}

impl Algorithm {
    /// Runs the kernel on the simulator and tells what it found and counted. Takes matrices of the simulator's device.
    ///
    /// # Errors
    /// As [`Algorithm::launch`].
    pub fn simulate(self, a: &Matrix, b: &Matrix, c: &mut Matrix) -> Result<Report, Error> {
        let simulate = match self {
            Algorithm::Auto => {
                let algorithm = Algorithm::for_shape(&Device::simulator(), c.shape());
                return algorithm.simulate(a, b, c);
            }
            Algorithm::Naive => kernels::naive::simulate,
            Algorithm::Coalescing => kernels::coalescing::simulate,
            Algorithm::Tiled => kernels::tiled::simulate,
            Algorithm::TiledRegister => kernels::tiled_register::simulate,
            Algorithm::BlockTiled => kernels::block_tiled::simulate,
            Algorithm::BlockTiledVectorized => kernels::block_tiled_vectorized::simulate,
            Algorithm::TensorCore => kernels::tensor_core::simulate,
            Algorithm::Sgemm => kernels::sgemm::simulate,
            Algorithm::SgemmSliced => kernels::sgemm_sliced::simulate,
            Algorithm::SgemmFed => kernels::sgemm_fed::simulate,
            Algorithm::SgemmSlicedFed => kernels::sgemm_sliced_fed::simulate,
        };
        simulate(a, b, c)
    }
}

/// Whether the device has Hopper's copy engine and matrix units.
fn is_hopper(device: &Device) -> bool {
    device.properties().is_some_and(|gpu| gpu.compute_capability == (9, 0))
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
