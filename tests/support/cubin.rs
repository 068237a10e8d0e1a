//! Texts compiled by NVRTC, each once for all tests of a run.
//!
//! Law: the same text, architecture and flags give what `nvrtc::compile` gives.

use layout_cuda::nvrtc::{self, Compiled, NvrtcError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A text with its architecture and flags.
type Key = (String, String, Vec<String>);
/// What came of it, once somebody has compiled it.
type Slot = Arc<OnceLock<Result<Compiled, NvrtcError>>>;

/// Words for a bound that holds for one release of ptxas: which it is, and which was found. Another release may allocate
/// registers otherwise; then the bound is looked at again, and this release with it.
pub fn of_ptxas() -> String {
    let found = nvrtc::identity().unwrap_or_else(|error| error.to_string());
    format!("the bound is that of NVRTC 13.0.88's ptxas, this is {found}")
}

/// What NVRTC makes of a text; who asks for the same at the same time waits.
///
/// # Errors
/// Those of NVRTC.
pub fn compiled(text: &str, arch: &str, flags: &[&str]) -> Result<Compiled, NvrtcError> {
    static MADE: OnceLock<Mutex<HashMap<Key, Slot>>> = OnceLock::new();
    let key = (text.to_string(), arch.to_string(), flags.iter().map(|flag| flag.to_string()).collect());
    let made = MADE.get_or_init(Mutex::default);
    let slot = made.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
    slot.get_or_init(|| nvrtc::compile(text, arch, flags)).clone()
}
