//! `complement`: what a layout leaves out of `0..M`, as a layout that repeats it.
//!
//! Law: R is increasing, meets L only in offset 0, and `cosize((L, R)) >= M`. Where each stride of L divides the next
//! span (no gap that is not a whole repeat), `(L, R)` reaches each of cosize neighbouring offsets exactly once.
//!
//! A negative stride counts as its absolute value: L with that mode reversed is L moved as a whole, and what is
//! disjoint from its own repeats stays so wherever it is.

use super::coalesce::coalesce_modes;
use crate::layout::Mode;
use crate::{Layout, LayoutError, Nest};

const NAME: &str = "complement";

/// The ordered layout that repeats `layout` over `0..cotarget`; the last repeat may reach past `cotarget`, which is
/// rounded up. Modes of stride 0 do not count, and a mode of negative stride counts as its mirror image.
///
/// # Errors
/// [`LayoutError::NotInjective`] if modes of `layout` are over each other; [`LayoutError::Unsupported`] for a
/// negative cotarget, or where the repeats cannot reach `cotarget`.
///
/// Source: CuTe's `complement`, which for negative strides gives negative extents: of `4:-1` in 48 it has
/// `(-1,-10):(1,-4)`, whose ten copies reach 40 offsets; the answer here is `12:4`.
///
/// ```
/// use layout_core::{Layout, algebra::complement};
///
/// assert_eq!(complement(&"4:2".parse()?, 24)?.to_string(), "(2,3):(1,8)");
/// assert_eq!(complement(&"4:-2".parse()?, 24)?.to_string(), "(2,3):(1,8)");
/// assert_eq!(complement(&"4:-1".parse()?, 48)?.to_string(), "12:4");
/// assert!(complement(&"(4,6,8):(2,3,5)".parse()?, 24).is_err());
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn complement(layout: &Layout, cotarget: i64) -> Result<Layout, LayoutError> {
    let refuse = |detail: String| Err(LayoutError::Unsupported { operation: NAME, detail });
    if cotarget < 0 {
        return refuse(format!("the cotarget {cotarget} is negative; it is a number of offsets"));
    }
    if layout.size() == 0 {
        return refuse(format!("{layout} is empty; nothing can repeat it"));
    }
    let mut modes: Vec<Mode> = Vec::with_capacity(8);
    let moving = layout.leaves().filter(|mode| mode.stride != 0 && mode.shape > 1);
    // The span of two coordinates or more fits, so the stride is not the one without an absolute value.
    modes.extend(moving.map(|mode| Mode { stride: mode.stride.saturating_abs(), ..*mode }));
    modes.sort_unstable_by_key(|mode| (mode.stride, mode.shape));
    let (mut rest, mut span, mut whole) = (Vec::with_capacity(8), 1_i64, true);
    for mode in &modes {
        if mode.stride < span {
            let detail = format!("mode {}:{} overlaps smaller modes of span {span}", mode.shape, mode.stride);
            return Err(LayoutError::NotInjective { operation: NAME, layout: layout.to_string(), detail });
        }
        rest.push(Mode { shape: mode.stride / span, stride: span });
        whole &= mode.stride % span == 0;
        span = mode.shape.checked_mul(mode.stride).ok_or_else(|| LayoutError::Overflow {
            operation: NAME,
            detail: format!("the span of mode {}:{}", mode.shape, mode.stride),
        })?;
    }
    rest.push(Mode { shape: (cotarget.max(1) - 1) / span + 1, stride: span });
    let modes = coalesce_modes(rest.into_iter());
    let result = Layout::from_modes(
        match modes[..] {
            [] => Nest::leaf(Mode { shape: 1, stride: 0 }),
            [mode] => Nest::leaf(mode),
            _ => Nest::flat(modes),
        },
        NAME,
    )?;
    // With gaps that no whole repeat fills, the reach has to be looked at.
    let reach = (layout.cosize() - 1).saturating_add(result.cosize());
    if !whole && reach < cotarget {
        return refuse(format!(
            "{layout} has gaps that no whole repeat fills, and {result} reaches {reach} of {cotarget}; \
             pad a stride to a multiple of the modes below it"
        ));
    }
    Ok(result)
}
