//! Names of the kernel's text that leave no statement: views, and indices that are atoms or numbers.
//!
//! Law: no pass reads them; they are for what shows a kernel, or a run of it, in the user's names.

use crate::index::Index;
use crate::origin::Origin;
use crate::program::PlaceId;
use layout_core::Swizzle;

/// A name, and what it is bound to.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The user's name.
    pub name: String,
    /// Where it is bound.
    pub origin: Origin,
    /// What it is.
    pub value: NamedValue,
}

/// What a name is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum NamedValue {
    /// An index.
    Index(Index),
    /// A view of a place.
    View {
        /// The place.
        place: PlaceId,
        /// The element of the place at the view's first coordinate.
        offset: Index,
        /// Extent and stride, in elements, of each mode, in vectors.
        modes: Vec<[Index; 2]>,
        /// The same of the elements of a vector, for each mode that has vectors.
        vector: Vec<[Index; 2]>,
        /// Over the place's element offsets.
        swizzle: Option<Swizzle>,
    },
}
