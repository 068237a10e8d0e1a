//! Registers as arrays: a Fourier transform, systems of equations, sorted rows.

use crate::support::case::{Case, Outcome};
use crate::support::data::{floats, noise};
use layout_cuda::tiled_kernel;

/// The Fourier transform of rows of 1024 complex numbers, radix 4.
#[tiled_kernel(LEN = 1024, block = [LEN / 4], grid = [M])]
pub fn fourier<const M: usize>(
    x: &LayoutTensor<f32, RowMajor<M, LEN, 2>>,
    y: &mut LayoutTensor<f32, RowMajor<M, LEN, 2>>,
) {
    fn times(a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
        (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
    }
    fn butterfly(v: &mut [(f32, f32); 4]) {
        let [a, b, c, d] = *v;
        let (s, t) = ((a.0 + c.0, a.1 + c.1), (b.0 + d.0, b.1 + d.1));
        let (u, w) = ((a.0 - c.0, a.1 - c.1), (b.1 - d.1, d.0 - b.0));
        *v = [(s.0 + t.0, s.1 + t.1), (u.0 + w.0, u.1 + w.1), (s.0 - t.0, s.1 - t.1), (u.0 - w.0, u.1 - w.1)];
    }
    let (row, own) = (block_idx.x, thread_idx.x);
    let mut re = shared::<f32>(row_major([LEN]));
    let mut im = shared::<f32>(row_major([LEN]));
    let mut held = [(0.0, 0.0); 4];
    for k in 0..4 {
        let at = own + k * (LEN / 4);
        held[k] = (x[[row, at, 0]], x[[row, at, 1]]);
    }
    let mut span = 1;
    loop {
        let angle = -consts::TAU * (own % span) as f32 / (4 * span) as f32;
        for k in 1..4 {
            let (sin, cos) = (k as f32 * angle).sin_cos();
            held[k] = times(held[k], (cos, sin));
        }
        butterfly(&mut held);
        if span * 4 == LEN {
            break;
        }
        let base = own / span * span * 4 + own % span;
        for (k, value) in held.into_iter().enumerate() {
            re[[base + k * span]] = value.0;
            im[[base + k * span]] = value.1;
        }
        barrier();
        for k in 0..4 {
            let at = own + k * (LEN / 4);
            held[k] = (re[[at]], im[[at]]);
        }
        barrier();
        span *= 4;
    }
    for k in 0..4 {
        let at = own + k * (LEN / 4);
        y[[row, at, 0]] = held[k].0;
        y[[row, at, 1]] = held[k].1;
    }
}

fn fourier_reference(row: &[f32]) -> Vec<f64> {
    let mut values: Vec<(f64, f64)> = row.chunks(2).map(|pair| (pair[0].into(), pair[1].into())).collect();
    fn of(values: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let len = values.len();
        if len == 1 {
            return values.to_vec();
        }
        let part = |from: usize| of(&values.iter().copied().skip(from).step_by(2).collect::<Vec<_>>());
        let (even, odd) = (part(0), part(1));
        let term = |k: usize, sign: f64| {
            let angle = -2.0 * std::f64::consts::PI * k as f64 / len as f64;
            let (sin, cos) = angle.sin_cos();
            let (re, im) = odd[k];
            (even[k].0 + sign * (re * cos - im * sin), even[k].1 + sign * (re * sin + im * cos))
        };
        (0..len / 2).map(|k| term(k, 1.0)).chain((0..len / 2).map(|k| term(k, -1.0))).collect()
    }
    values = of(&values);
    values.into_iter().flat_map(|(re, im)| [re, im]).collect()
}

/// Systems of eight equations: factors with pivots, four matrices a warp, a lane a row.
#[tiled_kernel(N = 8, block = [32], grid = [M.div_ceil(4)])]
pub fn factors<const M: usize>(
    a: &mut LayoutTensor<f32, RowMajor<M, N, N>>,
    pivots: &mut LayoutTensor<i32, RowMajor<M, N>>,
) {
    let (matrix, own, first) = (block_idx.x * 4 + lane_id() / N, lane_id() % N, lane_id() / N * N);
    let mut row = [0.0f32; N];
    for j in 0..N {
        if matrix < M {
            row[j] = a[[matrix, own, j]];
        }
    }
    for k in 0..N {
        // The largest of what is left of column k.
        let mut best = if own < k { -1.0 } else { row[k].abs() };
        let mut who = own as u32;
        for step in [4, 2, 1] {
            let (other, their) = (best.shuffle_xor(step), who.shuffle_xor(step));
            if other > best || other == best && their < who {
                (best, who) = (other, their);
            }
        }
        let from = match own {
            _ if own == k => who as usize,
            _ if own == who as usize => k,
            _ => own,
        };
        for value in &mut row {
            *value = value.shuffle(first + from);
        }
        if own == 0 && matrix < M {
            pivots[[matrix, k]] = who as i32;
        }
        let factor = row[k] / row[k].shuffle(first + k);
        for j in k + 1..N {
            let above = row[j].shuffle(first + k);
            if own > k {
                row[j] -= factor * above;
            }
        }
        if own > k {
            row[k] = factor;
        }
    }
    if matrix < M {
        for (j, value) in row.into_iter().enumerate() {
            a[[matrix, own, j]] = value;
        }
    }
}

fn factors_reference(a: &[f32]) -> (Vec<f32>, Vec<i32>) {
    let mut rows: Vec<Vec<f32>> = a.chunks(8).map(<[f32]>::to_vec).collect();
    let mut pivots = vec![];
    for k in 0..8 {
        let mut who = k;
        for lane in k..8 {
            if rows[lane][k].abs() > rows[who][k].abs() {
                who = lane;
            }
        }
        rows.swap(k, who);
        pivots.push(who as i32);
        let pivot = rows[k].clone();
        for row in &mut rows[k + 1..] {
            let factor = row[k] / pivot[k];
            for (to, from) in row[k + 1..].iter_mut().zip(&pivot[k + 1..]) {
                *to -= factor * from;
            }
            row[k] = factor;
        }
    }
    (rows.concat(), pivots)
}

/// The eight largest of each row, largest first: a thread a row.
#[tiled_kernel(K = 8, block = [64], grid = [M.div_ceil(64)])]
pub fn top<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    values: &mut LayoutTensor<f32, RowMajor<M, K>>,
    places: &mut LayoutTensor<u32, RowMajor<M, K>>,
) {
    let row = block_idx.x * 64 + thread_idx.x;
    if row >= M {
        return;
    }
    let mut best = [(f32::NEG_INFINITY, u32::MAX); K];
    for at in 0..N {
        let mut next = (x[[row, at]], at as u32);
        if next.0 <= best[K - 1].0 {
            continue;
        }
        for k in 0..K {
            if next.0 > best[k].0 {
                (best[k], next) = (next, best[k]);
            }
        }
    }
    for k in 0..K {
        values[[row, k]] = best[k].0;
        places[[row, k]] = best[k].1;
    }
}

pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&fourier::DEFINITION, vec![[1, 0, 0], [3, 0, 0]], |run| {
            let [m, ..] = run.size;
            let x = floats(m * 2048, 1);
            let mut y = run.output::<f32, 3>([m, 1024, 2])?;
            fourier::launch_with(
                run.config(),
                &run.stream(),
                &run.tensor(&x, [m, 1024, 2])?.view()?,
                &mut y.view_mut()?,
            )?;
            let y = y.read()?;
            let wanted: Vec<f64> = x.chunks(2048).flat_map(fourier_reference).collect();
            // Of a row's length, since an element may be nearly zero.
            let off = y.iter().zip(&wanted).map(|(y, wanted)| f64::from(*y) + 200.0 - wanted);
            Ok(Outcome::within(1e-6, off.map(|off| off as f32).collect(), vec![200.0; wanted.len()]))
        }),
        Case::new(&factors::DEFINITION, vec![[1, 0, 0], [7, 0, 0]], |run| {
            let [m, ..] = run.size;
            let a: Vec<f32> = noise(m * 64, 5).map(|bits| (bits >> 40) as f32 / 8e6 - 1.0).collect();
            let mut own = run.tensor(&a, [m, 8, 8])?;
            let mut pivots = run.output::<i32, 2>([m, 8])?;
            factors::launch_with(run.config(), &run.stream(), &mut own.view_mut()?, &mut pivots.view_mut()?)?;
            let wanted: Vec<_> = a.chunks(64).map(factors_reference).collect();
            let values = wanted.iter().flat_map(|(rows, _)| rows.iter().map(|value| f64::from(*value)));
            let chosen = wanted.iter().flat_map(|(_, pivots)| pivots.clone());
            let rows = Outcome::within(1e-2, own.read()?, values);
            Ok(rows.and(Outcome::exact(pivots.read()?, chosen)))
        }),
        Case::new(&top::DEFINITION, vec![[1, 8, 0], [65, 37, 0], [3, 5, 0]], |run| {
            let [m, n, _] = run.size;
            let x: Vec<f32> = noise(m * n, 9).map(|bits| (bits >> 48) as f32).collect();
            let mut values = run.output::<f32, 2>([m, 8])?;
            let mut places = run.output::<u32, 2>([m, 8])?;
            let x_there = run.tensor(&x, [m, n])?;
            top::launch_with(
                run.config(),
                &run.stream(),
                &x_there.view()?,
                &mut values.view_mut()?,
                &mut places.view_mut()?,
            )?;
            let row = |row: &[f32]| {
                let mut all: Vec<(f32, u32)> = row.iter().copied().zip(0..).collect();
                all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                all.resize(8, (f32::NEG_INFINITY, u32::MAX));
                all.truncate(8);
                all
            };
            let wanted: Vec<(f32, u32)> = x.chunks(n).flat_map(row).collect();
            let first = Outcome::exact(values.read()?, wanted.iter().map(|pair| pair.0));
            Ok(first.and(Outcome::exact(places.read()?, wanted.iter().map(|pair| pair.1))))
        }),
    ]
}
