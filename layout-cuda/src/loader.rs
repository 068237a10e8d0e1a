//! Shared libraries of NVIDIA's: loaded once, never unloaded, their functions looked up by name.
//!
//! Law: a library or a function that is not there is an error in the loader's own words, never a panic.

use std::error::Error;
use std::ffi::CStr;
use std::path::Path;

use libloading::Library;

/// Loads a library and leaves it loaded until the process ends.
///
/// # Errors
/// The loader's words.
pub(crate) fn load(path: impl AsRef<Path>) -> Result<&'static Library, String> {
    if cfg!(miri) {
        return Err(format!("{}: Miri loads no libraries", path.as_ref().display()));
    }
    // SAFETY: loading runs the library's initialisers, as a program that uses CUDA wants. The callers load the driver and NVRTC only:
    // by the names that the system's loader has them under, from places that nobody but this user and the administrator can write
    // (`nvrtc::search` leaves out the others), or from the place that the user named.
    let library = unsafe { Library::new(path.as_ref()) };
    library.map(|library| &*Box::leak(Box::new(library))).map_err(|error| words(&error))
}

/// Looks a function up.
///
/// # Errors
/// The loader's words.
///
/// # Safety
/// - `T` is the type of the function that `name` is for.
pub(crate) unsafe fn function<T: Copy>(library: &'static Library, name: &CStr) -> Result<T, String> {
    // SAFETY: as the caller promises; the library is never unloaded.
    let symbol = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    symbol.map(|symbol| *symbol).map_err(|error| words(&error))
}

/// The system's own words where libloading has them, which its message leaves out.
fn words(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| source.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named() {
        let error = load("libno-such-library.so.7").expect_err("no such library");
        assert!(error.contains("libno-such-library.so.7"), "{error}");
    }
}
