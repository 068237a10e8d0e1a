//! The operations on layouts, each exact on its whole domain or refused.
//!
//! | operation | law | file |
//! |---|---|---|
//! | [`coalesce`] | `R(i) == L(i)` for all i in L, depth at most 1, fewest modes | `coalesce.rs` |
//! | [`filter`] | the same set of offsets, without stride 0 | `filter.rs` |
//! | [`composition`] | `R(c) == A(B(c))` for all c in B, and every coordinate of B is one of R | `composition.rs` |
//! | [`complement`] | increasing, disjoint from L but for 0, `cosize((L, R)) >= M` | `complement.rs` |
//! | [`right_inverse`] | `L(R(i)) == i` for all i in R | `inverse.rs` |
//! | [`left_inverse`] | `L(R(L(i))) == L(i)` for all i in L | `inverse.rs` |
//! | [`nullspace`] | `L(R(i)) == 0` for all i in R | `inverse.rs` |
//! | [`max_common_layout`] | `A(R(i)) == B(R(i)) == i` for all i in R | `inverse.rs` |
//! | [`logical_divide`] | `composition(L, (T, complement(T, size(L))))`: (tile, rest) | `divide.rs` |
//! | [`logical_product`] | `(B, composition(complement(B, size(B) * cosize(T)), T))`: (block, repeats) | `product.rs` |
//! | [`upcast`], [`downcast`] | the same bits as wider or narrower elements | `recast.rs` |
//! | [`slice`](slice()), [`dice`] | `offset + R(c) == L(pattern filled with c)` | `slice.rs` |
//!
//! An operation named `_by_mode` takes a tiler for each top-level mode; without the suffix a layout is one-dimensional.
//! `zipped_`, `tiled_` and `flat_` group the modes of the same divide or product in other ways.

mod coalesce;
mod complement;
mod composition;
mod divide;
mod filter;
mod inverse;
mod parts;
mod places;
mod product;
mod recast;
mod slice;
mod tile;

pub use coalesce::coalesce;
pub use complement::complement;
pub(crate) use composition::run;
pub use composition::{composition, composition_by_mode};
pub use divide::{
    ceil_div, flat_divide, flat_divide_by_mode, logical_divide, logical_divide_by_mode, tiled_divide,
    tiled_divide_by_mode, zipped_divide, zipped_divide_by_mode,
};
pub use filter::{coalesce_by_profile, filter, filter_zeros};
pub use inverse::{left_inverse, max_common_layout, max_common_vector, nullspace, right_inverse};
pub(crate) use parts::Parts;
pub(crate) use places::Places;
pub(crate) use product::repeats;
pub use product::{
    blocked_product, flat_product, flat_product_by_mode, logical_product, logical_product_by_mode,
    raked_product, tiled_product, tiled_product_by_mode, zipped_product_by_mode,
};
pub use recast::{downcast, max_alignment, recast_layout, upcast};
pub(crate) use recast::{gcd, ratio};
pub use slice::{Pattern, dice, slice};
pub use tile::Tile;
