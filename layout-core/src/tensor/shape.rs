//! The same elements under another shape.
//!
//! Law: a transposed view has element (c1, c0) where the view has (c0, c1); a reshaped one reaches no other offset.

use super::view::View;
use crate::algebra::coalesce;
use crate::{Layout, LayoutError, Nest};

impl View {
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
        Ok(Self { offset: self.offset, reach: self.reach, ..Self::new(layout) })
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
