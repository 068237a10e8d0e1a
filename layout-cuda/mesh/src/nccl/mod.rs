//! NCCL: found, loaded and called.

mod communicator;
mod library;
mod search;

pub(crate) use communicator::Communicator;
pub(crate) use communicator::Work;
pub(crate) use library::{Nccl, nccl};
