//! Work of whole blocks: random numbers by Philox, a bitonic sort, a square turned in place, a scan that looks back, int8 products,
//! the likeliest words.

use crate::support::case::{Case, Outcome};
use crate::support::data::{floats, noise};
use layout_cuda::tiled_kernel;

/// Four words of Philox 4x32-10 for each counter.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn philox<const N: usize>(seed: u64, out: &mut LayoutTensor<u32, RowMajor<N, 4>>) {
    fn mul_hi_lo(a: u32, b: u32) -> (u32, u32) {
        let wide = a as u64 * b as u64;
        ((wide >> 32) as u32, wide as u32)
    }
    fn round(c: [u32; 4], key: (u32, u32)) -> [u32; 4] {
        let (hi0, lo0) = mul_hi_lo(0xD251_1F53, c[0]);
        let (hi1, lo1) = mul_hi_lo(0xCD9E_8D57, c[2]);
        [hi1 ^ c[1] ^ key.0, lo1, hi0 ^ c[3] ^ key.1, lo0]
    }
    let i = block_idx.x * 64 + thread_idx.x;
    if i >= N {
        return;
    }
    let mut key = (seed as u32, (seed >> 32) as u32);
    let mut counter = [i as u32, 0, 0, 0];
    for r in 0..10 {
        if r > 0 {
            key.0 = key.0.wrapping_add(0x9E37_79B9);
            key.1 = key.1.wrapping_add(0xBB67_AE85);
        }
        counter = round(counter, key);
    }
    for k in 0..4 {
        out[[i, k]] = counter[k];
    }
}

fn philox_reference(seed: u64, i: u32) -> [u32; 4] {
    let (mut key, mut c) = ([seed as u32, (seed >> 32) as u32], [i, 0, 0, 0]);
    for r in 0..10 {
        if r > 0 {
            key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        }
        let (a, b) = (0xD251_1F53u64 * u64::from(c[0]), 0xCD9E_8D57u64 * u64::from(c[2]));
        c = [(b >> 32) as u32 ^ c[1] ^ key[0], b as u32, (a >> 32) as u32 ^ c[3] ^ key[1], a as u32];
    }
    c
}

/// Each row in order, by a bitonic network in shared memory; what a row lacks is the largest number.
#[tiled_kernel(SIZE = 256, block = [SIZE / 2], grid = [M])]
pub fn bitonic<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mut held = shared::<f32>(row_major([SIZE]));
    let row = block_idx.x;
    for k in (thread_idx.x..SIZE).step_by(SIZE / 2) {
        held[[k]] = if k < N { x[[row, k]] } else { f32::INFINITY };
    }
    let mut span = 2;
    while span <= SIZE {
        let mut step = span / 2;
        while step > 0 {
            barrier();
            let low = thread_idx.x / step * 2 * step + thread_idx.x % step;
            let high = low + step;
            let up = low & span == 0;
            let (a, b) = (held[[low % SIZE]], held[[high % SIZE]]);
            if (a > b) == up {
                held[[low % SIZE]] = b;
                held[[high % SIZE]] = a;
            }
            step /= 2;
        }
        span *= 2;
    }
    barrier();
    for k in (thread_idx.x..N).step_by(SIZE / 2) {
        y[[row, k]] = held[[k]];
    }
}

/// A square matrix turned in place: the tiles of a pair change places.
#[tiled_kernel(T = 16, block = [T, T], grid = [N.div_ceil(T), N.div_ceil(T)])]
pub fn turned<const N: usize>(a: &mut LayoutTensor<f64, RowMajor<N, N>>) {
    let (bi, bj) = (block_idx.y, block_idx.x);
    if bi < bj {
        return;
    }
    let (ti, tj) = (thread_idx.y, thread_idx.x);
    let mut lower = shared::<f64>(row_major([T, T + 1]));
    let mut upper = shared::<f64>(row_major([T, T + 1]));
    let mut one = a.tile([T, T], [bi, bj]);
    let mut other = a.tile([T, T], [bj, bi]);
    lower[[ti, tj]] = one[[ti, tj]];
    upper[[ti, tj]] = other[[ti, tj]];
    barrier();
    one[[ti, tj]] = upper[[tj, ti]];
    if bi != bj {
        other[[ti, tj]] = lower[[tj, ti]];
    }
}

/// Sums up to each element in one launch: a block waits for the sum of those before it.
#[tiled_kernel(T = 128, block = [T], grid = [N.div_ceil(T)])]
pub fn summed_so_far<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    y: &mut LayoutTensor<i32, RowMajor<N>>,
    state: &mut LayoutTensor<u64, RowMajor<{ N.div_ceil(T) }>>,
) {
    let mut before = shared::<i32>(row_major([1]));
    let i = block_idx.x * T + thread_idx.x;
    let own = if i < N { x[[i]] } else { 0 };
    let sum = own.block_prefix_sum();
    if thread_idx.x == T - 1 {
        // The upper word says what the lower one is: 1 this block's sum, 2 that of all up to it.
        let pack = |kind: u64, sum: i32| kind << 32 | sum as u32 as u64;
        if block_idx.x > 0 {
            state.store_release([block_idx.x], pack(1, sum));
        }
        let mut all = 0i32;
        let mut at = block_idx.x;
        while at > 0 {
            let word = state.load_acquire([at - 1]);
            match word >> 32 {
                0 => continue,
                1 => {
                    all += word as i32;
                    at -= 1;
                }
                _ => {
                    all += word as i32;
                    break;
                }
            }
        }
        state.store_release([block_idx.x], pack(2, all.wrapping_add(sum)));
        before[[0]] = all;
    }
    barrier();
    if i < N {
        y[[i]] = sum + before[[0]];
    }
}

/// `C = A Bᵀ` of bytes, summed in `i32`: 16 by 8 a warp.
#[tiled_kernel(WARPS = 2, block = [32 * WARPS], grid = [N.div_ceil(8 * WARPS), M.div_ceil(16)])]
pub fn multiplied<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<i8, RowMajor<M, K>>,
    b: &LayoutTensor<i8, RowMajor<N, K>>,
    c: &mut LayoutTensor<i32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<i8>([16, 8, 32]);
    let column = block_idx.x * WARPS + warp_id();
    let mut acc = local::<i32>(row_major([1, 4])).fill(0);
    for k in 0..K.div_ceil(32) {
        let left = mma.load_a(&a.tile([16, 32], [block_idx.y, k]));
        let right = mma.load_b(&b.tile([8, 32], [column, k]).transpose());
        mma.mma(&mut acc, &left, &right);
    }
    mma.store_d(&mut c.tile([16, 8], [block_idx.y, column]), &acc);
}

/// Of sorted likelihoods the fewest that reach `p` together; the word at which a random part of their sum is reached.
#[tiled_kernel(block = [256], grid = [M])]
pub fn sampled<const M: usize, const N: usize>(
    p: f32,
    random: &LayoutTensor<f32, RowMajor<M>>,
    sorted: &LayoutTensor<f32, RowMajor<M, N>>,
    words: &mut LayoutTensor<i32, RowMajor<M>>,
) {
    let row = block_idx.x;
    let mut total = 0.0f32;
    let mut kept = 0.0f32;
    for first in (0..N).step_by(256) {
        let k = first + thread_idx.x;
        let own = if k < N { sorted[[row, k]] } else { 0.0 };
        let before = total + own.block_prefix_sum() - own;
        if before < p {
            kept += own;
        }
        total += own.block_sum();
        if total >= p {
            break;
        }
    }
    let wanted = kept.block_sum() * random[[row]];
    let mut total = 0.0f32;
    let mut word = N as i32;
    for first in (0..N).step_by(256) {
        let k = first + thread_idx.x;
        let own = if k < N { sorted[[row, k]] } else { 0.0 };
        total += own.block_prefix_sum();
        if k < N && total > wanted && word == N as i32 {
            word = k as i32;
        }
        // The last thread's total is that of all.
        let mut last = shared::<f32>(row_major([1]));
        if thread_idx.x == 255 {
            last[[0]] = total;
        }
        barrier();
        total = last[[0]];
        barrier();
    }
    let word = word.block_min();
    if thread_idx.x == 0 {
        words[[row]] = word;
    }
}

pub fn cases() -> Vec<Case> {
    [of_words(), of_matrices()].into_iter().flatten().collect()
}

fn of_words() -> Vec<Case> {
    vec![
        Case::new(&philox::DEFINITION, vec![[70, 0, 0], [1, 0, 0]], |run| {
            let [n, ..] = run.size;
            let mut out = run.output::<u32, 2>([n, 4])?;
            philox::launch_with(run.config(), &run.stream(), 0x0123_4567_89ab_cdef, &mut out.view_mut()?)?;
            let wanted = (0..n as u32).flat_map(|i| philox_reference(0x0123_4567_89ab_cdef, i));
            Ok(Outcome::exact(out.read()?, wanted))
        }),
        Case::new(&bitonic::DEFINITION, vec![[3, 256, 0], [2, 77, 0], [1, 1, 0]], |run| {
            let [m, n, _] = run.size;
            let x = floats(m * n, 5);
            let mut y = run.output::<f32, 2>([m, n])?;
            let there = run.tensor(&x, [m, n])?;
            bitonic::launch_with(run.config(), &run.stream(), &there.view()?, &mut y.view_mut()?)?;
            let wanted = x.chunks(n).flat_map(|row| {
                let mut row = row.to_vec();
                row.sort_by(f32::total_cmp);
                row
            });
            Ok(Outcome::exact(y.read()?, wanted))
        }),
        Case::new(&summed_so_far::DEFINITION, vec![[1000, 0, 0], [1, 0, 0]], |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = noise(n, 9).map(|bits| (bits >> 40) as i32 - (1 << 22)).collect();
            let mut y = run.output::<i32, 1>([n])?;
            let mut state = run.tensor(&vec![0u64; n.div_ceil(128)], [n.div_ceil(128)])?;
            let there = run.tensor(&x, [n])?;
            summed_so_far::launch_with(
                run.config(),
                &run.stream(),
                &there.view()?,
                &mut y.view_mut()?,
                &mut state.view_mut()?,
            )?;
            let sums = x.into_iter().scan(0i32, |all, x| {
                *all = all.wrapping_add(x);
                Some(*all)
            });
            Ok(Outcome::exact(y.read()?, sums))
        }),
        Case::new(&sampled::DEFINITION, vec![[3, 600, 0], [2, 5, 0]], |run| {
            let [m, n, _] = run.size;
            // Halves of what is left: sums of them are exact.
            let sorted: Vec<f32> =
                (0..m).flat_map(|_| (1..=n as i32).map(|k| 0.5f32.powi(k.min(20)))).collect();
            let random: Vec<f32> = (0..m).map(|row| row as f32 * 0.375).collect();
            let mut words = run.output::<i32, 1>([m])?;
            let there = [run.tensor(&random, [m])?];
            let rows = run.tensor(&sorted, [m, n])?;
            sampled::launch_with(
                run.config(),
                &run.stream(),
                0.9,
                &there[0].view()?,
                &rows.view()?,
                &mut words.view_mut()?,
            )?;
            let wanted = sorted.chunks(n).zip(&random).map(|(row, random)| {
                let sums: Vec<f32> = (0..n).map(|k| row[..=k].iter().sum()).collect();
                let kept: f32 = (0..n).filter(|k| sums[*k] - row[*k] < 0.9).map(|k| row[k]).sum();
                sums.iter().position(|sum| *sum > kept * random).map_or(n as i32, |k| k as i32)
            });
            Ok(Outcome::exact(words.read()?, wanted))
        }),
    ]
}

fn of_matrices() -> Vec<Case> {
    vec![
        Case::new(&turned::DEFINITION, vec![[37, 0, 0], [16, 0, 0], [1, 0, 0]], |run| {
            let [n, ..] = run.size;
            let before: Vec<f64> = (0..n * n).map(|at| at as f64 + 0.5).collect();
            let mut a = run.tensor(&before, [n, n])?;
            turned::launch_with(run.config(), &run.stream(), &mut a.view_mut()?)?;
            Ok(Outcome::exact(a.read()?, (0..n * n).map(|at| before[at % n * n + at / n])))
        }),
        Case::new(&multiplied::DEFINITION, vec![[33, 20, 70], [1, 1, 1], [16, 16, 64]], |run| {
            let [m, n, k] = run.size;
            let bytes =
                |count, seed| -> Vec<i8> { noise(count, seed).map(|bits| (bits >> 30) as i8).collect() };
            let (a, b) = (bytes(m * k, 3), bytes(n * k, 4));
            let mut c = run.output::<i32, 2>([m, n])?;
            let (left, right) = (run.tensor(&a, [m, k])?, run.tensor(&b, [n, k])?);
            multiplied::launch_with(
                run.config(),
                &run.stream(),
                &left.view()?,
                &right.view()?,
                &mut c.view_mut()?,
            )?;
            let each = |at: usize| -> i32 {
                let (i, j) = (at / n, at % n);
                (0..k).map(|l| i32::from(a[i * k + l]) * i32::from(b[j * k + l])).sum()
            };
            Ok(Outcome::exact(c.read()?, (0..m * n).map(each)))
        }),
    ]
}
