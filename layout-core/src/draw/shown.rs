//! `Shown`: what a table or a picture of offsets is made of.
//!
//! Law: element i is at `offset + layout(i)`, and has no offset where the view masks it.

use crate::tensor::View;
use crate::{Layout, LayoutTensor};

/// A layout, a layout at an offset, a view or a tensor, as the tables and pictures take it.
///
/// ```
/// use layout_core::{Layout, draw::{Shown, layout_table}, tensor::View};
/// let matrix = Layout::row_major((2, 6))?;
/// let tile = View::new(matrix).tile(&[2, 2], &[0, 1])?;
/// assert_eq!(Shown::from(&tile).to_string(), "(2,2):(6,1) at 2");
/// assert!(layout_table((tile.layout(), 2)).contains("1  | 8 | 9 |"));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shown {
    pub(super) layout: Layout,
    pub(super) offset: i64,
    /// The cosize of the whole that this is a part of.
    pub(super) reach: i64,
    /// The view that masks some of the elements.
    masked: Option<View>,
}

impl Shown {
    /// The offsets in the order of the linear index.
    pub(super) fn offsets(&self) -> Box<dyn Iterator<Item = Option<i64>> + '_> {
        match &self.masked {
            Some(view) => Box::new(view.offsets()),
            None => Box::new(self.layout.offsets().map(|at| Some(self.offset.saturating_add(at)))),
        }
    }
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.offset {
            0 => write!(f, "{}", self.layout),
            offset => write!(f, "{} at {offset}", self.layout),
        }
    }
}

impl From<&Layout> for Shown {
    fn from(layout: &Layout) -> Self {
        Self::from((layout, 0))
    }
}

impl From<(&Layout, i64)> for Shown {
    fn from((layout, offset): (&Layout, i64)) -> Self {
        Self { layout: layout.clone(), offset, reach: layout.cosize(), masked: None }
    }
}

impl From<&View> for Shown {
    fn from(view: &View) -> Self {
        let masked = view.masked().then(|| view.clone());
        Self { layout: view.layout().clone(), offset: view.offset(), reach: view.reach(), masked }
    }
}

impl<T, S: std::ops::Deref<Target = [T]>> From<&LayoutTensor<S>> for Shown {
    fn from(tensor: &LayoutTensor<S>) -> Self {
        Self::from(tensor.view())
    }
}
