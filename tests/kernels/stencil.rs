//! Halos: signed indices around an element, with a guard, with a pad, and by way of shared memory.

use crate::support::case::{Case, Outcome, around, around_tile, output_of};
use crate::support::data::floats;
use layout_cuda::tiled_kernel;

/// Four neighbours less four times the middle; what is outside counts as zero.
#[tiled_kernel(block = [16, 4], grid = [N.div_ceil(16), M.div_ceil(4)])]
pub fn laplace<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let i = (block_idx.y * 4 + thread_idx.y) as isize;
    let j = (block_idx.x * 16 + thread_idx.x) as isize;
    let (rows, columns) = (M as isize, N as isize);
    if i < rows && j < columns {
        let mut sum = -4.0 * x[[i, j]];
        if i > 0 {
            sum += x[[i - 1, j]];
        }
        if i + 1 < rows {
            sum += x[[i + 1, j]];
        }
        if j > 0 {
            sum += x[[i, j - 1]];
        }
        if j + 1 < columns {
            sum += x[[i, j + 1]];
        }
        y[[i, j]] = sum;
    }
}

/// The same over a tile with its halo in shared memory, the edge by `pad`.
#[tiled_kernel(BLOCK = 32, block = [BLOCK], grid = [N.div_ceil(BLOCK)])]
pub fn smooth<const N: usize>(
    edge: f32,
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let mut line = shared::<f32>(row_major([BLOCK + 2]));
    let first = (block_idx.x * BLOCK) as isize - 1;
    for j in (thread_idx.x..BLOCK + 2).step_by(BLOCK) {
        let at = first + j as isize;
        line[[j]] = if at >= 0 && at < N as isize { x[[at]] } else { edge };
    }
    barrier();
    let i = block_idx.x * BLOCK + thread_idx.x;
    if i < N {
        y[[i]] =
            0.25 * line[[thread_idx.x]] + 0.5 * line[[thread_idx.x + 1]] + 0.25 * line[[thread_idx.x + 2]];
    }
}

/// The difference to the element before, where `pad` says what is outside.
#[tiled_kernel(block = [32], grid = [(N + 1).div_ceil(32)], require(N > 0))]
pub fn differences<const N: usize, const P: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<P>>,
) {
    let i = (block_idx.x * 32 + thread_idx.x) as isize;
    if i < P as isize {
        let line = x.pad(100.0);
        y[[i]] = line[[i]] - line[[i - 1]];
    }
}

/// The larger of an element and its four successors, where the tail of the tiles reads as minus infinity.
#[tiled_kernel(block = [32], grid = [N.div_ceil(128)])]
pub fn running_max<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let own = block_idx.x * 32 + thread_idx.x;
    let mut window = local::<f32>(row_major([8]));
    for half in unroll(0..2) {
        window.tile([4], [half]).copy_from(x.tile([4], [own + half]).pad(f32::NEG_INFINITY));
    }
    let mut out = y.tile([4], [own]);
    for i in unroll(0..4) {
        let mut most = window[[i]];
        for j in unroll(1..5) {
            most = most.max(window[[i + j]]);
        }
        out[[i]] = most;
    }
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&laplace::DEFINITION, around_tile([4, 16, 1]), |run| {
            let [m, n, ..] = run.size;
            let x = floats(m * n, 1);
            let y = output_of!(run, laplace(x: [m, n]) -> [m, n]);
            let at = |i: isize, j: isize| {
                let inside = i >= 0 && j >= 0 && i < m as isize && j < n as isize;
                if inside { x[i as usize * n + j as usize] } else { 0.0 }
            };
            let value = |place: usize| {
                let (i, j) = ((place / n) as isize, (place % n) as isize);
                at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1) - 4.0 * at(i, j)
            };
            Ok(Outcome::exact(y, (0..m * n).map(value)))
        }),
        Case::new(&smooth::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 2);
            let (on_x, mut y) = (run.tensor(&x, [n])?, run.output([n])?);
            smooth::launch_with(run.config(), &run.stream(), 8.0, &on_x.view()?, &mut y.view_mut()?)?;
            let at = |i: usize| x.get(i).copied().unwrap_or(8.0);
            let value = |i: usize| 0.25 * at(i.wrapping_sub(1)) + 0.5 * at(i) + 0.25 * at(i + 1);
            Ok(Outcome::exact(y.read()?, (0..n).map(value)))
        }),
        Case::new(&differences::DEFINITION, around(32).split_off(1), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 4);
            let y = output_of!(run, differences(x: [n]) -> [n + 1]);
            let at = |i: usize| x.get(i).copied().unwrap_or(100.0);
            Ok(Outcome::exact(y, (0..=n).map(|i| at(i) - at(i.wrapping_sub(1)))))
        }),
        Case::new(&running_max::DEFINITION, around(128), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 3);
            let y = output_of!(run, running_max(x: [n]) -> [n]);
            let value = |i: usize| x[i..n.min(i + 5)].iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
            Ok(Outcome::exact(y, (0..n).map(value)))
        }),
    ]
}
