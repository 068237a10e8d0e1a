//! `upcast`, `downcast` and `recast_layout`: the same bytes as wider or narrower elements.
//!
//! Law: where element `c` of L starts at bit `L(c) * old`, element `c'` of the recast layout R starts at bit
//! `R(c') * new`; N neighbours of L become one of `upcast(L, N)`, each element of L becomes N of `downcast(L, N)`.

use super::coalesce::coalesce_modes;
use crate::layout::Mode;
use crate::{Layout, LayoutError};

/// The layout in units of `count` elements: the mode of stride 1 is divided by `count`, rounded up, all strides too.
///
/// # Errors
/// [`LayoutError::NotDivisible`] for a stride that neither divides `count` nor is divided by it, or is negative and not
/// divided by it; [`LayoutError::Carry`] where several modes are within one unit and reach into the next.
///
/// Source: CuTe's `upcast`.
///
/// ```
/// use layout_core::{Layout, algebra::upcast};
/// assert_eq!(upcast(&"(8,4):(4,1)".parse()?, 2)?.to_string(), "(8,2):(2,1)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn upcast(layout: &Layout, count: i64) -> Result<Layout, LayoutError> {
    positive(count, "upcast")?;
    let mut refused = None;
    let mut leaf = 0;
    let modes = layout.modes_nest().map(|&Mode { shape, stride }| {
        leaf += 1;
        if stride % count == 0 {
            return Mode { shape, stride: stride / count };
        }
        // Going down, the first element would have a unit to itself, and the groups after it no more begin with one.
        if count % stride == 0 && (stride > 0 || shape <= 1) {
            // `count` is above |stride| here, so neither division overflows.
            let group = count / stride.abs();
            return Mode { shape: shape / group + i64::from(shape % group != 0), stride: stride.signum() };
        }
        refused.get_or_insert(LayoutError::NotDivisible {
            operation: "upcast",
            mode: leaf - 1,
            value: stride,
            divisor: count,
            help: match stride {
                ..0 => format!("going down, a group of {count} would not begin where a unit does; reverse that mode first"),
                _ => format!("nor {count} by {stride}; give the mode a stride that is a multiple of {count}"),
            },
        });
        Mode { shape, stride }
    });
    if let Some(refused) = refused {
        return Err(refused);
    }
    // Where an element is within its unit: the modes below a unit must not carry into the next one together.
    let within = layout.leaves().filter(|mode| mode.stride != 0 && mode.stride % count != 0);
    let reach: i64 =
        within.map(|mode| (mode.shape.min(count / mode.stride.abs()) - 1).max(0) * mode.stride.abs()).sum();
    if reach >= count {
        let help = format!(
            "several modes of {layout} are within one unit of {count}; coalesce them, or slice one off"
        );
        return Err(LayoutError::Carry { operation: "upcast", border: count, reach, help });
    }
    Layout::from_modes(modes, "upcast")
}

/// The layout in units of a `count`-th of an element: the mode of stride 1 is `count` times as long, the other
/// strides `count` times as large. A mode of extent 1 is made longer only where no other has stride 1, so that there
/// are always `count` times as many elements.
///
/// # Errors
/// [`LayoutError::Unsupported`] unless one mode has stride 1; [`LayoutError::Overflow`].
///
/// Source: CuTe's `downcast`, which makes every mode of stride 1 longer, also those of extent 1: its answer to the
/// second case here is `(2,8):(1,1)`, 16 elements, some over each other, where 8 were cast.
///
/// ```
/// use layout_core::{Layout, algebra::downcast};
/// assert_eq!(downcast(&"(8,4):(4,1)".parse()?, 2)?.to_string(), "(8,8):(8,1)");
/// assert_eq!(downcast(&"(1,4):(1,1)".parse()?, 2)?.to_string(), "(1,8):(2,1)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn downcast(layout: &Layout, count: i64) -> Result<Layout, LayoutError> {
    positive(count, "downcast")?;
    let refuse = |detail: String| Err(LayoutError::Unsupported { operation: "downcast", detail });
    // The one mode whose elements are adjacent; one of extent 1 only where there is no other.
    let beside = |mode: &&Mode| mode.stride == 1;
    if layout.leaves().filter(|mode| mode.shape != 1).filter(beside).count() > 1 {
        return refuse(format!(
            "{layout} has several modes of stride 1, whose elements overlap; coalesce or slice it"
        ));
    }
    let one = layout.leaves().any(|mode| mode.shape != 1 && mode.stride == 1);
    let mut found = false;
    let mut whole = true;
    let modes = layout.modes_nest().map(|&Mode { shape, stride }| {
        let neighbours = stride == 1 && (shape != 1 || !one) && !found;
        found |= neighbours;
        let scaled = if neighbours { shape.checked_mul(count) } else { stride.checked_mul(count) };
        whole &= scaled.is_some();
        match (neighbours, scaled.unwrap_or(0)) {
            (true, shape) => Mode { shape, stride },
            (false, stride) => Mode { shape, stride },
        }
    });
    if !found {
        return refuse(format!(
            "{layout} has no mode of stride 1, whose elements are contiguous; append one"
        ));
    }
    if !whole {
        let detail = format!("{count} times {layout}");
        return Err(LayoutError::Overflow { operation: "downcast", detail });
    }
    Layout::from_modes(modes, "downcast")
}

/// The layout of elements of `old_bits` as one of elements of `new_bits`.
///
/// # Errors
/// As [`upcast`] and [`downcast`]; [`LayoutError::Unsupported`] unless both widths are positive.
///
/// ```
/// use layout_core::{Layout, algebra::recast_layout};
/// // Halves as pairs of halves.
/// assert_eq!(recast_layout(&"(8,4):(4,1)".parse()?, 16, 32)?.to_string(), "(8,2):(2,1)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn recast_layout(layout: &Layout, old_bits: i64, new_bits: i64) -> Result<Layout, LayoutError> {
    let (up, down) = ratio(old_bits, new_bits)?;
    match (up, down) {
        (1, 1) => Ok(layout.clone()),
        (1, _) => downcast(layout, down),
        (_, 1) => upcast(layout, up),
        _ => downcast(&upcast(layout, up)?, down),
    }
}

/// `new / old` in lowest terms: so many old elements are so many new ones.
pub(crate) fn ratio(old_bits: i64, new_bits: i64) -> Result<(i64, i64), LayoutError> {
    positive(old_bits.min(new_bits), "recast")?;
    let common = gcd(old_bits, new_bits);
    Ok((new_bits / common, old_bits / common))
}

/// The largest N by which [`upcast`] divides this layout exactly: the widest aligned vector it is made of.
///
/// # Errors
/// [`LayoutError::Unsupported`] for an empty layout.
///
/// Source: CuTe's `max_alignment`.
///
/// ```
/// use layout_core::{Layout, algebra::max_alignment};
/// assert_eq!(max_alignment(&"(4,8):(12,1)".parse()?)?, 4);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn max_alignment(layout: &Layout) -> Result<i64, LayoutError> {
    if layout.size() == 0 {
        let detail = format!("{layout} is empty; every vector fits it");
        return Err(LayoutError::Unsupported { operation: "max_alignment", detail });
    }
    // The run of offsets 0, 1, 2, .. that modes of positive stride make; the other strides must be multiples.
    let modes = coalesce_modes(layout.leaves().copied());
    let (mut run, mut used) = (1_i64, vec![false; modes.len()]);
    while let Some(at) = modes.iter().position(|mode| mode.stride == run) {
        used[at] = true;
        run = run.saturating_mul(modes[at].shape);
    }
    let outside = modes.iter().zip(used).filter(|(_, used)| !used);
    Ok(outside.fold(run, |common, (mode, _)| gcd(common, mode.stride)))
}

/// The greatest common divisor; of absolute values, in 64 bits.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(i64::MAX)
}

fn positive(count: i64, operation: &'static str) -> Result<(), LayoutError> {
    if count > 0 {
        return Ok(());
    }
    Err(LayoutError::Unsupported { operation, detail: format!("a factor of {count}; it must be 1 or more") })
}
