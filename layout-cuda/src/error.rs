//! What can go wrong at run time: one enum, whose variants are the errors of one subject each.
//!
//! Law: no call of this crate panics for want of a driver, of NVRTC, of memory or of sense in its arguments; it
//! returns an [`Error`] whose text names the thing, the numbers and the way out.

use std::fmt;

use crate::driver::DriverError;
use crate::launch_error::LaunchError;
use crate::nvrtc::NvrtcError;
use crate::tensor::TensorError;

/// `Debug` in the words of `Display`: what `fn main() -> Result<..>` and `unwrap` print.
macro_rules! debug_by_display {
    ($($error:ty),* $(,)?) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )*};
}
#[cfg(any(feature = "testing", feature = "tune"))]
pub(crate) use debug_by_display;

debug_by_display! { Error, DriverError, NvrtcError, TensorError, LaunchError, crate::bundle::BundleError, crate::code::SassError }

/// Any error of this crate.
#[derive(Clone, PartialEq)]
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
        /// Bytes that were free and bytes that there are, where the device reports.
        free: Option<(usize, usize)>,
    },
}

/// A result with this crate's [`Error`], or with another one: it may take the place of the standard library's.
pub type Result<T, E = Error> = std::result::Result<T, E>;

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

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use layout_compiler::wire::WireError;

    use super::*;

    #[test]
    fn debug_is_display() {
        let driver = DriverError::NoSuchDevice { ordinal: 3, count: 1 };
        let launch = LaunchError::Load { kernel: "k".into(), error: driver.clone(), driver: (13, 0) };
        let errors = [
            Error::from(driver),
            Error::from(launch),
            Error::from(TensorError::TooLarge { shape: vec![3] }),
            Error::PerThreadStream,
            Error::OutOfMemory { bytes: 4, free: None },
        ];
        for error in errors {
            assert_eq!(format!("{error:?}"), error.to_string());
            assert_eq!(format!("{:?}", Some(&error)), format!("Some({error})"));
        }
    }

    #[test]
    fn a_source_is_what_an_error_holds() {
        let driver = DriverError::NoSuchDevice { ordinal: 3, count: 1 };
        let launch = |error| Error::from(LaunchError::Load { kernel: "k".into(), error, driver: (13, 0) });
        let error = launch(driver.clone());
        let found = error.source().and_then(|source| source.downcast_ref::<DriverError>());
        assert_eq!(found, Some(&driver));
        let wire = LaunchError::Embedded { kernel: "k".into(), error: WireError::Version { found: 0 } };
        assert!(wire.source().is_some_and(|source| source.is::<WireError>()));
        assert!(Error::PerThreadStream.source().is_none());
    }
}
