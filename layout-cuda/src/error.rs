//! What can go wrong at run time: one enum, whose variants are the errors of one subject each.
//!
//! Law: no call of this crate panics for want of a driver, of NVRTC, of memory or of sense in its arguments; it
//! returns an [`Error`] whose text names the thing, the numbers and the way out.

use std::fmt;

use crate::driver::DriverError;
use crate::launch_error::LaunchError;
use crate::nvrtc::NvrtcError;
use crate::tensor::TensorError;

/// Any error of this crate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The driver is missing, or one of its calls failed.
    Driver(DriverError),
    /// NVRTC is missing, or refused a kernel.
    Nvrtc(NvrtcError),
    /// A tensor that cannot be made.
    Tensor(TensorError),
    /// A launch that was refused.
    Launch(LaunchError),
    /// A stream that is another one in each thread, which no event orders.
    PerThreadStream,
    /// The device has too little memory left.
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
        /// Bytes that were free and bytes that there are, where the device tells.
        free: Option<(usize, usize)>,
    },
}

/// A result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Driver(error) => error.fmt(f),
            Error::Nvrtc(error) => error.fmt(f),
            Error::Tensor(error) => error.fmt(f),
            Error::Launch(error) => error.fmt(f),
            Error::PerThreadStream => f.write_str(
                "`CU_STREAM_PER_THREAD` is another stream in each thread, so nothing orders what is launched on it or allocated \
                 on it; use one of `CudaContext::new_stream` or `Device::new_stream`",
            ),
            Error::OutOfMemory { bytes, free: Some((free, total)) } => {
                write!(f, "out of memory: {bytes} bytes asked for, {free} of {total} free on the device")
            }
            Error::OutOfMemory { bytes, free: None } => write!(f, "out of memory: {bytes} bytes asked for"),
        }
    }
}

impl std::error::Error for Error {
    /// What is behind the error inside: its own words are this one's already.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Driver(error) => error.source(),
            Error::Nvrtc(error) => error.source(),
            Error::Tensor(error) => error.source(),
            Error::Launch(error) => error.source(),
            Error::PerThreadStream | Error::OutOfMemory { .. } => None,
        }
    }
}

macro_rules! from {
    ($($variant:ident($error:ty),)*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::$variant(error)
            }
        }
    )*};
}
from! { Driver(DriverError), Nvrtc(NvrtcError), Tensor(TensorError), Launch(LaunchError), }
