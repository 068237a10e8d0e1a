//! Whether a copy meets each element of its tile exactly once.
//!
//! Law: with T a thread-value layout into a tile of n elements, every element of `0..n` is T(t, v) for one (t, v).

use crate::{Layout, LayoutError};

/// What a thread-value layout misses and repeats.
///
/// ```
/// use layout_core::{Layout, analysis::coverage};
/// let all = coverage(&Layout::row_major((4, 8))?, 32)?;
/// assert!(all.exact());
/// let most = coverage(&"(4,8):(9,1)".parse()?, 36)?;
/// assert_eq!((most.missed, most.repeated, most.outside), (vec![8, 17, 26, 35], vec![], vec![]));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Elements that nobody has.
    pub missed: Vec<i64>,
    /// Elements that several have.
    pub repeated: Vec<i64>,
    /// What is outside the tile.
    pub outside: Vec<i64>,
}

impl Coverage {
    /// Whether each element is met exactly once and nothing else is.
    ///
    /// ```
    /// assert!(!layout_core::analysis::coverage(&"4:2".parse()?, 8)?.exact());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn exact(&self) -> bool {
        self.missed.is_empty() && self.repeated.is_empty() && self.outside.is_empty()
    }
}

/// Holds a thread-value layout against a tile of `size` elements.
///
/// # Errors
/// [`LayoutError::Unsupported`] for a tile or a layout of more than 2^22 elements.
///
/// ```
/// use layout_core::analysis::coverage;
/// assert_eq!(coverage(&"(2,2):(1,1)".parse()?, 4)?.repeated, [1]);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn coverage(threads: &Layout, size: i64) -> Result<Coverage, LayoutError> {
    const MOST: i64 = 1 << 22;
    if threads.size() > MOST || !(0..=MOST).contains(&size) {
        let detail = format!("{threads} over {size} elements; up to 2^22 are counted");
        return Err(LayoutError::Unsupported { operation: "coverage", detail });
    }
    let (mut counts, mut found) = (vec![0_u32; size as usize], Coverage::default());
    for element in threads.offsets() {
        match usize::try_from(element).ok().and_then(|element| counts.get_mut(element)) {
            Some(count) => *count += 1,
            None => found.outside.push(element),
        }
    }
    for (element, count) in (0..).zip(counts) {
        match count {
            0 => found.missed.push(element),
            1 => {}
            _ => found.repeated.push(element),
        }
    }
    Ok(found)
}
