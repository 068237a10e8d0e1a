//! A histogram: how often each of 256 values occurs; sums of weights by key.
//!
//! For speed each lane number has its own counters in shared memory, all in the lane's bank. So no two lanes of a warp
//! change one counter or meet in one bank, and constant input is as fast as random. It stays right because the lanes'
//! counters are added up at the end.
//!
//! All blocks run at once: four to a multiprocessor of an H200, by registers and by shared memory. A grid of more would
//! leave the rest for a second wave, in which few warps wait for memory.

use layout_cuda::tiled_kernel;

/// Adds to `counts[v]` how often `v` occurs in `x`.
#[tiled_kernel(
    BLOCKS = 528, THREADS = 512,
    min_blocks = 4,
    block = [THREADS],
    grid = [BLOCKS],
    deny(masked, narrowed),
)]
pub fn histogram<const N: usize>(
    x: &LayoutTensor<u8, RowMajor<N>>,
    counts: &mut LayoutTensor<u32, RowMajor<256>>,
) {
    const TILE: usize = THREADS * 16;
    assert!(THREADS >= 256, "at the end a thread adds up a counter of all lanes");
    let mut own = shared::<u32>(row_major([256, 32]));
    for i in (thread_idx.x..256 * 32).step_by(THREADS) {
        own[[i / 32, i % 32]] = 0;
    }
    barrier();
    for tile in (block_idx.x..N / TILE).step_by(BLOCKS) {
        let values = x.tile([TILE], [tile]).tile([16], [thread_idx.x]).vectorize([16]).to_local();
        for i in unroll(0..16) {
            own.atomic_add([values[[i]] as usize, lane_id()], 1);
        }
    }
    let rest = N / TILE * TILE + block_idx.x * THREADS + thread_idx.x;
    for i in (rest..N).step_by(BLOCKS * THREADS) {
        own.atomic_add([x[[i]] as usize, lane_id()], 1);
    }
    barrier();
    if thread_idx.x < 256 {
        let mut count: u32 = 0;
        for i in 0..32 {
            count += own[[thread_idx.x, lane_id() ^ i]];
        }
        counts.atomic_add([thread_idx.x], count);
    }
}

/// Adds to `out[k]` the weights of the keys that are `k`; a key beyond `out`, or negative, is left out. With `SHARED` each block has
/// `copies` counters of each key, which lanes take by turns, and adds their sums at the end. The order of a sum is open.
#[tiled_kernel(
    K = [u32, i32], SHARED = [true, false], BLOCKS = 528, THREADS = 512,
    block = [THREADS],
    grid = [N.div_ceil(THREADS * 4).min(BLOCKS)],
    require(B * copies <= 8192, B <= 2147483648),
    deny(narrowed),
)]
pub fn bincount<K, const N: usize, const B: usize>(
    keys: &LayoutTensor<K, RowMajor<N>>,
    weights: &LayoutTensor<f32, RowMajor<N>>,
    out: &mut LayoutTensor<f32, RowMajor<B>>,
    copies: usize,
) {
    let mut own = shared::<f32>(row_major([if SHARED { 8192 } else { 1 }]));
    if SHARED {
        for i in (thread_idx.x..B * copies).step_by(THREADS) {
            own[[i]] = 0.0;
        }
        barrier();
    }
    for tile in (block_idx.x..N.div_ceil(THREADS * 4)).step_by(BLOCKS) {
        let of_keys = keys.tile([THREADS * 4], [tile]).tile([4], [thread_idx.x]).vectorize([4]).to_local();
        let of_weights =
            weights.tile([THREADS * 4], [tile]).tile([4], [thread_idx.x]).vectorize([4]).to_local();
        for i in unroll(0..4) {
            let key = of_keys[[i]].cast::<u32>() as usize;
            if key < B && tile * (THREADS * 4) + thread_idx.x * 4 + i < N {
                if SHARED {
                    let at = key * copies + lane_id() % copies;
                    if at < 8192 {
                        own.atomic_add([at], of_weights[[i]]);
                    }
                } else {
                    out.atomic_add([key], of_weights[[i]]);
                }
            }
        }
    }
    if SHARED {
        barrier();
        for key in (thread_idx.x..B).step_by(THREADS) {
            let mut sum = 0.0f32;
            for copy in 0..copies {
                sum += own[[key * copies + (copy + lane_id()) % copies]];
            }
            if sum != 0.0 {
                out.atomic_add([key], sum);
            }
        }
    }
}
