//! Synchronisation operations of asynchronous work: waits, commits, fences, arrivals.
//!
//! Source: PTX ISA, "mbarrier", "cp.async", "cp.async.bulk", "wgmma", "tcgen05", "griddepcontrol".

use super::{PlaceId, Scope};
use crate::index::{Index, VarId};

/// One mbarrier of an array of them, in shared memory.
#[derive(Clone, Debug, PartialEq)]
pub struct BarrierAt {
    /// The array: a shared place of 8-byte elements.
    pub place: PlaceId,
    /// The element.
    pub index: Index,
}

/// What orders asynchronous work. By one thread, unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Makes an mbarrier whose phases end after so many arrivals. Phase 0 begins.
    BarrierInit {
        /// Which.
        barrier: BarrierAt,
        /// Arrivals of a phase.
        arrivals: u32,
    },
    /// Makes the thread's [`Signal::BarrierInit`]s seen by the asynchronous proxy and by the cluster.
    BarrierInitFence,
    /// Arrives, and makes the phase wait for so many bytes more. The thread's writes before are seen by who waits.
    BarrierArrive {
        /// Which.
        barrier: BarrierAt,
        /// Bytes that copies will report to this phase; 0 for none.
        expect: u32,
        /// The block of the cluster whose barrier it is; the own where there is none.
        rank: Option<Index>,
    },
    /// Waits until the phase of this parity (0 for the first, 1 for the second, …) has ended. Of a fresh barrier
    /// parity 1 has ended. It sees what those who arrived have seen and done, and the boxes that were announced to the phase.
    BarrierWait {
        /// Which.
        barrier: BarrierAt,
        /// 0 or 1.
        parity: Index,
    },
    /// The thread's ordinary accesses to shared memory, or to global memory, before come before what the asynchronous
    /// proxy does after.
    AsyncProxyFence {
        /// Whether it is about global memory.
        global: bool,
    },
    /// By one thread: with relaxed atomic operations on one element, of this thread after it and of another before its own fence, all
    /// that this one did before happens before what the other one does after; where the scopes of all hold both.
    MemoryFence(Scope),
    /// Closes the group of `cp.async` copies that this thread issued since the last one.
    CopyCommit,
    /// Waits until at most this many of this thread's groups are in flight.
    CopyWait(u32),
    /// Closes the group of the tensor stores that this thread issued since the last one.
    BulkCommit,
    /// Waits until at most `groups` of this thread's groups are in flight.
    BulkWait {
        /// Groups.
        groups: u32,
        /// Whether it is enough that the groups have read shared memory.
        read: bool,
    },
    /// By the warpgroup: its accesses to registers before come before the products after.
    MatrixFence,
    /// By the warpgroup: closes the group of its products since the last one.
    MatrixCommit,
    /// By the warpgroup: waits until at most so many of its groups are in flight. A group is done for the warpgroup when
    /// one of its warps has waited for it; each waits until all four have issued it.
    MatrixWait(u32),
    /// By a warp: allocates columns of tensor memory, as many as [`allocated`](super::tensor_memory::allocated) says, and none
    /// after. Their address goes to this element of shared memory.
    TensorAllocate {
        /// Columns in use.
        columns: u32,
        /// Which element: of `u32`.
        address: BarrierAt,
    },
    /// By a warp: frees them.
    TensorFree {
        /// Columns in use.
        columns: u32,
        /// The variable that holds their address.
        base: VarId,
    },
    /// Arrives at an mbarrier when the products that this thread issued before are complete. It implies the fence before the
    /// thread's synchronisation.
    TensorCommit {
        /// Which.
        barrier: BarrierAt,
    },
    /// The thread's use of tensor memory before it comes before what its next synchronisation orders; or the use after it
    /// after what its last synchronisation has ordered.
    TensorFence {
        /// Whether it is after the synchronisation.
        after: bool,
    },
    /// By a warp: waits for its loads from tensor memory, or for its stores to it.
    TensorWait {
        /// Whether for stores.
        stores: bool,
    },
    /// Waits until the launches before this one on the stream have ended, and sees what they wrote. A kernel that has it may
    /// begin before they end.
    DependencyWait,
    /// The next launch on the stream may begin, where it waits for this one by itself.
    LaunchDependents,
    /// By a warp, at a barrier of the block's sixteen: so many threads are counted there, and those who wait for each other go on.
    NamedBarrier {
        /// 1 to 15; 0 is the block's own.
        barrier: Index,
        /// Threads.
        threads: u32,
        /// Whether it waits; else it only counts.
        waits: bool,
    },
}

impl Signal {
    /// The mbarrier that it is about, where it is about one; and its indices beside that one's own: a rank, a parity, the
    /// number of a named barrier.
    pub fn parts(&self) -> (Option<&BarrierAt>, Option<&Index>) {
        match self {
            Signal::BarrierInit { barrier, .. }
            | Signal::TensorCommit { barrier }
            | Signal::TensorAllocate { address: barrier, .. } => (Some(barrier), None),
            Signal::BarrierArrive { barrier, rank, .. } => (Some(barrier), rank.as_ref()),
            Signal::BarrierWait { barrier, parity } => (Some(barrier), Some(parity)),
            Signal::NamedBarrier { barrier, .. } => (None, Some(barrier)),
            Signal::BarrierInitFence
            | Signal::AsyncProxyFence { .. }
            | Signal::MemoryFence(_)
            | Signal::CopyCommit
            | Signal::CopyWait(_)
            | Signal::BulkCommit
            | Signal::BulkWait { .. }
            | Signal::MatrixFence
            | Signal::MatrixCommit
            | Signal::MatrixWait(_)
            | Signal::TensorFree { .. }
            | Signal::TensorFence { .. }
            | Signal::TensorWait { .. }
            | Signal::DependencyWait
            | Signal::LaunchDependents => (None, None),
        }
    }
}
