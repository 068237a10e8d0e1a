//! The operations on layouts, each exact on its whole domain or refused.
//!
//! | operation | law | file |
//! |---|---|---|
//! | [`coalesce`] | `R(i) == L(i)` for all i in L, depth at most 1, fewest modes | `coalesce.rs` |
//! | [`composition`] | `R(c) == A(B(c))` for all c in B, and every coordinate of B is one of R | `composition.rs` |
//! | [`complement`] | increasing, disjoint from L but for 0, `cosize((L, R)) >= M` | `complement.rs` |
//! | [`logical_divide`] | `composition(L, (T, complement(T, size(L))))`: (tile, rest) | `divide.rs` |
//! | [`zipped_divide`] | the same, tiles of all modes gathered in mode 0, rests in mode 1 | `divide.rs` |
//!
//! An operation named `_by_mode` takes a tiler for each top-level mode; without the suffix a layout is one-dimensional.

mod coalesce;
mod complement;
mod composition;
mod divide;
mod places;
mod tile;

pub use coalesce::coalesce;
pub use complement::complement;
pub(crate) use composition::run;
pub use composition::{composition, composition_by_mode};
pub use divide::{logical_divide, logical_divide_by_mode, zipped_divide, zipped_divide_by_mode};
pub(crate) use places::Places;
pub use tile::Tile;
