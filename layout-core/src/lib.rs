//! The layout algebra, tensor views, and the words of the kernel language as Rust sees them.
//!
//! A [`Layout`] is a function from coordinates to offsets, written `shape:stride`. Every operation of the
//! [`algebra`] is exact, or refuses with a [`LayoutError`] that names the mode and the numbers.
//!
//! ```
//! use layout_core::{Layout, algebra::zipped_divide};
//!
//! let a: Layout = "(4,8):(8,1)".parse()?;
//! let tiles = zipped_divide(&a, &Layout::new(4, 1)?)?;
//! assert_eq!(tiles.to_string(), "(4,8):(8,1)");
//! # Ok::<(), layout_core::LayoutError>(())
//! ```
#![forbid(unsafe_code)]
// What is `pub` is part of the interface, so that the test for examples can read it off the text.
#![deny(unreachable_pub)]

pub mod algebra;
pub mod analysis;
pub mod atoms;
mod composed;
mod construct;
mod coord;
pub mod draw;
pub mod dynamic;
mod error;
pub mod expr;
/// Layouts for a reader who has never met one.
#[doc = include_str!("../ARCHITECTURE.md")]
///
/// # The pictures
///
/// Of section 1:
#[doc = include_str!("../pictures/row_major.svg")]
///
#[doc = include_str!("../pictures/col_major.svg")]
///
/// Of section 3:
#[doc = include_str!("../pictures/picked.svg")]
///
/// Of section 4:
#[doc = include_str!("../pictures/copies.svg")]
///
/// Of section 5:
#[doc = include_str!("../pictures/tiles.svg")]
///
#[doc = include_str!("../pictures/zipped_divide.svg")]
///
/// Of section 6:
#[doc = include_str!("../pictures/thread_value.svg")]
///
#[doc = include_str!("../pictures/mma.svg")]
///
/// Of section 7:
#[doc = include_str!("../pictures/plain_banks.svg")]
///
#[doc = include_str!("../pictures/swizzled_banks.svg")]
pub mod guide {}
mod identity;
mod int_tuple;
pub mod lang;
mod layout;
pub mod library;
pub mod mesh;
mod modes;
mod nest;
mod parse;
mod query;
mod swizzle;
pub mod tensor;

pub use composed::ComposedLayout;
pub use coord::{crd2idx, idx2crd};
pub use draw::print_layout;
pub use error::LayoutError;
pub use identity::IdentityLayout;
pub use int_tuple::IntTuple;
pub use layout::{Layout, Mode, Offsets};
pub use nest::Nest;
pub use query::crd2crd;
pub use swizzle::{ByteSwizzle, Swizzle};
pub use tensor::LayoutTensor;
