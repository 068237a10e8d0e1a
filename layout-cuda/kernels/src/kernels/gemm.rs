//! `C = A B` on Hopper's matrix units: a producer that fills a ring of stages by TMA, two warpgroups that
//! multiply, one persistent block on each multiprocessor.
//!
//! ```text
//! warpgroup 0: for each tile of C of this block, for each BK columns of A and rows of B:
//!     wait until the stage is empty; load it; the stage is full when its bytes are there
//! warpgroups 1 and 2, 64 rows of C each:
//!     wait until the stage is full; acc += a b; the stage before is empty
//!     finish acc, round it and store it to shared memory, slab by slab; TMA takes it from there
//! ```
//!
//! `gemm` stores the sums as they are; `gemm_then` applies a function (the epilogue) to each first.

use layout_cuda::tiled_kernels;

pub use products::{gemm, gemm_swapped, gemm_then};

#[tiled_kernels(functions = product_epilogues, functions = product_ring)]
mod products {
    /// Stores rounded sums of 8 bits to slabs of shared memory, in pairs of neighbours.
    fn store_bytes(staged: View<U, Write>, sums: View<f32, Write>) {
        let (warp, lane) = (thread_idx.x % 128 / 32, lane_id());
        let slab = staged.dim(2);
        let rounded = local::<U>(row_major([2, slab / 4 * SLABS]));
        rounded.vectorize([1, 2]).copy_from(&sums.cast::<U>());
        for part in unroll(0..SLABS) {
            let own = staged.slice(part).tile([16, slab], [warp, 0]).vectorize([1, 2]);
            let mut own = own.distribute(row_major([8, 4]), lane);
            own.copy_from(&rounded.tile([2, slab / 4], [0, part]).vectorize([1, 2]));
        }
    }

    /// A consumer: a warpgroup multiplies its 64 rows of each tile of C of this block, applies `then`, rounds, and stores
    /// them in slabs of 128 bytes. `then` is given sums, the tile's row, and which part of C's columns they are.
    fn multiply<S: Element>(
        c: impl Tensor<Elem = U, Access = Write>,
        c_smem: View<U, Write>,
        ring: (View<T, Write>, View<T, Write>, Mbarriers, Mbarriers),
        count: (usize, usize, usize, usize),
        (zeros, then): (
            impl Fn() -> View<S, Write>,
            impl Fn(View<S, Write>, usize, usize) -> View<f32, Write>,
        ),
    ) {
        let ((rows, cols, tiles, blocks), slab) = (count, c_smem.dim(3));
        let (consumer, leads) = (warp_group() - 1, thread_idx.x % 128 == 0);
        let acc = zeros();
        let (mut next, mut read) = (pipeline_state(STAGES), pipeline_state(STAGES));
        for tile in (block_idx.x..tiles).step_by(SMS) {
            let (row, col) = grouped(tile, rows, cols, GROUP);
            accumulate(acc, ring, (&mut next, &mut read), (consumer, leads, blocks));
            let dst = c.tile([BM, BN], [row, col]);
            for part in unroll(0..BN / (slab * SLABS)) {
                let mut staged = c_smem.slice(consumer + 2 * (part % BUFFERS));
                let own = acc.tile([2, slab / 8 * SLABS], [0, part]);
                let sums = then(own, row, col * (BN / (slab * SLABS)) + part);
                if leads {
                    bulk_wait_group_read(BUFFERS - 1);
                }
                named_barrier(1 + consumer, 128);
                if size_of::<U>() == 1 {
                    store_bytes(staged, sums);
                } else {
                    store_matrix(&mut staged, &sums);
                }
                fence_async_proxy();
                named_barrier(1 + consumer, 128);
                if DIRECT {
                    let thread = thread_idx.x % 128;
                    for piece in 0..4 * SLABS {
                        let own = staged.slice(piece / 4).tile([16, slab], [piece % 4, 0]);
                        let own = own.distribute(row_major([128 / slab, slab]), thread).to_local();
                        let to = dst.tile([16, slab], [4 * consumer + piece % 4, part * SLABS + piece / 4]);
                        to.distribute(row_major([128 / slab, slab]), thread).copy_from(&own);
                    }
                } else if leads {
                    tma_store(&mut dst.tile([64, slab * SLABS], [consumer, part]), &staged);
                    bulk_commit_group();
                }
            }
        }
        if leads {
            bulk_wait_group_read(0);
        }
    }

    /// Applies `EPILOGUE` to a part of a warpgroup's sums, with the elements of columns and of the matrix in pairs.
    fn finish<S: Element>(
        sums: View<S, Write>,
        (columns, rows, beside): (impl Tensor<Elem = V>, impl Tensor<Elem = f32>, impl Tensor<Elem = V>),
        scale: f32,
        (row, part, wide): (usize, usize, usize),
    ) -> View<f32, Write> {
        // A warpgroup's place among the two that multiply, as a number that is never below zero.
        let (consumer, warp, lane) = ((warp_group() + 1) % 2, thread_idx.x % 128 / 32, lane_id());
        let of_column = local::<V>(row_major([wide / 4]));
        if BY_COLUMN {
            let own = columns.tile([wide], [part]).vectorize([2]).distribute(row_major([4]), lane % 4);
            of_column.vectorize([2]).copy_from(&own);
        }
        let of_place = local::<V>(row_major([2, wide / 4]));
        if BESIDE {
            let own = beside
                .tile([BM, wide], [row, part])
                .tile([16, wide], [4 * consumer + warp, 0])
                .vectorize([1, 2]);
            of_place.vectorize([1, 2]).copy_from(&own.distribute(row_major([8, 4]), lane));
        }
        let mut finished = local::<f32>(row_major([2, wide / 4]));
        let rows_of = rows.tile([BM], [row]);
        for h in unroll(0..2) {
            let of_row = if BY_ROW { rows_of[[64 * consumer + 16 * warp + lane / 4 + 8 * h]] } else { 1.0 };
            for i in unroll(0..wide / 4) {
                let column = if BY_COLUMN { of_column[[i]].cast::<f32>() } else { 0.0 };
                let other = if BESIDE { of_place[[h, i]].cast::<f32>() } else { 0.0 };
                finished[[h, i]] = EPILOGUE(sums[[h, i]].cast::<f32>(), column, of_row, other, scale);
            }
        }
        finished.vectorize([1, 2])
    }

    /// The product of a block of threads; `then` turns sums into what is stored.
    fn product<S: Element>(
        a: impl Tensor<Elem = T, Access = Read>,
        b: impl Tensor<Elem = T, Access = Read>,
        c: impl Tensor<Elem = U, Access = Write>,
        (zeros, then): (
            impl Fn() -> View<S, Write>,
            impl Fn(View<S, Write>, usize, usize) -> View<f32, Write>,
        ),
    ) {
        // Slabs of 64 rows of A or columns of B, in lines as long as the swizzle along the mode that is contiguous.
        let (a_row, a_k) = if A_MODE == 1 { (BK, 1) } else { (1, 64) };
        let (b_k, b_col) = if B_MODE == 1 { (64, 1) } else { (1, BK) };
        let a_tiles = layout([STAGES, BM / 64, 64, BK], [BM * BK, 64 * BK, a_row, a_k]);
        let b_tiles = layout([STAGES, BN / 64, BK, 64], [BK * BN, 64 * BK, b_k, b_col]);
        let (rows, cols, blocks) = (c.dim(0).div_ceil(BM), c.dim(1).div_ceil(BN), a.dim(1).div_ceil(BK));
        let (tiles, slab) = ((rows * cols).min(1 << 24), 128 / size_of::<U>());
        let a_smem = shared::<T>(a_tiles.swizzle_bytes(128));
        let b_smem = shared::<T>(b_tiles.swizzle_bytes(128));
        let c_smem = shared::<U>(row_major([2 * BUFFERS, SLABS, 64, slab]).swizzle_bytes(128));
        let (full, empty) = (mbarriers(STAGES, 1), mbarriers(STAGES, 2));
        let (ring, count) = ((a_smem, b_smem, full, empty), (rows, cols, tiles, blocks));
        barrier();
        grid_dependency_wait();
        launch_dependents();

        if warp_group() == 0 {
            set_max_registers(40);
            if thread_idx.x == 0 {
                load(a, b, ring, count);
            }
        } else {
            set_max_registers(232);
            multiply(c, c_smem, ring, count, (zeros, then));
        }
    }

    /// Products accumulated in float32. Operands are 16-bit floats, with either mode contiguous; or 8-bit floats, or 32-bit
    /// floats as TF32, with A row-major and B column-major, since the matrix units take these no other way. TMA stores C
    /// where its rows are whole multiples of 16 bytes; with `DIRECT` the threads store it, at any alignment of its rows.
    #[tiled_kernel(
        T = [bf16, f16, f32, e4m3], U = [bf16, f16, f32], A_MODE = [1, 0], B_MODE = [1, 0], BM = 128, BN = 256,
        BK = 128 / size_of::<T>(), STAGES = 4, SLABS = 2, BUFFERS = 1, AHEAD = 1, GROUP = 16, SMS = 132, DIRECT = [false, true],
        filter((T == U && size_of::<T>() == 2) || (A_MODE == 1 && B_MODE == 0 && !DIRECT && T != f16 && U != f16)),
        arch = "sm_90a", block = [384], min_blocks = 1,
        grid = [(M.div_ceil(BM) * N.div_ceil(BN)).min(SMS)], require(M.div_ceil(BM) * N.div_ceil(BN) <= 1 << 24),
        deny(narrowed, synchronous),
    )]
    pub fn gemm<T, U, const M: usize, const N: usize, const K: usize>(
        a: &LayoutTensor<T, Contiguous<A_MODE, M, K>>,
        b: &LayoutTensor<T, Contiguous<B_MODE, K, N>>,
        c: &mut LayoutTensor<U, Pitched<M, N>>,
    ) {
        let zeros = || accumulator([64, BN]).fill(0.0);
        product(a, b, c, (zeros, |sums: View<f32, Write>, _row: usize, _part: usize| sums));
    }

    /// `C = EPILOGUE(A B)`, element by element. The function is given the sum, the elements of `columns`, `rows` and
    /// `beside` at its coordinates, and `scale`. A tensor that `BY_COLUMN`, `BY_ROW` and `BESIDE` say is not read may be
    /// empty. Sums are float32, or `i32` for `i8`. Operands are as `gemm` requires.
    #[tiled_kernel(
        T = [bf16, f16, i8], U = [bf16, f16, e4m3], V = [bf16, f16, f32], S = [f32, i32],
        EPILOGUE = [bias_gelu, plus, silu_times, scaled, scaled_both],
        BY_COLUMN = EPILOGUE == bias_gelu || EPILOGUE == scaled_both, BY_ROW = EPILOGUE == scaled_both,
        BESIDE = EPILOGUE == plus || EPILOGUE == silu_times,
        A_MODE = 1, B_MODE = [1, 0], BM = 128, BN = 256, BK = 128 / size_of::<T>(), STAGES = 4,
        DIRECT = false, SLABS = if size_of::<U>() == 1 || DIRECT { 1 } else { 2 }, BUFFERS = 1, AHEAD = 1, GROUP = 16, SMS = 132,
        filter(
            (T == i8 && S == i32 && U == bf16 && V == f32 && B_MODE == 0 && EPILOGUE == scaled_both)
                || (T == bf16 && S == f32 && U == bf16 && V == bf16 && B_MODE == 1 && (EPILOGUE == bias_gelu || BESIDE))
                || (T == bf16 && S == f32 && U == e4m3 && V == f32 && B_MODE == 1 && EPILOGUE == scaled)
        ),
        arch = "sm_90a", block = [384], min_blocks = 1,
        grid = [(M.div_ceil(BM) * N.div_ceil(BN)).min(SMS)], require(M.div_ceil(BM) * N.div_ceil(BN) <= 1 << 24),
    )]
    pub fn gemm_then<
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
        const WIDE: usize,
    >(
        a: &LayoutTensor<T, Contiguous<A_MODE, M, K>>,
        b: &LayoutTensor<T, Contiguous<B_MODE, K, N>>,
        columns: &LayoutTensor<V, RowMajor<COLUMNS>>,
        rows: &LayoutTensor<f32, RowMajor<ROWS>>,
        beside: &LayoutTensor<V, Pitched<HIGH, WIDE>>,
        c: &mut LayoutTensor<U, Pitched<M, N>>,
        scale: f32,
    ) {
        let wide = 128 / size_of::<U>() * SLABS;
        let zeros = || accumulator_of::<S>([64, BN]).fill(S::ZERO);
        let then = |sums: View<S, Write>, row: usize, part: usize| {
            finish(sums, (columns, rows, beside), scale, (row, part, wide))
        };
        product(a, b, c, (zeros, then));
    }

    /// Products of 32-bit floats, as TF32, of row-major operands. The matrix units need both operands with `k` contiguous
    /// in shared memory, or the left one in registers. So this is the transposed product, Cᵀ = Bᵀ Aᵀ, with Bᵀ from
    /// registers.
    ///
    /// A warpgroup has 64 columns of C. The registers of one block of `k` are filled while those of the one before are
    /// multiplied. Blocks of `k` come in pairs: one beyond the end is zeros.
    #[tiled_kernel(
        BM = 256, BN = 128, BK = 32, STAGES = 4, GROUP = 8, SMS = 132,
        arch = "sm_90a", block = [384], min_blocks = 1,
        grid = [(M.div_ceil(BM) * N.div_ceil(BN)).min(SMS)], require(M.div_ceil(BM) * N.div_ceil(BN) <= 1 << 24),
        deny(synchronous),
    )]
    pub fn gemm_swapped<const M: usize, const N: usize, const K: usize>(
        a: &LayoutTensor<f32, Pitched<M, K>>,
        b: &LayoutTensor<f32, Pitched<K, N>>,
        c: &mut LayoutTensor<f32, Pitched<M, N>>,
    ) {
        /// The four of its 32 columns that a thread has in each half of its fragments, in an order without bank conflicts
        /// between the threads of a warp, along k and along rows of C.
        fn quad(warp: usize, lane: usize, half: usize) -> usize {
            (warp % 2 * 2 + half) ^ (lane / 16 * 5)
        }
        /// A warp's columns of B in one block of k, as the left operand of a product.
        fn load_columns(own: View<f32, Write>, slab: View<f32, Write>, warp: usize, lane: usize) {
            for half in unroll(0..2) {
                let four = slab.tile([4, BK], [quad(warp, lane, half), 0]);
                let mut to = own.tile([1, BK / 4], [half, 0]);
                to.copy_from(&four.distribute(row_major([4, 4]), lane % 16));
            }
        }
        /// The warp releases a stage: its lanes' reads come before the arrival of lane 0.
        fn release_by_warp(empty: Mbarriers, read: &mut PipelineState, lane: usize) {
            sync_warp();
            release(empty, read, lane == 0);
        }
        let (rows, cols, pairs) = (M.div_ceil(BM), N.div_ceil(BN), K.div_ceil(2 * BK));
        let tiles = (rows * cols).min(1 << 24);
        let a_smem = shared::<f32>(row_major([STAGES, BM, BK]).swizzle_bytes(128));
        let b_smem = shared::<f32>(row_major([STAGES, BN / 32, BK, 32]).swizzle_bytes(128));
        let c_smem = shared::<f32>(row_major([2, 2, 32, 32]).swizzle_bytes(128));
        let full = mbarriers(STAGES, 1);
        // Every warp reads a stage on its own.
        let empty = mbarriers(STAGES, 8);
        barrier();
        grid_dependency_wait();
        launch_dependents();

        if warp_group() == 0 {
            set_max_registers(40);
            if thread_idx.x == 0 {
                load(a, b, (a_smem, b_smem, full, empty), (rows, cols, tiles, 2 * pairs));
            }
        } else {
            set_max_registers(232);
            let consumer = warp_group() - 1;
            let (warp, lane) = (thread_idx.x % 128 / 32, thread_idx.x % 32);
            let leads = thread_idx.x % 128 == 0;
            let mut acc = accumulator([64, BM]).fill(0.0);
            let (mut next, mut read) = (pipeline_state(STAGES), pipeline_state(STAGES));
            for tile in (block_idx.x..tiles).step_by(SMS) {
                let (row, col) = grouped(tile, rows, cols, GROUP);
                for pair in 0..pairs {
                    wgmma_wait_group(1);
                    if pair > 0 {
                        release_by_warp(empty, &mut read, lane);
                    }
                    full.at(next.stage()).wait(next.phase());
                    let slab = b_smem.slice(next.stage()).slice(2 * consumer + warp / 2).transpose();
                    let own = local::<f32>(row_major([2, BK / 4]));
                    load_columns(own, slab, warp, lane);
                    wgmma(&mut acc, &own, &a_smem.slice(next.stage()).transpose(), pair > 0);
                    wgmma_commit_group();
                    next.advance();

                    wgmma_wait_group(1);
                    if pair > 0 {
                        release_by_warp(empty, &mut read, lane);
                    }
                    full.at(next.stage()).wait(next.phase());
                    let slab = b_smem.slice(next.stage()).slice(2 * consumer + warp / 2).transpose();
                    let odd = local::<f32>(row_major([2, BK / 4]));
                    load_columns(odd, slab, warp, lane);
                    wgmma(&mut acc, &odd, &a_smem.slice(next.stage()).transpose(), true);
                    wgmma_commit_group();
                    next.advance();
                }
                wgmma_wait_group(0);
                if pairs > 0 {
                    release_by_warp(empty, &mut read, lane);
                    release(empty, &mut read, lane == 0);
                }
                let dst = c.tile([BM, BN], [row, col]);
                for part in unroll(0..BM / 32) {
                    let mut staged = c_smem.slice(consumer);
                    if leads {
                        bulk_wait_group_read(0);
                    }
                    named_barrier(1 + consumer, 128);
                    for half in unroll(0..2) {
                        let four =
                            staged.slice(warp / 2).transpose().tile([4, 32], [quad(warp, lane, half), 0]);
                        let mut own = four.vectorize([1, 2]).distribute(row_major([4, 4]), lane % 16);
                        own.copy_from(&acc.tile([1, 4], [half, part]));
                    }
                    fence_async_proxy();
                    named_barrier(1 + consumer, 128);
                    if leads {
                        tma_store(&mut dst.tile([32, 64], [part, consumer]), &staged);
                        bulk_commit_group();
                    }
                }
            }
            if leads {
                bulk_wait_group_read(0);
            }
        }
    }
}
