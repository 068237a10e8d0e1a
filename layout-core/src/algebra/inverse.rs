//! The inverses of a layout, what two layouts have in common, and what a layout forgets.
//!
//! Laws: `L(right_inverse(L)(i)) == i`; `L(R(L(i))) == L(i)` for `R = left_inverse(L)`, and `R(L(i)) == i` where L is
//! injective; `L(nullspace(L)(i)) == 0`; `A(C(i)) == B(C(i)) == i` for `C = max_common_layout(A, B)`, whose indices
//! are in the domains of both.

use super::coalesce::{coalesce, coalesce_modes};
use super::composition::composition;
use super::places::Places;
use crate::layout::Mode;
use crate::{Layout, LayoutError, Nest};

/// The modes with the step of the linear index along each.
fn steps(modes: impl Iterator<Item = Mode>) -> Vec<(Mode, i64)> {
    let mut step = 1_i64;
    let with_step = modes.map(|mode| {
        let here = step;
        // A product of leading extents, which fits as the size does.
        step = step.wrapping_mul(mode.shape);
        (mode, here)
    });
    with_step.collect()
}

/// One mode without a tuple, none as `1:0`.
pub(crate) fn join(modes: Vec<Mode>) -> Nest<Mode> {
    match modes[..] {
        [] => Nest::leaf(Mode { shape: 1, stride: 0 }),
        [mode] => Nest::leaf(mode),
        _ => Nest::flat(modes),
    }
}

/// The indices that reach offsets 0, 1, 2, ..: the longest run that starts at 0. `1:0` if nothing has stride 1, as in
/// a layout that only runs downwards, for no index is negative.
///
/// # Errors
/// [`LayoutError::Unsupported`] for an empty layout.
///
/// Source: CuTe's `right_inverse`.
///
/// ```
/// use layout_core::{Layout, algebra::right_inverse};
///
/// assert_eq!(right_inverse(&Layout::row_major((4, 8))?)?.to_string(), "(8,4):(4,1)");
/// assert_eq!(right_inverse(&"4:2".parse()?)?.to_string(), "1:0");
/// assert_eq!(right_inverse(&"4:-1".parse()?)?.to_string(), "1:0");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn right_inverse(layout: &Layout) -> Result<Layout, LayoutError> {
    not_empty(layout, "right_inverse")?;
    let modes = steps(coalesce_modes(layout.leaves().copied()).into_iter());
    let (mut chain, mut next) = (Vec::new(), 1_i64);
    // A mode of 2 or more coordinates doubles the next stride, so no mode is met twice.
    while let Some((mode, step)) = modes.iter().find(|(mode, _)| mode.stride == next) {
        chain.push(Mode { shape: mode.shape, stride: *step });
        match next.checked_mul(mode.shape) {
            Some(after) => next = after,
            None => break,
        }
    }
    Layout::from_modes(join(chain), "right_inverse")
}

/// The layout that takes each offset of `layout` back to an index with that offset.
///
/// # Errors
/// [`LayoutError::NotInjective`] where the strides do not divide one another, a mode reaches over the next stride, or
/// an index past the domain, which a last mode that overlaps needs, passes 64 bits; [`LayoutError::Unsupported`] for
/// an empty layout.
///
/// Source: CuTe's `left_inverse`, which gives a wrong layout where modes overlap.
///
/// ```
/// use layout_core::{Layout, algebra::left_inverse};
///
/// let l: Layout = "(4,3):(3,15)".parse()?; // every third offset, then a gap
/// let r = left_inverse(&l)?;
/// assert_eq!(r.to_string(), "(3,5,3):(0,1,4)");
/// assert!((0..l.size()).all(|i| l.at(i).and_then(|at| r.at(at)) == Ok(i)));
/// assert!(left_inverse(&"(8,4):(24,8)".parse()?).is_err());
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn left_inverse(layout: &Layout) -> Result<Layout, LayoutError> {
    not_empty(layout, "left_inverse")?;
    let modes = steps(coalesce_modes(layout.leaves().copied()).into_iter());
    // The last mode goes on past the domain, if no mode of extent 1 is behind it to go on in another way.
    let goes_on = Places::new(layout, "left_inverse")? == Places::new(&coalesce(layout), "left_inverse")?;
    let end = modes.last().map(|(_, step)| *step).filter(|_| goes_on);
    let mut moving: Vec<_> = modes.iter().filter(|(mode, _)| mode.stride != 0).copied().collect();
    moving.sort_unstable_by_key(|(mode, _)| mode.stride.unsigned_abs());
    let refuse = |detail: String| {
        Err(LayoutError::NotInjective { operation: "left_inverse", layout: layout.to_string(), detail })
    };
    if moving.len() > 1 && moving.iter().any(|(mode, _)| mode.stride < 0) {
        return refuse("a stride is negative; reverse that mode first".into());
    }
    let (mut digits, mut below, mut step_below, mut reach) = (Vec::new(), 1_i64, 0_i64, 0_i64);
    for (i, &(mode, step)) in moving.iter().enumerate() {
        let stride = mode.stride.saturating_abs();
        if stride % below != 0 {
            return refuse(format!("stride {stride} is not divisible by stride {below}"));
        }
        digits.push(Mode { shape: stride / below, stride: step_below });
        // An offset's digit for this mode is its coordinate and what the modes below carry over, up to the next
        // stride. It must be one of the mode's coordinates; the last mode of all has no end.
        let most = (mode.shape - 1).saturating_add(reach / stride);
        let (digit, last) = match moving.get(i + 1) {
            Some((next, _)) => (most.min(next.stride / stride - 1), false),
            None => (most, end == Some(step)),
        };
        if digit >= mode.shape && !last {
            return refuse(format!(
                "mode {}:{stride} overlaps smaller modes, which reach {reach}",
                mode.shape
            ));
        }
        // Bounded by the cosize.
        reach += stride * (mode.shape - 1);
        (below, step_below) = (stride, step * mode.stride.signum());
    }
    let top = moving.last().map_or(layout.size(), |(mode, _)| mode.shape);
    // A last mode that goes on past its extent leads up to this digit: that index too has to fit.
    let all = digits.iter().copied().chain([Mode { shape: top.max(reach / below + 1), stride: step_below }]);
    if Layout::from_modes(Nest::flat(all), "left_inverse").is_err() {
        return refuse(format!(
            "modes overlap, and the index that offset {reach} leads back to passes 64 bits"
        ));
    }
    digits.push(Mode { shape: top, stride: step_below });
    Ok(coalesce(&Layout::from_modes(Nest::flat(digits), "left_inverse")?))
}

/// The directions along which `layout` does not move: all its indices have offset 0.
///
/// # Errors
/// [`LayoutError::Unsupported`] for an empty layout.
///
/// Source: CuTe's `nullspace`.
///
/// ```
/// use layout_core::{Layout, algebra::nullspace};
/// assert_eq!(nullspace(&"(4,3,2):(1,0,4)".parse()?)?.to_string(), "3:4");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn nullspace(layout: &Layout) -> Result<Layout, LayoutError> {
    not_empty(layout, "nullspace")?;
    let still = steps(layout.leaves().copied()).into_iter().filter(|(mode, _)| mode.stride == 0);
    let still =
        still.map(|(mode, step)| Mode { shape: mode.shape, stride: if mode.shape == 1 { 0 } else { step } });
    Layout::from_modes(join(still.collect()), "nullspace")
}

/// The longest run of indices C of both layouts with `A(C(i)) == B(C(i)) == i`: what a vector access may move at once.
///
/// # Errors
/// [`LayoutError::Unsupported`] for an empty layout.
///
/// Source: CuTe's `max_common_layout`, which goes past the end of A where B is longer.
///
/// ```
/// use layout_core::{Layout, algebra::max_common_layout};
///
/// let (a, b) = ("(4,8):(8,1)".parse()?, "(4,8):(16,1)".parse()?);
/// assert_eq!(max_common_layout(&a, &b)?.to_string(), "8:4");
/// assert_eq!(max_common_layout(&"5:1".parse()?, &"12:1".parse()?)?.to_string(), "5:1");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn max_common_layout(a: &Layout, b: &Layout) -> Result<Layout, LayoutError> {
    not_empty(a, "max_common_layout")?;
    let inverse = right_inverse(b)?;
    // The whole inverse may cross borders of A that a shorter run of it does not.
    let chain: Vec<Mode> = within(inverse.leaves().copied(), a.size());
    for modes in (1..=chain.len()).rev() {
        let run = Layout::from_modes(join(chain[..modes].to_vec()), "max_common_layout")?;
        let Ok(common) = composition(a, &run) else { continue };
        let first = coalesce_modes(common.leaves().copied()).first().copied();
        if let Some(first) = first.filter(|first| first.stride == 1) {
            return composition(&inverse, &Layout::from_modes(Nest::leaf(first), "max_common_layout")?);
        }
    }
    Layout::new(1, 0)
}

/// The leading modes that lead to indices in `0..size` only, the last of them cut off there.
fn within(modes: impl Iterator<Item = Mode>, size: i64) -> Vec<Mode> {
    let (mut inside, mut room) = (Vec::new(), size - 1);
    for mode in modes {
        // A step of 0 is that of the only index of `1:0`.
        let fits = if mode.stride > 0 { (room / mode.stride).saturating_add(1).min(mode.shape) } else { 1 };
        room -= (fits - 1) * mode.stride;
        inside.push(Mode { shape: fits, ..mode });
        if fits < mode.shape {
            break;
        }
    }
    inside
}

/// The number of elements of [`max_common_layout`].
///
/// # Errors
/// As [`max_common_layout`].
///
/// ```
/// use layout_core::{Layout, algebra::max_common_vector};
/// assert_eq!(max_common_vector(&"(4,8):(8,1)".parse()?, &"(4,8):(16,1)".parse()?)?, 8);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn max_common_vector(a: &Layout, b: &Layout) -> Result<i64, LayoutError> {
    Ok(max_common_layout(a, b)?.size())
}

fn not_empty(layout: &Layout, operation: &'static str) -> Result<(), LayoutError> {
    if layout.size() > 0 {
        return Ok(());
    }
    Err(LayoutError::Unsupported {
        operation,
        detail: format!("{layout} is empty; give every mode an extent above 0"),
    })
}
