//! Kernels made ready ahead of a launch, and what they use: for warm starts, tables and tuners.
//!
//! Law: [`crate::launch()`] of the same definition, device and set finds ready what was prepared here.

use std::sync::Arc;

use cudarc::driver::sys::CUfunction_attribute_enum as Attribute;
use layout_compiler::{Definition, ParamSet, Promises};

use crate::cache::CacheError;
use crate::device::Device;
use crate::driver::check;
use crate::error::Result;
use crate::functions::{Candidate, KernelInstance};
use crate::nvrtc::Resources;

/// A kernel for one parameter set and one set of promises, ready on a device.
#[derive(Clone)]
pub struct Prepared {
    family: Arc<KernelInstance>,
    candidate: usize,
    device: Device,
}

/// What a kernel uses on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The name of the CUDA function.
    pub entry: String,
    /// Threads of a block.
    pub threads: u32,
    /// 32-bit registers a thread.
    pub registers: u32,
    /// Bytes of local memory a thread: stack and spilled registers.
    pub local_bytes: u32,
    /// Bytes of shared memory a block, with a declared size or asked for at launch.
    pub shared_bytes: u32,
    /// Blocks that a multiprocessor holds at once.
    pub blocks_per_multiprocessor: u32,
    /// Clusters that the device holds at once; blocks where a cluster is one. A cluster is in one GPC, whose multiprocessors it need
    /// not divide: of sixteen blocks each 132 multiprocessors may hold seven clusters or eight, as the device was made.
    pub clusters_at_once: u32,
    /// What ptxas counted, where its log was read: the spills among it.
    pub compiled: Option<Resources>,
}

impl Usage {
    /// Warps that a multiprocessor holds at once.
    pub fn warps_per_multiprocessor(&self) -> u32 {
        self.blocks_per_multiprocessor * self.threads.div_ceil(32)
    }
}

/// The kernels of a definition and set that launches, or [`prepare`], have made ready on a device so far: those that
/// the shapes and alignments asked for, in the order in which a launch tries them.
///
/// # Errors
/// [`crate::LaunchError`] for a set that the kernel does not allow.
pub fn prepared(
    definition: &'static Definition,
    device: &Device,
    set: Option<&ParamSet>,
) -> Result<Vec<Prepared>> {
    let family = device.functions().family(definition, set, &[])?;
    let ready = |candidate: &usize| family.candidates[*candidate].is_ready(device.is_simulator());
    let ready: Vec<usize> = (0..family.candidates.len()).filter(ready).collect();
    let prepared = |candidate| Prepared { family: family.clone(), candidate, device: device.clone() };
    Ok(ready.into_iter().map(prepared).collect())
}

/// Makes a kernel ready: specialised, checked, and on a GPU compiled and loaded. What the set
/// leaves out is the attribute's: of its sets the first that has these values. Promises that the kernel has no candidate for (a `variant_if` that it does not have) count as none.
///
/// # Errors
/// [`crate::LaunchError`], or an error of NVRTC or of the driver.
pub fn prepare(
    definition: &'static Definition,
    device: &Device,
    set: Option<&ParamSet>,
    promises: Promises,
) -> Result<Prepared> {
    let family = device.functions().family(definition, set, &[])?;
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
        Ok(layout_compiler::emit(checked).text)
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

    /// What it uses, as ptxas and the driver say; `None` on the simulator.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn usage(&self) -> Result<Option<Usage>> {
        if self.device.is_simulator() {
            return Ok(None);
        }
        let checked = self.family.checked(self.candidate())?;
        let code = self.family.code(self.candidate(), &self.device)?;
        let attribute = |attribute| {
            let value = check("cuFuncGetAttribute", code.function.get_attribute(attribute))?;
            Ok::<u32, crate::Error>(u32::try_from(value).unwrap_or(0))
        };
        let threads = checked.plan().block.iter().product();
        let dynamic = code.dynamic_shared_bytes;
        let blocks =
            code.function.occupancy_max_active_blocks_per_multiprocessor(threads, dynamic as usize, None);
        if let Some(context) = self.device.context() {
            check("cuCtxSetCurrent", context.bind_to_thread())?;
        }
        let (plan, stream) = (checked.plan(), self.device.stream());
        let shapes = [plan.cluster, plan.block];
        let clusters = match stream.cuda() {
            Some(stream) => crate::module::clusters_at_once(&code.function, shapes, dynamic, stream)?,
            None => 0,
        };
        Ok(Some(Usage {
            entry: layout_compiler::emit::entry_name(checked),
            threads,
            registers: attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            shared_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? + dynamic,
            blocks_per_multiprocessor: check("cuOccupancyMaxActiveBlocksPerMultiprocessor", blocks)?,
            clusters_at_once: clusters,
            compiled: code.resources.clone(),
        }))
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
