//! Taking layouts apart by mode and putting them together: the operations that move modes and change no stride.
//!
//! Law: every leaf of the result is a leaf of an operand; `flatten`, `group` and `unflatten` keep the function.

use crate::layout::Mode;
use crate::{IntTuple, Layout, LayoutError, Nest};
use std::ops::Range;

impl Layout {
    /// The layouts side by side, each one top-level mode: CuTe's `make_layout(l0, l1, ..)`.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l = Layout::concat([Layout::new(4, 1)?, Layout::row_major((2, 3))?])?;
    /// assert_eq!(l.to_string(), "(4,(2,3)):(1,(3,1))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn concat(modes: impl IntoIterator<Item = Self>) -> Result<Self, LayoutError> {
        Self::from_modes(Nest::tuple(modes.into_iter().map(Self::into_modes)), "concat")
    }

    /// All leaves in one flat tuple.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((4, (2, 3)))?.flatten().to_string(), "(4,2,3):(6,3,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn flatten(&self) -> Self {
        Self::trusted(self.modes_nest().flatten())
    }

    /// The leaves nested like `profile`.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] if the numbers of leaves differ.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l = Layout::row_major((4, 2, 3))?.unflatten(&(1, (1, 1)).into())?;
    /// assert_eq!(l.to_string(), "(4,(2,3)):(6,(3,1))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn unflatten(&self, profile: &IntTuple) -> Result<Self, LayoutError> {
        Ok(Self::trusted(self.modes_nest().unflatten(profile)?))
    }

    /// The modes of `range` gathered into one.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] if the range leaves the modes.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::col_major((2, 3, 5, 7))?.group(1..3)?.to_string(), "(2,(3,5),7):(1,(2,6),30)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn group(&self, range: Range<usize>) -> Result<Self, LayoutError> {
        self.check_range(&range, "group")?;
        let modes: Vec<_> = self.modes_nest().modes().collect();
        let group = Nest::tuple(modes[range.clone()].iter().cloned());
        let before = modes[..range.start].iter().cloned();
        Ok(Self::trusted(Nest::tuple(before.chain([group]).chain(modes[range.end..].iter().cloned()))))
    }

    /// The modes of `range`.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] if the range leaves the modes.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::col_major((2, 3, 5))?.take(1..3)?.to_string(), "(3,5):(2,6)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn take(&self, range: Range<usize>) -> Result<Self, LayoutError> {
        self.check_range(&range, "take")?;
        self.select(&range.collect::<Vec<_>>())
    }

    /// The modes at `indices`, in that order.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] for an index that is no mode; [`LayoutError::Overflow`] if a mode is taken many times.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::col_major((2, 3, 5))?.select(&[2, 0])?.to_string(), "(5,2):(6,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn select(&self, indices: &[usize]) -> Result<Self, LayoutError> {
        let modes: Vec<_> = self.modes_nest().modes().collect();
        let chosen = indices.iter().map(|&index| {
            let what = "the layout";
            let error = LayoutError::Rank {
                operation: "select",
                what,
                expected: index.saturating_add(1),
                found: modes.len(),
            };
            modes.get(index).cloned().ok_or(error)
        });
        Self::from_modes(Nest::tuple(chosen.collect::<Result<Vec<_>, _>>()?), "select")
    }

    /// The layout with one more mode at the end.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::col_major((2, 3))?.append(Layout::new(4, 0)?)?.to_string(), "(2,3,4):(1,2,0)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn append(&self, mode: Self) -> Result<Self, LayoutError> {
        Self::from_modes(Nest::tuple(self.modes_nest().modes().chain([mode.into_modes()])), "append")
    }

    /// The layout with one more mode in front.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::col_major((2, 3))?.prepend(Layout::new(4, 0)?)?.to_string(), "(4,2,3):(0,1,2)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn prepend(&self, mode: Self) -> Result<Self, LayoutError> {
        Self::from_modes(
            Nest::tuple([mode.into_modes()].into_iter().chain(self.modes_nest().modes())),
            "prepend",
        )
    }

    /// The layout with the mode at `index` replaced.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] if there is no such mode; [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::col_major((2, 3))?.replace(0, Layout::new(4, 9)?)?.to_string(), "(4,3):(9,2)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn replace(&self, index: usize, mode: Self) -> Result<Self, LayoutError> {
        self.check_range(&(index..index.saturating_add(1)), "replace")?;
        let modes = self.modes_nest().modes().enumerate();
        let mut mode = Some(mode.into_modes());
        let modes = modes.map(|(i, old)| if i == index { mode.take().unwrap_or(old) } else { old });
        Self::from_modes(Nest::tuple(modes.collect::<Vec<_>>()), "replace")
    }

    /// `((a0, a1), (b0, b1))` as `((a0, b0), (a1, b1))`.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] unless all top-level modes have one rank.
    ///
    /// Source: CuTe's `zip`.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l: Layout = "((2,3),(4,5)):((1,2),(6,24))".parse()?;
    /// assert_eq!(l.zip()?.to_string(), "((2,4),(3,5)):((1,6),(2,24))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn zip(&self) -> Result<Self, LayoutError> {
        let modes: Vec<Vec<Nest<Mode>>> =
            self.modes_nest().modes().map(|mode| mode.modes().collect()).collect();
        let expected = modes.first().map_or(0, Vec::len);
        if let Some(other) = modes.iter().find(|mode| mode.len() != expected) {
            let what = "a mode";
            return Err(LayoutError::Rank { operation: "zip", what, expected, found: other.len() });
        }
        let column = |index: usize| Nest::tuple(modes.iter().filter_map(|mode| mode.get(index).cloned()));
        Self::from_modes(Nest::tuple((0..expected).map(column)), "zip")
    }

    /// A tuple of at least `rank` modes, padded with `1:0`.
    pub(crate) fn padded(&self, rank: usize) -> Self {
        let still = Nest::leaf(Mode { shape: 1, stride: 0 });
        let missing = rank.saturating_sub(self.rank());
        Self::trusted(Nest::tuple(self.modes_nest().modes().chain(std::iter::repeat_n(still, missing))))
    }

    fn check_range(&self, range: &Range<usize>, operation: &'static str) -> Result<(), LayoutError> {
        if range.start <= range.end && range.end <= self.rank() {
            return Ok(());
        }
        Err(LayoutError::Rank {
            operation,
            what: "the layout",
            expected: range.end.max(range.start),
            found: self.rank(),
        })
    }
}
