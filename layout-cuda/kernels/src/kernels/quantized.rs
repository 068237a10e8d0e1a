//! `C = A B` of few rows of A and a B of 4 or 8 bits an element, with a scale and a zero for each GROUP of `k` of a column.
//!
//! ```text
//! B:      tiles of 8 columns and 128 k in the order in which a warp reads them: a lane's 16 bytes are 32 elements of 4 bits of one column
//! scales: [K / GROUP, N], a float32 whose lowest eight bits are the zero
//! warp:   16 FRAGMENTS columns, every SHARES-th tile of k
//! ```
//!
//! For speed: an element q becomes the 16-bit float 16 + q by a shift and one logical operation for two, which write q into the fraction
//! of 16. The offset leaves in float32: `sum a (16 + q) - (16 + zero) sum a`, where the second sum is a matrix product with ones. 8 bits
//! are two products, of 256 + 16 high and of 16 + low.
//!
//! Law: sums in float32 in an order that the shape alone fixes. A group's sum is within 2⁻¹⁷ of `scale * sum |a| (offset + q)`, where the
//! offset is 16 + zero, of 8 bits 272 + zero. An infinite element of A gives NaN.

use layout_cuda::tiled_kernels;

pub use kernels::{dequantize, few_rows_quantized, quantize};

#[tiled_kernels]
mod kernels {
    /// The place of an element among the words of a lane: of the eight of a row's 32 `k`, and among them.
    fn place_of(eight: usize, k: usize) -> (usize, u32) {
        if BITS == 4 {
            (eight, (4 * (k / 2) + 16 * (k % 2)) as u32)
        } else {
            (2 * eight + k / 4, (8 * (k % 4 / 2) + 16 * (k % 2)) as u32)
        }
    }

    /// Digit `digit`, of four bits, of both halves of a word as two numbers: 16 + digit, or 256 + 16 digit of the higher plane.
    fn two_numbers(word: u32, digit: usize, plane: usize) -> u32 {
        /// The exponent of 16, biased.
        const SIXTEEN: u32 = if FRACTION == 7 { 131 } else { 19 };
        let to = FRACTION - 4;
        let moved =
            if 4 * digit <= to { word << (to - 4 * digit) as u32 } else { word >> (4 * digit - to) as u32 };
        let exponent = (SIXTEEN + 4 * plane as u32) << FRACTION as u32;
        moved & (0xf000f << to as u32) | exponent << 16 | exponent
    }

    /// Each block makes 8 EIGHTS rows and 16 FRAGMENTS STRIPS columns of C.
    #[tiled_kernel(
        T = [bf16, f16], FRACTION = [7, 10], BITS = [4, 8], GROUP = [128, 32], EIGHTS = 1, FRAGMENTS = 1, STRIPS = 1, SHARES = 16, AHEAD = 32,
        block = [32 * SHARES * STRIPS],
        grid = [M.div_ceil(8 * EIGHTS), N.div_ceil(16 * FRAGMENTS * STRIPS)],
        filter((T == bf16) == (FRACTION == 7), T == bf16 || GROUP == 128),
        variant_if(K % 8 == 0),
        deny(narrowed, synchronous),
    )]
    pub fn few_rows_quantized<
        T,
        const M: usize,
        const N: usize,
        const K: usize,
        const TILES: usize,
        const BLOCKS: usize,
        const WORDS: usize,
        const G: usize,
        const P: usize,
    >(
        a: &LayoutTensor<T, Contiguous<1, M, K>>,
        b: &LayoutTensor<u32, Contiguous<2, TILES, BLOCKS, WORDS>>,
        scales: &LayoutTensor<u32, Contiguous<1, G, P>>,
        c: &mut LayoutTensor<T, Pitched<M, N>>,
    ) {
        const ROWS: usize = 8 * EIGHTS;
        const COLUMNS: usize = 16 * FRAGMENTS;
        const STEPS: usize = if GROUP < 128 { GROUP / 32 } else { 4 };
        const OFFSET: f32 = if BITS == 4 { 16.0 } else { 272.0 };
        const PLANES: usize = BITS / 4;
        assume(WORDS == 32 * BITS);
        let mma = mma_atom::<T>([16, 8, 16]);
        let (line, part) = (lane_id() / 4, lane_id() % 4);
        let (share, strip) = (warp_id() % SHARES, warp_id() / SHARES);
        let first = (block_idx.y * STRIPS + strip) * COLUMNS;
        let mut acc = local::<f32>(row_major([FRAGMENTS, 4 * EIGHTS])).fill(0.0);
        let ones = local::<T>(row_major([1, 8])).fill(T::ONE);
        let scales = scales.pad(0);
        launch_dependents();
        // While the launches ahead end, L2 fetches what it has room for: AHEAD lines of the block's weights for each eight columns.
        for eight in (warp_id()..2 * FRAGMENTS * STRIPS).step_by(SHARES * STRIPS) {
            for line in (lane_id()..(b.dim(1) * BITS).min(AHEAD)).step_by(32) {
                b.prefetch([block_idx.y * (2 * FRAGMENTS * STRIPS) + eight, line / BITS, line % BITS * 32]);
            }
        }
        grid_dependency_wait();
        for block in (share..BLOCKS).step_by(SHARES) {
            let mut words = local::<u32>(row_major([2 * FRAGMENTS, BITS]));
            for f in unroll(0..2 * FRAGMENTS) {
                for plane in unroll(0..PLANES) {
                    let own = b.tile([1, 1, 4], [first / 8 + f, block, plane * 32 + lane_id()]);
                    let own = own.vectorize([1, 1, 4]).to_local();
                    for i in unroll(0..4) {
                        words[[f, 4 * plane + i]] = own[[0, 0, i]];
                    }
                }
            }
            for group in unroll(0..4 / STEPS) {
                let mut sums = local::<f32>(row_major([FRAGMENTS, 4 * EIGHTS])).fill(0.0);
                let mut total = local::<f32>(row_major([1, 4 * EIGHTS])).fill(0.0);
                for step in unroll(0..STEPS) {
                    let eight = group * STEPS + step;
                    let mut right = local::<T>(row_major([2, EIGHTS, 4]));
                    for g in unroll(0..EIGHTS) {
                        let own = a.tile(
                            [1, 8],
                            [block_idx.x * ROWS + g * 8 + line, (block * 4 + eight) * 4 + part],
                        );
                        let own = own.vectorize([1, 8]).to_local();
                        for i in unroll(0..8) {
                            right[[i / 4, g, i % 4]] = own[[0, i]];
                        }
                    }
                    for half in unroll(0..2) {
                        for plane in unroll(0..PLANES) {
                            let mut left = local::<T>(row_major([FRAGMENTS, 8]));
                            for f in unroll(0..2 * FRAGMENTS) {
                                for pair in unroll(0..2) {
                                    // Of 4 bits an eight is a word and a half of it four k; of 8 bits a word is four k.
                                    let word = if BITS == 4 {
                                        words[[f, eight]]
                                    } else {
                                        words[[f, 2 * eight + half]]
                                    };
                                    let digit = if BITS == 4 { 2 * half + pair } else { 2 * pair + plane };
                                    let two = two_numbers(word, digit, plane);
                                    left[[f / 2, 4 * pair + f % 2 * 2]] = T::from_bits(two as u16);
                                    left[[f / 2, 4 * pair + f % 2 * 2 + 1]] =
                                        T::from_bits((two >> 16) as u16);
                                }
                            }
                            mma.mma(&mut sums, &left, &right.slice(half));
                        }
                        mma.mma(&mut total, &ones, &right.slice(half));
                    }
                }
                for f in unroll(0..2 * FRAGMENTS) {
                    let word = scales[[(block * 128 + group * 32 * STEPS) / GROUP, first + f * 8 + line]];
                    let (scale, offset) = (f32::from_bits(word & !0xff), (word & 0xff) as f32 + OFFSET);
                    for g in unroll(0..EIGHTS) {
                        for e in unroll(0..2) {
                            let at = 4 * g + 2 * (f % 2) + e;
                            let sum = total[[0, 4 * g + e]].mul_add(-offset, sums[[f / 2, at]]);
                            acc[[f / 2, at]] = sum.mul_add(scale, acc[[f / 2, at]]);
                        }
                    }
                }
            }
        }
        // A row of sums is a column of C.
        let sums = shared::<f32>(row_major([SHARES, STRIPS * COLUMNS, ROWS + 2]));
        let mut own = sums.slice(share).tile([COLUMNS, ROWS], [strip, 0]);
        mma.store_d(&mut own, &acc);
        barrier();
        let mut to = c.tile([ROWS, STRIPS * COLUMNS], [block_idx.x, block_idx.y]);
        for place in (thread_idx.x..ROWS * STRIPS * COLUMNS).step_by(32 * SHARES * STRIPS) {
            let (i, j) = (place / (STRIPS * COLUMNS), place % (STRIPS * COLUMNS));
            let mut sum = sums[[0, j, i]];
            for share in unroll(1..SHARES) {
                sum += sums[[share, j, i]];
            }
            to[[i, j]] = sum.cast::<T>();
        }
    }

    /// Rounds a matrix to BITS an element: of a group the least and the largest, and 0, span all numbers. A warp makes a tile of 8 columns
    /// and 128 k.
    #[tiled_kernel(
        T = [bf16, f32, f16], BITS = [4, 8], GROUP = [128, 32],
        block = [32],
        grid = [TILES, BLOCKS],
        filter(T == bf16 || GROUP == 128 && BITS == 4), deny(narrowed),
    )]
    pub fn quantize<
        T,
        const K: usize,
        const N: usize,
        const TILES: usize,
        const BLOCKS: usize,
        const WORDS: usize,
        const G: usize,
        const P: usize,
    >(
        b: &LayoutTensor<T, Strided<K, N>>,
        words: &mut LayoutTensor<u32, Contiguous<2, TILES, BLOCKS, WORDS>>,
        scales: &mut LayoutTensor<u32, Contiguous<1, G, P>>,
    ) {
        const STEPS: usize = if GROUP < 128 { GROUP / 32 } else { 4 };
        const LARGEST: f32 = if BITS == 4 { 15.0 } else { 255.0 };
        assume(WORDS == 32 * BITS);
        let (line, part) = (lane_id() / 4, lane_id() % 4);
        let (tile, block) = (block_idx.x, block_idx.y);
        let column = tile * 8 + line;
        let b = b.pad(T::ZERO);
        let mut own = local::<u32>(row_major([BITS])).fill(0);
        for group in unroll(0..4 / STEPS) {
            let mut low: f32 = 0.0;
            let mut high: f32 = 0.0;
            for step in unroll(0..STEPS) {
                for k in unroll(0..8) {
                    let x =
                        b[[block * 128 + (group * STEPS + step) * 32 + part * 8 + k, column]].cast::<f32>();
                    low = low.min(x);
                    high = high.max(x);
                }
            }
            low = low.min(low.shuffle_xor(1));
            low = low.min(low.shuffle_xor(2));
            high = high.max(high.shuffle_xor(1));
            high = high.max(high.shuffle_xor(2));
            // Upwards to the bits that a scale has next to its zero: what is least and largest stays within reach.
            let bits = (high / LARGEST - low / LARGEST).to_bits().wrapping_add(0xff) & !0xff;
            let scale = f32::from_bits(bits);
            let unit = select(scale > 0.0, scale, 1.0);
            let zero = (-low / unit).round_ties_even().clamp(0.0, LARGEST);
            for step in unroll(0..STEPS) {
                for k in unroll(0..8) {
                    let eight = group * STEPS + step;
                    let x = b[[block * 128 + eight * 32 + part * 8 + k, column]].cast::<f32>();
                    let q = ((x / unit).round_ties_even() + zero).clamp(0.0, LARGEST);
                    let (word, shift) = place_of(eight, k);
                    own[[word]] |= (q as u32) << shift;
                }
            }
            if part == 0 {
                scales[[(block * 128 + group * 32 * STEPS) / GROUP, column]] = bits | zero as u32;
            }
        }
        for plane in unroll(0..BITS / 4) {
            for i in unroll(0..4) {
                words[[tile, block, plane * 128 + lane_id() * 4 + i]] = own[[4 * plane + i]];
            }
        }
    }

    /// The matrix that the numbers are of, rounded to the type of its elements.
    #[tiled_kernel(
        T = [bf16, f16, f32], BITS = [4, 8], GROUP = [128, 32],
        block = [32],
        grid = [TILES, BLOCKS],
        filter(T == bf16 || GROUP == 128 && BITS == 4), variant_if(K % 8 == 0), deny(narrowed),
    )]
    pub fn dequantize<
        T,
        const K: usize,
        const N: usize,
        const TILES: usize,
        const BLOCKS: usize,
        const WORDS: usize,
        const G: usize,
        const P: usize,
    >(
        words: &LayoutTensor<u32, Contiguous<2, TILES, BLOCKS, WORDS>>,
        scales: &LayoutTensor<u32, Contiguous<1, G, P>>,
        b: &mut LayoutTensor<T, Contiguous<0, K, N>>,
    ) {
        assume(WORDS == 32 * BITS);
        let (line, part) = (lane_id() / 4, lane_id() % 4);
        let (tile, block) = (block_idx.x, block_idx.y);
        let column = tile * 8 + line;
        let mut own = local::<u32>(row_major([BITS]));
        for plane in unroll(0..BITS / 4) {
            for i in unroll(0..4) {
                own[[4 * plane + i]] = words[[tile, block, plane * 128 + lane_id() * 4 + i]];
            }
        }
        let own_column = b.transpose().tile([1, 128], [column, block]).vectorize([1, 8]);
        let own_column = own_column.distribute(row_major([1, 4]), part);
        for eight in unroll(0..4) {
            let word = scales[[(block * 128 + eight * 32) / GROUP, column]];
            let (scale, zero) = (f32::from_bits(word & !0xff), (word & 0xff) as f32);
            let mut values = local::<T>(row_major([1, 8]));
            for k in unroll(0..8) {
                let (word, shift) = place_of(eight, k);
                let q = (own[[word]] >> shift) & (if BITS == 4 { 0xf } else { 0xff });
                values[[0, k]] = ((q as f32 - zero) * scale).cast::<T>();
            }
            own_column.tile([1, 1], [0, eight]).copy_from(&values.vectorize([1, 8]));
        }
    }
}
