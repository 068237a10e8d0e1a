//! The median of 3 by 3 bytes, the edge repeated: a thread a pixel, a thread four, and a thread sixteen as pairs in words.

use crate::contest::{Bench, Found, Work};
use crate::noise::noise;
use crate::{Result, parallel};
use layout_cuda::tiled_kernel;

/// A thread a pixel.
#[tiled_kernel(block = [32, 8], grid = [W.div_ceil(32), H.div_ceil(8)])]
pub fn median<const H: usize, const W: usize>(
    x: &LayoutTensor<u8, RowMajor<H, W>>,
    y: &mut LayoutTensor<u8, RowMajor<H, W>>,
) {
    let (i, j) = (block_idx.y * 8 + thread_idx.y, block_idx.x * 32 + thread_idx.x);
    if i >= H || j >= W {
        return;
    }
    let rows = [if i > 0 { i - 1 } else { 0 }, i, (i + 1).min(H - 1)];
    let columns = [if j > 0 { j - 1 } else { 0 }, j, (j + 1).min(W - 1)];
    let mut v = [0u8; 9];
    for a in 0..3 {
        for b in 0..3 {
            v[a * 3 + b] = x[[rows[a], columns[b]]];
        }
    }
    // Columns in order, then the largest of the least, the median of the middle, the least of the largest.
    let order = |a: u8, b: u8, c: u8| {
        let (low, high) = (a.min(b), a.max(b));
        (low.min(c), low.max(high.min(c)), high.max(c))
    };
    let (a0, a1, a2) = order(v[0], v[3], v[6]);
    let (b0, b1, b2) = order(v[1], v[4], v[7]);
    let (c0, c1, c2) = order(v[2], v[5], v[8]);
    let (_, middle, _) = order(a0.max(b0).max(c0), order(a1, b1, c1).1, a2.min(b2).min(c2));
    y[[i, j]] = middle;
}

/// A thread four pixels of a row.
#[tiled_kernel(block = [32, 8], grid = [W.div_ceil(128), H.div_ceil(8)])]
pub fn median_by_four<const H: usize, const W: usize>(
    x: &LayoutTensor<u8, RowMajor<H, W>>,
    y: &mut LayoutTensor<u8, RowMajor<H, W>>,
) {
    let (i, j) = (block_idx.y * 8 + thread_idx.y, (block_idx.x * 32 + thread_idx.x) * 4);
    if i >= H || j >= W {
        return;
    }
    let rows = [if i > 0 { i - 1 } else { 0 }, i, (i + 1).min(H - 1)];
    let order = |a: u8, b: u8, c: u8| {
        let (low, high) = (a.min(b), a.max(b));
        (low.min(c), low.max(high.min(c)), high.max(c))
    };
    let mut sorted = [(0u8, 0u8, 0u8); 6];
    for k in 0..6 {
        let column = (j + k).saturating_sub(1).min(W - 1);
        sorted[k] = order(x[[rows[0], column]], x[[rows[1], column]], x[[rows[2], column]]);
    }
    for k in 0..4 {
        let ((a0, a1, a2), (b0, b1, b2), (c0, c1, c2)) = (sorted[k], sorted[k + 1], sorted[k + 2]);
        let (_, middle, _) = order(a0.max(b0).max(c0), order(a1, b1, c1).1, a2.min(b2).min(c2));
        if j + k < W {
            y[[i, j + k]] = middle;
        }
    }
}

/// A thread sixteen pixels of a row: even and odd bytes of a word as pairs of 16 bits, whose extremes are one instruction.
#[tiled_kernel(block = [32, 8], grid = [W.div_ceil(512), H.div_ceil(8)], require(W % 16 == 0))]
pub fn median_of_words<const H: usize, const W: usize>(
    x: &LayoutTensor<u8, RowMajor<H, W>>,
    y: &mut LayoutTensor<u8, RowMajor<H, W>>,
) {
    const PAIRS: u32 = 0x00ff00ff;
    let (words, mut out) = (x.bitcast::<u32>(), y.bitcast::<u32>());
    let (i, j) = (block_idx.y * 8 + thread_idx.y, block_idx.x * 32 + thread_idx.x);
    if i >= H || j >= W / 16 {
        return;
    }
    let rows = [if i > 0 { i - 1 } else { 0 }, i, (i + 1).min(H - 1)];
    let order = |a: u32, b: u32, c: u32| {
        let (low, high) = (min_u16x2(a, b), max_u16x2(a, b));
        (min_u16x2(low, c), max_u16x2(low, min_u16x2(high, c)), max_u16x2(high, c))
    };
    // Four words with one on each side.
    let mut near = [[0u32; 6]; 3];
    for r in 0..3 {
        let own = words.tile([1, 4], [rows[r], j]).vectorize([1, 4]).to_local();
        near[r][0] = if j > 0 { words[[rows[r], 4 * j - 1]] } else { own[[0, 0]] << 24 };
        for k in 0..4 {
            near[r][k + 1] = own[[0, k]];
        }
        near[r][5] = if j + 1 < W / 16 { words[[rows[r], 4 * j + 4]] } else { own[[0, 3]] >> 24 };
    }
    let (mut even, mut odd) = ([(0u32, 0u32, 0u32); 6], [(0u32, 0u32, 0u32); 6]);
    for k in 0..6 {
        even[k] = order(near[0][k] & PAIRS, near[1][k] & PAIRS, near[2][k] & PAIRS);
        odd[k] = order(near[0][k] >> 8 & PAIRS, near[1][k] >> 8 & PAIRS, near[2][k] >> 8 & PAIRS);
    }
    let middle = |a: (u32, u32, u32), b: (u32, u32, u32), c: (u32, u32, u32)| {
        let most = max_u16x2(max_u16x2(a.0, b.0), c.0);
        let least = min_u16x2(min_u16x2(a.2, b.2), c.2);
        order(most, order(a.1, b.1, c.1).1, least).1
    };
    // The pairs one pixel to the left of even ones, and to the right of odd ones.
    let left = |a: u32, b: u32| funnel_shift_left(b, a, 16);
    let right = |a: u32, b: u32| funnel_shift_right(b, a, 16);
    let mut own = local::<u32>(row_major([1, 4]));
    for k in 0..4 {
        let (e, o, before, after) = (even[k + 1], odd[k + 1], odd[k], even[k + 2]);
        let of_even = middle((left(before.0, o.0), left(before.1, o.1), left(before.2, o.2)), e, o);
        let of_odd = middle(e, o, (right(e.0, after.0), right(e.1, after.1), right(e.2, after.2)));
        own[[0, k]] = of_even | of_odd << 8;
    }
    out.tile([1, 4], [i, j]).vectorize([1, 4]).copy_from(&own.vectorize([1, 4]));
}

/// The medians of a picture, in each way.
pub fn run(bench: &mut Bench<'_>, [h, w]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let bytes =
        parallel(h * w, |range| range.map(|i| ((noise(i, 101) + 1.0) * 128.0) as u8).collect::<Vec<_>>())
            .concat();
    let x = bench.device.upload(&bytes, [h, w])?;
    let mut y = bench.device.zeros::<u8, 2>([h, w])?;
    let check = |found: Vec<u8>| {
        let parts = parallel(h * w, |range| {
            let mut all = Found::default();
            for at in range {
                let (i, j) = (at / w, at % w);
                let mut near: [u8; 9] = std::array::from_fn(|k| {
                    let (i, j) =
                        ((i + k / 3).saturating_sub(1).min(h - 1), (j + k % 3).saturating_sub(1).min(w - 1));
                    bytes[i * w + j]
                });
                near.sort_unstable();
                all.add(at, f64::from(found[at].abs_diff(near[4])), 0.0);
            }
            all
        });
        parts.into_iter().fold(Found::default(), Found::and)
    };
    let work = Work::new("median", "u8", &[h, w], 2.0, 30.0);
    y.poison()?;
    median::launch(&stream, &x, &mut y)?;
    let found = check(y.download()?);
    bench.beside_copy(&work, found, "median", || median::launch(&stream, &x, &mut y))?;
    y.poison()?;
    median_by_four::launch(&stream, &x, &mut y)?;
    let found = check(y.download()?);
    bench.beside_copy(&work, found, "median_by_four", || median_by_four::launch(&stream, &x, &mut y))?;
    if w % 16 != 0 {
        return Ok(());
    }
    y.poison()?;
    median_of_words::launch(&stream, &x, &mut y)?;
    let found = check(y.download()?);
    bench.beside_copy(&work, found, "median_of_words", || median_of_words::launch(&stream, &x, &mut y))
}
