//! The tile level: what [`Specialised`](super::Specialised) holds where the scalar level has elements.

use crate::kernel::index::{Atoms, Index, IndexOverflow};
use crate::kernel::origin::Origin;
use crate::kernel::program::Value;
use crate::kernel::view::View;

/// An element of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct TileAccess {
    /// The view.
    pub view: View,
    /// A coordinate for each mode.
    pub coordinates: Vec<Index>,
    /// Where it is written.
    pub origin: Origin,
}

/// An operation on whole views.
#[derive(Clone, Debug, PartialEq)]
pub enum TileOperation {
    /// `destination[c] = source[c]` for every coordinate; extents and lanes agree.
    Copy {
        /// Written.
        destination: View,
        /// Read.
        source: View,
        /// The threads that share the work; without them each thread copies all of it.
        threads: Option<ThreadLayout>,
        /// Whether it is done by `cp.async`, where that can be.
        asynchronous: bool,
    },
    /// `destination[c] = value` for every coordinate, by each thread.
    Fill {
        /// Written.
        destination: View,
        /// The value.
        value: Value<TileAccess>,
    },
    /// `accumulator[i, j] += left[i] * right[j]`, by each thread.
    OuterProduct {
        /// Read and written; rank 2.
        accumulator: View,
        /// As many elements as the accumulator has rows.
        left: View,
        /// As many elements as the accumulator has columns.
        right: View,
    },
}

/// Which thread has which coordinate: thread `t` has `(t / stride) % shape` in each mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadLayout {
    /// Threads along each mode.
    pub shape: Vec<i64>,
    /// Threads from one coordinate to the next.
    pub stride: Vec<i64>,
}

impl ThreadLayout {
    /// How many threads.
    pub fn size(&self) -> i64 {
        self.shape.iter().product()
    }

    /// The coordinate of a thread in each mode.
    pub fn coordinates(&self, atoms: &mut Atoms, thread: &Index) -> Result<Vec<Index>, IndexOverflow> {
        let modes = self.shape.iter().zip(&self.stride);
        modes
            .map(|(extent, stride)| {
                if *extent == 1 {
                    return Ok(Index::constant(0));
                }
                let quotient = atoms.div(thread, &Index::constant((*stride).max(1)))?;
                atoms.rem(&quotient, &Index::constant(*extent))
            })
            .collect()
    }
}
