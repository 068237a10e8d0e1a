//! `LayoutTensor`: storage seen through a layout, on the host.
//!
//! Law: element `c` of a tensor is `data[offset + layout(c)]`; a view shares the storage and changes only layout and
//! offset. Every view remembers which coordinate of the tensor each of its elements is, so a tail is masked exactly
//! there and nowhere else.

mod access;
#[cfg(feature = "ndarray")]
mod arrays;
mod distribute;
mod iter;
mod part;
mod shape;
mod tile;
mod view;

pub use access::LayoutTensor;
pub use iter::Tiles;
pub use view::View;
