//! `View`: where the elements of a tensor view lie, without the data.
//!
//! Law: every operation acts alike on the memory layout and on one layout for each dimension of the tensor that the
//! view was taken from; so `coordinates(i)` are the coordinates of element i there, and the element exists exactly
//! if each lies below its extent. (CuTe does this by hand, with a tensor of coordinates beside the data.)

use crate::algebra::{coalesce, logical_divide, run};
use crate::layout::Mode;
use crate::{IntTuple, Layout, LayoutError, Nest, Swizzle};

/// One dimension that bounds a view: the coordinate there of each element, which must lie in `0..extent`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dimension {
    layout: Layout,
    element: Layout,
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
    layout: Layout,
    element: Layout,
    offset: i64,
    /// The dimensions of the tensor the view was taken from, `rank` of them, then one for each mode of a view on the
    /// way that its tiles did not divide: a vector that hangs over its tile's end is masked there too.
    dimensions: Vec<Dimension>,
    rank: usize,
    masked: bool,
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
        Self { dimensions, rank, layout, element, offset: 0, masked: false }
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
    fn by_mode(
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

    fn check_rank(&self, what: &'static str, found: usize) -> Result<(), LayoutError> {
        let expected = self.layout.rank();
        if expected == found {
            return Ok(());
        }
        Err(LayoutError::Rank { operation: "view", what, expected, found })
    }

    /// This view, to be cut into `sizes`: each mode that its size does not divide becomes a bound.
    fn cut(&self, sizes: &[i64]) -> Self {
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

    /// The elements that thread `thread` of `threads` owns: neighbours go to neighbouring threads, round after round.
    ///
    /// # Errors
    /// [`LayoutError::Rank`]; [`LayoutError::Coordinate`] if there is no such thread;
    /// [`LayoutError::NotInjective`] unless `threads` numbers each thread of `0..size` once.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 16))?).distribute(&Layout::row_major((2, 4))?, 5)?;
    /// assert_eq!((view.layout().to_string(), view.offset()), ("(4,4):(32,4)".to_string(), 17));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn distribute(&self, threads: &Layout, thread: i64) -> Result<Self, LayoutError> {
        self.check_rank("the thread layout", threads.rank())?;
        let at = thread_coordinates(threads, thread)?;
        let sizes: Vec<i64> = threads.modes().map(|mode| mode.size()).collect();
        self.owned(&sizes, &at)
    }

    /// As [`View::distribute`], mode 0 shared by the threads' coordinate along `axis` alone; the other modes stay
    /// whole, and threads that differ elsewhere own the same elements.
    ///
    /// # Errors
    /// As [`View::distribute`]; [`LayoutError::Rank`] if `threads` has no mode `axis`.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 16))?);
    /// let part = view.distribute_along(&Layout::row_major((4, 2))?, 1, 3)?;
    /// assert_eq!((part.layout().to_string(), part.offset()), ("(4,16):(32,1)".to_string(), 16));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn distribute_along(&self, threads: &Layout, axis: usize, thread: i64) -> Result<Self, LayoutError> {
        let coordinates = thread_coordinates(threads, thread)?;
        let found = threads.rank();
        let (Some(mode), Some(&coordinate)) = (threads.mode(axis), coordinates.get(axis)) else {
            let (operation, what, expected) = ("distribute", "the thread layout", axis + 1);
            return Err(LayoutError::Rank { operation, what, expected, found });
        };
        let rank = self.layout.rank();
        let (mut sizes, mut at) = (vec![1; rank], vec![0; rank]);
        if let (Some(size), Some(first)) = (sizes.first_mut(), at.first_mut()) {
            (*size, *first) = (mode.size(), coordinate);
        }
        self.owned(&sizes, &at)
    }

    /// As [`View::distribute`], with the thread's offset swizzled, counted in elements of the view.
    ///
    /// # Errors
    /// As [`View::distribute`]; [`LayoutError::Unsupported`] for a view with a tail, whose mask the swizzle would
    /// break.
    ///
    /// ```
    /// # use layout_core::{Layout, Swizzle, tensor::View};
    /// let view = View::new(Layout::row_major((8, 32))?).vectorize(&[1, 4])?;
    /// let part = view.distribute_swizzled(&Layout::row_major((8, 4))?, Swizzle::new(2, 0, 3)?, 4)?;
    /// assert_eq!(part.offset(), 36);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn distribute_swizzled(
        &self,
        threads: &Layout,
        swizzle: Swizzle,
        thread: i64,
    ) -> Result<Self, LayoutError> {
        let view = self.distribute(threads, thread)?;
        if view.masked {
            let detail = "the view has a tail; swizzle a view that its tiles divide".into();
            return Err(LayoutError::Unsupported { operation: "distribute", detail });
        }
        let size = view.element.size().max(1);
        let swizzled = swizzle.apply((view.offset - self.offset) / size) * size;
        Ok(Self { offset: self.offset + swizzled, dimensions: Vec::new(), rank: 0, ..view })
    }

    fn owned(&self, sizes: &[i64], at: &[i64]) -> Result<Self, LayoutError> {
        let view = self.cut(sizes).by_mode(|i, mode| {
            let (tile, rest) = divide(mode, sizes[i])?;
            Ok((rest, tile.at(at[i])?))
        })?;
        Ok(Self { layout: tidy(&view.layout)?, ..view })
    }

    /// The elements at `starts[i]..ends[i]` along each mode.
    ///
    /// # Errors
    /// [`LayoutError::Rank`]; [`LayoutError::Coordinate`] if a range leaves its mode or ends before it starts.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 16))?).slice(&[2..8, 4..12])?;
    /// assert_eq!((view.layout().to_string(), view.offset()), ("(6,8):(16,1)".to_string(), 36));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn slice(&self, ranges: &[std::ops::Range<i64>]) -> Result<Self, LayoutError> {
        self.check_rank("the slice", ranges.len())?;
        for (mode, (layout, range)) in self.layout.modes().zip(ranges).enumerate() {
            let extent = layout.size();
            for coordinate in [range.start, range.end] {
                if !(0..=extent).contains(&coordinate) || range.end < range.start {
                    return Err(LayoutError::Coordinate { mode, coordinate, extent });
                }
            }
        }
        self.by_mode(|i, mode| {
            let Some(range) = ranges.get(i) else { return Ok((mode.clone(), 0)) };
            if range.start == range.end {
                return Ok((Layout::new(0, 1)?, 0));
            }
            // Walking the range is the mode after `i -> start + i`, which is a layout only if no carry meets it.
            let run = run(mode, range.start, range.end - range.start)?;
            Ok((run, mode.at(range.start)?))
        })
    }

    /// Part `index` of `count` equal parts along mode `axis`; the parts are rounded up, so the last may be shorter
    /// and, of few elements, empty.
    ///
    /// # Errors
    /// As [`View::slice`]; [`LayoutError::Rank`] if there is no such mode; [`LayoutError::Coordinate`] unless
    /// `0 <= index < count`.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 10))?);
    /// let widths: Result<Vec<_>, _> = (0..4).map(|i| Ok(view.split(4, 1, i)?.layout().mode(1))).collect();
    /// let widths: Vec<i64> = widths.map(|w: Vec<Option<Layout>>| w.iter().flatten().map(Layout::size).collect())?;
    /// assert_eq!(widths, [3, 3, 3, 1]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn split(&self, count: i64, axis: usize, index: i64) -> Result<Self, LayoutError> {
        if !(0..count).contains(&index) {
            return Err(LayoutError::Coordinate { mode: axis, coordinate: index, extent: count });
        }
        let sizes: Vec<i64> = self.layout.modes().map(|mode| mode.size()).collect();
        let Some(&extent) = sizes.get(axis) else {
            let (what, expected, found) = ("the view", axis + 1, sizes.len());
            return Err(LayoutError::Rank { operation: "split", what, expected, found });
        };
        let part = if extent == 0 { 0 } else { (extent - 1) / count + 1 };
        let mut ranges: Vec<_> = sizes.iter().map(|&size| 0..size).collect();
        let start = part.saturating_mul(index).min(extent);
        ranges[axis] = start..start.saturating_add(part).min(extent);
        self.slice(&ranges)
    }

    /// The view with its top-level modes in reverse order.
    ///
    /// # Errors
    /// None for a view that exists; the type is that of the other operations.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// assert_eq!(View::new(Layout::row_major((8, 16))?).transpose()?.layout().to_string(), "(16,8):(1,16)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn transpose(&self) -> Result<Self, LayoutError> {
        let reverse = |layout: &Layout| {
            let mut modes: Vec<_> = layout.modes().map(Layout::into_modes).collect();
            modes.reverse();
            if layout.modes_nest().is_leaf() { layout.clone() } else { Layout::trusted(Nest::tuple(modes)) }
        };
        let mut view = self.clone();
        (view.layout, view.element) = (reverse(&self.layout), reverse(&self.element));
        for dimension in &mut view.dimensions {
            dimension.layout = reverse(&dimension.layout);
            dimension.element = reverse(&dimension.element);
        }
        Ok(view)
    }

    /// The same storage from the same offset under another layout, as a tensor of its own.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for a view with a tail, for one of vectors, for another size, or for a layout
    /// that reaches past the view's own offsets.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((2, 6))?);
    /// assert_eq!(view.reshape(Layout::col_major((3, 4))?)?.layout().to_string(), "(3,4):(1,3)");
    /// assert!(view.reshape(Layout::col_major((3, 5))?).is_err());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn reshape(&self, layout: Layout) -> Result<Self, LayoutError> {
        let refuse = |detail| Err(LayoutError::Unsupported { operation: "reshape", detail });
        if self.masked || self.element.size() != 1 {
            return refuse(
                "the view has a tail or vector elements; reshape the tensor it was taken from".into(),
            );
        }
        if layout.size() != self.layout.size() {
            return refuse(format!("{layout} has {} elements, not {}", layout.size(), self.layout.size()));
        }
        let (inner, outer) = (layout.range(), self.layout.range());
        if inner.0 < outer.0 || inner.1 > outer.1 {
            return refuse(format!("{layout} reaches past the offsets of {}", self.layout));
        }
        Ok(Self { offset: self.offset, ..Self::new(layout) })
    }

    /// The view with its layout coalesced: the same elements in the same order, in the fewest modes.
    ///
    /// # Errors
    /// As [`View::reshape`] for a view with a tail or vectors.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// assert_eq!(View::new(Layout::col_major((8, 16))?).coalesce()?.layout().to_string(), "128:1");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn coalesce(&self) -> Result<Self, LayoutError> {
        self.reshape(coalesce(&self.layout))
    }
}

/// Each top-level mode coalesced. For the memory layout alone: the stride of an extent of 1, which this drops, tells
/// a dimension where the elements past its end would be.
fn tidy(layout: &Layout) -> Result<Layout, LayoutError> {
    if layout.modes_nest().is_leaf() {
        return Ok(coalesce(layout));
    }
    Layout::from_modes(Nest::tuple(layout.modes().map(|mode| coalesce(&mode).into_modes())), "view")
}

/// `(tile, rest)` of one mode cut into tiles of `size` neighbours.
fn divide(mode: &Layout, size: i64) -> Result<(Layout, Layout), LayoutError> {
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

/// The coordinate of `thread` along each top-level mode of a thread layout that numbers `0..size` once.
fn thread_coordinates(threads: &Layout, thread: i64) -> Result<Vec<i64>, LayoutError> {
    let size = threads.size();
    if !(0..size).contains(&thread) {
        return Err(LayoutError::Coordinate { mode: 0, coordinate: thread, extent: size });
    }
    let mut modes: Vec<Mode> = threads.leaves().copied().filter(|mode| mode.shape > 1).collect();
    modes.sort_unstable_by_key(|mode| mode.stride);
    let mut next = 1;
    for mode in modes {
        if mode.stride != next {
            let detail = format!("no thread {next}, or several; strides must be those of a compact layout");
            return Err(LayoutError::NotInjective {
                operation: "distribute",
                layout: threads.to_string(),
                detail,
            });
        }
        next *= mode.shape;
    }
    let coordinate = |mode: Layout| {
        let (mut step, mut coordinate) = (1, 0);
        for leaf in mode.leaves().filter(|leaf| leaf.shape > 1) {
            coordinate += thread / leaf.stride % leaf.shape * step;
            step *= leaf.shape;
        }
        coordinate
    };
    Ok(threads.modes().map(coordinate).collect())
}
