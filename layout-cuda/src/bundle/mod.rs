//! Programs that carry their kernels: device code made while the program is built, in one file that `include_bytes!`
//! takes. Such a program compiles nothing when it starts, and needs no NVRTC.
//!
//! ```text
//! build.rs:  Recipe (kernels, architectures) ── NVRTC ──► kernels.bundle
//! main.rs:   include_bytes!(kernels.bundle) ── take ──► launches find their code there
//! ```
//!
//! The kernels are in a crate of their own, which is a dependency and a build-dependency of the program:
//!
//! ```no_run
//! // build.rs
//! # mod kernels {
//! #     #[layout_cuda::tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
//! #     pub fn ones<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
//! #         x.tile([32], [block_idx.x])[[thread_idx.x]] = 1.0;
//! #     }
//! # }
//! use layout_cuda::bundle::Recipe;
//! let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?).join("kernels.bundle");
//! Recipe::new(&["sm_80", "sm_90a"])?.kernel(&kernels::ones::DEFINITION).write(&out)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```ignore
//! // main.rs
//! // SAFETY: this package's build.rs made it.
//! unsafe { layout_cuda::bundle::take(include_bytes!(concat!(env!("OUT_DIR"), "/kernels.bundle")))? };
//! let device = layout_cuda::Device::best();
//! ```
//!
//! For a device the first of these is taken: code for its exact architecture; code for an earlier one of its major version;
//! PTX of an earlier one, which the driver compiles when it loads it. Where there is none, a launch asks NVRTC. Where there
//! is no NVRTC either, [`LaunchError::NotInBundle`](crate::LaunchError::NotInBundle) says what the bundle has.
//!
//! Law: a launch never runs code of another text: the key is the hash of the very text and flags that NVRTC would be given.
//! So a bundle that is older than the program has no effect, and [`Recipe::stale`] says so beforehand. That the code under a
//! key was made of that text is the word of whoever made the bundle, and of who takes it: [`take`] is `unsafe`.

mod error;
mod format;
mod recipe;
mod taken;

pub use error::BundleError;
pub use recipe::{Recipe, Stale};
pub use taken::take;
pub(crate) use taken::{find, held, is_taken};

use layout_compiler::{Arch, Features};
use std::borrow::Cow;

/// The device code of one kernel variant for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of the CUDA function, such as `gemm_BM64_BN64_narrow`.
    pub entry: String,
    /// What it was compiled for.
    pub arch: Arch,
    /// Whether it is PTX, which the driver compiles for any device of this architecture or a later one.
    pub ptx: bool,
    /// The hash of the text and the flags.
    key: u128,
    /// Where the code is in the file, its hash, and NVRTC's log.
    code: std::ops::Range<usize>,
    sum: u128,
    log: std::ops::Range<usize>,
}

impl Entry {
    /// Bytes of the code.
    pub fn bytes(&self) -> usize {
        self.code.len()
    }

    /// How well it serves a device: more is better, `None` not at all.
    fn serves(&self, device: Arch) -> Option<(u32, u32)> {
        let same_major = self.arch.number / 10 == device.number / 10;
        let earlier = self.arch.number <= device.number;
        match (self.ptx, self.arch.features) {
            (false, _) if self.arch == device => Some((3, 0)),
            (false, Features::Common | Features::Family) if same_major && earlier => {
                Some((2, self.arch.number))
            }
            (true, Features::Common) if earlier => Some((1, self.arch.number)),
            _ => None,
        }
    }
}

/// A file of device code.
#[derive(Clone, PartialEq, Eq)]
pub struct Bundle {
    bytes: Cow<'static, [u8]>,
    compiler: String,
    entries: Vec<Entry>,
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bundle")
            .field("compiler", &self.compiler)
            .field("entries", &self.entries.len())
            .finish()
    }
}

impl Bundle {
    /// Reads a bundle. The code is checked when it is taken out.
    ///
    /// # Errors
    /// [`BundleError::Damaged`]: these are no bundle's bytes, or not all of them.
    pub fn read(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Bundle, BundleError> {
        format::read(bytes.into())
    }

    /// The NVRTC that made it.
    pub fn compiler(&self) -> &str {
        &self.compiler
    }

    /// All that it holds.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The code of an entry and NVRTC's log of it.
    ///
    /// # Errors
    /// [`BundleError::Damaged`] where the code is not what was written.
    pub fn code(&self, entry: &Entry) -> Result<(&[u8], &str), BundleError> {
        format::code(&self.bytes, entry)
    }

    /// The entry of this text that serves the device best.
    fn find(&self, key: u128, device: Arch) -> Option<&Entry> {
        let serving = self.entries.iter().filter(|entry| entry.key == key);
        let serving = serving.filter_map(|entry| Some((entry.serves(device)?, entry)));
        serving.max_by_key(|(how, _)| *how).map(|(_, entry)| entry)
    }
}

#[cfg(test)]
mod tests;
