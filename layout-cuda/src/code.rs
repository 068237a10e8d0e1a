//! The code of a variant, from CUDA C to machine code: for people who look, and for tools. Needs NVRTC and no GPU.
//!
//! Law: it is what a launch of that parameter set, those promises and that architecture runs.
//!
//! ```
//! use layout_cuda::{Promises, code::Code, tiled_kernel};
//! #[tiled_kernel(B = [16, 32], block = [B], grid = [N.div_ceil(B)])]
//! fn ones<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
//!     x.tile([B], [block_idx.x])[[thread_idx.x]] = 1.0;
//! }
//! let code = Code::of(&ones::DEFINITION, None, Promises::USUAL, "sm_80")?;
//! assert!(code.text.contains("__global__") && code.ptx.contains(".visible .entry ones_B16"));
//! assert!(code.resources.is_some_and(|resources| resources.registers > 0 && !resources.spills()));
//! # Ok::<(), layout_cuda::Error>(())
//! ```

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use layout_core::kernel::{Definition, ParamSet, Promises};

use crate::cache::Cache;
use crate::error::Result;
use crate::functions::on_simulator;
use crate::nvrtc::{self, Resources, SlowPath};

/// A variant in all its forms.
#[derive(Clone, Debug)]
pub struct Code {
    /// The CUDA function.
    pub entry: String,
    /// The architecture.
    pub arch: String,
    /// CUDA C.
    pub text: String,
    /// PTX.
    pub ptx: String,
    /// The device code, an ELF file.
    pub cubin: Vec<u8>,
    /// NVRTC's log, ptxas's lines among it.
    pub log: String,
    /// What it uses, as ptxas counted.
    pub resources: Option<Resources>,
    /// What a launch would refuse.
    pub slow_paths: Vec<SlowPath>,
}

impl Code {
    /// Compiles the variant of a set and of promises. What the set leaves out is the attribute's; without a set it is the
    /// attribute's first. Promises that the kernel has no variant for count as none.
    ///
    /// # Errors
    /// [`LaunchError`](crate::LaunchError) for a set that the kernel does not allow, or an error of NVRTC.
    pub fn of(
        definition: &'static Definition,
        set: Option<&ParamSet>,
        promises: Promises,
        arch: &str,
    ) -> Result<Code> {
        let family = on_simulator().family(definition, set, &[])?;
        let candidate = family.candidate_or_last(promises)?;
        let checked = family.checked(candidate)?;
        let built = family.compile(candidate.promises, checked, arch, &Cache::user())?;
        let (text, _) = family.text(candidate.promises, checked);
        let (ptx, _) = nvrtc::nvrtc()?.ptx(&text, arch, layout_core::kernel::emit::flags(checked))?;
        let entry = layout_core::kernel::emit::entry_name(checked);
        let resources = built.compiled.resources.into_iter().find(|resources| resources.entry == entry);
        let (cubin, log) = (built.compiled.cubin, built.compiled.log);
        Ok(Code {
            entry,
            arch: arch.to_owned(),
            text,
            ptx,
            cubin,
            log,
            resources,
            slow_paths: built.slow_paths,
        })
    }

    /// SASS: the instructions, by NVIDIA's `nvdisasm`.
    ///
    /// # Errors
    /// [`SassError`].
    pub fn sass(&self) -> std::result::Result<String, SassError> {
        disassemble(&self.cubin)
    }
}

/// Why there is no SASS.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SassError {
    /// There is no `nvdisasm`.
    NotFound {
        /// The files that were looked for.
        searched: Vec<PathBuf>,
    },
    /// It did not run, or refused the code.
    Failed {
        /// The program.
        program: PathBuf,
        /// Its words, or the system's.
        why: String,
    },
}

impl fmt::Display for SassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SassError::NotFound { searched } => write!(
                f,
                "no nvdisasm in {} places; install it with `pip install --target target/nvdisasm nvidia-cuda-nvdisasm` \
                 or with the CUDA toolkit, or name it in NVDISASM",
                searched.len()
            ),
            SassError::Failed { program, why } => write!(f, "{} failed: {why}", program.display()),
        }
    }
}

impl std::error::Error for SassError {}

/// The text of `nvdisasm` of a CUBIN. The program is looked for in `NVDISASM`, under `target/nvdisasm` of this folder and those
/// above it, in `PATH` and in the CUDA toolkit's folder.
///
/// # Errors
/// [`SassError`].
pub fn disassemble(cubin: &[u8]) -> std::result::Result<String, SassError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let searched = places();
    let Some(program) = searched.iter().find(|place| place.is_file()).cloned() else {
        return Err(SassError::NotFound { searched });
    };
    let failed = |why: String| SassError::Failed { program: program.clone(), why };
    let name = format!("layout-sass-{}-{}.cubin", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, cubin).map_err(|error| failed(format!("{}: {error}", file.display())))?;
    let output = Command::new(&program).arg("-c").arg(&file).output();
    // A file that stays in the folder for temporary ones is no news.
    let _ = std::fs::remove_file(&file);
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

fn places() -> Vec<PathBuf> {
    const FILE: &str = if cfg!(windows) { "nvdisasm.exe" } else { "nvdisasm" };
    let mut places: Vec<PathBuf> = std::env::var_os("NVDISASM").map(PathBuf::from).into_iter().collect();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let current = std::env::current_dir().unwrap_or_default();
    for up in here.ancestors().chain(current.ancestors()) {
        places.push(up.join("target/nvdisasm/nvidia/cu13/bin").join(FILE));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    places.extend(std::env::split_paths(&path).map(|folder| folder.join(FILE)));
    places.push(PathBuf::from("/usr/local/cuda/bin").join(FILE));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kernels::scale_add;

    #[test]
    fn every_form_is_of_the_same_function() {
        let set = ParamSet::default().with("THREADS", layout_core::kernel::ParamValue::Int(256));
        let code = Code::of(scale_add(), Some(&set), Promises::USUAL, "sm_90a").expect("code");
        assert!(code.entry.starts_with("scale_add_THREADS256"), "{}", code.entry);
        assert!(
            code.text.contains(&code.entry) && code.ptx.contains(&code.entry) && code.slow_paths.is_empty()
        );
        assert_eq!(
            code.resources.as_ref().map(|resources| resources.entry.as_str()),
            Some(code.entry.as_str())
        );
        match code.sass() {
            Ok(sass) => {
                assert!(sass.contains(&format!(".text.{}:", code.entry)) && sass.contains("EXIT"), "{sass}")
            }
            Err(error) => println!("skipped: {error}"),
        }
        assert!(matches!(
            disassemble(b"no code"),
            Err(SassError::Failed { .. } | SassError::NotFound { .. })
        ));
    }
}
