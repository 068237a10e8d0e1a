//! `C = A B` of 8-bit floats with a scale for each 128 of `k` of a row of A, and for each 128 x 128 of B, on Hopper's matrix units.
//!
//! ```text
//! producer:   as `gemm`'s, stages of 128 of k
//! consumers:  part = a b of one stage; acc += scale of A's row * scale of B's block * part
//! ```
//!
//! For speed: the matrix units keep too few bits to add up all of `k`, so each 128 are promoted to float32 in the threads' registers;
//! meanwhile the other consumer has the matrix units. The scales of a block are loaded after the sums of the block before, and used after
//! its own products, which hide their latency.
//!
//! Law: `C[i, j] = sum over blocks t of a_scales[i, t] b_scales[t, j / 128] (sum over k of block t of a[i, k] b[k, j])`, the inner sum with the
//! bits that the matrix units keep, the outer one in float32 from the first block to the last, rounded once. The last block may be a part.

use layout_cuda::tiled_kernels;

pub use products::gemm_blockwise;

#[tiled_kernels(functions = product_ring)]
mod products {
    /// The scales of a thread's two rows, of B, in a block of k.
    fn scales_of(
        a_scales: impl Tensor<Elem = f32>,
        b_scales: impl Tensor<Elem = f32>,
        (row, col, block): (usize, usize, usize),
    ) -> (f32, f32, f32) {
        (a_scales[[row, block]], a_scales[[row + 8, block]], b_scales[[block, col / 128]])
    }

    /// A consumer's sums of a tile.
    fn promote(
        (mut acc, mut part): (View<f32, Write>, View<f32, Write>),
        (a_scales, b_scales): (impl Tensor<Elem = f32>, impl Tensor<Elem = f32>),
        (a_smem, b_smem, full, empty): (View<T, Write>, View<T, Write>, Mbarriers, Mbarriers),
        next: &mut PipelineState,
        (row, col, blocks): (usize, usize, usize),
    ) {
        let (consumer, leads) = (warp_group() - 1, thread_idx.x % 128 == 0);
        let own = row + 64 * consumer + 16 * (thread_idx.x % 128 / 32) + lane_id() / 4;
        acc.fill(0.0);
        let mut scales = scales_of(&a_scales, &b_scales, (own, col, 0));
        for block in 0..blocks {
            let stage = next.stage();
            full.at(stage).wait(next.phase());
            wgmma(&mut part, &a_smem.slice(stage).slice(consumer), &b_smem.slice(stage), false);
            wgmma_commit_group();
            wgmma_wait_group(0);
            release(empty, next, leads);
            let (upper, lower) = (scales.0 * scales.2, scales.1 * scales.2);
            for i in unroll(0..BN / 4) {
                acc[[0, i]] = part[[0, i]].mul_add(upper, acc[[0, i]]);
                acc[[1, i]] = part[[1, i]].mul_add(lower, acc[[1, i]]);
            }
            scales = scales_of(&a_scales, &b_scales, (own, col, block + 1));
        }
    }

    /// A by rows and B by columns. TMA stores whole tiles of C where its rows are whole multiples of 16 bytes; with `DIRECT` the threads
    /// store all of it.
    #[tiled_kernel(
        T = e4m3, U = [bf16, f16], BM = 128, BN = 128, BK = 128, STAGES = 5, SLABS = 2, GROUP = 16, SMS = 132,
        DIRECT = [false, true],
        arch = "sm_90a", block = [384], min_blocks = 1,
        grid = [(M.div_ceil(BM) * N.div_ceil(BN)).min(SMS)],
        require(M.div_ceil(BM) * N.div_ceil(BN) <= 1 << 24, BLOCKS == K.div_ceil(128), WIDE == N.div_ceil(128)),
        variant_if(N % 8 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn gemm_blockwise<
        T,
        U,
        const M: usize,
        const N: usize,
        const K: usize,
        const BLOCKS: usize,
        const WIDE: usize,
    >(
        a: &LayoutTensor<T, Contiguous<1, M, K>>,
        b: &LayoutTensor<T, Contiguous<0, K, N>>,
        a_scales: &LayoutTensor<f32, Strided<M, BLOCKS>>,
        b_scales: &LayoutTensor<f32, Strided<BLOCKS, WIDE>>,
        c: &mut LayoutTensor<U, Pitched<M, N>>,
    ) {
        let a_smem = shared::<T>(row_major([STAGES, BM / 64, 64, BK]).swizzle_bytes(128));
        let b_tiles = layout([STAGES, BN / 64, BK, 64], [BK * BN, 64 * BK, 1, BK]);
        let b_smem = shared::<T>(b_tiles.swizzle_bytes(128));
        let c_smem = shared::<U>(row_major([2, SLABS, 64, 64]).swizzle_bytes(128));
        let ring = (a_smem, b_smem, mbarriers(STAGES, 1), mbarriers(STAGES, 2));
        let (rows, cols, blocks) = (M.div_ceil(BM), N.div_ceil(BN), K.div_ceil(BK));
        let tiles = (rows * cols).min(1 << 24);
        let mut next = pipeline_state(STAGES);
        barrier();
        grid_dependency_wait();
        launch_dependents();

        if warp_group() == 0 {
            set_max_registers(40);
            if thread_idx.x == 0 {
                for tile in (block_idx.x..tiles).step_by(SMS) {
                    let (row, col) = grouped(tile, rows, cols, GROUP);
                    let of_a = |block: usize| a.tile([BM, BK], [row, block]);
                    let of_b = |block: usize| b.tile([BK, BN], [block, col]);
                    fill((of_a, of_b), ring, &mut next, blocks);
                }
            }
        } else {
            set_max_registers(232);
            let leads = thread_idx.x % 128 == 0;
            let (acc, part) = (accumulator([64, BN]).fill(0.0), accumulator([64, BN]).fill(0.0));
            let scales = (a_scales.pad(0.0), b_scales.pad(0.0));
            for tile in (block_idx.x..tiles).step_by(SMS) {
                let (row, col) = grouped(tile, rows, cols, GROUP);
                promote((acc, part), scales, ring, &mut next, (row * BM, col * BN, blocks));
                store(c, c_smem, acc, (row * BM, col * BN, M - row * BM), leads);
            }
            if leads {
                bulk_wait_group_read(0);
            }
        }
    }
}
