//! The matrix instructions of a warp: `mma.sync`, with `ldmatrix` where shared memory lies so that it can be used.
//!
//! Every thread of the warp takes part in each of these. Which thread holds which element is fixed by the instruction
//! ([`crate::atoms`]) and need not be known: a fragment is loaded, multiplied and stored by the same [`TensorCore`].
//!
//! Source: the matrix instructions of PTX.

use super::device_only;
use super::number::{Element, Integer};
use super::tensor::Tensor;
use super::view::{View, Write};
use std::marker::PhantomData;

/// A matrix instruction of a warp: A and B of type `T`, sums in `f32`.
#[derive(Clone, Copy, Debug)]
pub struct TensorCore<T>(PhantomData<T>);

/// The instruction for A (M x K) and B (K x N) of type `T`, by its shape `[M, N, K]`:
///
/// | `T` | shape | |
/// |---|---|---|
/// | `f32` | `[16, 8, 8]` | rounded to TF32, 10 bits of fraction, to nearest |
/// | `f16`, `bf16` | `[16, 8, 16]` | |
/// | `e4m3`, `e5m2` | `[16, 8, 32]` | sm_89 and later |
pub fn mma_atom<T: Element>(_shape: [impl Integer; 3]) -> TensorCore<T> {
    device_only()
}

impl<T: Element> TensorCore<T> {
    /// The fragments of a tile of A, in registers: for each 16 rows a row of them.
    pub fn load_a(&self, _tile: impl Tensor<Elem = T>) -> View<T, Write> {
        device_only()
    }

    /// The fragments of a tile of B (K x N), in registers: for each 8 columns a row of them.
    pub fn load_b(&self, _tile: impl Tensor<Elem = T>) -> View<T, Write> {
        device_only()
    }

    /// `acc += a b`. Of a product of `M` by `N` the accumulator is `local::<f32>(row_major([M / 16, N / 8 * 4]))`: for
    /// each 16 rows a row, and in it 4 elements for each 8 columns.
    pub fn mma<C: Tensor<Elem = f32, Access = Write>>(
        &self,
        _acc: C,
        _a: impl Tensor<Elem = T>,
        _b: impl Tensor<Elem = T>,
    ) {
        device_only()
    }

    /// Writes an accumulator to a tile of `M` by `N`.
    pub fn store_d<D: Tensor<Elem = f32, Access = Write>>(&self, _tile: D, _acc: impl Tensor<Elem = f32>) {
        device_only()
    }
}
