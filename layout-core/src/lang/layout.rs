//! Layouts: of arguments as types, of shared and local tensors and of threads as values.

use super::device_only;
use super::number::Integer;

/// What an extent that is not written is.
const NONE: usize = usize::MAX;

macro_rules! argument_layout {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<
            const D0: usize,
            const D1: usize = NONE,
            const D2: usize = NONE,
            const D3: usize = NONE,
            const D4: usize = NONE,
        >;
    )*};
}

argument_layout! {
    /// The compact layout whose last mode is contiguous: `RowMajor<M, K>`. Extents: 1 to 5, each a dimension, a
    /// parameter or a number.
    RowMajor;
    /// The compact layout whose first mode is contiguous: `ColMajor<M, K>`.
    ColMajor;
    /// The last mode contiguous, every other stride taken from the tensor at launch: `Pitched<M, K>`.
    Pitched;
    /// Every stride taken from the tensor at launch: `Strided<M, K>`.
    Strided;
}

/// A layout as a compile-time value: of [`shared`](super::shared) and [`local`](super::local) tensors, and of the
/// threads that share a copy.
#[derive(Clone, Copy, Debug)]
pub struct Layout(());

/// The compact layout whose last mode is contiguous: `row_major([4, 8])` is `(4,8):(8,1)`.
pub fn row_major<I: Integer, const R: usize>(_shape: [I; R]) -> Layout {
    device_only()
}

/// The compact layout whose first mode is contiguous: `col_major([4, 8])` is `(4,8):(1,4)`.
pub fn col_major<I: Integer, const R: usize>(_shape: [I; R]) -> Layout {
    device_only()
}

/// The layout of a shape and strides in elements: `layout([4, 8], [9, 1])` is `(4,8):(9,1)`.
pub fn layout<I: Integer, J: Integer, const R: usize>(_shape: [I; R], _strides: [J; R]) -> Layout {
    device_only()
}

impl Layout {
    /// The layout with `Swizzle<bits, base, shift>` over its element offsets: it keeps the lowest `base` bits and
    /// exclusive-ors the `bits` above them with the `bits` that stand `shift` higher.
    pub fn swizzle(self, _bits: usize, _base: usize, _shift: usize) -> Layout {
        device_only()
    }

    /// The layout with the hardware's swizzle over 32, 64 or 128 bytes: 16-byte pieces of a row change places, by the
    /// row's number, whatever the element type. Rows are as long as the swizzle. See [`tma_load`](super::tma_load) and
    /// [`wgmma`](super::wgmma).
    pub fn swizzle_bytes(self, _bytes: usize) -> Layout {
        device_only()
    }
}
