//! `LayoutTensor`: a view together with the storage it looks into.
//!
//! Invariant: every element of the view that exists is inside the storage; checked when the tensor is made, and kept
//! by the views, which only choose among its elements.

use super::iter::Tiles;
use super::view::View;
use crate::{IntTuple, Layout, LayoutError};
use std::ops::{Deref, DerefMut, Range};

/// Storage (`&[T]`, `&mut [T]`, `Vec<T>`) seen through a layout.
///
/// ```
/// use layout_core::{Layout, LayoutTensor};
///
/// let mut c = LayoutTensor::new(vec![0.0; 12], Layout::row_major((2, 6))?)?;
/// c.tile_mut(&[2, 4], &[0, 1])?.fill(1.0); // columns 4 and 5: the tail of the second tile is masked
/// assert_eq!(c.get(&(1, 4).into())?, 1.0);
/// assert_eq!(c.iter().sum::<f64>(), 4.0);
/// assert!(c.get(&(2, 0).into()).is_err());
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LayoutTensor<S> {
    data: S,
    view: View,
}

impl<T, S: Deref<Target = [T]>> LayoutTensor<S> {
    /// The tensor of `layout` over `data`, from its first element.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] if an offset is outside the data.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let data = [1, 2, 3, 4, 5, 6];
    /// let t = LayoutTensor::new(&data[..], Layout::col_major((2, 3))?)?;
    /// assert_eq!(t.get(&(1, 2).into())?, 6);
    /// assert!(LayoutTensor::new(&data[..], Layout::row_major((4, 2))?).is_err());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(data: S, layout: Layout) -> Result<Self, LayoutError> {
        let (low, high) = layout.range();
        if low < 0 || high >= i64::try_from(data.len()).unwrap_or(i64::MAX) {
            let detail = format!("{layout} reaches offsets {low}..={high}, the data has 0..{}", data.len());
            return Err(LayoutError::Unsupported { operation: "tensor", detail });
        }
        Ok(Self { data, view: View::new(layout) })
    }

    pub(crate) fn from_parts(data: S, view: View) -> Self {
        Self { data, view }
    }

    /// Where the elements are.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new(vec![0; 12], Layout::row_major((2, 6))?)?;
    /// assert_eq!(t.tile(&[2, 3], &[0, 1])?.view().offset(), 3);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The layout of the view.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new(vec![0; 12], Layout::row_major((2, 6))?)?;
    /// assert_eq!(t.layout().to_string(), "(2,6):(6,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn layout(&self) -> &Layout {
        self.view.layout()
    }

    /// The whole storage, whatever part the view shows.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new(vec![7; 4], Layout::row_major((2, 2))?)?;
    /// assert_eq!(t.data(), [7; 4]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// Any view of the same storage: what the named views are made with.
    ///
    /// # Errors
    /// What `f` refuses.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new((0..8).collect::<Vec<_>>(), Layout::row_major((2, 4))?)?;
    /// let column = t.with(|view| view.slice(&[0..2, 1..2])?.coalesce())?;
    /// assert!(column.iter().eq([1, 5]));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn with(
        &self,
        f: impl FnOnce(&View) -> Result<View, LayoutError>,
    ) -> Result<LayoutTensor<&[T]>, LayoutError> {
        Ok(LayoutTensor { view: f(&self.view)?, data: &self.data })
    }

    /// The tiles of `sizes` along mode `axis`, from tile coordinate `from` on.
    ///
    /// # Errors
    /// As [`View::tile`].
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new((0..10).collect::<Vec<_>>(), Layout::row_major((2, 5))?)?;
    /// let sums: Vec<i32> = t.tiles(&[2, 2], &[0, 0], 1)?.map(|tile| tile.iter().sum()).collect();
    /// assert_eq!(sums, [12, 20, 13]); // the last tile has one column
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn tiles(&self, sizes: &[i64], from: &[i64], axis: usize) -> Result<Tiles<'_, T>, LayoutError> {
        Tiles::new(&self.data, &self.view, sizes, from, axis)
    }

    fn at(&self, coord: &IntTuple, part: i64) -> Result<Option<usize>, LayoutError> {
        let index = self.view.index(coord)?;
        // What exists is inside the storage, so the offset is an index.
        Ok(self.view.position(index, part)?.and_then(|offset| usize::try_from(offset).ok()))
    }
}

impl<T: Copy, S: Deref<Target = [T]>> LayoutTensor<S> {
    /// The element at a coordinate of the view; of a vector, its first part.
    ///
    /// # Errors
    /// [`LayoutError::Profile`] or [`LayoutError::Coordinate`], the latter also where the element is masked.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new(vec![1, 2, 3], Layout::row_major([3])?)?;
    /// let tail = t.tile(&[2], &[1])?;
    /// assert_eq!((tail.get(&[0].into()), tail.get(&[1].into()).is_err()), (Ok(3), true));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn get(&self, coord: &IntTuple) -> Result<T, LayoutError> {
        self.load_part(coord, 0)?.ok_or_else(|| self.view.masked_at(coord))
    }

    /// Part `part` of the vector at a coordinate, or nothing where it is masked.
    ///
    /// # Errors
    /// As [`LayoutTensor::get`], but not for masked elements.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new(vec![1, 2, 3], Layout::row_major([3])?)?;
    /// let pairs = t.vectorize(&[2])?;
    /// assert_eq!((pairs.load_part(&[1].into(), 0), pairs.load_part(&[1].into(), 1)), (Ok(Some(3)), Ok(None)));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn load_part(&self, coord: &IntTuple, part: i64) -> Result<Option<T>, LayoutError> {
        Ok(self.at(coord, part)?.and_then(|at| self.data.get(at).copied()))
    }

    /// All elements that exist, part by part, in the order of the view's linear index.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new((0..6).collect::<Vec<_>>(), Layout::row_major((2, 3))?)?;
    /// assert!(t.iter().eq([0, 3, 1, 4, 2, 5]));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.view.positions().flatten().filter_map(|at| self.data.get(at).copied())
    }

    /// The elements of the view in a compact column-major tensor of its own; masked ones are `pad`.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new((0..6).collect::<Vec<_>>(), Layout::row_major((2, 3))?)?;
    /// let tile = t.tile(&[2, 2], &[0, 1])?.to_owned(-1)?;
    /// assert_eq!(tile.data(), [2, 5, -1, -1]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn to_owned(&self, pad: T) -> Result<LayoutTensor<Vec<T>>, LayoutError> {
        let data =
            self.view.positions().map(|at| at.and_then(|at| self.data.get(at).copied()).unwrap_or(pad));
        let data: Vec<T> = data.collect();
        let shape = match self.view.element_layout().size() {
            1 => self.layout().shape(),
            // Parts run fastest, in the order of `iter`.
            parts => IntTuple::tuple([IntTuple::from(parts), self.layout().shape()]),
        };
        LayoutTensor::new(data, Layout::col_major(shape)?)
    }
}

impl<T: Copy, S: DerefMut<Target = [T]>> LayoutTensor<S> {
    /// As [`LayoutTensor::with`], to write through.
    ///
    /// # Errors
    /// What `f` refuses.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let mut t = LayoutTensor::new(vec![0; 4], Layout::row_major((2, 2))?)?;
    /// t.with_mut(|view| view.transpose())?.set(&(0, 1).into(), 7)?;
    /// assert_eq!(t.data(), [0, 0, 7, 0]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn with_mut(
        &mut self,
        f: impl FnOnce(&View) -> Result<View, LayoutError>,
    ) -> Result<LayoutTensor<&mut [T]>, LayoutError> {
        Ok(LayoutTensor { view: f(&self.view)?, data: &mut self.data })
    }

    /// Writes the element at a coordinate of the view; of a vector, its first part.
    ///
    /// # Errors
    /// As [`LayoutTensor::get`].
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let mut t = LayoutTensor::new(vec![0; 6], Layout::row_major((2, 3))?)?;
    /// t.set(&(1, 0).into(), 5)?;
    /// assert_eq!(t.data(), [0, 0, 0, 5, 0, 0]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn set(&mut self, coord: &IntTuple, value: T) -> Result<(), LayoutError> {
        let slot = match self.at(coord, 0)? {
            Some(at) => self.data.get_mut(at),
            None => None,
        };
        match slot {
            Some(slot) => *slot = value,
            None => return Err(self.view.masked_at(coord)),
        }
        Ok(())
    }

    /// Writes `value` to every element that exists.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let mut t = LayoutTensor::new(vec![0; 5], Layout::new(3, 2)?)?;
    /// t.fill(1);
    /// assert_eq!(t.data(), [1, 0, 1, 0, 1]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn fill(&mut self, value: T) {
        for at in self.view.positions().flatten() {
            if let Some(slot) = self.data.get_mut(at) {
                *slot = value;
            }
        }
    }

    /// Copies element by element to the same coordinate; a masked source gives `pad`, a masked destination is left
    /// out. One of the shapes may be coarser than the other, as `12` is than `(3,4)`: its indices are the other's then.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] if neither shape's coordinates are the other's, as with `(4,3)` and `(3,4)`.
    ///
    /// ```
    /// # use layout_core::{Layout, LayoutTensor};
    /// let a = LayoutTensor::new((0..6).collect::<Vec<_>>(), Layout::row_major((2, 3))?)?;
    /// let mut b = LayoutTensor::new(vec![9; 6], Layout::col_major((2, 3))?)?;
    /// b.copy_from(&a, 0)?;
    /// assert_eq!(b.data(), [0, 3, 1, 4, 2, 5]);
    /// let mut turned = LayoutTensor::new(vec![9; 6], Layout::row_major((3, 2))?)?;
    /// assert!(turned.copy_from(&a, 0).is_err());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn copy_from<R: Deref<Target = [T]>>(
        &mut self,
        source: &LayoutTensor<R>,
        pad: T,
    ) -> Result<(), LayoutError> {
        let (to, from) = (self.view.places(), source.view.places());
        if !to.compatible(&from) && !from.compatible(&to) {
            let detail = format!("shape {from} does not fit {to}; give both views one shape");
            return Err(LayoutError::Unsupported { operation: "copy_from", detail });
        }
        for (to, from) in self.view.positions().zip(source.view.positions()) {
            if let Some(slot) = to.and_then(|to| self.data.get_mut(to)) {
                *slot = from.and_then(|from| source.data.get(from).copied()).unwrap_or(pad);
            }
        }
        Ok(())
    }
}

/// The named views, for reading and for writing.
macro_rules! views {
    ($($name:ident $name_mut:ident ($($arg:ident: $type:ty),*) $line:literal $example:literal;)+) => {
        impl<T, S: Deref<Target = [T]>> LayoutTensor<S> {
            $(#[doc = $line]
            ///
            /// # Errors
            #[doc = concat!("As [`View::", stringify!($name), "`].")]
            ///
            /// ```
            /// # use layout_core::{Layout, LayoutTensor};
            /// # let t = LayoutTensor::new((0..32).collect::<Vec<i32>>(), Layout::row_major((4, 8))?)?;
            #[doc = concat!("let view = t.", stringify!($name), $example)]
            /// # Ok::<(), layout_core::LayoutError>(())
            /// ```
            pub fn $name(&self, $($arg: $type),*) -> Result<LayoutTensor<&[T]>, LayoutError> {
                self.with(|view| view.$name($($arg),*))
            })+
        }
        impl<T: Copy, S: DerefMut<Target = [T]>> LayoutTensor<S> {
            $(#[doc = concat!("As [`LayoutTensor::", stringify!($name), "`], to write through.")]
            ///
            /// # Errors
            #[doc = concat!("As [`View::", stringify!($name), "`].")]
            ///
            /// ```
            /// # use layout_core::{Layout, LayoutTensor};
            /// # let mut t = LayoutTensor::new((0..32).collect::<Vec<i32>>(), Layout::row_major((4, 8))?)?;
            #[doc = concat!("let mut view = t.", stringify!($name_mut), $example)]
            /// view.fill(0);
            /// # Ok::<(), layout_core::LayoutError>(())
            /// ```
            pub fn $name_mut(&mut self, $($arg: $type),*) -> Result<LayoutTensor<&mut [T]>, LayoutError> {
                self.with_mut(|view| view.$name($($arg),*))
            })+
        }
    };
}

views! {
    tile tile_mut (sizes: &[i64], at: &[i64]) "The tile of `sizes` elements at the tile coordinates `at`."
        "(&[2, 4], &[1, 1])?;\nassert_eq!(view.get(&(0, 0).into())?, 20);";
    vectorize vectorize_mut (sizes: &[i64]) "The view whose elements are vectors of `sizes` neighbours."
        "(&[1, 4])?;\nassert_eq!(view.load_part(&(0, 1).into(), 2)?, Some(6));";
    distribute distribute_mut (threads: &Layout, thread: i64) "The elements that one thread of a thread layout owns."
        "(&Layout::row_major((2, 4))?, 5)?;\nassert_eq!(view.get(&(1, 1).into())?, 29);";
    slice slice_mut (ranges: &[Range<i64>]) "The elements in a range of each mode."
        "(&[1..3, 2..5])?;\nassert_eq!(view.get(&(1, 2).into())?, 20);";
    split split_mut (count: i64, axis: usize, index: i64) "One of `count` equal parts along a mode."
        "(2, 0, 1)?;\nassert_eq!(view.get(&(0, 0).into())?, 16);";
    transpose transpose_mut () "The top-level modes in reverse order."
        "()?;\nassert_eq!(view.get(&(1, 0).into())?, 1);";
    reshape reshape_mut (layout: Layout) "The same storage under another layout of as many elements."
        "(Layout::row_major((8, 4))?)?;\nassert_eq!(view.get(&(1, 0).into())?, 4);";
    coalesce coalesce_mut () "The same elements in the same order, in the fewest modes."
        "()?;\nassert_eq!(view.get(&(1, 0).into())?, 8);";
}
