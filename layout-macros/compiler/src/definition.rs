//! The output of the macro: the kernel as bytes, and the text that was made at build time.

use super::certify::{Certificate, certify_set};
use super::ir::Kernel;
use super::origin::{Errors, KernelError};
use super::params::{ParamSet, ParamValue, Promises};
use super::valid::valid;
use super::wire::{self, WireError};

/// A kernel as a program holds it, made by `#[tiled_kernel]`.
///
/// ```
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(B = [16, 32], block = [B], grid = [N.div_ceil(B)])]
/// fn double<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
///     let mut own = x.tile([B], [block_idx.x]);
///     own[[thread_idx.x]] = 2.0 * own[[thread_idx.x]];
/// }
/// let definition: &layout_compiler::Definition = &double::DEFINITION;
/// assert_eq!((definition.name, definition.variants.len()), ("double", 2));
/// ```
#[derive(Debug)]
pub struct Definition {
    /// The function's name.
    pub name: &'static str,
    /// The Rust file it is in.
    pub file: &'static str,
    /// The kernel, encoded by [`super::wire`].
    pub bytes: &'static [u8],
    /// The text of each parameter set of the attribute, and of each `variant_if`.
    pub variants: &'static [Variant],
}

/// The text of a kernel for one parameter set and one set of promises.
///
/// ```
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// let variant = &double::DEFINITION.variants[1];
/// assert_eq!((variant.key, variant.entry, variant.block), ("B32", "double_B32", [32, 1, 1]));
/// assert!(variant.text.contains("__global__") && variant.text.lines().count() == variant.lines.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// `BM64_BN64`, with the suffix of the promises.
    pub key: &'static str,
    /// The parameters, in the attribute's order.
    pub parameters: &'static [(&'static str, ParamValue)],
    /// What the text relies on.
    pub promises: Promises,
    /// The name of the CUDA function.
    pub entry: &'static str,
    /// CUDA C.
    pub text: &'static str,
    /// For each line of the text the line of the kernel's Rust file, 0 for none.
    pub lines: &'static [u32],
    /// NVRTC's options besides the architecture.
    pub flags: &'static [&'static str],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory that a block takes.
    pub shared_bytes: u32,
}

impl Definition {
    /// The kernel. Fails where the bytes come from another version of the library.
    ///
    /// ```
    /// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
    /// assert_eq!(double::DEFINITION.kernel()?.dims, ["N"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kernel(&self) -> Result<Kernel, WireError> {
        let kernel = wire::decode(self.bytes)?;
        if valid(&kernel) { Ok(kernel) } else { Err(WireError::Damaged { remaining: 0 }) }
    }

    /// What is proved of every variant of a parameter set, for every size of a launch: that its accesses do not race, and are inside of
    /// their tensors. Proofs are those of the usual variant.
    ///
    /// # Errors
    /// Those of the compilation.
    ///
    /// ```
    /// # use layout_compiler::{ParamSet, ParamValue};
    /// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
    /// let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
    /// let certificate = double::DEFINITION.certificate(&set)?;
    /// assert!(certificate.races() && certificate.bounds(), "{certificate}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn certificate(&self, set: &ParamSet) -> Result<Certificate, Errors> {
        let kernel = self.kernel().map_err(|error| KernelError {
            message: error.to_string(),
            help: None,
            origin: super::origin::Origin(0),
        })?;
        certify_set(&kernel, set)
    }
}
