//! Boxes of a tensor, moved by TMA: the tensor map that divides the tensor into boxes, and the two copies.
//!
//! Source: PTX ISA, "cp.async.bulk.tensor".

use super::{Access, BarrierAt, Hint};
use crate::elem::Elem;
use crate::index::Index;

/// How a tensor argument is cut into boxes: what the launch encodes and the kernel takes as a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The tensor argument.
    pub argument: u32,
    /// Of what.
    pub elem: Elem,
    /// The argument's modes, the contiguous one first.
    pub modes: Vec<u32>,
    /// The box's extents, in that order; each at most 256.
    pub extents: Vec<u32>,
    /// Bytes of the swizzle in shared memory: 32, 64, 128; 0 for none.
    pub swizzle_bytes: u32,
    /// Whether a copy to shared memory rounds each `f32` to the nearest tf32; else the matrix units cut it off.
    pub round_tf32: bool,
    /// Whether boxes are stored by it. TMA writes whole 16 bytes: a launch refuses a tensor whose rows end
    /// inside of 16 (seen on an H200, where the rest was overwritten).
    pub stored: bool,
}

impl TensorMap {
    /// Bytes of a box.
    pub fn bytes(&self) -> u32 {
        self.extents.iter().fold(self.elem.bytes(), |bytes, extent| bytes.saturating_mul(*extent))
    }
}

/// By one thread: a box of a tensor to shared memory, compact, the map's first mode fastest, swizzled; zeros where it is
/// beyond the tensor. It reports the box's bytes to the mbarrier.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorLoad {
    /// Of the plan's maps.
    pub map: u32,
    /// The first element written; before the swizzle, which is over the address.
    pub destination: Access,
    /// The box's first element, in the map's order of modes.
    pub coordinates: Vec<Index>,
    /// The mbarrier that counts its bytes.
    pub barrier: BarrierAt,
    /// The blocks of the cluster that get it, bit `i` for rank `i`, each at the same place, and counted at the same
    /// barrier; only the own where there is none.
    pub multicast: Option<u32>,
    /// How L2 is to keep what it reads.
    pub hint: Option<Hint>,
}

/// By one thread: a box in shared memory to a tensor; elements beyond the tensor are dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorStore {
    /// Of the plan's maps.
    pub map: u32,
    /// The first element read, likewise.
    pub source: Access,
    /// The box's first element, in the map's order of modes.
    pub coordinates: Vec<Index>,
    /// How L2 is to keep what it writes.
    pub hint: Option<Hint>,
    /// Added to what is there, each element atomically, rather than in its place.
    pub adds: bool,
}
