//! NVFP4: rows of numbers to e2m1 with scales of blocks, and products of such rows on the matrix units of sm_120.
//!
//! ```text
//! quantize:  scale of the tensor = largest / (6 * 448)
//!            each thread, 16 numbers of a row: scale of the block = e4m3 of largest / (6 * scale of the tensor)
//!                                              e2m1 of x / (scale of the tensor * scale of the block)
//! product:   for each 128 numbers of the rows of A and B, copied STAGES - 1 ahead:
//!                each warp loads WM x 64 of A and 64 x WN of B by `ldmatrix`, and their scales
//!                products of 16 x 8 x 64
//! ```
//!
//! A row is words of eight numbers and a scale for two words, up to a multiple of 128 numbers: the last ones are zeros, with scales of 0.
//! So every vector of a row is whole. For speed: lines of shared memory are swizzled, so that the eight rows of 16 bytes that `ldmatrix`
//! reads at once are in all 32 banks; four stages are 72 KiB.
//!
//! Laws: a product is the sum of products of the numbers that the bits are, in float32, times the two scales of the tensors, rounded once
//! more. A tensor with a NaN or an infinity has a scale that is none, and its products are NaN. No card has run the product here: it is
//! tested on the simulator, and NVRTC compiles it.
//!
//! Source: Pretraining Large Language Models with NVFP4, arXiv 2509.25149, appendix C; Open Compute Project, MX Specification, version 1.0.

use layout_cuda::tiled_kernels;

pub use nvfp4::{largest, nvfp4_product, quantize};

#[tiled_kernels]
mod nvfp4 {
    /// The largest size of a number of the tensor, as its bits: those of a NaN are above every number's.
    #[tiled_kernel(T = [f32, bf16, f16], block = [256], grid = [M * N.div_ceil(4096)])]
    pub fn largest<T, const M: usize, const N: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        bits: &mut LayoutTensor<u32, RowMajor<1>>,
    ) {
        let parts = N.div_ceil(4096);
        let (row, part) = (block_idx.x / parts, block_idx.x % parts);
        let mut most = 0u32;
        for column in (part * 4096 + thread_idx.x..N.min(part * 4096 + 4096)).step_by(256) {
            most = most.max(x[[row, column]].cast::<f32>().to_bits() & 0x7fff_ffff);
        }
        let most = most.block_max();
        if thread_idx.x == 0 {
            bits.atomic_max([0], most);
        }
    }

    /// The scale of a tensor whose largest size has these bits. The least is the least normal number, so that nothing is divided by 0.
    fn of_tensor(bits: u32) -> f32 {
        let scale = f32::from_bits(bits) / 2688.0;
        // Of a NaN it stays one.
        if scale < f32::MIN_POSITIVE { f32::MIN_POSITIVE } else { scale }
    }

    /// `words`, `scales` and `scale[0]`: the numbers of `x`, each thread 16 of them.
    #[tiled_kernel(
        T = [f32, bf16, f16], arch = "sm_89", block = [256], grid = [(M * V).div_ceil(256)],
        require(W == 2 * V, 16 * V >= N),
        variant_if(N % 8 == 0),
    )]
    pub fn quantize<T, const M: usize, const N: usize, const W: usize, const V: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        bits: &LayoutTensor<u32, RowMajor<1>>,
        words: &mut LayoutTensor<u32, RowMajor<M, W>>,
        scales: &mut LayoutTensor<e4m3, RowMajor<M, V>>,
        scale: &mut LayoutTensor<f32, RowMajor<1>>,
    ) {
        const LANES: usize = 16 / size_of::<T>();
        let at = block_idx.x * 256 + thread_idx.x;
        if at >= M * V {
            return;
        }
        let (row, block) = (at / V, at % V);
        let tensor = of_tensor(bits[[0]]);
        if at == 0 {
            scale[[0]] = tensor;
        }
        // Behind the end of the row are zeros.
        let own = x.window([1, 16], [row as isize, (block * 16) as isize]).vectorize([1, LANES]).to_local();
        let mut values = [0.0f32; 16];
        let mut most = 0.0f32;
        for i in unroll(0..16) {
            values[i] = own[[0, i]].cast::<f32>();
            most = most.max(values[i].abs());
        }
        let rounded = (most / (6.0 * tensor)).cast::<e4m3>();
        scales[[row, block]] = rounded;
        let unit = tensor * rounded.cast::<f32>();
        let mut packed = local::<u32>(row_major([1, 2])).fill(0);
        for i in unroll(0..16) {
            let x = select(unit == 0.0, 0.0, values[i] / unit);
            packed[[0, i / 8]] |= e2m1_bits(x) << (i % 8 * 4) as u32;
        }
        words.tile([1, 2], [row, block]).vectorize([1, 2]).copy_from(&packed.vectorize([1, 2]));
    }

    /// Starts the copies of a stage: 128 numbers of rows of A and B, and their scales.
    fn copy_stage(
        words: View<u32, Write>,
        scales: View<e4m3, Write>,
        from: impl Tensor<Elem = u32>,
        from_scales: impl Tensor<Elem = e4m3>,
        at: [usize; 2],
        rows: usize,
        threads: usize,
    ) {
        let from = from.tile([rows, 16], at).vectorize([1, 4]);
        copy_dram_to_sram_async(&mut words.vectorize([1, 4]), &from, row_major([threads / 4, 4]));
        let from = from_scales.tile([rows, 8], at).vectorize([1, 4]);
        copy_dram_to_sram_async(&mut scales.vectorize([1, 4]), &from, row_major([threads / 2, 2]));
    }

    /// `C = scale of A * scale of B * (A Bᵀ)`; each warp makes WM x WN of C.
    #[tiled_kernel(
        T = [f32, bf16, f16], BM = 128, BN = 128, WM = 64, WN = 32, STAGES = 4, GROUP = 8,
        arch = "sm_120f", block = [BM * BN / (WM * WN) * 32],
        grid = [N.div_ceil(BN) * GROUP, M.div_ceil(BM * GROUP)],
        require(W == 2 * V, W % 16 == 0),
        variant_if(N % 8 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn nvfp4_product<T, const M: usize, const N: usize, const W: usize, const V: usize>(
        a: &LayoutTensor<u32, RowMajor<M, W>>,
        b: &LayoutTensor<u32, RowMajor<N, W>>,
        a_scales: &LayoutTensor<e4m3, RowMajor<M, V>>,
        b_scales: &LayoutTensor<e4m3, RowMajor<N, V>>,
        a_scale: &LayoutTensor<f32, RowMajor<1>>,
        b_scale: &LayoutTensor<f32, RowMajor<1>>,
        c: &mut LayoutTensor<T, RowMajor<M, N>>,
    ) {
        const THREADS: usize = BM * BN / (WM * WN) * 32;
        let mma = mma_atom::<u32>([16, 8, 64]);
        let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));
        let (row, col) = (block_idx.y * GROUP + block_idx.x % GROUP, block_idx.x / GROUP);
        if row * BM >= M {
            return;
        }
        let a_smem = shared::<u32>(layout([STAGES, BM, 16], [BM * 16, 16, 1]).swizzle(2, 2, 3));
        let b_smem = shared::<u32>(layout([STAGES, BN, 16], [BN * 16, 16, 1]).swizzle(2, 2, 3));
        let x_smem = shared::<e4m3>(row_major([STAGES, BM, 8]));
        let y_smem = shared::<e4m3>(row_major([STAGES, BN, 8]));
        let mut acc = local::<f32>(row_major([WM / 16, WN / 8 * 4])).fill(0.0);

        let blocks = W / 16;
        for ahead in unroll(0..STAGES - 1) {
            copy_stage(a_smem.slice(ahead), x_smem.slice(ahead), a, a_scales, [row, ahead], BM, THREADS);
            copy_stage(b_smem.slice(ahead), y_smem.slice(ahead), b, b_scales, [col, ahead], BN, THREADS);
            async_copy_commit_group();
        }
        for block in 0..blocks {
            async_copy_wait_group(STAGES - 2);
            // The stage is there for all warps, and none reads the one that is filled next.
            barrier();
            // The last stages are filled with the first blocks again, which no product reads: no condition is between the products.
            let (ahead, free) = ((block + STAGES - 1) % blocks, (block + STAGES - 1) % STAGES);
            copy_stage(a_smem.slice(free), x_smem.slice(free), a, a_scales, [row, ahead], BM, THREADS);
            copy_stage(b_smem.slice(free), y_smem.slice(free), b, b_scales, [col, ahead], BN, THREADS);
            async_copy_commit_group();
            let stage = block % STAGES;
            for step in unroll(0..2) {
                let a_reg = mma.load_a(&a_smem.slice(stage).tile([WM, 8], [warp_row, step]));
                let b_reg = mma.load_b(&b_smem.slice(stage).tile([WN, 8], [warp_col, step]).transpose());
                let x_reg = mma.load_a_scales(&x_smem.slice(stage).tile([WM, 4], [warp_row, step]));
                let y_reg =
                    mma.load_b_scales(&y_smem.slice(stage).tile([WN, 4], [warp_col, step]).transpose());
                mma.mma_scaled(&mut acc, &a_reg, &b_reg, &x_reg, &y_reg);
            }
        }
        async_copy_wait_all();
        let scale = a_scale[[0]] * b_scale[[0]];
        for i in unroll(0..WM / 16) {
            for j in unroll(0..WN / 8 * 4) {
                acc[[i, j]] *= scale;
            }
        }
        let mut dst = c.tile([BM, BN], [row, col]).tile([WM, WN], [warp_row, warp_col]);
        mma.store_d(&mut dst, &acc.cast::<T>());
    }
}

/// Those of block-scaled numbers.
pub fn definitions() -> [&'static layout_cuda::Definition; 3] {
    [&largest::DEFINITION, &quantize::DEFINITION, &nvfp4_product::DEFINITION]
}
