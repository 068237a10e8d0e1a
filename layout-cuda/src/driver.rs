//! The CUDA driver behind a guard: cudarc panics where there is none, so every call of it begins here.
//!
//! Law: no call of cudarc's driver is made before [`ready`] has said `Ok`; a `DriverError` of cudarc is never
//! formatted (formatting calls into the driver), but turned into [`DriverError`] at once.

use std::fmt;
use std::sync::OnceLock;

use cudarc::driver::{result, sys};

pub use crate::assertion::FailedAssertion;
use crate::loader;

/// The oldest driver whose functions are all there, as a CUDA version.
pub const OLDEST: (u32, u32) = (12, 0);

/// A driver that failed, is missing, or is too old.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriverError {
    /// No driver library (`libcuda.so.1`, `nvcuda.dll`) can be loaded.
    Missing {
        /// The loader's words.
        why: String,
    },
    /// The driver is older than what was asked of it needs.
    TooOld {
        /// Its CUDA version.
        version: (u32, u32),
        /// The oldest that will do.
        needed: (u32, u32),
    },
    /// There are fewer GPUs than that.
    NoSuchDevice {
        /// What was asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// A call failed.
    Call {
        /// What was done, such as `cuLaunchKernel`.
        call: &'static str,
        /// The driver's status.
        code: u32,
        /// Its name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
    },
    /// An assertion failed in a kernel, and stopped it.
    Assertion(Box<FailedAssertion>),
}

impl DriverError {
    /// Whether the device had too little memory.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, DriverError::Call { code, .. } if *code == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32)
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverError::Missing { why } => {
                write!(f, "no CUDA driver ({why}); install NVIDIA's, or stay with the simulator")
            }
            DriverError::TooOld { version, needed } => write!(
                f,
                "the driver is of CUDA {}.{}, older than {}.{}; install a newer one, or stay with the simulator",
                version.0, version.1, needed.0, needed.1
            ),
            DriverError::NoSuchDevice { ordinal, count } => {
                write!(f, "there is no GPU {ordinal}: the driver sees {count}; see also CUDA_VISIBLE_DEVICES")
            }
            DriverError::Call { call, code, name } => {
                write!(f, "{call} failed with {name} ({code})")
            }
            DriverError::Assertion(failed) => failed.fmt(f),
        }
    }
}

impl std::error::Error for DriverError {}

/// The names that cudarc, too, finds the driver by. On Windows it is the system's own file: by its bare name it may be one of the working
/// folder.
fn names(windows: Option<std::ffi::OsString>) -> Vec<String> {
    match windows {
        Some(root) => vec![format!("{}\\System32\\nvcuda.dll", root.to_string_lossy())],
        None => ["libcuda.so.1", "libcuda.so"].map(str::to_owned).to_vec(),
    }
}

/// Whether the driver is there, can be initialised, and is new enough. Looked at once.
///
/// # Errors
/// [`DriverError::Missing`], [`DriverError::TooOld`], or the failure of `cuInit`.
pub fn ready() -> Result<(), DriverError> {
    static READY: OnceLock<Result<(), DriverError>> = OnceLock::new();
    READY.get_or_init(init).clone()
}

fn init() -> Result<(), DriverError> {
    load()?;
    check("cuInit", result::init())?;
    let version = version()?;
    if version < OLDEST {
        return Err(DriverError::TooOld { version, needed: OLDEST });
    }
    Ok(())
}

/// Loads the library.
fn load() -> Result<(), DriverError> {
    static LOADED: OnceLock<Result<(), String>> = OnceLock::new();
    let open = || {
        let root = || std::env::var_os("SystemRoot").unwrap_or_else(|| "C:\\Windows".into());
        let names = names(cfg!(windows).then(root));
        let mut tries = names.iter().map(|name| loader::load(name).map(drop));
        let first = tries.next().unwrap_or(Ok(()));
        first.or_else(|why| tries.find(Result::is_ok).unwrap_or(Err(why)))
    };
    let loaded = LOADED.get_or_init(open).clone();
    loaded.map_err(|why| DriverError::Missing { why })
}

/// The CUDA version that the driver is of, `(major, minor)`. Needs a driver, but no GPU.
///
/// # Errors
/// [`DriverError::Missing`], or the failure of the call.
pub fn version() -> Result<(u32, u32), DriverError> {
    load()?;
    let mut version = 0;
    // SAFETY: the driver is loaded, and the pointer is to a live integer.
    let status = unsafe { sys::cuDriverGetVersion(&mut version) };
    check("cuDriverGetVersion", status.result())?;
    let version = u32::try_from(version).unwrap_or(0);
    Ok((version / 1000, version % 1000 / 10))
}

/// How many GPUs the driver sees.
///
/// # Errors
/// As [`ready`], or the failure of the call.
pub fn device_count() -> Result<usize, DriverError> {
    ready()?;
    let count = check("cuDeviceGetCount", result::device::get_count())?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Turns cudarc's error into ours without formatting it.
pub(crate) fn check<T>(call: &'static str, result: Result<T, result::DriverError>) -> Result<T, DriverError> {
    result.map_err(|error| failure(call, error))
}

/// The same for an error in hand.
#[cold]
pub(crate) fn failure(call: &'static str, error: result::DriverError) -> DriverError {
    if let Some(failed) = crate::assertion::behind(error.0) {
        return DriverError::Assertion(Box::new(failed));
    }
    DriverError::Call {
        call,
        code: error.0 as u32,
        name: format!("{:?}", error.0), // the status's own Debug, which calls nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_named_without_a_driver() {
        let error = failure("cuLaunchKernel", result::DriverError(sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
        assert_eq!(error.to_string(), "cuLaunchKernel failed with CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    }

    #[test]
    fn the_driver_of_windows_is_the_systems_own() {
        assert_eq!(names(Some("D:\\Win".into())), ["D:\\Win\\System32\\nvcuda.dll"]);
        assert_eq!(names(None), ["libcuda.so.1", "libcuda.so"]);
    }

    #[test]
    fn without_a_driver_every_question_is_answered() {
        // With a driver the same questions succeed; which of the two is the machine's affair, that they agree is ours.
        match (ready(), version(), device_count()) {
            (Ok(()), Ok(version), Ok(_)) => assert!(version >= OLDEST),
            (Err(error), _, Err(counted)) => assert_eq!(error, counted),
            other => panic!("{other:?}"),
        }
    }
}
