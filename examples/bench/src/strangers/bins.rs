//! Weighted means of 1024 bins: by atomics, and with sums that keep what a rounding lost.

use crate::Result;
use crate::contest::{Bench, Found, Work};
use crate::noise::noise;
use layout_cuda::tiled_kernel;

/// Adds up weights and weighted values of each bin: in shared memory, then in `totals`, which is zero before.
#[tiled_kernel(BINS = 1024, ITEMS = 64, block = [256], grid = [N.div_ceil(256 * ITEMS)])]
pub fn binned<const N: usize>(
    keys: &LayoutTensor<u32, RowMajor<N>>,
    values: &LayoutTensor<f32, RowMajor<N>>,
    weights: &LayoutTensor<f32, RowMajor<N>>,
    totals: &mut LayoutTensor<f32, RowMajor<2, BINS>>,
) {
    let mut held = shared::<f32>(row_major([2, BINS]));
    for bin in (thread_idx.x..BINS).step_by(256) {
        held[[0, bin]] = 0.0;
        held[[1, bin]] = 0.0;
    }
    barrier();
    for item in 0..ITEMS {
        let at = (block_idx.x * ITEMS + item) * 256 + thread_idx.x;
        if at < N {
            let key = keys[[at]] as usize;
            if key < BINS {
                let weight = weights[[at]];
                held.atomic_add([0, key], weight * values[[at]]);
                held.atomic_add([1, key], weight);
            }
        }
    }
    barrier();
    for bin in (thread_idx.x..BINS).step_by(256) {
        totals.atomic_add([0, bin], held[[0, bin]]);
        totals.atomic_add([1, bin], held[[1, bin]]);
    }
}

/// The same with compensated sums: every warp has bins of its own, and lanes with the same key take turns.
#[tiled_kernel(BINS = 1024, WARPS = 4, BLOCKS = 264, block = [32 * WARPS], grid = [BLOCKS])]
pub fn binned_exactly<const N: usize>(
    keys: &LayoutTensor<u32, RowMajor<N>>,
    values: &LayoutTensor<f32, RowMajor<N>>,
    weights: &LayoutTensor<f32, RowMajor<N>>,
    parts: &mut LayoutTensor<f32, RowMajor<BLOCKS, 2, BINS>>,
) {
    let mut sums = shared::<f32>(row_major([WARPS, 2, BINS]));
    let mut lost = shared::<f32>(row_major([WARPS, BINS]));
    let (warp, lane) = (warp_id(), lane_id());
    for bin in (lane..BINS).step_by(32) {
        sums[[warp, 0, bin]] = 0.0;
        sums[[warp, 1, bin]] = 0.0;
        lost[[warp, bin]] = 0.0;
    }
    sync_warp();
    let chunk = N.div_ceil(BLOCKS * WARPS * 32) * 32;
    let begin = (block_idx.x * WARPS + warp) * chunk;
    let end = (begin + chunk).min(N);
    let mut at = begin + lane;
    while at - lane < end {
        let there = at < end;
        let key = if there { keys[[at]] } else { BINS as u32 };
        let (value, weight) = if there { (values[[at]], weights[[at]]) } else { (0.0, 0.0) };
        let same = match_any(key);
        let turn = (same & ((1u32 << lane) - 1)).count_ones();
        let turns = same.count_ones().warp_max();
        for now in 0..turns {
            if turn == now && key < BINS as u32 {
                let bin = key as usize;
                let term = weight * value - lost[[warp, bin]];
                let old = sums[[warp, 0, bin]];
                let new = old + term;
                lost[[warp, bin]] = (new - old) - term;
                sums[[warp, 0, bin]] = new;
                sums[[warp, 1, bin]] += weight;
            }
            sync_warp();
        }
        at += 32;
    }
    barrier();
    for bin in (thread_idx.x..BINS).step_by(32 * WARPS) {
        for which in 0..2 {
            let mut sum = 0.0;
            for w in 0..WARPS {
                sum += sums[[w, which, bin]];
            }
            parts[[block_idx.x, which, bin]] = sum;
        }
    }
}

/// The means of `n` values, of random keys or of keys of which half are the same.
pub fn run(bench: &mut Bench<'_>, n: usize, skewed: bool) -> Result<()> {
    const BINS: usize = 1024;
    let stream = bench.stream.clone();
    let keys: Vec<u32> =
        (0..n)
            .map(|i| {
                if skewed && noise(i, 94) < 0.0 {
                    7
                } else {
                    ((noise(i, 91) + 1.0) * (BINS / 2) as f32) as u32
                }
            })
            .collect();
    // Multiples of 1/8: sums below 2²⁴ of their products' units are exact in every order.
    let values: Vec<f32> = (0..n).map(|i| (noise(i, 92) * 8.0).round() / 8.0).collect();
    let weights: Vec<f32> = (0..n).map(|i| ((noise(i, 93) + 1.5) * 8.0).round() / 8.0).collect();
    let on_keys = bench.device.upload(&keys, [n])?;
    let (on_values, on_weights) = (bench.device.upload(&values, [n])?, bench.device.upload(&weights, [n])?);
    let mut wanted = vec![[0.0f64; 3]; BINS];
    for i in 0..n {
        let (bin, weight, value) =
            (&mut wanted[keys[i] as usize], f64::from(weights[i]), f64::from(values[i]));
        *bin = [bin[0] + weight * value, bin[1] + weight, bin[2] + (weight * value).abs()];
    }
    // Errors are relative to the sum of the magnitudes; where even that is exact, so is each sum on the way.
    let check = |sum: &dyn Fn(usize, usize) -> f64, bound: f64| {
        let mut found = Found::default();
        for (bin, [product, weight, size]) in wanted.iter().enumerate() {
            for (which, exact, size, unit) in [(0, product, size, 64.0), (1, weight, weight, 8.0)] {
                let bound = if size * unit < f64::from(1 << 24) { 0.0 } else { bound };
                found.add(bin, (sum(which, bin) - exact).abs() / size.max(f64::MIN_POSITIVE), bound);
            }
        }
        found
    };
    let name = if skewed { "skewed" } else { "random" };
    let work = Work::new("mean_by_bin", "f32", &[n], 12.0, 3.0);
    let mut totals = bench.device.zeros::<f32, 2>([2, BINS])?;
    binned::launch(&stream, &on_keys, &on_values, &on_weights, &mut totals)?;
    let all = totals.download()?;
    let found = check(&|which, bin| f64::from(all[which * BINS + bin]), 1e-3);
    bench.beside_copy(&work, found, &format!("atomics_{name}"), || {
        binned::launch(&stream, &on_keys, &on_values, &on_weights, &mut totals)
    })?;
    const BLOCKS: usize = 264;
    let mut parts = bench.device.zeros::<f32, 3>([BLOCKS, 2, BINS])?;
    parts.poison()?;
    binned_exactly::launch(&stream, &on_keys, &on_values, &on_weights, &mut parts)?;
    let all = parts.download()?;
    let sum = |which: usize, bin: usize| -> f64 {
        (0..BLOCKS).map(|block| f64::from(all[(block * 2 + which) * BINS + bin])).sum()
    };
    let found = check(&sum, 1e-5);
    bench.beside_copy(&work, found, &format!("compensated_{name}"), || {
        binned_exactly::launch(&stream, &on_keys, &on_values, &on_weights, &mut parts)
    })
}
