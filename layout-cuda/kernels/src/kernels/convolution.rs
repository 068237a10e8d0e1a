//! Convolutions of NHWC tensors as products without a matrix of patches (implicit GEMM): pixels of the output by filters.
//!
//! ```text
//! row of A:   a pixel of the output;       column of B: a filter
//! k:          (row, column of the filter, channel), channels fastest
//! A[pixel, k] = x[image, row stride - padding + r dilation, column .., channel]; zero outside of the image
//! ```
//!
//! `convolution_mma` copies 16 bytes of a pixel at once, wherever the pixel is; a thread counts filter row, filter column and channel up
//! without a division. `convolution` has a box of pixels as the rows of a tile: TMA moves the box once for each filter element and 64
//! channels, and its zeros beyond the tensor are the padding. The pixels that several filter elements read come from L2. Two buffers
//! stage the output where a tile has an even number of parts of 64 filters: the part that is stored last may still be read.
//!
//! `depthwise` has one filter for each channel: a thread sums a strip of pixels for a vector of channels, and a pixel that it loads serves
//! every pixel of the strip. The filters of a block's channels are in shared memory, 8 runs of a row's elements at a time.
//!
//! Law: sums in float32, plus the bias, through the activation, rounded once. An element of the padding is 0, so an infinity in a filter gives
//! NaN where the filter hangs over the edge. An empty bias is one of zeros.

use layout_cuda::tiled_kernels;

pub use kernels::{convolution, convolution_mma, depthwise};

/// No activation.
pub const NONE: usize = 0;
/// `max(x, 0)`, NaN for NaN.
pub const RELU: usize = 1;
/// `x / (1 + exp(-x))`
pub const SILU: usize = 2;

#[tiled_kernels(functions = product_ring)]
mod kernels {
    // A sum with its bias, through the activation.
    fn finished(sum: f32, bias: f32) -> f32 {
        let x = sum + bias;
        if ACTIVATION == 1 {
            select(x < 0.0, 0.0, x)
        } else if ACTIVATION == 2 {
            x / (1.0 + (-x).exp())
        } else {
            x
        }
    }

    // Copies the vectors of k of a stage and moves on to those of the next one: `at` is filter row, filter column, vector of the pixel.
    fn copy_stage(
        (x, filters): (impl Tensor<Elem = T>, impl Tensor<Elem = T>),
        (a_stage, b_stage): (View<T, Write>, View<T, Write>),
        patches: View<i32, Write>,
        (col, block): (usize, usize),
        (mut at, steps): (View<i32, Write>, View<i32, Write>),
        (high, wide, dilation_h, dilation_w): (i32, i32, i32, i32),
    ) {
        const PIECES: usize = BK / 8;
        const LINES: usize = BM * BN / (WM * WN) * 32 / PIECES;
        let (line, piece) = (thread_idx.x / PIECES, thread_idx.x % PIECES);
        // Behind the last k no pixel is read: zeros times zeros.
        let down = if at[[0]] < high { at[[0]] * dilation_h } else { i32::MIN / 2 };
        let across = at[[1]] * dilation_w;
        for i in unroll(0..BM / LINES) {
            let own = patches.tile([1, 4], [i * LINES + line, 0]).vectorize([1, 4]).to_local();
            let (image, top, left) = (own[[0, 0]], own[[0, 1]] + down, own[[0, 2]] + across);
            let place = [image as isize, top as isize, left as isize, at[[2]] as isize * 8];
            let from = x.window([1, 1, 1, 8], place).squeeze(0).squeeze(0).vectorize([1, 8]);
            a_stage.tile([1, 8], [i * LINES + line, piece]).vectorize([1, 8]).copy_from_async(&from);
        }
        let from = filters.tile([BN, BK], [col, block]).vectorize([1, 8]);
        copy_dram_to_sram_async(&mut b_stage.vectorize([1, 8]), &from, row_major([LINES, PIECES]));
        async_copy_commit_group();
        let vectors = (x.dim(3) / 8) as i32;
        at[[2]] += steps[[2]];
        if at[[2]] >= vectors {
            at[[2]] -= vectors;
            at[[1]] += 1;
        }
        at[[1]] += steps[[1]];
        if at[[1]] >= wide {
            at[[1]] -= wide;
            at[[0]] += 1;
        }
        at[[0]] += steps[[0]];
    }

    // Filter row, filter column and vector of the pixel of vector `piece` of k.
    fn digits(piece: i32, vectors: i32, wide: i32) -> View<i32, Write> {
        let mut digits = local::<i32>(row_major([3]));
        let tap = piece / vectors;
        digits[[0]] = tap / wide;
        digits[[1]] = tap % wide;
        digits[[2]] = piece % vectors;
        digits
    }

    /// By warps, for every card from sm_80 on: `out[pixel, filter]`, pixels of `height` by `width` in each image. Channels are whole
    /// vectors of 16 bytes.
    #[tiled_kernel(
        T = [bf16, f16], ACTIVATION = 0, BM = 128, BN = 128, BK = 32, WM = 64, WN = 64, STAGES = 3,
        block = [BM * BN / (WM * WN) * 32],
        grid = [M.div_ceil(BM) * K.div_ceil(BN)],
        require(C % 8 == 0, D % 8 == 0, M < 2147483392), variant_if(K % 2 == 0, B % 2 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn convolution_mma<
        T,
        const N: usize,
        const H: usize,
        const W: usize,
        const C: usize,
        const M: usize,
        const K: usize,
        const D: usize,
        const B: usize,
    >(
        x: &LayoutTensor<T, Pitched<N, H, W, C>>,
        filters: &LayoutTensor<T, Pitched<K, D>>,
        bias: &LayoutTensor<T, RowMajor<B>>,
        out: &mut LayoutTensor<T, Pitched<M, K>>,
        height: u32,
        width: u32,
        high: i32,
        wide: i32,
        stride_h: i32,
        stride_w: i32,
        padding_h: i32,
        padding_w: i32,
        dilation_h: i32,
        dilation_w: i32,
    ) {
        const PIECES: usize = BK / 8;
        const THREADS: usize = BM * BN / (WM * WN) * 32;
        let mma = mma_atom::<T>([16, 8, 16]);
        let (warp, lane) = ([warp_id() / (BN / WN), warp_id() % (BN / WN)], lane_id());
        let cols = K.div_ceil(BN);
        let (row, col) = (block_idx.x / cols, block_idx.x % cols);
        // Image, row and column of the first element of each patch. In registers of each thread they would leave the sums too few.
        let mut patches = shared::<i32>(row_major([BM, 4]));
        for line in (thread_idx.x..BM).step_by(THREADS) {
            let pixel = (row * BM + line) as u32;
            let of_row = pixel / width;
            patches[[line, 0]] = (of_row / height) as i32;
            patches[[line, 1]] = (of_row % height) as i32 * stride_h - padding_h;
            patches[[line, 2]] = (pixel % width) as i32 * stride_w - padding_w;
            patches[[line, 3]] = 0;
        }
        barrier();
        let vectors = (C / 8).max(1) as i32;
        let at = digits((thread_idx.x % PIECES) as i32, vectors, wide);
        let steps = digits(PIECES as i32, vectors, wide);
        let a_smem = shared::<T>(row_major([STAGES, BM, BK]).swizzle(2, 3, 3));
        let b_smem = shared::<T>(row_major([STAGES, BN, BK]).swizzle(2, 3, 3));
        let patch = (high, wide, dilation_h, dilation_w);
        for ahead in unroll(0..STAGES - 1) {
            let stage = (a_smem.slice(ahead), b_smem.slice(ahead));
            copy_stage((x, filters), stage, patches, (col, ahead), (at, steps), patch);
        }
        let mut acc = local::<f32>(row_major([WM / 16, WN / 2])).fill(0.0);
        async_copy_wait_group(STAGES - 2);
        barrier();
        let a_now = mma.load_a(&a_smem.slice(0).tile([WM, 16], [warp[0], 0]));
        let b_now = mma.load_b(&b_smem.slice(0).tile([WN, 16], [warp[1], 0]).transpose());
        for block in 0..D.div_ceil(BK) {
            for step in unroll(0..BK / 16) {
                let after = (step + 1) % (BK / 16);
                if after == 0 {
                    async_copy_wait_group(STAGES - 2);
                    // The next stage is there for all warps, and none reads the one that is filled next.
                    barrier();
                }
                if step == 0 {
                    let later = block + STAGES - 1;
                    let stage = (a_smem.slice(later % STAGES), b_smem.slice(later % STAGES));
                    copy_stage((x, filters), stage, patches, (col, later), (at, steps), patch);
                }
                let stage = (block + (step + 1) / (BK / 16)) % STAGES;
                let a_next = mma.load_a(&a_smem.slice(stage).tile([WM, 16], [warp[0], after]));
                let b_next = mma.load_b(&b_smem.slice(stage).tile([WN, 16], [warp[1], after]).transpose());
                mma.mma(&mut acc, &a_now, &b_now);
                a_now.copy_from(&a_next);
                b_now.copy_from(&b_next);
            }
        }
        async_copy_wait_all();
        let dst = out.tile([BM, BN], [row, col]).tile([WM, WN], warp);
        for fragment in unroll(0..WM / 16) {
            let mut sums = local::<f32>(row_major([1, WN / 2]));
            // Read for each fragment: held for all of them it would take the registers that the sums leave.
            let of_filters = local::<T>(row_major([WN / 4]));
            let own = bias.tile([BN], [col]).tile([WN], [warp[1]]).vectorize([2]);
            of_filters.vectorize([2]).copy_from(&own.distribute(row_major([4]), lane % 4));
            for i in unroll(0..WN / 2) {
                sums[[0, i]] = finished(acc[[fragment, i]], of_filters[[i / 4 * 2 + i % 2]].cast::<f32>());
            }
            mma.store_d(&mut dst.tile([16, WN], [fragment, 0]), &sums.cast::<T>());
        }
    }

    /// A filter for each channel: a block has `GROUP` vectors of `V` channels and `256 / GROUP` strips of `PIXELS` pixels of a row. A run of a
    /// filter's row is `WIDE` elements, of which `wide` is a multiple. Strips of several pixels have a stride of `STRIDE`, no dilation.
    #[tiled_kernel(
        T = [bf16, f16], ACTIVATION = 0, V = [8, 1], GROUP = [8, 64], WIDE = 3, PIXELS = 4, STRIDE = [1, 2], filter(GROUP * V == 64, T == bf16 || STRIDE == 1),
        block = [256], grid = [(N * P * Q.div_ceil(PIXELS)).div_ceil(256 / GROUP) * C.div_ceil(GROUP * V)],
        require(C % V == 0, wide % WIDE == 0, N * P * Q < 2147483392),
        deny(narrowed),
    )]
    pub fn depthwise<
        T,
        const N: usize,
        const H: usize,
        const W: usize,
        const C: usize,
        const P: usize,
        const Q: usize,
        const D: usize,
        const B: usize,
    >(
        x: &LayoutTensor<T, Pitched<N, H, W, C>>,
        filters: &LayoutTensor<T, Pitched<C, D>>,
        bias: &LayoutTensor<T, RowMajor<B>>,
        out: &mut LayoutTensor<T, Pitched<N, P, Q, C>>,
        wide: usize,
        stride_h: i32,
        stride_w: i32,
        padding_h: i32,
        padding_w: i32,
        dilation_h: i32,
        dilation_w: i32,
    ) {
        const F: usize = if V < 4 { V } else { 4 };
        let (wide, taps) = (wide as u32, D as u32);
        let (groups, strips) = (C.div_ceil(GROUP * V) as u32, (Q.div_ceil(PIXELS)) as u32);
        let (block, thread) = (block_idx.x as u32, thread_idx.x as u32);
        let strip = block / groups * (256 / GROUP as u32) + thread / GROUP as u32;
        let channel = (block % groups * GROUP as u32 + thread % GROUP as u32) as usize * V;
        let (line, column) = (strip / strips, strip % strips * PIXELS as u32);
        let (image, row) = (line / P as u32, line % P as u32);
        let works = thread < (256 / GROUP * GROUP) as u32 && image < N as u32 && channel < C;
        let top = row as i32 * stride_h - padding_h;
        let left = column as i32 * stride_w - padding_w;
        let mut held = shared::<f32>(row_major([8 * WIDE, 68]));
        let mut sums = local::<f32>(row_major([PIXELS, V])).fill(0.0);
        // Of the run: its row of the filter, and its first column.
        let (mut r, mut s) = (0u32, 0u32);
        for first in (0..taps).step_by(8 * WIDE) {
            barrier();
            let count = (taps - first).min(8 * WIDE as u32);
            for at in (thread..count * (GROUP * V) as u32).step_by(256) {
                let own = (block % groups * (GROUP * V) as u32 + at / count) as usize;
                if own < C {
                    let weight = filters[[own, (first + at % count) as usize]].cast::<f32>();
                    held[[(at % count) as usize, (at / count) as usize]] = weight;
                }
            }
            barrier();
            if works {
                for run in (0..count).step_by(WIDE) {
                    let of_run =
                        held.window([WIDE, V], [run as isize, (thread % GROUP as u32) as isize * V as isize]);
                    let weights = of_run.vectorize([1, F]).to_local();
                    let down = top + r as i32 * dilation_h;
                    for c in unroll(0..PIXELS * STRIDE - STRIDE + WIDE) {
                        let across = left + (s as i32 + c as i32) * dilation_w;
                        let place = [image as isize, down as isize, across as isize, channel as isize];
                        let pixel = x.window([1, 1, 1, V], place).vectorize([1, 1, 1, V]).to_local();
                        for p in unroll(0..PIXELS) {
                            if c >= p * STRIDE && c < p * STRIDE + WIDE {
                                for i in unroll(0..V) {
                                    let x = pixel[[0, 0, 0, i]].cast::<f32>();
                                    sums[[p, i]] += x * weights[[c - p * STRIDE, i]];
                                }
                            }
                        }
                    }
                    s += WIDE as u32;
                    if s == wide {
                        (r, s) = (r + 1, 0);
                    }
                }
            }
        }
        if works {
            let of_filters = bias.tile([V], [channel / V]).vectorize([V]).to_local();
            for p in unroll(0..PIXELS) {
                let mut own = local::<T>(row_major([1, 1, 1, V]));
                for i in unroll(0..V) {
                    own[[0, 0, 0, i]] = finished(sums[[p, i]], of_filters[[i]].cast::<f32>()).cast::<T>();
                }
                let place = [image as usize, row as usize, column as usize + p, channel];
                out.window([1, 1, 1, V], place)
                    .vectorize([1, 1, 1, V])
                    .copy_from(&own.vectorize([1, 1, 1, V]));
            }
        }
    }

    // Which box of pixels and which filters a tile of the output is.
    fn tile_of(tile: usize, (tall, broad, cols): (usize, usize, usize)) -> (usize, usize, usize, usize) {
        let of_box = tile / cols;
        (of_box / broad / tall, of_box / broad % tall, of_box % broad, tile % cols)
    }

    // The producer: one thread fills the stages, for each tile of this block of threads each filter element and 64 channels.
    fn load(
        (x, filters): (impl Tensor<Elem = T>, impl Tensor<Elem = T>),
        (a_smem, b_smem, full, empty): (View<T, Write>, View<T, Write>, Mbarriers, Mbarriers),
        (tall, broad, cols, tiles): (usize, usize, usize, usize),
        (high, wide): (usize, usize),
        (padding_h, padding_w, dilation_h, dilation_w): (isize, isize, isize, isize),
    ) {
        const IMAGES: usize = 128 / (TALL * BROAD);
        let mut next = pipeline_state(STAGES);
        for tile in (block_idx.x..tiles).step_by(SMS) {
            let (image, row, column, col) = tile_of(tile, (tall, broad, cols));
            for r in 0..high {
                for s in 0..wide {
                    for block in 0..x.dim(3).div_ceil(64) {
                        let stage = next.stage();
                        let (mut a_stage, mut b_stage) = (a_smem.slice(stage), b_smem.slice(stage));
                        empty.at(stage).wait(1 - next.phase());
                        full.at(stage).arrive_expect(a_stage.bytes() + b_stage.bytes());
                        let place = [
                            (image * IMAGES) as isize,
                            (row * TALL) as isize + r as isize * dilation_h - padding_h,
                            (column * BROAD) as isize + s as isize * dilation_w - padding_w,
                            (block * 64) as isize,
                        ];
                        let from = x.window([IMAGES, TALL, BROAD, 64], place);
                        tma_load(&mut a_stage.reshape([IMAGES, TALL, BROAD, 64]), &from, full.at(stage));
                        let from = filters.tile([BN, 1, 64], [col, r * wide + s, block]).squeeze(1);
                        tma_load(&mut b_stage, &from, full.at(stage));
                        next.advance();
                    }
                }
            }
        }
    }

    // Stores 64 columns of a warpgroup's sums, finished: by TMA, or where the rows of the output are no multiples of 16 bytes by its threads.
    fn store(
        (bias, out): (impl Tensor<Elem = T>, impl Tensor<Elem = T, Access = Write>),
        mut staged: View<T, Write>,
        sums: View<f32, Write>,
        (image, row, column, col): (usize, usize, usize, usize),
        consumer: usize,
    ) {
        const IMAGES: usize = 128 / (TALL * BROAD);
        // Half of the box, along its first mode that has two.
        const HALF_IMAGES: usize = if IMAGES > 1 { IMAGES / 2 } else { 1 };
        const HALF_TALL: usize = if IMAGES == 1 && TALL > 1 { TALL / 2 } else { TALL };
        const HALF_BROAD: usize = if IMAGES * TALL == 1 { BROAD / 2 } else { BROAD };
        let (warp, lane, leads) = (thread_idx.x % 128 / 32, lane_id(), thread_idx.x % 128 == 0);
        let of_filters = local::<T>(row_major([16]));
        let of_columns = bias.tile([64], [col]).vectorize([2]).distribute(row_major([4]), lane % 4);
        of_filters.vectorize([2]).copy_from(&of_columns);
        let mut own = local::<f32>(row_major([2, 16]));
        for h in unroll(0..2) {
            for i in unroll(0..16) {
                own[[h, i]] = finished(sums[[h, i]], of_filters[[i]].cast::<f32>());
            }
        }
        if DIRECT {
            let rounded = local::<T>(row_major([2, 16]));
            rounded.copy_from(&own.cast::<T>());
            for h in unroll(0..2) {
                let pixel = 64 * consumer + 16 * warp + 8 * h + lane / 4;
                let place = [
                    image * IMAGES + pixel / (TALL * BROAD),
                    row * TALL + pixel / BROAD % TALL,
                    column * BROAD + pixel % BROAD,
                    col * 64,
                ];
                let to = out.window([1, 1, 1, 64], place).squeeze(0).squeeze(0).vectorize([1, 2]);
                to.distribute(row_major([1, 4]), lane % 4)
                    .copy_from(&rounded.tile([1, 16], [h, 0]).vectorize([1, 2]));
            }
        } else {
            if leads {
                bulk_wait_group_read(BUFFERS - 1);
            }
            named_barrier(1 + consumer, 128);
            store_matrix(&mut staged, &own.vectorize([1, 2]));
            fence_async_proxy();
            named_barrier(1 + consumer, 128);
            if leads {
                let place = [
                    image * IMAGES + if IMAGES > 1 { consumer * HALF_IMAGES } else { 0 },
                    row * TALL + if IMAGES == 1 && TALL > 1 { consumer * HALF_TALL } else { 0 },
                    column * BROAD + if IMAGES * TALL == 1 { consumer * HALF_BROAD } else { 0 },
                    col * 64,
                ];
                let mut to = out.window([HALF_IMAGES, HALF_TALL, HALF_BROAD, 64], place);
                tma_store(&mut to, &staged.reshape([HALF_IMAGES, HALF_TALL, HALF_BROAD, 64]));
                bulk_commit_group();
            }
        }
    }

    /// By TMA and warpgroup products, for a stride of 1: a tile is `TALL` by `BROAD` pixels of `128 / (TALL BROAD)` images. Filters are
    /// `[filter, element, channel]`, of `high` by `wide` elements.
    #[tiled_kernel(
        T = [bf16, f16], ACTIVATION = 0, DIRECT = [false, true], BN = 128, BUFFERS = if BN % 128 == 0 { 2 } else { 1 }, TALL = 8, BROAD = 8,
        STAGES = 4, AHEAD = 1, SMS = 132, filter(T == bf16 || !DIRECT),
        arch = "sm_90a", block = [384], min_blocks = 1,
        grid = [(N.div_ceil(128 / (TALL * BROAD)) * P.div_ceil(TALL) * Q.div_ceil(BROAD) * K.div_ceil(BN)).min(SMS)],
        require(N.div_ceil(128 / (TALL * BROAD)) * P.div_ceil(TALL) * Q.div_ceil(BROAD) * K.div_ceil(BN) <= 1 << 24),
        variant_if(K % 2 == 0, B % 2 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn convolution<
        T,
        const N: usize,
        const H: usize,
        const W: usize,
        const C: usize,
        const P: usize,
        const Q: usize,
        const K: usize,
        const D: usize,
        const B: usize,
    >(
        x: &LayoutTensor<T, Pitched<N, H, W, C>>,
        filters: &LayoutTensor<T, Pitched<K, D, C>>,
        bias: &LayoutTensor<T, RowMajor<B>>,
        out: &mut LayoutTensor<T, Pitched<N, P, Q, K>>,
        high: usize,
        wide: usize,
        padding_h: isize,
        padding_w: isize,
        dilation_h: isize,
        dilation_w: isize,
    ) {
        let (tall, broad, cols) = (P.div_ceil(TALL), Q.div_ceil(BROAD), K.div_ceil(BN));
        let tiles = (N.div_ceil(128 / (TALL * BROAD)) * tall * broad * cols).min(1 << 24);
        let a_smem = shared::<T>(row_major([STAGES, 2, 64, 64]).swizzle_bytes(128));
        let b_smem = shared::<T>(row_major([STAGES, BN, 64]).swizzle_bytes(128));
        let c_smem = shared::<T>(row_major([2 * BUFFERS, 64, 64]).swizzle_bytes(128));
        let (full, empty) = (mbarriers(STAGES, 1), mbarriers(STAGES, 2));
        barrier();
        grid_dependency_wait();
        launch_dependents();
        if warp_group() == 0 {
            set_max_registers(40);
            if thread_idx.x == 0 {
                let ring = (a_smem, b_smem, full, empty);
                let patch = (padding_h, padding_w, dilation_h, dilation_w);
                load((x, filters), ring, (tall, broad, cols, tiles), (high, wide), patch);
            }
        } else {
            set_max_registers(232);
            let (consumer, leads) = (warp_group() - 1, thread_idx.x % 128 == 0);
            let blocks = high * wide * C.div_ceil(64);
            let acc = accumulator([64, BN]).fill(0.0);
            let ring = (a_smem, b_smem.permute([0, 2, 1]), full, empty);
            let (mut next, mut read) = (pipeline_state(STAGES), pipeline_state(STAGES));
            for tile in (block_idx.x..tiles).step_by(SMS) {
                accumulate(acc, ring, (&mut next, &mut read), (consumer, leads, blocks));
                let (image, row, column, col) = tile_of(tile, (tall, broad, cols));
                for part in unroll(0..BN / 64) {
                    let place = (image, row, column, col * (BN / 64) + part);
                    let staged = c_smem.slice(consumer + 2 * (part % BUFFERS));
                    store((bias, &out), staged, acc.tile([2, 8], [0, part]), place, consumer);
                }
            }
            if leads {
                bulk_wait_group_read(0);
            }
        }
    }
}

use layout_cuda::Definition;

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 3] {
    [&convolution::DEFINITION, &convolution_mma::DEFINITION, &depthwise::DEFINITION]
}
