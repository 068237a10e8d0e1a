//! The kernels that multiply, by name.
//!
//! Law: every kernel gives the same product, up to the order of its sums and what it rounds the operands to.

use super::description::{Precision, is_hopper};
use crate::kernels;
use layout_cuda::{Argument, Definition, Device, Error, LaunchConfig, Options, Report, Tensor};
use std::fmt;
use std::str::FromStr;

/// The names, what they stand for, and the kernels.
macro_rules! kernels {
    ($($(#[$words:meta])* $name:ident = $($kernel:ident)::+;)*) => {
        /// Which kernel multiplies.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kernel {
            $($(#[$words])* $name,)*
        }

        impl Kernel {
            /// Every one, the ladder first.
            pub const ALL: &[Kernel] = &[$(Kernel::$name),*];

            /// The kernel itself.
            pub fn definition(self) -> &'static Definition {
                match self {
                    $(Kernel::$name => &$($kernel)::+::DEFINITION,)*
                }
            }
        }
    };
}

kernels! {
    /// A thread for each element, neighbours one under the other.
    Naive = kernels::naive;
    /// A thread for each element, neighbours side by side.
    Coalescing = kernels::coalescing;
    /// Tiles in shared memory.
    Tiled = kernels::tiled;
    /// A column of elements for each thread.
    TiledRegister = kernels::tiled_register;
    /// A rectangle of elements for each thread.
    BlockTiled = kernels::block_tiled;
    /// The same, memory read and written by vectors.
    BlockTiledVectorized = kernels::block_tiled_vectorized;
    /// Tiles of each warp on the tensor cores, by `mma.sync`; operands rounded to TF32.
    TensorCore = kernels::tensor_core;
    /// Warp tiles, copies that run ahead.
    Sgemm = kernels::sgemm;
    /// The warps of a block share out K: for small C.
    SgemmSliced = kernels::sgemm_sliced;
    /// `Sgemm` fed by TMA.
    SgemmFed = kernels::sgemm_fed;
    /// `SgemmSliced` fed by TMA.
    SgemmSlicedFed = kernels::sgemm_sliced_fed;
    /// Warpgroup products of 16-bit floats; each operand by rows or by columns.
    Gemm = kernels::gemm::gemm;
    /// The same by clusters of blocks that share K: for small C and long K.
    GemmSplit = kernels::gemm_split;
    /// The same by pairs of blocks that share columns of B: for small C.
    GemmPair = kernels::gemm_pair;
    /// Warpgroup products of 16-bit and 8-bit floats and, as TF32, of float32; A by rows, B by columns.
    GemmByColumns = kernels::gemm::gemm_by_columns;
    /// Warpgroup products of float32 as TF32, both operands by rows.
    GemmSwapped = kernels::gemm::gemm_swapped;
    /// A few last rows, in float32.
    LastRows = kernels::last_rows;
    /// A few last columns, in float32.
    LastColumns = kernels::last_columns;
}

impl Kernel {
    /// The float32 kernels from the simplest on: `--example matmul` runs them.
    pub const LADDER: [Kernel; 11] = [
        Kernel::Naive,
        Kernel::Coalescing,
        Kernel::Tiled,
        Kernel::TiledRegister,
        Kernel::BlockTiled,
        Kernel::BlockTiledVectorized,
        Kernel::TensorCore,
        Kernel::Sgemm,
        Kernel::SgemmSliced,
        Kernel::SgemmFed,
        Kernel::SgemmSlicedFed,
    ];

    /// The kernel's name, which is also the one on the command line.
    ///
    /// ```
    /// use layout_examples::host::product::Kernel;
    /// assert_eq!("block_tiled".parse(), Ok(Kernel::BlockTiled));
    /// assert_eq!(Kernel::BlockTiled.name(), "block_tiled");
    /// ```
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// Whether it asks for Hopper's TMA or warpgroup products.
    const fn wants_hopper(self) -> bool {
        use Kernel::*;
        matches!(self, SgemmFed | SgemmSlicedFed | Gemm | GemmSplit | GemmPair | GemmByColumns | GemmSwapped)
    }

    /// Whether the device has what it asks for; the simulator has everything.
    ///
    /// ```
    /// use layout_cuda::Device;
    /// use layout_examples::host::product::Kernel;
    /// let simulator = Device::simulator();
    /// assert!(Kernel::ALL.iter().all(|kernel| kernel.runs_on(&simulator)));
    /// ```
    pub fn runs_on(self, device: &Device) -> bool {
        !self.wants_hopper() || device.is_simulator() || is_hopper(device)
    }

    /// What float32 operands are rounded to before they are multiplied.
    pub const fn precision(self) -> Precision {
        match self {
            Kernel::TensorCore | Kernel::GemmByColumns | Kernel::GemmSwapped => Precision::Tf32,
            _ => Precision::Float32,
        }
    }

    /// Runs the kernel on the simulator and tells what it found and counted. Takes row-major matrices of the simulator's
    /// device.
    ///
    /// # Errors
    /// Shapes that disagree, or matrices of another device.
    pub fn simulate(
        self,
        a: &Tensor<f32, 2>,
        b: &Tensor<f32, 2>,
        c: &mut Tensor<f32, 2>,
    ) -> Result<Report, Error> {
        let (a, b, mut c) = (a.view(), b.view(), c.view_mut());
        let mut arguments = [Argument::read(&a), Argument::read(&b), Argument::write(&mut c)];
        layout_cuda::simulate(self.definition(), LaunchConfig::default(), &mut arguments, &Options::default())
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernel {
    type Err = String;

    fn from_str(name: &str) -> Result<Kernel, String> {
        Kernel::ALL.iter().copied().find(|kernel| kernel.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
            format!("there is no kernel `{name}`; there are {}", names.join(", "))
        })
    }
}
