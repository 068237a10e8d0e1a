//! Devices and streams: a GPU or the simulator, under one interface.
//!
//! Law: whatever works on a GPU's [`Device`] works on the simulator's, with the same results within rounding.
//! [`Device::describe`] says which of the two it is, and why.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError};

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};
use layout_compiler::Arch;
use layout_simulator::Progress;

use crate::cache::Cache;
use crate::driver::{self, DriverError, check};
use crate::error::{Error, Result};
use crate::functions::{self, Functions};
use crate::graph::Recording;
use crate::nvrtc;
use crate::order;

/// A GPU or the simulator. Cheap to clone; clones are the same device.
#[derive(Clone)]
pub struct Device(pub(crate) Arc<Kind>);

pub(crate) enum Kind {
    Gpu(Gpu),
    Simulator(Simulator),
}

/// A GPU, through one of cudarc's context values.
pub(crate) struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    shared: Arc<Shared>,
}

/// What all of cudarc's values for one context of the driver share.
pub(crate) struct Shared {
    pub(crate) properties: Properties,
    pub(crate) cache: Cache,
    pub(crate) functions: Functions,
    /// For each stream of cooperative launches, the counter of their barriers of the grid.
    counters: Mutex<Vec<CudaSlice<u32>>>,
}

impl Gpu {
    /// Whether a launch may begin before the one ahead of it has ended: sm_90 and later.
    pub(crate) fn has_dependent_launches(&self) -> bool {
        self.properties.compute_capability >= (9, 0)
    }

    /// The address of a stream's counter for the grid's barrier, which is 0 between launches. Launches of one stream come one
    /// after the other, and so may share it; it is kept, and the stream with it, as long as the device.
    pub(crate) fn grid_counter(&self, stream: &Arc<CudaStream>) -> Result<u64> {
        // The list is only ever pushed to, so that it is whole even if a holder of the lock panicked.
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let own = |counter: &CudaSlice<u32>| counter.stream().cu_stream() == stream.cu_stream();
        let place = match counters.iter().position(own) {
            Some(place) => place,
            None => {
                counters.push(check("cuMemAllocAsync", stream.alloc_zeros::<u32>(1))?);
                counters.len() - 1
            }
        };
        Ok(counters[place].device_ptr(stream).0)
    }
}

impl std::ops::Deref for Gpu {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

/// The simulator, and why it was taken.
pub(crate) struct Simulator {
    reason: String,
    /// The architecture that it takes the place of; `None`: it has what any has.
    arch: Option<Arch>,
}

/// What a GPU can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// The name that the driver reports.
    pub name: String,
    /// Compute capability, `(major, minor)`.
    pub compute_capability: (u32, u32),
    /// The architecture that kernels are compiled for, such as `sm_90a`.
    pub arch: String,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The most bytes of shared memory that a block can have.
    pub shared_bytes_per_block: u32,
    /// Bytes of the L2 cache.
    pub l2_bytes: u32,
    /// The driver's CUDA version, `(major, minor)`.
    pub driver: (u32, u32),
    /// The highest clock of the multiprocessors, kHz.
    pub clock_khz: u32,
    /// The highest clock of the memory, kHz.
    pub memory_clock_khz: u32,
    /// Bits that the memory's bus moves at once.
    pub memory_bus_bits: u32,
}

/// The device of this context of the driver that was opened first; this one, if none was.
///
/// They are kept for the life of the process, so that the kernels loaded on a context are found again by whoever comes
/// with it next.
fn opened(context: &Arc<CudaContext>) -> Result<Device> {
    static OPEN: Mutex<Vec<Device>> = Mutex::new(Vec::new());
    // The list is only ever pushed to, so that it is whole even if a holder of the lock panicked.
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |device: &&Device| device.context().is_some_and(|known| known.cu_ctx() == context.cu_ctx());
    if let Some(device) = open.iter().find(same) {
        return Ok(device.clone());
    }
    let (properties, cache) = (properties(context)?, Cache::user());
    let shared = Arc::new(Shared {
        functions: Functions::of(arch_of(&properties)),
        properties,
        cache,
        counters: Mutex::default(),
    });
    let device = Device(Arc::new(Kind::Gpu(Gpu { context: context.clone(), shared })));
    open.push(device.clone());
    Ok(device)
}

impl Device {
    /// The GPU of this number, with its primary context.
    ///
    /// # Errors
    /// [`Error::Driver`]: no driver, no such GPU, or a failing call.
    #[doc(alias("new", "cuda"))]
    pub fn gpu(ordinal: usize) -> Result<Device> {
        driver::ready()?;
        let count = driver::device_count()?;
        if ordinal >= count {
            return Err(DriverError::NoSuchDevice { ordinal, count }.into());
        }
        let context = check("cuDevicePrimaryCtxRetain", CudaContext::new(ordinal))?;
        opened(&context)
    }

    /// The GPU of the caller's context. The context and the kernels loaded on it stay until the process ends.
    ///
    /// Tensors and streams are made through the caller's very value. Where tensors of one value meet streams of another one of
    /// the same context, both keep events from then on.
    ///
    /// # Errors
    /// [`Error::Driver`]: a driver that is too old, or a failing call.
    pub fn from_cudarc(context: Arc<CudaContext>) -> Result<Device> {
        driver::ready()?;
        let first = opened(&context)?;
        if context.is_in_multi_stream_mode() {
            order::keep(&context)?;
        }
        match &*first.0 {
            Kind::Gpu(gpu) if !Arc::ptr_eq(&gpu.context, &context) => {
                let shared = gpu.shared.clone();
                Ok(Device(Arc::new(Kind::Gpu(Gpu { context, shared }))))
            }
            Kind::Gpu(_) | Kind::Simulator(_) => Ok(first),
        }
    }

    /// The simulator: kernels run on the CPU and are checked while they run.
    ///
    /// ```
    /// let device = layout_cuda::Device::simulator();
    /// assert!(device.is_simulator());
    /// ```
    pub fn simulator() -> Device {
        Device::simulator_because("it was asked for")
    }

    /// The simulator in place of a GPU of an architecture: a launch of a kernel that such a GPU does not run, or of more shared memory
    /// than it has, is the error that it is there. [`Device::simulator`] has what any architecture has.
    ///
    /// ```
    /// use layout_cuda::{Arch, Device};
    /// let t4 = Device::simulator_of(Arch::SM_75);
    /// assert_eq!(t4.arch().to_string(), "sm_75");
    /// ```
    pub fn simulator_of(arch: Arch) -> Device {
        let reason = format!("in place of {arch}");
        Device(Arc::new(Kind::Simulator(Simulator { reason, arch: Some(arch) })))
    }

    fn simulator_because(reason: impl Into<String>) -> Device {
        Device(Arc::new(Kind::Simulator(Simulator { reason: reason.into(), arch: None })))
    }

    /// The first GPU if there are a driver, a GPU and NVRTC or a [bundle](crate::bundle) of kernels, else the simulator; never an error.
    ///
    /// A program that gets the simulator says so once on standard error, and why; a test does not. The simulator is for tests and for
    /// learning. Unoptimised it is some 20 times slower than with `--release`: a product of 256 x 256 x 256 takes seconds.
    ///
    /// ```
    /// println!("{}", layout_cuda::Device::best().describe());
    /// ```
    pub fn best() -> Device {
        let gpu = Device::gpu(0).and_then(|device| {
            if !crate::bundle::is_taken() {
                nvrtc::identity()?;
            }
            Ok(device)
        });
        gpu.unwrap_or_else(|error| {
            static SAID: Once = Once::new();
            if !is_test(std::env::current_exe().ok().as_deref()) {
                SAID.call_once(|| eprintln!("{}", on_simulator(&error, cfg!(debug_assertions))));
                layout_simulator::when_slow(|progress| eprintln!("{}", how_long(progress)));
            }
            Device::simulator_because(error.to_string())
        })
    }

    /// Whether it is the simulator.
    pub fn is_simulator(&self) -> bool {
        matches!(*self.0, Kind::Simulator(_))
    }

    /// The architecture, with all of its features; `sm_90a` of [`Device::simulator`].
    pub fn arch(&self) -> Arch {
        match &*self.0 {
            Kind::Gpu(gpu) => arch_of(&gpu.properties),
            Kind::Simulator(simulator) => simulator.arch.unwrap_or(Arch::SM_90A),
        }
    }

    /// The most bytes of shared memory that a block has; of [`Device::simulator`] the most that one has anywhere.
    ///
    /// ```
    /// use layout_cuda::{Arch, Device};
    /// assert_eq!(Device::simulator_of(Arch::SM_75).shared_bytes_per_block(), 64 << 10);
    /// ```
    pub fn shared_bytes_per_block(&self) -> usize {
        let bytes = match &*self.0 {
            Kind::Gpu(gpu) => u64::from(gpu.properties.shared_bytes_per_block),
            Kind::Simulator(simulator) => simulator.arch.map_or(Arch::MOST_SHARED_BYTES, Arch::shared_bytes),
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// What a GPU can do; `None` for the simulator.
    pub fn properties(&self) -> Option<&Properties> {
        self.as_gpu().map(|gpu| &gpu.properties)
    }

    /// The GPU's context, for other calls of cudarc; `None` for the simulator.
    pub fn context(&self) -> Option<&Arc<CudaContext>> {
        self.as_gpu().map(|gpu| &gpu.context)
    }

    pub(crate) fn as_gpu(&self) -> Option<&Gpu> {
        match &*self.0 {
            Kind::Gpu(gpu) => Some(gpu),
            Kind::Simulator(_) => None,
        }
    }

    pub(crate) fn functions(&self) -> &Functions {
        match &*self.0 {
            Kind::Gpu(gpu) => &gpu.functions,
            Kind::Simulator(simulator) => {
                simulator.arch.map_or_else(functions::on_simulator, functions::on_simulator_of)
            }
        }
    }

    /// Which device it is, and why: one line.
    pub fn describe(&self) -> String {
        match &*self.0 {
            Kind::Gpu(gpu) => {
                let Properties { name, arch, multiprocessors, driver: (major, minor), .. } = &gpu.properties;
                let ordinal = gpu.context.ordinal();
                format!(
                    "GPU {ordinal}: {name}, {arch}, {multiprocessors} SMs, driver of CUDA {major}.{minor}"
                )
            }
            Kind::Simulator(simulator) => format!("simulator on the CPU ({})", simulator.reason),
        }
    }

    /// From now on launches that choose no parameter set take the one that the records choose for the kernel, this device and
    /// the tensors' shapes.
    ///
    /// ```
    /// use layout_cuda::{Device, tune::Tuned};
    /// Device::simulator().set_tuned(Tuned::parse("")?);
    /// # Ok::<(), layout_cuda::tune::RecordError>(())
    /// ```
    #[cfg(feature = "tune")]
    pub fn set_tuned(&self, tuned: crate::tune::Tuned) {
        self.functions().take(tuned);
    }

    /// Its name in records.
    #[cfg(feature = "tune")]
    pub(crate) fn name(&self) -> &str {
        self.properties().map_or("simulator", |properties| properties.name.as_str())
    }

    /// Its name in messages.
    pub(crate) fn short_name(&self) -> String {
        self.context().map_or("the simulator".into(), |context| format!("GPU {}", context.ordinal()))
    }

    /// The device's default stream. On a GPU it is the null stream, which a capture of the driver's cannot have:
    /// [`Graph`](crate::graph::Graph) can.
    pub fn stream(&self) -> Stream {
        let cuda = self.as_gpu().map(|gpu| gpu.context.default_stream());
        Stream { device: self.clone(), cuda, recording: None }
    }

    /// A new stream beside the default one. From the first on, an event is recorded per tensor and launch.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver makes none.
    #[doc(alias("create_stream"))]
    pub fn new_stream(&self) -> Result<Stream> {
        let new = |gpu: &Gpu| {
            order::keep(&gpu.context)?;
            Ok::<_, Error>(check("cuStreamCreate", gpu.context.new_stream())?)
        };
        let cuda = self.as_gpu().map(new).transpose()?;
        Ok(Stream { device: self.clone(), cuda, recording: None })
    }

    /// Bytes that are free and bytes that there are; `None` for the simulator.
    pub(crate) fn memory(&self) -> Option<(usize, usize)> {
        self.as_gpu()?.context.mem_get_info().ok()
    }
}

fn arch_of(properties: &Properties) -> Arch {
    let (major, minor) = properties.compute_capability;
    Arch::of(major, minor)
}

fn properties(context: &CudaContext) -> Result<Properties> {
    let attribute = |attribute| {
        let value = check("cuDeviceGetAttribute", context.attribute(attribute))?;
        Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
    };
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Properties {
        name: check("cuDeviceGetName", context.name())?,
        compute_capability: (major, minor),
        arch: nvrtc::arch_of(major, minor),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared_bytes_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        driver: driver::version()?,
        clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        memory_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        memory_bus_bits: attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
    })
}

impl PartialEq for Device {
    /// The same GPU context; all simulators are one device, since their memory is the host's.
    fn eq(&self, other: &Device) -> bool {
        match (self.context(), other.context()) {
            (Some(a), Some(b)) => a.cu_ctx() == b.cu_ctx(),
            (None, None) => true,
            _ => false,
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.describe()).finish()
    }
}

/// What work is given to, in order: cudarc's stream, or the simulator, which works at once.
#[derive(Clone, Debug)]
pub struct Stream {
    device: Device,
    cuda: Option<Arc<CudaStream>>,
    /// Where launches go instead of the device, while a graph is recorded.
    recording: Option<Arc<Recording>>,
}

impl Stream {
    /// The caller's stream. Its device is looked up by its context, so that this is cheap after the first time.
    ///
    /// # Errors
    /// As [`Device::from_cudarc`]; [`Error::PerThreadStream`].
    pub fn from_cudarc(stream: Arc<CudaStream>) -> Result<Stream> {
        order::refuse_per_thread(&stream)?;
        let device = Device::from_cudarc(stream.context().clone())?;
        if order::handle(&stream) != 0 {
            order::keep(stream.context())?;
        }
        Ok(Stream { device, cuda: Some(stream), recording: None })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The GPU's stream, for other calls of cudarc; `None` for the simulator.
    pub fn cuda(&self) -> Option<&Arc<CudaStream>> {
        self.cuda.as_ref()
    }

    /// The same stream, whose launches go into a recording.
    pub(crate) fn recorded(&self, recording: Arc<Recording>) -> Stream {
        Stream { recording: Some(recording), ..self.clone() }
    }

    pub(crate) fn recording(&self) -> Option<&Recording> {
        self.recording.as_deref()
    }

    /// Waits until all work given so far is done. What went wrong in a kernel since the last wait shows here.
    ///
    /// # Errors
    /// [`Error::Driver`] with the status of a kernel that failed, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
    #[doc(alias("sync", "wait"))]
    pub fn synchronize(&self) -> Result<()> {
        match &self.cuda {
            Some(stream) => Ok(check("cuStreamSynchronize", stream.synchronize())?),
            None => Ok(()),
        }
    }
}

/// What a program without a GPU says.
fn on_simulator(why: &Error, unoptimised: bool) -> String {
    let slow = if unoptimised { ", which is some 20 times faster with `--release`" } else { "" };
    format!("layout: kernels run on the simulator{slow}: {why}")
}

/// What a launch says that takes minutes on the simulator.
fn how_long(progress: &Progress<'_>) -> String {
    let Progress { kernel, done, blocks, elapsed } = progress;
    let minutes = progress.remaining().as_secs_f64() / 60.0;
    let rest = if minutes < 100.0 {
        format!("{minutes:.0} minutes")
    } else {
        format!("{:.0} hours", minutes / 60.0)
    };
    format!(
        "kernel `{kernel}`: {done} of {blocks} blocks took {:.0} s on the simulator, the others take about {rest}",
        elapsed.as_secs_f64()
    )
}

/// Whether a program is one of Cargo's test programs, which are in a folder `deps`, or an example of the documentation.
fn is_test(program: Option<&Path>) -> bool {
    let named = |path: Option<&Path>, name: &str| {
        path.and_then(Path::file_name).is_some_and(|own| Path::new(own).with_extension("") == Path::new(name))
    };
    named(program.and_then(Path::parent), "deps") || named(program, "rust_out")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_launch_of_minutes_says_how_long() {
        let of = |blocks| {
            how_long(&Progress { kernel: "scale", done: 10, blocks, elapsed: Duration::from_secs(5) })
        };
        assert_eq!(
            of(370),
            "kernel `scale`: 10 of 370 blocks took 5 s on the simulator, the others take about 3 minutes"
        );
        assert!(of(100_010).ends_with("about 14 hours"), "{}", of(100_010));
    }

    #[test]
    fn a_program_without_a_gpu_says_so() {
        let (why, tests) =
            (Error::OutOfMemory { bytes: 4, free: None }, ["t/debug/deps/user-1f", "/tmp/x/rust_out"]);
        assert_eq!(on_simulator(&why, false), format!("layout: kernels run on the simulator: {why}"));
        assert!(on_simulator(&why, true).contains("20 times faster with `--release`: "));
        assert!(tests.iter().all(|test| is_test(Some(Path::new(test)))));
        assert!(is_test(std::env::current_exe().ok().as_deref()), "this one");
        for program in ["t/debug/user", "t/debug/examples/matmul", "/usr/bin/deps"] {
            assert!(!is_test(Some(Path::new(program))), "{program}");
        }
        assert!(!is_test(None));
    }

    #[test]
    fn best_says_which_and_why() {
        let device = Device::best();
        let text = device.describe();
        match device.is_simulator() {
            true => {
                assert!(text.starts_with("simulator on the CPU ("), "{text}");
                assert!(Device::gpu(0).is_err() || nvrtc::identity().is_err());
            }
            false => assert!(text.contains("sm_"), "{text}"),
        }
    }

    #[test]
    fn no_such_gpu_is_an_error() {
        match Device::gpu(4711) {
            Err(Error::Driver(_)) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn simulators_are_one_device() {
        let device = Device::simulator();
        assert_eq!(device, Device::simulator());
        assert_eq!(device.properties(), None);
        assert!(device.context().is_none());
        let stream = device.new_stream().expect("a stream");
        assert_eq!(stream.device(), &device);
        stream.synchronize().expect("nothing to wait for");
    }
}
