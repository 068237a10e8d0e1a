//! Kernels to learn from: vector addition, the ladder of the matrix multiplication up to tiles in registers, bodies that attract one
//! another, and the puzzles.
//!
//! Source: the ladder is that of Modular's guide to matrix multiplication, written anew in the kernel language.

mod banks;
mod bodies;
mod elementwise;
mod matmul;
pub mod puzzles;
mod register_tiles;
mod schedule;

pub use banks::read_shared;
pub use bodies::attraction;
pub use elementwise::vector_add;
pub use matmul::{coalescing, naive, tiled};
pub use register_tiles::{block_tiled, block_tiled_vectorized, tiled_register};
pub use schedule::scheduled;

use layout_cuda::Definition;

/// Every kernel here but [`scheduled`], which is tuned, and [`read_shared`], which measures a device.
pub fn definitions() -> Vec<&'static Definition> {
    let own = [
        &vector_add::DEFINITION,
        &naive::DEFINITION,
        &coalescing::DEFINITION,
        &tiled::DEFINITION,
        &tiled_register::DEFINITION,
        &block_tiled::DEFINITION,
        &block_tiled_vectorized::DEFINITION,
        &attraction::DEFINITION,
    ];
    own.into_iter().chain(puzzles::definitions()).collect()
}
