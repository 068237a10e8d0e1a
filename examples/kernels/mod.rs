//! The kernels of the examples: vector addition, and the first steps of the matrix multiplication's ladder.
//!
//! Source: the ladder is that of Modular's guide to matrix multiplication, written anew in the kernel language.

mod banks;
mod elementwise;
mod matmul;
pub mod memory;
pub mod puzzles;

pub use banks::read_shared;
pub use elementwise::vector_add;
pub use matmul::{coalescing, naive, tiled};

use layout_cuda::Definition;

/// Every kernel here, in the order of the ladder.
pub fn definitions() -> [&'static Definition; 4] {
    [&vector_add::DEFINITION, &naive::DEFINITION, &coalescing::DEFINITION, &tiled::DEFINITION]
}
