//! What can be done with a tensor or a view.

use super::device_only;
use super::layout::Layout;
use super::number::{Element, Integer, Literal};
use super::view::{LayoutTensor, Read, View, Write};
use std::iter::Empty;

/// A tensor argument or a view. The methods give views of the same elements; nothing is copied unless it says so.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn blocks(y: &mut LayoutTensor<i32, RowMajor<2, 4>>) {
///     y.tile([2, 2], [0, 0]).fill(1);
///     y.tile([2, 2], [0, 1]).fill(2);
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 2>([2, 4])?;
/// blocks::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [1, 1, 2, 2, 1, 1, 2, 2]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub trait Tensor {
    /// The element type.
    type Elem: Element;
    /// [`Read`] or [`Write`].
    type Access;

    /// Tile `coordinate` of extents `extents`: element `e` of the tile is element `coordinate * extents + e` of this.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // The last tile hangs over the end: what is not there is neither read nor written.
    /// #[tiled_kernel(block = [4], grid = [2])]
    /// fn tiles(y: &mut LayoutTensor<i32, RowMajor<6>>) {
    ///     let mut own = y.tile([4], [block_idx.x]);
    ///     own[[thread_idx.x]] = 10 * block_idx.x as i32 + thread_idx.x as i32;
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([6])?;
    /// tiles::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [0, 1, 2, 3, 10, 11]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn tile<I: Integer, J: Integer, const R: usize>(
        &self,
        _extents: [I; R],
        _coordinate: [J; R],
    ) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// Every tile of these extents, the last mode's fastest: what a `for` runs over, with its number where `.enumerate()` is behind it.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn numbered(y: &mut LayoutTensor<i32, RowMajor<2, 5>>) {
    ///     for (number, mut tile) in y.tiles([2, 2]).enumerate() {
    ///         tile.fill(number as i32);
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 2>([2, 5])?;
    /// numbered::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [0, 0, 1, 1, 2, 0, 0, 1, 1, 2]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn tiles<I: Integer, const R: usize>(&self, _extents: [I; R]) -> Empty<View<Self::Elem, Self::Access>> {
        device_only()
    }

    /// The `extents` elements from element `start` on: a tile with its halo, `a.window([BM + 2, BN + 2], [i * BM - 1, j *
    /// BN - 1])`. `start` may be negative and the window may reach past the edge. Elements out there read as zero, or as
    /// [`pad`](Tensor::pad) says, and are not written.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [4], grid = [1])]
    /// fn neighbours(x: &LayoutTensor<i32, RowMajor<4>>, y: &mut LayoutTensor<i32, RowMajor<4>>) {
    ///     let around = x.window([6], [-1isize]);
    ///     let i = thread_idx.x;
    ///     y[[i]] = around[[i]] + around[[i + 2]];
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1, 2, 3, 4], [4])?;
    /// let mut y = device.zeros::<i32, 1>([4])?;
    /// neighbours::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [2, 4, 6, 3]); // zeros beyond the ends
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn window<I: Integer, J: Integer, const R: usize>(
        &self,
        _extents: [I; R],
        _start: [J; R],
    ) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The view whose elements are vectors of these extents: `[1, 4]` takes four elements of a row at once.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [2], grid = [1])]
    /// fn copy(x: &LayoutTensor<f32, RowMajor<8>>, y: &mut LayoutTensor<f32, RowMajor<8>>) {
    ///     let from = x.vectorize([4]); // two vectors of four
    ///     y.vectorize([4]).distribute(row_major([2]), thread_idx.x).copy_from(&from.distribute(row_major([2]), thread_idx.x));
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [8])?;
    /// let mut y = device.zeros::<f32, 1>([8])?;
    /// copy::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, x.download()?);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn vectorize<I: Integer, const R: usize>(&self, _extents: [I; R]) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The elements of thread number `thread`, where the layout `threads` repeats over this view.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [2], grid = [1])]
    /// fn owners(y: &mut LayoutTensor<i32, RowMajor<6>>) {
    ///     y.distribute(row_major([2]), thread_idx.x).fill(thread_idx.x as i32);
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([6])?;
    /// owners::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [0, 1, 0, 1, 0, 1]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn distribute(&self, _threads: Layout, _thread: usize) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// Element `coordinate` of the first mode, without that mode: one stage of `[STAGES, BM, BK]`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn stages(y: &mut LayoutTensor<i32, RowMajor<3, 2, 2>>) {
    ///     for stage in 0..3 {
    ///         y.slice(stage).fill(stage as i32);
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 3>([3, 2, 2])?;
    /// stages::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn slice(&self, _coordinate: usize) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The bytes of its elements.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn size(y: &mut LayoutTensor<i32, RowMajor<1>>) {
    ///     let tile = shared::<f32>(row_major([4, 8]));
    ///     y[[0]] = tile.bytes() as i32;
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([1])?;
    /// size::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [128]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn bytes(&self) -> usize {
        device_only()
    }

    /// The modes in reverse order: element `(j, i)` is element `(i, j)` of this.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn turn(x: &LayoutTensor<i32, RowMajor<2, 3>>, y: &mut LayoutTensor<i32, RowMajor<3, 2>>) {
    ///     y.copy_from(&x.transpose());
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1, 2, 3, 4, 5, 6], [2, 3])?;
    /// let mut y = device.zeros::<i32, 2>([3, 2])?;
    /// turn::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn transpose(&self) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The modes in another order: mode `i` is mode `order[i]` of this.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn last_first(x: &LayoutTensor<i32, RowMajor<1, 2, 3>>, y: &mut LayoutTensor<i32, RowMajor<3, 1, 2>>) {
    ///     y.copy_from(&x.permute([2, 0, 1])); // y[[k, i, j]] = x[[i, j, k]]
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1, 2, 3, 4, 5, 6], [1, 2, 3])?;
    /// let mut y = device.zeros::<i32, 3>([3, 1, 2])?;
    /// last_first::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn permute<I: Integer, const R: usize>(&self, _order: [I; R]) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// Without mode `mode`, which has one element.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn row(x: &LayoutTensor<i32, RowMajor<2, 3>>, y: &mut LayoutTensor<i32, RowMajor<3>>) {
    ///     y.copy_from(&x.tile([1, 3], [1, 0]).squeeze(0));
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1, 2, 3, 4, 5, 6], [2, 3])?;
    /// let mut y = device.zeros::<i32, 1>([3])?;
    /// row::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [4, 5, 6]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn squeeze(&self, _mode: usize) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// Other extents over the same elements, in row-major order. No element moves: modes are merged where strides allow it, and
    /// refused at build otherwise. Extents are numbers, parameters or dimensions, and their product is that of the view's.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [4], grid = [(M * N).div_ceil(4)])]
    /// fn doubled<const M: usize, const N: usize>(
    ///     x: &LayoutTensor<i32, RowMajor<M, N>>,
    ///     y: &mut LayoutTensor<i32, RowMajor<M, N>>,
    /// ) {
    ///     let (x, mut y) = (x.reshape([M * N]), y.reshape([M * N]));
    ///     let i = block_idx.x * 4 + thread_idx.x;
    ///     if i < M * N {
    ///         y[[i]] = 2 * x[[i]];
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1, 2, 3, 4, 5, 6], [2, 3])?;
    /// let mut y = device.zeros::<i32, 2>([2, 3])?;
    /// doubled::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [2, 4, 6, 8, 10, 12]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn reshape<I: Integer, const R: usize>(&self, _extents: [I; R]) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The same bytes as elements of another type, in the machine's order, which is little-endian: 4 bytes as a word, two `bf16`
    /// as a `u32`, an `f32` as its bits.
    ///
    /// Of a wider type the contiguous extent, every stride and the first element are multiples of the ratio, by `require` or
    /// `variant_if`; a launch checks the address. Both views are of one memory: what is stored through one is read through the
    /// other. Registers and `bool` have no second type. In a text it is a `reinterpret_cast` of the pointer.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1], require(N % 4 == 0))]
    /// fn swap<const N: usize>(x: &LayoutTensor<u8, RowMajor<N>>, y: &mut LayoutTensor<u8, RowMajor<N>>) {
    ///     let (from, mut to) = (x.bitcast::<u32>(), y.bitcast::<u32>());
    ///     for i in 0..N / 4 {
    ///         to[[i]] = from[[i]].swap_bytes();
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1u8, 2, 3, 4, 5, 6, 7, 8], [8])?;
    /// let mut y = device.zeros::<u8, 1>([8])?;
    /// swap::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [4, 3, 2, 1, 8, 7, 6, 5]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn bitcast<T: Element>(&self) -> View<T, Self::Access> {
        device_only()
    }

    /// The same view of the shared memory of block `rank` of the cluster (distributed shared memory). Its elements are read
    /// and written like the block's own, by loads, stores and copies, vectors included. That block must have begun (a
    /// [`cluster_barrier`](super::cluster_barrier) after the start) and must not end before the last access (another one
    /// behind it). A `cluster_barrier` also orders the accesses.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(arch = "sm_90a", block = [1], cluster = [2], grid = [2])]
    /// fn exchange(y: &mut LayoutTensor<i32, RowMajor<2>>) {
    ///     let mut own = shared::<i32>(row_major([1]));
    ///     own[[0]] = cluster_rank() as i32 + 5;
    ///     cluster_barrier();
    ///     y[[cluster_rank()]] = own.map_shared_rank(1 - cluster_rank())[[0]];
    ///     cluster_barrier();
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([2])?;
    /// exchange::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [6, 5]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn map_shared_rank<I: Integer>(&self, _rank: I) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The view whose elements outside the tensor read as `value`; without it they read as zero.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Elements past the end read as -1e30, so they do not change the maximum.
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn most<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<1>>) {
    ///     let own = x.tile([32], [0]).pad(-1e30)[[thread_idx.x]];
    ///     let largest = own.warp_max();
    ///     if thread_idx.x == 0 {
    ///         y[[0]] = largest;
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[-3.0f32, -2.0, -5.0], [3])?;
    /// let mut y = device.zeros::<f32, 1>([1])?;
    /// most::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [-2.0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn pad(&self, _value: impl Literal<Self::Elem>) -> View<Self::Elem, Self::Access> {
        device_only()
    }

    /// The extent of mode `mode`: `a.dim(0)` of a `RowMajor<M, K>` is `M`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn extents<const M: usize, const N: usize>(
    ///     x: &LayoutTensor<i32, RowMajor<M, N>>,
    ///     y: &mut LayoutTensor<i32, RowMajor<2>>,
    /// ) {
    ///     y[[0]] = x.dim(0) as i32;
    ///     y[[1]] = x.dim(1) as i32;
    /// }
    /// # let device = Device::simulator();
    /// let x = device.zeros::<i32, 2>([5, 7])?;
    /// let mut y = device.zeros::<i32, 1>([2])?;
    /// extents::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [5, 7]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn dim<I: Integer>(&self, _mode: I) -> usize {
        device_only()
    }

    /// Writes `value` to every element; gives the view.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn ones(y: &mut LayoutTensor<f32, RowMajor<3>>) {
    ///     let mut held = local::<f32>(row_major([3])).fill(0.5);
    ///     held[[0]] += 1.0;
    ///     y.copy_from(&held);
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<f32, 1>([3])?;
    /// ones::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [1.5, 0.5, 0.5]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn fill(&self, _value: impl Literal<Self::Elem>) -> View<Self::Elem, Self::Access>
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Each thread that runs it copies element by element. The shapes are equal.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn first(x: &LayoutTensor<i32, RowMajor<2, 4>>, y: &mut LayoutTensor<i32, RowMajor<2, 2>>) {
    ///     y.copy_from(&x.tile([2, 2], [0, 0]));
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1, 2, 3, 4, 5, 6, 7, 8], [2, 4])?;
    /// let mut y = device.zeros::<i32, 2>([2, 2])?;
    /// first::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [1, 2, 5, 6]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn copy_from(&self, _source: impl Tensor<Elem = Self::Elem>)
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// Each thread that runs it copies element by element from a global to a shared tensor, asynchronously: as
    /// [`copy_dram_to_sram_async`](super::copy_dram_to_sram_async), with the elements that the thread's views have.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn reverse(x: &mut LayoutTensor<f32, RowMajor<32>>) {
    ///     let held = shared::<f32>(row_major([32]));
    ///     let mut own = held.distribute(row_major([32]), thread_idx.x);
    ///     own.copy_from_async(&x.distribute(row_major([32]), thread_idx.x));
    ///     async_copy_wait_all();
    ///     barrier();
    ///     x[[thread_idx.x]] = held[[31 - thread_idx.x]];
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&(0..32).map(|i| i as f32).collect::<Vec<_>>(), [32])?;
    /// reverse::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?[..3], [31.0, 30.0, 29.0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn copy_from_async(&self, _source: impl Tensor<Elem = Self::Elem>)
    where
        Self: Tensor<Access = Write>,
    {
        device_only()
    }

    /// A copy in registers.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn swap(x: &mut LayoutTensor<i32, RowMajor<4>>) {
    ///     let held = x.tile([2], [0]).to_local();
    ///     x.tile([2], [0]).copy_from(&x.tile([2], [1]));
    ///     x.tile([2], [1]).copy_from(&held);
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&[1, 2, 3, 4], [4])?;
    /// swap::launch(&device.stream(), &mut x)?;
    /// assert_eq!(x.download()?, [3, 4, 1, 2]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn to_local(&self) -> View<Self::Elem, Write> {
        device_only()
    }

    /// A copy in registers, each element converted as [`Number::cast`](super::Number::cast) does: the accumulator of a product
    /// becomes the left operand of the next.
    ///
    /// ```
    /// # use layout_cuda::{Device, bf16, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn round(x: &mut LayoutTensor<f32, RowMajor<4>>, y: &mut LayoutTensor<bf16, RowMajor<4>>) {
    ///     let rounded = x.tile([4], [0]).cast::<bf16>();
    ///     y.tile([4], [0]).copy_from(&rounded);
    ///     x.tile([4], [0]).copy_from(&rounded.cast::<f32>());
    /// }
    /// # let device = Device::simulator();
    /// let mut x = device.upload(&[1.0f32, 257.0, -0.3, 1e30], [4])?;
    /// let mut y = device.zeros::<bf16, 1>([4])?;
    /// round::launch(&device.stream(), &mut x, &mut y)?;
    /// assert_eq!(y.download()?, [1.0, 257.0, -0.3, 1e30].map(bf16::from_f32));
    /// assert_eq!(x.download()?[1], 256.0); // seven bits of fraction
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    fn cast<T: Element>(&self) -> View<T, Write> {
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
