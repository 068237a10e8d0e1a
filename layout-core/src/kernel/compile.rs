//! All stages in one call.

use super::check::{Checked, check};
use super::ir::Kernel;
use super::origin::Errors;
use super::params::{ParamSet, Promises};
use super::specialise::specialise;

/// [`specialise`](super::specialise()), then [`check`], then what the kernel's `deny` refuses.
///
/// # Errors
/// Those of the stage that fails.
///
/// ```
/// # use layout_core::kernel::{ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// let kernel = double::DEFINITION.kernel()?;
/// // Any set will do, also one that the attribute does not list.
/// let set = ParamSet(vec![("B".into(), ParamValue::Int(64))]);
/// assert_eq!(compile(&kernel, &set, Promises::USUAL)?.entry(), "double_B64");
/// let set = ParamSet(vec![("B".into(), ParamValue::Int(2048))]);
/// assert!(compile(&kernel, &set, Promises::USUAL).is_err()); // more threads than a block has
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compile(kernel: &Kernel, params: &ParamSet, promises: Promises) -> Result<Checked, Errors> {
    let checked = check(&specialise(kernel, params, promises)?)?;
    super::explain::refuse(&checked)?;
    Ok(checked)
}
