//! `Tile`: what one mode of a by-mode operation is tiled with.

use crate::{Layout, LayoutError};

/// One entry of a tiler: a layout to compose or divide the mode by, or nothing done to it (CuTe's `_`).
///
/// ```
/// use layout_core::{Layout, algebra::{Tile, logical_divide_by_mode}};
///
/// let tiled = logical_divide_by_mode(&Layout::row_major((8, 16))?, &[Tile::Keep, Tile::of(4)?])?;
/// assert_eq!(tiled.to_string(), "(8,(4,4)):(16,(1,4))");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// The mode stays as it is.
    Keep,
    /// The mode is taken by this layout.
    Layout(Layout),
}

impl Tile {
    /// The tile `extent:1`: so many neighbours.
    ///
    /// # Errors
    /// [`LayoutError::NegativeExtent`].
    ///
    /// ```
    /// use layout_core::{Layout, algebra::Tile};
    /// assert_eq!(Tile::of(4)?, Tile::Layout(Layout::new(4, 1)?));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn of(extent: i64) -> Result<Self, LayoutError> {
        Ok(Self::Layout(Layout::new(extent, 1)?))
    }
}

impl From<Layout> for Tile {
    fn from(layout: Layout) -> Self {
        Self::Layout(layout)
    }
}

/// Applies `f` to each mode of `layout` with its tile; modes beyond the tiler come back as they are.
pub(crate) fn by_mode(
    layout: &Layout,
    tiler: &[Tile],
    operation: &'static str,
    mut f: impl FnMut(Layout, &Tile) -> Result<Layout, LayoutError>,
) -> Result<Vec<Layout>, LayoutError> {
    if tiler.len() > layout.rank() {
        let (expected, found) = (layout.rank(), tiler.len());
        return Err(LayoutError::Rank { operation, what: "the tiler", expected, found });
    }
    layout.modes().enumerate().map(|(i, mode)| f(mode, tiler.get(i).unwrap_or(&Tile::Keep))).collect()
}
