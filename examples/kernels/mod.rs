//! The kernels of the examples: vector addition, and the first steps of the matrix multiplication's ladder.
//!
//! Source: the ladder is that of Modular's guide to matrix multiplication, written anew in the kernel language.

mod elementwise;
mod matmul;

pub use elementwise::vector_add;
pub use matmul::{coalescing, naive, tiled};
