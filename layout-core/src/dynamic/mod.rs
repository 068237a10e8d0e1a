//! Layouts with extents that are known only at run time, but for what divides them.
//!
//! Law: an operation and then `bind` is `bind` and then the operation, for every binding that keeps the promises and
//! leaves no extent 0. An operation that would need to know more refuses.

mod extent;
mod layout;
mod tiles;

pub use extent::{Extent, Sum};
pub use layout::DynamicLayout;
