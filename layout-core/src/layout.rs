//! `Layout`: a function from coordinates to offsets, `shape:stride`.
//!
//! Law: `L(c) == sum of c_i * stride_i`, leftmost modes fastest for an integer coordinate.
//! Invariants, kept by the constructor: shape and stride nest alike; extents are not negative; the size and every
//! offset fit 64 bits, so evaluating inside the domain cannot overflow. Each mode of a layout keeps them too.

use crate::nest::Node;
use crate::{IntTuple, LayoutError, Nest, coord};
use std::fmt;

/// One leaf mode of a layout: an extent and the step between neighbours along it.
///
/// ```
/// use layout_core::{Layout, Mode};
/// let l: Layout = "(4,8):(8,1)".parse()?;
/// assert_eq!(l.leaves().next(), Some(&Mode { shape: 4, stride: 8 }));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// The number of coordinates.
    pub shape: i64,
    /// The offset between neighbouring coordinates, in elements.
    pub stride: i64,
}

/// A layout `shape:stride`: the function that takes a coordinate to the sum of its parts times their strides.
///
/// Equality is of the text: `(4):(1)` and `4:1` are the same function and different layouts.
///
/// ```
/// use layout_core::Layout;
///
/// let l = Layout::row_major((2, 6))?;
/// assert_eq!(l.to_string(), "(2,6):(6,1)");
/// assert_eq!((l.rank(), l.size(), l.cosize()), (2, 12, 12));
/// assert_eq!(l.crd2idx(&(1, 2).into())?, 8);
/// assert_eq!(l.at(5)?, 8); // index 5 is coordinate (1,2): the leftmost mode runs fastest
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    modes: Nest<Mode>,
}

impl Layout {
    /// The layout `shape:stride`.
    ///
    /// # Errors
    /// [`LayoutError::NotCongruent`], [`LayoutError::NegativeExtent`], or [`LayoutError::Overflow`] if the size or an
    /// offset passes 64 bits.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::new((4, (2, 3)), (1, (12, 4)))?.to_string(), "(4,(2,3)):(1,(12,4))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(shape: impl Into<IntTuple>, stride: impl Into<IntTuple>) -> Result<Self, LayoutError> {
        let (shape, stride) = (shape.into(), stride.into());
        if !shape.congruent(&stride) {
            return Err(LayoutError::NotCongruent { shape: shape.to_string(), stride: stride.to_string() });
        }
        let mut strides = stride.leaves();
        // The nests are congruent, so there is a stride for each extent.
        let modes = shape.map(|&shape| Mode { shape, stride: strides.next().copied().unwrap_or(0) });
        Self::from_modes(modes, "layout")
    }

    /// The layout of these modes; `operation` names the caller in an error.
    pub(crate) fn from_modes(modes: Nest<Mode>, operation: &'static str) -> Result<Self, LayoutError> {
        if let Some(mode) = modes.leaves().find(|mode| mode.shape < 0) {
            return Err(LayoutError::NegativeExtent { operation, extent: mode.shape });
        }
        let overflow = |what: &str| LayoutError::Overflow {
            operation,
            detail: format!(
                "{what} of shape {} with stride {}",
                modes.map(|m| m.shape),
                modes.map(|m| m.stride)
            ),
        };
        // An extent of 0 counts as 1 here, so that the modes of an empty layout are layouts too.
        let mut size = Some(1_i64);
        // Sums of |offset| bound every partial sum; one is kept free for the cosize.
        let mut reach = Some(1_i64);
        for mode in modes.leaves() {
            let extent = mode.shape.max(1);
            size = size.and_then(|size| size.checked_mul(extent));
            let span = (extent - 1).checked_mul(mode.stride).and_then(i64::checked_abs);
            reach = reach.zip(span).and_then(|(reach, span)| reach.checked_add(span));
        }
        if size.is_none() {
            return Err(overflow("the size"));
        }
        if reach.is_none() {
            return Err(overflow("the largest offset"));
        }
        Ok(Self { modes })
    }

    /// The compact layout in which the last mode runs fastest in memory. A mode of extent 1 has stride 0.
    ///
    /// # Errors
    /// [`LayoutError::NegativeExtent`], [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((4, (2, 3)))?.to_string(), "(4,(2,3)):(6,(3,1))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn row_major(shape: impl Into<IntTuple>) -> Result<Self, LayoutError> {
        let shape = shape.into();
        let leaves: Vec<i64> = shape.leaves().copied().collect();
        let mut order: Vec<usize> = (0..leaves.len()).collect();
        order.reverse();
        Self::compact(&shape, &leaves, &order, "row_major")
    }

    /// The compact layout in which the first mode runs fastest in memory. A mode of extent 1 has stride 0.
    ///
    /// # Errors
    /// [`LayoutError::NegativeExtent`], [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::col_major((4, (2, 3)))?.to_string(), "(4,(2,3)):(1,(4,8))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn col_major(shape: impl Into<IntTuple>) -> Result<Self, LayoutError> {
        let shape = shape.into();
        let leaves: Vec<i64> = shape.leaves().copied().collect();
        let order: Vec<usize> = (0..leaves.len()).collect();
        Self::compact(&shape, &leaves, &order, "col_major")
    }

    /// The compact layout whose leaf `order[0]` has stride 1, `order[1]` the next, and so on.
    pub(crate) fn compact(
        shape: &IntTuple,
        leaves: &[i64],
        order: &[usize],
        operation: &'static str,
    ) -> Result<Self, LayoutError> {
        let mut strides = vec![0; leaves.len()];
        let mut step = Some(1_i64);
        for &leaf in order {
            let extent = leaves[leaf];
            if extent == 1 {
                continue;
            }
            strides[leaf] = step.ok_or_else(|| LayoutError::Overflow {
                operation,
                detail: format!("a stride of the compact layout of {shape}"),
            })?;
            step = step.and_then(|step| step.checked_mul(extent));
        }
        let mut strides = strides.into_iter();
        let modes = shape.map(|&shape| Mode { shape, stride: strides.next().unwrap_or(0) });
        Self::from_modes(modes, operation)
    }

    /// A layout whose modes are known to keep the invariants, being those of another layout, merged or cut.
    pub(crate) fn trusted(modes: Nest<Mode>) -> Self {
        debug_assert!(Self::from_modes(modes.clone(), "trusted").is_ok());
        Self { modes }
    }

    pub(crate) fn into_modes(self) -> Nest<Mode> {
        self.modes
    }

    pub(crate) fn modes_nest(&self) -> &Nest<Mode> {
        &self.modes
    }

    pub(crate) fn nodes(&self) -> &[Node<Mode>] {
        self.modes.nodes()
    }

    /// The shape.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((4, 8))?.shape().to_string(), "(4,8)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn shape(&self) -> IntTuple {
        self.modes.map(|mode| mode.shape)
    }

    /// The stride, nested like the shape.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((4, 8))?.stride().to_string(), "(8,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn stride(&self) -> IntTuple {
        self.modes.map(|mode| mode.stride)
    }

    /// The leaf modes, left to right.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((4, (2, 3)))?.leaves().count(), 3);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn leaves(&self) -> impl DoubleEndedIterator<Item = &Mode> {
        self.modes.leaves()
    }

    /// The number of top-level modes; `4:1` and `(4):(1)` both have 1.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((4, (2, 3)))?.rank(), 2);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn rank(&self) -> usize {
        self.modes.rank()
    }

    /// How deep the shape nests; `4:1` has 0.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((4, (2, 3)))?.depth(), 2);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn depth(&self) -> usize {
        self.modes.depth()
    }

    /// The layout of the top-level mode at `index`, or nothing if the rank is smaller.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((4, (2, 3)))?.mode(1), Some("(2,3):(3,1)".parse()?));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn mode(&self, index: usize) -> Option<Self> {
        Some(Self { modes: self.modes.mode(index)? })
    }

    /// The layouts of the top-level modes.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let rows: Vec<String> = Layout::row_major((4, 8))?.modes().map(|mode| mode.to_string()).collect();
    /// assert_eq!(rows, ["4:8", "8:1"]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn modes(&self) -> impl Iterator<Item = Self> {
        self.modes.modes().map(|modes| Self { modes })
    }

    /// The number of coordinates: the domain is `0..size`.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::new((4, 8), (0, 1))?.size(), 32);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn size(&self) -> i64 {
        // The constructor has seen that it fits; a zero extent anywhere makes it zero.
        let mut size = 1_i64;
        for mode in self.leaves() {
            if mode.shape == 0 {
                return 0;
            }
            size = size.wrapping_mul(mode.shape);
        }
        size
    }

    /// One more than the sum of the absolute offsets that the modes reach: the elements of memory that hold the
    /// layout where no stride is negative; 0 for an empty layout.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::new((4, 8), (10, 1))?.cosize(), 38);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn cosize(&self) -> i64 {
        if self.size() == 0 {
            return 0;
        }
        1 + self.leaves().map(|mode| ((mode.shape - 1) * mode.stride).abs()).sum::<i64>()
    }

    /// The least and the greatest offset, or `(0, -1)` for an empty layout.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::new((4, 8), (-10, 1))?.range(), (-30, 7));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn range(&self) -> (i64, i64) {
        if self.size() == 0 {
            return (0, -1);
        }
        self.leaves().fold((0, 0), |(low, high), mode| {
            let reach = (mode.shape - 1) * mode.stride;
            (low + reach.min(0), high + reach.max(0))
        })
    }

    /// The offset of a coordinate: an integer, or a tuple that nests like the shape or more coarsely.
    ///
    /// # Errors
    /// [`LayoutError::Profile`] if it nests otherwise, [`LayoutError::Coordinate`] if a part is outside its mode.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l = Layout::row_major((3, (2, 4)))?;
    /// assert_eq!(l.crd2idx(&(2, (1, 3)).into())?, 23);
    /// assert_eq!(l.crd2idx(&(2, 7).into())?, 23);
    /// assert_eq!(l.crd2idx(&23.into())?, 23);
    /// assert!(l.crd2idx(&(0, 8).into()).is_err());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn crd2idx(&self, coord: &IntTuple) -> Result<i64, LayoutError> {
        coord::offset(self.nodes(), coord)
    }

    /// The coordinate, nested like the shape, of a linear index of the domain.
    ///
    /// # Errors
    /// [`LayoutError::Coordinate`] unless `0 <= index < size`.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((2, 3))?.idx2crd(5)?.to_string(), "(1,2)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn idx2crd(&self, index: i64) -> Result<IntTuple, LayoutError> {
        coord::idx2crd(index, &self.shape())
    }

    /// The offset of a linear index of the domain.
    ///
    /// # Errors
    /// [`LayoutError::Coordinate`] unless `0 <= index < size`.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((2, 3))?.at(1)?, 3);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn at(&self, index: i64) -> Result<i64, LayoutError> {
        let size = self.size();
        if !(0..size).contains(&index) {
            return Err(LayoutError::Coordinate { mode: 0, coordinate: index, extent: size });
        }
        let mut rest = index;
        Ok(self.leaves().fold(0, |offset, mode| {
            let digit = rest % mode.shape;
            rest /= mode.shape;
            offset + digit * mode.stride
        }))
    }

    /// The offset of any linear index: beyond the domain the last mode goes on, and `L(-i) == -L(i)`. This is the
    /// function that [`crate::algebra::composition`] composes with. A mode `1:0` at the end is not the one that goes
    /// on: `(4,1):(1,0)` is the same function as `4:1`.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`]; [`LayoutError::Unsupported`] for an empty layout.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l = Layout::row_major((2, 3))?;
    /// assert_eq!((l.at_extended(7)?, l.at_extended(-1)?), (6, -3));
    /// assert_eq!(Layout::col_major((4, 1))?.at_extended(7)?, 7);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn at_extended(&self, index: i64) -> Result<i64, LayoutError> {
        crate::algebra::Places::new(self, "layout")?.at(index).ok_or_else(|| LayoutError::Overflow {
            operation: "layout",
            detail: format!("the offset of {index} under {self}"),
        })
    }

    /// All offsets, in the order of the linear index.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert!(Layout::row_major((2, 3))?.offsets().eq([0, 3, 1, 4, 2, 5]));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn offsets(&self) -> Offsets {
        Offsets::new(self)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::nest::write_nest;
        write_nest(f, self.nodes(), ",", |f, mode| write!(f, "{}", mode.shape))?;
        f.write_str(":")?;
        write_nest(f, self.nodes(), ",", |f, mode| write!(f, "{}", mode.stride))
    }
}

/// The offsets of a layout in the order of its linear index; made by [`Layout::offsets`].
///
/// ```
/// # use layout_core::Layout;
/// assert_eq!(Layout::new(3, 5)?.offsets().collect::<Vec<_>>(), [0, 5, 10]);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Offsets {
    /// The innermost mode that has more than one coordinate, walked without carries.
    inner: Mode,
    /// The other modes with their current coordinates.
    outer: Vec<(Mode, i64)>,
    position: i64,
    offset: i64,
    left: i64,
}

impl Offsets {
    fn new(layout: &Layout) -> Self {
        let mut modes = layout.leaves().copied().filter(|mode| mode.shape != 1);
        let inner = modes.next().unwrap_or(Mode { shape: 1, stride: 0 });
        Self {
            inner,
            outer: modes.map(|mode| (mode, 0)).collect(),
            position: 0,
            offset: 0,
            left: layout.size(),
        }
    }

    /// Steps the outer modes after a full run of the inner one, which has gone back to its start.
    fn carry(&mut self) {
        for (mode, coordinate) in &mut self.outer {
            *coordinate += 1;
            if *coordinate < mode.shape {
                self.offset += mode.stride;
                return;
            }
            *coordinate = 0;
            self.offset -= (mode.shape - 1) * mode.stride;
        }
    }
}

impl Iterator for Offsets {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        if self.left == 0 {
            return None;
        }
        let offset = self.offset;
        self.left -= 1;
        self.position += 1;
        if self.position < self.inner.shape {
            self.offset += self.inner.stride;
        } else {
            self.offset -= (self.inner.shape - 1) * self.inner.stride;
            self.position = 0;
            self.carry();
        }
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).ok();
        (left.unwrap_or(usize::MAX), left)
    }

    /// For speed whole runs of the inner mode are folded in one counted loop; the order is that of `next`.
    fn fold<B, F: FnMut(B, i64) -> B>(mut self, init: B, mut f: F) -> B {
        let mut total = init;
        while self.left > 0 {
            let run = (self.inner.shape - self.position).min(self.left);
            for step in 0..run {
                total = f(total, self.offset + step * self.inner.stride);
            }
            self.left -= run;
            self.offset -= self.position * self.inner.stride;
            self.position = 0;
            self.carry();
        }
        total
    }
}
