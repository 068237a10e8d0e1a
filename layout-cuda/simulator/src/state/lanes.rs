//! The elements that the lanes of a warp access in one instruction.

use crate::bytecode::LANES;

/// One access of a warp, ready: where each lane goes.
pub(crate) struct LaneElements {
    /// The first element of each lane.
    pub index: [i64; LANES],
    /// The lanes that touch memory.
    pub active: u32,
    /// Whether all lanes go to the same element.
    pub uniform: bool,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// It reads.
    Read,
    /// It writes, or changes.
    Write,
}
