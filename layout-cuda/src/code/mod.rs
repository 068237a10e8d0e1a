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

mod table;

pub use table::{Budget, Row, Table, check_all};

use std::ffi::OsString;
use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use layout_compiler::{Definition, ParamSet, Promises};

use crate::cache::Cache;
use crate::error::Result;
use crate::functions::{on_simulator, texts_for};
use crate::nvrtc::{self, Resources, SlowPath};
use crate::trusted::{self, Untrusted};

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
        let maker = arch.parse().map_or_else(|_| on_simulator(), texts_for);
        let family = maker.family(definition, set, &[])?;
        let candidate = family.candidate_or_last(promises)?;
        let checked = family.checked(candidate)?;
        let built = family.compile(checked, arch, &Cache::user())?;
        let text = layout_compiler::emit(checked).text;
        let (ptx, _) = nvrtc::nvrtc()?.ptx(&text, arch, layout_compiler::emit::flags(checked))?;
        let entry = layout_compiler::emit::entry_name(checked);
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
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SassError {
    /// There is no `nvdisasm`.
    NotFound {
        /// The files that were looked for.
        searched: Vec<PathBuf>,
        /// Programs of that name that are not run, and why.
        left_out: Vec<(PathBuf, Untrusted)>,
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
            SassError::NotFound { searched, left_out } => {
                write!(
                    f,
                    "no nvdisasm in {} places; install it with `pip install --target target/nvdisasm nvidia-cuda-nvdisasm` \
                     in the workspace or with the CUDA toolkit, or name it in NVDISASM",
                    searched.len()
                )?;
                left_out
                    .iter()
                    .try_for_each(|(file, why)| write!(f, "\n  {} is not run: {why}", file.display()))
            }
            SassError::Failed { program, why } => write!(f, "{} failed: {why}", program.display()),
        }
    }
}

impl std::error::Error for SassError {}

/// The text of `nvdisasm` of a CUBIN. The program is what `NVDISASM` names, or it is looked for under `target/nvdisasm` of the
/// packages that Cargo runs this one for, in `PATH` and in the CUDA toolkit's folder, where they are [`trusted`].
///
/// # Errors
/// [`SassError`].
pub fn disassemble(cubin: &[u8]) -> std::result::Result<String, SassError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let program = program(&|name| std::env::var_os(name))?;
    let failed = |why: String| SassError::Failed { program: program.clone(), why };
    let name = format!("layout-sass-{}-{}.cubin", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let file = std::env::temp_dir().join(name);
    // A new file: others may write the folder, and put a link there under any name.
    let written = std::fs::File::create_new(&file).and_then(|mut file| file.write_all(cubin));
    written.map_err(|error| failed(format!("{}: {error}", file.display())))?;
    let output = Command::new(&program).arg("-c").arg(&file).output();
    // A file that stays in the folder for temporary ones is no news.
    let _ = std::fs::remove_file(&file);
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

fn program(variable: &dyn Fn(&str) -> Option<OsString>) -> std::result::Result<PathBuf, SassError> {
    const FILE: &str = if cfg!(windows) { "nvdisasm.exe" } else { "nvdisasm" };
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut searched: Vec<PathBuf> = path("NVDISASM").into_iter().collect();
    if let Some(named) = searched.iter().find(|file| file.is_file()) {
        return Ok(named.clone());
    }
    let packages = trusted::packages(path("CARGO_MANIFEST_DIR"));
    searched.extend(packages.iter().map(|folder| folder.join("target/nvdisasm/nvidia/cu13/bin").join(FILE)));
    searched
        .extend(std::env::split_paths(&variable("PATH").unwrap_or_default()).map(|folder| folder.join(FILE)));
    searched.push(PathBuf::from("/usr/local/cuda/bin").join(FILE));
    let mut left_out = Vec::new();
    for file in searched.iter().filter(|file| file.is_file()) {
        match trusted::refusal(file) {
            // Without links, which others could turn.
            None => return Ok(std::fs::canonicalize(file).unwrap_or(file.clone())),
            Some(why) => left_out.push((file.clone(), why)),
        }
    }
    Err(SassError::NotFound { searched, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kernels::scale_add;

    #[test]
    fn every_form_is_of_the_same_function() {
        let set = ParamSet::default().with("THREADS", layout_compiler::ParamValue::Int(256));
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

    #[cfg(unix)]
    #[test]
    fn a_program_that_others_may_have_put_there_is_not_run() {
        use std::os::unix::fs::PermissionsExt;
        let folder = crate::test_folder::TestFolder::new("nvdisasm");
        let file = folder.path().join("target/nvdisasm/nvidia/cu13/bin/nvdisasm");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        std::fs::write(&file, b"").expect("a file");
        std::fs::write(folder.path().join("Cargo.toml"), b"").expect("a file");
        let bin = file.parent().expect("a folder").to_path_buf();
        let of = |name: &'static str, value: PathBuf| {
            program(&move |own| (own == name).then(|| value.clone().into_os_string()))
        };
        assert_eq!(of("NVDISASM", file.clone()), Ok(file.clone()));
        assert_eq!(of("CARGO_MANIFEST_DIR", folder.path().to_path_buf()), Ok(file.clone()));
        assert_eq!(of("PATH", bin.clone()), Ok(file.clone()));
        std::fs::set_permissions(&bin, std::fs::Permissions::from_mode(0o777)).expect("own folder");
        for (name, value) in [("CARGO_MANIFEST_DIR", folder.path().to_path_buf()), ("PATH", bin.clone())] {
            // A toolkit's own may be there.
            match of(name, value) {
                Ok(other) => assert!(!other.starts_with(folder.path()), "{}", other.display()),
                Err(error) => assert!(error.to_string().contains("other users may write"), "{error}"),
            }
        }
    }
}
