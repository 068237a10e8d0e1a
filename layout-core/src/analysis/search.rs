//! The smallest swizzle or padding without bank conflicts.
//!
//! Law: the result has no conflict in any of the accesses, and every smaller candidate has one.

use super::access::{Access, Offsets};
use super::banks::bank_conflicts;
use crate::layout::Mode;
use crate::{ComposedLayout, Layout, LayoutError, Swizzle};

/// The swizzle of the fewest bits, then of the shortest shift, under which none of the accesses, all over one plain
/// layout, has a conflict; nothing if no swizzle that stays inside the layout does it.
///
/// # Errors
/// [`LayoutError::Unsupported`] for no access, or accesses over different or swizzled layouts.
///
/// ```
/// use layout_core::{Layout, Swizzle, analysis::{Access, conflict_free_swizzle}};
///
/// let tile = Layout::row_major((32, 32))?;
/// let row = Access::new(tile.clone(), Layout::new(32, 32)?, 1, 4)?;
/// let column = Access::new(tile, Layout::new(32, 1)?, 1, 4)?;
/// assert_eq!(conflict_free_swizzle(&[row, column])?, Some(Swizzle::new(5, 0, 5)?));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn conflict_free_swizzle(accesses: &[Access]) -> Result<Option<Swizzle>, LayoutError> {
    let layout = common(accesses)?;
    let bits = 64 - layout.cosize().max(1).leading_zeros();
    for count in 0..=bits.min(5) {
        for shift in count..=bits {
            for base in 0..=bits {
                if count + base + shift > bits || (count == 0 && (base, shift) != (0, 0)) {
                    continue;
                }
                let swizzle = Swizzle::new(count, base, shift as i32)?;
                // Inside the tile only: a swizzle may not reach memory that the layout does not have.
                if count > 0 && layout.cosize() % swizzle.period() != 0 {
                    continue;
                }
                let swizzled = ComposedLayout::new(swizzle, 0, layout.clone())?;
                if clear(accesses, &swizzled.into()) {
                    return Ok(Some(swizzle));
                }
            }
        }
    }
    Ok(None)
}

/// The least number of elements by which the greatest stride has to grow so that none of the accesses, all over one
/// plain layout, has a conflict, with the padded layout; nothing up to 128 bytes.
///
/// # Errors
/// As [`conflict_free_swizzle`].
///
/// ```
/// use layout_core::{Layout, analysis::{Access, conflict_free_padding}};
///
/// let column = Access::new(Layout::row_major((32, 32))?, Layout::new(32, 1)?, 1, 4)?;
/// let (padding, layout) = conflict_free_padding(&[column])?.expect("one float a row is enough");
/// assert_eq!((padding, layout.to_string()), (1, "(32,32):(33,1)".to_string()));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn conflict_free_padding(accesses: &[Access]) -> Result<Option<(i64, Layout)>, LayoutError> {
    let layout = common(accesses)?;
    let outermost = layout.leaves().filter(|mode| mode.shape > 1).map(|mode| mode.stride).max().unwrap_or(0);
    for padding in 0..=128 {
        let modes = layout.modes_nest().map(|mode| match mode {
            Mode { stride, .. } if *stride == outermost => {
                Mode { stride: stride.saturating_add(padding), ..*mode }
            }
            mode => *mode,
        });
        let padded = Layout::from_modes(modes, "padding")?;
        if clear(accesses, &padded.clone().into()) {
            return Ok(Some((padding, padded)));
        }
    }
    Ok(None)
}

/// Whether no access over these offsets has a conflict; one that they misalign has.
fn clear(accesses: &[Access], offsets: &Offsets) -> bool {
    accesses.iter().all(|access| {
        let report = access.over(offsets.clone()).and_then(|access| bank_conflicts(&access));
        report.is_ok_and(|report| report.excess() == 0)
    })
}

fn common(accesses: &[Access]) -> Result<&Layout, LayoutError> {
    let refuse = |detail: &str| Err(LayoutError::Unsupported { operation: "search", detail: detail.into() });
    let Some(Offsets::Plain(layout)) = accesses.first().map(Access::offsets) else {
        return refuse("give at least one access, over a plain layout");
    };
    if accesses.iter().any(|access| *access.offsets() != Offsets::Plain(layout.clone())) {
        return refuse("the accesses are over different layouts");
    }
    Ok(layout)
}
