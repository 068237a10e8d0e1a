//! Tensor memory, and the matrix products of one thread (`tcgen05`), which are asynchronous.
//!
//! Laws: an address is `lane << 16 | column`, of 128 lanes and 512 columns of 32 bits. Row `i` of an allocation of `m`
//! rows is lane [`lane`]`(m, i)`, element `j` of a row is column `j`: so the warp of number `w` in its block holds the rows
//! `m / 4 · (w % 4) ..` in the lanes `32 · (w % 4) ..` that its instructions reach.
//! Source: PTX ISA, "Tensor Memory", "tcgen05.mma", "Instruction descriptor".

use super::{Access, PlaceId, SharedMatrix, Value};
use crate::elem::Elem;
use crate::index::{Index, VarId};

/// Lanes of tensor memory; a row of columns each.
pub const LANES: u32 = 128;
/// Columns of tensor memory.
pub const COLUMNS: u32 = 512;
/// From one lane's address to the next.
pub const LANE: i64 = 1 << 16;

/// The lane of a row of an allocation of 64 or 128 rows.
pub fn lane(rows: u32, row: u32) -> u32 {
    let own = rows / 4;
    row / own.max(1) * 32 + row % own.max(1)
}

/// The columns that are allocated for so many in use: a power of two, 32 at least.
pub fn allocated(columns: u32) -> u32 {
    columns.max(32).next_power_of_two()
}

/// Elements of a column, in its 32 bits from the lowest on.
pub fn packed(elem: Elem) -> i64 {
    4 / i64::from(elem.bytes()).clamp(1, 4)
}

/// A part of tensor memory.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorAt {
    /// The allocation, in [`Space::Tensor`](super::Space::Tensor).
    pub place: PlaceId,
    /// The variable that holds the address of all that the block allocates.
    pub base: VarId,
    /// The address, from there.
    pub address: Index,
}

/// Where the left operand of a product is.
#[derive(Clone, Debug, PartialEq)]
pub enum LeftMatrix {
    /// In shared memory.
    Shared(Box<SharedMatrix>),
    /// In tensor memory, a row in each of the 128 lanes.
    Tensor(TensorAt),
}

/// By one thread: `d = a b`, or `+=`, over 32 bytes of `k`, in flight until an mbarrier has the arrival of the thread's
/// [`Signal::TensorCommit`](super::Signal::TensorCommit). f32 operands are read as tf32: their low 13 bits are cut off.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorProduct {
    /// Rows, 64 or 128.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// Of both operands.
    pub elem: Elem,
    /// The sums, of the type that [`Wgmma::sums`](super::Wgmma::sums) says.
    pub d: TensorAt,
    /// The left operand.
    pub a: LeftMatrix,
    /// The right operand.
    pub b: SharedMatrix,
    /// A `bool`: whether to add to what tensor memory holds.
    pub accumulate: Value<Access>,
}

impl TensorProduct {
    /// The word of PTX for the operands' types; `None` where there is no product of them.
    pub fn kind(elem: Elem) -> Option<&'static str> {
        match elem {
            Elem::F16 | Elem::Bf16 => Some("f16"),
            Elem::F32 => Some("tf32"),
            Elem::E4m3 | Elem::E5m2 => Some("f8f6f4"),
            Elem::I8 | Elem::U8 => Some("i8"),
            _ => None,
        }
    }

    /// Whether there is an instruction of these operands, rows and columns (PTX ISA, "tcgen05.mma", shapes of one block).
    pub fn has_shape(elem: Elem, m: i64, n: i64) -> bool {
        let multiple = if m == 64 && (!elem.is_integer() || n == 8) { 8 } else { 16 };
        matches!(m, 64 | 128) && (multiple..=256).contains(&n) && n % multiple == 0
    }

    /// The instruction descriptor: the type of the sums in bits 4 and 5, of A from bit 7 on, of B from bit 10 on; 1 in bit 15
    /// or 16 where the `k` of A or of B is not contiguous; `n / 8` from bit 17 on, `m / 16` from bit 24 on.
    pub fn descriptor(&self) -> u32 {
        let format = match self.elem {
            Elem::Bf16 | Elem::E5m2 | Elem::I8 => 1,
            Elem::F32 => 2,
            _ => 0,
        };
        let sums = if self.elem.is_integer() { 2 << 4 } else { 1 << 4 };
        let left = matches!(&self.a, LeftMatrix::Shared(matrix) if !matrix.k_major);
        let majors = u32::from(left) << 15 | u32::from(!self.b.k_major) << 16;
        sums | format << 7 | format << 10 | majors | (self.n / 8) << 17 | (self.m / 16) << 24
    }
}

/// By a warp: 32 lanes and so many columns to registers or from them, a lane for each thread; in flight until
/// [`Signal::TensorWait`](super::Signal::TensorWait).
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMove {
    /// Whether it writes tensor memory.
    pub stores: bool,
    /// Where: the lane is the warp's first.
    pub tensor: TensorAt,
    /// A power of two up to 128.
    pub columns: u32,
    /// The first register; as many follow each other as the columns hold elements.
    pub registers: Access,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// `(M, N)` to lanes: for 128 rows the identity, for 64 rows `(16,4):(1,32)`; and each warp's rows are in its quarter.
    #[test]
    fn rows_are_in_the_lanes_of_the_table() {
        for row in 0..128 {
            assert_eq!(lane(128, row), row);
        }
        for row in 0..64 {
            assert_eq!(lane(64, row), [0, 32, 64, 96][row as usize / 16] + row % 16);
        }
        for rows in [64, 128] {
            let lanes: BTreeSet<u32> = (0..rows).map(|row| lane(rows, row)).collect();
            assert!(lanes.len() == rows as usize && lanes.iter().all(|lane| *lane < LANES));
            assert!((0..rows).all(|row| lane(rows, row) / 32 == row / (rows / 4)));
        }
    }

    /// Each field of the instruction descriptor, where the table has it, for every product that there is.
    #[test]
    fn the_instruction_descriptor_is_the_tables() {
        let formats = [
            (Elem::F16, 0),
            (Elem::Bf16, 1),
            (Elem::F32, 2),
            (Elem::E4m3, 0),
            (Elem::E5m2, 1),
            (Elem::U8, 0),
            (Elem::I8, 1),
        ];
        let mut seen = BTreeSet::new();
        for (elem, format) in formats {
            let shapes = [64, 128].into_iter().flat_map(|m| (0..=264).map(move |n| (m, n)));
            let sums = if elem.is_integer() { 2 } else { 1 };
            for (m, n) in shapes.filter(|(m, n)| TensorProduct::has_shape(elem, *m, *n)) {
                for majors in 0..4u32 {
                    let bits =
                        product(elem, m as u32, n as u32, [majors & 1 == 0, majors & 2 == 0]).descriptor();
                    let field = |low: u32, count: u32| bits >> low & ((1 << count) - 1);
                    // No sparsity, no saturation; the type of the sums; the formats; no negation; the majors; N, M, no shift.
                    assert_eq!([field(0, 2), field(2, 1), field(3, 1)], [0; 3]);
                    assert_eq!([field(4, 2), field(7, 3), field(10, 3)], [sums, format, format]);
                    assert_eq!(
                        [field(13, 1), field(14, 1), field(15, 1), field(16, 1)],
                        [0, 0, majors & 1, majors >> 1]
                    );
                    assert_eq!([field(17, 6), field(24, 5), field(30, 2)], [n as u32 / 8, m as u32 / 16, 0]);
                    assert_eq!([field(6, 1), field(23, 1), field(29, 1)], [0; 3]);
                    seen.insert((TensorProduct::kind(elem), bits));
                }
            }
        }
        // 32 widths of 64 rows, of integers 17, 16 of 128: no two products have one descriptor.
        assert_eq!(seen.len(), 5 * 4 * (32 + 16) + 2 * 4 * (17 + 16));
        for [m, n] in [[64, 4], [128, 8], [32, 64]] {
            assert!(formats.iter().all(|(elem, _)| !TensorProduct::has_shape(*elem, m, n)));
        }
    }

    fn product(elem: Elem, m: u32, n: u32, [a, b]: [bool; 2]) -> TensorProduct {
        let matrix = |k_major| SharedMatrix {
            first: Access {
                place: PlaceId(0),
                pointer: None,
                index: Index::constant(0),
                width: 1,
                unaligned: false,
                mask: Vec::new(),
                pad: super::super::Pad::Constant(crate::elem::Constant::zero(elem)),
                direct: false,
                claims: Vec::new(),
                edges: Vec::new(),
                wide: true,
                hint: None,
                loss: super::super::MissedOptimization::default(),
                origin: crate::origin::Origin(0),
            },
            k_major,
            swizzle_bytes: 128,
            leading_bytes: 0,
            stride_bytes: 1024,
        };
        let d = TensorAt { place: PlaceId(0), base: VarId(0), address: Index::constant(0) };
        let accumulate = Value::Constant(crate::elem::Constant::bool(true));
        TensorProduct { m, n, elem, d, a: LeftMatrix::Shared(Box::new(matrix(a))), b: matrix(b), accumulate }
    }

    #[test]
    fn columns_are_rounded_to_powers_of_two() {
        for columns in 1..=COLUMNS {
            let all = allocated(columns);
            assert!(all >= columns && all.is_power_of_two() && (32..=COLUMNS).contains(&all));
            assert!(all == 32 || all / 2 < columns);
        }
    }
}
