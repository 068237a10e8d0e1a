//! Tiles and vectors of a view.
//!
//! Law: tile (c0, c1, ..) of sizes (s0, s1, ..) has the elements `c_i * s_i ..` of each mode, as far as they exist; a vector
//! is such a tile as one element.

use super::view::View;
use crate::algebra::{coalesce, logical_divide};
use crate::layout::Mode;
use crate::{Layout, LayoutError, Nest};

impl View {
    /// The tile of `sizes` elements at the tile coordinates `at`. The last tile of a mode that `sizes` does not
    /// divide is whole, its tail masked.
    ///
    /// # Errors
    /// [`LayoutError::Rank`]; [`LayoutError::Coordinate`] if there is no such tile; what
    /// [`logical_divide`] refuses.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 16))?);
    /// assert_eq!(view.tile(&[4, 4], &[1, 0])?.offset(), 64);
    /// assert!(view.tile(&[4, 4], &[2, 0]).is_err());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn tile(&self, sizes: &[i64], at: &[i64]) -> Result<Self, LayoutError> {
        self.check_rank("the tile", sizes.len())?;
        self.check_rank("the tile coordinate", at.len())?;
        for (mode, (layout, (&size, &coordinate))) in
            self.layout.modes().zip(sizes.iter().zip(at)).enumerate()
        {
            let extent = tiles_of(&layout, size)?;
            if !(0..extent).contains(&coordinate) {
                return Err(LayoutError::Coordinate { mode, coordinate, extent });
            }
        }
        self.cut(sizes).by_mode(|i, mode| {
            let (tile, rest) = divide(mode, sizes[i])?;
            Ok((tile, rest.at(at[i])?))
        })
    }

    /// The view whose elements are vectors of `sizes` neighbours; [`View::element_layout`] is the layout of one.
    ///
    /// # Errors
    /// [`LayoutError::Rank`]; [`LayoutError::Unsupported`] if the elements are vectors already; what
    /// [`logical_divide`] refuses.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 16))?).vectorize(&[1, 4])?;
    /// assert_eq!(view.layout().to_string(), "(8,4):(16,4)");
    /// assert_eq!(view.element_layout().to_string(), "(1,4):(0,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn vectorize(&self, sizes: &[i64]) -> Result<Self, LayoutError> {
        self.check_rank("the vector", sizes.len())?;
        if self.element.size() != 1 {
            let detail = format!("its elements are already vectors, {}; vectorize once", self.element);
            return Err(LayoutError::Unsupported { operation: "vectorize", detail });
        }
        for (layout, &size) in self.layout.modes().zip(sizes) {
            tiles_of(&layout, size)?;
        }
        let element = |layout: &Layout| -> Result<Layout, LayoutError> {
            let tiles = layout.modes().zip(sizes).map(|(mode, &size)| divide(&mode, size));
            let tiles: Result<Vec<_>, LayoutError> = tiles.collect();
            let tiles = tiles?.into_iter().map(|(tile, _)| coalesce(&tile).into_modes());
            Layout::from_modes(Nest::tuple(tiles), "vectorize")
        };
        let cut = self.cut(sizes);
        let mut view = cut.by_mode(|i, mode| Ok((divide(mode, sizes[i])?.1, 0)))?;
        view.layout = tidy(&view.layout)?;
        for (dimension, before) in view.dimensions.iter_mut().zip(&cut.dimensions) {
            dimension.element = element(&before.layout)?;
        }
        Ok(Self { element: element(&self.layout)?, ..view })
    }
}

/// Each top-level mode coalesced. For the memory layout alone: the stride of an extent of 1, which this drops, says
/// a dimension where the elements past its end would be.
pub(super) fn tidy(layout: &Layout) -> Result<Layout, LayoutError> {
    if layout.modes_nest().is_leaf() {
        return Ok(coalesce(layout));
    }
    Layout::from_modes(Nest::tuple(layout.modes().map(|mode| coalesce(&mode).into_modes())), "view")
}

/// `(tile, rest)` of one mode cut into tiles of `size` neighbours.
pub(super) fn divide(mode: &Layout, size: i64) -> Result<(Layout, Layout), LayoutError> {
    let divided = logical_divide(mode, &Layout::new(size, 1)?)?;
    let still = || Layout::trusted(Nest::leaf(Mode { shape: 1, stride: 0 }));
    Ok((divided.mode(0).unwrap_or_else(still), divided.mode(1).unwrap_or_else(still)))
}

/// The number of tiles of `size` along a mode, the last one perhaps partial.
fn tiles_of(mode: &Layout, size: i64) -> Result<i64, LayoutError> {
    if size <= 0 {
        let detail = format!("a tile of {size} elements; a tile has at least 1");
        return Err(LayoutError::Unsupported { operation: "view", detail });
    }
    let extent = mode.size();
    Ok(if extent == 0 { 0 } else { (extent - 1) / size + 1 })
}
