//! The kernels of the examples: vector addition, the ladder of the matrix multiplication, products on the matrix units,
//! attention, n-body attraction, the puzzles, and reductions at the speed of memory.
//!
//! Source: the ladder is that of Modular's guide to matrix multiplication, written anew in the kernel language.

#[macro_use]
mod scores;

pub mod attention;
pub mod backward;
mod banks;
mod bodies;
pub mod decode;
mod doubles;
mod edges;
mod elementwise;
pub mod gemm;
mod matmul;
pub mod memory;
pub mod mesh;
mod multipliers;
mod padding;
mod pair;
mod peaks;
pub mod puzzles;
mod register_tiles;
mod schedule;
mod split;
mod tensor_cores;

pub use banks::read_shared;
pub use bodies::attraction;
pub use doubles::dgemm;
pub use edges::{last_columns, last_rows};
pub use elementwise::vector_add;
pub use matmul::{coalescing, naive, tiled};
pub use multipliers::{sgemm, sgemm_fed};
pub use padding::{resize, resize_both, transpose_pitched};
pub use pair::gemm_pair;
pub use peaks::{matrix_products, multiply_adds, reads, shared_reads};
pub use register_tiles::{block_tiled, block_tiled_vectorized, tiled_register};
pub use schedule::scheduled;
pub use split::gemm_split;
pub use tensor_cores::tensor_core;

use layout_cuda::Definition;

/// Every kernel here, in the order of the ladder.
pub fn definitions() -> [&'static Definition; 10] {
    [
        &vector_add::DEFINITION,
        &resize::DEFINITION,
        &naive::DEFINITION,
        &coalescing::DEFINITION,
        &tiled::DEFINITION,
        &tiled_register::DEFINITION,
        &block_tiled::DEFINITION,
        &block_tiled_vectorized::DEFINITION,
        &tensor_core::DEFINITION,
        &sgemm::DEFINITION,
    ]
}

/// Those of attention: forward, decoding, backward.
pub fn of_attention() -> [&'static Definition; 7] {
    [
        &attention::attention::DEFINITION,
        &decode::decode::DEFINITION,
        &decode::combine::DEFINITION,
        &backward::prepare::DEFINITION,
        &backward::of_keys::DEFINITION,
        &backward::of_queries::DEFINITION,
        &backward::finish::DEFINITION,
    ]
}

/// Kernels that measure a device; their results mean nothing.
pub fn measuring() -> [&'static Definition; 5] {
    [
        &read_shared::DEFINITION,
        &multiply_adds::DEFINITION,
        &matrix_products::DEFINITION,
        &reads::DEFINITION,
        &shared_reads::DEFINITION,
    ]
}

/// Every kernel here but those that measure a device and those of a mesh.
pub fn every_definition() -> Vec<&'static Definition> {
    let mut all: Vec<&'static Definition> = definitions().to_vec();
    all.extend([
        &sgemm_fed::DEFINITION,
        &dgemm::DEFINITION,
        &gemm_pair::DEFINITION,
        &gemm_split::DEFINITION,
        &last_rows::DEFINITION,
        &last_columns::DEFINITION,
        &resize_both::DEFINITION,
        &transpose_pitched::DEFINITION,
        &gemm::gemm::DEFINITION,
        &gemm::gemm_swapped::DEFINITION,
        &gemm::gemm_then::DEFINITION,
        &attraction::DEFINITION,
    ]);
    all.extend(of_attention());
    all.extend(memory::definitions());
    all.extend(puzzles::definitions());
    all
}
