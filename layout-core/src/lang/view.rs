//! Tensors and views as types.
//!
//! A view is a `Copy` value without a lifetime: it says which elements, not who owns them. Whether it may write is in
//! its type; that two views do not write one element at once is the simulator's to find.

use super::device_only;
use super::layout::Layout;
use super::number::{Element, Integer};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The access of a view that only reads.
#[derive(Clone, Copy, Debug)]
pub struct Read;

/// The access of a view that reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Write;

/// A tensor argument of a kernel: elements `T` that lie as `L` says ([`RowMajor`](super::RowMajor) and the like).
/// Behind `&` it can be read, behind `&mut` written too.
#[derive(Debug)]
pub struct LayoutTensor<T, L>(PhantomData<(T, L)>);

/// A view of a tensor: some of its elements, by coordinates of its own. `View<f32, Read>` and `View<f32, Write>` are
/// the types of a nested function's parameters.
#[derive(Debug)]
pub struct View<T, A>(PhantomData<(T, A)>);

impl<T, A> Clone for View<T, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, A> Copy for View<T, A> {}

/// A tensor in shared memory, one for the block, uninitialised.
pub fn shared<T: Element>(_layout: Layout) -> View<T, Write> {
    device_only()
}

/// A tensor in registers, one for each thread, uninitialised. Once its loops are unrolled each of its indices is a
/// number.
pub fn local<T: Element>(_layout: Layout) -> View<T, Write> {
    device_only()
}

// One implementation for every type of index: the type of an element is known before that of a literal index is.
impl<T, L, I: Integer, const R: usize> Index<[I; R]> for LayoutTensor<T, L> {
    type Output = T;
    fn index(&self, _coordinate: [I; R]) -> &T {
        device_only()
    }
}

impl<T, L, I: Integer, const R: usize> IndexMut<[I; R]> for LayoutTensor<T, L> {
    fn index_mut(&mut self, _coordinate: [I; R]) -> &mut T {
        device_only()
    }
}

impl<T, A, I: Integer, const R: usize> Index<[I; R]> for View<T, A> {
    type Output = T;
    fn index(&self, _coordinate: [I; R]) -> &T {
        device_only()
    }
}

impl<T, I: Integer, const R: usize> IndexMut<[I; R]> for View<T, Write> {
    fn index_mut(&mut self, _coordinate: [I; R]) -> &mut T {
        device_only()
    }
}
