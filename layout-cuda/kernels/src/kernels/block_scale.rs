//! NVFP4 and MXFP8: rows of numbers to small floats with scales of blocks, and products of such rows on the matrix units of sm_120.
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
//! MXFP8 is the same without a scale of the tensor: bytes, 32 of which share a power of two, the least that is not below their largest over
//! the largest of the type; a warp loads 128 bytes of a row, and products are of 16 x 8 x 32.
//!
//! A row of NVFP4 is words of eight numbers and a scale for two words, up to a multiple of 128 numbers, as are rows of bytes: the last ones are zeros. So every vector of a row is whole. For speed: lines of shared memory are swizzled, so that the eight rows of 16 bytes that `ldmatrix`
//! reads at once are in all 32 banks; four stages of NVFP4 are 72 KiB, three of MXFP8 the 99 KiB that a block may have.
//!
//! Laws: a product is the sum of products of the numbers that the bits are, in float32, times the two scales of the tensors, rounded once
//! more. A tensor with a NaN or an infinity has a scale that is none, and its products are NaN. No card has run the product here: it is
//! tested on the simulator, and NVRTC compiles it.
//!
//! Source: Pretraining Large Language Models with NVFP4, arXiv 2509.25149, appendix C; Recipes for Pre-training LLMs with MXFP8, arXiv
//! 2506.08027; Open Compute Project, MX Specification, version 1.0.

use layout_cuda::tiled_kernels;

pub use scaled::{largest, mxfp8_product, nvfp4_product, quantize, quantize_mxfp8};

#[tiled_kernels]
mod scaled {
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

    /// `bytes` and `scales`: the numbers of `x`, each thread 32 of them.
    #[tiled_kernel(
        T = [f32, bf16, f16], U = [e4m3, e5m2], arch = "sm_89", block = [256], grid = [(M * V).div_ceil(256)],
        require(W == 32 * V, W >= N),
        variant_if(N % 8 == 0),
    )]
    pub fn quantize_mxfp8<T, U, const M: usize, const N: usize, const W: usize, const V: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        bytes: &mut LayoutTensor<U, RowMajor<M, W>>,
        scales: &mut LayoutTensor<u8, RowMajor<M, V>>,
    ) {
        const LANES: usize = 16 / size_of::<T>();
        let at = block_idx.x * 256 + thread_idx.x;
        if at >= M * V {
            return;
        }
        let (row, block) = (at / V, at % V);
        // Behind the end of the row are zeros.
        let own = x.window([1, 32], [row as isize, (block * 32) as isize]).vectorize([1, LANES]).to_local();
        let mut bits = 0u32;
        for i in unroll(0..32) {
            bits = bits.max(own[[0, i]].cast::<f32>().to_bits() & 0x7fff_ffff);
        }
        let mut scale = ue8m0_bits(f32::from_bits(bits) / U::MAX.cast::<f32>());
        // An infinity is no number of the block either.
        if bits >= 0x7f80_0000 {
            scale = 255;
        }
        scales[[row, block]] = scale;
        // The inverse of a power of two is one.
        let factor = ue8m0_value(if scale == 255 { 255 } else { 254 - scale });
        let mut packed = local::<U>(row_major([1, 32]));
        for i in unroll(0..32) {
            packed[[0, i]] = (own[[0, i]].cast::<f32>() * factor).cast::<U>();
        }
        bytes.tile([1, 32], [row, block]).vectorize([1, 16]).copy_from(&packed.vectorize([1, 16]));
    }

    /// Starts the copies of a stage: elements of rows of an operand, and their scales.
    fn copy_stage<T: Element, S: Element>(
        elements: View<T, Write>,
        scales: View<S, Write>,
        from: impl Tensor<Elem = T>,
        from_scales: impl Tensor<Elem = S>,
        at: [usize; 2],
        threads: usize,
    ) {
        let (rows, columns, blocks) = (elements.dim(0), elements.dim(1), scales.dim(1));
        let lanes = 16 / size_of::<T>();
        let from = from.tile([rows, columns], at).vectorize([1, lanes]);
        let layout = row_major([threads / (columns / lanes), columns / lanes]);
        copy_dram_to_sram_async(&mut elements.vectorize([1, lanes]), &from, layout);
        let from = from_scales.tile([rows, blocks], at).vectorize([1, 4]);
        let layout = row_major([rows.min(threads / (blocks / 4)), blocks / 4]);
        copy_dram_to_sram_async(&mut scales.vectorize([1, 4]), &from, layout);
    }

    /// Copies the rows of A and of B of a block stage by stage, STAGES - 1 ahead; `multiply` is given each stage once it is there.
    fn each_stage<T: Element, S: Element>(
        (a_smem, x_smem, b_smem, y_smem): (View<T, Write>, View<S, Write>, View<T, Write>, View<S, Write>),
        (a, a_scales, b, b_scales): (
            impl Tensor<Elem = T>,
            impl Tensor<Elem = S>,
            impl Tensor<Elem = T>,
            impl Tensor<Elem = S>,
        ),
        (row, col): (usize, usize),
        multiply: impl Fn(usize),
    ) {
        const THREADS: usize = BM * BN / (WM * WN) * 32;
        let blocks = a.dim(1) / a_smem.dim(2);
        for ahead in unroll(0..STAGES - 1) {
            copy_stage(a_smem.slice(ahead), x_smem.slice(ahead), &a, &a_scales, [row, ahead], THREADS);
            copy_stage(b_smem.slice(ahead), y_smem.slice(ahead), &b, &b_scales, [col, ahead], THREADS);
            async_copy_commit_group();
        }
        for block in 0..blocks {
            async_copy_wait_group(STAGES - 2);
            // The stage is there for all warps, and none reads the one that is filled next.
            barrier();
            // The last stages are filled with the first blocks again, which no product reads: no condition is between the products.
            let (ahead, free) = ((block + STAGES - 1) % blocks, (block + STAGES - 1) % STAGES);
            copy_stage(a_smem.slice(free), x_smem.slice(free), &a, &a_scales, [row, ahead], THREADS);
            copy_stage(b_smem.slice(free), y_smem.slice(free), &b, &b_scales, [col, ahead], THREADS);
            async_copy_commit_group();
            multiply(block % STAGES);
        }
        async_copy_wait_all();
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

        each_stage(
            (a_smem, x_smem, b_smem, y_smem),
            (a, a_scales, b, b_scales),
            (row, col),
            |stage: usize| {
                for step in unroll(0..2) {
                    let a_reg = mma.load_a(&a_smem.slice(stage).tile([WM, 8], [warp_row, step]));
                    let b_reg = mma.load_b(&b_smem.slice(stage).tile([WN, 8], [warp_col, step]).transpose());
                    let x_reg = mma.load_a_scales(&x_smem.slice(stage).tile([WM, 4], [warp_row, step]));
                    let y_reg =
                        mma.load_b_scales(&y_smem.slice(stage).tile([WN, 4], [warp_col, step]).transpose());
                    mma.mma_scaled(acc, &a_reg, &b_reg, &x_reg, &y_reg);
                }
            },
        );
        let scale = a_scale[[0]] * b_scale[[0]];
        for i in unroll(0..WM / 16) {
            for j in unroll(0..WN / 8 * 4) {
                acc[[i, j]] *= scale;
            }
        }
        let mut dst = c.tile([BM, BN], [row, col]).tile([WM, WN], [warp_row, warp_col]);
        mma.store_d(&mut dst, &acc.cast::<T>());
    }

    /// `C = A Bᵀ` of MXFP8; each warp makes WM x WN of C.
    #[tiled_kernel(
        T = [e4m3, e5m2], U = [f32, bf16, f16], BM = 128, BN = 128, WM = 64, WN = 32, STAGES = 3, GROUP = 8,
        arch = "sm_120f", block = [BM * BN / (WM * WN) * 32],
        grid = [N.div_ceil(BN) * GROUP, M.div_ceil(BM * GROUP)],
        require(W == 32 * V, W % 128 == 0),
        variant_if(N % 8 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn mxfp8_product<T, U, const M: usize, const N: usize, const W: usize, const V: usize>(
        a: &LayoutTensor<T, RowMajor<M, W>>,
        b: &LayoutTensor<T, RowMajor<N, W>>,
        a_scales: &LayoutTensor<u8, RowMajor<M, V>>,
        b_scales: &LayoutTensor<u8, RowMajor<N, V>>,
        c: &mut LayoutTensor<U, RowMajor<M, N>>,
    ) {
        let mma = mma_atom::<T>([16, 8, 32]);
        let (warp_row, warp_col) = (warp_id() / (BN / WN), warp_id() % (BN / WN));
        let (row, col) = (block_idx.y * GROUP + block_idx.x % GROUP, block_idx.x / GROUP);
        if row * BM >= M {
            return;
        }
        let a_smem = shared::<T>(layout([STAGES, BM, 128], [BM * 128, 128, 1]).swizzle(3, 4, 3));
        let b_smem = shared::<T>(layout([STAGES, BN, 128], [BN * 128, 128, 1]).swizzle(3, 4, 3));
        let x_smem = shared::<u8>(row_major([STAGES, BM, 4]));
        let y_smem = shared::<u8>(row_major([STAGES, BN, 4]));
        let acc = local::<f32>(row_major([WM / 16, WN / 8 * 4])).fill(0.0);

        each_stage(
            (a_smem, x_smem, b_smem, y_smem),
            (a, a_scales, b, b_scales),
            (row, col),
            |stage: usize| {
                let a_reg = mma.load_a(&a_smem.slice(stage).tile([WM, 128], [warp_row, 0]));
                let b_reg = mma.load_b(&b_smem.slice(stage).tile([WN, 128], [warp_col, 0]).transpose());
                let x_reg = mma.load_a_scales(&x_smem.slice(stage).tile([WM, 4], [warp_row, 0]));
                let y_reg = mma.load_b_scales(&y_smem.slice(stage).tile([WN, 4], [warp_col, 0]).transpose());
                mma.mma_scaled(acc, &a_reg, &b_reg, &x_reg, &y_reg);
            },
        );
        let mut dst = c.tile([BM, BN], [row, col]).tile([WM, WN], [warp_row, warp_col]);
        mma.store_d(&mut dst, &acc.cast::<U>());
    }
}

/// Those of block-scaled numbers.
pub fn definitions() -> [&'static layout_cuda::Definition; 5] {
    [
        &largest::DEFINITION,
        &quantize::DEFINITION,
        &nvfp4_product::DEFINITION,
        &quantize_mxfp8::DEFINITION,
        &mxfp8_product::DEFINITION,
    ]
}
