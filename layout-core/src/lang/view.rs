//! Tensors and views as types.
//!
//! A view is a `Copy` value without a lifetime: it names elements and owns none. Its type says whether it may write. The
//! simulator finds two views that write one element at once.

use super::device_only;
use super::layout::Layout;
use super::number::{Coordinates, Element};
use super::tensor::Tensor;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The access of a view that only reads.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // A nested function says by its parameter's type that it only reads.
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn sums(x: &LayoutTensor<i32, RowMajor<2, 3>>, y: &mut LayoutTensor<i32, RowMajor<2>>) {
///     fn sum(row: View<i32, Read>) -> i32 {
///         row[[0, 0]] + row[[0, 1]] + row[[0, 2]]
///     }
///     y[[0]] = sum(x.tile([1, 3], [0, 0]));
///     y[[1]] = sum(x.tile([1, 3], [1, 0]));
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[1, 2, 3, 4, 5, 6], [2, 3])?;
/// let mut y = device.zeros::<i32, 1>([2])?;
/// sums::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [6, 15]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Read;

/// The access of a view that reads and writes.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn halves(y: &mut LayoutTensor<i32, RowMajor<4>>) {
///     fn set(part: View<i32, Write>, value: i32) {
///         part.fill(value);
///     }
///     set(y.tile([2], [0]), 1);
///     set(y.tile([2], [1]), 2);
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([4])?;
/// halves::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [1, 1, 2, 2]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Write;

/// A tensor argument of a kernel: elements `T` that are as `L` says ([`RowMajor`](super::RowMajor) and the like).
/// Behind `&` it can be read, behind `&mut` written too.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn corner<const M: usize, const N: usize>(
///     x: &LayoutTensor<f32, RowMajor<M, N>>,
///     y: &mut LayoutTensor<f32, RowMajor<1>>,
/// ) {
///     y[[0]] = x[[M - 1, N - 1]];
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
/// let mut y = device.zeros::<f32, 1>([1])?;
/// corner::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [6.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Debug)]
pub struct LayoutTensor<T, L>(PhantomData<(T, L)>);

/// A view of a tensor: some of its elements, by the view's own coordinates. `View<f32, Read>` and `View<f32, Write>` are
/// the types of a nested function's parameters.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn transposed(x: &LayoutTensor<i32, RowMajor<2, 3>>, y: &mut LayoutTensor<i32, RowMajor<3, 2>>) {
///     y.copy_from(&x.transpose()); // a view of the same elements
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[1, 2, 3, 4, 5, 6], [2, 3])?;
/// let mut y = device.zeros::<i32, 2>([3, 2])?;
/// transposed::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Debug)]
pub struct View<T, A>(PhantomData<(T, A)>);

// `println!("{x}")` prints the elements.
impl<T, L> fmt::Display for LayoutTensor<T, L> {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        device_only()
    }
}

impl<T, A> fmt::Display for View<T, A> {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        device_only()
    }
}

impl<T, A> Clone for View<T, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, A> Copy for View<T, A> {}

/// A tensor in shared memory, one for the block, uninitialised.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn reverse(x: &mut LayoutTensor<i32, RowMajor<32>>) {
///     let mut held = shared::<i32>(row_major([32]));
///     held[[thread_idx.x]] = x[[thread_idx.x]];
///     barrier();
///     x[[thread_idx.x]] = held[[31 - thread_idx.x]];
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(0..32).collect::<Vec<i32>>(), [32])?;
/// reverse::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[..3], [31, 30, 29]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn shared<T: Element>(_layout: Layout) -> View<T, Write> {
    device_only()
}

/// A tensor in registers, one for each thread, uninitialised. Registers have no addresses: a loop over known
/// numbers whose variable is an index is written out, and an index known only at run time is read by comparing it with each
/// of at most 64. What is written has its index known at compile time.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [2], grid = [1])]
/// fn sums(x: &LayoutTensor<i32, RowMajor<2, 3>>, y: &mut LayoutTensor<i32, RowMajor<2>>) {
///     let mut row = local::<i32>(row_major([1, 3]));
///     row.copy_from(&x.tile([1, 3], [thread_idx.x, 0]));
///     y[[thread_idx.x]] = row[[0, 0]] + row[[0, 1]] + row[[0, 2]];
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[1, 2, 3, 4, 5, 6], [2, 3])?;
/// let mut y = device.zeros::<i32, 1>([2])?;
/// sums::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [6, 15]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn local<T: Element>(_layout: Layout) -> View<T, Write> {
    device_only()
}

// One implementation for every kind of coordinates: the type of an element is known before that of a literal index is.
impl<T, L, C: Coordinates> Index<C> for LayoutTensor<T, L> {
    type Output = T;
    fn index(&self, _at: C) -> &T {
        device_only()
    }
}

impl<T, L, C: Coordinates> IndexMut<C> for LayoutTensor<T, L> {
    fn index_mut(&mut self, _at: C) -> &mut T {
        device_only()
    }
}

impl<T, A, C: Coordinates> Index<C> for View<T, A> {
    type Output = T;
    fn index(&self, _at: C) -> &T {
        device_only()
    }
}

impl<T, C: Coordinates> IndexMut<C> for View<T, Write> {
    fn index_mut(&mut self, _at: C) -> &mut T {
        device_only()
    }
}

/// The view of a tensor, as a nested function's argument: where the function takes a `View<f32, Write>` or an `impl
/// Tensor`, a whole tensor may be given, also several times. The attribute writes this where rustc checks types; a kernel has
/// no need of it.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn marked(x: &mut LayoutTensor<f32, RowMajor<2, 2>>) {
///     fn mark(mut corner: View<f32, Write>) {
///         corner[[0, 0]] = 1.0;
///     }
///     mark(x.tile([1, 1], [1, 1]));
///     mark(x);
///     mark(x);
/// }
/// # let device = Device::simulator();
/// let mut x = device.zeros::<f32, 2>([2, 2])?;
/// marked::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn view_of<V: Tensor>(_tensor: V) -> View<V::Elem, V::Access> {
    device_only()
}

/// The same where a function takes a `View<f32, Read>`: what may be written may be read.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn added(x: &LayoutTensor<f32, RowMajor<4>>, y: &mut LayoutTensor<f32, RowMajor<4>>) {
///     fn ends(of: View<f32, Read>) -> f32 {
///         of[[0]] + of[[3]]
///     }
///     let sum = ends(x) + ends(y.tile([4], [0]));
///     y[[0]] = sum;
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[1.0f32, 2.0, 3.0, 4.0], [4])?;
/// let mut y = device.upload(&[10.0f32, 0.0, 0.0, 20.0], [4])?;
/// added::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?[0], 35.0);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn read_of<V: Tensor>(_tensor: V) -> View<V::Elem, Read> {
    device_only()
}
