//! Kernels made ready ahead of a launch, and what they use: for warm starts, tables and tuners.
//!
//! Law: what is prepared here is what [`crate::launch()`] of the same definition, device and set finds ready.

use std::sync::Arc;

use layout_core::kernel::{Definition, ParamSet, Promises};

use crate::cache::CacheError;
use crate::device::Device;
use crate::error::Result;
use crate::functions::{Candidate, Family};
use crate::nvrtc::Resources;

/// A kernel for one parameter set and one set of promises, ready on a device.
#[derive(Clone)]
pub struct Prepared {
    family: Arc<Family>,
    candidate: usize,
    device: Device,
}

/// Makes a kernel ready: specialised, checked, and on a GPU compiled and loaded. Without a set it is the attribute's
/// first. Promises that the kernel has no candidate for (a `variant_if` that it does not have) count as none.
///
/// # Errors
/// [`crate::LaunchError`], or an error of NVRTC or of the driver.
pub fn prepare(
    definition: &'static Definition,
    device: &Device,
    set: Option<&ParamSet>,
    promises: Promises,
) -> Result<Prepared> {
    let family = device.functions().family(definition, set)?;
    let position = family.candidates.iter().position(|candidate| candidate.promises == promises);
    let last = family.candidates.len().saturating_sub(1);
    let prepared = Prepared { family, candidate: position.unwrap_or(last), device: device.clone() };
    prepared.family.checked(prepared.candidate())?;
    if !device.is_simulator() {
        let code = prepared.family.code(prepared.candidate(), device)?;
        prepared.family.refuse_slow(&code.slow_paths)?;
    }
    Ok(prepared)
}

impl Prepared {
    fn candidate(&self) -> &Candidate {
        &self.family.candidates[self.candidate]
    }

    /// What it relies on.
    pub fn promises(&self) -> Promises {
        self.candidate().promises
    }

    /// Its CUDA C.
    ///
    /// # Errors
    /// None after [`prepare`] has succeeded.
    pub fn text(&self) -> Result<String> {
        let checked = self.family.checked(self.candidate())?;
        Ok(self.family.text(self.promises(), checked).0)
    }

    /// What it uses, as ptxas counted; `None` on the simulator.
    ///
    /// # Errors
    /// None after [`prepare`] has succeeded.
    pub fn resources(&self) -> Result<Option<Resources>> {
        if self.device.is_simulator() {
            return Ok(None);
        }
        Ok(self.family.code(self.candidate(), &self.device)?.resources.clone())
    }

    /// Why the cache did not take its code, where it did not.
    ///
    /// # Errors
    /// None after [`prepare`] has succeeded.
    pub fn cache_note(&self) -> Result<Option<CacheError>> {
        if self.device.is_simulator() {
            return Ok(None);
        }
        Ok(self.family.code(self.candidate(), &self.device)?.note.clone())
    }
}
