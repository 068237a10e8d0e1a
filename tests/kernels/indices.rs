//! Index arithmetic: quotients and remainders of either sign, bits, shifts, the smaller and the larger, coordinates.

use crate::support::case::{Case, Outcome, around, around_tile};
use layout_cuda::tiled_kernel;

/// A column for each operation on a natural index.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn natural<const N: usize>(scale: usize, y: &mut LayoutTensor<i64, RowMajor<N, 12>>) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        y[[i, 0]] = (i / 3) as i64;
        y[[i, 1]] = (i % 7) as i64;
        y[[i, 2]] = i.min(10) as i64;
        y[[i, 3]] = i.max(N / 2) as i64;
        y[[i, 4]] = i.div_ceil(4) as i64;
        y[[i, 5]] = ((i << 3) >> 2) as i64;
        y[[i, 6]] = ((i & 12) | (i ^ 5)) as i64;
        y[[i, 7]] = select(i % 2 == 0, i, N - i) as i64;
        y[[i, 8]] = (i * scale) as i64;
        y[[i, 9]] = (i / (scale + 1)) as i64;
        y[[i, 10]] = (i % (scale + 1)) as i64;
        y[[i, 11]] = (lane_id() + 100 * warp_id() + 10000 * y.dim(0)) as i64;
    }
}

/// A column for each operation on an index that may be negative.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn signed<const N: usize>(shift: isize, y: &mut LayoutTensor<i64, RowMajor<N, 7>>) {
    let i = (block_idx.x * 64 + thread_idx.x) as isize;
    if i < N as isize {
        let at = i - shift;
        y[[i, 0]] = at as i64;
        y[[i, 1]] = (at / 4) as i64;
        y[[i, 2]] = (at % 4) as i64;
        y[[i, 3]] = (-at * 3).max(-20) as i64;
        y[[i, 4]] = (4 * at + 2) as i64 / 3;
        y[[i, 5]] = ((4 * at + i) / 4) as i64;
        y[[i, 6]] = ((at + 1) / -2) as i64;
    }
}

/// An index alone as the coordinate of one mode: arguments, views of them, shared memory, references, compound assignments.
#[tiled_kernel(BLOCK = 64, block = [BLOCK], grid = [N.div_ceil(BLOCK)])]
pub fn of_one_mode<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    rows: &LayoutTensor<i32, RowMajor<3, N>>,
    y: &mut LayoutTensor<i32, RowMajor<N>>,
) {
    fn increase(to: &mut i32) {
        *to += 1;
    }
    fn last(row: View<i32, Read>) -> i32 {
        row[row.dim(0) - 1]
    }
    let (i, row) = (block_idx.x * BLOCK + thread_idx.x, rows.slice(2));
    let (mut mine, mut reversed) = (y.tile([BLOCK], [block_idx.x]), shared::<i32>(row_major([BLOCK])));
    reversed[BLOCK - 1 - thread_idx.x] = if i < N { x[i] } else { 0 };
    barrier();
    if i < N {
        mine[thread_idx.x] = reversed[thread_idx.x] + row[i];
        y[i] *= 2;
        increase(&mut y[i]);
        let same = &mut y[i];
        *same -= last(rows.slice(1));
    }
}

/// Three axes of threads and blocks.
#[tiled_kernel(
    X = 4, Y = 2, Z = 3,
    block = [X, Y, Z],
    grid = [C.div_ceil(X), B.div_ceil(Y), A.div_ceil(Z)],
    min_blocks = 2,
)]
pub fn three_axes<const A: usize, const B: usize, const C: usize>(
    y: &mut LayoutTensor<i64, RowMajor<A, B, C>>,
) {
    let (i, j, k) = (
        block_idx.z * block_dim.z + thread_idx.z,
        block_idx.y * block_dim.y + thread_idx.y,
        block_idx.x * block_dim.x + thread_idx.x,
    );
    if i < A && j < B && k < C {
        y[[i, j, k]] = (i * 10000 + j * 100 + k + 1000000 * (grid_dim.x + grid_dim.y + grid_dim.z)) as i64;
    }
}

/// An index out of a tensor, and one out of a scalar.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
pub fn gather<const N: usize, const M: usize>(
    from: &LayoutTensor<i32, RowMajor<N>>,
    x: &LayoutTensor<f32, RowMajor<M>>,
    first: i32,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        y[[i]] = x[[(from[[i]] + first) as usize]];
    }
}

/// Elements by what other tensors hold, which is known to be small.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)], deny(masked))]
pub fn assumed<const N: usize>(
    keys: &LayoutTensor<u32, RowMajor<N>>,
    places: &LayoutTensor<u64, RowMajor<N>>,
    x: &LayoutTensor<f32, RowMajor<24>>,
    y: &mut LayoutTensor<f32, RowMajor<N, 2>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let (key, at) = (keys[[i]], places[[i]] as usize);
        assume(key < 24);
        assume(at > 0 && at <= 12);
        assume(x[[key as usize]].abs() < 1000.0);
        y[[i, 0]] = x[[key as usize]];
        y[[i, 1]] = x[[2 * at - 1]];
    }
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&natural::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let mut y = run.output([n, 12])?;
            natural::launch_with(run.config(), &run.stream(), 5, &mut y.view_mut()?)?;
            let row = |i: usize| {
                let chosen = if i.is_multiple_of(2) { i } else { n - i };
                let ids = i % 64 % 32 + 100 * (i % 64 / 32) + 10000 * n;
                let bits = [(i << 3) >> 2, (i & 12) | (i ^ 5)];
                [
                    i / 3,
                    i % 7,
                    i.min(10),
                    i.max(n / 2),
                    i.div_ceil(4),
                    bits[0],
                    bits[1],
                    chosen,
                    i * 5,
                    i / 6,
                    i % 6,
                    ids,
                ]
            };
            Ok(Outcome::exact(y.read()?, (0..n).flat_map(row).map(|value| value as i64)))
        }),
        Case::new(&signed::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let mut y = run.output([n, 7])?;
            signed::launch_with(run.config(), &run.stream(), 37, &mut y.view_mut()?)?;
            let row = |i: i64| {
                let at = i - 37;
                [at, at / 4, at % 4, (-at * 3).max(-20), (4 * at + 2) / 3, (4 * at + i) / 4, (at + 1) / -2]
            };
            Ok(Outcome::exact(y.read()?, (0..n as i64).flat_map(row)))
        }),
        Case::new(&of_one_mode::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = (0..n as i32).map(|i| i * 3 - 50).collect();
            let rows: Vec<i32> = (0..3 * n as i32).map(|i| 1000 - 7 * i).collect();
            let (on_x, on_rows) = (run.tensor(&x, [n])?, run.tensor(&rows, [3, n])?);
            let mut y = run.output([n])?;
            let (x_view, rows_view) = (on_x.view()?, on_rows.view()?);
            of_one_mode::launch_with(run.config(), &run.stream(), &x_view, &rows_view, &mut y.view_mut()?)?;
            let reversed = |i: usize| x.get(i / 64 * 64 + 63 - i % 64).copied().unwrap_or(0);
            let value = |i: usize| 2 * (reversed(i) + rows[2 * n + i]) + 1 - rows[2 * n - 1];
            Ok(Outcome::exact(y.read()?, (0..n).map(value)))
        }),
        Case::new(&three_axes::DEFINITION, around_tile([3, 2, 4]), |run| {
            let [a, b, c] = run.size;
            let mut y = run.output([a, b, c])?;
            three_axes::launch_with(run.config(), &run.stream(), &mut y.view_mut()?)?;
            let blocks = c.div_ceil(4) + b.div_ceil(2) + a.div_ceil(3);
            let value = |at: usize| at / (b * c) * 10000 + at / c % b * 100 + at % c + 1_000_000 * blocks;
            Ok(Outcome::exact(y.read()?, (0..a * b * c).map(|at| value(at) as i64)))
        }),
        Case::new(&assumed::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let keys: Vec<u32> = (0..n as u32).map(|i| i * 7 % 24).collect();
            let places: Vec<u64> = (0..n as u64).map(|i| i * 5 % 12 + 1).collect();
            let x = crate::support::data::floats(24, 3);
            let (on_keys, on_places) = (run.tensor(&keys, [n])?, run.tensor(&places, [n])?);
            let (on_x, mut y) = (run.tensor(&x, [24])?, run.output([n, 2])?);
            let (keys_view, places_view) = (on_keys.view()?, on_places.view()?);
            assumed::launch_with(
                run.config(),
                &run.stream(),
                &keys_view,
                &places_view,
                &on_x.view()?,
                &mut y.view_mut()?,
            )?;
            let wanted =
                keys.iter().zip(&places).flat_map(|(k, at)| [x[*k as usize], x[2 * *at as usize - 1]]);
            Ok(Outcome::exact(y.read()?, wanted))
        }),
        Case::new(&gather::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let from: Vec<i32> = (0..n as i32).map(|i| i * 7 % 20 - 3).collect();
            let x = crate::support::data::floats(24, 3);
            let (on_from, on_x, mut y) = (run.tensor(&from, [n])?, run.tensor(&x, [24])?, run.output([n])?);
            let (from_view, x_view) = (on_from.view()?, on_x.view()?);
            gather::launch_with(run.config(), &run.stream(), &from_view, &x_view, 3, &mut y.view_mut()?)?;
            Ok(Outcome::exact(y.read()?, from.iter().map(|i| x[(i + 3) as usize])))
        }),
    ]
}
