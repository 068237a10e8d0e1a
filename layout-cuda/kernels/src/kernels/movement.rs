//! Moves of elements: rows and elements by index, sums by index, and each element from another place of up to four modes.
//!
//! Law: an element keeps its bits where its type stays. What an index names beyond the tensor is 0 where it is read and left out where it
//! is written: nothing outside of a tensor is touched.

use layout_cuda::tiled_kernels;

pub use moves::{gather, moved, moved_rows, scatter_add, select_rows};

#[tiled_kernels]
mod moves {
    // The coordinates in `[a, b, c, d]` of element `at`.
    fn place(at: u32, a: usize, b: usize, c: usize, d: usize) -> (usize, usize, usize, usize) {
        let of_c = at / d as u32;
        let of_b = of_c / c as u32;
        let of_a = of_b / b as u32;
        let (j, k, l) = (of_b - of_a * b as u32, of_c - of_b * c as u32, at - of_c * d as u32);
        let (i, j, k, l) = (of_a as usize, j as usize, k as usize, l as usize);
        assume(i < a && j < b && k < c && l < d);
        (i, j, k, l)
    }

    /// `out[i] = x[index[i]]`, of rows of whole vectors of `V` elements.
    #[tiled_kernel(
        T = [f32, bf16], V = [1, 4, 8], filter(V * size_of::<T>() <= 16 && (V != 4 || T == f32)),
        block = [256], grid = [(M * (D / V)).div_ceil(256)], require(D % V == 0, M * D < 4294966272),
        deny(narrowed),
    )]
    pub fn select_rows<T, const N: usize, const M: usize, const D: usize>(
        x: &LayoutTensor<T, RowMajor<N, D>>,
        index: &LayoutTensor<u32, RowMajor<M>>,
        out: &mut LayoutTensor<T, RowMajor<M, D>>,
    ) {
        let at = (block_idx.x * 256 + thread_idx.x) as u32;
        let vectors = (D / V) as u32;
        if at < M as u32 * vectors {
            let (row, vector) = ((at / vectors) as usize, (at % vectors) as usize);
            assume(row < M && vector < D / V);
            let from = index[[row]] as usize;
            let mut own = local::<T>(row_major([1, V])).fill(T::ZERO);
            if from < N {
                own.vectorize([1, V]).copy_from(&x.tile([1, V], [from, vector]).vectorize([1, V]));
            }
            out.tile([1, V], [row, vector]).vectorize([1, V]).copy_from(&own.vectorize([1, V]));
        }
    }

    /// `out[a, i, b] = x[a, index[a, i, b], b]`
    #[tiled_kernel(
        T = [f32, bf16], block = [256], grid = [(A * I * B).div_ceil(256)], require(A * I * B < 4294966272),
        deny(narrowed),
    )]
    pub fn gather<T, const A: usize, const N: usize, const B: usize, const I: usize>(
        x: &LayoutTensor<T, Strided<A, N, B>>,
        index: &LayoutTensor<u32, Strided<A, I, B>>,
        out: &mut LayoutTensor<T, Strided<A, I, B>>,
    ) {
        let at = (block_idx.x * 256 + thread_idx.x) as u32;
        if at < (A * I * B) as u32 {
            let (_, a, i, b) = place(at, 1, A, I, B);
            let from = index[[a, i, b]] as usize;
            let mut element = T::ZERO;
            if from < N {
                element = x[[a, from, b]];
            }
            out[[a, i, b]] = element;
        }
    }

    /// Adds `x[a, i, b]` to `out[a, index[a, i, b], b]`, in an order that is open.
    #[tiled_kernel(
        T = [f32, bf16], block = [256], grid = [(A * I * B).div_ceil(256)], require(A * I * B < 4294966272),
        deny(narrowed),
    )]
    pub fn scatter_add<T, const A: usize, const N: usize, const B: usize, const I: usize>(
        x: &LayoutTensor<T, Strided<A, I, B>>,
        index: &LayoutTensor<u32, Strided<A, I, B>>,
        out: &mut LayoutTensor<f32, Strided<A, N, B>>,
    ) {
        let at = (block_idx.x * 256 + thread_idx.x) as u32;
        if at < (A * I * B) as u32 {
            let (_, a, i, b) = place(at, 1, A, I, B);
            let to = index[[a, i, b]] as usize;
            if to < N {
                out.atomic_add([a, to, b], x[[a, i, b]].cast::<f32>());
            }
        }
    }

    // Where coordinate `at` comes from, in a mode of `n`; beyond it of none.
    fn source(at: usize, n: usize, first: isize, step: isize, wraps: bool) -> isize {
        let from = first + step * at as isize;
        if wraps && from >= n as isize { from - n as isize } else { from }
    }

    /// As [`moved`], of rows whose elements are neighbours in `x` as in `out`: a thread has a vector of a row. With `SHIFTED` the rows are
    /// `first_3` apart, with `REVERSED` they run backwards from there, else vectors are those of `x`.
    #[tiled_kernel(
        T = [f32, bf16], U = [f32, bf16], WRAPS = [false, true], SHIFTED = [false, true], REVERSED = [false, true],
        filter(T == U, SHIFTED || !WRAPS && !REVERSED, !WRAPS || !REVERSED), V = 16 / size_of::<T>(),
        block = [256], grid = [(A * B * C * D.div_ceil(V)).div_ceil(256)], require(A * B * C * D < 4294966272),
    )]
    pub fn moved_rows<
        T,
        U,
        const A: usize,
        const B: usize,
        const C: usize,
        const D: usize,
        const E: usize,
        const F: usize,
        const G: usize,
        const H: usize,
    >(
        x: &LayoutTensor<T, Pitched<E, F, G, H>>,
        out: &mut LayoutTensor<U, Pitched<A, B, C, D>>,
        value: U,
        first_0: isize,
        first_1: isize,
        first_2: isize,
        first_3: isize,
        step_0: isize,
        step_1: isize,
        step_2: isize,
    ) {
        let at = (block_idx.x * 256 + thread_idx.x) as u32;
        if at < (A * B * C * D.div_ceil(V)) as u32 {
            let (i, j, k, vector) = place(at, A, B, C, D.div_ceil(V));
            let (e, f) = (source(i, E, first_0, step_0, WRAPS), source(j, F, first_1, step_1, WRAPS));
            let g = source(k, G, first_2, step_2, WRAPS);
            // Where the vector begins in `x`.
            let first = if REVERSED {
                first_3 - (vector * V + V - 1) as isize
            } else if SHIFTED {
                source(vector * V, H, first_3, 1, WRAPS)
            } else {
                (vector * V) as isize
            };
            let mut own = local::<U>(row_major([1, 1, 1, V])).fill(value);
            if e >= 0 && e < E as isize && f >= 0 && f < F as isize && g >= 0 && g < G as isize {
                if first >= 0 && first + V as isize <= H as isize {
                    let from = if SHIFTED {
                        x.window([1, 1, 1, V], [e, f, g, first]).vectorize([1, 1, 1, V]).to_local()
                    } else {
                        x.tile([1, 1, 1, V], [e as usize, f as usize, g as usize, vector])
                            .vectorize([1, 1, 1, V])
                            .to_local()
                    };
                    for m in unroll(0..V) {
                        own[[0, 0, 0, m]] = from[[0, 0, 0, if REVERSED { V - 1 - m } else { m }]].cast::<U>();
                    }
                } else {
                    for m in unroll(0..V) {
                        let mut h = first + (if REVERSED { V - 1 - m } else { m }) as isize;
                        h = if WRAPS && h >= H as isize { h - H as isize } else { h };
                        if h >= 0 && h < H as isize {
                            own[[0, 0, 0, m]] =
                                x[[e as usize, f as usize, g as usize, h as usize]].cast::<U>();
                        }
                    }
                }
            }
            out.tile([1, 1, 1, V], [i, j, k, vector])
                .vectorize([1, 1, 1, V])
                .copy_from(&own.vectorize([1, 1, 1, V]));
        }
    }

    /// `out[i, j, k, l] = x[s(i), s(j), s(k), s(l)]` where these are inside, else `value`. In mode `m` `s(c)` is `first_m + step_m c`, with
    /// `WRAPS` less the extent from there on.
    #[tiled_kernel(
        T = [f32, bf16], U = [f32, bf16], WRAPS = [false, true], filter(T == U || !WRAPS),
        block = [256], grid = [(A * B * C * D).div_ceil(1024)], require(A * B * C * D < 4294966272),
        deny(narrowed),
    )]
    pub fn moved<
        T,
        U,
        const A: usize,
        const B: usize,
        const C: usize,
        const D: usize,
        const E: usize,
        const F: usize,
        const G: usize,
        const H: usize,
    >(
        x: &LayoutTensor<T, Strided<E, F, G, H>>,
        out: &mut LayoutTensor<U, Strided<A, B, C, D>>,
        value: U,
        first_0: isize,
        first_1: isize,
        first_2: isize,
        first_3: isize,
        step_0: isize,
        step_1: isize,
        step_2: isize,
        step_3: isize,
    ) {
        for round in unroll(0..4) {
            let at = ((block_idx.x * 4 + round) * 256 + thread_idx.x) as u32;
            if at < (A * B * C * D) as u32 {
                let (i, j, k, l) = place(at, A, B, C, D);
                let (e, f) = (source(i, E, first_0, step_0, WRAPS), source(j, F, first_1, step_1, WRAPS));
                let (g, h) = (source(k, G, first_2, step_2, WRAPS), source(l, H, first_3, step_3, WRAPS));
                let mut element = value;
                if e >= 0
                    && e < E as isize
                    && f >= 0
                    && f < F as isize
                    && g >= 0
                    && g < G as isize
                    && h >= 0
                    && h < H as isize
                {
                    element = x[[e as usize, f as usize, g as usize, h as usize]].cast::<U>();
                }
                out[[i, j, k, l]] = element;
            }
        }
    }
}

use layout_cuda::Definition;

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 5] {
    [
        &select_rows::DEFINITION,
        &gather::DEFINITION,
        &scatter_add::DEFINITION,
        &moved::DEFINITION,
        &moved_rows::DEFINITION,
    ]
}
