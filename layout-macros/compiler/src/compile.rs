//! All stages in one call.

use super::check::{Checked, check};
use super::ir::Kernel;
use super::origin::Errors;
use super::params::{ParamSet, Promises};
use super::specialise::specialise;

/// [`specialise`](super::specialise()), then [`check`], then what the kernel's `deny` and `certified` refuse.
///
/// # Errors
/// Those of the stage that fails.
pub fn compile(kernel: &Kernel, params: &ParamSet, promises: Promises) -> Result<Checked, Errors> {
    let checked = check(&specialise(kernel, params, promises)?)?;
    super::explain::refuse(&checked)?;
    super::certify::refuse(&checked)?;
    Ok(checked)
}
