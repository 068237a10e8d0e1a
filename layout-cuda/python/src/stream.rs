//! Streams of other libraries.
//!
//! Law: a stream is looked up once; what cudarc keeps of it is no resource of the driver's.

use crate::error::launch_error;
use layout_cuda::cudarc::driver::sys::CUstream;
use layout_cuda::{Device, Stream};
use pyo3::PyResult;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// A stream that was met, and where.
struct Met {
    ordinal: i32,
    raw: usize,
    stream: Stream,
}

/// How many streams are kept; a library has a few dozen.
const MOST: usize = 256;

/// The stream of this handle on the GPU of this number; null is the default stream.
///
/// # Errors
/// No driver, no such GPU.
///
/// # Safety
/// The handle is null, or a stream of the GPU's primary context that lives while it is launched on.
pub unsafe fn stream_of(ordinal: i32, raw: *mut c_void) -> PyResult<Stream> {
    static MET: Mutex<Vec<Met>> = Mutex::new(Vec::new());
    // The list is whole even if a holder of the lock panicked.
    let mut met = MET.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |known: &&Met| (known.ordinal, known.raw) == (ordinal, raw as usize);
    if let Some(known) = met.iter().find(same) {
        return Ok(known.stream.clone());
    }
    let device = Device::gpu(usize::try_from(ordinal).unwrap_or(usize::MAX)).map_err(launch_error)?;
    let stream = match device.context() {
        Some(context) => {
            // SAFETY: tensors here are other libraries', who order their own streams; this module makes none.
            unsafe { context.disable_event_tracking() };
            // SAFETY: as the caller promises.
            let cuda = unsafe { context.wrap_borrowed_stream(raw as CUstream) };
            Stream::from_cudarc(cuda).map_err(launch_error)?
        }
        None => device.stream(),
    };
    if met.len() >= MOST {
        met.clear();
    }
    met.push(Met { ordinal, raw: raw as usize, stream: stream.clone() });
    Ok(stream)
}
