//! A function of one, two or three elements: of vectors, and of up to four modes with any strides; rotary embedding.
//!
//! Law: each element is computed in float32 and rounded once. A NaN stays one, also through `maximum`, `minimum`, `clamp` and `relu`; `silu`
//! and `gelu` of minus infinity are -0.

use layout_cuda::tiled_kernels;

pub use functions::{binary, binary_strided, choose, choose_strided, rope, unary, unary_strided};

#[tiled_kernels]
mod functions {
    /// Elements of a thread.
    const EACH: usize = 16;

    // Functions of one element: `F` of `unary`. Two numbers of the launch follow, which most of them leave.
    fn identity(x: f32, _a: f32, _b: f32) -> f32 {
        x
    }
    fn affine(x: f32, a: f32, b: f32) -> f32 {
        x.mul_add(a, b)
    }
    fn exp(x: f32, _a: f32, _b: f32) -> f32 {
        x.exp()
    }
    fn log(x: f32, _a: f32, _b: f32) -> f32 {
        x.ln()
    }
    fn sqrt(x: f32, _a: f32, _b: f32) -> f32 {
        x.sqrt()
    }
    fn sigmoid(x: f32, _a: f32, _b: f32) -> f32 {
        1.0 / (1.0 + (-x).exp())
    }
    fn relu(x: f32, _a: f32, _b: f32) -> f32 {
        select(x < 0.0, 0.0, x)
    }
    fn clamp(x: f32, low: f32, high: f32) -> f32 {
        select(x < low, low, select(x > high, high, x))
    }
    // Far below zero the quotient would be one of infinities.
    fn silu(x: f32, _a: f32, _b: f32) -> f32 {
        select(x < -200.0, -0.0, x / (1.0 + (-x).exp()))
    }
    // (1 + tanh(u / 2)) / 2 = 1 / (1 + exp(-u)), which loses nothing far below zero.
    fn gelu_tanh(x: f32, _a: f32, _b: f32) -> f32 {
        let u = x * (0.0713548163 * (x * x) + 1.59576912);
        select(x < -20.0, -0.0, x / (1.0 + (-u).exp()))
    }
    // x erfc(-x / √2) / 2. For z = |x| / √2 erfc(z) = exp(-z²) t p(t), with t = 1 / (1 + z / 2) and p of degree 8 within 1.6e-7.
    fn gelu(x: f32, _a: f32, _b: f32) -> f32 {
        const P: [f32; 9] = [
            -0.060785193,
            0.292550534,
            -0.502785981,
            0.294710398,
            -0.0371859036,
            0.206739008,
            0.242190868,
            0.282485217,
            0.282081008,
        ];
        let t = 1.0 / x.abs().mul_add(0.353553391, 1.0);
        let mut p = P[0];
        for k in unroll(1..9) {
            p = p.mul_add(t, P[k]);
        }
        let half = 0.5 * x;
        let square = half * x;
        let lost = half.mul_add(x, -square);
        let tail = 0.5 * t * p * (-square).exp() * (1.0 - lost);
        let of_x = x * select(x < 0.0, tail, 1.0 - tail);
        select(x < -20.0, -0.0, select(x > 20.0, x, of_x))
    }

    // Functions of two elements: `F` of `binary`.
    fn add(x: f32, y: f32) -> f32 {
        x + y
    }
    fn sub(x: f32, y: f32) -> f32 {
        x - y
    }
    fn mul(x: f32, y: f32) -> f32 {
        x * y
    }
    fn div(x: f32, y: f32) -> f32 {
        x / y
    }
    fn maximum(x: f32, y: f32) -> f32 {
        select(x == x && y == y, x.max(y), x + y)
    }
    fn minimum(x: f32, y: f32) -> f32 {
        select(x == x && y == y, x.min(y), x + y)
    }
    fn swiglu(x: f32, y: f32) -> f32 {
        silu(x, 0.0, 0.0) * y
    }

    /// `out[i] = F(x[i], a, b)`
    #[tiled_kernel(
        F = [gelu, identity, affine, exp, log, sqrt, sigmoid, relu, clamp, silu, gelu_tanh], T = [f32, bf16, f16], U = [f32, bf16, f16], THREADS = 256,
        filter(T == f32 && U == f32 || F == gelu && T == U || F == identity && T != U && (T == f32 || U == f32)),
        block = [THREADS],
        grid = [N.div_ceil(THREADS * EACH)],
        deny(narrowed),
    )]
    pub fn unary<T, U, const N: usize>(
        x: &LayoutTensor<T, RowMajor<N>>,
        out: &mut LayoutTensor<U, RowMajor<N>>,
        a: f32,
        b: f32,
    ) {
        /// A tile, by vectors or by elements.
        fn apply<T: Element, U: Element>(x: View<T, Read>, out: View<U, Write>, a: f32, b: f32) {
            let own = x.distribute(row_major([THREADS]), thread_idx.x).to_local();
            let mut to = local::<U>(row_major([EACH]));
            for i in unroll(0..EACH) {
                to[[i]] = F(own[[i]].cast::<f32>(), a, b).cast::<U>();
            }
            out.distribute(row_major([THREADS]), thread_idx.x).copy_from(&to);
        }
        const V: usize = if size_of::<T>() + size_of::<U>() == 4 { 8 } else { 4 };
        const TILE: usize = THREADS * EACH;
        let (from, to) = (x.tile([TILE], [block_idx.x]), out.tile([TILE], [block_idx.x]));
        if (block_idx.x + 1) * TILE <= N {
            apply(from.vectorize([V]), to.vectorize([V]), a, b);
        } else {
            apply(from, to, a, b);
        }
    }

    /// `out[i] = F(x[i], y[i])`
    #[tiled_kernel(
        F = [swiglu, add, sub, mul, div, maximum, minimum], T = [f32, bf16, f16], THREADS = 256,
        filter(T == f32 || F == swiglu),
        block = [THREADS], grid = [N.div_ceil(THREADS * EACH)],
        deny(narrowed),
    )]
    pub fn binary<T, const N: usize>(
        x: &LayoutTensor<T, RowMajor<N>>,
        y: &LayoutTensor<T, RowMajor<N>>,
        out: &mut LayoutTensor<T, RowMajor<N>>,
    ) {
        /// A tile, by vectors or by elements.
        fn apply<T: Element>(x: View<T, Read>, y: View<T, Read>, out: View<T, Write>) {
            let own = x.distribute(row_major([THREADS]), thread_idx.x).to_local();
            let other = y.distribute(row_major([THREADS]), thread_idx.x).to_local();
            let mut to = local::<T>(row_major([EACH]));
            for i in unroll(0..EACH) {
                to[[i]] = F(own[[i]].cast::<f32>(), other[[i]].cast::<f32>()).cast::<T>();
            }
            out.distribute(row_major([THREADS]), thread_idx.x).copy_from(&to);
        }
        const V: usize = 16 / size_of::<T>();
        const TILE: usize = THREADS * EACH;
        let of = [block_idx.x];
        let (from, other, to) = (x.tile([TILE], of), y.tile([TILE], of), out.tile([TILE], of));
        if (block_idx.x + 1) * TILE <= N {
            apply(from.vectorize([V]), other.vectorize([V]), to.vectorize([V]));
        } else {
            apply(from, other, to);
        }
    }

    /// `out[i]`: `x[i]` where the mask is true, else `y[i]`, bit for bit.
    #[tiled_kernel(
        T = [f32, bf16, f16], THREADS = 256,
        block = [THREADS], grid = [N.div_ceil(THREADS * EACH)],
        deny(narrowed),
    )]
    pub fn choose<T, const N: usize>(
        mask: &LayoutTensor<bool, RowMajor<N>>,
        x: &LayoutTensor<T, RowMajor<N>>,
        y: &LayoutTensor<T, RowMajor<N>>,
        out: &mut LayoutTensor<T, RowMajor<N>>,
    ) {
        /// A tile, by vectors or by elements.
        fn apply<T: Element>(
            mask: View<bool, Read>,
            x: View<T, Read>,
            y: View<T, Read>,
            out: View<T, Write>,
        ) {
            let chosen = mask.distribute(row_major([THREADS]), thread_idx.x).to_local();
            let own = x.distribute(row_major([THREADS]), thread_idx.x).to_local();
            let other = y.distribute(row_major([THREADS]), thread_idx.x).to_local();
            let mut to = local::<T>(row_major([EACH]));
            for i in unroll(0..EACH) {
                to[[i]] = select(chosen[[i]], own[[i]], other[[i]]);
            }
            out.distribute(row_major([THREADS]), thread_idx.x).copy_from(&to);
        }
        const V: usize = 16 / size_of::<T>();
        const TILE: usize = THREADS * EACH;
        let of = [block_idx.x];
        let (from, other, to) = (x.tile([TILE], of), y.tile([TILE], of), out.tile([TILE], of));
        let chosen = mask.tile([TILE], of);
        if (block_idx.x + 1) * TILE <= N {
            apply(chosen.vectorize([V]), from.vectorize([V]), other.vectorize([V]), to.vectorize([V]));
        } else {
            apply(chosen, from, other, to);
        }
    }

    // The coordinates in `[a, b, c, d]` of element `at`, of the last `modes` modes. Numbers of 32 bits divide in a quarter of the time.
    fn place(at: u32, modes: usize, a: usize, b: usize, c: usize, d: usize) -> (usize, usize, usize, usize) {
        let of_c = if modes > 1 { at / d as u32 } else { 0 };
        let of_b = if modes > 2 { of_c / c as u32 } else { 0 };
        let of_a = if modes > 3 { of_b / b as u32 } else { 0 };
        let l = if modes > 1 { at - of_c * d as u32 } else { at };
        let k = if modes > 2 { of_c - of_b * c as u32 } else { of_c };
        let j = if modes > 3 { of_b - of_a * b as u32 } else { of_b };
        let (i, j, k, l) = (of_a as usize, j as usize, k as usize, l as usize);
        assume(i < a && j < b && k < c && l < d);
        (i, j, k, l)
    }

    /// The same as `unary` of the last `MODES` modes, others have an extent of 1.
    #[tiled_kernel(
        F = [identity, gelu, affine, exp, log, sqrt, sigmoid, relu, clamp, silu, gelu_tanh], T = [f32, bf16, f16], U = [f32, bf16, f16], MODES = [2, 4], ROUNDS = 4,
        filter(F == identity && (T == U || T == f32 && U == bf16) && (MODES == 2 || T == f32)),
        block = [256], grid = [(A * B * C * D).div_ceil(256 * ROUNDS)],
        require(A * B * C * D < 4294966272),
        deny(narrowed),
    )]
    pub fn unary_strided<T, U, const A: usize, const B: usize, const C: usize, const D: usize>(
        x: &LayoutTensor<T, Strided<A, B, C, D>>,
        out: &mut LayoutTensor<U, Strided<A, B, C, D>>,
        a: f32,
        b: f32,
    ) {
        for round in unroll(0..ROUNDS) {
            let at = ((block_idx.x * ROUNDS + round) * 256 + thread_idx.x) as u32;
            if at < (A * B * C * D) as u32 {
                let (i, j, k, l) = place(at, MODES, A, B, C, D);
                out[[i, j, k, l]] = F(x[[i, j, k, l]].cast::<f32>(), a, b).cast::<U>();
            }
        }
    }

    /// The same as `binary` of the last `MODES` modes, others have an extent of 1.
    #[tiled_kernel(
        F = [add, swiglu, sub, mul, div, maximum, minimum], T = [f32, bf16, f16], MODES = [2, 4], ROUNDS = 4,
        filter(F == add && (MODES == 2 || T == f32)),
        block = [256], grid = [(A * B * C * D).div_ceil(256 * ROUNDS)],
        require(A * B * C * D < 4294966272),
        deny(narrowed),
    )]
    pub fn binary_strided<T, const A: usize, const B: usize, const C: usize, const D: usize>(
        x: &LayoutTensor<T, Strided<A, B, C, D>>,
        y: &LayoutTensor<T, Strided<A, B, C, D>>,
        out: &mut LayoutTensor<T, Strided<A, B, C, D>>,
    ) {
        for round in unroll(0..ROUNDS) {
            let at = ((block_idx.x * ROUNDS + round) * 256 + thread_idx.x) as u32;
            if at < (A * B * C * D) as u32 {
                let (i, j, k, l) = place(at, MODES, A, B, C, D);
                out[[i, j, k, l]] =
                    F(x[[i, j, k, l]].cast::<f32>(), y[[i, j, k, l]].cast::<f32>()).cast::<T>();
            }
        }
    }

    /// The same as `choose` of the last `MODES` modes, others have an extent of 1.
    #[tiled_kernel(
        T = [f32, bf16, f16], MODES = [2, 4], ROUNDS = 4,
        block = [256], grid = [(A * B * C * D).div_ceil(256 * ROUNDS)],
        require(A * B * C * D < 4294966272),
        deny(narrowed),
    )]
    pub fn choose_strided<T, const A: usize, const B: usize, const C: usize, const D: usize>(
        mask: &LayoutTensor<bool, Strided<A, B, C, D>>,
        x: &LayoutTensor<T, Strided<A, B, C, D>>,
        y: &LayoutTensor<T, Strided<A, B, C, D>>,
        out: &mut LayoutTensor<T, Strided<A, B, C, D>>,
    ) {
        for round in unroll(0..ROUNDS) {
            let at = ((block_idx.x * ROUNDS + round) * 256 + thread_idx.x) as u32;
            if at < (A * B * C * D) as u32 {
                let (i, j, k, l) = place(at, MODES, A, B, C, D);
                out[[i, j, k, l]] = select(mask[[i, j, k, l]], x[[i, j, k, l]], y[[i, j, k, l]]);
            }
        }
    }

    /// Each pair of a head's elements turned by the angle of its token and place, whose cosine and sine are given. A pair is
    /// `(x[i], x[i + D / 2])`, with `ADJACENT` `(x[2 i], x[2 i + 1])`. A thread turns `V` pairs.
    #[tiled_kernel(
        T = [f32, bf16, f16], ADJACENT = [false, true], V = [1, 8],
        block = [256], grid = [(M * H * (D / 2 / V)).div_ceil(256)],
        require(D % (2 * V) == 0),
        deny(narrowed),
    )]
    pub fn rope<T, const M: usize, const H: usize, const D: usize>(
        x: &LayoutTensor<T, RowMajor<M, H, D>>,
        cos: &LayoutTensor<f32, RowMajor<M, { D / 2 }>>,
        sin: &LayoutTensor<f32, RowMajor<M, { D / 2 }>>,
        out: &mut LayoutTensor<T, RowMajor<M, H, D>>,
    ) {
        let at = block_idx.x * 256 + thread_idx.x;
        let groups = D / 2 / V;
        if at < M * H * groups {
            let (token, head, group) = (at / groups / H, at / groups % H, at % groups);
            assume(token < M);
            let of_cos =
                cos.tile([1, V], [token, group]).vectorize([1, if V > 4 { 4 } else { V }]).to_local();
            let of_sin =
                sin.tile([1, V], [token, group]).vectorize([1, if V > 4 { 4 } else { V }]).to_local();
            const W: usize = if V * size_of::<T>() > 16 { 16 / size_of::<T>() } else { V };
            let mut own = local::<T>(row_major([1, 1, 2 * V]));
            let (first, second) = (own.tile([1, 1, V], [0, 0, 0]), own.tile([1, 1, V], [0, 0, 1]));
            let all = if ADJACENT { 2 * group } else { group };
            let other = if ADJACENT { 2 * group + 1 } else { group + groups };
            first.vectorize([1, 1, W]).copy_from(&x.tile([1, 1, V], [token, head, all]).vectorize([1, 1, W]));
            second
                .vectorize([1, 1, W])
                .copy_from(&x.tile([1, 1, V], [token, head, other]).vectorize([1, 1, W]));
            for i in unroll(0..V) {
                let (p, q) = if ADJACENT { (2 * i, 2 * i + 1) } else { (i, i + V) };
                let (re, im) = (own[[0, 0, p]].cast::<f32>(), own[[0, 0, q]].cast::<f32>());
                own[[0, 0, p]] = (re * of_cos[[0, i]] - im * of_sin[[0, i]]).cast::<T>();
                own[[0, 0, q]] = (im * of_cos[[0, i]] + re * of_sin[[0, i]]).cast::<T>();
            }
            out.tile([1, 1, V], [token, head, all])
                .vectorize([1, 1, W])
                .copy_from(&first.vectorize([1, 1, W]));
            out.tile([1, 1, V], [token, head, other])
                .vectorize([1, 1, W])
                .copy_from(&second.vectorize([1, 1, W]));
        }
    }
}

use layout_cuda::Definition;

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 7] {
    [
        &unary::DEFINITION,
        &binary::DEFINITION,
        &choose::DEFINITION,
        &unary_strided::DEFINITION,
        &binary_strided::DEFINITION,
        &choose_strided::DEFINITION,
        &rope::DEFINITION,
    ]
}
