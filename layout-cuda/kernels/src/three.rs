//! A tensor around one of its modes.
//!
//! Law: the three modes have each element of the tensor once, in its order.

use crate::{is_mode, same};
use layout_cuda::{BindError, Error, LaunchError};

/// A tensor as three modes: those before one of its modes as one, that mode, those behind it as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Three {
    pub(crate) shape: [usize; 3],
    pub(crate) strides: [usize; 3],
}

impl Three {
    /// Around mode `axis` of a tensor that has these extents, and is to have the `wanted` ones.
    ///
    /// # Errors
    /// No such mode, other extents than wanted, gaps between modes that are to be one.
    pub(crate) fn new<const R: usize>(
        of: &str,
        name: &str,
        axis: usize,
        shape: [usize; R],
        strides: [usize; R],
        wanted: [usize; R],
    ) -> Result<Three, Error> {
        let refused = |error| Err(LaunchError::Arguments { kernel: of.to_owned(), error }.into());
        is_mode(of, name, axis, R)?;
        if shape[axis] != wanted[axis] {
            let condition = format!("`{name}` has extent {} in mode {axis}", wanted[axis]);
            return crate::refused(of, &condition, format!("it has {}", shape[axis]));
        }
        for mode in 0..R {
            same(of, name, mode, shape[mode], ("the extent", "x"), wanted[mode])?;
        }
        let mut three = Three { shape: [1, shape[axis], 1], strides: [0, strides[axis], 0] };
        for (place, modes) in [(0, 0..axis), (2, axis + 1..R)] {
            for mode in modes.rev().filter(|mode| shape[*mode] != 1) {
                let expected = three.shape[place].saturating_mul(three.strides[place]);
                if three.shape[place] == 1 {
                    three.strides[place] = strides[mode];
                } else if expected != strides[mode] && !shape.contains(&0) {
                    let (argument, layout) = (name.to_owned(), "one mode before the axis, one behind it");
                    return refused(BindError::Stride {
                        argument,
                        mode,
                        found: strides[mode],
                        expected,
                        layout,
                    });
                }
                three.shape[place] = three.shape[place].saturating_mul(shape[mode]);
            }
        }
        Ok(three)
    }
}

#[cfg(test)]
mod tests {
    use super::Three;

    #[test]
    fn modes_around_one() {
        let of = |axis, strides| {
            let three = Three::new("f", "x", axis, [2, 3, 5], strides, [2, 3, 5]);
            three.ok().map(|three| (three.shape, three.strides))
        };
        assert_eq!(of(2, [15, 5, 1]), Some(([6, 5, 1], [5, 1, 0])));
        assert_eq!(of(1, [15, 5, 1]), Some(([2, 3, 5], [15, 5, 1])));
        assert_eq!(of(0, [20, 5, 1]), Some(([1, 2, 15], [0, 20, 1])));
        // A gap between the modes behind it.
        assert_eq!(of(0, [20, 6, 1]), None);
        assert_eq!(of(3, [15, 5, 1]), None);
    }
}
