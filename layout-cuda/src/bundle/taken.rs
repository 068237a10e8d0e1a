//! The bundles of this process.
//!
//! Law: a bundle that was taken stays. Of several bundles the first that has the code is used.

use super::{Bundle, BundleError, Entry, format};
use layout_compiler::Arch;
use std::sync::{Mutex, PoisonError};

/// The list is only ever pushed to, so that it is whole even if a holder of the lock panicked.
static TAKEN: Mutex<Vec<&'static Bundle>> = Mutex::new(Vec::new());

fn taken() -> Vec<&'static Bundle> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// From now on kernels that a launch needs for the first time are looked up in this bundle before NVRTC is asked. Say it
/// before the first [`Device`](crate::Device): with a bundle [`Device::best`](crate::Device::best) takes a GPU also where
/// there is no NVRTC.
///
/// # Errors
/// [`BundleError::Damaged`]: these are no bundle's bytes, or not all of them.
///
/// # Safety
/// - A [`Recipe`](super::Recipe) of a build that the program trusts made these bytes: its device code runs as it is. A bundle's
///   hashes find damage and other texts, not code that was put under a text's hash on purpose, which on the GPU could read and
///   write all of this process's memory.
///
/// ```
/// use layout_cuda::bundle;
/// // SAFETY: it is refused, so nothing of it runs.
/// let error = unsafe { bundle::take(b"something else") }.expect_err("no bundle");
/// assert!(error.to_string().contains("the first line is not `layout-cuda bundle 1`"));
/// ```
pub unsafe fn take(bytes: &'static [u8]) -> Result<(), BundleError> {
    let bundle = Box::leak(Box::new(Bundle::read(bytes)?));
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).push(bundle);
    Ok(())
}

/// Whether there is any.
pub(crate) fn is_taken() -> bool {
    !taken().is_empty()
}

/// The bundle and its entry for a text, its flags and a device of this architecture.
pub(crate) fn find(text: &str, flags: &[&str], device: &str) -> Option<(&'static Bundle, &'static Entry)> {
    let bundles = taken();
    if bundles.is_empty() {
        return None;
    }
    let (key, device) = (format::key(text, flags), device.parse::<Arch>().ok()?);
    bundles.into_iter().find_map(|bundle| Some((bundle, bundle.find(key, device)?)))
}

/// What the bundles have of a kernel, in words: of this text for other architectures, or of another text.
pub(crate) fn held(text: &str, flags: &[&str], entry: &str) -> String {
    let key = format::key(text, flags);
    let all = taken();
    let entries = || all.iter().flat_map(|bundle| bundle.entries());
    let names = |entries: Vec<&Entry>| {
        let kind = |ptx| if ptx { " (PTX)" } else { "" };
        entries
            .iter()
            .map(|entry| format!("{}{}", entry.arch, kind(entry.ptx)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let own: Vec<&Entry> = entries().filter(|entry| entry.key == key).collect();
    if !own.is_empty() {
        return format!("the bundle has it for {}: name this architecture in the recipe", names(own));
    }
    let stale: Vec<&Entry> = entries().filter(|other| other.entry == entry).collect();
    if !stale.is_empty() {
        return format!(
            "the bundle has another text of it, for {}: it is older than the program, make it anew",
            names(stale)
        );
    }
    "the bundle does not have it: name its parameter set in the recipe".to_owned()
}
