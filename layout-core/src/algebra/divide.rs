//! The divides: a layout cut into tiles and the rest that steps between them.
//!
//! Law: `logical_divide(L, T) == composition(L, (T, complement(T, size(L))))`; mode 0 walks one tile, mode 1 steps
//! from tile to tile. Where the tile does not divide the size, the rest is rounded up and the last tile reaches past
//! the end ([`Layout::at_extended`]); composition refuses where that is no layout.

use super::complement::complement;
use super::composition::composition;
use super::parts::Parts;
use super::tile::{Tile, by_mode};
use crate::layout::Mode;
use crate::{IntTuple, Layout, LayoutError, Nest};

/// `(tile, rest)` of a layout taken as one-dimensional.
///
/// # Errors
/// As [`complement`] of the tiler and [`composition`]; [`LayoutError::Unsupported`] for a tiler with a negative
/// stride, which would walk from the first element backwards, out of the layout.
///
/// Source: CuTe's `logical_divide`.
///
/// ```
/// use layout_core::{Layout, algebra::logical_divide};
///
/// let l: Layout = "(4,2,3):(2,1,8)".parse()?;
/// assert_eq!(logical_divide(&l, &"4:2".parse()?)?.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
/// assert_eq!(logical_divide(&"1000:1".parse()?, &"128:1".parse()?)?.to_string(), "(128,8):(1,128)");
/// // The last tile reaches past the end, with an extent of 1 behind it or without.
/// assert_eq!(logical_divide(&"(4,1):(1,0)".parse()?, &"3:1".parse()?)?.to_string(), "(3,2):(1,3)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn logical_divide(layout: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    if let Some(mode) = tiler.leaves().find(|mode| mode.stride < 0 && mode.shape > 1) {
        let detail = format!(
            "the tiler {tiler} has stride {}, which leaves {layout} at its start; divide by the reversed tiler, \
             then reverse that mode",
            mode.stride
        );
        return Err(LayoutError::Unsupported { operation: "logical_divide", detail });
    }
    let rest = complement(tiler, layout.size())?;
    let tiles = Nest::tuple([tiler.modes_nest().clone(), rest.into_modes()]);
    composition(layout, &Layout::from_modes(tiles, "logical_divide")?)
}

/// Each top-level mode divided by its own tile; kept modes and modes beyond the tiler stay as they are.
///
/// # Errors
/// As [`logical_divide`], and [`LayoutError::Rank`] if there are more tiles than modes.
///
/// ```
/// use layout_core::{Layout, algebra::{Tile, logical_divide_by_mode}};
///
/// let l: Layout = "(4,8):(8,1)".parse()?;
/// let tiled = logical_divide_by_mode(&l, &[Tile::of(2)?, Tile::of(4)?])?;
/// assert_eq!(tiled.to_string(), "((2,2),(4,2)):((8,16),(1,4))");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn logical_divide_by_mode(layout: &Layout, tiler: &[Tile]) -> Result<Layout, LayoutError> {
    let modes = by_mode(layout, tiler, "logical_divide", |mode, tile| match tile {
        Tile::Keep => Ok(mode),
        Tile::Layout(tile) => logical_divide(&mode, tile),
    })?;
    Layout::from_modes(Nest::tuple(modes.into_iter().map(Layout::into_modes)), "logical_divide")
}

/// [`logical_divide`]: for a layout tiler the two are the same, `(tile, rest)`.
///
/// # Errors
/// As [`logical_divide`].
///
/// ```
/// use layout_core::{Layout, algebra::zipped_divide};
/// assert_eq!(zipped_divide(&"12:1".parse()?, &"4:1".parse()?)?.to_string(), "(4,3):(1,4)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn zipped_divide(layout: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    logical_divide(layout, tiler)
}

/// `(tile, rest0, rest1, ..)`: [`logical_divide`] with the rest's modes at the top.
///
/// # Errors
/// As [`logical_divide`].
///
/// ```
/// use layout_core::{Layout, algebra::tiled_divide};
/// assert_eq!(tiled_divide(&"24:1".parse()?, &"3:2".parse()?)?.to_string(), "(3,2,4):(2,1,6)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn tiled_divide(layout: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    Layout::from_modes(Parts::of(logical_divide(layout, tiler)?.modes_nest()).tiled(), "tiled_divide")
}

/// `(tile0, .., rest0, ..)`: [`logical_divide`] with the modes of tile and rest at the top.
///
/// # Errors
/// As [`logical_divide`].
///
/// ```
/// use layout_core::{Layout, algebra::flat_divide};
/// assert_eq!(flat_divide(&"24:1".parse()?, &"(3,2):(2,1)".parse()?)?.to_string(), "(3,2,4):(2,1,6)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn flat_divide(layout: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    Layout::from_modes(Parts::of(logical_divide(layout, tiler)?.modes_nest()).flat(), "flat_divide")
}

/// `((tile0, tile1, ..), (rest0, rest1, ..))`: all tiles in mode 0, all rests in mode 1. Modes beyond the tiler are
/// whole among the rests. A kept mode must be a pair `(tile, rest)` already, and is split as it is stored.
///
/// # Errors
/// As [`logical_divide_by_mode`]; [`LayoutError::Rank`] for a kept mode that is no pair.
///
/// ```
/// use layout_core::{Layout, algebra::{Tile, zipped_divide_by_mode}};
///
/// let tiled = zipped_divide_by_mode(&Layout::row_major((4, 8))?, &[Tile::of(2)?, Tile::of(4)?])?;
/// assert_eq!(tiled.to_string(), "((2,4),(2,2)):((8,1),(16,4))");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn zipped_divide_by_mode(layout: &Layout, tiler: &[Tile]) -> Result<Layout, LayoutError> {
    Layout::from_modes(unzip(layout, tiler, "zipped_divide")?.zipped(), "zipped_divide")
}

/// `((tile0, tile1, ..), rest0, rest1, ..)`.
///
/// # Errors
/// As [`zipped_divide_by_mode`].
///
/// ```
/// use layout_core::{Layout, algebra::{Tile, tiled_divide_by_mode}};
/// let tiled = tiled_divide_by_mode(&Layout::row_major((4, 8))?, &[Tile::of(2)?, Tile::of(4)?])?;
/// assert_eq!(tiled.to_string(), "((2,4),2,2):((8,1),16,4)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn tiled_divide_by_mode(layout: &Layout, tiler: &[Tile]) -> Result<Layout, LayoutError> {
    Layout::from_modes(unzip(layout, tiler, "tiled_divide")?.tiled(), "tiled_divide")
}

/// `(tile0, tile1, .., rest0, rest1, ..)`.
///
/// # Errors
/// As [`zipped_divide_by_mode`].
///
/// ```
/// use layout_core::{Layout, algebra::{Tile, flat_divide_by_mode}};
/// let tiled = flat_divide_by_mode(&Layout::row_major((4, 8))?, &[Tile::of(2)?, Tile::of(4)?])?;
/// assert_eq!(tiled.to_string(), "(2,4,2,2):(8,1,16,4)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn flat_divide_by_mode(layout: &Layout, tiler: &[Tile]) -> Result<Layout, LayoutError> {
    Layout::from_modes(unzip(layout, tiler, "flat_divide")?.flat(), "flat_divide")
}

fn unzip(layout: &Layout, tiler: &[Tile], operation: &'static str) -> Result<Parts<Mode>, LayoutError> {
    Parts::unzip(logical_divide_by_mode(layout, tiler)?.modes_nest(), tiler.len(), operation)
}

/// The extents of the rest that a tiler leaves of `target` offsets.
///
/// # Errors
/// As [`complement`].
///
/// ```
/// use layout_core::algebra::ceil_div;
/// assert_eq!(ceil_div(24, &"(3,2):(1,6)".parse()?)?.to_string(), "(2,2)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn ceil_div(target: i64, tiler: &Layout) -> Result<IntTuple, LayoutError> {
    Ok(complement(tiler, target)?.shape())
}
