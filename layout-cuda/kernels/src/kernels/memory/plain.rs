//! A copy, with which every kernel that reads and writes as much is compared; and reproducible noise to measure on.

use layout_cuda::tiled_kernel;

/// `out[i] = x[i]`: each thread moves `ROUNDS` vectors of 16 bytes, all loaded before the first is stored.
#[tiled_kernel(
    THREADS = 256, ROUNDS = 4,
    block = [THREADS],
    grid = [N.div_ceil(THREADS * ROUNDS * 4)],
    variant_if(N % (THREADS * ROUNDS * 4) == 0),
    deny(narrowed, masked),
)]
pub fn copy<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, out: &mut LayoutTensor<f32, RowMajor<N>>) {
    const TILE: usize = THREADS * ROUNDS * 4;
    let from = x.tile([TILE], [block_idx.x]).vectorize([4]);
    let own = from.distribute(row_major([THREADS]), thread_idx.x).to_local();
    let to = out.tile([TILE], [block_idx.x]).vectorize([4]);
    to.distribute(row_major([THREADS]), thread_idx.x).copy_from(&own.vectorize([4]));
}

/// `out[i]`: a number in [-1, 1) of 24 bits, made of `i` and the seed.
#[tiled_kernel(block = [256], grid = [N.div_ceil(1024)], deny(narrowed, masked))]
pub fn noise<const N: usize>(out: &mut LayoutTensor<f32, RowMajor<N>>, seed: u32) {
    let mut own = out.tile([1024], [block_idx.x]);
    for k in unroll(0..4) {
        let at = k * 256 + thread_idx.x;
        let mut hash = ((block_idx.x * 1024 + at) as u32 ^ seed) * 0x9e3779b1;
        hash = (hash ^ (hash >> 15)) * 0x85ebca6b;
        hash = (hash ^ (hash >> 13)) * 0xc2b2ae35;
        hash = hash ^ (hash >> 16);
        if block_idx.x * 1024 + at < N {
            own[[at]] = (hash >> 8).cast::<f32>() * 0.00000011920929 - 1.0;
        }
    }
}
