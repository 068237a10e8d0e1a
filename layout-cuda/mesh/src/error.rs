//! What can go wrong between ranks. What one rank did wrong is an error on all of them.

use layout_core::LayoutError;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Any error of this crate.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum MeshError {
    /// A tensor, a launch or a driver.
    Cuda(Box<layout_cuda::Error>),
    /// A distribution or a plan.
    Layout(LayoutError),
    /// The ranks do not call the same: on GPUs this hangs, or mixes memory up.
    Differ {
        /// Each rank that is there, and what it calls.
        calls: Vec<(usize, String)>,
        /// What does not fit.
        why: String,
    },
    /// All ranks wait or have ended, and no call is complete: on GPUs this hangs.
    Stuck {
        /// Each rank, and what it waits in.
        ranks: Vec<(usize, String)>,
    },
    /// A rank ended, or was lost, before a call that the others make.
    Ended {
        /// The rank.
        rank: usize,
        /// How it ended.
        how: String,
        /// What this rank called.
        call: String,
    },
    /// A rank refused its own arguments, before anything was sent.
    Refused {
        /// The rank.
        rank: usize,
        /// Why.
        why: String,
    },
    /// Nobody came within the time limit.
    Late {
        /// What this rank called.
        call: String,
        /// The limit.
        limit: Duration,
        /// The ranks that did not come; none where the devices did not get done.
        absent: Vec<usize>,
    },
    /// An earlier error between these ranks: they go on no more.
    Broken {
        /// It.
        by: String,
    },
    /// NCCL is nowhere.
    NoNccl {
        /// The folders that were searched.
        searched: Vec<PathBuf>,
        /// The libraries that would not load, and why.
        refused: Vec<String>,
    },
    /// A call of NCCL failed.
    Nccl {
        /// The call.
        call: &'static str,
        /// Its status.
        code: i32,
        /// NCCL's words.
        words: String,
    },
    /// NCCL has no such elements.
    Elements {
        /// Their type.
        elem: String,
    },
    /// The environment does not say who this process is.
    Environment {
        /// The variable.
        variable: String,
        /// What is wrong.
        why: String,
    },
    /// The processes did not find each other.
    Rendezvous {
        /// Where.
        address: String,
        /// What went wrong.
        why: String,
    },
}

fn list(f: &mut fmt::Formatter<'_>, ranks: &[(usize, String)]) -> fmt::Result {
    ranks.iter().try_for_each(|(rank, call)| write!(f, "\n  rank {rank}: {call}"))
}

impl fmt::Display for MeshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeshError::Cuda(error) => error.fmt(f),
            MeshError::Layout(error) => error.fmt(f),
            MeshError::Differ { calls, why } => {
                write!(f, "the ranks do not call the same, which hangs GPUs: {why}")?;
                list(f, calls)
            }
            MeshError::Stuck { ranks } => {
                write!(f, "every rank waits for another one, which hangs GPUs:")?;
                list(f, ranks)
            }
            MeshError::Ended { rank, how, call } => {
                write!(f, "rank {rank} {how} and takes no part in {call}")
            }
            MeshError::Refused { rank, why } => write!(f, "rank {rank} refuses, and nothing was sent: {why}"),
            MeshError::Late { call, limit, absent } if absent.is_empty() => {
                write!(f, "{call} was not done within {limit:?}; the communicator is aborted")
            }
            MeshError::Late { call, limit, absent } => {
                write!(f, "{call}: within {limit:?} nothing was heard of ranks {absent:?}")
            }
            MeshError::Broken { by } => write!(f, "these ranks go on no more, after: {by}"),
            MeshError::NoNccl { searched, refused } => {
                write!(
                    f,
                    "no NCCL in {} folders; install it with `pip install nvidia-nccl-cu13` (-cu12 for CUDA 12) or the \
                     distribution's libnccl2, or name its file or folder in LAYOUT_NCCL; the simulator's mesh needs none",
                    searched.len()
                )?;
                refused.iter().try_for_each(|why| write!(f, "\n  {why}"))
            }
            MeshError::Nccl { call, code, words } => write!(f, "{call} failed with {words} ({code})"),
            MeshError::Elements { elem } => {
                write!(f, "NCCL adds no elements of {elem}; convert them, or move them without adding")
            }
            MeshError::Environment { variable, why } => write!(
                f,
                "{variable}: {why}; start with `torchrun --no-python --nproc-per-node GPUS PROGRAM` or `mpirun -n GPUS PROGRAM`, or set RANK, \
                 WORLD_SIZE, MASTER_ADDR and MASTER_PORT"
            ),
            MeshError::Rendezvous { address, why } => write!(f, "no meeting at {address}: {why}"),
        }
    }
}

impl fmt::Debug for MeshError {
    /// The words of `Display`: what `fn main() -> Result<..>` and `unwrap` print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for MeshError {
    /// What is behind the device's error, whose words are this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MeshError::Cuda(error) => error.source(),
            _ => None,
        }
    }
}

/// A result with this crate's [`MeshError`].
pub type Result<T> = std::result::Result<T, MeshError>;

impl From<layout_cuda::Error> for MeshError {
    fn from(error: layout_cuda::Error) -> MeshError {
        MeshError::Cuda(Box::new(error))
    }
}

impl From<LayoutError> for MeshError {
    fn from(error: LayoutError) -> MeshError {
        MeshError::Layout(error)
    }
}
