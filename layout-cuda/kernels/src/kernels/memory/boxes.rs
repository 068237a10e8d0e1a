//! The transposition by TMA, step by step: boxes of 32 by 32 elements in and out.
//!
//! ```text
//! tma_load ─► tile ─(threads)─► turned ─► tma_store
//! ```
//!
//! The steps are the parameters. In the first step a warp writes a column of `turned`: 32 elements in one bank. `SWIZZLED`
//! spreads them over 8 groups of banks, and `COLUMNS` gives each thread 8 elements of a row. Rows are multiples of 16
//! bytes.

use layout_cuda::tiled_kernel;

/// `out[j, i] = x[i, j]`
#[tiled_kernel(
    SWIZZLED = [false, true], COLUMNS = [1, 8],
    arch = "sm_90a",
    block = [1024 / COLUMNS],
    grid = [M.div_ceil(32), N.div_ceil(32)],
    deny(masked, narrowed, synchronous),
)]
pub fn transpose_by_boxes<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    out: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let plain = row_major([32, 32]);
    let mut tile = shared::<f32>(if SWIZZLED { plain.swizzle_bytes(128) } else { plain });
    let mut turned = shared::<f32>(if SWIZZLED { plain.swizzle_bytes(128) } else { plain });
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(4096);
        tma_load(&mut tile, &x.tile([32, 32], [block_idx.x, block_idx.y]), full.at(0));
    }
    full.at(0).wait(0);
    let (row, first) = (thread_idx.x / (32 / COLUMNS), thread_idx.x % (32 / COLUMNS) * COLUMNS);
    for col in unroll(0..COLUMNS) {
        turned[[first + col, row]] = tile[[row, first + col]];
    }
    fence_async_proxy();
    barrier();
    if thread_idx.x == 0 {
        tma_store(&mut out.tile([32, 32], [block_idx.y, block_idx.x]), &turned);
        bulk_commit_group();
        bulk_wait_group_read(0);
    }
}
