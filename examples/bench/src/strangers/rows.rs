//! Rows of 16-bit numbers: quantised to eight bits with a scale each, and a depthwise convolution with SiLU.

use crate::contest::{Bench, Found, Work};
use crate::noise::noise;
use crate::{Result, parallel};
use layout_cuda::{E4m3, bf16, tiled_kernel};

/// Each row over its largest magnitude, element by element.
#[tiled_kernel(block = [256], grid = [M])]
pub fn quantised<const M: usize, const N: usize>(
    x: &LayoutTensor<bf16, RowMajor<M, N>>,
    q: &mut LayoutTensor<e4m3, RowMajor<M, N>>,
    scales: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    let row = block_idx.x;
    let mut most = 0.0f32;
    for k in (thread_idx.x..N).step_by(256) {
        most = most.max(x[[row, k]].cast::<f32>().abs());
    }
    let most = most.block_max();
    let scale = if most > 0.0 { most / 448.0 } else { 1.0 };
    if thread_idx.x == 0 {
        scales[[row]] = scale;
    }
    for k in (thread_idx.x..N).step_by(256) {
        q[[row, k]] = (x[[row, k]].cast::<f32>() / scale).cast::<e4m3>();
    }
}

/// The same by vectors of eight.
#[tiled_kernel(block = [256], grid = [M], variant_if(N % 8 == 0))]
pub fn quantised_by_eight<const M: usize, const N: usize>(
    x: &LayoutTensor<bf16, RowMajor<M, N>>,
    q: &mut LayoutTensor<e4m3, RowMajor<M, N>>,
    scales: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    let row = block_idx.x;
    let mut most = 0.0f32;
    for step in 0..N.div_ceil(2048) {
        let own = x
            .slice(row)
            .tile([2048], [step])
            .vectorize([8])
            .distribute(row_major([256]), thread_idx.x)
            .to_local();
        for k in unroll(0..8) {
            most = most.max(own[[k]].cast::<f32>().abs());
        }
    }
    let most = most.block_max();
    let scale = if most > 0.0 { most / 448.0 } else { 1.0 };
    if thread_idx.x == 0 {
        scales[[row]] = scale;
    }
    for step in 0..N.div_ceil(2048) {
        let own = x
            .slice(row)
            .tile([2048], [step])
            .vectorize([8])
            .distribute(row_major([256]), thread_idx.x)
            .to_local();
        let mut out = local::<e4m3>(row_major([8]));
        for k in unroll(0..8) {
            out[[k]] = (own[[k]].cast::<f32>() / scale).cast::<e4m3>();
        }
        let mut to =
            q.slice(row).tile([2048], [step]).vectorize([8]).distribute(row_major([256]), thread_idx.x);
        to.copy_from(&out.vectorize([8]));
    }
}

/// Four taps back in time for each channel, then SiLU: a thread a channel.
#[tiled_kernel(ROWS = 16, block = [128], grid = [C.div_ceil(128), L.div_ceil(ROWS), B])]
pub fn convolved<const B: usize, const L: usize, const C: usize>(
    x: &LayoutTensor<bf16, RowMajor<B, L, C>>,
    taps: &LayoutTensor<bf16, RowMajor<4, C>>,
    y: &mut LayoutTensor<bf16, RowMajor<B, L, C>>,
) {
    let c = block_idx.x * 128 + thread_idx.x;
    let b = block_idx.z;
    if c >= C {
        return;
    }
    let mut weights = [0.0f32; 4];
    for k in 0..4 {
        weights[k] = taps[[k, c]].cast::<f32>();
    }
    for row in 0..ROWS {
        let t = block_idx.y * ROWS + row;
        if t < L {
            let mut sum = 0.0;
            for k in 0..4 {
                if t + k >= 3 {
                    sum += weights[k] * x[[b, t + k - 3, c]].cast::<f32>();
                }
            }
            y[[b, t, c]] = (sum / (1.0 + (-sum).exp())).cast::<bf16>();
        }
    }
}

/// The same by vectors: a thread eight channels of some rows.
#[tiled_kernel(
    ROWS = 8,
    block = [128], grid = [C.div_ceil(1024), L.div_ceil(ROWS), B], variant_if(C % 8 == 0),
)]
pub fn convolved_by_eight<const B: usize, const L: usize, const C: usize>(
    x: &LayoutTensor<bf16, RowMajor<B, L, C>>,
    taps: &LayoutTensor<bf16, RowMajor<4, C>>,
    y: &mut LayoutTensor<bf16, RowMajor<B, L, C>>,
) {
    let c = (block_idx.x * 128 + thread_idx.x) * 8;
    let first = block_idx.y * ROWS;
    let weights = taps.window([4, 8], [0, c]).vectorize([1, 8]).to_local();
    let near = x.slice(block_idx.z).window([ROWS + 3, 8], [first - 3, c]).vectorize([1, 8]).to_local();
    let mut out = local::<bf16>(row_major([ROWS, 8]));
    for row in unroll(0..ROWS) {
        for j in unroll(0..8) {
            let mut sum = 0.0f32;
            for k in unroll(0..4) {
                sum += weights[[k, j]].cast::<f32>() * near[[row + k, j]].cast::<f32>();
            }
            out[[row, j]] = (sum / (1.0 + (-sum).exp())).cast::<bf16>();
        }
    }
    let mut to = y.slice(block_idx.z).window([ROWS, 8], [first, c]).vectorize([1, 8]);
    to.copy_from(&out.vectorize([1, 8]));
}

fn halves(n: usize, seed: u32) -> Vec<bf16> {
    parallel(n, |range| range.map(|i| bf16::from_f32(noise(i, seed))).collect::<Vec<_>>()).concat()
}

/// `m` rows of `n`, quantised in both ways.
pub fn quantise(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let values = halves(m * n, 111);
    let x = bench.device.upload(&values, [m, n])?;
    let mut q = bench.device.zeros::<E4m3, 2>([m, n])?;
    let mut scales = bench.device.zeros::<f32, 1>([m])?;
    let check = |found: Vec<E4m3>, scales: Vec<f32>| {
        let parts = parallel(m, |rows| {
            let mut all = Found::default();
            for row in rows {
                let own = &values[row * n..(row + 1) * n];
                let scale = own.iter().fold(0.0f32, |most, x| most.max(x.to_f32().abs())) / 448.0;
                all.add(row, f64::from((scales[row] - scale).abs()), 0.0);
                for (k, x) in own.iter().enumerate() {
                    // A quotient near the middle of two e4m3 numbers may be either: half of a step is the bound.
                    let wanted = f64::from(x.to_f32() / scale);
                    let found = f64::from(found[row * n + k].to_f32());
                    all.add(row * n + k, (found - wanted).abs(), wanted.abs().max(1.0 / 64.0) * 0.0626);
                }
            }
            all
        });
        parts.into_iter().fold(Found::default(), Found::and)
    };
    let work = Work::new("quantise", "bf16", &[m, n], 3.0, 3.0);
    q.poison()?;
    quantised::launch(&stream, &x, &mut q, &mut scales)?;
    let found = check(q.download()?, scales.download()?);
    bench.beside_copy(&work, found, "quantised", || quantised::launch(&stream, &x, &mut q, &mut scales))?;
    q.poison()?;
    quantised_by_eight::launch(&stream, &x, &mut q, &mut scales)?;
    let found = check(q.download()?, scales.download()?);
    bench.beside_copy(&work, found, "quantised_by_eight", || {
        quantised_by_eight::launch(&stream, &x, &mut q, &mut scales)
    })
}

/// `b` sequences of `l` steps of `c` channels, in both ways.
pub fn convolve(bench: &mut Bench<'_>, [b, l, c]: [usize; 3]) -> Result<()> {
    let stream = bench.stream.clone();
    let (values, weights) = (halves(b * l * c, 112), halves(4 * c, 113));
    let x = bench.device.upload(&values, [b, l, c])?;
    let taps = bench.device.upload(&weights, [4, c])?;
    let mut y = bench.device.zeros::<bf16, 3>([b, l, c])?;
    let check = |found: Vec<bf16>| {
        let parts = parallel(b * l * c, |range| {
            let mut all = Found::default();
            for at in range {
                let (t, channel) = (at / c % l, at % c);
                let mut sum = 0.0;
                for k in 3usize.saturating_sub(t)..4 {
                    let near = values[at + k * c - 3 * c].to_f32();
                    sum += f64::from(weights[k * c + channel].to_f32()) * f64::from(near);
                }
                let wanted = sum / (1.0 + (-sum).exp());
                all.add(at, (f64::from(found[at].to_f32()) - wanted).abs(), wanted.abs() * 0.004 + 1e-6);
            }
            all
        });
        parts.into_iter().fold(Found::default(), Found::and)
    };
    let work = Work::new("convolve_silu", "bf16", &[b, l, c], 4.0, 12.0);
    y.poison()?;
    convolved::launch(&stream, &x, &taps, &mut y)?;
    let found = check(y.download()?);
    bench.beside_copy(&work, found, "convolved", || convolved::launch(&stream, &x, &taps, &mut y))?;
    y.poison()?;
    convolved_by_eight::launch(&stream, &x, &taps, &mut y)?;
    let found = check(y.download()?);
    bench.beside_copy(&work, found, "convolved_by_eight", || {
        convolved_by_eight::launch(&stream, &x, &taps, &mut y)
    })
}
