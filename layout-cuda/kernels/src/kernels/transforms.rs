//! Transforms of rows whose length is a power of two: Fourier's, of complex numbers and of real ones, and Hadamard's.
//!
//! ```text
//! thread:  eight elements at equal distances: their transform in registers, by radix 8; the first stage takes what is left, 2 or 4
//! stage:   each result to its place in shared memory (Stockham's order: no reversal of bits at the end), one twiddle factor an element
//! long:    rows of A B elements as matrices: columns, factors, rows; a block has C neighbouring columns
//! real:    two numbers are one complex number; a pass makes elements k and N / 2 - k of one transform from those of the other
//! ```
//!
//! Law: sums are float32; twiddle factors are powers of one sine and cosine of an angle below a quarter of π. What overflows float32 is not
//! kept from doing so.
//!
//! Source: Govindaraju, Lloyd, Dotsenko, Smith, Manferdelli, "High performance discrete Fourier transforms on graphics processors", 2008.

use layout_cuda::{Definition, tiled_kernels};

pub use transforms::{fft, hadamard, real_halves};

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 3] {
    [&fft::DEFINITION, &hadamard::DEFINITION, &real_halves::DEFINITION]
}

#[tiled_kernels]
mod transforms {
    fn times(a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
        (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
    }

    // e to -2πi of a fraction from -1/8 to 1/8: Taylor's polynomials, whose error there is below 3e-9.
    fn near_root(fraction: f32) -> (f32, f32) {
        let x = fraction * consts::TAU;
        let s = x * x;
        let sin = x + x * s * (-1.0 / 6.0 + s * (1.0 / 120.0 + s * (-1.0 / 5040.0 + s * (1.0 / 362880.0))));
        let cos = 1.0
            + s * (-0.5
                + s * (1.0 / 24.0 + s * (-1.0 / 720.0 + s * (1.0 / 40320.0 - s * (1.0 / 3628800.0)))));
        (cos, -sin)
    }

    // The same of a fraction from 0 to 1: a number of quarters of a turn, and what is left.
    fn root(fraction: f32) -> (f32, f32) {
        let quarters = (4.0 * fraction + 0.5).floor();
        let (re, im) = near_root(fraction - 0.25 * quarters);
        let number = quarters as u32;
        let is_odd = number & 1 != 0;
        let (re, im) = (select(is_odd, im, re), select(is_odd, -re, im));
        let is_behind = number & 2 != 0;
        (select(is_behind, -re, re), select(is_behind, -im, im))
    }

    // A number times the root of unity number `eighth` of eight.
    fn turned(a: (f32, f32), eighth: usize) -> (f32, f32) {
        const HALF: f32 = consts::FRAC_1_SQRT_2;
        if eighth == 1 {
            (HALF * (a.0 + a.1), HALF * (a.1 - a.0))
        } else if eighth == 2 {
            (a.1, -a.0)
        } else if eighth == 3 {
            (HALF * (a.1 - a.0), -HALF * (a.0 + a.1))
        } else {
            a
        }
    }

    // The transforms of R elements each that are E / R apart; element k of one is at the place of k's bits in reverse.
    fn butterflies(v: &mut [(f32, f32); E], r: usize) {
        let apart = E / r;
        for level in unroll(0..r.ilog2()) {
            let half = r >> (level + 1);
            for pair in unroll(0..E / 2) {
                let (of, first) = (pair / apart, pair % apart);
                let i = of % half;
                let at = first + (of / half * 2 * half + i) * apart;
                let (a, b) = (v[at], v[at + half * apart]);
                v[at] = (a.0 + b.0, a.1 + b.1);
                v[at + half * apart] = turned((a.0 - b.0, a.1 - b.1), i * 4 / half);
            }
        }
    }

    // Where an element is in shared memory: one of each nine places is left out, as neighbours write eight apart.
    fn place(at: usize) -> usize {
        at + at / 8
    }

    // The place of element `k` of `r` after `butterflies`.
    fn reversed(k: usize, r: usize) -> usize {
        if r == 8 {
            (k & 1) * 4 + (k & 2) + k / 4
        } else if r == 4 {
            (k & 1) * 2 + k / 2
        } else {
            k
        }
    }

    // Each number times the power of `first` and `step` that is its place's.
    fn twiddled(v: &mut [(f32, f32); E], first: (f32, f32), step: (f32, f32)) {
        let second = times(step, step);
        let fourth = times(second, second);
        for m in unroll(0..E) {
            let mut factor = first;
            if m & 1 != 0 {
                factor = times(factor, step);
            }
            if m & 2 != 0 {
                factor = times(factor, second);
            }
            if m & 4 != 0 {
                factor = times(factor, fourth);
            }
            v[m] = times(v[m], factor);
        }
    }

    /// `out[a]`: the transforms of N elements of `x[a]`, a matrix of N rows, of which they are the columns, or with `OF_ROWS` of N columns,
    /// of which they are the rows; likewise `out`, with `TO_ROWS`. With `ROOTS` element k of transform b is times e^(-2πi k b / S). All
    /// angles are positive with `INVERSE`. Each number is times `scale`.
    #[tiled_kernel(
        N = [8, 128], C = [128, 8], OF_ROWS = [true, false], TO_ROWS = [true, false],
        ROOTS = [false, true], INVERSE = [false, true], E = if N < 8 { N } else { 8 },
        filter(C * N == 1024, INVERSE == ROOTS, OF_ROWS != ROOTS, OF_ROWS || !TO_ROWS, N == 128 || TO_ROWS),
        block = [C * N / E], grid = [A * (S / N).div_ceil(C)], require(S % N == 0, A * S < 1073741824), deny(narrowed),
    )]
    pub fn fft<const A: usize, const S: usize>(
        x: &LayoutTensor<f32, RowMajor<A, S, 2>>,
        out: &mut LayoutTensor<f32, RowMajor<A, S, 2>>,
        scale: f32,
    ) {
        const OWN: usize = N / E;
        // The first stage's radix, so that the others are of 8.
        const REST: usize = N.ilog2() as usize % 3;
        const R: usize = if N < 8 {
            N
        } else if REST == 0 {
            8
        } else {
            1 << REST
        };
        const STAGES: usize = if N < 8 { 1 } else { (N / R).ilog2() as usize / 3 + 1 };
        let count = S / N;
        let blocks = count.div_ceil(C);
        let (a, first) = (block_idx.x / blocks, block_idx.x % blocks * C);
        let own_of_rows = (thread_idx.x % OWN, thread_idx.x / OWN);
        let own_of_columns = (thread_idx.x / C, thread_idx.x % C);
        // So far apart that the columns of neighbours are in different banks.
        const GAP: usize = if OF_ROWS && TO_ROWS || C > 32 { 1 } else { 32 / C };
        let mut re = shared::<f32>(row_major([C, N + N / 8 + GAP]));
        let mut im = shared::<f32>(row_major([C, N + N / 8 + GAP]));
        let mut v = [(0.0, 0.0); E];
        let (from, to) = (
            if OF_ROWS { own_of_rows } else { own_of_columns },
            if TO_ROWS { own_of_rows } else { own_of_columns },
        );
        if first + from.1 < count {
            for m in unroll(0..E) {
                let n = from.0 + m * OWN;
                let at = if OF_ROWS { (first + from.1) * N + n } else { n * count + first + from.1 };
                let pair = x.tile([1, 1, 2], [a, at, 0]).vectorize([1, 1, 2]).to_local();
                v[m] = if INVERSE {
                    (pair[[0, 0, 1]], pair[[0, 0, 0]])
                } else {
                    (pair[[0, 0, 0]], pair[[0, 0, 1]])
                };
            }
        }
        for stage in unroll(0..STAGES) {
            let r = if stage == 0 { R } else { 8 };
            let span = if stage == 0 { 1 } else { R << (3 * (stage - 1)) };
            let (j, c) = if stage == 0 && STAGES > 1 { from } else { to };
            if stage > 0 {
                let step = near_root((j % span) as f32 / (8 * span) as f32);
                twiddled(&mut v, (1.0, 0.0), step);
            }
            butterflies(&mut v, r);
            if stage + 1 < STAGES {
                if stage > 0 {
                    barrier();
                }
                for q in unroll(0..E / r) {
                    for k in unroll(0..r) {
                        let own = j + q * OWN;
                        let at = own / span * (span * r) + own % span + k * span;
                        let value = v[q + reversed(k, r) * (E / r)];
                        re[[c, place(at)]] = value.0;
                        im[[c, place(at)]] = value.1;
                    }
                }
                barrier();
                for m in unroll(0..E) {
                    let at = to.0 + m * OWN;
                    v[m] = (re[[to.1, place(at)]], im[[to.1, place(at)]]);
                }
            } else {
                let mut ordered = v;
                for q in unroll(0..E / r) {
                    for k in unroll(0..r) {
                        ordered[q + k * (E / r)] = v[q + reversed(k, r) * (E / r)];
                    }
                }
                v = ordered;
            }
        }
        if ROOTS {
            let column = (first + to.1) as f32 / S as f32;
            twiddled(&mut v, root(to.0 as f32 * column), root(OWN as f32 * column));
        }
        if first + to.1 < count {
            for m in unroll(0..E) {
                let n = to.0 + m * OWN;
                let at = if TO_ROWS { (first + to.1) * N + n } else { n * count + first + to.1 };
                let mut pair = local::<f32>(row_major([1, 1, 2]));
                pair[[0, 0, if INVERSE { 1 } else { 0 }]] = v[m].0 * scale;
                pair[[0, 0, if INVERSE { 0 } else { 1 }]] = v[m].1 * scale;
                out.tile([1, 1, 2], [a, at, 0]).vectorize([1, 1, 2]).copy_from(&pair.vectorize([1, 1, 2]));
            }
        }
    }

    /// `out[i]`: the first H + 1 elements of the transform of 2 H real numbers, of `x[i]`, half the transform of these as H complex numbers.
    /// With `INVERSE` `out` is twice the latter, of `x`.
    #[tiled_kernel(
        INVERSE = [false, true], block = [256], grid = [(M * (A / 2 + 1)).div_ceil(256)],
        require(A <= B + 1, B <= A + 1, M * A < 2147483648), deny(narrowed),
    )]
    pub fn real_halves<const M: usize, const A: usize, const B: usize>(
        x: &LayoutTensor<f32, RowMajor<M, A, 2>>,
        out: &mut LayoutTensor<f32, RowMajor<M, B, 2>>,
    ) {
        let (at, h) = ((block_idx.x * 256 + thread_idx.x) as u32, if INVERSE { B } else { A });
        let row = (at / (A as u32 / 2 + 1)) as usize;
        let k = (at % (A as u32 / 2 + 1)) as usize;
        if row < M && k <= h / 2 {
            let other = if INVERSE || k > 0 { h - k } else { 0 };
            let a = x.tile([1, 1, 2], [row, k, 0]).vectorize([1, 1, 2]).to_local();
            let b = x.tile([1, 1, 2], [row, other, 0]).vectorize([1, 1, 2]).to_local();
            let is_real = INVERSE && k == 0;
            let (a_im, b_im) = (select(is_real, 0.0, a[[0, 0, 1]]), select(is_real, 0.0, b[[0, 0, 1]]));
            let even = (a[[0, 0, 0]] + b[[0, 0, 0]], a_im - b_im);
            let (re, im) = root(k as f32 / (2 * h) as f32);
            let odd = times((im, if INVERSE { re } else { -re }), (a[[0, 0, 0]] - b[[0, 0, 0]], a_im + b_im));
            let mut pair = local::<f32>(row_major([1, 1, 2]));
            pair[[0, 0, 0]] = even.0 + odd.0;
            pair[[0, 0, 1]] = even.1 + odd.1;
            out.tile([1, 1, 2], [row, k, 0]).vectorize([1, 1, 2]).copy_from(&pair.vectorize([1, 1, 2]));
            if !INVERSE || k > 0 {
                out[[row, h - k, 0]] = even.0 - odd.0;
                out[[row, h - k, 1]] = odd.1 - even.1;
            }
        }
    }

    /// `out[i, j]`: `scale` times the sum over k of `x[i, k]`, negative where `j & k` has an odd number of bits.
    #[tiled_kernel(
        T = [f32, bf16, f16], N = [8, 1024], C = if N < 1024 { 1024 / N } else { 1 },
        block = [C * N / 8], grid = [M.div_ceil(C)], deny(narrowed),
    )]
    pub fn hadamard<T, const M: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        out: &mut LayoutTensor<T, RowMajor<M, N>>,
        scale: f32,
    ) {
        const OWN: usize = N / 8;
        const BITS: usize = N.ilog2() as usize;
        const V: usize = 16 / size_of::<T>();
        let (j, c) = (thread_idx.x % OWN, thread_idx.x / OWN);
        let row = block_idx.x * C + c;
        let mut held = shared::<f32>(row_major([C, N + N / 8]));
        let mut v = [0.0; 8];
        if row < M {
            let eight = x.tile([1, 8], [row, j]).vectorize([1, V]).to_local();
            for i in unroll(0..8) {
                v[i] = eight[[0, i]].cast::<f32>();
            }
        }
        for stage in unroll(0..BITS.div_ceil(3)) {
            let low = (3 * stage).min(BITS - 3);
            let first = (j >> low << (low + 3)) + (j & ((1 << low) - 1));
            if stage > 0 {
                for i in unroll(0..8) {
                    let at = first + (i << low);
                    v[i] = held[[c, place(at)]];
                }
            }
            for level in unroll(3 * stage - low..3) {
                for pair in unroll(0..4) {
                    let at = pair >> level << (level + 1) | (pair & ((1 << level) - 1));
                    let (a, b) = (v[at], v[at + (1 << level)]);
                    v[at] = a + b;
                    v[at + (1 << level)] = a - b;
                }
            }
            if stage + 1 < BITS.div_ceil(3) {
                // Each thread writes what it has read.
                for i in unroll(0..8) {
                    let at = first + (i << low);
                    held[[c, place(at)]] = v[i];
                }
                barrier();
            } else if row < M {
                // Neighbours write neighbours.
                for i in unroll(0..8) {
                    out[[row, first + (i << low)]] = (v[i] * scale).cast::<T>();
                }
            }
        }
    }
}
