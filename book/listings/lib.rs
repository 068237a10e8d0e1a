//! The listings of the book that are no kernels of the examples, and how a chapter names a listing.
//!
//! Law: what a chapter shows is compiled here or in another package of the workspace, and run by a test.

mod access;
mod answers;
mod attention;
mod blocks;
mod chapter;
mod edges;
mod epilogue;
mod first;
mod hopper;
mod interop;
mod launches;
mod mesh;
mod own;
mod printing;
mod repaired;
mod softmax;
mod tensor_core;
mod transpose;
mod warps;

pub use access::{columns, rows, turned, turned_swizzled};
pub use answers::squares;
pub use attention::attention_simple;
pub use blocks::one_each;
pub use chapter::expand;
pub use edges::{gathered, guarded, scaled, scaled_whole};
pub use epilogue::{biased, chosen, relu};
pub use first::{add_one, main, run};
pub use hopper::wgmma_simple;
pub use interop::on_cudarc;
pub use launches::rectify;
pub use mesh::{by_columns, main as turned_on_several, world};
pub use own::own_product;
pub use printing::rooted;
pub use repaired::{prefix_sum_of_64, transpose_batched};
pub use softmax::softmax_simple;
pub use tensor_core::tensor_core_simple;
pub use transpose::{transpose_naive, transpose_shared, transpose_swizzled, transpose_tma};
pub use warps::{by_parity, by_warp};
