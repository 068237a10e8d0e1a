//! Numbers of eight bits with scales of groups, both ways: e4m3, e5m2, i8 times a float32 that is the largest size of the group over the
//! type's greatest number.
//!
//! ```text
//! blocks:  16 bytes a thread of 128 columns; their largest by shuffles, with SQUARE by the block; then the numbers, from registers
//! rows:    a block reads its row twice, the second time from the caches; with WHOLE it has the largest of all and a part
//! ```
//!
//! Law: x over the scale, rounded to float32, then to the nearest number of the type, of two the even one; none is beyond the greatest. A group
//! of zeros has a scale of 0, one with a NaN a scale that is NaN, one with an infinity that infinity.

use layout_cuda::{Definition, tiled_kernels};

pub use absmax::{expand_groups, quantize_groups, quantize_rows};

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 3] {
    [&quantize_groups::DEFINITION, &quantize_rows::DEFINITION, &expand_groups::DEFINITION]
}

#[tiled_kernels]
mod absmax {
    // A vector of x as float32, zeros beyond the end, and its largest size as bits: those of a NaN are above every number's.
    fn taken(x: impl Tensor<Elem = T>, row: usize, vector: usize, mut values: View<f32, Write>) -> u32 {
        let own = x.window([1, V], [row as isize, (vector * V) as isize]).vectorize([1, V]).to_local();
        let mut bits = 0u32;
        for i in unroll(0..V) {
            values[[0, i]] = own[[0, i]].cast::<f32>();
            bits = bits.max(values[[0, i]].to_bits() & 0x7fff_ffff);
        }
        bits
    }

    fn of_bits(bits: u32) -> f32 {
        f32::from_bits(bits) / U::MAX.cast::<f32>()
    }

    // Numbers over their scale, of the type.
    fn store(
        out: impl Tensor<Elem = U, Access = Write>,
        row: usize,
        vector: usize,
        values: View<f32, Write>,
        scale: f32,
    ) {
        let greatest = U::MAX.cast::<f32>();
        let mut own = local::<U>(row_major([1, V]));
        for i in unroll(0..V) {
            let x = select(scale == 0.0, 0.0, values[[0, i]] / scale).clamp(-greatest, greatest);
            own[[0, i]] = if WHOLES { x.round_ties_even().cast::<U>() } else { x.cast::<U>() };
        }
        let to = out.window([1, V], [row as isize, (vector * V) as isize]).vectorize([1, V]);
        to.copy_from(&own.vectorize([1, V]));
    }

    /// `out` and `scales` of groups of 128 columns of a row, with `SQUARE` of 128 rows.
    #[tiled_kernel(
        T = [f32, bf16, f16], U = [e4m3, e5m2, i8], SQUARE = [false, true], WHOLES = [false, true], V = 16 / size_of::<T>(),
        ROWS = if SQUARE { 128 } else { 32 }, filter((U == i8) == WHOLES, T == bf16 || U == e4m3 && !SQUARE),
        arch = "sm_89", block = [256], grid = [M.div_ceil(ROWS) * N.div_ceil(128)], variant_if(N % 8 == 0),
        deny(narrowed),
    )]
    pub fn quantize_groups<T, U, const M: usize, const N: usize, const G: usize, const H: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        out: &mut LayoutTensor<U, RowMajor<M, N>>,
        scales: &mut LayoutTensor<f32, RowMajor<G, H>>,
    ) {
        const LANES: usize = 128 / V;
        const STEP: usize = 256 / LANES;
        const ROUNDS: usize = ROWS / STEP;
        let columns = N.div_ceil(128);
        let (band, column) = (block_idx.x / columns, block_idx.x % columns);
        let (line, lane) = (thread_idx.x / LANES, thread_idx.x % LANES);
        let vector = column * LANES + lane;
        let mut values = local::<f32>(row_major([ROUNDS, V]));
        let mut bits = [0u32; ROUNDS];
        let mut most = 0u32;
        for round in unroll(0..ROUNDS) {
            bits[round] =
                taken(x, band * ROWS + round * STEP + line, vector, values.tile([1, V], [round, 0]));
            most = most.max(bits[round]);
        }
        if SQUARE {
            most = most.block_max();
            if thread_idx.x == 0 {
                scales[[band, column]] = of_bits(most);
            }
        }
        for round in unroll(0..ROUNDS) {
            let row = band * ROWS + round * STEP + line;
            if !SQUARE {
                most = bits[round];
                for level in unroll(0..LANES.ilog2()) {
                    most = most.max(most.shuffle_xor(1 << level));
                }
                if lane == 0 && row < M {
                    scales[[row, column]] = of_bits(most);
                }
            }
            store(&out, row, vector, values.tile([1, V], [round, 0]), of_bits(most));
        }
    }

    /// `out` and `scales` of rows. With `WHOLE` all have the one scale of `bits`, of the largest size, and `SPAN` elements are a block's.
    #[tiled_kernel(
        T = [f32, bf16, f16], U = [e4m3, e5m2, i8], WHOLE = [false, true], WHOLES = [false, true], V = 16 / size_of::<T>(),
        SPAN = if WHOLE { 8192 } else { 2147483648 }, filter((U == i8) == WHOLES, T == bf16 || U == e4m3 && !WHOLE),
        arch = "sm_89", block = [256], grid = [M * N.div_ceil(SPAN)], require(N < 2147483648), variant_if(N % 8 == 0),
        deny(narrowed),
    )]
    pub fn quantize_rows<T, U, const M: usize, const N: usize, const G: usize, const L: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        bits: &LayoutTensor<u32, RowMajor<L>>,
        out: &mut LayoutTensor<U, RowMajor<M, N>>,
        scales: &mut LayoutTensor<f32, RowMajor<G, 1>>,
    ) {
        let parts = N.div_ceil(SPAN);
        let (row, part) = (block_idx.x / parts, block_idx.x % parts);
        let (first, end) = (part * (SPAN / V), (N.div_ceil(V)).min((part + 1) * (SPAN / V)));
        let mut values = local::<f32>(row_major([1, V]));
        let mut most = 0u32;
        if WHOLE {
            most = bits[[0]];
        } else {
            for vector in (first + thread_idx.x..end).step_by(256) {
                most = most.max(taken(x, row, vector, values));
            }
            most = most.block_max();
        }
        let scale = of_bits(most);
        if thread_idx.x == 0 && part == 0 {
            scales[[row, 0]] = scale;
        }
        for vector in (first + thread_idx.x..end).step_by(256) {
            taken(x, row, vector, values);
            store(&out, row, vector, values, scale);
        }
    }

    /// `out[i, j]`: `x[i, j]` times the scale of its group of `rows` by `columns`, rounded; of `columns` 16 or the row's end is a divisor.
    #[tiled_kernel(
        T = [f32, bf16, f16], U = [e4m3, e5m2, i8], filter(T == bf16 || U == e4m3),
        arch = "sm_89", block = [256], grid = [(M * N.div_ceil(16)).div_ceil(256)], require(M * N < 4294967296), variant_if(N % 16 == 0),
        deny(narrowed),
    )]
    pub fn expand_groups<T, U, const M: usize, const N: usize, const G: usize, const H: usize>(
        x: &LayoutTensor<U, RowMajor<M, N>>,
        scales: &LayoutTensor<f32, RowMajor<G, H>>,
        out: &mut LayoutTensor<T, RowMajor<M, N>>,
        rows: u32,
        columns: u32,
    ) {
        const V: usize = 16 / size_of::<T>();
        let (at, vectors) = ((block_idx.x * 256 + thread_idx.x) as u32, N.div_ceil(16) as u32);
        let (row, vector) = (at / vectors, at % vectors);
        if row < M as u32 {
            let place = [row as isize, vector as isize * 16];
            let own = x.window([1, 16], place).vectorize([1, 16]).to_local();
            let scale = scales[[(row / rows) as usize, (vector * 16 / columns) as usize]];
            let mut wide = local::<T>(row_major([1, 16]));
            for i in unroll(0..16) {
                wide[[0, i]] = (own[[0, i]].cast::<f32>() * scale).cast::<T>();
            }
            out.window([1, 16], place).vectorize([1, V]).copy_from(&wide.vectorize([1, V]));
        }
    }
}
