//! The kernels that a device has ready. For each definition and parameter set these are its candidates: the kernel under
//! each set of promises, specialised and compiled when first needed.
//!
//! Law: a launch of what is ready takes one read lock, and allocates nothing here; two threads that need the same
//! kernel make it once.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, RwLock};

use cudarc::driver::CudaFunction;
use layout_compiler::emit::CudaSource;
use layout_compiler::ir::{ArgumentKind, TypeRef};
use layout_compiler::{
    Arch, Checked, Definition, Elem, Errors, Kernel, LaunchArgument, Need, ParamSet, ParamValue, Promises,
    emit,
};

use crate::cache::{Cache, CacheError};
use crate::compile::{Origin, compile_cached};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch_error::LaunchError;
use crate::module::Image;
use crate::nvrtc::{Compiled, NvrtcError, Resources, SlowPath, slow_paths};

/// Refuses arguments of different types where the kernel has one type for them, and nobody said which. rustc sees to it where it knows
/// the types.
fn same_types(kernel: &Kernel, asked: &ParamSet, arguments: &[LaunchArgument<'_>]) -> Result<()> {
    for (number, name) in kernel.types.iter().enumerate().filter(|(_, name)| asked.get(name).is_none()) {
        let given = kernel.arguments.iter().zip(arguments).filter_map(|(argument, given)| {
            let (ArgumentKind::Tensor { elem, .. } | ArgumentKind::Scalar(elem)) = &argument.kind;
            let own = matches!(elem, TypeRef::Parameter(own) if *own as usize == number);
            match given {
                LaunchArgument::Tensor { elem, .. } | LaunchArgument::Scalar(elem, _) if own => {
                    Some((argument.name.clone(), *elem))
                }
                _ => None,
            }
        });
        let given: Vec<(String, Elem)> = given.collect();
        let Some((_, first)) = given.first() else { continue };
        let Some(other) = given.iter().find(|(_, elem)| elem != first) else { continue };
        let parameter = kernel.parameters.iter().find(|parameter| parameter.name == *name);
        let values = parameter.map_or(&[][..], |parameter| &parameter.values);
        let listed: Vec<Elem> = values
            .iter()
            .filter_map(|value| match value {
                ParamValue::Type(elem) => Some(*elem),
                _ => None,
            })
            .collect();
        // Of two, the one whose type the attribute does not list.
        let (argument, found) =
            given.iter().find(|(_, elem)| !listed.contains(elem)).unwrap_or(other).clone();
        let beside = given.into_iter().find(|(_, elem)| *elem != found).map(Box::new);
        let Some(beside) = beside else { continue };
        let (kernel, parameter) = (kernel.name.clone(), name.clone());
        return Err(LaunchError::Types { kernel, parameter, listed, argument, found, beside }.into());
    }
    Ok(())
}

/// The ready kernels of one device, by the definition's address and the parameter set.
#[derive(Default)]
pub(crate) struct Functions {
    /// The device's architecture; `None` of the simulator that has all.
    arch: Option<Arch>,
    families: RwLock<BTreeMap<usize, Vec<Arc<KernelInstance>>>>,
    /// What launches that choose no set go by.
    #[cfg(feature = "tune")]
    tuned: RwLock<Option<Arc<crate::tune::Tuned>>>,
}

/// The kernels that are ready on the simulator, which is one device however often it is made.
pub(crate) fn on_simulator() -> &'static Functions {
    static FUNCTIONS: LazyLock<Functions> = LazyLock::new(Functions::default);
    &FUNCTIONS
}

/// The same in place of a GPU of an architecture. There are few architectures, and what is ready for one is kept.
pub(crate) fn on_simulator_of(arch: Arch) -> &'static Functions {
    static FUNCTIONS: Mutex<Vec<(Arch, &'static Functions)>> = Mutex::new(Vec::new());
    // The list is only ever pushed to, so that it is whole even if a holder of the lock panicked.
    let mut all = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, own)) = all.iter().find(|(known, _)| *known == arch) {
        return own;
    }
    let own: &'static Functions = Box::leak(Box::new(Functions::of(arch)));
    all.push((arch, own));
    own
}

/// Where texts for an architecture are made: those for [`Arch::BASELINE`] and later are the same.
pub(crate) fn texts_for(arch: Arch) -> &'static Functions {
    if arch.includes(Arch::BASELINE) { on_simulator() } else { on_simulator_of(arch) }
}

/// A kernel for one parameter set, on one device.
pub(crate) struct KernelInstance {
    pub(crate) definition: &'static Definition,
    /// The device's architecture; `None` of the simulator that has all.
    pub(crate) arch: Option<Arch>,
    /// What was asked for.
    asked: Option<ParamSet>,
    /// The whole set.
    set: ParamSet,
    /// What the set wants of the arguments.
    needs: Vec<Need>,
    kernel: Kernel,
    pub(crate) candidates: Vec<Candidate>,
}

/// The kernel under one set of promises.
pub(crate) struct Candidate {
    pub(crate) promises: Promises,
    checked: OnceLock<Checked>,
    code: OnceLock<Code>,
    making: Mutex<()>,
}

/// A kernel loaded on a GPU.
pub(crate) struct Code {
    pub(crate) function: CudaFunction,
    /// Bytes of shared memory that a launch has to ask for.
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) resources: Option<Resources>,
    /// The address of the record of a failed assertion, 0 for none.
    pub(crate) failure: u64,
    /// Why the cache did not take it, where it did not.
    pub(crate) note: Option<CacheError>,
    /// What a launch refuses, unless it is allowed.
    pub(crate) slow_paths: Vec<SlowPath>,
}

/// A kernel's device code as the driver is given it, and what is known of it.
struct Loadable {
    image: Image,
    resources: Vec<Resources>,
    /// Why the cache did not take it, where it did not.
    note: Option<CacheError>,
    slow_paths: Vec<SlowPath>,
}

/// A kernel's device code, and where it came from.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) compiled: Compiled,
    pub(crate) origin: Origin,
    pub(crate) slow_paths: Vec<SlowPath>,
}

impl Functions {
    /// Of a device of an architecture: none is ready.
    pub(crate) fn of(arch: Arch) -> Functions {
        Functions { arch: Some(arch), ..Functions::default() }
    }

    /// The kernel of `definition` that a launch with these arguments takes, where it asks for the values of `asked`. Without
    /// arguments it is the first that has them.
    ///
    /// Two sets of one kernel want the same things of the arguments, of the same or of other values: so the first ready
    /// one that fits is the one that would be chosen anew.
    pub(crate) fn family(
        &self,
        definition: &'static Definition,
        asked: Option<&ParamSet>,
        arguments: &[LaunchArgument<'_>],
    ) -> Result<Arc<KernelInstance>> {
        let key = std::ptr::from_ref(definition) as usize;
        if !arguments.is_empty() {
            // The map is whole whenever the lock is free, whatever became of its last holder.
            let families = self.families.read().unwrap_or_else(PoisonError::into_inner);
            let mut known = families.get(&key).into_iter().flatten();
            let fits = |family: &&Arc<KernelInstance>| {
                family.asked.as_ref() == asked && family.needs.iter().all(|need| need.is_met(arguments))
            };
            if let Some(family) = known.find(fits) {
                return Ok(family.clone());
            }
        }
        let made = Arc::new(KernelInstance::new(definition, asked, arguments, self.arch)?);
        let mut families = self.families.write().unwrap_or_else(PoisonError::into_inner);
        let known = families.entry(key).or_default();
        let same = |family: &&Arc<KernelInstance>| family.asked.as_ref() == asked && family.set == made.set;
        if let Some(family) = known.iter().find(same) {
            return Ok(family.clone());
        }
        known.push(made.clone());
        Ok(made)
    }
}

#[cfg(feature = "tune")]
impl Functions {
    /// From now on launches that choose no set take these.
    pub(crate) fn take(&self, tuned: crate::tune::Tuned) {
        *self.tuned.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(tuned));
    }

    /// The set that the records choose.
    pub(crate) fn tuned(
        &self,
        definition: &Definition,
        device: &Device,
        arguments: &[LaunchArgument<'_>],
    ) -> Option<ParamSet> {
        let tuned = self.tuned.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        tuned.for_launch(definition.name, device.name(), arguments).cloned()
    }
}

impl KernelInstance {
    fn new(
        definition: &'static Definition,
        asked: Option<&ParamSet>,
        arguments: &[LaunchArgument<'_>],
        arch: Option<Arch>,
    ) -> Result<KernelInstance> {
        let name = || definition.name.to_string();
        let kernel = definition.kernel().map_err(|error| LaunchError::Embedded { kernel: name(), error })?;
        // A kernel that names no architecture is for the baseline, whose words an earlier one may lack.
        let kernel = match arch.filter(|arch| !arch.includes(Arch::BASELINE)) {
            Some(arch) => kernel.for_arch(arch),
            None => kernel,
        };
        let none = ParamSet::default();
        let asked_for = asked.unwrap_or(&none);
        same_types(&kernel, asked_for, arguments)?;
        let set = kernel.choose(asked_for, arguments);
        let set = set.map_err(|errors| not_made(definition, &kernel, asked_for, errors))?;
        let needs = kernel.needs(&set);
        let promises = |variant_if, narrow, aligned| Promises { narrow, aligned, variant_if };
        let mut order = Vec::new();
        for narrow in [true, false] {
            let conditions = (0..kernel.variant_if.len() as u32).map(Some);
            order.extend(conditions.map(|number| promises(number, narrow, true)));
            order.extend([promises(None, narrow, true), promises(None, narrow, false)]);
        }
        // The last one holds for every input, so that a launch always finds one.
        let candidates = order.into_iter().map(Candidate::new).collect();
        Ok(KernelInstance { definition, arch, asked: asked.cloned(), set, needs, kernel, candidates })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.definition.name
    }

    /// The arguments of the Rust function, in order.
    pub(crate) fn arguments(&self) -> &[layout_compiler::ir::Argument] {
        &self.kernel.arguments
    }

    /// The checked kernel of a candidate.
    #[inline]
    pub(crate) fn checked<'a>(&self, candidate: &'a Candidate) -> Result<&'a Checked> {
        let make = || {
            let checked = layout_compiler::compile(&self.kernel, &self.set, candidate.promises);
            checked.map_err(|errors| not_made(self.definition, &self.kernel, &self.set, errors))
        };
        once(&candidate.checked, &candidate.making, make)
    }

    /// The kernel without any promise, which every input keeps.
    pub(crate) fn unpromised(&self) -> Result<&Checked> {
        // `new` makes it last.
        match self.candidates.last() {
            Some(candidate) => self.checked(candidate),
            None => Err(not_made(self.definition, &self.kernel, &self.set, Errors::default())),
        }
    }

    /// The candidate of these promises, or where there is none the one that promises nothing.
    pub(crate) fn candidate_or_last(&self, promises: Promises) -> Result<&Candidate> {
        let own = self.candidates.iter().find(|candidate| candidate.promises == promises);
        let none = || not_made(self.definition, &self.kernel, &self.set, Errors::default());
        own.or(self.candidates.last()).ok_or_else(none)
    }

    /// The candidate of these promises.
    #[cfg(feature = "tune")]
    pub(crate) fn candidate(&self, promises: Promises) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.promises == promises)
    }

    /// The code of a candidate on a GPU.
    #[inline]
    pub(crate) fn code<'a>(&self, candidate: &'a Candidate, device: &Device) -> Result<&'a Code> {
        if let Some(code) = candidate.code.get() {
            return Ok(code);
        }
        let checked = self.checked(candidate)?;
        once(&candidate.code, &candidate.making, || self.load(checked, device))
    }

    /// The device code for an architecture. Needs no GPU.
    pub(crate) fn compile(&self, checked: &Checked, arch: &str, cache: &Cache) -> Result<Built> {
        self.compile_text(&emit(checked), emit::flags(checked), arch, cache)
    }

    /// The same of a text. A launch gives no text but the emitter's own: what the macro wrote down is for people to read, and a
    /// [`Definition`] made in another way has whatever text its maker likes.
    pub(crate) fn compile_text(
        &self,
        source: &CudaSource,
        flags: &[&str],
        arch: &str,
        cache: &Cache,
    ) -> Result<Built> {
        let CudaSource { text, lines, .. } = source;
        let (compiled, origin) = compile_cached(cache, text, arch, flags).map_err(|error| match error {
            NvrtcError::Compile { arch, log } => {
                let log = crate::nvrtc::locate(&log, self.definition.file, lines);
                Error::from(LaunchError::Compile { kernel: self.name().to_string(), arch, log })
            }
            error => error.into(),
        })?;
        let slow_paths = slow_paths(text, arch, flags, lines, &compiled);
        Ok(Built { compiled, origin, slow_paths })
    }

    /// Refuses code with slow paths.
    #[inline]
    pub(crate) fn refuse_slow(&self, slow_paths: &[SlowPath]) -> Result<()> {
        if slow_paths.is_empty() {
            return Ok(());
        }
        let (kernel, file) = (self.name().to_string(), self.definition.file.to_string());
        Err(LaunchError::SlowPaths { kernel, file, paths: slow_paths.to_vec() }.into())
    }

    /// The code for a device of an architecture, what it uses, why the cache did not take it, and its slow paths: from a bundle
    /// that was taken, else from the cache or NVRTC.
    fn image(&self, checked: &Checked, arch: &str, cache: &Cache) -> Result<Loadable> {
        let kernel = || self.name().to_string();
        let flags = emit::flags(checked);
        let source = emit(checked);
        if let Some((bundle, entry)) = crate::bundle::find(&source.text, flags, arch) {
            let damaged = |why: String| LaunchError::Bundle { kernel: kernel(), why };
            let (code, log) = bundle.code(entry).map_err(|error| damaged(error.to_string()))?;
            let image = match entry.ptx {
                true => {
                    Image::Ptx(String::from_utf8(code.to_vec()).map_err(|error| damaged(error.to_string()))?)
                }
                false => Image::Cubin(code.to_vec()),
            };
            // The recipe has refused slow paths, or allows them.
            let resources = crate::nvrtc::resources::parse(log);
            return Ok(Loadable { image, resources, note: None, slow_paths: vec![] });
        }
        let built = self.compile_text(&source, flags, arch, cache);
        let Built { compiled, origin, slow_paths } = built.map_err(|error| match error {
            Error::Nvrtc(nvrtc) if crate::bundle::is_taken() => {
                let entry = emit::entry_name(checked);
                let nvrtc = Box::new(nvrtc);
                let held = crate::bundle::held(&source.text, flags, &entry);
                LaunchError::NotInBundle { kernel: kernel(), entry, device: arch.to_string(), held, nvrtc }
                    .into()
            }
            error => error,
        })?;
        let note = match origin {
            Origin::Nvrtc(note) => note,
            Origin::Cache => None,
        };
        Ok(Loadable { image: Image::Cubin(compiled.cubin), resources: compiled.resources, note, slow_paths })
    }

    /// Refuses a kernel for an architecture that the device's does not include, or of more shared memory than a block has there.
    pub(crate) fn refuse_other(&self, checked: &Checked, device: Arch, most: u32) -> Result<()> {
        let kernel = || self.name().to_string();
        if let Some(needed) = checked.arch().filter(|needed| !device.includes(*needed)) {
            let (needed, device) = (needed.to_string(), device.to_string());
            return Err(LaunchError::Arch { kernel: kernel(), needed, device }.into());
        }
        let needed = checked.plan().shared_bytes;
        if needed > most {
            return Err(LaunchError::SharedMemory { kernel: kernel(), needed, most }.into());
        }
        Ok(())
    }

    fn load(&self, checked: &Checked, device: &Device) -> Result<Code> {
        let Some(gpu) = device.as_gpu() else {
            return Err(LaunchError::NotOnSimulator { kernel: self.name().to_string() }.into());
        };
        let kernel = || self.name().to_string();
        let arch = gpu.properties.arch.as_str();
        self.refuse_other(checked, device.arch(), gpu.properties.shared_bytes_per_block)?;
        let Loadable { image, resources, note, slow_paths } = self.image(checked, arch, &gpu.cache)?;
        let dynamic_shared_bytes = emit::dynamic_shared_bytes(checked);
        let entry = emit::entry_name(checked);
        let resources = resources.into_iter().find(|resources| resources.entry == entry);
        let cluster = checked.plan().cluster.iter().product();
        let function = crate::module::load(gpu, image, &entry, dynamic_shared_bytes, cluster)
            .map_err(|error| LaunchError::Load { kernel: kernel(), error, driver: gpu.properties.driver })?;
        let failure = crate::assertion::record(gpu, checked, (self.name(), self.definition.file))?;
        Ok(Code { function, dynamic_shared_bytes, resources, failure, note, slow_paths })
    }
}

#[cold]
fn not_made(definition: &'static Definition, kernel: &Kernel, set: &ParamSet, errors: Errors) -> Error {
    let lines = errors.as_slice().iter().map(|error| kernel.position(error.origin).line).collect();
    let (kernel, set) = (definition.name.to_string(), set.key());
    LaunchError::Parameters { kernel, set, file: definition.file, lines, errors }.into()
}

impl Candidate {
    fn new(promises: Promises) -> Candidate {
        Candidate { promises, checked: OnceLock::new(), code: OnceLock::new(), making: Mutex::new(()) }
    }

    /// Whether it is checked, and on a GPU loaded.
    pub(crate) fn is_ready(&self, simulator: bool) -> bool {
        if simulator { self.checked.get().is_some() } else { self.code.get().is_some() }
    }
}

/// The value of `cell`, made by `make` if it has none. An error is not kept: the next call tries again.
#[inline]
fn once<'a, T>(cell: &'a OnceLock<T>, making: &Mutex<()>, make: impl FnOnce() -> Result<T>) -> Result<&'a T> {
    match cell.get() {
        Some(value) => Ok(value),
        None => make_once(cell, making, make),
    }
}

#[cold]
fn make_once<'a, T>(
    cell: &'a OnceLock<T>,
    making: &Mutex<()>,
    make: impl FnOnce() -> Result<T>,
) -> Result<&'a T> {
    let _guard = making.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}
