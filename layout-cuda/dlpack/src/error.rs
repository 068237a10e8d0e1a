//! What does not fit between a tensor and what is asked of it.

use layout_cuda::Elem;
use std::fmt;

/// Why a tensor is not taken or given.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum DlpackError {
    /// The description is not one of a tensor.
    Description {
        /// What is wrong.
        why: String,
    },
    /// Its elements are of another type.
    Type {
        /// DLPack's code, bits and lanes.
        found: (u8, u8, u16),
        /// What was asked for.
        asked: Elem,
    },
    /// It has another number of modes.
    Rank {
        /// Its shape.
        shape: Vec<usize>,
        /// What was asked for.
        asked: usize,
    },
    /// A stride is negative.
    Negative {
        /// The mode.
        mode: usize,
        /// Its stride, elements.
        stride: i64,
    },
    /// It is elsewhere than the stream works.
    Device {
        /// DLPack's kind and number of the tensor's device.
        tensor: (u32, i32),
        /// The stream's device.
        stream: String,
    },
    /// It may not be written.
    ReadOnly,
    /// Two of its elements may be in one place, so that it cannot be written in any order.
    Overlaps {
        /// The shape.
        shape: Vec<usize>,
        /// The strides, elements.
        strides: Vec<usize>,
    },
    /// The tensor or the device.
    Tensor(Box<layout_cuda::Error>),
}

impl fmt::Display for DlpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DlpackError::Description { why } => write!(f, "no tensor's description: {why}"),
            DlpackError::Type { found: (code, bits, lanes), asked } => write!(
                f,
                "its elements are of code {code}, {bits} bits and {lanes} lanes, and {asked} was asked for; convert it there"
            ),
            DlpackError::Rank { shape, asked } => {
                write!(f, "its shape is {shape:?}, of {} modes, and {asked} were asked for", shape.len())
            }
            DlpackError::Negative { mode, stride } => {
                write!(
                    f,
                    "mode {mode} has the stride {stride}; a layout's strides are not negative: make a copy there"
                )
            }
            DlpackError::Device { tensor: (kind, number), stream } => write!(
                f,
                "it is on device {number} of kind {kind} (1 is the CPU, 2 CUDA), and the stream is of {stream}; take a stream of \
                 its device, or of the simulator for the CPU"
            ),
            DlpackError::ReadOnly => f.write_str("its owner made it read-only; make a copy there"),
            DlpackError::Overlaps { shape, strides } => write!(
                f,
                "of shape {shape:?} and strides {strides:?} several elements may have one address; make a copy there to write it"
            ),
            DlpackError::Tensor(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for DlpackError {
    /// The words of `Display`: what `fn main() -> Result<..>` and `unwrap` print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for DlpackError {
    /// What is behind the error inside, whose words are this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DlpackError::Tensor(error) => error.source(),
            _ => None,
        }
    }
}

impl From<layout_cuda::Error> for DlpackError {
    fn from(error: layout_cuda::Error) -> DlpackError {
        DlpackError::Tensor(Box::new(error))
    }
}

impl From<dlpark::tensor::Error> for DlpackError {
    fn from(error: dlpark::tensor::Error) -> DlpackError {
        DlpackError::Description { why: error.to_string() }
    }
}
