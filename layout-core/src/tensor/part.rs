//! Parts of a view by ranges of coordinates.
//!
//! Law: element c of a slice is element `start + c` of the view; the parts of a split are slices that meet each element
//! once.

use super::view::View;
use crate::algebra::run;
use crate::{Layout, LayoutError};

impl View {
    /// The elements at `starts[i]..ends[i]` along each mode.
    ///
    /// # Errors
    /// [`LayoutError::Rank`]; [`LayoutError::Coordinate`] if a range leaves its mode or ends before it starts.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 16))?).slice(&[2..8, 4..12])?;
    /// assert_eq!((view.layout().to_string(), view.offset()), ("(6,8):(16,1)".to_string(), 36));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn slice(&self, ranges: &[std::ops::Range<i64>]) -> Result<Self, LayoutError> {
        self.check_rank("the slice", ranges.len())?;
        for (mode, (layout, range)) in self.layout.modes().zip(ranges).enumerate() {
            let extent = layout.size();
            for coordinate in [range.start, range.end] {
                if !(0..=extent).contains(&coordinate) || range.end < range.start {
                    return Err(LayoutError::Coordinate { mode, coordinate, extent });
                }
            }
        }
        self.by_mode(|i, mode| {
            let Some(range) = ranges.get(i) else { return Ok((mode.clone(), 0)) };
            if range.start == range.end {
                return Ok((Layout::new(0, 1)?, 0));
            }
            // Walking the range is the mode after `i -> start + i`, which is a layout only if no carry meets it.
            let run = run(mode, range.start, range.end - range.start)?;
            Ok((run, mode.at(range.start)?))
        })
    }

    /// Part `index` of `count` equal parts along mode `axis`; the parts are rounded up, so the last may be shorter
    /// and, of few elements, empty.
    ///
    /// # Errors
    /// As [`View::slice`]; [`LayoutError::Rank`] if there is no such mode; [`LayoutError::Coordinate`] unless
    /// `0 <= index < count`.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 10))?);
    /// let widths: Result<Vec<_>, _> = (0..4).map(|i| Ok(view.split(4, 1, i)?.layout().mode(1))).collect();
    /// let widths: Vec<i64> = widths.map(|w: Vec<Option<Layout>>| w.iter().flatten().map(Layout::size).collect())?;
    /// assert_eq!(widths, [3, 3, 3, 1]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn split(&self, count: i64, axis: usize, index: i64) -> Result<Self, LayoutError> {
        if !(0..count).contains(&index) {
            return Err(LayoutError::Coordinate { mode: axis, coordinate: index, extent: count });
        }
        let sizes: Vec<i64> = self.layout.modes().map(|mode| mode.size()).collect();
        let Some(&extent) = sizes.get(axis) else {
            let (what, expected, found) = ("the view", axis + 1, sizes.len());
            return Err(LayoutError::Rank { operation: "split", what, expected, found });
        };
        let part = if extent == 0 { 0 } else { (extent - 1) / count + 1 };
        let mut ranges: Vec<_> = sizes.iter().map(|&size| 0..size).collect();
        let start = part.saturating_mul(index).min(extent);
        ranges[axis] = start..start.saturating_add(part).min(extent);
        self.slice(&ranges)
    }
}
