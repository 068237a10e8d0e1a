//! Reductions of one mode: of rows by vectors, of any mode by its strides.
//!
//! ```text
//! thread:  eight elements at once, joined with what there is
//! block:   a tree over the threads of a row or a column, in shared memory
//! ```
//!
//! Law: elements are reduced in float32, in an order that the shape alone fixes. A NaN makes the result NaN, and is the largest and the
//! smallest element for the index of these. Sums are compensated: their error does not grow with the number of elements. The variance is
//! of parts around their own means; of an infinity it is NaN. The logarithm of a sum of powers takes elements of any size.

use layout_cuda::tiled_kernels;

pub use states::{
    ALL, ANY, ARGMAX, ARGMIN, LOGSUMEXP, MAX, MEAN, MIN, PRODUCT, SUM, VARIANCE, reduce_axis, reduce_rows,
};

#[tiled_kernels]
mod states {
    /// `OP`: the sum.
    pub const SUM: usize = 0;
    /// The mean.
    pub const MEAN: usize = 1;
    /// The sum of squares around the mean, by the number of elements less `correction`.
    pub const VARIANCE: usize = 2;
    /// The largest.
    pub const MAX: usize = 3;
    /// The smallest.
    pub const MIN: usize = 4;
    /// Where the first of the largest is.
    pub const ARGMAX: usize = 5;
    /// Where the first of the smallest is.
    pub const ARGMIN: usize = 6;
    /// Whether one is not 0.
    pub const ANY: usize = 7;
    /// Whether none is 0.
    pub const ALL: usize = 8;
    /// `log(sum of eˣ)`
    pub const LOGSUMEXP: usize = 9;
    /// The product.
    pub const PRODUCT: usize = 10;

    /// What some elements give. Of a sum `b` is what rounding has lost; of a variance `a` is the mean, `b` the sum of squares around it,
    /// `at` the number of elements; of powers `a` is the largest element, `b` the sum relative to it.
    #[derive(Clone, Copy)]
    struct State {
        a: f32,
        b: f32,
        at: u32,
    }

    // e to the distance from the largest element, of infinities too.
    fn weight(x: f32, most: f32) -> f32 {
        select(x == most, 1.0, ((x - most) * 1.44269504).exp2_approx())
    }

    impl State {
        // Of nothing. The largest element is finite for powers: minus infinity less itself would be no number.
        fn empty(op: usize) -> Self {
            let a = if op == PRODUCT || op == ALL {
                1.0
            } else if op == LOGSUMEXP {
                f32::MIN
            } else if op >= MAX && op <= ARGMIN {
                f32::NEG_INFINITY
            } else {
                0.0
            };
            Self { a, b: 0.0, at: if op == ARGMAX || op == ARGMIN { u32::MAX } else { 0 } }
        }

        // Of one element.
        fn of(op: usize, x: f32, place: u32) -> Self {
            let a = if op == MIN || op == ARGMIN {
                -x
            } else if op == ANY || op == ALL {
                select(x != 0.0, 1.0, 0.0)
            } else if op == LOGSUMEXP {
                f32::MIN.max(x)
            } else {
                x
            };
            Self {
                a,
                b: if op == LOGSUMEXP { weight(x, a) } else { 0.0 },
                at: if op == VARIANCE { 1 } else { place },
            }
        }

        // Of both.
        fn join(self, op: usize, other: Self) -> Self {
            if op == SUM || op == MEAN {
                let (a, b) = add_compensated(self.a, self.b, other.a);
                Self { a, b, at: 0 }
            } else if op == VARIANCE {
                let at = self.at + other.at;
                let of_other = select(at == 0, 0.0, other.at.cast::<f32>() / at.cast::<f32>());
                let apart = other.a - self.a;
                // This order, so that a large mean of nothing but one part is no infinity times 0.
                let squares = apart * (self.at.cast::<f32>() * of_other) * apart;
                Self { a: self.a + apart * of_other, b: self.b + other.b + select(at == 0, 0.0, squares), at }
            } else if op == LOGSUMEXP {
                let a = self.a.max(other.a);
                Self { a, b: self.b * weight(self.a, a) + other.b * weight(other.a, a), at: 0 }
            } else if op == PRODUCT {
                Self { a: self.a * other.a, b: 0.0, at: 0 }
            } else if op == ANY {
                Self { a: self.a.max(other.a), b: 0.0, at: 0 }
            } else if op == ALL {
                Self { a: self.a.min(other.a), b: 0.0, at: 0 }
            } else {
                let (is_nan, other_is_nan) = (self.a != self.a, other.a != other.a);
                let is_first = self.a > other.a || !(other.a > self.a) && self.at < other.at;
                let kept = (is_nan == other_is_nan && is_first) || (is_nan && !other_is_nan);
                Self { a: select(kept, self.a, other.a), b: 0.0, at: select(kept, self.at, other.at) }
            }
        }

        // With eight more, from a place on.
        fn with(self, op: usize, x: [f32; 8], first: u32) -> Self {
            if op == SUM || op == MEAN {
                let sum = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
                self.join(op, Self { a: sum, b: 0.0, at: 0 })
            } else if op == VARIANCE {
                let sum = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
                let mean = sum * 0.125;
                let mut squares = 0.0;
                for i in unroll(0..8) {
                    squares += (x[i] - mean) * (x[i] - mean);
                }
                self.join(op, Self { a: mean, b: squares, at: 8 })
            } else if op == LOGSUMEXP {
                let mut most = self.a;
                for i in unroll(0..8) {
                    most = most.max(x[i]);
                }
                let mut sum = self.b * weight(self.a, most);
                for i in unroll(0..8) {
                    sum += weight(x[i], most);
                }
                Self { a: most, b: sum, at: 0 }
            } else {
                let mut all = self;
                for i in unroll(0..8) {
                    all = all.join(op, Self::of(op, x[i], first + i as u32));
                }
                all
            }
        }

        // That of the block's threads of one result, of which this one is number `thread` of `count`, `step` threads apart.
        fn over_block(self, op: usize, own: usize, thread: usize, step: usize, count: usize) -> Self {
            let (mut a, mut b) = (shared::<f32>(row_major([256])), shared::<f32>(row_major([256])));
            let mut at = shared::<u32>(row_major([256]));
            // What the other operations do not join.
            let has_rest = op == VARIANCE || op == LOGSUMEXP;
            let has_place = op == VARIANCE || op >= MAX && op <= ARGMIN;
            let mut state = self;
            let mut width = count / 2;
            while width > 0 {
                a[[own]] = state.a;
                if has_rest {
                    b[[own]] = state.b;
                }
                if has_place {
                    at[[own]] = state.at;
                }
                barrier();
                let other = (own + width * step) % 256;
                let rest = if has_rest { b[[other]] } else { 0.0 };
                let place = if has_place { at[[other]] } else { 0 };
                let joined = state.join(op, Self { a: a[[other]], b: rest, at: place });
                if thread < width {
                    state = joined;
                }
                barrier();
                width /= 2;
            }
            state
        }

        // The result in float32, of `n` elements.
        fn value(self, op: usize, n: usize, correction: f32) -> f32 {
            if op == MEAN {
                self.a / n as f32
            } else if op == VARIANCE {
                select(
                    n as f32 > correction && self.a - self.a == 0.0,
                    self.b / (n as f32 - correction),
                    f32::NAN,
                )
            } else if op == MIN {
                -self.a
            } else if op == LOGSUMEXP {
                self.a + self.b.ln()
            } else {
                self.a
            }
        }
    }

    /// `out[i]`: row `i` reduced, by `GROUP` threads a row: a power of two, 256 at most. Rows begin at any address.
    #[tiled_kernel(
        OP = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], T = [f32, bf16, f16], U = [f32, bf16, f16, u32, u8], GROUP = [16, 256],
        filter(
            if OP == 5 || OP == 6 { U == u32 } else if OP == 7 || OP == 8 { U == u8 } else { U == T },
            T == f32 && (GROUP == 16) == (OP % 2 == 0) || OP == 2 && GROUP == 256,
        ),
        block = [256], grid = [M.div_ceil(256 / GROUP)], deny(narrowed),
    )]
    pub fn reduce_rows<T, U, const M: usize, const N: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        out: &mut LayoutTensor<U, RowMajor<M>>,
        correction: f32,
    ) {
        const V: usize = 16 / size_of::<T>();
        let (row, thread) = (block_idx.x * (256 / GROUP) + thread_idx.x / GROUP, thread_idx.x % GROUP);
        let before = (row * N % V) as isize;
        let mut state = State::empty(OP);
        for eight in (thread..(N + V - 1).div_ceil(8)).step_by(GROUP) {
            let first = (eight * 8) as isize - before;
            let mut values = [0.0; 8];
            if first >= 0 && first + 8 <= N as isize && row < M {
                let own = x.window([1, 8], [row as isize, first]).vectorize([1, V]).to_local();
                for i in unroll(0..8) {
                    values[i] = own[[0, i]].cast::<f32>();
                }
                state = state.with(OP, values, first as u32);
            } else {
                for i in 0..8 {
                    let at = first + i as isize;
                    if at >= 0 && at < N as isize && row < M {
                        state = state.join(OP, State::of(OP, x[[row, at as usize]].cast::<f32>(), at as u32));
                    }
                }
            }
        }
        state = state.over_block(OP, thread_idx.x, thread, 1, GROUP);
        if thread == 0 && row < M {
            if OP == ARGMAX || OP == ARGMIN {
                out[[row]] = state.at.cast::<U>();
            } else {
                out[[row]] = state.value(OP, N, correction).cast::<U>();
            }
        }
    }

    /// `out[i, k]`: the elements `x[i, .., k]` reduced, of any strides. A block takes `COLS` neighbouring `k`: a power of two.
    #[tiled_kernel(
        OP = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], T = [f32, bf16, f16], U = [f32, bf16, f16, u32, u8], COLS = [1, 32],
        filter(
            if OP == 5 || OP == 6 { U == u32 } else if OP == 7 || OP == 8 { U == u8 } else { U == T },
            T == f32 && (COLS == 1) == (OP % 2 == 1) || OP == 2 && COLS == 1,
        ),
        block = [COLS, 256 / COLS], grid = [M * K.div_ceil(COLS)],
        deny(narrowed),
    )]
    pub fn reduce_axis<T, U, const M: usize, const N: usize, const K: usize>(
        x: &LayoutTensor<T, Strided<M, N, K>>,
        out: &mut LayoutTensor<U, Strided<M, K>>,
        correction: f32,
    ) {
        let tiles = K.div_ceil(COLS);
        let (i, k) = (block_idx.x / tiles, block_idx.x % tiles * COLS + thread_idx.x);
        assume(i < M);
        let mut state = State::empty(OP);
        if k < K {
            for eight in (thread_idx.y..N.div_ceil(8)).step_by(256 / COLS) {
                if eight * 8 + 8 <= N {
                    let mut values = [0.0; 8];
                    for j in unroll(0..8) {
                        values[j] = x[[i, eight * 8 + j, k]].cast::<f32>();
                    }
                    state = state.with(OP, values, (eight * 8) as u32);
                } else {
                    for at in eight * 8..N {
                        state = state.join(OP, State::of(OP, x[[i, at, k]].cast::<f32>(), at as u32));
                    }
                }
            }
        }
        state = state.over_block(OP, thread_idx.y * COLS + thread_idx.x, thread_idx.y, COLS, 256 / COLS);
        if thread_idx.y == 0 && k < K {
            if OP == ARGMAX || OP == ARGMIN {
                out[[i, k]] = state.at.cast::<U>();
            } else {
                out[[i, k]] = state.value(OP, N, correction).cast::<U>();
            }
        }
    }
}

use layout_cuda::Definition;

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 2] {
    [&reduce_rows::DEFINITION, &reduce_axis::DEFINITION]
}
