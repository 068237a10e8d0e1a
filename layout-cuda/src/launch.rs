//! Launching.
use layout_core::kernel::launch::BindError;
use std::fmt;

/// A launch that was refused: nothing has run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LaunchError {
    /// The arguments do not fit the kernel.
    Arguments(BindError),
}
impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::Arguments(error) => error.fmt(f),
        }
    }
}
impl std::error::Error for LaunchError {}
