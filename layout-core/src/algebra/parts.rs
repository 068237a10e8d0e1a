//! `Parts`: the two sides of divided or repeated modes, to be grouped in one of three ways.
//!
//! Law: every grouping has the same modes; only the tuples around them differ.

use crate::{LayoutError, Nest};

/// Tiles and rests, or blocks and repeats.
pub(crate) struct Parts<T> {
    first: Nest<T>,
    second: Nest<T>,
}

impl<T: Clone> Parts<T> {
    /// The two sides of `(first, second)`.
    pub(crate) fn of(pair: &Nest<T>) -> Self {
        let side = |index| pair.mode(index).unwrap_or_else(|| Nest::tuple([]));
        Self { first: side(0), second: side(1) }
    }

    /// The sides of the first `pairs` modes, each a pair; further modes go whole to the second side.
    pub(crate) fn unzip(modes: &Nest<T>, pairs: usize, operation: &'static str) -> Result<Self, LayoutError> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (i, mode) in modes.modes().enumerate() {
            if i >= pairs {
                second.push(mode);
                continue;
            }
            let (what, expected, found) = ("a kept mode, which must be a pair (tile, rest),", 2, mode.rank());
            if found != expected {
                return Err(LayoutError::Rank { operation, what, expected, found });
            }
            let mut sides = mode.modes();
            first.extend(sides.next());
            second.extend(sides.next());
        }
        Ok(Self { first: Nest::tuple(first), second: Nest::tuple(second) })
    }

    /// `(first, second)`.
    pub(crate) fn zipped(self) -> Nest<T> {
        Nest::tuple([self.first, self.second])
    }

    /// `(first, second0, second1, ..)`.
    pub(crate) fn tiled(self) -> Nest<T> {
        Nest::tuple([self.first].into_iter().chain(self.second.modes()))
    }

    /// `(first0, first1, .., second0, second1, ..)`.
    pub(crate) fn flat(self) -> Nest<T> {
        Nest::tuple(self.first.modes().chain(self.second.modes()))
    }
}
