//! `C = A B` of 16-bit floats on the matrix units, by warps: for every card from sm_80 on.
//!
//! ```text
//! for each BK columns of A and rows of B, copied STAGES - 1 ahead:
//!     wait for its stage, start to copy a later one
//!     each warp loads WM x 16 of A and 16 x WN of B to registers by `ldmatrix`, for each 16
//!     products of 16 x 8 x 16
//! ```
//!
//! For speed: lines of shared memory are swizzled, so that the eight rows of 16 bytes that `ldmatrix` reads at once are in all 32 banks,
//! whichever mode of an operand is contiguous. Three stages are 48 KiB, and two blocks share a multiprocessor of each card; while one
//! waits for its fragments the other multiplies. Blocks that run at the same time make a rectangle of C, so that they share rows of A and
//! columns of B in L2.
//!
//! Law: sums in float32, rounded once to the elements' type.

use layout_cuda::tiled_kernel;

/// Each warp makes WM x WN of C. Either mode of an operand may be contiguous; lines that begin at multiples of 16 bytes are copied by these.
#[tiled_kernel(
    T = [bf16, f16], A_MODE = [1, 0], B_MODE = [1, 0], BM = 128, BN = 128, BK = 32, WM = 64, WN = 64, STAGES = 3, GROUP = 8,
    block = [BM * BN / (WM * WN) * 32],
    grid = [N.div_ceil(BN) * GROUP, M.div_ceil(BM * GROUP)],
    variant_if(M % 8 == 0, N % 8 == 0, K % 8 == 0),
    deny(narrowed, synchronous),
)]
pub fn hgemm<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, Contiguous<A_MODE, M, K>>,
    b: &LayoutTensor<T, Contiguous<B_MODE, K, N>>,
    c: &mut LayoutTensor<T, Pitched<M, N>>,
) {
    const THREADS: usize = BM * BN / (WM * WN) * 32;
    let mma = mma_atom::<T>([16, 8, 16]);
    let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));
    let (row, col) = (block_idx.y * GROUP + block_idx.x % GROUP, block_idx.x / GROUP);
    if row * BM >= M {
        return;
    }
    let (a_strides, a_vector, a_threads, a_turn) = if A_MODE == 1 {
        ([BM * BK, BK, 1], [1, 8], row_major([THREADS / (BK / 8), BK / 8]), [2, 3])
    } else {
        ([BM * BK, 1, BM], [8, 1], col_major([BM / 8, THREADS / (BM / 8)]), [3, 4])
    };
    let (b_strides, b_vector, b_threads, b_turn) = if B_MODE == 1 {
        ([BK * BN, BN, 1], [1, 8], row_major([THREADS / (BN / 8), BN / 8]), [3, 4])
    } else {
        ([BK * BN, 1, BK], [8, 1], col_major([BK / 8, THREADS / (BK / 8)]), [2, 3])
    };
    let a_smem = shared::<T>(layout([STAGES, BM, BK], a_strides).swizzle(a_turn[0], 3, a_turn[1]));
    let b_smem = shared::<T>(layout([STAGES, BK, BN], b_strides).swizzle(b_turn[0], 3, b_turn[1]));
    let mut acc = local::<f32>(row_major([WM / 16, WN / 8 * 4])).fill(0.0);

    let blocks = K.div_ceil(BK);
    for ahead in unroll(0..STAGES - 1) {
        let a_tile = a.tile([BM, BK], [row, ahead]).vectorize(a_vector);
        let b_tile = b.tile([BK, BN], [ahead, col]).vectorize(b_vector);
        copy_dram_to_sram_async(&mut a_smem.slice(ahead).vectorize(a_vector), &a_tile, a_threads);
        copy_dram_to_sram_async(&mut b_smem.slice(ahead).vectorize(b_vector), &b_tile, b_threads);
        async_copy_commit_group();
    }
    for block in 0..blocks {
        async_copy_wait_group(STAGES - 2);
        // The stage is there for all warps, and none reads the one that is filled next.
        barrier();
        // The last stages are filled with the first blocks again, which no product reads: no condition is between the products.
        let (ahead, free) = ((block + STAGES - 1) % blocks, (block + STAGES - 1) % STAGES);
        let a_tile = a.tile([BM, BK], [row, ahead]).vectorize(a_vector);
        let b_tile = b.tile([BK, BN], [ahead, col]).vectorize(b_vector);
        copy_dram_to_sram_async(&mut a_smem.slice(free).vectorize(a_vector), &a_tile, a_threads);
        copy_dram_to_sram_async(&mut b_smem.slice(free).vectorize(b_vector), &b_tile, b_threads);
        async_copy_commit_group();
        for step in unroll(0..BK / 16) {
            let a_warp = a_smem.slice(block % STAGES).tile([WM, 16], [warp_row, step]);
            let b_warp = b_smem.slice(block % STAGES).tile([16, WN], [step, warp_col]);
            mma.mma(&mut acc, &mma.load_a(&a_warp), &mma.load_b(&b_warp));
        }
    }
    async_copy_wait_all();
    let mut dst = c.tile([BM, BN], [row, col]).tile([WM, WN], [warp_row, warp_col]);
    mma.store_d(&mut dst, &acc.cast::<T>());
}
