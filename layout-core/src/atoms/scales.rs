//! The scales of a block-scaled `mma`: which row's scales each thread's register holds.
//!
//! A register is four bytes, the scales of four consecutive blocks of K of one row of A, or one column of B. An instruction of
//! 64 e2m1 with a scale for 16 uses all four, with a scale for 32 two of them, and one of 32 bytes uses one: the selector's byte
//! says the first. Of a row's threads one is read, which the selector's thread says.
//!
//! Law: `a` takes (thread, byte) to `row + 16 * block`, `b` to `column + 8 * block`; every thread that a selector may choose holds
//! the scales that the instruction wants of it, so that each selector of a thread means the same.
//!
//! ```text
//! A, selector's thread s in 0..2:  row r is read in lane 4 (r % 8) + 2 s + r / 8
//! B, selector's thread s in 0..4:  column n is read in lane 4 n + s
//! ```
//! Source: the figures of the selectors in the PTX manual, "Block Scaling for mma.sync"; CuTe's `mma_traits_sm120`.

use crate::{Layout, LayoutError};

/// The scales of a warp's block-scaled product.
///
/// ```
/// let scales = layout_core::atoms::MmaScales::new()?;
/// // Lane 5 holds row 9 of A and column 1 of B.
/// assert_eq!(scales.a.crd2idx(&(5, 0).into())?, 9);
/// assert_eq!(scales.b.crd2idx(&(5, 3).into())?, 1 + 8 * 3);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MmaScales {
    /// (thread, byte) to the index in a tile of 16 rows and four blocks of K.
    pub a: Layout,
    /// (thread, byte) to the index in a tile of 8 columns and four blocks of K.
    pub b: Layout,
    /// (row, selector's thread) to the lane whose register is read for A.
    pub a_lane: Layout,
    /// (column, selector's thread) to the lane whose register is read for B.
    pub b_lane: Layout,
}

impl MmaScales {
    /// The layouts, which all formats share.
    ///
    /// # Errors
    /// None; the layouts are fixed.
    ///
    /// ```
    /// assert_eq!(layout_core::atoms::MmaScales::new()?.a.to_string(), "((2,2,8),4):((8,0,1),16)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new() -> Result<Self, LayoutError> {
        Ok(Self {
            a: "((2,2,8),4):((8,0,1),16)".parse()?,
            b: "((4,8),4):((0,1),8)".parse()?,
            a_lane: "((8,2),2):((4,1),2)".parse()?,
            b_lane: "(8,4):(4,1)".parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::MmaScales;
    use crate::atoms::MmaAtom;
    use crate::{Layout, LayoutError};

    fn at(layout: &Layout, i: i64, j: i64) -> Result<i64, LayoutError> {
        layout.crd2idx(&(i, j).into())
    }

    #[test]
    fn the_lanes_that_a_selector_chooses_hold_the_scales() -> Result<(), LayoutError> {
        let scales = MmaScales::new()?;
        for byte in 0..4 {
            for row in 0..16 {
                for thread in 0..2 {
                    let lane = at(&scales.a_lane, row, thread)?;
                    assert_eq!(lane, 4 * (row % 8) + 2 * thread + row / 8);
                    assert_eq!(at(&scales.a, lane, byte)?, row + 16 * byte);
                }
            }
            for column in 0..8 {
                for thread in 0..4 {
                    let lane = at(&scales.b_lane, column, thread)?;
                    assert_eq!(lane, 4 * column + thread);
                    assert_eq!(at(&scales.b, lane, byte)?, column + 8 * byte);
                }
            }
        }
        Ok(())
    }

    /// PTX ISA, "Matrix Fragments for mma.m16n8k64": the formulas of `groupID` and `threadID_in_group`.
    #[test]
    fn fragments_of_e2m1_are_where_ptx_says() -> Result<(), LayoutError> {
        let (atom, words) = (MmaAtom::m16n8k64_4bit()?, MmaAtom::m16n8k8_tf32()?);
        for lane in 0..32 {
            let (group, thread) = (lane / 4, lane % 4);
            for i in 0..32 {
                let row = if i < 8 || (16..24).contains(&i) { group } else { group + 8 };
                let column = thread * 8 + i % 8 + if i < 16 { 0 } else { 32 };
                assert_eq!(at(&atom.a, lane, i)?, row + 16 * column, "A {lane} {i}");
                // A word of eight along K is an element of TF32.
                assert_eq!(at(&words.a, lane, i / 8)?, row + 16 * (column / 8));
            }
            for i in 0..16 {
                let k = thread * 8 + i % 8 + if i < 8 { 0 } else { 32 };
                assert_eq!(at(&atom.b, lane, i)?, group + 8 * k, "B {lane} {i}");
                assert_eq!(at(&words.b, lane, i / 8)?, group + 8 * (k / 8));
            }
            for i in 0..4 {
                let (row, column) = (group + 8 * (i / 2), thread * 2 + i % 2);
                assert_eq!(at(&atom.c, lane, i)?, row + 16 * column, "C {lane} {i}");
            }
        }
        Ok(())
    }
}
