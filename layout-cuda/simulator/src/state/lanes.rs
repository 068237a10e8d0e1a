//! The elements that the lanes of a warp access in one instruction.

use crate::bytecode::LANES;

pub(crate) struct LaneElements {
    /// The first element of each lane.
    pub index: [i64; LANES],
    /// The lanes that access memory.
    pub active: u32,
    /// Whether all lanes access the same element.
    pub uniform: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    /// A write, or an atomic operation.
    Write,
}
