//! Missed-optimisation remarks: the optimisation that an access missed, and the reason.
//!
//! Law: a remark changes neither the text nor the simulation. The check records it where the optimisation fails, so
//! [`explain`](crate::explain()) reports what the code does and not the result of a second analysis.

use super::{Comparison, Mask, PlaceId};
use crate::elem::Elem;
use crate::index::Index;

/// What the kernel asked for, or could have had for nothing, and did not get.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MissedOptimization {
    /// So many elements could move at once, and fewer do.
    pub narrowed: Option<(u32, Reason)>,
    /// The copy was to be asynchronous and is not.
    pub synchronous: Option<Reason>,
    /// The conditions of an `if` that the check put around the access.
    pub guards: Mask,
    /// Whether those are tested once, for all of a copy.
    pub once: bool,
}

impl MissedOptimization {
    /// Of a piece of a copy that is narrowed so and is under one test for all of it; under none where that is empty.
    pub fn tested(narrowed: &Option<(u32, Reason)>, test: &[Comparison]) -> MissedOptimization {
        let (narrowed, guards) = (narrowed.clone(), test.to_vec());
        MissedOptimization { narrowed, guards, once: !test.is_empty(), synchronous: None }
    }
}

/// Why fewer elements move at once, or why a copy is not asynchronous.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// So many bytes are wanted at a time and the place is aligned to fewer.
    Alignment {
        /// The place.
        place: PlaceId,
        /// The alignment that may be relied on, bytes.
        known: u32,
        /// Bytes of the vector.
        wanted: u32,
    },
    /// A swizzle leaves fewer elements side by side.
    Swizzle {
        /// The place.
        place: PlaceId,
        /// Elements that stay together.
        run: u32,
    },
    /// The first element is not shown to be a multiple.
    Start {
        /// The place.
        place: PlaceId,
        /// The first element.
        index: Index,
        /// Of what it would have to be a multiple.
        by: i64,
    },
    /// The elements of a vector are not side by side.
    Apart {
        /// The place.
        place: PlaceId,
        /// From one to the next, elements; `None` where they are no list.
        stride: Option<Index>,
    },
    /// The edge of the tensor may be inside of a vector.
    Edge {
        /// The place.
        place: PlaceId,
        /// The edge.
        extent: Index,
        /// Elements of the vector.
        by: i64,
    },
    /// Element by element from one type to another.
    Converts(Elem, Elem),
    /// `cp.async` moves 4, 8 or 16 bytes, and this is another number.
    Bytes(u32),
    /// `cp.async` writes zeros where nothing is read, and the pad is another number.
    Pad,
    /// `cp.async` has no condition for what it writes, and the place in shared memory may be out of range.
    Written,
}
