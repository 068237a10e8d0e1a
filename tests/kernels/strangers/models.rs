//! Parts of models: rotary positions, a backward pass, four-bit weights, a recurrent cell, a depthwise convolution.

use crate::support::case::{Case, Outcome};
use crate::support::data::{floats, noise};
use layout_cuda::{bf16, f16, tiled_kernel};

/// Rotary embedding of pairs `(x[i], x[i + D / 2])` by the position's angle.
#[tiled_kernel(block = [64], grid = [S])]
pub fn rotated<const S: usize, const D: usize>(
    x: &LayoutTensor<bf16, RowMajor<S, D>>,
    y: &mut LayoutTensor<bf16, RowMajor<S, D>>,
    base: f32,
) {
    let row = block_idx.x;
    let half = D / 2;
    for i in (thread_idx.x..half).step_by(64) {
        let angle = row as f32 * base.powf(-2.0 * i as f32 / D as f32);
        let (sin, cos) = angle.sin_cos();
        let (a, b) = (x[[row, i]].cast::<f32>(), x[[row, i + half]].cast::<f32>());
        y[[row, i]] = (a * cos - b * sin).cast::<bf16>();
        y[[row, i + half]] = (a * sin + b * cos).cast::<bf16>();
    }
}

/// The gradient of a layer norm by its input, a block a row.
#[tiled_kernel(BLOCK = 128, block = [BLOCK], grid = [M])]
pub fn norm_backward<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    weight: &LayoutTensor<f32, RowMajor<N>>,
    dy: &LayoutTensor<f32, RowMajor<M, N>>,
    dx: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let row = block_idx.x;
    fn mean_of(n: usize, f: impl Fn(usize) -> f32) -> f32 {
        let mut sum = 0.0;
        for j in (thread_idx.x..n).step_by(BLOCK) {
            sum += f(j);
        }
        sum.block_sum() / n as f32
    }
    let mean = mean_of(N, |j| x[[row, j]]);
    let variance = mean_of(N, |j| (x[[row, j]] - mean).powi(2));
    let scale = (variance + 1e-5).rsqrt();
    let of_gradient = mean_of(N, |j| dy[[row, j]] * weight[[j]]);
    let of_both = mean_of(N, |j| dy[[row, j]] * weight[[j]] * (x[[row, j]] - mean) * scale);
    for j in (thread_idx.x..N).step_by(BLOCK) {
        let normal = (x[[row, j]] - mean) * scale;
        dx[[row, j]] = scale * (dy[[row, j]] * weight[[j]] - of_gradient - normal * of_both);
    }
}

/// A few rows of f16 times weights of four bits, eight in a word, a scale for each 32: a warp a column.
#[tiled_kernel(ROWS = 4, WARPS = 4, block = [32 * WARPS], grid = [N.div_ceil(WARPS)])]
pub fn four_bits<const N: usize, const K: usize>(
    x: &LayoutTensor<f16, RowMajor<ROWS, K>>,
    words: &LayoutTensor<u32, RowMajor<N, { K / 8 }>>,
    scales: &LayoutTensor<f16, RowMajor<N, { K / 32 }>>,
    y: &mut LayoutTensor<f32, RowMajor<ROWS, N>>,
) {
    let column = block_idx.x * WARPS + warp_id();
    if column >= N {
        return;
    }
    let mut sums = [0.0; ROWS];
    for k in (lane_id()..K / 8).step_by(32) {
        let word = words[[column, k]];
        let scale = scales[[column, k / 4]].cast::<f32>();
        for e in 0..8 {
            let weight = ((word >> (4 * e)) & 0xf) as i32 - 8;
            for row in 0..ROWS {
                sums[row] += x[[row, k * 8 + e]].cast::<f32>() * weight as f32 * scale;
            }
        }
    }
    for (row, sum) in sums.iter().enumerate() {
        let all = sum.warp_sum();
        if lane_id() == 0 {
            y[[row, column]] = all;
        }
    }
}

/// A step of a GRU: gates from the products of input and state.
#[tiled_kernel(block = [64], grid = [H.div_ceil(64), B])]
pub fn gated<const B: usize, const I: usize, const H: usize>(
    x: &LayoutTensor<f32, RowMajor<B, I>>,
    h: &LayoutTensor<f32, RowMajor<B, H>>,
    w: &LayoutTensor<f32, RowMajor<3, H, I>>,
    u: &LayoutTensor<f32, RowMajor<3, H, H>>,
    out: &mut LayoutTensor<f32, RowMajor<B, H>>,
) {
    fn sigmoid(x: f32) -> f32 {
        1.0 / (1.0 + (-x).exp())
    }
    let (row, unit) = (block_idx.y, block_idx.x * 64 + thread_idx.x);
    if unit >= H {
        return;
    }
    let mut gates = [[0.0; 2]; 3];
    for i in 0..I {
        for (gate, sums) in gates.iter_mut().enumerate() {
            sums[0] += w[[gate, unit, i]] * x[[row, i]];
        }
    }
    for j in 0..H {
        for (gate, sums) in gates.iter_mut().enumerate() {
            sums[1] += u[[gate, unit, j]] * h[[row, j]];
        }
    }
    let [reset, update, new] = gates;
    let r = sigmoid(reset[0] + reset[1]);
    let z = sigmoid(update[0] + update[1]);
    let n = (new[0] + r * new[1]).tanh();
    out[[row, unit]] = (1.0 - z) * n + z * h[[row, unit]];
}

/// A depthwise convolution of 3 by 3 with edges of zeros, four outputs of a row by a thread.
#[tiled_kernel(RUN = 4, block = [32], grid = [W.div_ceil(32 * RUN), H, C])]
pub fn depthwise<const C: usize, const H: usize, const W: usize>(
    x: &LayoutTensor<f32, RowMajor<C, H, W>>,
    taps: &LayoutTensor<f32, RowMajor<C, 3, 3>>,
    y: &mut LayoutTensor<f32, RowMajor<C, H, W>>,
) {
    let (channel, row) = (block_idx.z, block_idx.y);
    let first = (block_idx.x * 32 + thread_idx.x) * RUN;
    let mut near = [[0.0; RUN + 2]; 3];
    let around = x.pad(0.0).window([1, 3, RUN + 2], [channel, row - 1, first - 1]);
    for (i, line) in near.iter_mut().enumerate() {
        for (j, value) in line.iter_mut().enumerate() {
            *value = around[[0, i, j]];
        }
    }
    let mut sums = [0.0; RUN];
    for i in 0..3 {
        for j in 0..3 {
            let tap = taps[[channel, i, j]];
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum += tap * near[i][j + k];
            }
        }
    }
    let mut out = y.tile([1, 1, RUN], [channel, row, first / RUN]);
    for k in 0..RUN {
        out[[0, 0, k]] = sums[k];
    }
}

/// Rows with two of four kept, opened to their places.
#[tiled_kernel(block = [128], grid = [M])]
pub fn opened<const M: usize, const Q: usize>(
    kept: &LayoutTensor<f32, RowMajor<M, { 2 * Q }>>,
    places: &LayoutTensor<u8, RowMajor<M, Q>>,
    y: &mut LayoutTensor<f32, RowMajor<M, { 4 * Q }>>,
) {
    let row = block_idx.x;
    for q in (thread_idx.x..Q).step_by(128) {
        let code = places[[row, q]];
        let mut four = [0.0; 4];
        four[(code & 3) as usize] = kept[[row, 2 * q]];
        four[(code >> 2 & 3) as usize] = kept[[row, 2 * q + 1]];
        for k in 0..4 {
            y[[row, 4 * q + k]] = four[k];
        }
    }
}

pub fn cases() -> Vec<Case> {
    rows().into_iter().chain(more()).collect()
}

fn rows() -> Vec<Case> {
    vec![
        Case::new(&rotated::DEFINITION, vec![[5, 64, 0], [3, 20, 0], [1, 300, 0]], |run| {
            let [s, d, _] = run.size;
            let x: Vec<bf16> = floats(s * d, 1).into_iter().map(bf16::from_f32).collect();
            let mut y = run.output::<bf16, 2>([s, d])?;
            let there = run.tensor(&x, [s, d])?;
            rotated::launch_with(run.config(), &run.stream(), &there.view()?, &mut y.view_mut()?, 10000.0)?;
            let one = |at: usize| {
                let (row, j) = (at / d, at % d);
                let i = j % (d / 2);
                let angle = row as f64 * 10000f64.powf(-2.0 * i as f64 / d as f64);
                let [a, b] = [i, i + d / 2].map(|at| f64::from(x[row * d + at].to_f32()));
                100.0
                    + if j < d / 2 {
                        a * angle.cos() - b * angle.sin()
                    } else {
                        a * angle.sin() + b * angle.cos()
                    }
            };
            let found = y.read()?.into_iter().map(|y| 100.0 + y.to_f32()).collect();
            Ok(Outcome::within(1e-4, found, (0..s * d).map(one)))
        }),
        Case::new(&norm_backward::DEFINITION, vec![[3, 200, 0], [2, 7, 0]], |run| {
            let [m, n, _] = run.size;
            let (x, weight, dy) = (floats(m * n, 1), floats(n, 2), floats(m * n, 3));
            let mut dx = run.output::<f32, 2>([m, n])?;
            let [x_there, dy_there] = [run.tensor(&x, [m, n])?, run.tensor(&dy, [m, n])?];
            let weight_there = run.tensor(&weight, [n])?;
            norm_backward::launch_with(
                run.config(),
                &run.stream(),
                &x_there.view()?,
                &weight_there.view()?,
                &dy_there.view()?,
                &mut dx.view_mut()?,
            )?;
            let row = |row: usize| {
                let of = |values: &[f32]| -> Vec<f64> {
                    values[row * n..][..n].iter().map(|value| f64::from(*value)).collect()
                };
                let (x, dy) = (of(&x), of(&dy));
                let mean_of = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
                let mean = mean_of(&|j| x[j]);
                let scale = 1.0 / (mean_of(&|j| (x[j] - mean).powi(2)) + 1e-5).sqrt();
                let gradient: Vec<f64> = (0..n).map(|j| dy[j] * f64::from(weight[j])).collect();
                let first = mean_of(&|j| gradient[j]);
                let both = mean_of(&|j| gradient[j] * (x[j] - mean) * scale);
                let one = |j: usize| 50.0 + scale * (gradient[j] - first - (x[j] - mean) * scale * both);
                (0..n).map(one).collect::<Vec<f64>>()
            };
            let found = dx.read()?.into_iter().map(|dx| 50.0 + dx).collect();
            Ok(Outcome::within(1e-6, found, (0..m).flat_map(row)))
        }),
        Case::new(&four_bits::DEFINITION, vec![[7, 64, 0], [9, 1056, 0]], |run| {
            let [n, k, _] = run.size;
            let x: Vec<f16> = floats(4 * k, 1).into_iter().map(f16::from_f32).collect();
            let words: Vec<u32> = noise(n * k / 8, 2).map(|bits| (bits >> 11) as u32).collect();
            let scales: Vec<f16> = noise(n * k / 32, 3)
                .map(|bits| f16::from_f32(0.25 * (1 + (bits >> 40) % 4) as f32))
                .collect();
            let mut y = run.output::<f32, 2>([4, n])?;
            let [x_there, scales_there] = [run.tensor(&x, [4, k])?, run.tensor(&scales, [n, k / 32])?];
            let words_there = run.tensor(&words, [n, k / 8])?;
            four_bits::launch_with(
                run.config(),
                &run.stream(),
                &x_there.view()?,
                &words_there.view()?,
                &scales_there.view()?,
                &mut y.view_mut()?,
            )?;
            let one = |at: usize| {
                let (row, column) = (at / n, at % n);
                let term = |k_at: usize| {
                    let word = words[column * (k / 8) + k_at / 8];
                    let weight = (word >> (4 * (k_at % 8)) & 15) as f32 - 8.0;
                    x[row * k + k_at].to_f32() * weight * scales[column * (k / 32) + k_at / 32].to_f32()
                };
                (0..k).map(term).sum::<f32>()
            };
            Ok(Outcome::exact(y.read()?, (0..4 * n).map(one)))
        }),
    ]
}

fn more() -> Vec<Case> {
    vec![
        Case::new(&gated::DEFINITION, vec![[3, 5, 70], [1, 1, 1]], |run| {
            let [b, i, h] = run.size;
            let (x, state) = (floats(b * i, 1), floats(b * h, 2));
            let (w, u) = (floats(3 * h * i, 3), floats(3 * h * h, 4));
            let mut out = run.output::<f32, 2>([b, h])?;
            let [x_there, state_there] = [run.tensor(&x, [b, i])?, run.tensor(&state, [b, h])?];
            let [w_there, u_there] = [run.tensor(&w, [3, h, i])?, run.tensor(&u, [3, h, h])?];
            gated::launch_with(
                run.config(),
                &run.stream(),
                &x_there.view()?,
                &state_there.view()?,
                &w_there.view()?,
                &u_there.view()?,
                &mut out.view_mut()?,
            )?;
            let one = |at: usize| {
                let (row, unit) = (at / h, at % h);
                let of_x = |gate: usize| -> f64 {
                    (0..i).map(|k| f64::from(w[(gate * h + unit) * i + k] * x[row * i + k])).sum()
                };
                let of_h = |gate: usize| -> f64 {
                    (0..h).map(|k| f64::from(u[(gate * h + unit) * h + k] * state[row * h + k])).sum()
                };
                let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
                let (r, z) = (sigmoid(of_x(0) + of_h(0)), sigmoid(of_x(1) + of_h(1)));
                let n = (of_x(2) + r * of_h(2)).tanh();
                10.0 + (1.0 - z) * n + z * f64::from(state[row * h + unit])
            };
            let found = out.read()?.into_iter().map(|out| 10.0 + out).collect();
            Ok(Outcome::within(1e-5, found, (0..b * h).map(one)))
        }),
        Case::new(&depthwise::DEFINITION, vec![[2, 5, 133], [3, 1, 1]], |run| {
            let [c, h, w] = run.size;
            let (x, taps) = (floats(c * h * w, 1), floats(c * 9, 2));
            let mut y = run.output::<f32, 3>([c, h, w])?;
            let [x_there, taps_there] = [run.tensor(&x, [c, h, w])?, run.tensor(&taps, [c, 3, 3])?];
            depthwise::launch_with(
                run.config(),
                &run.stream(),
                &x_there.view()?,
                &taps_there.view()?,
                &mut y.view_mut()?,
            )?;
            let one = |at: usize| {
                let (channel, i, j) = (at / (h * w), at / w % h, at % w);
                let term = |tap: usize| {
                    let (row, column) = (i + tap / 3, j + tap % 3);
                    let inside = (1..=h).contains(&row) && (1..=w).contains(&column);
                    let value = if inside { x[(channel * h + row - 1) * w + column - 1] } else { 0.0 };
                    taps[channel * 9 + tap] * value
                };
                (0..9).map(term).sum::<f32>()
            };
            Ok(Outcome::exact(y.read()?, (0..c * h * w).map(one)))
        }),
        Case::new(&opened::DEFINITION, vec![[3, 130, 0], [1, 1, 0]], |run| {
            let [m, q, _] = run.size;
            let kept = floats(m * 2 * q, 1);
            let codes = [0b0100u8, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110];
            let places: Vec<u8> = noise(m * q, 2).map(|bits| codes[(bits >> 30) as usize % 6]).collect();
            let mut y = run.output::<f32, 2>([m, 4 * q])?;
            let (kept_there, places_there) = (run.tensor(&kept, [m, 2 * q])?, run.tensor(&places, [m, q])?);
            opened::launch_with(
                run.config(),
                &run.stream(),
                &kept_there.view()?,
                &places_there.view()?,
                &mut y.view_mut()?,
            )?;
            let mut wanted = vec![0.0; m * 4 * q];
            for (at, code) in places.iter().enumerate() {
                wanted[4 * at + usize::from(code & 3)] = kept[2 * at];
                wanted[4 * at + usize::from(code >> 2)] = kept[2 * at + 1];
            }
            Ok(Outcome::exact(y.read()?, wanted))
        }),
    ]
}
