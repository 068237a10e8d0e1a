//! Hopper's units beside the threads: the copy engine, matrix products of a warpgroup, and the barriers between them.
//!
//! The protocol of a ring of stages: a producer waits until a stage is `empty`, tells its `full` barrier how many bytes
//! will come, and starts the loads; a consumer waits until the stage is `full`, uses it, and arrives at `empty`. Round
//! `n` of a ring of `S` stages uses stage `n % S`; consumers wait for parity `n / S % 2`, producers for `(n / S + 1) % 2`
//! (a fresh barrier lets them pass).
//!
//! Source: PTX ISA, "mbarrier", "cp.async.bulk.tensor", "wgmma".

use super::device_only;
use super::tensor::Tensor;
use super::view::{View, Write};
use super::{Element, Integer};

/// Barriers in shared memory: see [`mbarriers`].
#[derive(Clone, Copy, Debug)]
pub struct Mbarriers(());

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Mbarrier(());

/// `count` barriers in shared memory, made by the block's first thread. A phase of one ends after so many arrivals, and
/// after the bytes it was told to expect. A [`barrier`](super::barrier) must stand between this and their use.
pub fn mbarriers(_count: usize, _arrivals: usize) -> Mbarriers {
    device_only()
}

impl Mbarriers {
    /// Number `index`, which must be provably below the count: `n % STAGES`.
    pub fn at(self, _index: usize) -> Mbarrier {
        device_only()
    }
}

impl Mbarrier {
    /// Arrives: what this thread wrote before is seen by who waits for the phase.
    pub fn arrive(self) {
        device_only()
    }

    /// Arrives, and the phase waits for so many bytes of [`tma_load`]s, known at compile time.
    pub fn arrive_expect(self, _bytes: usize) {
        device_only()
    }

    /// Arrives at the same barrier of block `rank` of the cluster.
    pub fn arrive_remote(self, _rank: usize) {
        device_only()
    }

    /// Waits until the phase of this parity has ended: 0 for the first, then 1, then 0. Parity 1 of a fresh barrier has.
    pub fn wait(self, _parity: usize) {
        device_only()
    }
}

/// Where a thread stands in a ring of stages: see [`pipeline_state`].
#[derive(Debug)]
pub struct PipelineState(());

/// Stage 0, phase 0 of a ring of `stages` stages. A consumer waits for `full.at(state.stage()).wait(state.phase())`, a
/// producer for `empty.at(state.stage()).wait(1 - state.phase())`; both then advance. Unlike other values it changes:
/// bind it by `let mut`.
pub fn pipeline_state(_stages: usize) -> PipelineState {
    device_only()
}

impl PipelineState {
    /// The stage, from 0.
    pub fn stage(&self) -> usize {
        device_only()
    }

    /// 0 the first time round the ring, then 1, then 0.
    pub fn phase(&self) -> usize {
        device_only()
    }

    /// Goes to the next stage.
    pub fn advance(&mut self) {
        device_only()
    }
}

/// One thread starts the copy of a tile of an argument to shared memory; it reports its bytes to the barrier. Elements
/// beyond the tensor are zeros. Both have the same extents, or the destination has slabs of the contiguous mode first:
/// `[cols / 64, rows, 64]`. Rows are 16 bytes or a multiple; with a swizzle they are as long as it.
pub fn tma_load<D: Tensor<Access = Write>>(
    _destination: D,
    _source: impl Tensor<Elem = D::Elem>,
    _barrier: Mbarrier,
) {
    device_only()
}

/// As [`tma_load`], to the blocks of the cluster whose bits are set in the mask, at the same place in each; each is told
/// at its own barrier.
pub fn tma_load_multicast<D: Tensor<Access = Write>>(
    _destination: D,
    _source: impl Tensor<Elem = D::Elem>,
    _barrier: Mbarrier,
    _blocks: usize,
) {
    device_only()
}

/// One thread starts the copy of a tile from shared memory, in its bulk group; elements beyond the tensor are dropped.
pub fn tma_store<D: Tensor<Access = Write>>(_destination: D, _source: impl Tensor<Elem = D::Elem>) {
    device_only()
}

/// Each thread stores registers, elements of 4 bytes, to a view of another block's shared memory
/// ([`map_shared_rank`](Tensor::map_shared_rank)), which has the same extents. The bytes are reported to the barrier at the same
/// place of that block: who waits there sees them, and no other barrier or fence is needed. That block must have begun and made
/// its barriers. `st.async`.
pub fn store_async<D: Tensor<Access = Write>>(
    _destination: D,
    _registers: impl Tensor<Elem = D::Elem>,
    _barrier: Mbarrier,
) {
    device_only()
}

/// Closes the group of the [`tma_store`]s that this thread issued since the last one.
pub fn bulk_commit_group() {
    device_only()
}

/// Waits until at most `groups` of this thread's groups are in flight. A number known at compile time.
pub fn bulk_wait_group(_groups: usize) {
    device_only()
}

/// Waits until at most `groups` of this thread's groups have yet to read shared memory.
pub fn bulk_wait_group_read(_groups: usize) {
    device_only()
}

/// The thread's accesses to shared memory before come before those of [`tma_store`] and [`wgmma`] after: each thread that
/// wrote calls it, then a barrier, then the thread that starts the copy goes on.
pub fn fence_async_proxy() {
    device_only()
}

/// The registers of a warpgroup's product of extents `[64, n]`: a view of extents `[2, n / 8]` of vectors `[1, 2]`. Vector
/// `[h, j]` of thread `t` is row `16 * (t / 32) + t % 32 / 4 + 8 * h`, columns `8 * j + 2 * (t % 4)` and the next.
pub fn accumulator<I: Integer>(_extents: [I; 2]) -> View<f32, Write> {
    device_only()
}

/// `acc = a b`, or `acc += a b` where `accumulate` holds, by the four warps of a warpgroup. `a` has extents `[64, k]`, `b`
/// `[k, n]` or slabs `[n / 64, k, 64]`; both lie in shared memory, swizzled. An `a` of f32 may lie in registers instead, as
/// each warp's `rows.tile([16, k], [warp, 0]).distribute(row_major([8, 4]), lane).to_local()`. In flight until [`wgmma_wait_group`]: neither
/// the accumulator nor the operands may be touched before. Operands f16, bf16, f32 (read as tf32), e4m3, e5m2.
pub fn wgmma<T: Element>(
    _acc: impl Tensor<Elem = f32, Access = Write>,
    _a: impl Tensor<Elem = T>,
    _b: impl Tensor<Elem = T>,
    _accumulate: bool,
) {
    device_only()
}

/// Closes the group of the warpgroup's products since the last one.
pub fn wgmma_commit_group() {
    device_only()
}

/// Waits until at most `groups` of the warpgroup's groups are in flight. A number known at compile time.
pub fn wgmma_wait_group(_groups: usize) {
    device_only()
}

/// The warpgroup stores an accumulator, or tiles of its vectors, to a shared tensor of f16 or bf16 of extents `[64, n]` or
/// slabs `[n / 64, 64, 64]`, rounded to nearest even.
pub fn store_matrix<T: Element>(
    _destination: impl Tensor<Elem = T, Access = Write>,
    _acc: impl Tensor<Elem = f32>,
) {
    device_only()
}
