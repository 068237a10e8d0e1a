//! Points and pictures: prices of options, the set of Mandelbrot, a picture made smaller, two steps of heat, nearest points, bodies.

use crate::support::case::{Case, Outcome};
use crate::support::data::{floats, noise};
use layout_cuda::tiled_kernel;

/// What a call and a put are worth by Black and Scholes.
#[tiled_kernel(block = [128], grid = [N.div_ceil(128)])]
pub fn priced<const N: usize>(
    rate: f32,
    volatility: f32,
    spot: &LayoutTensor<f32, RowMajor<N>>,
    strike: &LayoutTensor<f32, RowMajor<N>>,
    years: &LayoutTensor<f32, RowMajor<N>>,
    worth: &mut LayoutTensor<f32, RowMajor<N, 2>>,
) {
    fn normal(d: f32) -> f32 {
        const A: [f32; 5] = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
        let k = 1.0 / (1.0 + 0.2316419 * d.abs());
        let mut sum = 0.0;
        for a in A.iter().rev() {
            sum = (sum + *a) * k;
        }
        let tail = 0.3989422804 * (-0.5 * d * d).exp() * sum;
        if d > 0.0 { 1.0 - tail } else { tail }
    }
    let i = block_idx.x * block_dim.x + thread_idx.x;
    if i >= N {
        return;
    }
    let (s, x, t) = (spot[[i]], strike[[i]], years[[i]]);
    let root = t.sqrt();
    let d1 = ((s / x).ln() + (rate + 0.5 * volatility * volatility) * t) / (volatility * root);
    let d2 = d1 - volatility * root;
    let (n1, n2) = (normal(d1), normal(d2));
    let discount = (-rate * t).exp();
    worth[[i, 0]] = s * n1 - x * discount * n2;
    worth[[i, 1]] = x * discount * (1.0 - n2) - s * (1.0 - n1);
}

fn priced_reference(rate: f64, volatility: f64, [s, x, t]: [f64; 3]) -> [f64; 2] {
    let normal = |d: f64| {
        let k = 1.0 / (1.0 + 0.2316419 * d.abs());
        let sum =
            k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
        let tail = 0.3989422804 * (-0.5 * d * d).exp() * sum;
        if d > 0.0 { 1.0 - tail } else { tail }
    };
    let d1 = ((s / x).ln() + (rate + 0.5 * volatility * volatility) * t) / (volatility * t.sqrt());
    let (n1, n2) = (normal(d1), normal(d1 - volatility * t.sqrt()));
    let discount = (-rate * t).exp();
    [s * n1 - x * discount * n2, x * discount * (1.0 - n2) - s * (1.0 - n1)]
}

/// After how many rounds each point of the plane has escaped, at most `ROUNDS`.
#[tiled_kernel(ROUNDS = 50, block = [16, 8], grid = [W.div_ceil(16), H.div_ceil(8)])]
pub fn escaped<const H: usize, const W: usize>(rounds: &mut LayoutTensor<u16, RowMajor<H, W>>) {
    let (row, column) = (block_idx.y * block_dim.y + thread_idx.y, block_idx.x * block_dim.x + thread_idx.x);
    if row < H && column < W {
        let (cx, cy) = (column as f64 / W as f64 * 3.0 - 2.0, row as f64 / H as f64 * 2.0 - 1.0);
        let (mut x, mut y) = (0.0, 0.0);
        let mut count = 0u16;
        while x * x + y * y <= 4.0 && (count as usize) < ROUNDS {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            count += 1;
        }
        rounds[[row, column]] = count;
    }
}

/// A grey picture at another size: bilinear, rounded, the edge repeated.
#[tiled_kernel(block = [32, 4], grid = [W2.div_ceil(32), H2.div_ceil(4)])]
pub fn resized<const H: usize, const W: usize, const H2: usize, const W2: usize>(
    from: &LayoutTensor<u8, RowMajor<H, W>>,
    to: &mut LayoutTensor<u8, RowMajor<H2, W2>>,
) {
    fn source(at: usize, extent: usize, of: usize) -> (usize, usize, f32) {
        let exact = ((at as f32 + 0.5) * extent as f32 / of as f32 - 0.5).max(0.0);
        let first = (exact.floor() as usize).min(extent - 1);
        (first, (first + 1).min(extent - 1), exact - first as f32)
    }
    let (i, j) = (block_idx.y * 4 + thread_idx.y, block_idx.x * 32 + thread_idx.x);
    if i >= H2 || j >= W2 {
        return;
    }
    let (top, bottom, down) = source(i, H, H2);
    let (left, right, across) = source(j, W, W2);
    let mix = |a: u8, b: u8, part: f32| a as f32 * (1.0 - part) + b as f32 * part;
    let upper = mix(from[[top, left]], from[[top, right]], across);
    let lower = mix(from[[bottom, left]], from[[bottom, right]], across);
    to[[i, j]] = (upper * (1.0 - down) + lower * down).round() as u8;
}

/// Two steps of heat in one launch: a tile with two cells around it, the first step kept in shared memory.
#[tiled_kernel(T = 16, block = [T, T], grid = [N.div_ceil(T), M.div_ceil(T)])]
pub fn warmed<const M: usize, const N: usize>(
    rate: f32,
    before: &LayoutTensor<f32, RowMajor<M, N>>,
    after: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const WIDE: usize = T + 4;
    const MIDDLE: usize = T + 2;
    let mut first = shared::<f32>(row_major([WIDE, WIDE]));
    let mut second = shared::<f32>(row_major([MIDDLE, MIDDLE]));
    let own = before.window([WIDE, WIDE], [block_idx.y * T - 2, block_idx.x * T - 2]);
    let thread = thread_idx.y * T + thread_idx.x;
    for k in (thread..WIDE * WIDE).step_by(T * T) {
        first[[k / WIDE, k % WIDE]] = own[[k / WIDE, k % WIDE]];
    }
    barrier();
    fn step(of: impl Tensor<Elem = f32>, rate: f32, i: usize, j: usize) -> f32 {
        let around = of[[i - 1, j]] + of[[i + 1, j]] + of[[i, j - 1]] + of[[i, j + 1]];
        of[[i, j]] + rate * (around - 4.0 * of[[i, j]])
    }
    for k in (thread..MIDDLE * MIDDLE).step_by(T * T) {
        let (i, j) = (k / MIDDLE, k % MIDDLE);
        let (row, column) = ((block_idx.y * T + i) as isize - 1, (block_idx.x * T + j) as isize - 1);
        // Outside of the plate it is as cold as before.
        let inside = row >= 0 && row < M as isize && column >= 0 && column < N as isize;
        second[[i, j]] = if inside { step(first, rate, i + 1, j + 1) } else { 0.0 };
    }
    barrier();
    let (row, column) = (block_idx.y * T + thread_idx.y, block_idx.x * T + thread_idx.x);
    if row < M && column < N {
        after[[row, column]] = step(second, rate, thread_idx.y + 1, thread_idx.x + 1);
    }
}

/// The `K` nearest of many points of the plane, the nearest first.
#[tiled_kernel(K = 3, block = [64], grid = [Q.div_ceil(64)])]
pub fn nearest<const Q: usize, const N: usize>(
    queries: &LayoutTensor<f32, RowMajor<Q, 2>>,
    points: &LayoutTensor<f32, RowMajor<N, 2>>,
    found: &mut LayoutTensor<i32, RowMajor<Q, K>>,
) {
    let mut held = shared::<f32>(row_major([64, 2]));
    let q = block_idx.x * 64 + thread_idx.x;
    let (x, y) = if q < Q { (queries[[q, 0]], queries[[q, 1]]) } else { (0.0, 0.0) };
    let mut best = [(f32::INFINITY, -1); K];
    for first in (0..N).step_by(64) {
        if first + thread_idx.x < N {
            held[[thread_idx.x, 0]] = points[[first + thread_idx.x, 0]];
            held[[thread_idx.x, 1]] = points[[first + thread_idx.x, 1]];
        }
        barrier();
        for k in 0..64.min(N - first) {
            let (dx, dy) = (held[[k, 0]] - x, held[[k, 1]] - y);
            let mut new = (dx * dx + dy * dy, (first + k) as i32);
            for slot in &mut best {
                if new.0 < slot.0 {
                    (*slot, new) = (new, *slot);
                }
            }
        }
        barrier();
    }
    if q < Q {
        for (k, (_, which)) in best.into_iter().enumerate() {
            found[[q, k]] = which;
        }
    }
}

/// What bodies pull each other by, softened.
#[tiled_kernel(T = 64, block = [T], grid = [N.div_ceil(T)])]
pub fn pulled<const N: usize>(
    softening: f32,
    bodies: &LayoutTensor<f32, RowMajor<N, 4>>,
    pull: &mut LayoutTensor<f32, RowMajor<N, 3>>,
) {
    let mut held = shared::<f32>(row_major([T, 4]));
    let i = block_idx.x * T + thread_idx.x;
    let own = bodies.tile([1, 4], [i, 0]).vectorize([1, 4]).to_local();
    let mut sum = [0.0; 3];
    for tile in 0..N.div_ceil(T) {
        held.tile([1, 4], [thread_idx.x, 0])
            .vectorize([1, 4])
            .copy_from(&bodies.tile([1, 4], [tile * T + thread_idx.x, 0]).vectorize([1, 4]));
        barrier();
        for k in 0..T {
            let mut d = [0.0; 3];
            for axis in 0..3 {
                d[axis] = held[[k, axis]] - own[[0, axis]];
            }
            let near = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + softening;
            let inverse = near.rsqrt_approx();
            let by = held[[k, 3]] * inverse * inverse * inverse;
            for (axis, sum) in sum.iter_mut().enumerate() {
                *sum += by * d[axis];
            }
        }
        barrier();
    }
    if i < N {
        for axis in 0..3 {
            pull[[i, axis]] = sum[axis];
        }
    }
}

pub fn cases() -> Vec<Case> {
    [points(), pictures()].into_iter().flatten().collect()
}

fn points() -> Vec<Case> {
    vec![
        Case::new(&priced::DEFINITION, vec![[130, 0, 0], [1, 0, 0]], |run| {
            let [n, ..] = run.size;
            let of = |seed, least: f32, wide: f32| -> Vec<f32> {
                floats(n, seed).into_iter().map(|x| least + wide * (x.abs() % 1.0)).collect()
            };
            let (spot, strike, years) = (of(1, 5.0, 25.0), of(2, 1.0, 99.0), of(3, 0.25, 9.0));
            let mut worth = run.output::<f32, 2>([n, 2])?;
            let there = [run.tensor(&spot, [n])?, run.tensor(&strike, [n])?, run.tensor(&years, [n])?];
            priced::launch_with(
                run.config(),
                &run.stream(),
                0.02,
                0.3,
                &there[0].view()?,
                &there[1].view()?,
                &there[2].view()?,
                &mut worth.view_mut()?,
            )?;
            let each = |i: usize| {
                let of = [spot[i], strike[i], years[i]].map(f64::from);
                priced_reference(f64::from(0.02f32), f64::from(0.3f32), of)
            };
            // What is worth little is the difference of what is worth much.
            let near =
                |(found, exact): (f32, f64)| (f64::from(found) - exact).abs() <= 1e-5 * (exact.abs() + 20.0);
            let right: Vec<bool> = worth.read()?.into_iter().zip((0..n).flat_map(each)).map(near).collect();
            Ok(Outcome::exact(right.into_iter().map(u8::from).collect(), vec![1; 2 * n]))
        }),
        Case::new(&nearest::DEFINITION, vec![[70, 130, 0], [1, 3, 0]], |run| {
            let [q, n, _] = run.size;
            let (queries, points) = (floats(2 * q, 1), floats(2 * n, 2));
            let mut found = run.output::<i32, 2>([q, 3])?;
            let there = [run.tensor(&queries, [q, 2])?, run.tensor(&points, [n, 2])?];
            nearest::launch_with(
                run.config(),
                &run.stream(),
                &there[0].view()?,
                &there[1].view()?,
                &mut found.view_mut()?,
            )?;
            let far = |i: usize, k: usize| {
                let d = [0, 1].map(|axis| f64::from(points[2 * k + axis]) - f64::from(queries[2 * i + axis]));
                d[0] * d[0] + d[1] * d[1]
            };
            // Of two that are as far either may come first: the distances are held, and that no point is there twice.
            let found = found.read()?;
            let far_of = |place: usize| far(place / 3, found[place] as usize);
            let wanted = (0..q).flat_map(|i| {
                let mut all: Vec<f64> = (0..n).map(|k| far(i, k)).collect();
                all.sort_by(f64::total_cmp);
                all.truncate(3);
                all
            });
            let twice = |row: &[i32]| row[0] == row[1] || row[1] == row[2] || row[0] == row[2];
            let doubled = found.chunks(3).filter(|row| twice(row)).count() as i32;
            let distances = Outcome::exact((0..3 * q).map(far_of).collect(), wanted);
            Ok(distances.and(Outcome::exact(vec![doubled], [0])))
        }),
        Case::new(&pulled::DEFINITION, vec![[100, 0, 0], [3, 0, 0]], |run| {
            let [n, ..] = run.size;
            let bodies: Vec<f32> = floats(4 * n, 7);
            let mut pull = run.output::<f32, 2>([n, 3])?;
            let there = run.tensor(&bodies, [n, 4])?;
            pulled::launch_with(run.config(), &run.stream(), 0.01, &there.view()?, &mut pull.view_mut()?)?;
            let of = |i: usize, axis: usize| f64::from(bodies[4 * i + axis]);
            let each = |i: usize| {
                let mut sum = [0.0; 3];
                for k in 0..n {
                    let d = [0, 1, 2].map(|axis| of(k, axis) - of(i, axis));
                    let near = d.iter().map(|d| d * d).sum::<f64>() + 0.01;
                    (0..3).for_each(|axis| sum[axis] += of(k, 3) * d[axis] / (near * near.sqrt()));
                }
                sum
            };
            Ok(Outcome::within(2e-4, pull.read()?, (0..n).flat_map(each)))
        }),
    ]
}

fn pictures() -> Vec<Case> {
    vec![
        Case::new(&escaped::DEFINITION, vec![[13, 37, 0], [1, 1, 0]], |run| {
            let [h, w, _] = run.size;
            let mut rounds = run.output::<u16, 2>([h, w])?;
            escaped::launch_with(run.config(), &run.stream(), &mut rounds.view_mut()?)?;
            let each = |at: usize| {
                let (cx, cy) =
                    ((at % w) as f64 / w as f64 * 3.0 - 2.0, (at / w) as f64 / h as f64 * 2.0 - 1.0);
                let (mut x, mut y, mut count) = (0.0, 0.0, 0);
                while x * x + y * y <= 4.0 && count < 50 {
                    (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
                    count += 1;
                }
                count
            };
            Ok(Outcome::exact(rounds.read()?, (0..h * w).map(each)))
        }),
        Case::new(&resized::DEFINITION, vec![[20, 33, 7], [5, 3, 41], [1, 1, 9]], |run| {
            let [h, w, wide] = run.size;
            let high = wide / 2 + 1;
            let from: Vec<u8> = noise(h * w, 6).map(|bits| (bits >> 33) as u8).collect();
            let mut to = run.output::<u8, 2>([high, wide])?;
            let there = run.tensor(&from, [h, w])?;
            resized::launch_with(run.config(), &run.stream(), &there.view()?, &mut to.view_mut()?)?;
            let source = |at: usize, extent: usize, of: usize| {
                let exact = ((at as f32 + 0.5) * extent as f32 / of as f32 - 0.5).max(0.0);
                let first = (exact as usize).min(extent - 1);
                (first, (first + 1).min(extent - 1), exact - first as f32)
            };
            let each = |at: usize| {
                let ((top, bottom, down), (left, right, across)) =
                    (source(at / wide, h, high), source(at % wide, w, wide));
                let mix = |row: usize| {
                    let [a, b] = [left, right].map(|column| f32::from(from[row * w + column]));
                    a * (1.0 - across) + b * across
                };
                f64::from(mix(top) * (1.0 - down) + mix(bottom) * down)
            };
            // A product and a sum may be rounded once on a GPU: half a grey beside, at a tie.
            let near = |(found, exact): (u8, f64)| (f64::from(found) - exact).abs() <= 0.5 + 1e-3;
            let right: Vec<bool> = to.read()?.into_iter().zip((0..high * wide).map(each)).map(near).collect();
            Ok(Outcome::exact(right.into_iter().map(u8::from).collect(), vec![1; high * wide]))
        }),
        Case::new(&warmed::DEFINITION, vec![[33, 18, 0], [3, 50, 0]], |run| {
            let [m, n, _] = run.size;
            let before = floats(m * n, 3);
            let mut after = run.output::<f32, 2>([m, n])?;
            let there = run.tensor(&before, [m, n])?;
            warmed::launch_with(run.config(), &run.stream(), 0.1, &there.view()?, &mut after.view_mut()?)?;
            let step = |from: &[f64]| -> Vec<f64> {
                let at = |i: isize, j: isize| {
                    let there = i >= 0 && j >= 0 && i < m as isize && j < n as isize;
                    if there { from[i as usize * n + j as usize] } else { 0.0 }
                };
                let each = |k: usize| {
                    let (i, j) = ((k / n) as isize, (k % n) as isize);
                    let around = at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1);
                    at(i, j) + f64::from(0.1f32) * (around - 4.0 * at(i, j))
                };
                (0..m * n).map(each).collect()
            };
            let wide: Vec<f64> = before.into_iter().map(f64::from).collect();
            Ok(Outcome::within(1e-5, after.read()?, step(&step(&wide))))
        }),
    ]
}
