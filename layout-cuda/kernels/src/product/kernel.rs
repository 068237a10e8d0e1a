//! The kernels that multiply, by name.
//!
//! Law: every kernel gives the same product, up to the order of its sums and what it rounds the operands to.

use super::description::{Machine, Precision};
use crate::kernels;
use layout_cuda::{
    Arch, Argument, Definition, Device, Error, LaunchConfig, Options, ParamSet, ParamValue, Report, Tensor,
};
use std::fmt;
use std::str::FromStr;

/// The names, what they represent, and the kernels; of a kernel with another parameter than its first, its own name.
macro_rules! kernels {
    ($($(#[$words:meta])* $name:ident = $($kernel:ident)::+ $(as $own:literal, $parameter:ident = $value:literal)?;)*) => {
        /// Which kernel multiplies.
        #[derive(Clone, Copy, Debug)]
        pub enum Kernel {
            $($(#[$words])* $name,)*
            /// Another kernel of arguments A, B and C, launched on the matrices as they are.
            Own(&'static Definition),
        }

        impl Kernel {
            /// Every one of the library.
            pub const ALL: &[Kernel] = &[$(Kernel::$name),*];

            /// The kernel itself.
            pub fn definition(self) -> &'static Definition {
                match self {
                    $(Kernel::$name => &$($kernel)::+::DEFINITION,)*
                    Kernel::Own(definition) => definition,
                }
            }

            /// Whether it reads both operands by rows.
            pub(super) fn is_by_rows(self) -> bool {
                matches!(
                    self,
                    Kernel::TensorCore
                        | Kernel::Sgemm
                        | Kernel::SgemmSliced
                        | Kernel::SgemmFed
                        | Kernel::SgemmSlicedFed
                        | Kernel::GemmSwapped
                        | Kernel::LastRows
                        | Kernel::LastColumns
                )
            }

            /// Its own name, and the parameter that makes it another one than its definition's first set.
            fn own(self) -> Option<(&'static str, (&'static str, ParamValue))> {
                match self {
                    $(Kernel::$name => None$(.or(Some(($own, (stringify!($parameter), ParamValue::Int($value))))))?,)*
                    Kernel::Own(_) => None,
                }
            }
        }
    };
}

kernels! {
    /// Tiles of each warp on the tensor cores, by `mma.sync`; operands rounded to TF32.
    TensorCore = kernels::tensor_core;
    /// Tiles of each warp on the tensor cores, by `mma.sync`: of 16-bit floats, each operand by rows or by columns; of 8-bit floats and
    /// `i8`, A by rows and B by columns.
    GemmMma = kernels::gemm_mma::gemm_mma;
    /// Those of 16-bit floats for few rows of A, `k` contiguous in both operands: B straight to registers.
    FewRows = kernels::few_rows;
    /// Tiles of each warp on the tensor cores, by `mma.sync` in float64.
    Dgemm = kernels::dgemm;
    /// Warp tiles, copies that run ahead.
    Sgemm = kernels::sgemm;
    /// The warps of a block share out K: for small C.
    SgemmSliced = kernels::sgemm as "sgemm_sliced", SLICES = 8;
    /// `Sgemm` fed by TMA.
    SgemmFed = kernels::sgemm_fed;
    /// `SgemmSliced` fed by TMA.
    SgemmSlicedFed = kernels::sgemm_fed as "sgemm_sliced_fed", SLICES = 8;
    /// Warpgroup products: of 16-bit floats, each operand by rows or by columns; of 8-bit floats and, as TF32, of float32, A by
    /// rows and B by columns.
    Gemm = kernels::gemm::gemm;
    /// Those of 16-bit floats by clusters of blocks that share K: for small C and long K.
    GemmSplit = kernels::gemm_split;
    /// Those of 16-bit floats by pairs of blocks that share columns of B: for small C.
    GemmPair = kernels::gemm_pair;
    /// Warpgroup products of float32 as TF32, both operands by rows.
    GemmSwapped = kernels::gemm::gemm_swapped;
    /// Products of one thread, summed in Blackwell's tensor memory (sm_100, sm_103): of 16-bit floats, each operand by rows or by columns; of
    /// 8-bit floats, A by rows and B by columns. Not run on hardware.
    GemmTcgen05 = kernels::gemm_tcgen05::gemm_tcgen05;
    /// A few last rows, in float32.
    LastRows = kernels::last_rows;
    /// A few last columns, in float32.
    LastColumns = kernels::last_columns;
}

impl Kernel {
    /// The kernel's name, which is also the one on the command line.
    ///
    /// ```
    /// use layout_kernels::product::Kernel;
    /// assert_eq!("gemm_pair".parse(), Ok(Kernel::GemmPair));
    /// assert_eq!(Kernel::GemmPair.name(), "gemm_pair");
    /// ```
    pub fn name(self) -> &'static str {
        self.own().map_or(self.definition().name, |(name, _)| name)
    }

    /// The parameter sets that the attribute lists for it.
    pub fn sets(self) -> impl Iterator<Item = &'static [(&'static str, ParamValue)]> {
        let own = self.parameter();
        let sets = self.definition().variants.iter().map(|variant| variant.parameters);
        sets.filter(move |set| own.is_none_or(|own| set.contains(&own)))
    }

    /// The parameter by which it differs from its definition's first set.
    pub(super) fn parameter(self) -> Option<(&'static str, ParamValue)> {
        self.own().map(|(_, parameter)| parameter)
    }

    /// The first architecture that has what it uses.
    pub const fn arch(self) -> Arch {
        use Kernel::*;
        match self {
            Gemm | GemmSplit | GemmPair | GemmSwapped | SgemmFed | SgemmSlicedFed => Arch::SM_90A,
            Dgemm => Arch::SM_90,
            GemmTcgen05 => Arch::SM_100F,
            TensorCore | FewRows | SgemmSliced => Arch::SM_80,
            GemmMma | Sgemm | LastRows | LastColumns | Own(_) => Arch::SM_75,
        }
    }

    /// The kernel of [`multiply_then`](super::multiply_then) on a machine: [`Kernel::Gemm`] on Hopper, [`Kernel::GemmTcgen05`] on Blackwell of
    /// the data centre, else [`Kernel::GemmMma`].
    ///
    /// ```
    /// use layout_cuda::Arch;
    /// use layout_kernels::product::{Kernel, Machine};
    /// assert_eq!(Kernel::with_epilogues(Machine::OF_HOPPER), Kernel::Gemm);
    /// let b200 = Machine { multiprocessors: 148, arch: Arch::of(10, 0) };
    /// assert_eq!(Kernel::with_epilogues(b200), Kernel::GemmTcgen05);
    /// ```
    pub fn with_epilogues(machine: Machine) -> Kernel {
        let mut units = [Kernel::Gemm, Kernel::GemmTcgen05].into_iter();
        units.find(|kernel| machine.arch.includes(kernel.arch())).unwrap_or(Kernel::GemmMma)
    }

    /// Whether the device has what it asks for. The simulator is taken for an H200.
    ///
    /// ```
    /// use layout_cuda::{Arch, Device};
    /// use layout_kernels::product::Kernel;
    /// let (h200, b200) = (Device::simulator(), Device::simulator_of(Arch::of(10, 0)));
    /// assert!(Kernel::Gemm.runs_on(&h200) && !Kernel::GemmTcgen05.runs_on(&h200));
    /// assert!(!Kernel::Gemm.runs_on(&b200) && Kernel::GemmTcgen05.runs_on(&b200));
    /// ```
    pub fn runs_on(self, device: &Device) -> bool {
        Machine::of(device).arch.includes(self.arch())
    }

    /// What float32 operands are rounded to before they are multiplied.
    pub const fn precision(self) -> Precision {
        match self {
            Kernel::TensorCore | Kernel::Gemm | Kernel::GemmSwapped => Precision::Tf32,
            _ => Precision::Float32,
        }
    }

    /// Runs the kernel on the simulator and says what it found and counted. Takes row-major matrices of the simulator's
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
        let set = self.parameter().map(|(name, value)| ParamSet::default().with(name, value));
        let config = LaunchConfig { set: set.as_ref(), ..LaunchConfig::default() };
        layout_cuda::simulate(self.definition(), config, &mut arguments, &Options::default())
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Kernel) -> bool {
        std::ptr::eq(self.definition(), other.definition()) && self.own() == other.own()
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

#[cfg(test)]
mod tests {
    use super::*;
    use layout_cuda::{Elem, Promises};

    #[test]
    fn a_kernels_architecture_is_its_definitions() {
        let turing = Device::simulator_of(Arch::SM_75);
        for kernel in Kernel::ALL {
            match kernel.definition().kernel().expect("bytes of this version").arch() {
                Some(own) => assert_eq!(kernel.arch(), own, "{kernel}"),
                // One that names none is made for the device, by the set that a plan has for it.
                None => {
                    let types = ["T", "U"].map(|name| (name.to_owned(), ParamValue::Type(Elem::F16)));
                    let set = match kernel {
                        Kernel::GemmMma => ParamSet(types.to_vec()).with("TURING", ParamValue::Bool(true)),
                        Kernel::Sgemm => ParamSet::default().with("BK", ParamValue::Int(16)),
                        _ => kernel
                            .parameter()
                            .into_iter()
                            .fold(ParamSet::default(), |set, (name, value)| set.with(name, value)),
                    };
                    let made =
                        layout_cuda::prepare(kernel.definition(), &turing, Some(&set), Promises::default());
                    assert_eq!(made.is_ok(), kernel.arch() == Arch::SM_75, "{kernel}: {:?}", made.err());
                }
            }
        }
    }
}
