//! A warp reads shared memory at addresses from a table: it measures bank conflicts.

use layout_cuda::tiled_kernel;

/// Lane `l` reads, for each row `r` of the table, the `W` words from `W * table[r, l]` on, and adds them up; word `i`
/// holds the number `i`. Filling the words has no conflicts.
#[tiled_kernel(W = [1, 2, 4], WORDS = 4096, block = [32], grid = [1], require(L <= 32))]
pub fn read_shared<const R: usize, const L: usize>(
    table: &LayoutTensor<i32, RowMajor<R, L>>,
    out: &mut LayoutTensor<f32, RowMajor<L>>,
) {
    let lane = thread_idx.x;
    let mut words = shared::<f32>(row_major([WORDS]));
    for round in 0..WORDS / 32 {
        let word = round * 32 + lane;
        words[[word]] = word as f32;
    }
    barrier();
    if lane < L {
        let mut sum = 0.0;
        for request in 0..R {
            let at = table[[request, lane]] as usize;
            let read = words.tile([W], [at]).vectorize([W]).to_local();
            for i in unroll(0..W) {
                sum += read[[i]];
            }
        }
        out[[lane]] = sum;
    }
}
