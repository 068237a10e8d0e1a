//! The puzzles: four archetypes on toy sizes, each as a readable kernel for any size.
//!
//! ```text
//! stencil      pooling, convolutions     a block keeps its part of the input, and the halo around it, in shared memory
//! map-reduce   dot product, axis sums    a tree in shared memory: half of the threads fall away with each round
//! scan         three prefix sums         log2(threads) rounds in a block; over blocks, a second launch adds the offsets
//! dense        four multiplications      from one thread an element to tiles in shared memory
//! ```
//!
//! Source: Shubham Gupta's "GPUs go brrr with Mojo: Algorithms", after Modular's GPU puzzles; written anew in the
//! kernel language. Where a listing there is wrong or races, the kernel's comment says how.

mod convolution;
mod matmul;
mod reduce;
mod scan;
mod stencil;

pub use convolution::{conv_1d_block_boundary, conv_1d_simple, conv_2d_halo};
pub use matmul::{matmul_layout_tensor, matmul_naive, matmul_shared, matmul_tiled};
pub use reduce::{column_sum, dot_product, row_sum};
pub use scan::{prefix_sum_add_totals, prefix_sum_blelloch, prefix_sum_local, prefix_sum_simple};
pub use stencil::pooling;

use layout_cuda::Definition;

/// Every kernel of the puzzles.
pub fn definitions() -> [&'static Definition; 15] {
    [
        &pooling::DEFINITION,
        &dot_product::DEFINITION,
        &conv_1d_simple::DEFINITION,
        &conv_1d_block_boundary::DEFINITION,
        &conv_2d_halo::DEFINITION,
        &prefix_sum_simple::DEFINITION,
        &prefix_sum_blelloch::DEFINITION,
        &prefix_sum_local::DEFINITION,
        &prefix_sum_add_totals::DEFINITION,
        &row_sum::DEFINITION,
        &column_sum::DEFINITION,
        &matmul_naive::DEFINITION,
        &matmul_shared::DEFINITION,
        &matmul_tiled::DEFINITION,
        &matmul_layout_tensor::DEFINITION,
    ]
}
