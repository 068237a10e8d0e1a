//! Small matrices by the thousand: LU with pivots, Cholesky, QR, triangular systems.
//!
//! ```text
//! thread:  a row of the matrix in registers, or a column of right sides; its first element belongs to the step's column
//! step:    the pivot's row or column is broadcast by shared memory; each row loses a multiple of it and moves on by one element
//! ```
//!
//! QR has a column a thread, of the matrix and of the identity: a step reflects each column along the step's own, which shared memory
//! broadcasts, over its largest size, so that no square leaves the type.
//!
//! A matrix of K rows is in the corner of one of N, which has ones on the rest of its diagonal.
//!
//! Law: sums are in the type of the elements, in the order of the steps; a system divides by way of one over its diagonal. A pivot of 0 has factors of 0 below it; a matrix that is not positive
//! definite gives NaN from the column on where that shows. QR leaves a column without a normal number on and below the diagonal as it is.
//!
//! Source of QR: Golub, Van Loan, "Matrix Computations", 4th edition, section 5.2.

use layout_cuda::{Definition, tiled_kernels};

pub use linear::{cholesky, lu, qr, triangular};

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 4] {
    [&lu::DEFINITION, &cholesky::DEFINITION, &triangular::DEFINITION, &qr::DEFINITION]
}

#[tiled_kernels]
mod linear {
    // A thread's row of a matrix in the corner of one of N, by way of shared memory: neighbours load neighbouring elements.
    fn own_row(
        a: impl Tensor<Elem = T>,
        mut held: View<T, Write>,
        matrix: usize,
        c: usize,
        own: usize,
        k: usize,
    ) -> [T; N] {
        for i in unroll(0..N) {
            let mut value = select(i == own, 1 as T, 0 as T);
            if matrix < a.dim(0) && i < k && own < k {
                value = a[[matrix, i, own]];
            }
            held[[c, i, own]] = value;
        }
        barrier();
        let mut row = [0 as T; N];
        for j in unroll(0..N) {
            row[j] = held[[c, own, j]];
        }
        row
    }

    // A thread's elements less a multiple of a row's, each at the place before its own; the last is 0. A vector of the row at a time: all
    // of it would not fit the registers.
    fn subtract(v: &mut [T; N], row: impl Tensor<Elem = T>, factor: T) {
        const V: usize = 16 / size_of::<T>();
        for vector in unroll(0..N / V) {
            let part = row.tile([1, 1, V], [0, 0, vector]).vectorize([1, 1, V]).to_local();
            for i in unroll(0..V) {
                let j = vector * V + i;
                if j > 0 {
                    v[j - 1] = v[j] - factor * part[[0, 0, i]];
                }
            }
        }
        v[N - 1] = 0 as T;
    }

    /// `out[m]`: below the diagonal L, whose diagonal is 1, elsewhere U, where L U has row `rows[m, i]` of `a[m]` as row `i`; each
    /// pivot is the largest number that is left in its column.
    #[tiled_kernel(
        T = [f32], N = [8, 64], C = 64 / N,
        block = [C * N], grid = [M.div_ceil(C)], require(K <= N), deny(narrowed),
    )]
    pub fn lu<T, const M: usize, const K: usize>(
        a: &LayoutTensor<T, Strided<M, K, K>>,
        out: &mut LayoutTensor<T, RowMajor<M, K, K>>,
        rows: &mut LayoutTensor<u32, RowMajor<M, K>>,
    ) {
        const V: usize = 16 / size_of::<T>();
        let (own, c) = (thread_idx.x % N, thread_idx.x / N);
        let matrix = block_idx.x * C + c;
        // Row `k` of U from the diagonal on, then zeros; the factors of a row of `a`, and where rows are from.
        let mut upper = shared::<T>(row_major([C, N, N]));
        let mut lower = shared::<T>(row_major([C, N, N + 1]));
        let mut from = shared::<u32>(row_major([C, N]));
        let mut best = shared::<T>(row_major([2, 2]));
        let mut who = shared::<u32>(row_major([2, 2]));
        let mut v = own_row(a, lower, matrix, c, own, K);
        let mut is_left = true;
        for k in 0..N {
            let size = v[0].abs();
            let mut most = select(is_left, select(size.is_nan(), T::INFINITY, size), -1 as T);
            let mut row = own as u32;
            for level in unroll(0..N.min(32).ilog2()) {
                let (other, of) = (most.shuffle_xor(1 << level), row.shuffle_xor(1 << level));
                if other > most || other == most && of < row {
                    (most, row) = (other, of);
                }
            }
            if N > 32 {
                if lane_id() == 0 {
                    best[[k % 2, warp_id()]] = most;
                    who[[k % 2, warp_id()]] = row;
                }
                barrier();
                row = if best[[k % 2, 1]] > best[[k % 2, 0]] { who[[k % 2, 1]] } else { who[[k % 2, 0]] };
            }
            if own == row as usize {
                for vector in unroll(0..N / V) {
                    let mut part = local::<T>(row_major([1, 1, V]));
                    for i in unroll(0..V) {
                        part[[0, 0, i]] = v[vector * V + i];
                    }
                    let to = upper.tile([1, 1, V], [c, k, vector]);
                    to.vectorize([1, 1, V]).copy_from(&part.vectorize([1, 1, V]));
                }
                from[[c, k]] = row;
                is_left = false;
            }
            barrier();
            if is_left {
                let pivot = upper[[c, k, 0]];
                let factor = if pivot == 0 as T { 0 as T } else { v[0] / pivot };
                lower[[c, own, k]] = factor;
                subtract(&mut v, upper.tile([1, 1, N], [c, k, 0]), factor);
            }
        }
        for at in (own..N * N).step_by(N) {
            let (i, j) = (at / N, at % N);
            if matrix < M && i < K && j < K {
                let row = from[[c, i]] as usize % N;
                out[[matrix, i, j]] = if j < i { lower[[c, row, j]] } else { upper[[c, i, j - i]] };
            }
        }
        if matrix < M && own < K {
            rows[[matrix, own]] = from[[c, own]];
        }
    }

    /// `out[m]`: the lower triangle whose product with its transpose is `a[m]`, of which the lower triangle is read; 0 above.
    #[tiled_kernel(
        T = [f32], N = [8, 64], C = 64 / N,
        block = [C * N], grid = [M.div_ceil(C)], require(K <= N), deny(narrowed),
    )]
    pub fn cholesky<T, const M: usize, const K: usize>(
        a: &LayoutTensor<T, Strided<M, K, K>>,
        out: &mut LayoutTensor<T, RowMajor<M, K, K>>,
    ) {
        let (own, c) = (thread_idx.x % N, thread_idx.x / N);
        let matrix = block_idx.x * C + c;
        let mut lower = shared::<T>(row_major([C, N, N + 1]));
        // A column from the diagonal on, then zeros; one for every other step.
        let mut column = shared::<T>(row_major([2, C, N]));
        let mut v = own_row(a, lower, matrix, c, own, K);
        for k in 0..N {
            column[[k % 2, c, (own + N - k) % N]] = select(own < k, 0 as T, v[0]);
            barrier();
            let root = column[[k % 2, c, 0]].sqrt();
            let factor = if own < k { 0 as T } else { v[0] / root };
            lower[[c, own, k]] = select(own == k, root, factor);
            subtract(&mut v, column.tile([1, 1, N], [k % 2, c, 0]), factor / root);
        }
        barrier();
        for at in (own..N * N).step_by(N) {
            let (i, j) = (at / N, at % N);
            if matrix < M && i < K && j < K {
                out[[matrix, i, j]] = lower[[c, i, j]];
            }
        }
    }

    /// `x[m]`: the solution of `a[m] x[m] = b[m]`, `a` the lower triangle, with `UPPER` the upper one, with `UNIT` as if its diagonal were 1;
    /// with `MOVED` row `i` of the right sides is row `rows[m, i]` of `b[m]`.
    #[tiled_kernel(
        T = [f32], N = [8, 64], WIDE = [8, 64], C = 64 / WIDE,
        UPPER = [false, true], UNIT = [false, true], MOVED = [false, true],
        filter(UPPER != UNIT, UNIT == MOVED, N == WIDE),
        block = [64], grid = [M.div_ceil(C) * R.div_ceil(WIDE)], require(K <= N, M < 4294967296), deny(narrowed),
    )]
    pub fn triangular<T, const M: usize, const K: usize, const R: usize, const L: usize>(
        a: &LayoutTensor<T, Strided<M, K, K>>,
        b: &LayoutTensor<T, Strided<M, K, R>>,
        rows: &LayoutTensor<u32, RowMajor<L, K>>,
        x: &mut LayoutTensor<T, Strided<M, K, R>>,
    ) {
        let (block, groups) = (block_idx.x as u32, R.div_ceil(WIDE) as u32);
        let (own, c) = (thread_idx.x % WIDE, thread_idx.x / WIDE);
        let matrix = (block / groups * C as u32 + c as u32) as usize;
        let column = (block % groups * WIDE as u32 + own as u32) as usize;
        // Column `k` below the diagonal, before it one over the diagonal, behind it zeros.
        let mut below = shared::<T>(row_major([C, N, N]));
        for at in (own..N * N).step_by(WIDE) {
            let (i, k) = (at / N, at % N);
            let mut value = 0 as T;
            if matrix < M && k < i && i < K {
                value = if UPPER { a[[matrix, K - 1 - i, K - 1 - k]] } else { a[[matrix, i, k]] };
            }
            if i != k {
                below[[c, k, (i + N - k) % N]] = value;
            }
        }
        for k in (own..N).step_by(WIDE) {
            let mut value = 1 as T;
            if matrix < M && k < K && !UNIT {
                value = if UPPER { a[[matrix, K - 1 - k, K - 1 - k]] } else { a[[matrix, k, k]] };
            }
            below[[c, k, 0]] = 1 as T / value;
        }
        let mut v = [0 as T; N];
        for i in unroll(0..N) {
            if matrix < M && i < K && column < R {
                let mut row = if UPPER { K - 1 - i } else { i };
                if MOVED {
                    row = rows[[matrix, row]] as usize;
                }
                if row < K {
                    v[i] = b[[matrix, row, column]];
                }
            }
        }
        barrier();
        for k in 0..N {
            let mut own = v[0];
            if !UNIT {
                own *= below[[c, k, 0]];
            }
            if matrix < M && k < K && column < R {
                x[[matrix, if UPPER { K - 1 - k } else { k }, column]] = own;
            }
            subtract(&mut v, below.tile([1, 1, N], [c, k, 0]), own);
        }
    }

    // The largest size of the column's numbers; with `inverse` one over that, the sum of their squares and their sum times those of `v`.
    fn of_column(column: impl Tensor<Elem = T>, v: &[T; N], inverse: T, is_largest: bool) -> (T, T) {
        const V: usize = 16 / size_of::<T>();
        let (mut first, mut second) = (0 as T, 0 as T);
        for vector in unroll(0..N / V) {
            let part = column.tile([1, 1, V], [0, 0, vector]).vectorize([1, 1, V]).to_local();
            for i in unroll(0..V) {
                if is_largest {
                    first = first.max(part[[0, 0, i]].abs());
                } else {
                    let x = part[[0, 0, i]] * inverse;
                    first += x * x;
                    second += x * v[vector * V + i];
                }
            }
        }
        (first, second)
    }

    /// `q[m]` and `r[m]`, whose product is `a[m]`: orthogonal, and 0 below the diagonal.
    #[tiled_kernel(
        T = [f32], N = [8, 64], C = 64 / N,
        block = [2 * C * N], grid = [M.div_ceil(C)], require(K <= N), deny(narrowed),
    )]
    pub fn qr<T, const M: usize, const K: usize>(
        a: &LayoutTensor<T, Strided<M, K, K>>,
        q: &mut LayoutTensor<T, RowMajor<M, K, K>>,
        r: &mut LayoutTensor<T, RowMajor<M, K, K>>,
    ) {
        const V: usize = 16 / size_of::<T>();
        let (own, is_unit, c) = (thread_idx.x % N, thread_idx.x / N % 2 == 1, thread_idx.x / (2 * N));
        let matrix = block_idx.x * C + c;
        let mut rows = shared::<T>(row_major([C, N, N + 1]));
        // The step's column from the diagonal on, then zeros; one for every other step.
        let mut column = shared::<T>(row_major([2, C, N]));
        let mut v = [0 as T; N];
        for i in unroll(0..N) {
            v[i] = select(i == own, 1 as T, 0 as T);
            if matrix < M && i < K && own < K && !is_unit {
                v[i] = a[[matrix, i, own]];
            }
        }
        for k in 0..K {
            if own == k && !is_unit {
                for vector in unroll(0..N / V) {
                    let mut part = local::<T>(row_major([1, 1, V]));
                    for i in unroll(0..V) {
                        part[[0, 0, i]] = v[vector * V + i];
                    }
                    let to = column.tile([1, 1, V], [k % 2, c, vector]);
                    to.vectorize([1, 1, V]).copy_from(&part.vectorize([1, 1, V]));
                }
            }
            barrier();
            let of = column.tile([1, 1, N], [k % 2, c, 0]);
            let (largest, _) = of_column(of, &v, 0 as T, true);
            let is_none = largest < T::MIN_POSITIVE;
            let inverse = select(is_none, 0 as T, 1 as T / largest);
            // Large columns are read anew: held from one sum to the next they would not fit the registers.
            if N * size_of::<T>() > 256 {
                sync_warp();
            }
            let (squares, along) = of_column(of, &v, inverse, false);
            let first = column[[k % 2, c, 0]] * inverse;
            let root = select(first < 0 as T, squares.sqrt(), -squares.sqrt());
            let factor = select(is_none, 0 as T, (along - root * v[0]) / (squares - root * first));
            let done = v[0] - factor * (first - root);
            if N * size_of::<T>() > 256 {
                sync_warp();
            }
            if is_unit {
                rows[[c, own, k]] = done;
            } else if matrix < M && own < K {
                r[[matrix, k, own]] = select(own < k, 0 as T, done);
            }
            subtract(&mut v, of, factor * inverse);
        }
        barrier();
        for at in (thread_idx.x % (2 * N)..K * K).step_by(2 * N) {
            if matrix < M {
                q[[matrix, at / K, at % K]] = rows[[c, at / K, at % K]];
            }
        }
    }
}
