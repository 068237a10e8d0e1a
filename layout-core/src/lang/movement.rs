//! Copies by the whole block, and what completes them.
//!
//! Source: the copies and groups are those of PTX's `cp.async`.

use super::device_only;
use super::layout::Layout;
use super::tensor::Tensor;
use super::view::Write;

/// The block copies `source` (global memory) to `destination` (shared memory), each thread the elements that
/// `threads` gives it; where there are more elements than threads, in rounds.
pub fn copy_dram_to_sram<D: Tensor<Access = Write>>(
    _destination: D,
    _source: impl Tensor<Elem = D::Elem>,
    _threads: Layout,
) {
    device_only()
}

/// As [`copy_dram_to_sram`], beside the threads: it may land at any time up to the wait that completes it.
pub fn copy_dram_to_sram_async<D: Tensor<Access = Write>>(
    _destination: D,
    _source: impl Tensor<Elem = D::Elem>,
    _threads: Layout,
) {
    device_only()
}

/// Closes the group of the asynchronous copies that this thread issued since the last group.
pub fn async_copy_commit_group() {
    device_only()
}

/// Waits until at most `groups` groups of this thread are in flight. A number known at compile time.
pub fn async_copy_wait_group(_groups: usize) {
    device_only()
}

/// Waits for every asynchronous copy of this thread. Other threads see what landed after a [`barrier`](super::barrier).
pub fn async_copy_wait_all() {
    device_only()
}

/// `acc[i, j] += a[i] * b[j]`, for register tiles of shapes `(m, n)`, `m` elements and `n` elements.
pub fn outer_product_acc<C: Tensor<Access = Write>>(
    _acc: C,
    _a: impl Tensor<Elem = C::Elem>,
    _b: impl Tensor<Elem = C::Elem>,
) {
    device_only()
}
