//! The loaded NVRTC: its function table, looked up once.
//!
//! The table is our own and not cudarc's, for three reasons: the library is the very file that the search chose (a
//! bare name could find another version first), a missing symbol is an error and not a panic, and status codes are
//! plain numbers, so that a newer NVRTC's unknown code is no undefined behaviour.

use layout_compiler::Arch;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use crate::loader;

use super::search::Found;
use super::{Compiled, NvrtcError, resources};

type Program = *mut c_void;

/// NVRTC, loaded. It stays loaded until the process ends.
pub struct Nvrtc {
    library: PathBuf,
    identity: String,
    version: (u32, u32),
    architectures: Vec<u32>,
    table: Table,
}

/// Every function takes a program that `create` gave and `destroy` has not had yet.
struct Table {
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    log: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    cubin_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    cubin: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    ptx_size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    ptx: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// The first version known to take `--no-cache`.
const NO_CACHE: (u32, u32) = (13, 0);
const SUCCESS: c_int = 0;
const COMPILATION_FAILED: c_int = 6;

/// Bytes of stack for NVRTC, which recurses over the text: as many as a program's first thread has, where Rust's others have
/// 2 MiB.
const STACK: usize = 8 << 20;

/// The names that the system's loader is asked for where the search finds nothing.
pub const BARE_NAMES: [&str; 4] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "nvrtc64_130_0.dll"];

/// The result of some work, done by a thread with [`STACK`]; by this thread where the system starts no other.
fn with_stack<T: Send>(work: impl Fn() -> T + Sync) -> T {
    std::thread::scope(|scope| {
        match std::thread::Builder::new().name("nvrtc".into()).stack_size(STACK).spawn_scoped(scope, &work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => work(),
        }
    })
}

impl Nvrtc {
    /// Loads the library at `found`, its builtins first.
    ///
    /// # Errors
    /// What the system's loader says, as text: the file is no library, or it lacks a function.
    pub fn load(found: &Found) -> Result<Nvrtc, String> {
        if let Some(builtins) = &found.builtins {
            // NVRTC opens its builtins by a bare name at the first compilation; one loaded already is found by that name.
            loader::load(builtins)?;
        }
        Nvrtc::open(&found.library, Some(found.identity()))
    }

    /// Loads the library that the system's loader knows by `name`.
    ///
    /// # Errors
    /// As [`Nvrtc::load`].
    pub fn load_bare(name: &str) -> Result<Nvrtc, String> {
        Nvrtc::open(Path::new(name), None)
    }

    fn open(path: &Path, identity: Option<String>) -> Result<Nvrtc, String> {
        let library = loader::load(path)?;
        // SAFETY: the types are those of nvrtc.h for these names, unchanged since CUDA 11.2.
        let (table, get_version, count, list) = unsafe {
            let table = Table {
                create: loader::function(library, c"nvrtcCreateProgram")?,
                compile: loader::function(library, c"nvrtcCompileProgram")?,
                destroy: loader::function(library, c"nvrtcDestroyProgram")?,
                log_size: loader::function(library, c"nvrtcGetProgramLogSize")?,
                log: loader::function(library, c"nvrtcGetProgramLog")?,
                cubin_size: loader::function(library, c"nvrtcGetCUBINSize")?,
                cubin: loader::function(library, c"nvrtcGetCUBIN")?,
                ptx_size: loader::function(library, c"nvrtcGetPTXSize")?,
                ptx: loader::function(library, c"nvrtcGetPTX")?,
                error_string: loader::function(library, c"nvrtcGetErrorString")?,
            };
            let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
                loader::function(library, c"nvrtcVersion")?;
            let count: unsafe extern "C" fn(*mut c_int) -> c_int =
                loader::function(library, c"nvrtcGetNumSupportedArchs")?;
            let list: unsafe extern "C" fn(*mut c_int) -> c_int =
                loader::function(library, c"nvrtcGetSupportedArchs")?;
            (table, version, count, list)
        };

        let (mut major, mut minor, mut architectures_count) = (0, 0, 0);
        // SAFETY: both pointers are to live integers.
        let status = unsafe { get_version(&mut major, &mut minor) };
        // SAFETY: as above.
        let counted = unsafe { count(&mut architectures_count) };
        let mut architectures = vec![0; usize::try_from(architectures_count).unwrap_or(0)];
        // SAFETY: the list has as many elements as the library has just said that it writes.
        let listed = unsafe { list(architectures.as_mut_ptr()) };
        if [status, counted, listed] != [SUCCESS; 3] {
            return Err(format!(
                "nvrtcVersion or nvrtcGetSupportedArchs failed: {status}, {counted}, {listed}"
            ));
        }
        let number = |number: c_int| u32::try_from(number).unwrap_or(0);
        Ok(Nvrtc {
            library: path.to_path_buf(),
            identity: identity.unwrap_or(format!("{} {major}.{minor}", path.display())),
            version: (number(major), number(minor)),
            architectures: architectures.into_iter().map(number).collect(),
            table,
        })
    }

    /// The file that was loaded, or the bare name that the system's loader knew.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// What [`super::identity`] says where this is the library that it means.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// NVRTC's version, `(major, minor)`.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The compute capabilities that it compiles for, such as 80 and 90.
    pub fn architectures(&self) -> &[u32] {
        &self.architectures
    }

    /// Compiles `text` for `arch` (a real architecture: `sm_80`, `sm_90a`) with more `flags`.
    ///
    /// # Errors
    /// [`NvrtcError::UnsupportedArch`], [`NvrtcError::NulInText`], [`NvrtcError::Compile`] with NVRTC's log, or
    /// [`NvrtcError::Call`] for any other status.
    pub fn compile(&self, text: &str, arch: &str, flags: &[&str]) -> Result<Compiled, NvrtcError> {
        with_stack(|| self.compile_here(text, arch, flags))
    }

    fn compile_here(&self, text: &str, arch: &str, flags: &[&str]) -> Result<Compiled, NvrtcError> {
        let (program, log) = self.program(text, arch, flags)?;
        let mut size = 0;
        // SAFETY: the program is live and the pointer is to a live integer.
        let status = unsafe { (self.table.cubin_size)(program.program, &mut size) };
        self.check("nvrtcGetCUBINSize", status)?;
        let mut cubin = vec![0u8; size];
        // SAFETY: the buffer has the size that NVRTC has just returned.
        let status = unsafe { (self.table.cubin)(program.program, cubin.as_mut_ptr().cast()) };
        self.check("nvrtcGetCUBIN", status)?;
        Ok(Compiled { cubin, resources: resources::parse(&log), log })
    }

    /// The PTX of `text` by `flags` with the text's lines in it, and the log, whose "around line" is a line of this PTX.
    ///
    /// # Errors
    /// As [`Nvrtc::compile`].
    pub fn ptx_with_lines(
        &self,
        text: &str,
        arch: &str,
        flags: &[&str],
    ) -> Result<(String, String), NvrtcError> {
        self.ptx(text, arch, &[flags, &["-lineinfo"]].concat())
    }

    /// The PTX of `text`, and the log.
    ///
    /// # Errors
    /// As [`Nvrtc::compile`].
    pub fn ptx(&self, text: &str, arch: &str, flags: &[&str]) -> Result<(String, String), NvrtcError> {
        with_stack(|| self.ptx_here(text, arch, flags))
    }

    fn ptx_here(&self, text: &str, arch: &str, flags: &[&str]) -> Result<(String, String), NvrtcError> {
        let (program, log) = self.program(text, arch, flags)?;
        let mut size = 0;
        // SAFETY: the program is live and the pointer is to a live integer.
        let status = unsafe { (self.table.ptx_size)(program.program, &mut size) };
        self.check("nvrtcGetPTXSize", status)?;
        let mut ptx = vec![0u8; size];
        // SAFETY: the buffer has the size that NVRTC has just returned.
        let status = unsafe { (self.table.ptx)(program.program, ptx.as_mut_ptr().cast()) };
        self.check("nvrtcGetPTX", status)?;
        while ptx.last() == Some(&0) {
            ptx.pop();
        }
        Ok((String::from_utf8_lossy(&ptx).into_owned(), log))
    }

    /// A program that has been compiled, and its log.
    fn program(
        &self,
        text: &str,
        arch: &str,
        flags: &[&str],
    ) -> Result<(OwnedProgram<'_>, String), NvrtcError> {
        // A virtual architecture has no CUBIN, so it is none here.
        let known = arch.parse::<Arch>();
        let supported = known.is_ok_and(|arch| self.architectures.contains(&arch.number));
        if !supported {
            return Err(NvrtcError::UnsupportedArch {
                arch: arch.to_string(),
                version: self.version,
                supported: self.architectures.clone(),
            });
        }
        let c_text = c_string(text)?;
        let mut options = vec![c_string(&format!("--gpu-architecture={arch}"))?];
        for flag in super::FLAGS.iter().chain(flags) {
            options.push(c_string(flag)?);
        }
        // NVRTC's own cache, which works where there is a driver, gives no log on a hit, and so no resources.
        if self.version >= NO_CACHE {
            options.push(c_string("--no-cache")?);
        }
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);

        let mut program = OwnedProgram { program: ptr::null_mut(), table: &self.table };
        // SAFETY: the text and its name end in NUL and live until the end of this function; there are no headers.
        let status = unsafe {
            (self.table.create)(
                &mut program.program,
                c_text.as_ptr(),
                c"kernel.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        self.check("nvrtcCreateProgram", status)?;
        // SAFETY: the program is live; `pointers` holds `count` strings that end in NUL and live in `options`.
        let status = unsafe { (self.table.compile)(program.program, count, pointers.as_ptr()) };
        let log = self.text(&program)?;
        if status == COMPILATION_FAILED {
            return Err(NvrtcError::Compile { arch: arch.to_string(), log });
        }
        self.check("nvrtcCompileProgram", status)?;
        Ok((program, log))
    }

    /// The program's log, without the NUL at its end.
    fn text(&self, program: &OwnedProgram<'_>) -> Result<String, NvrtcError> {
        let mut size = 0;
        // SAFETY: the program is live and the pointer is to a live integer.
        let status = unsafe { (self.table.log_size)(program.program, &mut size) };
        self.check("nvrtcGetProgramLogSize", status)?;
        let mut log = vec![0u8; size];
        // SAFETY: the buffer has the size that NVRTC has just returned.
        let status = unsafe { (self.table.log)(program.program, log.as_mut_ptr().cast()) };
        self.check("nvrtcGetProgramLog", status)?;
        while log.last() == Some(&0) {
            log.pop();
        }
        // How long ptxas took is the one thing in a log that two runs do not agree on.
        let log = String::from_utf8_lossy(&log);
        let timeless = log.split_inclusive('\n').filter(|line| !line.contains(": Compile time = "));
        Ok(timeless.collect())
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), NvrtcError> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: NVRTC gives a static string for every code, "NVRTC_ERROR unknown" for those it does not know.
        let name = unsafe { CStr::from_ptr((self.table.error_string)(code)) };
        Err(NvrtcError::Call { call, code, name: name.to_string_lossy().into_owned() })
    }
}

/// A program that is destroyed on every way out.
struct OwnedProgram<'a> {
    program: Program,
    table: &'a Table,
}

impl Drop for OwnedProgram<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: the program came from nvrtcCreateProgram and is destroyed once. A failure to free is ignored:
            // no caller can receive it, and the result is already copied.
            unsafe { (self.table.destroy)(&mut self.program) };
        }
    }
}

fn c_string(text: &str) -> Result<CString, NvrtcError> {
    CString::new(text).map_err(|error| NvrtcError::NulInText { position: error.nul_position() })
}
