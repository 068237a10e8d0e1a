//! `coalesce`: the same function with the fewest modes.
//!
//! Law: `R(i) == L(i)` for all i in L, `size(R) == size(L)`, `depth(R) <= 1`, and no two neighbours can be merged.

use crate::layout::Mode;
use crate::{Layout, Nest};

/// The layout with the fewest modes that is the same function on the domain; modes of extent 1 go, and neighbours
/// merge where `s0 * d0 == d1`. A single mode comes back without a tuple, an empty layout as `0:1`.
///
/// Source: CuTe's `coalesce`.
///
/// ```
/// use layout_core::{Layout, algebra::coalesce};
///
/// let l: Layout = "(2,(1,6)):(1,(7,2))".parse()?;
/// assert_eq!(coalesce(&l).to_string(), "12:1");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn coalesce(layout: &Layout) -> Layout {
    if layout.size() == 0 {
        return Layout::trusted(Nest::leaf(Mode { shape: 0, stride: 1 }));
    }
    let modes = coalesce_modes(layout.leaves().copied());
    Layout::trusted(match modes[..] {
        [] => Nest::leaf(Mode { shape: 1, stride: 0 }),
        [mode] => Nest::leaf(mode),
        _ => Nest::flat(modes),
    })
}

/// The merged modes of a layout that is not empty; none for a layout of size 1.
pub(crate) fn coalesce_modes(modes: impl Iterator<Item = Mode>) -> Vec<Mode> {
    let mut merged: Vec<Mode> = Vec::with_capacity(4);
    for mode in modes.filter(|mode| mode.shape != 1) {
        match merged.last_mut() {
            // The product of two extents divides the size, which fits.
            Some(last) if last.shape.checked_mul(last.stride) == Some(mode.stride) => {
                last.shape *= mode.shape
            }
            _ => merged.push(mode),
        }
    }
    merged
}
