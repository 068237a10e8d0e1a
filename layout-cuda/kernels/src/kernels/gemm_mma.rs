//! `C = A B` on the matrix units, by warps: for every card from sm_75 on.
//!
//! ```text
//! for each BK columns of A and rows of B, copied STAGES - 1 ahead:
//!     for each STEP of them:
//!         load WM x STEP of A and STEP x WN of B of the next step to registers, by `ldmatrix`; before the first step of the next stage
//!             wait for it
//!         in the first step start to copy a later stage
//!         products of 16 x 8 x STEP of this step
//! ```
//!
//! For speed: a warp's products wait for no load, since their fragments are in registers a step before. Lines of shared memory are
//! swizzled, so that the eight rows of 16 bytes that `ldmatrix` reads at once are in all 32 banks, whichever mode of an operand is
//! contiguous. STAGES and STEPS are such that two blocks share a multiprocessor (`Planner::by_warps`): while one waits at its barrier the
//! other multiplies. Blocks that run at the same time make a rectangle of C, so that they share rows of A and columns of B in L2.
//! A block that goes on to a next tile (`grid = [SMS]`), tiles of 256 x 128, copies spread over the steps and a variant of whole tiles
//! were tried on an H100 and were as fast or slower.
//!
//! Law: sums in float32, of `i8` exact in `i32`, rounded once to C's elements. `gemm_mma` stores the sums as they are; `gemm_mma_then`
//! applies a function (the epilogue) to each first.

use layout_cuda::tiled_kernels;

pub use products::{gemm_mma, gemm_mma_then};

#[tiled_kernels(open = products_by_warps)]
mod functions {
    /// The bits of a swizzle, and how far above they are read, for lines of so many vectors: eight vectors that are neighbours across lines are
    /// in all banks.
    fn swizzle_of(vectors: usize) -> [usize; 2] {
        if vectors < 8 {
            [2, 3]
        } else if vectors == 8 {
            [3, 3]
        } else if vectors == 16 {
            [3, 4]
        } else {
            [3, 5]
        }
    }

    /// A warp's sums of a tile of C over `k`: `a` and `b` give the block of k of a number.
    fn sums<S: Element>(
        (a, b): (impl Fn(usize) -> View<T, Read>, impl Fn(usize) -> View<T, Read>),
        k: usize,
        mut acc: View<S, Write>,
    ) {
        const THREADS: usize = BM * BN / (WM * WN) * 32;
        /// Elements of 16 bytes, and the bits of a place within them.
        const WIDE: usize = 16 / size_of::<T>();
        const BITS: usize = if WIDE == 16 { 4 } else { 3 };
        let mma = mma_atom::<T>([TALL, 8, STEP]);
        let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));
        let (a_strides, a_vector, a_threads, a_turn) = if A_MODE == 1 {
            (
                [BM * BK, BK, 1],
                [1, WIDE],
                row_major([THREADS / (BK / WIDE), BK / WIDE]),
                swizzle_of(BK / WIDE),
            )
        } else {
            (
                [BM * BK, 1, BM],
                [WIDE, 1],
                col_major([BM / WIDE, THREADS / (BM / WIDE)]),
                swizzle_of(BM / WIDE),
            )
        };
        let (b_strides, b_vector, b_threads, b_turn) = if B_MODE == 1 {
            (
                [BK * BN, BN, 1],
                [1, WIDE],
                row_major([THREADS / (BN / WIDE), BN / WIDE]),
                swizzle_of(BN / WIDE),
            )
        } else {
            (
                [BK * BN, 1, BK],
                [WIDE, 1],
                col_major([BK / WIDE, THREADS / (BK / WIDE)]),
                swizzle_of(BK / WIDE),
            )
        };
        let a_smem = shared::<T>(layout([STAGES, BM, BK], a_strides).swizzle(a_turn[0], BITS, a_turn[1]));
        let b_smem = shared::<T>(layout([STAGES, BK, BN], b_strides).swizzle(b_turn[0], BITS, b_turn[1]));

        let blocks = k.div_ceil(BK);
        let copy = |block: usize, stage: usize| {
            let a_tile = a(block).vectorize(a_vector);
            let b_tile = b(block).vectorize(b_vector);
            copy_dram_to_sram_async(&mut a_smem.slice(stage).vectorize(a_vector), &a_tile, a_threads);
            copy_dram_to_sram_async(&mut b_smem.slice(stage).vectorize(b_vector), &b_tile, b_threads);
            async_copy_commit_group();
        };
        for ahead in unroll(0..STAGES - 1) {
            copy(ahead, ahead);
        }
        async_copy_wait_group(STAGES - 2);
        barrier();
        let a_now = mma.load_a(&a_smem.slice(0).tile([WM, STEP], [warp_row, 0]));
        let b_now = mma.load_b(&b_smem.slice(0).tile([STEP, WN], [0, warp_col]));
        for block in 0..blocks {
            for step in unroll(0..STEPS) {
                let after = (step + 1) % STEPS;
                if after == 0 {
                    async_copy_wait_group(STAGES - 2);
                    // The next stage is there for all warps, and none reads the one that is filled next.
                    barrier();
                }
                if step == 0 {
                    // The last stages are filled with the last block again, which no product reads: no condition is between the products.
                    copy((block + STAGES - 1).min(blocks - 1), (block + STAGES - 1) % STAGES);
                }
                let stage = (block + (step + 1) / STEPS) % STAGES;
                let a_next = mma.load_a(&a_smem.slice(stage).tile([WM, STEP], [warp_row, after]));
                let b_next = mma.load_b(&b_smem.slice(stage).tile([STEP, WN], [after, warp_col]));
                mma.mma(&mut acc, &a_now, &b_now);
                a_now.copy_from(&a_next);
                b_now.copy_from(&b_next);
            }
        }
        async_copy_wait_all();
    }
}

#[tiled_kernels(functions = product_epilogues, functions = products_by_warps)]
mod products {
    /// The tile of C of a block: GROUP rows of tiles at once.
    fn tile_of_block() -> (usize, usize) {
        (block_idx.y * GROUP + block_idx.x % GROUP, block_idx.x / GROUP)
    }

    /// Each warp makes WM x WN of C. Either mode of an operand of 16 bits may be contiguous, of 8 bits `k` is; lines that begin at multiples
    /// of 16 bytes are copied by these. With `TURING` it is for sm_75: f16 and `i8`, by the instructions that it has.
    #[tiled_kernel(
        T = [bf16, f16, e4m3, i8], U = [bf16, f16, f32, i32], S = [f32, i32], A_MODE = [1, 0], B_MODE = [1, 0],
        BM = 128, BN = 128, WM = 64, WN = 64, STAGES = 3, GROUP = 8, TURING = false, STEPS = 2,
        STEP = if TURING { 16 } else { 32 } / size_of::<T>(), TALL = if TURING && T == i8 { 8 } else { 16 }, BK = STEPS * STEP,
        filter((S == i32) == (T == i8), if size_of::<T>() == 2 { T == U } else { A_MODE == 1 && B_MODE == 0 }),
        filter(if T == i8 { U == i32 } else { U != i32 }, T != e4m3 || U != f16),
        arch = if T == e4m3 || T == e5m2 { "sm_89" } else if TURING { "sm_75" } else { "sm_80" },
        block = [BM * BN / (WM * WN) * 32],
        grid = [N.div_ceil(BN) * GROUP, M.div_ceil(BM * GROUP)],
        require(K % if size_of::<T>() == 1 { 16 } else { 1 } == 0),
        variant_if(K % 8 == 0, N % 8 == 0, if A_MODE == 1 { K } else { M } % 8 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn gemm_mma<T, U, S, const M: usize, const N: usize, const K: usize>(
        a: &LayoutTensor<T, Contiguous<A_MODE, M, K>>,
        b: &LayoutTensor<T, Contiguous<B_MODE, K, N>>,
        c: &mut LayoutTensor<U, Pitched<M, N>>,
    ) {
        let (row, col) = tile_of_block();
        if row * BM >= M {
            return;
        }
        let mut acc = local::<S>(row_major([WM / TALL, WN / 32 * TALL])).fill(S::ZERO);
        let of_a = |block: usize| a.tile([BM, BK], [row, block]);
        let of_b = |block: usize| b.tile([BK, BN], [block, col]);
        sums((of_a, of_b), K, acc);
        let mut dst =
            c.tile([BM, BN], [row, col]).tile([WM, WN], [warp_id() / (BN / WN), warp_id() % (BN / WN)]);
        mma_atom::<T>([TALL, 8, STEP]).store_d(&mut dst, &acc.cast::<U>());
    }

    /// `C = EPILOGUE(A B)`, element by element, as [`gemm_then`](super::super::gemm::gemm_then) has it.
    #[tiled_kernel(
        T = [bf16, f16, i8], U = [bf16, f16, e4m3], V = [bf16, f16, f32], S = [f32, i32],
        EPILOGUE = [bias_gelu, plus, silu_times, scaled, scaled_both],
        BY_COLUMN = EPILOGUE == bias_gelu || EPILOGUE == scaled_both, BY_ROW = EPILOGUE == scaled_both,
        BESIDE = EPILOGUE == plus || EPILOGUE == silu_times, A_MODE = 1, B_MODE = [1, 0],
        BM = 128, BN = 128, WM = 64, WN = 64, STAGES = 3, GROUP = 8, TURING = false, STEPS = 2,
        STEP = if TURING { 16 } else { 32 } / size_of::<T>(), TALL = if TURING && T == i8 { 8 } else { 16 }, BK = STEPS * STEP,
        filter(
            (T == i8 && S == i32 && U == bf16 && V == f32 && B_MODE == 0 && EPILOGUE == scaled_both)
                || (T == bf16 && S == f32 && U == bf16 && V == bf16 && B_MODE == 1 && (EPILOGUE == bias_gelu || BESIDE))
        ),
        arch = if T == e4m3 || U == e4m3 { "sm_89" } else if TURING { "sm_75" } else { "sm_80" },
        block = [BM * BN / (WM * WN) * 32],
        grid = [N.div_ceil(BN) * GROUP, M.div_ceil(BM * GROUP)],
        require(K % if size_of::<T>() == 1 { 16 } else { 1 } == 0),
        variant_if(K % 8 == 0, N % 8 == 0, if A_MODE == 1 { K } else { M } % 8 == 0),
    )]
    pub fn gemm_mma_then<
        T,
        U,
        V,
        S,
        const M: usize,
        const N: usize,
        const K: usize,
        const COLUMNS: usize,
        const ROWS: usize,
        const HIGH: usize,
        const BROAD: usize,
    >(
        a: &LayoutTensor<T, Contiguous<A_MODE, M, K>>,
        b: &LayoutTensor<T, Contiguous<B_MODE, K, N>>,
        columns: &LayoutTensor<V, RowMajor<COLUMNS>>,
        rows: &LayoutTensor<f32, RowMajor<ROWS>>,
        beside: &LayoutTensor<V, Pitched<HIGH, BROAD>>,
        c: &mut LayoutTensor<U, Pitched<M, N>>,
        scale: f32,
    ) {
        let (row, col) = tile_of_block();
        if row * BM >= M {
            return;
        }
        let (warp, lane) = ([warp_id() / (BN / WN), warp_id() % (BN / WN)], lane_id());
        let mut acc = local::<S>(row_major([WM / TALL, WN / 32 * TALL])).fill(S::ZERO);
        let of_a = |block: usize| a.tile([BM, BK], [row, block]);
        let of_b = |block: usize| b.tile([BK, BN], [block, col]);
        sums((of_a, of_b), K, acc);
        let of_rows = rows.tile([BM], [row]).tile([WM], [warp[0]]);
        let others = beside.tile([BM, BN], [row, col]).tile([WM, WN], warp);
        let dst = c.tile([BM, BN], [row, col]).tile([WM, WN], warp);
        for fragment in unroll(0..WM / TALL) {
            let mut finished = local::<f32>(row_major([1, WN / 32 * TALL]));
            // What the epilogue reads has a lane's pairs of neighbours in every eighth column. It is read for each fragment: held
            // for all of them it would take the registers that the sums leave.
            let of_column = local::<V>(row_major([WN / 4]));
            if BY_COLUMN {
                let own = columns.tile([BN], [col]).tile([WN], [warp[1]]).vectorize([2]);
                of_column.vectorize([2]).copy_from(&own.distribute(row_major([4]), lane % 4));
            }
            for half in unroll(0..TALL / 8) {
                let eight = fragment * (TALL / 8) + half;
                let of_place = local::<V>(row_major([1, WN / 4]));
                if BESIDE {
                    let own = others.tile([8, WN], [eight, 0]).vectorize([1, 2]);
                    of_place.vectorize([1, 2]).copy_from(&own.distribute(row_major([8, 4]), lane));
                }
                let of_row = if BY_ROW { of_rows[[8 * eight + lane / 4]] } else { 1.0 };
                for i in unroll(0..WN / 4) {
                    let place = i / 2 * (TALL / 4) + 2 * half + i % 2;
                    let column = if BY_COLUMN { of_column[[i]].cast::<f32>() } else { 0.0 };
                    let other = if BESIDE { of_place[[0, i]].cast::<f32>() } else { 0.0 };
                    let sum = acc[[fragment, place]].cast::<f32>();
                    finished[[0, place]] = EPILOGUE(sum, column, of_row, other, scale);
                }
            }
            let mut to = dst.tile([TALL, WN], [fragment, 0]);
            mma_atom::<T>([TALL, 8, STEP]).store_d(&mut to, &finished.cast::<U>());
        }
    }
}
