//! What is known of each element's last accesses: who touched it, when, and whether anything orders the accesses.
//!
//! Time is a vector clock of warps and of single lanes ([`super::clock`]). A stamp of lanes of a warp at a time is ordered
//! before a thread's next step if the thread knows of that time, or if the lane is the thread itself.
//!
//! Law: two accesses of one element, one of them a write, by different threads, are a hazard unless a chain of what orders
//! them leads from one to the other. An element remembers every read and every atomic operation that nothing has ordered
//! before a later one: one in place, more of them beside.

use super::bytecode::LANES;
use super::strands::Who;

mod fences;
mod global;
mod proxy;
mod shared;

pub(super) use fences::ProxyFences;
pub(super) use global::GlobalShadow;
pub(super) use shared::SharedShadow;

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hazard {
    /// Nothing has written the element.
    Uninitialised,
    /// An asynchronous copy to it is in flight.
    InFlight,
    /// This thread's write is not ordered with the access, at this site.
    Writer { thread: u32, site: u32 },
    /// A thread's read is not ordered with the write; the thread where it is one.
    Reader { thread: Option<u32> },
    /// An asynchronous copy of this thread, which has not waited for it, reads what is written.
    Copied { thread: u32 },
    /// This thread's write is ordered with the access, but not seen by the asynchronous proxy.
    Unfenced { thread: u32, site: u32 },
    /// An atomic operation beside another block's, of which one is of its block's scope.
    Narrow { block: Option<u64> },
    /// A thread of this block wrote the element of a tensor: that is ordered with the access, but not seen by the
    /// asynchronous proxy.
    Hidden { block: u64 },
    /// Another block's access of this number is not ordered with it, a write or not.
    OtherBlock { block: Option<u64>, wrote: bool },
}

/// The number of a warp's first thread among these lanes.
fn thread(warp: usize, lanes: u32) -> u32 {
    warp as u32 * LANES as u32 + lanes.trailing_zeros().min(LANES as u32 - 1)
}
