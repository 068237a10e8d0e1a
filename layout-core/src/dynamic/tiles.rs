//! Composition, divides and products of layouts of run time with static tiles.
//!
//! Law: `bind` of the result is the same operation on what `bind` gives. So a tile must be known to divide: a border
//! that only some bindings have is refused.

use super::extent::Extent;
use super::layout::{DynamicLayout, DynamicMode, merged, overflow};
use crate::algebra::{Parts, Tile, complement, filter};
use crate::{Layout, LayoutError, Nest};

impl DynamicLayout {
    /// Each top-level mode after its own static tile; modes beyond the tiler are dropped, as in CuTe.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] for more tiles than modes; [`LayoutError::Unsupported`] where a tile meets a border that
    /// is not known to be one of its own, or a number passes 64 bits.
    ///
    /// ```
    /// # use layout_core::{Layout, algebra::Tile, dynamic::{DynamicLayout, Extent}};
    /// let a = DynamicLayout::row_major(&[Extent::dynamic("M", 8)?, Extent::dynamic("K", 8)?])?;
    /// let every_other = a.composition_by_mode(&[Layout::new(4, 2)?.into(), Tile::Keep])?;
    /// assert_eq!(every_other.to_string(), "(4,K):(2*K,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn composition_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        let operation = "composition";
        let modes = self.by_mode(tiler, operation, |mode, tile| after(&mode, tile))?;
        Ok(Self { modes: Nest::tuple(modes.into_iter().take(tiler.len())) })
    }

    /// Each top-level mode divided by its own static tile, `(tile, rest)`; kept modes and modes beyond the tiler stay.
    ///
    /// # Errors
    /// As [`DynamicLayout::composition_by_mode`], and [`LayoutError::Unsupported`] for a tile that is not known to
    /// divide its mode.
    ///
    /// ```
    /// # use layout_core::{algebra::Tile, dynamic::{DynamicLayout, Extent}};
    /// let a = DynamicLayout::row_major(&[Extent::dynamic("M", 8)?, Extent::dynamic("K", 8)?])?;
    /// assert_eq!(a.logical_divide_by_mode(&[Tile::of(4)?])?.to_string(), "((4,M/4),K):((K,4*K),1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn logical_divide_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        let modes = self.by_mode(tiler, "logical_divide", |mode, tile| divide(&mode, tile))?;
        Ok(Self { modes: Nest::tuple(modes) })
    }

    /// `((tile0, tile1, ..), (rest0, rest1, ..))`: the tiles in mode 0, the rests in mode 1.
    ///
    /// # Errors
    /// As [`DynamicLayout::logical_divide_by_mode`]; [`LayoutError::Rank`] for a kept mode that is no pair.
    ///
    /// ```
    /// # use layout_core::{algebra::Tile, dynamic::{DynamicLayout, Extent}};
    /// let l = DynamicLayout::col_major(&[Extent::dynamic("M", 4)?])?.zipped_divide_by_mode(&[Tile::of(4)?])?;
    /// assert_eq!(l.to_string(), "((4),(M/4)):((1),(4))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn zipped_divide_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        Ok(Self { modes: self.parts(tiler, "zipped_divide")?.zipped() })
    }

    /// `((tile0, tile1, ..), rest0, rest1, ..)`.
    ///
    /// # Errors
    /// As [`DynamicLayout::zipped_divide_by_mode`].
    ///
    /// ```
    /// # use layout_core::{algebra::Tile, dynamic::{DynamicLayout, Extent}};
    /// let l = DynamicLayout::col_major(&[Extent::dynamic("M", 4)?, 8.into()])?;
    /// assert_eq!(l.tiled_divide_by_mode(&[Tile::of(4)?])?.to_string(), "((4),M/4,8):((1),4,M)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn tiled_divide_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        Ok(Self { modes: self.parts(tiler, "tiled_divide")?.tiled() })
    }

    /// `(tile0, tile1, .., rest0, rest1, ..)`.
    ///
    /// # Errors
    /// As [`DynamicLayout::zipped_divide_by_mode`].
    ///
    /// ```
    /// # use layout_core::{algebra::Tile, dynamic::{DynamicLayout, Extent}};
    /// let l = DynamicLayout::col_major(&[Extent::dynamic("M", 4)?, 8.into()])?;
    /// assert_eq!(l.flat_divide_by_mode(&[Tile::of(4)?])?.to_string(), "(4,M/4,8):(1,4,M)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn flat_divide_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        Ok(Self { modes: self.parts(tiler, "flat_divide")?.flat() })
    }

    /// `(block, repeats)`: this layout, which must be known to be compact, repeated as `tiler` says.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for a layout that is not known to be compact; [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::{Layout, dynamic::{DynamicLayout, Extent}};
    /// let block = DynamicLayout::row_major(&[4.into(), Extent::dynamic("K", 1)?])?;
    /// let stages = block.logical_product(&DynamicLayout::from(&Layout::new(3, 1)?))?;
    /// assert_eq!(stages.to_string(), "((4,K),3):((K,1),4*K)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn logical_product(&self, tiler: &Self) -> Result<Self, LayoutError> {
        let operation = "logical_product";
        let mut modes: Vec<_> =
            self.modes.leaves().filter(|mode| mode.shape.as_static() != Some(1)).collect();
        let mut size = Some(Extent::from(1));
        while let Some(at) = modes.iter().position(|mode| size.as_ref() == Some(&mode.stride)) {
            size = size.and_then(|size| size.times(&modes.swap_remove(at).shape));
        }
        let size = size.ok_or_else(|| overflow(operation, format!("the size of {self}")))?;
        if !modes.is_empty() {
            let detail = format!("{self} is not known to be compact; product after bind");
            return Err(LayoutError::Unsupported { operation, detail });
        }
        let refuse = |detail| LayoutError::Overflow { operation, detail };
        let repeats = scaled(&tiler.modes, &size).map_err(refuse)?;
        Ok(Self { modes: Nest::tuple([self.modes.clone(), repeats]) })
    }

    fn parts(&self, tiler: &[Tile], operation: &'static str) -> Result<Parts<DynamicMode>, LayoutError> {
        Parts::unzip(&self.logical_divide_by_mode(tiler)?.modes, tiler.len(), operation)
    }

    /// Applies `f` to each mode with its tile; kept modes, and those beyond the tiler, come back as they are.
    fn by_mode(
        &self,
        tiler: &[Tile],
        operation: &'static str,
        f: impl Fn(Nest<DynamicMode>, &Layout) -> Result<Nest<DynamicMode>, String>,
    ) -> Result<Vec<Nest<DynamicMode>>, LayoutError> {
        if tiler.len() > self.rank() {
            let (expected, found) = (self.rank(), tiler.len());
            return Err(LayoutError::Rank { operation, what: "the tiler", expected, found });
        }
        let modes = self.modes.modes().enumerate().map(|(i, mode)| match tiler.get(i) {
            Some(Tile::Layout(tile)) => f(mode, tile).map_err(|why| {
                let detail = format!("mode {i}: {why}");
                LayoutError::Unsupported { operation, detail }
            }),
            Some(Tile::Keep) | None => Ok(mode),
        });
        modes.collect()
    }
}

/// What a number beyond 64 bits is refused with.
const BEYOND: &str = "a stride passes 64 bits";

/// The tile's modes in steps of `stride`.
fn scaled(tile: &Nest<DynamicMode>, stride: &Extent) -> Result<Nest<DynamicMode>, String> {
    let mut whole = true;
    let modes = tile.map(|mode| {
        let scaled = mode.stride.times(stride);
        whole &= scaled.is_some();
        DynamicMode { shape: mode.shape.clone(), stride: scaled.unwrap_or_else(|| 0.into()) }
    });
    if whole { Ok(modes) } else { Err(BEYOND.into()) }
}

/// One mode after a static tile.
fn after(mode: &Nest<DynamicMode>, tile: &Layout) -> Result<Nest<DynamicMode>, String> {
    let leaves = merged(mode.leaves(), false);
    if let [line] = &leaves[..] {
        // Along a straight line any tile is itself, in larger steps; the line has no end.
        return scaled(&DynamicLayout::from(tile).modes, &line.stride);
    }
    match tile.leaves().next() {
        Some(only) if tile.leaves().count() == 1 => run(&leaves, only.shape.into(), only.stride),
        _ => Err(format!("{tile} has several modes, and so has what it tiles; tile with one extent")),
    }
}

/// `(tile, rest)` of one mode.
fn divide(mode: &Nest<DynamicMode>, tile: &Layout) -> Result<Nest<DynamicMode>, String> {
    let size = DynamicLayout { modes: mode.clone() }.size().map_err(|error| error.to_string())?;
    // The tile and its gaps fill a span; the span's repeats are the rest.
    let moving = tile.leaves().filter(|mode| mode.shape > 1);
    let span = moving.map(|mode| mode.shape.saturating_mul(mode.stride)).max().unwrap_or(1).max(1);
    let gaps = complement(tile, span).map_err(|error| error.to_string())?;
    if tile.leaves().any(|mode| mode.stride < 0) || gaps.size().checked_mul(filter(tile).size()) != Some(span)
    {
        return Err(format!("{tile} does not fill its span of {span} with whole repeats; divide after bind"));
    }
    let unknown = || format!("{span} is not known to divide {size}; promise it, or pad");
    let repeats = size.divided_by(span).ok_or_else(unknown)?;
    let leaves = merged(mode.leaves(), false);
    let rest = if gaps.size() == 1 {
        run(&leaves, repeats, span)?
    } else if let [line] = &leaves[..] {
        let last = DynamicMode { shape: repeats, stride: span.into() };
        let gaps = DynamicLayout::from(&gaps).modes;
        scaled(&Nest::flat(gaps.leaves().cloned().chain([last])), &line.stride)?
    } else {
        return Err(format!("{tile} has gaps, and what it tiles has several modes; tile with neighbours"));
    };
    Ok(Nest::tuple([after(mode, tile)?, rest]))
}

/// The mode of `extent` steps of `stride` along coalesced modes, from the leftmost on. The last has no end.
fn run(leaves: &[DynamicMode], extent: Extent, stride: i64) -> Result<Nest<DynamicMode>, String> {
    let (mut left, mut step, mut digits) = (extent, stride, Vec::new());
    let push = |digits: &mut Vec<DynamicMode>, shape: Extent, mode: &DynamicMode, step: i64| {
        let stride = mode.stride.times(&step.into()).ok_or(BEYOND)?;
        digits.push(DynamicMode { shape, stride });
        Ok::<(), String>(())
    };
    if step <= 0 && left.as_static() != Some(1) {
        return Err(format!("steps of {step} do not lead through several modes; tile after bind"));
    }
    let last = leaves.len().saturating_sub(1);
    for (i, mode) in leaves.iter().enumerate() {
        if i == last {
            push(&mut digits, left, mode, step)?;
            break;
        }
        // A step of whole modes passes over them.
        let whole = mode.shape.as_static().filter(|&shape| shape > 0 && step % shape == 0);
        if let Some(shape) = whole {
            step /= shape;
            continue;
        }
        let border = || format!("{left} steps of {step} are not known to meet the border of {}", mode.shape);
        let room = mode.shape.divided_by(step).ok_or_else(border)?;
        if left.as_static().is_some_and(|left| left <= room.least()) {
            push(&mut digits, left, mode, step)?;
            break;
        }
        left = left.over(&room).ok_or_else(border)?;
        push(&mut digits, room, mode, step)?;
        step = 1;
    }
    Ok(match digits.len() {
        1 => Nest::leaf(digits.remove(0)),
        _ => Nest::flat(digits),
    })
}
