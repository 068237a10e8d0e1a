//! Streams of other libraries.
//!
//! Law: a stream is looked up once; what cudarc keeps of it is no resource of the driver's. cudarc's events are off for these streams
//! alone: they are of a context value of their own, so that other Rust code of the process keeps its order.

use layout_cuda::cudarc::driver::CudaContext;
use layout_cuda::cudarc::driver::sys::CUstream;
use layout_cuda::driver::DriverError;
use layout_cuda::{Device, Result, Stream};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// A stream that was met, and where.
struct Met {
    ordinal: i32,
    raw: usize,
    stream: Stream,
}

/// How many streams are kept; a library has a few dozen.
const MOST: usize = 256;

/// The context value of the libraries' streams on the GPU of this number, which is none of anybody else's: one for each GPU.
fn context_of(ordinal: i32) -> Result<Arc<CudaContext>> {
    static CONTEXTS: Mutex<BTreeMap<i32, Arc<CudaContext>>> = Mutex::new(BTreeMap::new());
    // The map is whole even if a holder of the lock panicked.
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(context) = contexts.get(&ordinal) {
        return Ok(context.clone());
    }
    let number = usize::try_from(ordinal).unwrap_or(usize::MAX);
    // Says in words what is missing: a driver, or that GPU.
    Device::gpu(number)?;
    let context = CudaContext::new(number).map_err(|error| DriverError::Call {
        call: "cuDevicePrimaryCtxRetain",
        code: error.0 as u32,
        name: format!("{:?}", error.0),
    })?;
    // SAFETY: this value was made here, and only `stream_of` makes anything of it: streams that other libraries own. Those order
    // their work, as the caller of `stream_of` promises.
    unsafe { context.disable_event_tracking() };
    contexts.insert(ordinal, context.clone());
    Ok(context)
}

/// Another library's stream of this handle on the GPU of this number, to launch on that library's tensors; null is the default stream.
/// It waits for no event and records none: its owner orders the work on it.
///
/// # Errors
/// No driver, no such GPU.
///
/// # Safety
/// - The handle is null, or a stream of the GPU's primary context that lives while it is launched on.
/// - What is launched on it uses memory whose other users come before or after it by the library's own order.
pub unsafe fn stream_of(ordinal: i32, raw: *mut c_void) -> Result<Stream> {
    static MET: Mutex<Vec<Met>> = Mutex::new(Vec::new());
    // The list is whole even if a holder of the lock panicked.
    let mut met = MET.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |known: &&Met| (known.ordinal, known.raw) == (ordinal, raw as usize);
    if let Some(known) = met.iter().find(same) {
        return Ok(known.stream.clone());
    }
    // SAFETY: as the caller promises.
    let cuda = unsafe { context_of(ordinal)?.wrap_borrowed_stream(raw as CUstream) };
    let stream = Stream::from_cudarc(cuda)?;
    if met.len() >= MOST {
        met.clear();
    }
    met.push(Met { ordinal, raw: raw as usize, stream: stream.clone() });
    Ok(stream)
}
