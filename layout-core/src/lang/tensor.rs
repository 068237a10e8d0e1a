//! What can be done with a tensor or a view.

use super::device_only;
use super::layout::Layout;
use super::number::{Element, Integer, Literal};
use super::view::{LayoutTensor, Read, View, Write};

/// A tensor argument or a view. The methods give views of the same elements; nothing is copied unless it says so.
pub trait Tensor {
    /// The element type.
    type Elem: Element;
    /// [`Read`] or [`Write`].
    type Access;

    /// Tile `coordinate` of extents `extents`: element `e` of the tile is element `coordinate * extents + e` of this.
    fn tile<I: Integer, J: Integer, const R: usize>(
        &self,
        _extents: [I; R],
        _coordinate: [J; R],
    ) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The `extents` elements from element `start` on: a tile with its halo, `a.window([BM + 2, BN + 2], [i * BM - 1, j * BN -
    /// 1])`. `start` may be negative and the window may reach past the edge: what lies there reads as zero, or as
    /// [`pad`](Tensor::pad) says, and is not written.
    fn window<I: Integer, J: Integer, const R: usize>(
        &self,
        _extents: [I; R],
        _start: [J; R],
    ) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The view whose elements are vectors of these extents: `[1, 4]` takes four of a row at once.
    fn vectorize<I: Integer, const R: usize>(&self, _extents: [I; R]) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The elements that belong to thread number `thread`, where `threads` are laid over this cyclically.
    fn distribute(&self, _threads: Layout, _thread: usize) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// Element `coordinate` of the first mode, without that mode: a stage of `[STAGES, BM, BK]`.
    fn slice(&self, _coordinate: usize) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The bytes of its elements.
    fn bytes(&self) -> usize {
        device_only()
    }

    /// The modes in reverse order: element `(j, i)` is element `(i, j)` of this.
    fn transpose(&self) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The same view of the shared memory of block `rank` of the cluster: its elements are read and written as one's own,
    /// by loads, stores and copies, also of vectors. That block must have begun (a
    /// [`cluster_barrier`](super::cluster_barrier) after the start) and must not end before (another one after the last
    /// access); a `cluster_barrier` also orders the accesses.
    fn map_shared_rank<I: Integer>(&self, _rank: I) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The view whose elements out of the tensor's range read as `value`; without it they read as zero.
    fn pad(&self, _value: impl Literal<Self::Elem>) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The extent of mode `mode`: `a.dim(0)` of a `RowMajor<M, K>` is `M`.
    fn dim<I: Integer>(&self, _mode: I) -> usize {
        device_only()
    }

    /// Writes `value` to every element; gives the view.
    fn fill(&self, _value: impl Literal<Self::Elem>) -> View<Self::Elem, Self::Access>
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Copies element by element, by each thread that runs it. The shapes are equal.
    fn copy_from(&self, _source: impl Tensor<Elem = Self::Elem>)
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Copies element by element from a global to a shared tensor, by each thread that runs it, beside the threads: as
    /// [`copy_dram_to_sram_async`](super::copy_dram_to_sram_async), with each thread's elements as the views say.
    fn copy_from_async(&self, _source: impl Tensor<Elem = Self::Elem>)
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Adds to an element with no access of another thread in between; gives what was there before. Of `i32 u32 f32
    /// f64`, in a global or a shared tensor. The order of several threads' atomics is open, so a sum of floats may differ
    /// in its last bits from run to run. It orders no other access.
    fn atomic_add<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Puts the larger of an element and `value` there, likewise. Of `i32 u32 f32`; of floats the number where the other
    /// is NaN.
    fn atomic_max<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Puts the smaller of an element and `value` there, likewise.
    fn atomic_min<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Reads an element as it is in memory now, undivided, and orders nothing: for values that say themselves whether
    /// they are there. Of `i32 u32 f32 i64 f64`, in a global or a shared tensor that is written, by any block.
    fn load_relaxed<I: Integer, const R: usize>(&self, _coordinate: [I; R]) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Reads an element likewise. Where it reads what a [`store_release`](Tensor::store_release) of any block wrote, this
    /// thread sees from here on all that the other did before.
    ///
    /// `while flags.load_acquire([i]) == 0 {}` waits for another block. The GPU starts blocks in no promised order and
    /// runs only some at once: a block may wait for one that has drawn an earlier ticket (`atomic_add`), not for others.
    fn load_acquire<I: Integer, const R: usize>(&self, _coordinate: [I; R]) -> Self::Elem
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Writes an element, undivided, and orders nothing.
    fn store_relaxed<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem)
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Writes an element likewise, after all that this thread did before; what other threads of the block did is
    /// before it where a [`barrier`](super::barrier) stands between.
    fn store_release<I: Integer, const R: usize>(&self, _coordinate: [I; R], _value: Self::Elem)
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// The view whose atomic operations, flags included, are between the threads of the block: undivided and ordering for
    /// them alone, and cheaper. Without a word they are between the threads of the device. The last word before the
    /// operation: `flags.block_scope().store_release([i], 1)`.
    fn block_scope(&self) -> View<Self::Elem, Write>
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// The view whose atomic operations are between all threads of the system: other devices' and the host's, too.
    fn system_scope(&self) -> View<Self::Elem, Write>
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// A copy in registers.
    fn to_local(&self) -> View<Self::Elem, Write> {
        device_only()
    }
}

impl<T: Element, L> Tensor for &LayoutTensor<T, L> {
    type Elem = T;
    type Access = Read;
}

impl<T: Element, L> Tensor for &mut LayoutTensor<T, L> {
    type Elem = T;
    type Access = Write;
}

impl<T: Element, A> Tensor for View<T, A> {
    type Elem = T;
    type Access = A;
}

impl<V: Tensor> Tensor for &V {
    type Elem = V::Elem;
    type Access = V::Access;
}

impl<V: Tensor> Tensor for &mut V {
    type Elem = V::Elem;
    type Access = V::Access;
}
