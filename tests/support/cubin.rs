//! Texts compiled by NVRTC, each once for all tests of a run.
//!
//! Law: the same text, architecture and flags give what `nvrtc::compile` gives.

use layout_core::kernel::{Kernel, ParamSet, Promises, compile, emit};
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

/// Asserts that a kernel's set becomes a CUBIN of Hopper without a slow path, a spill or a stack.
pub fn becomes_fast_code(kernel: &Kernel, set: &ParamSet) {
    let checked = compile(kernel, &kernel.choose(set, &[]).expect("its parameters"), Promises::USUAL);
    let source = emit(&checked.expect("a set of the kernel"));
    let compiled = compiled(&source.text, "sm_90a", source.flags).expect("NVRTC takes it");
    let slow = nvrtc::slow_paths(&source.text, "sm_90a", source.flags, &[], &compiled);
    let reasons: Vec<String> = slow.iter().map(|path| path.reason.to_string()).collect();
    assert!(reasons.is_empty(), "{} {}: {reasons:?}", kernel.name, set.key());
    let spilt = compiled.resources.iter().any(|used| used.spill_stores + used.spill_loads + used.stack > 0);
    assert!(!spilt, "{} {}: {:?}", kernel.name, set.key(), compiled.resources);
}
