//! The matrix products of a warpgroup, in flight until [`Signal::MatrixWait`](super::Signal::MatrixWait).
//!
//! Source: PTX ISA, "Asynchronous warpgroup level matrix instructions".

use super::{Access, Value};
use crate::elem::Elem;

/// By the warpgroup: `accumulator = a b`, or `+=`, in flight until [`Signal::MatrixWait`](super::Signal::MatrixWait). `a` has 64 rows and 32 bytes
/// of `k`, `b` has `n` columns. f32 operands are read as tf32: their low 13 bits are cut off. The accumulator's layout is `layout_core::atoms`' of wgmma:
/// register `4 j + 2 h + c` of thread `t` is element `(16 (t / 32) + t % 32 / 4 + 8 h, 8 j + 2 (t % 4) + c)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Wgmma {
    /// Columns, a multiple of 8 up to 256.
    pub n: u32,
    /// Of both operands.
    pub elem: Elem,
    /// Its first register; `n / 2` of [`Wgmma::sums`] follow each other.
    pub accumulator: Access,
    /// The left operand.
    pub a: MatrixSource,
    /// The right operand.
    pub b: SharedMatrix,
    /// A `bool`: whether to add to what the accumulator holds.
    pub accumulate: Value<Access>,
}

impl Wgmma {
    /// The type of the sums: of integers `i32`, which wrap, else `f32`.
    pub fn sums(elem: Elem) -> Elem {
        if elem.is_integer() { Elem::I32 } else { Elem::F32 }
    }

    /// Whether there is an instruction of so many columns (PTX ISA, "wgmma.mma_async", `.shape`).
    pub fn has_columns(elem: Elem, n: i64) -> bool {
        (8..=256).contains(&n) && n % 8 == 0 && (!elem.is_integer() || n <= 32 || n % 16 == 0)
    }
}

/// The left operand of [`Wgmma`].
#[derive(Clone, Debug, PartialEq)]
// A program has few products.
#[allow(clippy::large_enum_variant)]
pub enum MatrixSource {
    /// In shared memory.
    Shared(SharedMatrix),
    /// In registers, in the atom's order: the elements of each 32 bits.
    Registers(Vec<Access>),
}

/// A matrix in shared memory as the descriptor says. With `s` = `swizzle_bytes`, element `(i, k)` (`i` a row of A or a
/// column of B) is, before the swizzle, these bytes after the first:
///
/// - `k_major`: `i % 8 · s + i / 8 · stride_bytes + k · size`;
/// - else, with `w = s / size`: `i % w · size + i / w · leading_bytes + k % 8 · s + k / 8 · stride_bytes`.
///
/// The swizzle exchanges 16-byte pieces: address bits 4 and up, as many as `log2(s / 16)`, xor the bits 3 above them.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedMatrix {
    /// The first element.
    pub first: Access,
    /// Whether `k` is contiguous.
    pub k_major: bool,
    /// 32, 64 or 128.
    pub swizzle_bytes: u32,
    /// Bytes to the next `w` columns, where `k` is not contiguous.
    pub leading_bytes: u32,
    /// Bytes to the next eight rows (of `k` where that is not contiguous).
    pub stride_bytes: u32,
}
