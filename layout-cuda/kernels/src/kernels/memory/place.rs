//! Argmax: the index of the first largest element; `u32::MAX` where there is none above minus infinity.
//!
//! As the maximum: each of `P` blocks takes every `P`th tile, then one block combines their results. A NaN is ignored.

use layout_cuda::tiled_kernel;

/// `parts[p]` and `places[p]`: the largest element of the tiles of block `p`, and its index.
#[tiled_kernel(P = 1056, THREADS = 256, ROUNDS = 4, block = [THREADS], grid = [P], require(N < 4294967295))]
pub fn argmax_of_parts<const N: usize, const P: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    parts: &mut LayoutTensor<f32, RowMajor<P>>,
    places: &mut LayoutTensor<u32, RowMajor<P>>,
) {
    const TILE: usize = THREADS * ROUNDS * 4;
    let mut most = f32::NEG_INFINITY;
    let mut place = u32::MAX;
    for tile in (block_idx.x..N.div_ceil(TILE)).step_by(P) {
        let vectors = x.tile([TILE], [tile]).pad(f32::NEG_INFINITY).vectorize([4]);
        let first = (tile * TILE + thread_idx.x * 4) as u32;
        let own = vectors.distribute(row_major([THREADS]), thread_idx.x).to_local();
        for i in unroll(0..ROUNDS) {
            for j in unroll(0..4) {
                place = select(own[[i * 4 + j]] > most, first + (i * THREADS * 4 + j) as u32, place);
                most = most.max(own[[i * 4 + j]]);
            }
        }
    }
    let of_block = most.block_max();
    let first = select(most == of_block, place, u32::MAX).block_min();
    if thread_idx.x == 0 {
        parts[[block_idx.x]] = of_block;
        places[[block_idx.x]] = first;
    }
}

/// The index of the largest of the parts.
#[tiled_kernel(P = 1056, THREADS = 256, block = [THREADS], grid = [1], deny(narrowed))]
pub fn total_argmax<const P: usize>(
    parts: &LayoutTensor<f32, RowMajor<P>>,
    places: &LayoutTensor<u32, RowMajor<P>>,
    out: &mut LayoutTensor<u32, RowMajor<1>>,
) {
    let mut most = f32::NEG_INFINITY;
    for i in (thread_idx.x..P).step_by(THREADS) {
        most = most.max(parts[[i]]);
    }
    let most = most.block_max();
    let mut place = u32::MAX;
    for i in (thread_idx.x..P).step_by(THREADS) {
        place = select(parts[[i]] == most, place.min(places[[i]]), place);
    }
    let place = place.block_min();
    if thread_idx.x == 0 {
        out[[0]] = place;
    }
}
