//! The divides: a layout cut into tiles and the rest that steps between them.
//!
//! Law: `logical_divide(L, T) == composition(L, (T, complement(T, size(L))))`; mode 0 walks one tile, mode 1 steps
//! from tile to tile. Where the tile does not divide the size, the rest is rounded up and the last tile reaches past
//! the end ([`Layout::at_extended`]); composition refuses where that is no layout.

use super::complement::complement;
use super::composition::composition;
use super::tile::{Tile, by_mode};
use crate::{Layout, LayoutError, Mode, Nest};

/// `(tile, rest)` of a layout taken as one-dimensional.
///
/// # Errors
/// As [`complement`] of the tiler and [`composition`].
///
/// Source: CuTe's `logical_divide`.
///
/// ```
/// use layout_core::{Layout, algebra::logical_divide};
///
/// let l: Layout = "(4,2,3):(2,1,8)".parse()?;
/// assert_eq!(logical_divide(&l, &"4:2".parse()?)?.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
/// assert_eq!(logical_divide(&"1000:1".parse()?, &"128:1".parse()?)?.to_string(), "(128,8):(1,128)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn logical_divide(layout: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
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

/// `((tile0, tile1, ..), (rest0, rest1, ..))`: all tiles in mode 0, all rests in mode 1. Modes beyond the tiler stand
/// whole among the rests. A kept mode must be a pair `(tile, rest)` already, and is split as it stands.
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
    let (tiles, rests) = unzip(layout, tiler, "zipped_divide")?;
    Layout::from_modes(Nest::tuple([Nest::tuple(tiles), Nest::tuple(rests)]), "zipped_divide")
}

/// Modes of layouts, yet to be joined.
type Modes = Vec<Nest<Mode>>;

/// The tiles and the rests of [`logical_divide_by_mode`].
fn unzip(layout: &Layout, tiler: &[Tile], operation: &'static str) -> Result<(Modes, Modes), LayoutError> {
    let divided = logical_divide_by_mode(layout, tiler)?;
    let (mut tiles, mut rests) = (Vec::new(), Vec::new());
    for (i, mode) in divided.modes().enumerate() {
        if i >= tiler.len() {
            rests.push(mode.into_modes());
            continue;
        }
        let (what, expected, found) = ("a kept mode, which must be a pair (tile, rest),", 2, mode.rank());
        if found != expected {
            return Err(LayoutError::Rank { operation, what, expected, found });
        }
        let mut parts = mode.modes().map(Layout::into_modes);
        tiles.extend(parts.next());
        rests.extend(parts.next());
    }
    Ok((tiles, rests))
}
