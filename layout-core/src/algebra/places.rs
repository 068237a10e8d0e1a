//! `Places`: a layout as a sum of floors, which is what exactness is decided on.
//!
//! Law: `L(x) == sum over places p of jump_p * floor(x / p)` for x >= 0, where the places are the products of L's
//! leading extents and the jump is how far the stride departs from a straight line there. A place without a jump
//! (`s_i * d_i == d_{i+1}`) is left out, so the list is as short as the coalesced layout. The last mode has no upper
//! end, where modes `1:0` behind it do not count: a compact layout has one for each extent of 1, which says nothing of
//! how to go on. Below zero `L(-x) == -L(x)`.

use crate::layout::Mode;
use crate::{Layout, LayoutError};

/// A point at which the layout departs from a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The product of the extents before it.
    pub(crate) size: i64,
    /// What the offset jumps by at each multiple of `size`; wider than a stride, since it is a difference.
    pub(crate) jump: i128,
}

/// A layout's extended function, by its places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places(Vec<Place>);

impl Places {
    pub(crate) fn new(layout: &Layout, operation: &'static str) -> Result<Self, LayoutError> {
        if layout.size() == 0 {
            let detail = format!("{layout} is empty, it has no offsets");
            return Err(LayoutError::Unsupported { operation, detail });
        }
        let mut places: Vec<Place> = Vec::with_capacity(4);
        let (mut size, mut straight) = (1_i64, 0_i128);
        let silent = |mode: &Mode| mode.shape == 1 && mode.stride == 0;
        let count = layout.leaves().enumerate().filter(|(_, mode)| !silent(mode)).last();
        for mode in layout.leaves().take(count.map_or(0, |(last, _)| last + 1)) {
            let jump = i128::from(mode.stride) - straight;
            match places.last_mut() {
                // Only extents of 1 are between: one place.
                Some(last) if last.size == size => last.jump += jump,
                _ if jump == 0 => {}
                _ => places.push(Place { size, jump }),
            }
            straight = i128::from(mode.shape) * i128::from(mode.stride);
            // The layout's size fits, and so does every product of its leading extents.
            size = size.wrapping_mul(mode.shape);
        }
        places.retain(|place| place.jump != 0);
        Ok(Self(places))
    }

    /// The value at `x`, or nothing beyond 64 bits.
    pub(crate) fn at(&self, x: i64) -> Option<i64> {
        let magnitude = i128::from(x).abs();
        let mut total = 0_i128;
        for place in &self.0 {
            total = total.checked_add(place.jump.checked_mul(magnitude / i128::from(place.size))?)?;
        }
        i64::try_from(if x < 0 { -total } else { total }).ok()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Place> {
        self.0.iter()
    }
}
