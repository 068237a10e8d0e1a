//! Clusters: the blocks that run together. A kernel without a cluster size has clusters of one block.
//!
//! The shared memory of each block begins at a multiple of 1024 bytes, so a swizzle by address is the same as in a block
//! that is alone.

use crate::bytecode::Program;
use crate::memory::lane_clocks::Block;
use crate::state::warp::coordinates;

/// Bytes between the shared memories of two consecutive blocks.
pub(crate) fn stride(program: &Program) -> u32 {
    program.shared_bytes.next_multiple_of(1024)
}

/// The number of blocks in a cluster.
pub(crate) fn size(cluster: [u32; 3]) -> u32 {
    cluster.iter().fold(1, |product: u32, extent| product.saturating_mul((*extent).max(1)))
}

/// The blocks of a cluster of a grid, by rank.
pub(crate) fn blocks(cluster: u64, extents: [u32; 3], grid: [u32; 3]) -> Vec<Block> {
    let extents = extents.map(|extent| extent.max(1));
    let clusters: [u32; 3] = std::array::from_fn(|axis| grid[axis] / extents[axis]);
    let first = coordinates(cluster, clusters);
    let [x, y, _] = grid.map(u64::from);
    (0..size(extents))
        .map(|rank| {
            let inside = coordinates(u64::from(rank), extents);
            let index: [u32; 3] = std::array::from_fn(|axis| first[axis] * extents[axis] + inside[axis]);
            let [i, j, k] = index.map(u64::from);
            Block { number: i + x * (j + y * k), index }
        })
        .collect()
}
