//! `C = A B` on Blackwell's matrix units (sm_100 and sm_103): sums in tensor memory, one persistent block on each multiprocessor. Not run
//! on hardware: tested on the simulator, and compiled by NVRTC.
//!
//! ```text
//! warp 4, a thread: for each tile of C of this block, for each BK columns of A and rows of B:
//!     wait until the stage is empty; load it; the stage is full when its bytes are there
//! warp 5, a thread: for each tile: wait until an accumulator is free;
//!     for each stage, when it is full: d += a b; the stage is empty when the products are complete
//!     the accumulator is done when they all are
//! warps 0 to 3, 32 rows of C each: for each tile: wait until its accumulator is done;
//!     slab by slab: load a part of the sums, finish and round them, store them to shared memory; TMA takes them from there
//!     the accumulator is free when its last part is loaded
//! ```
//!
//! For speed: there are two accumulators, so one tile is stored while the next one is multiplied. The four warps of the epilogue share
//! nothing: each has buffers and stores of its own, and meets no other warp at a barrier.
//!
//! Law: sums in float32, rounded once to C's elements. `gemm_tcgen05` stores the sums as they are; `gemm_tcgen05_then` applies a function
//! (the epilogue) to each first.

use layout_cuda::tiled_kernels;

pub use products::{gemm_tcgen05, gemm_tcgen05_then};

#[tiled_kernels(functions = product_epilogues, functions = product_ring)]
mod products {
    /// One thread multiplies each tile of C of this block, into the two accumulators in turn.
    fn multiply(
        sums: View<f32, Write>,
        (a_smem, b_smem, full, empty): (View<T, Write>, View<T, Write>, Mbarriers, Mbarriers),
        (done, free): (Mbarriers, Mbarriers),
        (tiles, blocks): (usize, usize),
    ) {
        let (mut next, mut own) = (pipeline_state(STAGES), pipeline_state(2));
        for _tile in (block_idx.x..tiles).step_by(SMS) {
            let mut d = sums.tile([4, BM / 4, BN], [0, 0, own.stage()]);
            free.at(own.stage()).wait(1 - own.phase());
            tcgen05_fence_after_thread_sync();
            for block in 0..blocks {
                let stage = next.stage();
                full.at(stage).wait(next.phase());
                tcgen05_mma(&mut d, &a_smem.slice(stage), &b_smem.slice(stage), block > 0);
                tcgen05_commit(empty.at(stage));
                next.advance();
            }
            tcgen05_commit(done.at(own.stage()));
            own.advance();
        }
    }

    /// A warp of the epilogue: a thread loads its row of each tile, applies `then`, rounds, and stores it in parts of 128 bytes. `then` is
    /// given sums, the tile's row, and which part of C's columns they are.
    fn epilogue(
        c: impl Tensor<Elem = U, Access = Write>,
        c_smem: View<U, Write>,
        sums: View<f32, Write>,
        (done, free): (Mbarriers, Mbarriers),
        (rows, cols, tiles, blocks): (usize, usize, usize, usize),
        then: impl Fn(View<f32, Write>, usize, usize) -> View<f32, Write>,
    ) {
        let (warp, lane, slab, vector) = (warp_id() % 4, lane_id(), c_smem.dim(3), 16 / size_of::<U>());
        let (mut row_of_sums, mut own) = (local::<f32>(row_major([slab])), pipeline_state(2));
        for tile in (block_idx.x..tiles).step_by(SMS) {
            let (row, col) = grouped(tile, rows, cols, GROUP);
            let of_warp = sums.tile([4, BM / 4, BN], [0, 0, own.stage()]).slice(warp);
            let dst = c.tile([BM, BN], [row, col]).tile([BM / 4, BN], [warp, 0]);
            // Without products it has the arrival at once.
            done.at(own.stage()).wait(own.phase());
            tcgen05_fence_after_thread_sync();
            for part in unroll(0..BN / slab) {
                if blocks > 0 {
                    tcgen05_load(&mut row_of_sums, &of_warp.tile([BM / 4, slab], [0, part]));
                    tcgen05_wait_load();
                } else {
                    row_of_sums.fill(0.0);
                }
                if part == BN / slab - 1 {
                    tcgen05_fence_before_thread_sync();
                    free.at(own.stage()).arrive();
                }
                let rounded = local::<U>(row_major([slab]));
                rounded.copy_from(&then(row_of_sums, row, col * (BN / slab) + part).cast::<U>());
                let mut staged = c_smem.slice(warp).slice(part % BUFFERS);
                if lane == 0 {
                    bulk_wait_group_read(BUFFERS - 1);
                }
                sync_warp();
                let line = staged.tile([1, slab], [lane, 0]).squeeze(0);
                line.vectorize([vector]).copy_from(&rounded.vectorize([vector]));
                fence_async_proxy();
                sync_warp();
                let mut to = dst.tile([BM / 4, slab], [0, part]);
                if DIRECT {
                    for piece in 0..2 {
                        let from = staged.tile([16, slab], [piece, 0]).distribute(row_major([1, 32]), lane);
                        let to = to.tile([16, slab], [piece, 0]).distribute(row_major([1, 32]), lane);
                        to.copy_from(&from.to_local());
                    }
                } else if lane == 0 {
                    tma_store(&mut to, &staged);
                    bulk_commit_group();
                }
            }
            own.advance();
        }
        if lane == 0 {
            bulk_wait_group_read(0);
        }
    }

    /// Applies `EPILOGUE` to a part of a thread's row of sums.
    fn finish(
        sums: View<f32, Write>,
        (columns, rows, beside): (impl Tensor<Elem = V>, impl Tensor<Elem = f32>, impl Tensor<Elem = V>),
        scale: f32,
        (row, part): (usize, usize),
    ) -> View<f32, Write> {
        let (line, slab, vector) = (thread_idx.x % BM, sums.dim(0), 16 / size_of::<V>());
        let of_column = local::<V>(row_major([slab]));
        if BY_COLUMN {
            of_column.vectorize([vector]).copy_from(&columns.tile([slab], [part]).vectorize([vector]));
        }
        let of_place = local::<V>(row_major([slab]));
        if BESIDE {
            let own = beside.tile([BM, slab], [row, part]).tile([1, slab], [line, 0]).squeeze(0);
            of_place.vectorize([vector]).copy_from(&own.vectorize([vector]));
        }
        let of_row = if BY_ROW { rows.tile([BM], [row])[[line]] } else { 1.0 };
        let mut finished = local::<f32>(row_major([slab]));
        for i in unroll(0..slab) {
            let column = if BY_COLUMN { of_column[[i]].cast::<f32>() } else { 0.0 };
            let other = if BESIDE { of_place[[i]].cast::<f32>() } else { 0.0 };
            finished[[i]] = EPILOGUE(sums[[i]], column, of_row, other, scale);
        }
        finished
    }

    /// The product of a block of threads; `then` turns sums into what is stored.
    fn product(
        a: impl Tensor<Elem = T, Access = Read>,
        b: impl Tensor<Elem = T, Access = Read>,
        c: impl Tensor<Elem = U, Access = Write>,
        then: impl Fn(View<f32, Write>, usize, usize) -> View<f32, Write>,
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
        let c_smem = shared::<U>(row_major([4, BUFFERS, BM / 4, slab]).swizzle_bytes(128));
        let sums = tensor_memory::<f32>([BM, 2 * BN]);
        let (full, empty) = (mbarriers(STAGES, 1), mbarriers(STAGES, 1));
        let (done, free) = (mbarriers(2, 1), mbarriers(2, 128));
        let (ring, count) = ((a_smem, b_smem, full, empty), (rows, cols, tiles, blocks));
        barrier();
        grid_dependency_wait();
        launch_dependents();

        let warp = warp_id();
        if warp == 4 {
            if elect_one() {
                load(a, b, ring, count);
            }
        } else if warp == 5 {
            if elect_one() {
                multiply(sums, ring, (done, free), (tiles, blocks));
            }
        } else {
            epilogue(c, c_smem, sums, (done, free), count, then);
        }
    }

    /// Products accumulated in float32: of 16-bit floats with either mode of an operand contiguous, of 8-bit floats with A row-major and B
    /// column-major. TMA stores C where its rows are whole multiples of 16 bytes; with `DIRECT` the threads store it, at any alignment of
    /// its rows. Not run on hardware.
    #[tiled_kernel(
        T = [bf16, f16, e4m3], U = [bf16, f16, f32], A_MODE = [1, 0], B_MODE = [1, 0], BM = 128, BN = 256,
        BK = 128 / size_of::<T>(), STAGES = 4, BUFFERS = 2, GROUP = 16, SMS = 148, DIRECT = [false, true],
        filter(
            (T == bf16 && U == bf16 && (!DIRECT || A_MODE == B_MODE))
                || (A_MODE == 1 && B_MODE == 0 && !DIRECT && ((T == f16 && U == f16) || (T == e4m3 && U != f16)))
        ),
        arch = "sm_100f", block = [192], min_blocks = 1,
        grid = [(M.div_ceil(BM) * N.div_ceil(BN)).min(SMS)], require(M.div_ceil(BM) * N.div_ceil(BN) <= 1 << 24),
        deny(narrowed, synchronous),
    )]
    pub fn gemm_tcgen05<T, U, const M: usize, const N: usize, const K: usize>(
        a: &LayoutTensor<T, Contiguous<A_MODE, M, K>>,
        b: &LayoutTensor<T, Contiguous<B_MODE, K, N>>,
        c: &mut LayoutTensor<U, Pitched<M, N>>,
    ) {
        product(a, b, c, |sums: View<f32, Write>, _row: usize, _part: usize| sums);
    }

    /// `C = EPILOGUE(A B)`, element by element, as [`gemm_then`](super::super::gemm::gemm_then) has it. Not run on hardware.
    #[tiled_kernel(
        T = [bf16, f16], U = [bf16, f16, e4m3], V = [bf16, f16, f32],
        EPILOGUE = [bias_gelu, plus, silu_times, scaled, scaled_both],
        BY_COLUMN = EPILOGUE == bias_gelu || EPILOGUE == scaled_both, BY_ROW = EPILOGUE == scaled_both,
        BESIDE = EPILOGUE == plus || EPILOGUE == silu_times, A_MODE = 1, B_MODE = [1, 0],
        BM = 128, BN = 256, BK = 128 / size_of::<T>(), STAGES = 4, BUFFERS = 2, GROUP = 16, SMS = 148, DIRECT = false,
        filter(
            (T == bf16 && U == bf16 && V == bf16 && B_MODE == 1 && (EPILOGUE == bias_gelu || BESIDE))
                || (T == bf16 && U == e4m3 && V == f32 && B_MODE == 1 && EPILOGUE == scaled)
        ),
        arch = "sm_100f", block = [192], min_blocks = 1,
        grid = [(M.div_ceil(BM) * N.div_ceil(BN)).min(SMS)], require(M.div_ceil(BM) * N.div_ceil(BN) <= 1 << 24),
    )]
    pub fn gemm_tcgen05_then<
        T,
        U,
        V,
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
        product(a, b, c, |sums: View<f32, Write>, row: usize, part: usize| {
            finish(sums, (columns, rows, beside), scale, (row, part))
        });
    }
}
