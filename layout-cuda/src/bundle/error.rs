//! What can be wrong with a bundle, or with what it is to be made of.

use layout_compiler::{Arch, ArchError};
use std::fmt;
use std::path::PathBuf;

/// Why there is no bundle.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum BundleError {
    /// The bytes are no bundle of this version, or not all of one.
    Damaged {
        /// What is wrong.
        why: String,
    },
    /// A name that is no architecture.
    Arch(ArchError),
    /// A kernel is for an architecture that the recipe does not name.
    OtherArch {
        /// The kernel.
        kernel: String,
        /// What it needs.
        needed: Arch,
    },
    /// A kernel that cannot be made, or that NVRTC refuses, or NVRTC is missing.
    Kernel(Box<crate::Error>),
    /// The file cannot be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BundleError::Damaged { why } => {
                write!(f, "no bundle of kernels of this version: {why}; build the program anew")
            }
            BundleError::Arch(error) => error.fmt(f),
            BundleError::OtherArch { kernel, needed } => {
                write!(
                    f,
                    "kernel `{kernel}` is for {needed}, which the recipe does not name; add it, or leave the kernel out"
                )
            }
            BundleError::Kernel(error) => error.fmt(f),
            BundleError::File { path, why } => write!(f, "{}: {why}", path.display()),
        }
    }
}

impl std::error::Error for BundleError {
    /// What is behind the error inside, whose words are this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BundleError::Kernel(error) => error.source(),
            _ => None,
        }
    }
}

impl From<ArchError> for BundleError {
    fn from(error: ArchError) -> BundleError {
        BundleError::Arch(error)
    }
}

impl From<crate::Error> for BundleError {
    fn from(error: crate::Error) -> BundleError {
        BundleError::Kernel(Box::new(error))
    }
}
