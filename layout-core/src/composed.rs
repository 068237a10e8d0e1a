//! `ComposedLayout`: a swizzle after an offset after a layout, `Sw<3,4,3> o 0 o (8,64):(64,1)`.
//!
//! Law: `C(i) == swizzle(offset + layout(i))`. Operations act on the layout; slicing adds to the offset, which has to
//! stay inside the xor.

use crate::algebra::{
    Pattern, Tile, coalesce, composition, composition_by_mode, logical_divide, logical_divide_by_mode, ratio,
    recast_layout, slice, zipped_divide_by_mode,
};
use crate::parse::{Cursor, whole};
use crate::{IntTuple, Layout, LayoutError, Swizzle};
use std::fmt;
use std::str::FromStr;

/// A layout whose offsets are swizzled.
///
/// ```
/// use layout_core::{ComposedLayout, Layout, Swizzle};
///
/// let c = ComposedLayout::new(Swizzle::new(2, 0, 2)?, 0, Layout::row_major((4, 4))?)?;
/// assert_eq!(c.to_string(), "Sw<2,0,2> o 0 o (4,4):(4,1)");
/// assert!((0..4).map(|row| c.crd2idx(&(row, 0).into())).eq([Ok(0), Ok(5), Ok(10), Ok(15)]));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ComposedLayout {
    swizzle: Swizzle,
    offset: i64,
    layout: Layout,
}

impl ComposedLayout {
    /// `swizzle o offset o layout`.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] if an offset would be negative or pass 62 bits, where a swizzle has no meaning.
    ///
    /// ```
    /// # use layout_core::{ComposedLayout, Layout, Swizzle};
    /// assert!(ComposedLayout::new(Swizzle::new(2, 0, 2)?, 0, Layout::new(4, -1)?).is_err());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(swizzle: Swizzle, offset: i64, layout: Layout) -> Result<Self, LayoutError> {
        let (low, high) = layout.range();
        let fits = |bound: i64| offset.checked_add(bound).is_some_and(|sum| (0..1 << 62).contains(&sum));
        if offset < 0 || (layout.size() > 0 && !(fits(low) && fits(high))) {
            let detail =
                format!("offsets {offset} + {low}..={high} leave 0..2^62, where a swizzle has no meaning");
            return Err(LayoutError::Unsupported { operation: "composed layout", detail });
        }
        Ok(Self { swizzle, offset, layout })
    }

    /// The swizzle.
    ///
    /// ```
    /// # use layout_core::ComposedLayout;
    /// let c: ComposedLayout = "Sw<2,0,2> o 4 o (4,4):(4,1)".parse()?;
    /// assert_eq!(c.swizzle().to_string(), "Sw<2,0,2>");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn swizzle(&self) -> Swizzle {
        self.swizzle
    }

    /// What is added to the layout's offsets before they are swizzled.
    ///
    /// ```
    /// # use layout_core::ComposedLayout;
    /// let c: ComposedLayout = "Sw<2,0,2> o 4 o (4,4):(4,1)".parse()?;
    /// assert_eq!(c.offset(), 4);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The layout whose offsets are swizzled.
    ///
    /// ```
    /// # use layout_core::ComposedLayout;
    /// let c: ComposedLayout = "Sw<2,0,2> o 4 o (4,4):(4,1)".parse()?;
    /// assert_eq!(c.layout().to_string(), "(4,4):(4,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The swizzled offset of a linear index.
    ///
    /// # Errors
    /// As [`Layout::at`].
    ///
    /// ```
    /// # use layout_core::ComposedLayout;
    /// assert_eq!("Sw<1,0,1> o 2 o 2:1".parse::<ComposedLayout>()?.at(0)?, 3);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn at(&self, index: i64) -> Result<i64, LayoutError> {
        Ok(self.swizzle.apply(self.offset + self.layout.at(index)?))
    }

    /// The swizzled offset of a coordinate.
    ///
    /// # Errors
    /// As [`Layout::crd2idx`].
    ///
    /// ```
    /// # use layout_core::ComposedLayout;
    /// let c: ComposedLayout = "Sw<2,0,2> o 0 o (4,4):(4,1)".parse()?;
    /// assert_eq!(c.crd2idx(&(3, 1).into())?, 14);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn crd2idx(&self, coord: &IntTuple) -> Result<i64, LayoutError> {
        Ok(self.swizzle.apply(self.offset + self.layout.crd2idx(coord)?))
    }

    /// All offsets, in the order of the linear index.
    ///
    /// ```
    /// # use layout_core::ComposedLayout;
    /// let c: ComposedLayout = "Sw<1,0,1> o 0 o 4:1".parse()?;
    /// assert!(c.offsets().eq([0, 1, 3, 2]));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn offsets(&self) -> impl Iterator<Item = i64> {
        let (swizzle, offset) = (self.swizzle, self.offset);
        self.layout.offsets().map(move |at| swizzle.apply(offset + at))
    }

    /// A bound that every offset is below, at most one block of the swizzle above the greatest; 0 for an empty layout.
    ///
    /// CuTe gives the cosize of the layout alone, which is too small where the swizzle leaves its range.
    ///
    /// ```
    /// # use layout_core::ComposedLayout;
    /// let c: ComposedLayout = "Sw<2,0,3> o 0 o (3,7):(8,1)".parse()?;
    /// assert!(c.cosize() > c.offsets().max().unwrap_or(0));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn cosize(&self) -> i64 {
        if self.layout.size() == 0 {
            return 0;
        }
        // The swizzle permutes aligned blocks as large as its target mask reaches.
        let block = (self.swizzle.target_mask() + 1).cast_unsigned().next_power_of_two().cast_signed() - 1;
        1 + ((self.offset + self.layout.range().1) | block)
    }

    /// The same function with the fewest modes.
    ///
    /// ```
    /// # use layout_core::ComposedLayout;
    /// let c: ComposedLayout = "Sw<2,0,2> o 0 o (32,8):(1,32)".parse()?;
    /// assert_eq!(c.coalesce().to_string(), "Sw<2,0,2> o 0 o 256:1");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn coalesce(&self) -> Self {
        Self { layout: coalesce(&self.layout), ..self.clone() }
    }

    /// `self` after `layout`: [`composition`] on the domain.
    ///
    /// # Errors
    /// As [`composition`] and [`ComposedLayout::new`].
    ///
    /// ```
    /// # use layout_core::{ComposedLayout, Layout};
    /// let c: ComposedLayout = "Sw<2,1,3> o 0 o (64):(1)".parse()?;
    /// assert_eq!(c.composition(&Layout::new(8, 8)?)?.to_string(), "Sw<2,1,3> o 0 o 8:8");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn composition(&self, layout: &Layout) -> Result<Self, LayoutError> {
        self.with(composition(&self.layout, layout)?)
    }

    /// [`composition_by_mode`] on the domain.
    ///
    /// # Errors
    /// As [`composition_by_mode`] and [`ComposedLayout::new`].
    ///
    /// ```
    /// # use layout_core::{ComposedLayout, algebra::Tile};
    /// let c: ComposedLayout = "Sw<2,0,2> o 0 o (4,4):(4,1)".parse()?;
    /// let half = c.composition_by_mode(&[Tile::of(2)?, Tile::Keep])?;
    /// assert_eq!(half.to_string(), "Sw<2,0,2> o 0 o (2,4):(4,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn composition_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        self.with(composition_by_mode(&self.layout, tiler)?)
    }

    /// [`logical_divide`] on the domain.
    ///
    /// # Errors
    /// As [`logical_divide`] and [`ComposedLayout::new`].
    ///
    /// ```
    /// # use layout_core::{ComposedLayout, Layout};
    /// let c: ComposedLayout = "Sw<1,3,3> o 0 o (8,8):(1,8)".parse()?;
    /// assert_eq!(c.logical_divide(&Layout::new(16, 4)?)?.to_string(), "Sw<1,3,3> o 0 o (16,4):(4,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn logical_divide(&self, tiler: &Layout) -> Result<Self, LayoutError> {
        self.with(logical_divide(&self.layout, tiler)?)
    }

    /// [`logical_divide_by_mode`] on the domain.
    ///
    /// # Errors
    /// As [`logical_divide_by_mode`] and [`ComposedLayout::new`].
    ///
    /// ```
    /// # use layout_core::{ComposedLayout, algebra::Tile};
    /// let c: ComposedLayout = "Sw<2,0,2> o 0 o (4,4):(4,1)".parse()?;
    /// let tiled = c.logical_divide_by_mode(&[Tile::of(2)?])?;
    /// assert_eq!(tiled.to_string(), "Sw<2,0,2> o 0 o ((2,2),4):((4,8),1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn logical_divide_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        self.with(logical_divide_by_mode(&self.layout, tiler)?)
    }

    /// [`zipped_divide_by_mode`] on the domain.
    ///
    /// # Errors
    /// As [`zipped_divide_by_mode`] and [`ComposedLayout::new`].
    ///
    /// ```
    /// # use layout_core::{ComposedLayout, algebra::Tile};
    /// let c: ComposedLayout = "Sw<2,0,2> o 0 o (4,4):(4,1)".parse()?;
    /// let tiled = c.zipped_divide_by_mode(&[Tile::of(2)?, Tile::of(2)?])?;
    /// assert_eq!(tiled.to_string(), "Sw<2,0,2> o 0 o ((2,2),(2,2)):((4,1),(8,2))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn zipped_divide_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        self.with(zipped_divide_by_mode(&self.layout, tiler)?)
    }

    /// The open modes of a pattern, the fixed ones' offset kept inside the swizzle.
    ///
    /// # Errors
    /// As [`slice()`] and [`ComposedLayout::new`].
    ///
    /// ```
    /// # use layout_core::{ComposedLayout, Nest};
    /// let c: ComposedLayout = "Sw<2,0,2> o 0 o (4,4):(4,1)".parse()?;
    /// let row = c.slice(&Nest::flat([Some(3), None]))?;
    /// assert_eq!(row.to_string(), "Sw<2,0,2> o 12 o (4):(1)");
    /// assert!(row.offsets().eq([15, 14, 13, 12]));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn slice(&self, pattern: &Pattern) -> Result<Self, LayoutError> {
        let (layout, offset) = slice(&self.layout, pattern)?;
        Self::new(self.swizzle, self.offset.saturating_add(offset), layout)
    }

    /// The layout of elements of `old_bits` as one of elements of `new_bits`, the swizzle recast with it.
    ///
    /// # Errors
    /// As [`recast_layout`] and [`Swizzle::upcast`]; [`LayoutError::NotDivisible`] if the offset is none of the wider
    /// element's; [`LayoutError::Unsupported`] if the swizzle reads a bit of an offset within the wider element.
    ///
    /// ```
    /// # use layout_core::ComposedLayout;
    /// let c: ComposedLayout = "Sw<3,0,3> o 0 o (8,8):(8,1)".parse()?;
    /// assert_eq!(c.recast(16, 8)?.to_string(), "Sw<3,1,3> o 0 o (8,16):(16,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn recast(&self, old_bits: i64, new_bits: i64) -> Result<Self, LayoutError> {
        let layout = recast_layout(&self.layout, old_bits, new_bits)?;
        let (up, down) = ratio(old_bits, new_bits)?;
        if self.offset % up != 0 {
            let help = "slice at a coordinate whose offset is a multiple".into();
            let (operation, value, divisor) = ("recast", self.offset, up);
            return Err(LayoutError::NotDivisible { operation, mode: 0, value, divisor, help });
        }
        let read = self.swizzle.source_mask() & (up - 1);
        if read != 0 {
            let detail = format!(
                "{} reads bits {read:#b} of the offset, by which elements within one unit of {up} would part; \
                 keep the narrower element",
                self.swizzle
            );
            return Err(LayoutError::Unsupported { operation: "recast", detail });
        }
        let offset = (self.offset / up).saturating_mul(down);
        Self::new(self.swizzle.upcast(up)?.downcast(down)?, offset, layout)
    }

    /// The plain layout that is this function, if there is one whose modes are those of the layout: where no offset
    /// has a bit that the swizzle reads, or each bit it reads is moved by a mode of its own.
    ///
    /// ```
    /// # use layout_core::{ComposedLayout, Layout};
    /// let c: ComposedLayout = "Sw<1,0,2> o 0 o (2,2):(1,4)".parse()?;
    /// assert_eq!(c.decay(), None); // 1 and 5 give 1 and 4, not 1 and 6
    /// let c: ComposedLayout = "Sw<1,0,2> o 0 o (2,2):(2,4)".parse()?;
    /// assert_eq!(c.decay(), Some(Layout::new((2, 2), (2, 5))?));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn decay(&self) -> Option<Layout> {
        if self.offset != 0 || self.layout.size() > 1 << 16 {
            return None;
        }
        let strides = self.layout.modes_nest().map(|mode| self.swizzle.apply(mode.stride));
        let plain = Layout::new(self.layout.shape(), strides).ok()?;
        plain.offsets().eq(self.offsets()).then_some(plain)
    }

    fn with(&self, layout: Layout) -> Result<Self, LayoutError> {
        Self::new(self.swizzle, self.offset, layout)
    }
}

impl fmt::Display for ComposedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} o {} o {}", self.swizzle, self.offset, self.layout)
    }
}

impl FromStr for ComposedLayout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::composed)
    }
}

impl FromStr for Swizzle {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::swizzle)
    }
}
