//! The best local alignment of pairs of texts by Smith and Waterman: a warp a pair, a lane a column, by antidiagonals.

use crate::contest::{Bench, Found, Work};
use crate::noise::noise;
use crate::{Result, parallel};
use layout_cuda::tiled_kernel;

/// The best score of each pair: 2 for the same letters, -1 for others, -1 for a gap.
#[tiled_kernel(WARPS = 4, block = [32 * WARPS], grid = [P.div_ceil(WARPS)])]
pub fn best_alignment<const P: usize, const Q: usize, const R: usize>(
    queries: &LayoutTensor<u8, RowMajor<P, Q>>,
    texts: &LayoutTensor<u8, RowMajor<P, R>>,
    edges: &mut LayoutTensor<i32, RowMajor<P, 2, R>>,
    best: &mut LayoutTensor<i32, RowMajor<P>>,
) {
    let pair = block_idx.x * WARPS + warp_id();
    if pair >= P {
        return;
    }
    let lane = lane_id();
    let mut most = 0i32;
    for strip in 0..Q.div_ceil(32) {
        let column = strip * 32 + lane;
        let letter = if column < Q { queries[[pair, column]] } else { 255 };
        // Those above, and above to the left.
        let mut above = 0i32;
        let mut corner = 0i32;
        for step in 0..R + 31 {
            let mut left = above.shuffle_up(1);
            if lane == 0 {
                left = if strip > 0 && step < R { edges[[pair, strip % 2, step]] } else { 0 };
            }
            if step >= lane && step - lane < R {
                let row = step - lane;
                let score = if texts[[pair, row]] == letter { 2 } else { -1 };
                let here = (corner + score).max(above - 1).max(left - 1).max(0);
                corner = left;
                above = here;
                most = most.max(here);
                if lane == 31 {
                    edges[[pair, (strip + 1) % 2, row]] = here;
                }
            }
        }
        sync_warp();
    }
    let score = most.warp_max();
    if lane == 0 {
        best[[pair]] = score;
    }
}

fn letters(n: usize, seed: u32) -> Vec<u8> {
    (0..n).map(|i| b"ACGT"[((noise(i, seed) + 1.0) * 2.0) as usize]).collect()
}

/// `p` pairs of `q` and `r` letters.
pub fn run(bench: &mut Bench<'_>, [p, q, r]: [usize; 3]) -> Result<()> {
    let stream = bench.stream.clone();
    let (queries, texts) = (letters(p * q, 121), letters(p * r, 122));
    let (on_queries, on_texts) =
        (bench.device.upload(&queries, [p, q])?, bench.device.upload(&texts, [p, r])?);
    let mut edges = bench.device.zeros::<i32, 3>([p, 2, r])?;
    let mut best = bench.device.zeros::<i32, 1>([p])?;
    best.poison()?;
    best_alignment::launch(&stream, &on_queries, &on_texts, &mut edges, &mut best)?;
    let out = best.download()?;
    let found = parallel(p, |pairs| {
        let mut all = Found::default();
        for pair in pairs {
            let (query, text) = (&queries[pair * q..(pair + 1) * q], &texts[pair * r..(pair + 1) * r]);
            let (mut row, mut most) = (vec![0i32; q + 1], 0);
            for letter in text {
                let mut corner = 0;
                for j in 0..q {
                    let score = if query[j] == *letter { 2 } else { -1 };
                    let here = (corner + score).max(row[j + 1] - 1).max(row[j] - 1).max(0);
                    corner = row[j + 1];
                    row[j + 1] = here;
                    most = most.max(here);
                }
            }
            all.add(pair, f64::from((out[pair] - most).abs()), 0.0);
        }
        all
    });
    let found = found.into_iter().fold(Found::default(), Found::and);
    let work = Work::new("smith_waterman", "u8", &[p, q, r], 0.0, 1.0);
    bench.under_roof(&work, found, "best_alignment", || {
        best_alignment::launch(&stream, &on_queries, &on_texts, &mut edges, &mut best)
    })
}
