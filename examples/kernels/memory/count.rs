//! A histogram: how often each of 256 values occurs.
//!
//! For speed each lane number has its own counters in shared memory, all in the lane's bank. So no two lanes of a warp
//! change one counter or meet in one bank, and constant input is as fast as random. It stays right because the lanes'
//! counters are added up at the end.

use layout_cuda::tiled_kernel;

/// Adds to `counts[v]` how often `v` occurs in `x`.
#[tiled_kernel(BLOCKS = 924, THREADS = 256, block = [THREADS], grid = [BLOCKS], deny(narrowed))]
pub fn histogram<const N: usize>(
    x: &LayoutTensor<u8, RowMajor<N>>,
    counts: &mut LayoutTensor<u32, RowMajor<256>>,
) {
    const TILE: usize = THREADS * 16;
    let mut own = shared::<u32>(row_major([256, 32]));
    for i in (thread_idx.x..256 * 32).step_by(THREADS) {
        own[[i / 32, i % 32]] = 0;
    }
    barrier();
    for tile in (block_idx.x..N.div_ceil(TILE)).step_by(BLOCKS) {
        let mine = x.tile([TILE], [tile]).tile([16], [thread_idx.x]).vectorize([16]);
        if (tile + 1) * TILE <= N {
            let values = mine.to_local();
            for i in unroll(0..16) {
                own.atomic_add([values[[i]] as usize, lane_id()], 1);
            }
        } else {
            let values = mine.to_local();
            for i in unroll(0..16) {
                if tile * TILE + thread_idx.x * 16 + i < N {
                    own.atomic_add([values[[i]] as usize, lane_id()], 1);
                }
            }
        }
    }
    barrier();
    for bin in (thread_idx.x..256).step_by(THREADS) {
        let mut count: u32 = 0;
        for lane in 0..32 {
            count += own[[bin, (lane + thread_idx.x) % 32]];
        }
        counts.atomic_add([bin], count);
    }
}
