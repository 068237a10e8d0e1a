//! `View`: where the elements of a tensor view are, without the data.
//!
//! Law: every operation acts alike on the memory layout and on one layout for each dimension of the tensor that the
//! view was taken from; so `coordinates(i)` are the coordinates of element i there, and the element exists exactly
//! if each is below its extent. (CuTe does this by hand, with a tensor of coordinates beside the data.)

use crate::layout::Mode;
use crate::{IntTuple, Layout, LayoutError, Nest};

/// One dimension that bounds a view: the coordinate there of each element, which must be in `0..extent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    pub(super) layout: Layout,
    pub(super) element: Layout,
    start: i64,
    extent: i64,
}

impl Dimension {
    /// The coordinate along mode `dimension` of a layout's elements.
    fn of(layout: &Layout, dimension: usize) -> Self {
        let sizes = layout.modes().map(|mode| mode.size());
        let modes =
            sizes.enumerate().map(|(mode, shape)| Mode { shape, stride: i64::from(mode == dimension) });
        let modes: Vec<Mode> = modes.collect();
        let extent = modes.get(dimension).map_or(1, |mode| mode.shape);
        let element = Layout::trusted(Nest::leaf(Mode { shape: 1, stride: 0 }));
        Self { layout: Layout::trusted(Nest::flat(modes)), element, start: 0, extent }
    }
}

/// The geometry of a tensor view: a layout of elements, a layout within each element, an offset into the storage, and
/// what is masked.
///
/// ```
/// use layout_core::{Layout, tensor::View};
///
/// let view = View::new(Layout::row_major((10, 7))?).tile(&[4, 4], &[2, 1])?;
/// assert_eq!((view.layout().to_string(), view.offset()), ("(4,4):(7,1)".to_string(), 60));
/// // Of the last tile only 2 x 3 elements exist.
/// assert!(view.masked());
/// assert_eq!(view.valid_shape().to_string(), "(2,3)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub(super) layout: Layout,
    pub(super) element: Layout,
    pub(super) offset: i64,
    /// The cosize of the tensor that the view was taken from.
    pub(super) reach: i64,
    /// The dimensions of the tensor the view was taken from, `rank` of them, then one for each mode of a view on the
    /// way that its tiles did not divide: a vector that hangs over its tile's end is masked there too.
    pub(super) dimensions: Vec<Dimension>,
    pub(super) rank: usize,
    pub(super) masked: bool,
}

impl View {
    /// The view of a whole tensor of this layout.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// assert_eq!(View::new(Layout::row_major((2, 3))?).offset(), 0);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(layout: Layout) -> Self {
        let element = Layout::trusted(Nest::leaf(Mode { shape: 1, stride: 1 }));
        let rank = layout.rank();
        let dimensions = (0..rank).map(|mode| Dimension::of(&layout, mode)).collect();
        let reach = layout.cosize();
        Self { dimensions, rank, layout, element, offset: 0, reach, masked: false }
    }

    /// The offsets of the elements in the storage, in the order of the linear index; nothing where one is masked. Of a vector it is
    /// its first part's.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let tile = View::new(Layout::row_major((2, 6))?).tile(&[2, 4], &[0, 1])?;
    /// assert!(tile.offsets().flatten().eq([4, 10, 5, 11])); // columns 6 and 7 do not exist
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn offsets(&self) -> impl Iterator<Item = Option<i64>> {
        let exists = |index| !self.masked || self.exists(index, 0);
        let offsets = (0..).zip(self.layout.offsets());
        offsets.map(move |(index, at)| exists(index).then(|| self.offset.saturating_add(at)))
    }

    /// The number of elements of the storage up to the last one of the tensor that the view was taken from.
    pub(crate) fn reach(&self) -> i64 {
        self.reach
    }

    /// The layout of the view's elements (vectors, after [`View::vectorize`]), in offsets from [`View::offset`].
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((10, 16))?).vectorize(&[1, 4])?.tile(&[4, 2], &[1, 1])?;
    /// assert_eq!(view.layout().to_string(), "(4,2):(16,4)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The layout within one element: `1:1`, or that of a vector after [`View::vectorize`].
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((10, 16))?).vectorize(&[1, 4])?.tile(&[4, 2], &[1, 1])?;
    /// assert_eq!(view.element_layout().to_string(), "(1,4):(0,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn element_layout(&self) -> &Layout {
        &self.element
    }

    /// The offset of the view's first element in the storage.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((10, 16))?).vectorize(&[1, 4])?.tile(&[4, 2], &[1, 1])?;
    /// assert_eq!(view.offset(), 72);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Whether a tile size did not divide an extent on the way here, so that some view of this family has a tail.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((10, 16))?).vectorize(&[1, 4])?.tile(&[4, 2], &[1, 1])?;
    /// assert!(view.masked()); // 4 does not divide 10
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn masked(&self) -> bool {
        self.masked
    }

    /// How many coordinates of each top-level mode exist, counted from 0 along that mode alone.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((5, 8))?).distribute(&Layout::row_major((4, 1))?, 0)?;
    /// assert_eq!(view.valid_shape().to_string(), "(2,8)"); // rows 0 and 4
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn valid_shape(&self) -> IntTuple {
        let mut step = 1;
        let mut count = |mode: Layout| {
            let size = mode.size();
            // Along a mode coordinates only grow, so the last that exists is found by halving.
            let (mut valid, mut end) = (0, size);
            while valid < end {
                let middle = valid + (end - valid) / 2;
                if self.exists(middle * step, 0) { valid = middle + 1 } else { end = middle }
            }
            step *= size.max(1);
            Nest::leaf(valid)
        };
        if self.layout.modes_nest().is_leaf() {
            return count(self.layout.clone());
        }
        let modes: Vec<_> = self.layout.modes().map(count).collect();
        Nest::tuple(modes)
    }

    /// The coordinates, in the tensor this view was taken from, of part `part` of element `index`.
    ///
    /// # Errors
    /// [`LayoutError::Coordinate`] if the view has no such element or the element no such part.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 8))?).tile(&[4, 4], &[1, 1])?;
    /// assert_eq!(view.coordinates(5, 0)?, [5, 5]); // element (1,1) of the tile
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn coordinates(&self, index: i64, part: i64) -> Result<Vec<i64>, LayoutError> {
        self.layout.at(index)?;
        self.element.at(part)?;
        let dimensions = self.dimensions.iter().take(self.rank);
        dimensions.map(|d| Ok(d.start + d.layout.at(index)? + d.element.at(part)?)).collect()
    }

    /// The storage offset of part `part` of element `index`, or nothing where it is masked.
    ///
    /// # Errors
    /// As [`View::coordinates`].
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((2, 7))?).vectorize(&[1, 4])?;
    /// assert_eq!((view.position(2, 2)?, view.position(2, 3)?), (Some(6), None));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn position(&self, index: i64, part: i64) -> Result<Option<i64>, LayoutError> {
        let offset = self.offset + self.layout.at(index)? + self.element.at(part)?;
        Ok(self.exists(index, part).then_some(offset))
    }

    fn exists(&self, index: i64, part: i64) -> bool {
        self.dimensions.iter().all(|d| match (d.layout.at(index), d.element.at(part)) {
            (Ok(at), Ok(within)) => (0..d.extent).contains(&(d.start + at + within)),
            _ => false,
        })
    }

    /// Applies `pick` to each mode of the memory layout and of every dimension; `pick` gives the part of the mode
    /// that stays and the offset of the part's first element.
    pub(super) fn by_mode(
        &self,
        pick: impl Fn(usize, &Layout) -> Result<(Layout, i64), LayoutError>,
    ) -> Result<Self, LayoutError> {
        let apply = |layout: &Layout| -> Result<(Layout, i64), LayoutError> {
            let (mut modes, mut start) = (Vec::new(), 0_i64);
            for (i, mode) in layout.modes().enumerate() {
                let (mode, at) = pick(i, &mode)?;
                modes.push(mode.into_modes());
                start += at;
            }
            let nest = match (layout.modes_nest().is_leaf(), modes.pop()) {
                (true, Some(only)) => only,
                (_, last) => Nest::tuple(modes.into_iter().chain(last)),
            };
            Ok((Layout::from_modes(nest, "view")?, start))
        };
        let (layout, start) = apply(&self.layout)?;
        let dimensions = self.dimensions.iter().map(|d| {
            let (layout, start) = apply(&d.layout)?;
            Ok(Dimension { layout, start: d.start + start, ..d.clone() })
        });
        let dimensions: Result<_, LayoutError> = dimensions.collect();
        let offset = self.offset + start;
        Ok(Self { layout, offset, dimensions: dimensions?, ..self.clone() })
    }

    pub(super) fn check_rank(&self, what: &'static str, found: usize) -> Result<(), LayoutError> {
        let expected = self.layout.rank();
        if expected == found {
            return Ok(());
        }
        Err(LayoutError::Rank { operation: "view", what, expected, found })
    }

    /// This view, to be cut into `sizes`: each mode that its size does not divide becomes a bound.
    pub(super) fn cut(&self, sizes: &[i64]) -> Self {
        let mut view = self.clone();
        for (mode, (layout, &size)) in self.layout.modes().zip(sizes).enumerate() {
            if layout.size() % size.max(1) != 0 {
                // All parts of an element have its coordinate.
                let element = self.element.modes_nest().map(|mode| Mode { stride: 0, ..*mode });
                let element = Layout::trusted(element);
                view.dimensions.push(Dimension { element, ..Dimension::of(&self.layout, mode) });
                view.masked = true;
            }
        }
        view
    }
}
