//! Products of groups of rows, each by its own matrix: `C[rows of g] = A[rows of g] B[g]`, where `ends` says at which row a group ends.
//!
//! ```text
//!  A      ends        tiles of C in their order: those of a group one behind the other, GROUP rows of tiles at once
//! ┌────┐             ┌───┬───┐
//! │ g0 │             │ 0 │ 2 │  each block of threads takes every SMS-th tile. From one to the next it walks on along `ends`: the
//! │    │             │ 1 │ 3 │  rows of a group are tiles of BM rows, of which the last may be a part.
//! ├────┤ ends[0]     ├───┼───┤
//! │ g1 │             │ 4 │ 5 │
//! └────┘ ends[1]     └───┴───┘
//! ```
//!
//! For speed: a tile is loaded as if its rows went on, since a row of A counts in its own row of C alone; only the store has a mask. A
//! whole tile of `grouped_gemm` is stored by TMA, a part of one by the threads, in vectors.
//!
//! Law: sums in float32, rounded once. Group `g` has the rows from the largest of the ends before it to its own end, at least none, at most
//! to M: whatever `ends` holds, each row is of one group at most, and nothing outside is touched. Rows of no group are left as they are.

use layout_cuda::tiled_kernels;

pub use products::{grouped_gemm, grouped_gemm_mma};

#[tiled_kernels(functions = product_ring, functions = products_by_warps)]
mod products {
    /// Tiles of so many rows.
    fn tiles_of(rows: u32) -> u32 {
        (rows + (BM - 1) as u32) / BM as u32
    }

    /// The rows of a group that begins at row `first`; none of one behind the last.
    fn rows_of(ends: impl Tensor<Elem = i32>, group: u32, first: u32, rows: i32) -> u32 {
        let mut own = 0;
        if group < ends.dim(0) as u32 {
            own = ends[[group as usize]].clamp(first as i32, rows) as u32 - first;
        }
        own
    }

    /// The group of a tile, the tiles and the rows before it, and its rows; behind the last tile a number beyond all groups. `at` is
    /// where an earlier tile's group begins: what is kept from tile to tile, in few registers.
    fn seek(
        tile: u32,
        ends: impl Tensor<Elem = i32>,
        (rows, cols): (i32, u32),
        (mut group, mut before, mut first): (u32, u32, u32),
    ) -> (u32, u32, u32, u32) {
        let mut own = rows_of(&ends, group, first, rows);
        while tile >= before + tiles_of(own) * cols && group < ends.dim(0) as u32 {
            before += tiles_of(own) * cols;
            first += own;
            group += 1;
            own = rows_of(&ends, group, first, rows);
        }
        (group, before, first, own)
    }

    /// Walks over the tiles of C of this block: `multiply` is given a tile's group, its first row and column, and the rows of the group
    /// from there on.
    fn each_tile(
        ends: impl Tensor<Elem = i32>,
        (m, n): (usize, usize),
        mut multiply: impl FnMut(usize, usize, usize, usize),
    ) {
        let cols = n.div_ceil(BN);
        let most = ((m.div_ceil(BM) + ends.dim(0)) * cols).min(1 << 24);
        let mut at = (0, 0, 0);
        for tile in (block_idx.x..most).step_by(SMS) {
            let (group, before, first, own) = seek(tile as u32, &ends, (m as i32, cols as u32), at);
            at = (group, before, first);
            if group < ends.dim(0) as u32 {
                let (row, col) =
                    grouped((tile as u32 - before) as usize, tiles_of(own) as usize, cols, GROUP);
                let (above, group) = ((row * BM) as u32, group as usize);
                let (first, left) = ((first + above) as usize, (own - above) as usize);
                let col = col * BN;
                assume(group < ends.dim(0) && first < m && col < n && left <= m);
                multiply(group, first, col, left);
            }
        }
    }

    /// On Hopper's matrix units, as `gemm`: a producer fills a ring of stages by TMA, two warpgroups multiply 64 rows of each tile. With
    /// `DIRECT` the threads store all of C, whose rows may begin anywhere.
    #[tiled_kernel(
        T = [bf16, f16], MODE = [2, 1], BM = 128, BN = 256, BK = 64, STAGES = 4, SLABS = 2, AHEAD = 1, GROUP = 16, SMS = 132,
        DIRECT = [false, true],
        arch = "sm_90a", block = [384], min_blocks = 1,
        grid = [((M.div_ceil(BM) + G) * N.div_ceil(BN)).min(SMS)],
        require((M.div_ceil(BM) + G) * N.div_ceil(BN) <= 1 << 24, M < 1 << 31, ENDS == G),
        variant_if(N % 8 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn grouped_gemm<
        T,
        const M: usize,
        const N: usize,
        const K: usize,
        const G: usize,
        const ENDS: usize,
    >(
        a: &LayoutTensor<T, Pitched<M, K>>,
        b: &LayoutTensor<T, Contiguous<MODE, G, K, N>>,
        ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        c: &mut LayoutTensor<T, Pitched<M, N>>,
    ) {
        let (b_k, b_col) = if MODE == 2 { (64, 1) } else { (1, BK) };
        let a_smem = shared::<T>(row_major([STAGES, BM / 64, 64, BK]).swizzle_bytes(128));
        let b_tiles = layout([STAGES, BN / 64, BK, 64], [BK * BN, 64 * BK, b_k, b_col]);
        let b_smem = shared::<T>(b_tiles.swizzle_bytes(128));
        let c_smem = shared::<T>(row_major([2, SLABS, 64, 64]).swizzle_bytes(128));
        let ring = (a_smem, b_smem, mbarriers(STAGES, 1), mbarriers(STAGES, 2));
        let blocks = K.div_ceil(BK);
        barrier();
        grid_dependency_wait();
        launch_dependents();

        if warp_group() == 0 {
            set_max_registers(40);
            if thread_idx.x == 0 {
                let mut next = pipeline_state(STAGES);
                each_tile(ends, (M, N), |group: usize, first: usize, col: usize, _left: usize| {
                    let of_a = |block: usize| a.window([BM, BK], [first, block * BK]);
                    let of_b = |block: usize| b.slice(group).window([BK, BN], [block * BK, col]);
                    fill((of_a, of_b), ring, &mut next, blocks);
                });
            }
        } else {
            set_max_registers(232);
            let (consumer, leads) = (warp_group() - 1, thread_idx.x % 128 == 0);
            let acc = accumulator([64, BN]).fill(0.0);
            let (mut next, mut read) = (pipeline_state(STAGES), pipeline_state(STAGES));
            each_tile(ends, (M, N), |_group: usize, first: usize, col: usize, left: usize| {
                accumulate(acc, ring, (&mut next, &mut read), (consumer, leads, blocks));
                store(c, c_smem, acc, (first, col, left), leads);
            });
            if leads {
                bulk_wait_group_read(0);
            }
        }
    }

    /// By warps, as `gemm_mma`, for every card from sm_80 on; rows may begin anywhere. A warp has 64 x 32 of C: with 64 x 64 ptxas 13.0.88
    /// spills 8 bytes where lines are copied element by element.
    #[tiled_kernel(
        T = [bf16, f16], A_MODE = 1, MODE = [2, 1], B_MODE = MODE - 1, BM = 128, BN = 128, WM = 64, WN = 32, STAGES = 3, GROUP = 8, SMS = 108,
        STEPS = 2, STEP = 16, TALL = 16, BK = STEPS * STEP,
        arch = "sm_80", block = [BM * BN / (WM * WN) * 32],
        grid = [((M.div_ceil(BM) + G) * N.div_ceil(BN)).min(SMS)],
        require((M.div_ceil(BM) + G) * N.div_ceil(BN) <= 1 << 24, M < 1 << 31, ENDS == G),
        variant_if(K % 8 == 0, N % 8 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn grouped_gemm_mma<
        T,
        const M: usize,
        const N: usize,
        const K: usize,
        const G: usize,
        const ENDS: usize,
    >(
        a: &LayoutTensor<T, Pitched<M, K>>,
        b: &LayoutTensor<T, Contiguous<MODE, G, K, N>>,
        ends: &LayoutTensor<i32, RowMajor<ENDS>>,
        c: &mut LayoutTensor<T, Pitched<M, N>>,
    ) {
        let (warp, lane) = ([warp_id() / (BN / WN), warp_id() % (BN / WN)], lane_id());
        let mut acc = local::<f32>(row_major([WM / TALL, WN / 32 * TALL]));
        each_tile(ends, (M, N), |group: usize, first: usize, col: usize, left: usize| {
            acc.fill(0.0);
            let of_a = |block: usize| a.window([BM, BK], [first, block * BK]);
            let of_b = |block: usize| b.slice(group).window([BK, BN], [block * BK, col]);
            sums((of_a, of_b), K, acc);
            let to = c.window([BM, BN], [first, col]).tile([WM, WN], warp);
            for eight in unroll(0..WM / 8) {
                if warp[0] * WM + 8 * eight + lane / 4 < left {
                    let own = to.tile([8, WN], [eight, 0]).vectorize([1, 2]);
                    let mut rounded = local::<T>(row_major([1, WN / 4]));
                    for i in unroll(0..WN / 4) {
                        rounded[[0, i]] = acc[[eight / 2, i / 2 * 4 + eight % 2 * 2 + i % 2]].cast::<T>();
                    }
                    own.distribute(row_major([8, 4]), lane).copy_from(&rounded.vectorize([1, 2]));
                }
            }
            // The stages are filled for the next tile when all warps have read them.
            barrier();
        });
    }
}
