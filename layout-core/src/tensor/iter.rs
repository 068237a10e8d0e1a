//! Walks over views: every position of one, and every tile of one along a mode.
//!
//! Law: `positions` gives one entry for each part of each element, in the order of the linear index, parts fastest.

use super::access::LayoutTensor;
use super::view::View;
use crate::{IntTuple, LayoutError, Nest};

impl View {
    /// The shape of [`View::positions`]: that of the view, with the parts of an element in front where it has several.
    pub(crate) fn places(&self) -> IntTuple {
        match self.element_layout().size() {
            1 => self.layout().shape(),
            _ => Nest::tuple([self.element_layout().shape(), self.layout().shape()]),
        }
    }

    /// The index into the storage of each part of each element; nothing where it is masked.
    pub(crate) fn positions(&self) -> impl Iterator<Item = Option<usize>> {
        let parts = self.element_layout().size();
        (0..self.layout().size()).flat_map(move |index| {
            (0..parts).map(move |part| {
                self.position(index, part).ok().flatten().and_then(|offset| usize::try_from(offset).ok())
            })
        })
    }

    /// The linear index of a coordinate of the view.
    pub(crate) fn index(&self, coord: &IntTuple) -> Result<i64, LayoutError> {
        crate::Layout::col_major(self.layout().shape())?.crd2idx(coord)
    }

    /// The error for an element that is masked.
    pub(crate) fn masked_at(&self, coord: &IntTuple) -> LayoutError {
        let detail =
            format!("element {coord} is past the end of its tensor; use `load_part`, or check `valid_shape`");
        LayoutError::Unsupported { operation: "tensor", detail }
    }
}

/// The tiles of a tensor along one mode; made by [`LayoutTensor::tiles`].
///
/// ```
/// # use layout_core::{Layout, LayoutTensor};
/// let t = LayoutTensor::new((0..8).collect::<Vec<_>>(), Layout::row_major((2, 4))?)?;
/// assert_eq!(t.tiles(&[1, 4], &[0, 0], 0)?.nth(1).map(|row| row.iter().sum()), Some(22));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tiles<'a, T> {
    data: &'a [T],
    view: View,
    sizes: Vec<i64>,
    at: Vec<i64>,
    axis: usize,
}

impl<'a, T> Tiles<'a, T> {
    pub(crate) fn new(
        data: &'a [T],
        view: &View,
        sizes: &[i64],
        from: &[i64],
        axis: usize,
    ) -> Result<Self, LayoutError> {
        view.tile(sizes, from)?;
        if axis >= from.len() {
            let (what, expected, found) = ("the view", axis + 1, from.len());
            return Err(LayoutError::Rank { operation: "tiles", what, expected, found });
        }
        Ok(Self { data, view: view.clone(), sizes: sizes.to_vec(), at: from.to_vec(), axis })
    }
}

impl<'a, T> Iterator for Tiles<'a, T> {
    type Item = LayoutTensor<&'a [T]>;

    fn next(&mut self) -> Option<Self::Item> {
        // The first tile was made once, so the only thing refused here is a coordinate past the last tile.
        let view = self.view.tile(&self.sizes, &self.at).ok()?;
        self.at[self.axis] += 1;
        Some(LayoutTensor::from_parts(self.data, view))
    }
}
