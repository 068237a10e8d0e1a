//! The products: a block repeated by a layout of repeats.
//!
//! Law: `logical_product(B, T) == (B, composition(complement(B, size(B) * cosize(T)), T))`: mode 0 walks the block,
//! mode 1 steps from copy to copy, and no two copies share an offset. (A block with gaps can leave fewer repeats than
//! T reaches; its complement is then taken far enough.)

use super::complement::complement;
use super::composition::composition;
use super::parts::Parts;
use super::tile::{Tile, by_mode};
use crate::layout::Mode;
use crate::{Layout, LayoutError, Nest};

/// `(block, repeats)`: `block` repeated as `tiler` says.
///
/// # Errors
/// As [`complement`] of the block and [`composition`]; [`LayoutError::Unsupported`] for repeats in both directions of
/// a block with gaps.
///
/// Source: CuTe's `logical_product`, which composes each mode of `tiler` alone: of the last case here it places the
/// fourth copy at offset 4, on the second element of the first.
///
/// ```
/// use layout_core::{Layout, algebra::logical_product};
/// assert_eq!(logical_product(&"(2,2):(4,1)".parse()?, &"6:1".parse()?)?.to_string(),
///            "((2,2),(2,3)):((4,1),(2,8))");
/// assert!(logical_product(&"4:4".parse()?, &"(2,3):(3,1)".parse()?).is_err());
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn logical_product(block: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    let (free, _) = repeats(block, tiler)?;
    // The gaps of the block are those of its copies above it; a copy below would meet one that is in a gap.
    let (low, high) = tiler.range();
    let gap = free.leaves().find(|mode| mode.shape > 1 && mode.stride < block.cosize());
    if let Some(gap) = gap.filter(|_| low < 0 && high > 0) {
        let detail = format!(
            "the repeats of {tiler} go both ways, {low}..={high}, and {block} has gaps of {} to repeat in; \
             reverse the modes of negative stride",
            gap.stride
        );
        return Err(LayoutError::Unsupported { operation: "logical_product", detail });
    }
    let repeats = composition(&free, tiler)?;
    Layout::from_modes(Nest::tuple([block.modes_nest().clone(), repeats.into_modes()]), "logical_product")
}

/// The complement of `block` that `tiler` chooses from, and the number of offsets it was taken up to.
pub(crate) fn repeats(block: &Layout, tiler: &Layout) -> Result<(Layout, i64), LayoutError> {
    let reach = block.size().checked_mul(tiler.cosize()).ok_or_else(|| LayoutError::Overflow {
        operation: "logical_product",
        detail: format!("the size of {block} times the cosize of {tiler}"),
    })?;
    let free = complement(block, reach)?;
    if free.size() >= tiler.cosize() {
        return Ok((free, reach));
    }
    // Gaps in the block leave fewer repeats than the tiler reaches. Past its end the complement has to go on in
    // steps of the block's whole span, twice its cosize at most, so that mode must be there.
    let reach = block.cosize().saturating_mul(2).saturating_mul(tiler.cosize());
    Ok((complement(block, reach)?, reach))
}

/// Each top-level mode of `block` repeated by its own tile, as if it were alone; kept modes and modes beyond the tiler
/// stay. Copies along one mode may be over elements of another: [`blocked_product`] keeps them apart.
///
/// # Errors
/// As [`logical_product`], and [`LayoutError::Rank`] if there are more tiles than modes.
///
/// ```
/// use layout_core::{Layout, algebra::{Tile, logical_product_by_mode}};
/// let tiler = [Tile::of(3)?, Tile::of(4)?];
/// assert_eq!(logical_product_by_mode(&"(2,5):(5,1)".parse()?, &tiler)?.to_string(), "((2,3),(5,4)):((5,1),(1,5))");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn logical_product_by_mode(block: &Layout, tiler: &[Tile]) -> Result<Layout, LayoutError> {
    let modes = by_mode(block, tiler, "logical_product", |mode, tile| match tile {
        Tile::Keep => Ok(mode),
        Tile::Layout(tile) => logical_product(&mode, tile),
    })?;
    Layout::from_modes(Nest::tuple(modes.into_iter().map(Layout::into_modes)), "logical_product")
}

fn unzip(block: &Layout, tiler: &[Tile], operation: &'static str) -> Result<Parts<Mode>, LayoutError> {
    Parts::unzip(logical_product_by_mode(block, tiler)?.modes_nest(), tiler.len(), operation)
}

/// `((block0, block1, ..), (repeats0, repeats1, ..))`.
///
/// # Errors
/// As [`logical_product_by_mode`]; [`LayoutError::Rank`] for a kept mode that is no pair.
///
/// ```
/// use layout_core::{Layout, algebra::{Tile, zipped_product_by_mode}};
/// let tiler = [Tile::of(3)?, Tile::of(4)?];
/// assert_eq!(zipped_product_by_mode(&"(2,5):(5,1)".parse()?, &tiler)?.to_string(), "((2,5),(3,4)):((5,1),(1,5))");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn zipped_product_by_mode(block: &Layout, tiler: &[Tile]) -> Result<Layout, LayoutError> {
    Layout::from_modes(unzip(block, tiler, "zipped_product")?.zipped(), "zipped_product")
}

/// `((block0, block1, ..), repeats0, repeats1, ..)`.
///
/// # Errors
/// As [`zipped_product_by_mode`].
///
/// ```
/// use layout_core::{Layout, algebra::{Tile, tiled_product_by_mode}};
/// let tiler = [Tile::of(3)?, Tile::of(4)?];
/// assert_eq!(tiled_product_by_mode(&"(2,5):(5,1)".parse()?, &tiler)?.to_string(), "((2,5),3,4):((5,1),1,5)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn tiled_product_by_mode(block: &Layout, tiler: &[Tile]) -> Result<Layout, LayoutError> {
    Layout::from_modes(unzip(block, tiler, "tiled_product")?.tiled(), "tiled_product")
}

/// `(block0, block1, .., repeats0, repeats1, ..)`.
///
/// # Errors
/// As [`zipped_product_by_mode`].
///
/// ```
/// use layout_core::{Layout, algebra::{Tile, flat_product_by_mode}};
/// let tiler = [Tile::of(3)?, Tile::of(4)?];
/// assert_eq!(flat_product_by_mode(&"(2,5):(5,1)".parse()?, &tiler)?.to_string(), "(2,5,3,4):(5,1,1,5)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn flat_product_by_mode(block: &Layout, tiler: &[Tile]) -> Result<Layout, LayoutError> {
    Layout::from_modes(unzip(block, tiler, "flat_product")?.flat(), "flat_product")
}

/// `(block, repeats0, repeats1, ..)`: [`logical_product`] with the repeats' modes at the top.
///
/// # Errors
/// As [`logical_product`].
///
/// ```
/// use layout_core::{Layout, algebra::tiled_product};
/// assert_eq!(tiled_product(&"4:1".parse()?, &"(2,3):(3,1)".parse()?)?.to_string(), "(4,2,3):(1,12,4)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn tiled_product(block: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    Layout::from_modes(Parts::of(logical_product(block, tiler)?.modes_nest()).tiled(), "tiled_product")
}

/// `(block0, .., repeats0, ..)`: [`logical_product`] with the modes of block and repeats at the top.
///
/// # Errors
/// As [`logical_product`].
///
/// ```
/// use layout_core::{Layout, algebra::flat_product};
/// assert_eq!(flat_product(&"(2,2):(1,2)".parse()?, &"3:1".parse()?)?.to_string(), "(2,2,3):(1,2,4)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn flat_product(block: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    Layout::from_modes(Parts::of(logical_product(block, tiler)?.modes_nest()).flat(), "flat_product")
}

/// The product of block and tiler padded to one rank, the two parts of each mode joined by `pair`.
fn paired(
    block: &Layout,
    tiler: &Layout,
    pair: fn(Nest<Mode>, Nest<Mode>) -> [Nest<Mode>; 2],
) -> Result<Layout, LayoutError> {
    let rank = block.rank().max(tiler.rank());
    let product = logical_product(&block.padded(rank), &tiler.padded(rank))?;
    let side = |index| product.mode(index).map_or_else(|| Nest::tuple([]), Layout::into_modes);
    let (blocks, repeats) = (side(0), side(1));
    let modes = blocks.modes().zip(repeats.modes()).map(|(block, repeat)| Nest::tuple(pair(block, repeat)));
    Layout::from_modes(Nest::tuple(modes), "product")
}

/// The product with modes paired as `(block_k, repeats_k)`: the block's elements are adjacent.
///
/// # Errors
/// As [`logical_product`].
///
/// Source: CuTe's `blocked_product`.
///
/// ```
/// use layout_core::{Layout, algebra::blocked_product};
/// assert_eq!(blocked_product(&"(2,5):(5,1)".parse()?, &"(3,4):(1,3)".parse()?)?.to_string(),
///            "((2,3),(5,4)):((5,10),(1,30))");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn blocked_product(block: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    paired(block, tiler, |block, repeat| [block, repeat])
}

/// The product with modes paired as `(repeats_k, block_k)`: the copies' elements are interleaved.
///
/// # Errors
/// As [`logical_product`].
///
/// Source: CuTe's `raked_product`.
///
/// ```
/// use layout_core::{Layout, algebra::raked_product};
/// assert_eq!(raked_product(&"(2,5):(5,1)".parse()?, &"(3,4):(1,3)".parse()?)?.to_string(),
///            "((3,2),(4,5)):((10,5),(30,1))");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn raked_product(block: &Layout, tiler: &Layout) -> Result<Layout, LayoutError> {
    paired(block, tiler, |block, repeat| [repeat, block])
}
