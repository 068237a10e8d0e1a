//! The matrix instructions of a warp (`mma.sync`), their loads (`ldmatrix`) and their stores (`stmatrix`).
//!
//! [`layout_core::atoms`] alone defines which thread holds which element; checker, emitter and simulator read it
//! there. A fragment of an operand is `values` neighbouring elements of a local tensor, in the order of the atom's
//! values.

use super::{Access, Value};
use crate::arch::Feature;
use crate::elem::Elem;
use layout_core::Layout;
use layout_core::atoms::{MmaAtom, MmaScales};

/// Threads of a warp.
pub const WARP: i64 = 32;

/// Which instruction: by the type of A and B, and that of the sums, C and D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorCore {
    /// 16 x 8 x 8, of floats rounded to 10 bits of fraction.
    Tf32,
    /// 16 x 8 x 16.
    F16,
    /// 16 x 8 x 8, of f16 (every architecture).
    F16K8,
    /// 16 x 8 x 16.
    Bf16,
    /// 16 x 8 x 32 (sm_89 and later).
    E4m3,
    /// 16 x 8 x 32 (sm_89 and later).
    E5m2,
    /// 16 x 8 x 16, with sums of `f16`.
    F16InF16,
    /// 16 x 8 x 32, with sums of `i32` that wrap.
    I8,
    /// 16 x 8 x 32, with sums of `i32` that wrap.
    U8,
    /// 8 x 8 x 16, with sums of `i32` that wrap (every architecture; so is the next one).
    I8K16,
    /// 8 x 8 x 16, with sums of `i32` that wrap.
    U8K16,
    /// 8 x 8 x 4, each product added by one rounding.
    F64,
    /// 16 x 8 x 4, likewise (sm_90 and later; so are the next two).
    F64K4,
    /// 16 x 8 x 8.
    F64K8,
    /// 16 x 8 x 16.
    F64K16,
    /// 16 x 8 x 8 words of 32 bits: a product is the number of bits that both have; sums of `i32` that wrap.
    Bits,
    /// 16 x 8 x 64, of words of eight e2m1, with block scales (sm_120f).
    E2m1,
}

impl TensorCore {
    /// Every instruction.
    pub const ALL: [TensorCore; 17] = [
        TensorCore::Tf32,
        TensorCore::F16,
        TensorCore::F16K8,
        TensorCore::Bf16,
        TensorCore::E4m3,
        TensorCore::E5m2,
        TensorCore::F16InF16,
        TensorCore::I8,
        TensorCore::U8,
        TensorCore::I8K16,
        TensorCore::U8K16,
        TensorCore::F64,
        TensorCore::F64K4,
        TensorCore::F64K8,
        TensorCore::F64K16,
        TensorCore::Bits,
        TensorCore::E2m1,
    ];

    /// The instruction of a shape for operands of a type, with the most precise sums.
    pub fn of(elem: Elem, shape: &[i64]) -> Option<TensorCore> {
        TensorCore::ALL.into_iter().find(|core| core.elem() == elem && core.shape() == *shape)
    }

    /// The element type of A and B.
    pub const fn elem(self) -> Elem {
        match self {
            TensorCore::Tf32 => Elem::F32,
            TensorCore::F16 | TensorCore::F16K8 | TensorCore::F16InF16 => Elem::F16,
            TensorCore::I8 | TensorCore::I8K16 => Elem::I8,
            TensorCore::U8 | TensorCore::U8K16 => Elem::U8,
            TensorCore::F64 | TensorCore::F64K4 | TensorCore::F64K8 | TensorCore::F64K16 => Elem::F64,
            TensorCore::Bits | TensorCore::E2m1 => Elem::U32,
            TensorCore::Bf16 => Elem::Bf16,
            TensorCore::E4m3 => Elem::E4m3,
            TensorCore::E5m2 => Elem::E5m2,
        }
    }

    /// What A and B are of, in words.
    pub const fn name(self) -> &'static str {
        if matches!(self, TensorCore::E2m1) { "e2m1" } else { self.elem().name() }
    }

    /// The element type of C and D.
    pub const fn sums(self) -> Elem {
        match self {
            TensorCore::F16InF16 => Elem::F16,
            TensorCore::I8 | TensorCore::U8 | TensorCore::I8K16 | TensorCore::U8K16 | TensorCore::Bits => {
                Elem::I32
            }
            TensorCore::F64 | TensorCore::F64K4 | TensorCore::F64K8 | TensorCore::F64K16 => Elem::F64,
            TensorCore::Tf32
            | TensorCore::F16
            | TensorCore::F16K8
            | TensorCore::Bf16
            | TensorCore::E4m3
            | TensorCore::E5m2
            | TensorCore::E2m1 => Elem::F32,
        }
    }

    /// The instruction of the same operands and shape whose sums are of this type, where there is one.
    pub fn with_sums(self, sums: Elem) -> Option<TensorCore> {
        let alike = |core: &TensorCore| core.elem() == self.elem() && core.shape() == self.shape();
        TensorCore::ALL.into_iter().filter(alike).find(|core| core.sums() == sums)
    }

    /// M, N, K.
    pub const fn shape(self) -> [i64; 3] {
        match self {
            TensorCore::F64 => [8, 8, 4],
            TensorCore::F64K4 => [16, 8, 4],
            TensorCore::I8K16 | TensorCore::U8K16 => [8, 8, 16],
            TensorCore::Tf32 | TensorCore::Bits | TensorCore::F64K8 | TensorCore::F16K8 => [16, 8, 8],
            TensorCore::F16 | TensorCore::F16InF16 | TensorCore::Bf16 | TensorCore::F64K16 => [16, 8, 16],
            TensorCore::E4m3 | TensorCore::E5m2 | TensorCore::I8 | TensorCore::U8 => [16, 8, 32],
            TensorCore::E2m1 => [16, 8, 64],
        }
    }

    /// Elements of A and B along K: of [`TensorCore::E2m1`] the words.
    pub const fn depth(self) -> i64 {
        let [_, _, k] = self.shape();
        if matches!(self, TensorCore::E2m1) { k / 8 } else { k }
    }

    /// How many scales of this type an instruction has for a row of A, or a column of B, where it has block scales: a scale
    /// of `e4m3` is one of ue4m3, of `u8` one of ue8m0.
    pub const fn scales(self, elem: Elem) -> Option<i64> {
        match (self, elem) {
            (TensorCore::E2m1, Elem::E4m3) => Some(4),
            (TensorCore::E2m1, Elem::U8) => Some(2),
            (TensorCore::E4m3 | TensorCore::E5m2, Elem::U8) => Some(1),
            _ => None,
        }
    }

    /// Operations of one lane: a product and a sum for each of the warp's M N K, shared among its lanes.
    pub const fn flops(self) -> u64 {
        let [m, n, k] = self.shape();
        (2 * m * n * k / WARP) as u64
    }

    /// What an architecture has that has it; `None` where all have.
    pub const fn needs(self) -> Option<Feature> {
        Some(match self {
            TensorCore::F16K8 | TensorCore::I8K16 | TensorCore::U8K16 => return None,
            TensorCore::E2m1 => Feature::ScaledMma,
            TensorCore::E4m3 | TensorCore::E5m2 => Feature::Float8,
            TensorCore::F64K4 | TensorCore::F64K8 | TensorCore::F64K16 => Feature::TallF64Mma,
            TensorCore::Tf32
            | TensorCore::F16
            | TensorCore::Bf16
            | TensorCore::F16InF16
            | TensorCore::I8
            | TensorCore::U8
            | TensorCore::F64
            | TensorCore::Bits => Feature::Mma,
        })
    }

    /// Whether `ldmatrix` may load its operands. It gives a lane 4 bytes of each row of 16, so a register of the fragment
    /// has to be 4 neighbouring bytes of K. A float of 8 bytes is two registers, whose bytes the instruction would give to two lanes.
    pub const fn has_matrix_loads(self) -> bool {
        self.elem().bytes() <= 4
    }

    /// The device function that wraps it.
    pub const fn function(self) -> &'static str {
        match self {
            TensorCore::Tf32 => "mma_16x8x8_tf32",
            TensorCore::F16 => "mma_16x8x16_f16",
            TensorCore::F16K8 => "mma_16x8x8_f16",
            TensorCore::Bf16 => "mma_16x8x16_bf16",
            TensorCore::E4m3 => "mma_16x8x32_e4m3",
            TensorCore::E5m2 => "mma_16x8x32_e5m2",
            TensorCore::F16InF16 => "mma_16x8x16_f16_f16",
            TensorCore::I8 => "mma_16x8x32_s8",
            TensorCore::U8 => "mma_16x8x32_u8",
            TensorCore::I8K16 => "mma_8x8x16_s8",
            TensorCore::U8K16 => "mma_8x8x16_u8",
            TensorCore::F64 => "mma_8x8x4_f64",
            TensorCore::F64K4 => "mma_16x8x4_f64",
            TensorCore::F64K8 => "mma_16x8x8_f64",
            TensorCore::F64K16 => "mma_16x8x16_f64",
            TensorCore::Bits => "mma_16x8x256_bits",
            TensorCore::E2m1 => "mma_16x8x64_e2m1",
        }
    }

    /// (thread, value) of an operand to the index in its tile, rows fastest. B's rows are those of N. `None` never is: the
    /// atoms' layouts are fixed.
    pub fn layout(self, operand: Operand) -> Option<Layout> {
        if matches!(operand, Operand::ScalesOfA | Operand::ScalesOfB) {
            let scales = MmaScales::new().ok()?;
            return Some(if operand == Operand::ScalesOfA { scales.a } else { scales.b });
        }
        let atom = match self {
            // The words of bits, and of e2m1, are as the elements of TF32 are.
            TensorCore::Tf32 | TensorCore::Bits | TensorCore::E2m1 => MmaAtom::m16n8k8_tf32(),
            TensorCore::F16K8 => MmaAtom::m16n8k8_f16(),
            TensorCore::I8K16 | TensorCore::U8K16 => MmaAtom::m8n8k16_8bit(),
            TensorCore::F64 => MmaAtom::m8n8k4_f64(),
            TensorCore::F64K4 => MmaAtom::m16n8k4_f64(),
            TensorCore::F64K8 => MmaAtom::m16n8k8_f64(),
            TensorCore::F64K16 => MmaAtom::m16n8k16_f64(),
            TensorCore::F16 | TensorCore::F16InF16 | TensorCore::Bf16 => MmaAtom::m16n8k16_f16(),
            TensorCore::E4m3 | TensorCore::E5m2 | TensorCore::I8 | TensorCore::U8 => MmaAtom::m16n8k32_8bit(),
        };
        let atom = atom.ok()?;
        Some(match operand {
            Operand::A => atom.a,
            Operand::B => atom.b,
            Operand::C | Operand::ScalesOfA | Operand::ScalesOfB => atom.c,
        })
    }

    /// Rows and columns of an operand's tile as [`TensorCore::layout`] counts them.
    pub const fn tile(self, operand: Operand) -> [i64; 2] {
        let ([m, n, _], k) = (self.shape(), self.depth());
        match operand {
            Operand::A => [m, k],
            Operand::B => [n, k],
            Operand::C => [m, n],
            Operand::ScalesOfA => [m, Selector::BYTES],
            Operand::ScalesOfB => [n, Selector::BYTES],
        }
    }

    /// Elements of an operand that a thread holds. Several threads hold the scales of a row.
    pub const fn values(self, operand: Operand) -> i64 {
        let [rows, columns] = self.tile(operand);
        match operand {
            Operand::ScalesOfA | Operand::ScalesOfB => columns,
            Operand::A | Operand::B | Operand::C => rows * columns / WARP,
        }
    }
}

/// An operand of a matrix instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// M x K.
    A,
    /// K x N.
    B,
    /// M x N: what is added to, and the result.
    C,
    /// The scales of A: M x blocks of K, four a register.
    ScalesOfA,
    /// The scales of B: blocks of K x N, four a register.
    ScalesOfB,
}

/// Which part of whose register has the scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The first byte: 0, or with two scales 0 or 2, or with one 0 to 3.
    pub byte: u8,
    /// Of the threads that hold a row: [`MmaScales::a_lane`] and [`MmaScales::b_lane`].
    pub thread: u8,
}

impl Selector {
    /// Scales of a register.
    pub const BYTES: i64 = 4;
}

/// The scales of a product: of each, the register of four and the selector.
#[derive(Clone, Debug, PartialEq)]
pub struct Scales {
    /// Their type: `e4m3` of ue4m3, `u8` of ue8m0.
    pub elem: Elem,
    /// Those of A.
    pub left: Access,
    /// Those of B.
    pub right: Access,
    /// Which part of both.
    pub selector: Selector,
}

/// `accumulator += left right`, by a warp. The three are fragments: `width` neighbouring elements of local places.
#[derive(Clone, Debug, PartialEq)]
pub struct Mma {
    /// Which instruction.
    pub core: TensorCore,
    /// Read and written.
    pub accumulator: Access,
    /// A.
    pub left: Access,
    /// B.
    pub right: Access,
    /// What each block of K is multiplied by, if anything.
    pub scales: Option<Scales>,
}

/// `count` matrices of 8 rows of 16 bytes, by a warp, from shared memory to registers. Thread `8 i + r` names row `r` of
/// matrix `i`; what the other threads name is not read. Thread `t` receives of each matrix the 4 bytes `t % 4` of row
/// `t / 4`; `transposed`, of 2-byte elements only, those of rows `2 (t % 4)` and `2 (t % 4) + 1` in column `t / 4`.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadMatrix {
    /// Written: local, 4 bytes of each matrix, one after the other.
    pub destination: Access,
    /// This thread's row: 16 bytes in shared memory.
    pub source: Access,
    /// 1, 2 or 4 matrices.
    pub count: u32,
    /// Whether columns are received.
    pub transposed: bool,
}

/// By a warp: `stmatrix`, four matrices of 8 × 8 of 2-byte elements; lane `l` gives row `l % 8` of matrix `l / 8`.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreMatrix {
    /// The lane's row: eight elements, without a mask.
    pub destination: Access,
    /// Of each matrix the two neighbours that the lane holds: of row `lane / 4` columns `2 (lane % 4)` and the next.
    /// Each is an `f32`, rounded to the destination's type.
    pub values: Vec<Value<Access>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_atoms_have_the_shapes_and_values_said_here() {
        for core in TensorCore::ALL {
            for operand in [Operand::A, Operand::B, Operand::C] {
                let layout = core.layout(operand).expect("a fixed layout");
                let [rows, columns] = core.tile(operand);
                assert_eq!(layout.size(), rows * columns, "{core:?} {operand:?}");
                assert_eq!(layout.mode(1).map(|values| values.size()), Some(core.values(operand)));
                // Each stride stays in one mode of the tile, so that a thread's values are modes of a view.
                for leaf in layout.leaves().filter(|leaf| leaf.shape > 1) {
                    assert!(leaf.stride < rows || leaf.stride % rows == 0, "{core:?} {operand:?}");
                }
            }
        }
    }

    #[test]
    fn scales_are_four_a_thread_and_cover_k() {
        for core in TensorCore::ALL {
            for operand in [Operand::ScalesOfA, Operand::ScalesOfB] {
                let values =
                    core.layout(operand).and_then(|layout| layout.mode(1)).map(|values| values.size());
                assert_eq!((values, core.values(operand)), (Some(4), 4));
            }
            let blocks =
                [Elem::E4m3, Elem::U8].map(|elem| core.scales(elem).map(|count| core.shape()[2] / count));
            let wanted = match core {
                TensorCore::E2m1 => [Some(16), Some(32)],
                TensorCore::E4m3 | TensorCore::E5m2 => [None, Some(32)],
                _ => [None, None],
            };
            assert_eq!(blocks, wanted, "{core:?}");
        }
    }
}
