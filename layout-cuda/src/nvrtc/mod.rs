//! NVRTC: found, loaded, and asked for a CUBIN. Needs no driver and no GPU.
//!
//! Law: the same text, architecture, flags and NVRTC give the same [`Compiled`]; nothing here panics where NVRTC is
//! missing, of another version, or refuses the text.

mod library;
mod locate;
pub(crate) mod resources;
pub mod search;
mod slow_path;
pub mod system;

use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

pub use library::Nvrtc;
pub use locate::locate;
pub use resources::Resources;
pub use slow_path::{SlowPath, SlowReason, slow_paths};

/// What every compilation is given besides the architecture: the language, and ptxas's count of what the kernel uses.
pub const FLAGS: [&str; 2] = ["--std=c++17", "--ptxas-options=-v"];

/// What NVRTC made of a text.
#[derive(Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The device code (an ELF file).
    pub cubin: Vec<u8>,
    /// NVRTC's log: warnings, and ptxas's lines without its times.
    pub log: String,
    /// What each entry function of the text uses.
    pub resources: Vec<Resources>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("cubin", &format_args!("{} bytes", self.cubin.len()))
            .field("log", &self.log)
            .field("resources", &self.resources)
            .finish()
    }
}

/// Why there is no CUBIN.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NvrtcError {
    /// No NVRTC was found, or none that was found could be loaded.
    NotFound {
        /// The folders that were searched.
        searched: Vec<PathBuf>,
        /// The libraries that did not load, each with the loader's words, and those that were left out.
        refused: Vec<(PathBuf, String)>,
    },
    /// `LAYOUT_NVRTC` is set to a place without a loadable NVRTC.
    NotAtNamedPlace {
        /// What the variable says.
        place: PathBuf,
        /// The libraries there that did not load, each with the loader's words.
        refused: Vec<(PathBuf, String)>,
    },
    /// This NVRTC makes no code for the architecture.
    UnsupportedArch {
        /// What was asked for, such as `sm_103a`.
        arch: String,
        /// NVRTC's version.
        version: (u32, u32),
        /// The compute capabilities that it knows.
        supported: Vec<u32>,
    },
    /// The text or a flag holds a NUL character.
    NulInText {
        /// Its place, in bytes.
        position: usize,
    },
    /// NVRTC refused the text.
    Compile {
        /// The architecture it was compiled for.
        arch: String,
        /// NVRTC's log.
        log: String,
    },
    /// A call failed for another reason.
    Call {
        /// The function of NVRTC.
        call: &'static str,
        /// Its status.
        code: i32,
        /// The status's name.
        name: String,
    },
}

impl fmt::Display for NvrtcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NvrtcError::NotFound { searched, refused } => {
                write!(
                    f,
                    "no NVRTC in {} folders; install it with `pip install nvidia-cuda-nvrtc` or with the \
                     CUDA toolkit, or name its folder in LAYOUT_NVRTC",
                    searched.len()
                )?;
                write_refused(f, refused)
            }
            NvrtcError::NotAtNamedPlace { place, refused } => {
                write!(
                    f,
                    "LAYOUT_NVRTC is {}, where no NVRTC can be loaded; name the library or its folder, or unset it",
                    place.display()
                )?;
                write_refused(f, refused)
            }
            NvrtcError::UnsupportedArch { arch, version, supported } => write!(
                f,
                "NVRTC {}.{} makes no code for {arch}, only for compute capabilities {supported:?}; install a newer one \
                 (`pip install -U nvidia-cuda-nvrtc`)",
                version.0, version.1
            ),
            NvrtcError::NulInText { position } => {
                write!(f, "the text has a NUL character at byte {position}")
            }
            NvrtcError::Compile { arch, log } => {
                write!(f, "NVRTC refused the text for {arch}:\n{log}")
            }
            NvrtcError::Call { call, code, name } => {
                write!(f, "{call} failed with {name} ({code})")
            }
        }
    }
}

fn write_refused(f: &mut fmt::Formatter<'_>, refused: &[(PathBuf, String)]) -> fmt::Result {
    for (path, why) in refused {
        write!(f, "\n  {} is not loaded: {why}", path.display())?;
    }
    Ok(())
}

impl std::error::Error for NvrtcError {}

/// The process's NVRTC: searched for and loaded at the first call, the same answer ever after.
///
/// # Errors
/// [`NvrtcError::NotFound`] or [`NvrtcError::NotAtNamedPlace`].
pub fn nvrtc() -> Result<&'static Nvrtc, NvrtcError> {
    static NVRTC: OnceLock<Result<Nvrtc, NvrtcError>> = OnceLock::new();
    NVRTC.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// What distinguishes the process's NVRTC from any other version. It is not loaded for that where the search finds its file, so
/// that a program whose kernels are all in the cache starts without it.
///
/// # Errors
/// As [`nvrtc`].
pub fn identity() -> Result<String, NvrtcError> {
    static FIRST: OnceLock<Option<String>> = OnceLock::new();
    let first = || candidates().found.first().map(search::Found::identity);
    match FIRST.get_or_init(first) {
        Some(identity) => Ok(identity.clone()),
        None => Ok(nvrtc()?.identity().to_string()),
    }
}

/// The libraries that [`nvrtc`] will try, in its order, the folders that were searched, and what was left out. Loads nothing.
pub fn candidates() -> search::Search {
    let around = search::surroundings();
    if let Some(place) = (around.variable)("LAYOUT_NVRTC") {
        let place = PathBuf::from(place);
        return search::Search {
            found: search::named(&place, system::System::own()),
            folders: vec![place],
            left_out: vec![],
        };
    }
    search::search(&around, crate::driver::version().ok())
}

fn load() -> Result<Nvrtc, NvrtcError> {
    let search::Search { found, folders: searched, left_out } = candidates();
    let mut refused = Vec::new();
    for found in &found {
        match Nvrtc::load(found) {
            Ok(nvrtc) => return Ok(nvrtc),
            Err(why) => refused.push((found.library.clone(), why)),
        }
    }
    if let Some(place) = std::env::var_os("LAYOUT_NVRTC").filter(|place| !place.is_empty()) {
        return Err(NvrtcError::NotAtNamedPlace { place: PathBuf::from(place), refused });
    }
    let mut bare = library::BARE_NAMES.iter().map(|name| Nvrtc::load_bare(name));
    refused.extend(left_out.into_iter().map(|(library, why)| (library, why.to_string())));
    bare.find_map(Result::ok).ok_or(NvrtcError::NotFound { searched, refused })
}

/// Compiles CUDA C for a real architecture with the process's NVRTC, without any cache.
///
/// # Errors
/// No NVRTC, or what it says of the text: see [`NvrtcError`].
///
/// ```
/// let text = r#"extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }"#;
/// let compiled = layout_cuda::nvrtc::compile(text, "sm_80", &[])?;
/// assert_eq!(compiled.resources[0].entry, "twice");
/// assert!(!compiled.resources[0].spills());
/// # Ok::<(), layout_cuda::nvrtc::NvrtcError>(())
/// ```
pub fn compile(text: &str, arch: &str, flags: &[&str]) -> Result<Compiled, NvrtcError> {
    nvrtc()?.compile(text, arch, flags)
}

/// The architecture whose code uses all that a device of this compute capability has: `sm_90a` for (9, 0), whose
/// warpgroup instructions no other device has, `sm_80` for (8, 0).
pub fn arch_of(major: u32, minor: u32) -> String {
    layout_compiler::Arch::of(major, minor).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWICE: &str = r#"extern "C" __global__ void twice(float* x) {
    __shared__ float tile[256];
    int unused;
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = 2.0f * tile[255 - threadIdx.x];
}
"#;

    #[test]
    fn cubin_log_and_resources() {
        for arch in ["sm_80", "sm_90a"] {
            let compiled = compile(TWICE, arch, &[]).expect("NVRTC takes the text");
            assert_eq!(&compiled.cubin[..4], b"\x7fELF", "{arch}");
            assert!(
                compiled.log.contains("unused"),
                "{arch}: the log of a success is kept: {}",
                compiled.log
            );
            let [resources] = compiled.resources.as_slice() else {
                panic!("{arch}: {:?}", compiled.resources)
            };
            assert_eq!((resources.entry.as_str(), resources.shared, resources.barriers), ("twice", 1024, 1));
            assert!((1..64).contains(&resources.registers) && !resources.spills(), "{resources:?}");
        }
    }

    #[test]
    fn refusals() {
        let error =
            |text: &str, arch: &str, flags: &[&str]| compile(text, arch, flags).expect_err("a refusal");
        match error("__global__ void broken( {", "sm_80", &[]) {
            NvrtcError::Compile { log, .. } => {
                assert!(log.contains("kernel.cu(1): error"), "{log}")
            }
            other => panic!("{other}"),
        }
        assert_eq!(error("a\0b", "sm_80", &[]), NvrtcError::NulInText { position: 1 });
        for arch in ["sm_999", "compute_90", "sm_", "", "sm_90a\0"] {
            let error = error(TWICE, arch, &[]);
            assert!(matches!(error, NvrtcError::UnsupportedArch { .. }), "{arch}: {error}");
        }
        let flag = error(TWICE, "sm_80", &["--no-such-flag"]);
        assert!(matches!(flag, NvrtcError::Call { .. } | NvrtcError::Compile { .. }), "{flag}");
    }

    #[test]
    fn register_limit_shows_as_spills() {
        let body: String = (0..64).map(|i| format!("float r{i} = x[{i}];")).collect();
        let sums: String = (0..64).map(|i| format!("x[{i} * n] = r{i} * r{};", 63 - i)).collect();
        let text = format!(
            "extern \"C\" __global__ void many(float* x, int n) {{ {body} __syncthreads(); {sums} }}"
        );
        let compiled = compile(&text, "sm_80", &["--maxrregcount=24"]).expect("a kernel");
        assert!(compiled.resources[0].spills(), "{:?}", compiled.resources);
    }

    #[test]
    fn messages_name_the_way_out() {
        let error = NvrtcError::NotFound {
            searched: vec![PathBuf::from("a")],
            refused: vec![(PathBuf::from("b.so"), "no ELF".into())],
        };
        let text = error.to_string();
        assert!(
            text.contains("pip install nvidia-cuda-nvrtc") && text.contains("b.so is not loaded: no ELF"),
            "{text}"
        );
        assert_eq!(arch_of(9, 0), "sm_90a");
        assert_eq!(arch_of(8, 6), "sm_86");
        assert_eq!(arch_of(10, 0), "sm_100a");
    }
}
