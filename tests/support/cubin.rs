//! Texts compiled by NVRTC, each once for all tests of a run.
//!
//! Law: the same text, architecture and flags give what `nvrtc::compile` gives.

use super::lock::{self, Subject};
use layout_compiler::{Arch, Definition, Kernel, ParamSet, Promises, compile, emit};
use layout_cuda::nvrtc::{self, Compiled, NvrtcError};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The architecture that a kernel names for a set, if it names one.
///
/// # Panics
/// Where it depends on the set and the set does not compile.
pub fn arch_of(kernel: &Kernel, set: &ParamSet) -> Option<Arch> {
    kernel.arch?;
    kernel.arch().or_else(|| compile(kernel, set, Promises::default()).expect("a set of the kernel").arch())
}

/// That of the kernel's first set.
///
/// # Panics
/// As [`arch_of`].
pub fn arch_of_first(definition: &Definition) -> Option<Arch> {
    let kernel = definition.kernel().expect("bytes of this version");
    arch_of(&kernel, &kernel.parameter_sets().swap_remove(0))
}

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

/// What a text with one entry costs on an architecture.
#[derive(Debug, PartialEq, Eq)]
pub struct Cost {
    /// 32-bit registers a thread.
    pub registers: u32,
    /// Bytes of spilled registers a thread, stored or loaded.
    pub spills: u32,
    /// Bytes of local memory a thread.
    pub stack: u32,
    /// Whether NVRTC warns of the text.
    pub warns: bool,
    /// The slow paths of Hopper's units, in words; empty where there are none.
    pub slow: String,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = if self.warns { "warns " } else { "" };
        write!(f, "{} {} {} {warning}{}", self.registers, self.spills, self.stack, self.slow)
    }
}

impl Cost {
    /// The cost that `tests/nvrtc.lock` has for the text, or that of its CUBIN.
    ///
    /// # Panics
    /// Where NVRTC refuses the text, or the row disagrees.
    pub fn of(entry: &str, text: &str, arch: &str, flags: &[&str]) -> Cost {
        let subject = Subject { kind: "cubin", entry, arch, text, flags };
        let fact = lock::fact(subject, || Cost::compiled(entry, text, arch, flags).to_string());
        let mut words = fact.splitn(4, ' ');
        let mut next = || words.next().and_then(|word| word.parse().ok()).expect("three numbers");
        let [registers, spills, stack] = [next(), next(), next()];
        let rest = words.next().unwrap_or_default();
        let warning = rest.strip_prefix("warns ");
        Cost { registers, spills, stack, warns: warning.is_some(), slow: warning.unwrap_or(rest).to_string() }
    }

    fn compiled(entry: &str, text: &str, arch: &str, flags: &[&str]) -> Cost {
        let compiled = compiled(text, arch, flags);
        let compiled = compiled.unwrap_or_else(|error| panic!("{entry} for {arch}: {error}\n{text}"));
        assert_eq!(&compiled.cubin[..4], b"\x7fELF", "{entry} for {arch}");
        let slow = nvrtc::slow_paths(text, arch, flags, &[], &compiled);
        let slow: Vec<String> = slow.iter().map(|path| path.reason.to_string()).collect();
        let [used] = compiled.resources.as_slice() else { panic!("{entry}: {:?}", compiled.resources) };
        assert_eq!(used.entry, entry);
        let spills = used.spill_stores.max(used.spill_loads);
        let warns = compiled.log.contains("warning");
        Cost { registers: used.registers, spills, stack: used.stack, warns, slow: slow.join("; ") }
    }
}

/// Asserts that a kernel's set becomes a CUBIN of Hopper without a slow path, a spill or a stack.
pub fn becomes_fast_code(kernel: &Kernel, set: &ParamSet) {
    becomes_fast_code_of(kernel, set, "sm_90a", 0);
}

/// The same for another architecture, with at most so many bytes spilled.
///
/// # Panics
/// As [`becomes_fast_code`].
pub fn becomes_fast_code_of(kernel: &Kernel, set: &ParamSet, arch: &str, spilled: u32) {
    let checked = compile(kernel, &kernel.choose(set, &[]).expect("its parameters"), Promises::USUAL);
    let source = emit(&checked.expect("a set of the kernel"));
    let cost = Cost::of(&source.entry, &source.text, arch, source.flags);
    let is_fast = cost.slow.is_empty() && cost.spills.max(cost.stack) <= spilled;
    assert!(is_fast, "{} {}: {cost:?}", kernel.name, set.key());
}
