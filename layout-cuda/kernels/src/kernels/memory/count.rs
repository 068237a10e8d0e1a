//! A histogram: how often each of 256 values occurs.
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
