//! Sums of segments that offsets delimit: a thread a segment, a warp a segment, and by merge path.

use crate::Result;
use crate::contest::{Bench, Found, Work};
use crate::noise::noise;
use layout_cuda::tiled_kernel;

/// A thread a segment.
#[tiled_kernel(block = [256], grid = [S.div_ceil(256)])]
pub fn segments_by_threads<const S: usize, const N: usize>(
    offsets: &LayoutTensor<u32, RowMajor<{ S + 1 }>>,
    x: &LayoutTensor<f32, RowMajor<N>>,
    sums: &mut LayoutTensor<f32, RowMajor<S>>,
) {
    let segment = block_idx.x * 256 + thread_idx.x;
    if segment >= S {
        return;
    }
    let (begin, end) = (offsets[[segment]] as usize, offsets[[segment + 1]] as usize);
    let mut sum = 0.0;
    for k in begin..end {
        sum += x[[k]];
    }
    sums[[segment]] = sum;
}

/// A warp a segment.
#[tiled_kernel(WARPS = 8, block = [32 * WARPS], grid = [S.div_ceil(WARPS)])]
pub fn segments_by_warps<const S: usize, const N: usize>(
    offsets: &LayoutTensor<u32, RowMajor<{ S + 1 }>>,
    x: &LayoutTensor<f32, RowMajor<N>>,
    sums: &mut LayoutTensor<f32, RowMajor<S>>,
) {
    let segment = block_idx.x * WARPS + warp_id();
    if segment >= S {
        return;
    }
    let (begin, end) = (offsets[[segment]] as usize, offsets[[segment + 1]] as usize);
    let mut sum = 0.0;
    for k in (begin + lane_id()..end).step_by(32) {
        sum += x[[k]];
    }
    let total = sum.warp_sum();
    if lane_id() == 0 {
        sums[[segment]] = total;
    }
}

/// By merge path: every thread takes as many steps, an element or the end of a segment each. `sums` is zero before.
#[tiled_kernel(THREADS = 128, ITEMS = 8, block = [THREADS], grid = [(S + N).div_ceil(THREADS * ITEMS)])]
pub fn segments_by_merge<const S: usize, const N: usize>(
    offsets: &LayoutTensor<u32, RowMajor<{ S + 1 }>>,
    x: &LayoutTensor<f32, RowMajor<N>>,
    sums: &mut LayoutTensor<f32, RowMajor<S>>,
) {
    const TILE: usize = THREADS * ITEMS;
    let mut held = shared::<f32>(row_major([TILE]));
    let mut ends = shared::<u32>(row_major([TILE + 1]));
    let mut corner = shared::<u32>(row_major([2]));
    // How many segments end among the first `diagonal` steps.
    if thread_idx.x < 2 {
        let diagonal = ((block_idx.x + thread_idx.x) * TILE).min(S + N);
        let (mut low, mut high) = (diagonal.saturating_sub(N), diagonal.min(S));
        while low < high {
            let middle = (low + high) / 2;
            if offsets[[middle + 1]] as usize + middle < diagonal {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        corner[[thread_idx.x]] = low as u32;
    }
    barrier();
    let begin = block_idx.x * TILE;
    let finish = (begin + TILE).min(S + N);
    let (first, last) = (corner[[0]] as usize, corner[[1]] as usize);
    let (from, to) = (begin - first, finish - last);
    for k in (thread_idx.x..to - from).step_by(THREADS) {
        held[[k]] = x[[from + k]];
    }
    for k in (thread_idx.x..last - first + 1).step_by(THREADS) {
        ends[[k]] = if first + k < S { offsets[[first + k + 1]] } else { N as u32 };
    }
    barrier();
    let diagonal = (thread_idx.x * ITEMS).min(finish - begin);
    let (mut low, mut high) = (diagonal.saturating_sub(to - from), diagonal.min(last - first));
    while low < high {
        let middle = (low + high) / 2;
        if ends[[middle]] as usize - from + middle < diagonal {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let mut segment = low;
    let mut at = diagonal - low;
    let mut sum = 0.0;
    let mut whole = false;
    for step in 0..ITEMS {
        if diagonal + step < finish - begin {
            if from + at < ends[[segment]] as usize {
                sum += held[[at]];
                at += 1;
            } else {
                if whole {
                    sums[[first + segment]] = sum;
                } else {
                    sums.atomic_add([first + segment], sum);
                }
                whole = true;
                sum = 0.0;
                segment += 1;
            }
        }
    }
    if sum != 0.0 && first + segment < S {
        sums.atomic_add([first + segment], sum);
    }
}

/// Where the segments begin: `n` elements in `s` segments, some of them empty.
fn offsets(s: usize, n: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..s.saturating_sub(1))
        .map(|i| {
            let near = (i + 1) as f64 * n as f64 / s as f64 + f64::from(noise(i, 82)) * n as f64 / s as f64;
            near.clamp(0.0, n as f64) as u32
        })
        .collect();
    all.push(0);
    all.push(n as u32);
    all.sort_unstable();
    all
}

/// The sums of `s` segments of `n` elements, in three ways.
pub fn run(bench: &mut Bench<'_>, [s, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let offsets = offsets(s, n);
    let values: Vec<f32> = (0..n).map(|i| noise(i, 81)).collect();
    let (on_offsets, x) = (bench.device.upload(&offsets, [s + 1])?, bench.device.upload(&values, [n])?);
    let mut sums = bench.device.zeros::<f32, 1>([s])?;
    let check = |found: Vec<f32>| {
        let mut all = Found::default();
        for (segment, found) in found.into_iter().enumerate() {
            let part = &values[offsets[segment] as usize..offsets[segment + 1] as usize];
            let wanted: f64 = part.iter().map(|x| f64::from(*x)).sum();
            let size: f64 = part.iter().map(|x| f64::from(x.abs())).sum();
            all.add(segment, (f64::from(found) - wanted).abs(), 1e-6 * size);
        }
        all
    };
    let work = Work::new("segmented_sum", "f32", &[n], 4.0 + 8.0 * s as f64 / n as f64, 1.0);
    sums.poison()?;
    segments_by_threads::launch(&stream, &on_offsets, &x, &mut sums)?;
    let found = check(sums.download()?);
    bench.beside_copy(&work, found, &format!("threads_{s}"), || {
        segments_by_threads::launch(&stream, &on_offsets, &x, &mut sums)
    })?;
    sums.poison()?;
    segments_by_warps::launch(&stream, &on_offsets, &x, &mut sums)?;
    let found = check(sums.download()?);
    bench.beside_copy(&work, found, &format!("warps_{s}"), || {
        segments_by_warps::launch(&stream, &on_offsets, &x, &mut sums)
    })?;
    let mut sums = bench.device.zeros::<f32, 1>([s])?;
    segments_by_merge::launch(&stream, &on_offsets, &x, &mut sums)?;
    let found = check(sums.download()?);
    bench.beside_copy(&work, found, &format!("merge_{s}"), || {
        segments_by_merge::launch(&stream, &on_offsets, &x, &mut sums)
    })
}
