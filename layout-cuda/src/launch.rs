//! Launching: arguments are checked, a variant is picked, and its kernel starts, on the GPU or on the simulator.
//!
//! Law: a kernel that starts fits its arguments: every dimension agrees, every `require` holds, every promise of the
//! variant is kept, and every tensor is on the stream's device. An error means that nothing has run, except
//! [`LaunchError::Findings`], which the simulator found while it ran.
//!
//! For speed a launch of a kernel that is ready makes no driver call but the launch itself (and those of events where
//! several streams exist), and allocates nothing but tensor maps. It waits for nothing, and so can be captured into a CUDA graph.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream};
use layout_compiler::LaunchArgument::Index;
use layout_compiler::ir::ArgumentKind;
use layout_compiler::launch::{KernelParameter, LaunchPlan};
use layout_compiler::{
    BindError, Bound, Checked, Definition, LaunchArgument, Missing, Origin, ParamSet, Promises, follow,
};
use layout_simulator::Options;

use crate::argument::Argument;
use crate::device::{Gpu, Stream};
use crate::error::{Error, Result};
use crate::functions::{Candidate, KernelInstance};
use crate::launch_error::LaunchError;
use crate::launch_uses::{in_events, in_order};
use crate::order::{self, Use};
use crate::probe::{Planned, Probe};
use crate::report::{Launched, note};

/// Kernels of up to this many parameters are launched without an allocation for them.
const FEW: usize = 32;

/// Launches of up to this many arguments have no allocation for them.
const FEW_ARGUMENTS: usize = 16;

thread_local! {
    /// The lists of the thread's last launch, which the next one fills anew.
    static SCRATCH: Cell<Option<Box<Bound>>> = Cell::default();
}

/// What a launch may say beyond its arguments.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchConfig<'a> {
    /// The parameters that the launch chooses; the others are the attribute's: of its sets the first that has these and whose
    /// types and static dimensions are those of the tensors. Any values will do, also ones the attribute does not list: such
    /// a set is made and compiled at the first launch.
    pub set: Option<&'a ParamSet>,
    /// Blocks of the grid, where the attribute gives none; refused where it does.
    pub grid: Option<[u32; 3]>,
    /// Whether a kernel that asks for Hopper's units may run although its code takes slow paths: spills, arrays in local
    /// memory, serialised products. Else that is [`LaunchError::SlowPaths`].
    pub allow_slow_paths: bool,
    /// Sees what the launch would start, or starts.
    pub probe: Option<&'a Probe>,
}

/// Launches a kernel on the stream's device. On a GPU the launch is asynchronous: [`Stream::synchronize`] or a
/// download waits for it.
///
/// # Errors
/// [`LaunchError`], or an error of NVRTC or of the driver.
pub fn launch<const N: usize>(
    definition: &'static Definition,
    stream: &Stream,
    config: LaunchConfig<'_>,
    arguments: &mut [Argument<'_>; N],
) -> Result<()> {
    let mut plain = arguments.each_ref().map(|argument| argument.face());
    let (family, options) = ready(definition, stream, config, &plain)?;
    let room = LaunchBuffers { plain: &mut plain, words: &mut [0; N], uses: &mut [const { None }; N] };
    launch_in(&family, options, stream, config, arguments, room)
}

/// As [`launch`], where the number of arguments is known at run time only: see [`Argument::tensor`].
///
/// # Errors
/// As [`launch`].
pub fn launch_slice(
    definition: &'static Definition,
    stream: &Stream,
    config: LaunchConfig<'_>,
    arguments: &mut [Argument<'_>],
) -> Result<()> {
    let count = arguments.len();
    if count <= FEW_ARGUMENTS {
        let mut plain = [Index(0); FEW_ARGUMENTS];
        plain.iter_mut().zip(&*arguments).for_each(|(face, argument)| *face = argument.face());
        let (family, options) = ready(definition, stream, config, &plain[..count])?;
        let mut words = [0; FEW_ARGUMENTS];
        let mut uses = [const { None }; FEW_ARGUMENTS];
        let room = LaunchBuffers {
            plain: &mut plain[..count],
            words: &mut words[..count],
            uses: &mut uses[..count],
        };
        return launch_in(&family, options, stream, config, arguments, room);
    }
    let mut plain: Vec<LaunchArgument<'_>> = arguments.iter().map(Argument::face).collect();
    let (family, options) = ready(definition, stream, config, &plain)?;
    let mut words = vec![0; count];
    let mut uses: Vec<Option<Use<'_>>> = std::iter::repeat_with(|| None).take(count).collect();
    let room = LaunchBuffers { plain: &mut plain, words: &mut words, uses: &mut uses };
    launch_in(&family, options, stream, config, arguments, room)
}

/// What a launch makes of each argument: an entry for each.
struct LaunchBuffers<'r, 'a, 'm> {
    /// What each is to the plan, without addresses at first.
    plain: &'r mut [LaunchArgument<'m>],
    /// Its address, or a scalar's bits.
    words: &'r mut [u64],
    /// What orders other streams.
    uses: &'r mut [Option<Use<'a>>],
}

/// The kernel that a launch with these arguments takes, and how it is simulated.
fn ready(
    definition: &'static Definition,
    stream: &Stream,
    config: LaunchConfig<'_>,
    descriptors: &[LaunchArgument<'_>],
) -> Result<(Arc<KernelInstance>, Option<Box<Options>>)> {
    #[cfg(feature = "testing")]
    let (definition, options) = crate::testing::taken(definition);
    #[cfg(feature = "testing")]
    let options = options.map(Box::new);
    #[cfg(not(feature = "testing"))]
    let options = None;
    let device = stream.device();
    #[cfg(feature = "tune")]
    let tuned =
        if config.set.is_none() { device.functions().tuned(definition, device, descriptors) } else { None };
    #[cfg(feature = "tune")]
    let config = LaunchConfig { set: config.set.or(tuned.as_ref()), ..config };
    Ok((device.functions().family(definition, config.set, descriptors)?, options))
}

fn launch_in<'a, 'm>(
    family: &KernelInstance,
    options: Option<Box<Options>>,
    stream: &'a Stream,
    config: LaunchConfig<'_>,
    arguments: &'a mut [Argument<'m>],
    room: LaunchBuffers<'_, 'a, 'm>,
) -> Result<()> {
    refuse_read_only(family, arguments)?;
    match stream.cuda() {
        Some(cuda) => {
            let mut bound = SCRATCH.try_with(Cell::take).ok().flatten().unwrap_or_default();
            let started = launch_on_gpu(family, stream, cuda, config, arguments, room, &mut bound);
            // A thread that ends keeps none.
            let _ = SCRATCH.try_with(|spare| spare.set(Some(bound)));
            started
        }
        None => {
            let options = options.map_or_else(Options::default, |options| *options);
            let report = crate::simulator::run(family, config, arguments, &options, false)?;
            let Some(report) = report else { return Ok(()) };
            if report.findings.is_empty() {
                return Ok(());
            }
            let (kernel, file) = (family.name().to_string(), family.definition.file.to_string());
            note(&Launched { kernel: &kernel, file: &file, report: &report });
            Err(LaunchError::Findings { kernel, file, report: Box::new(report) }.into())
        }
    }
}

/// Refuses memory that may only be read where the kernel writes.
pub(crate) fn refuse_read_only(family: &KernelInstance, arguments: &[Argument<'_>]) -> Result<()> {
    let mut both = family.arguments().iter().zip(arguments).enumerate();
    let written = |kind: &ArgumentKind| matches!(kind, ArgumentKind::Tensor { mutable: true, .. });
    match both.find(|(_, (wanted, given))| written(&wanted.kind) && given.is_read()) {
        Some((argument, _)) => {
            Err(LaunchError::ReadOnly { kernel: family.name().to_string(), argument }.into())
        }
        None => Ok(()),
    }
}

/// What a launch would start.
pub(crate) fn planned(
    promises: Promises,
    bound: &Bound,
    shared_bytes: u32,
    arguments: &[LaunchArgument<'_>],
) -> Planned {
    let each = |argument: &LaunchArgument<'_>| match argument {
        LaunchArgument::Tensor { shape, .. } => shape.to_vec(),
        LaunchArgument::Scalar(..) | LaunchArgument::Index(_) => vec![],
    };
    Planned {
        promises,
        grid: bound.grid,
        block: bound.block,
        shared_bytes,
        shape: arguments.iter().flat_map(each).collect(),
        counts: None,
    }
}

/// The first candidate whose promises the arguments keep, and its launch.
pub(crate) fn choose<'f>(
    family: &'f KernelInstance,
    config: LaunchConfig<'_>,
    arguments: &[LaunchArgument<'_>],
) -> Result<(&'f Candidate, Bound)> {
    let mut bound = Bound::default();
    let (candidate, _) = choose_into(family, config, arguments, &mut bound)?;
    bound.list_modes(arguments);
    Ok((candidate, bound))
}

/// As [`choose`], and the candidate's plan; the launch goes into `bound`, without the modes.
fn choose_into<'f>(
    family: &'f KernelInstance,
    config: LaunchConfig<'_>,
    arguments: &[LaunchArgument<'_>],
    bound: &mut Bound,
) -> Result<(&'f Candidate, &'f LaunchPlan)> {
    let mut broken = None;
    for candidate in &family.candidates {
        let plan = family.checked(candidate)?.plan();
        match plan.bind_into(arguments, config.grid, bound) {
            Ok(()) => return Ok((candidate, plan)),
            Err(error @ BindError::Promise(_)) => broken = Some(error),
            Err(error) => return Err(refused(family, error)),
        }
    }
    // The last candidate promises nothing; should it ever say otherwise, it is the one to report.
    Err(refused(family, broken.unwrap_or(BindError::NoGrid { why: String::new() })))
}

/// The launch of the candidate that promises nothing, which every input keeps.
pub(crate) fn choose_unpromised<'f>(
    family: &'f KernelInstance,
    config: LaunchConfig<'_>,
    arguments: &[LaunchArgument<'_>],
) -> Result<(&'f Checked, Bound)> {
    let checked = family.unpromised()?;
    let bound = checked.plan().bind(arguments, config.grid).map_err(|error| refused(family, error))?;
    Ok((checked, bound))
}

#[cold]
fn refused(family: &KernelInstance, mut error: BindError) -> crate::Error {
    if let BindError::NoGrid { why } = &mut error
        && let Ok(mut kernel) = family.definition.kernel()
        && let [_, Some(Err(Missing { found, help }))] = follow(&mut kernel, Origin(0))
    {
        let other = if help.contains("launch_with") { "" } else { ", or use `launch_with` and give one" };
        *why = format!(" in {}: {found}; {help}{other}", family.definition.file);
    }
    LaunchError::Arguments { kernel: family.name().to_string(), error }.into()
}

#[cold]
pub(crate) fn other_device(
    family: &KernelInstance,
    argument: usize,
    tensor: String,
    stream: String,
) -> crate::Error {
    LaunchError::OtherDevice { kernel: family.name().to_string(), argument, tensor, stream }.into()
}

fn launch_on_gpu<'a, 'm>(
    family: &KernelInstance,
    stream: &Stream,
    cuda: &'a Arc<CudaStream>,
    config: LaunchConfig<'_>,
    arguments: &'a mut [Argument<'m>],
    room: LaunchBuffers<'_, 'a, 'm>,
    bound: &mut Bound,
) -> Result<()> {
    let LaunchBuffers { plain, words, uses } = room;
    let in_order = in_order(stream, cuda, arguments, words);
    if !in_order {
        in_events(family, stream, cuda, arguments, words, uses)?;
    }
    for (plain, word) in plain.iter_mut().zip(&*words) {
        if let LaunchArgument::Tensor { address, .. } = plain {
            *address = *word;
        }
    }
    let (candidate, plan) = choose_into(family, config, plain, bound)?;
    if let Some(probe) = config.probe {
        probe.see(planned(candidate.promises, bound, plan.shared_bytes, plain));
        if !probe.starts() {
            return Ok(());
        }
    }
    if bound.grid.contains(&0) {
        return Ok(());
    }
    let code = family.code(candidate, stream.device())?;
    if !config.allow_slow_paths {
        family.refuse_slow(&code.slow_paths)?;
    }
    let parameters = &plan.parameters;
    let (mut few_values, mut few_pointers) = ([0u64; FEW], [std::ptr::null_mut::<c_void>(); FEW]);
    let (mut many_values, mut many_pointers) = (Vec::new(), Vec::new());
    let (values, pointers) = match parameters.len() {
        count @ 0..=FEW => (&mut few_values[..count], &mut few_pointers[..count]),
        count => {
            many_values.resize(count, 0);
            many_pointers.resize(count, std::ptr::null_mut());
            (many_values.as_mut_slice(), many_pointers.as_mut_slice())
        }
    };
    let mut maps = crate::tensor_map::encode(plan, bound, words)?;
    let shape = crate::module::Shape {
        grid: bound.grid,
        block: bound.block,
        dynamic_shared_bytes: code.dynamic_shared_bytes,
        dependent: plan.dependent && stream.device().as_gpu().is_some_and(Gpu::has_dependent_launches),
        cooperative: plan.cooperative,
    };
    let counter = match (stream.device().as_gpu(), stream.cuda()) {
        (Some(gpu), Some(cuda)) if plan.cooperative => cooperative(family, gpu, cuda, &code.function, shape)?,
        _ => 0,
    };
    for ((value, pointer), (parameter, bound)) in
        values.iter_mut().zip(pointers.iter_mut()).zip(parameters.iter().zip(&bound.values))
    {
        *value = match *parameter {
            KernelParameter::Pointer(argument) | KernelParameter::Scalar(argument) => {
                words[argument as usize]
            }
            KernelParameter::Index(_) | KernelParameter::Dim(_) | KernelParameter::Stride { .. } => {
                *bound as u64
            }
            KernelParameter::TensorMap(_) => 0, // no word: its pointer is to the map
            KernelParameter::GridCounter => counter,
            KernelParameter::Failure => code.failure,
        };
        *pointer = match *parameter {
            KernelParameter::TensorMap(number) => std::ptr::from_mut(&mut maps[number as usize]).cast(),
            _ => std::ptr::from_mut(value).cast(),
        };
    }
    let started = match stream.recording() {
        // SAFETY: there is a pointer to a value for each parameter, in the plan's order, its low bytes first, which is
        // where the driver reads narrower ones; a tensor map is the driver's own 128 bytes, and `encode` has made one for
        // each of the plan's. The values live to the end of this function. The plan has bound these
        // tensors: the checked kernel reaches nothing outside them. The stream's counter lives as long as its device, and blocks that
        // all run at once may wait for each other. The stream waits for the memory's other users, and
        // the arguments' borrows keep the memory; one that begins before others end touches none before its wait, which `check` has shown.
        None => unsafe { crate::module::start(cuda, &code.function, shape, pointers) }.map_err(Error::from),
        // SAFETY: as above; that the memory is there at each replay is the duty of who records.
        Some(recording) => unsafe { recording.add(family.name(), &code.function, shape, pointers) },
    };
    if in_order {
        return started;
    }
    started.and(order::end_all(uses.iter().flatten()))
}

/// Refuses more blocks than run at the same time, and gives the address of the stream's counter for the grid's barrier.
#[cold]
fn cooperative(
    family: &KernelInstance,
    gpu: &Gpu,
    cuda: &Arc<CudaStream>,
    function: &CudaFunction,
    shape: crate::module::Shape,
) -> Result<u64> {
    let most = crate::module::resident_blocks(gpu, function, shape)?;
    let blocks = shape.grid.iter().map(|extent| u64::from(*extent)).product();
    if blocks > most {
        return Err(LaunchError::TooManyBlocks { kernel: family.name().to_string(), blocks, most }.into());
    }
    gpu.grid_counter(cuda)
}
