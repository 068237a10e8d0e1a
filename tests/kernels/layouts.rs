//! How tensors are laid out: pitched, strided, column-major, static, of one to four modes, swizzled, transposed, padded.

use crate::support::case::{Case, Outcome, Run, around, around_tile};
use crate::support::data::{Operand, floats, untouched};
use layout_compiler::Elem;
use layout_cuda::{Element, Error, ParamValue, bf16, tiled_kernel};

/// Rows that are further apart than they are long.
#[tiled_kernel(block = [32, 4], grid = [N.div_ceil(32), M.div_ceil(4)])]
pub fn scale_pitched<const M: usize, const N: usize>(
    alpha: f32,
    a: &LayoutTensor<f32, Pitched<M, N>>,
    b: &mut LayoutTensor<f32, Pitched<M, N>>,
) {
    let (i, j) = (block_idx.y * 4 + thread_idx.y, block_idx.x * 32 + thread_idx.x);
    if i < M && j < N {
        b[[i, j]] = alpha * a[[i, j]];
    }
}

/// Rows in vectors of four, whole where the rows are aligned.
#[tiled_kernel(block = [8, 4], grid = [N.div_ceil(32), M.div_ceil(4)], variant_if(N % 4 == 0))]
pub fn copy_rows<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, Pitched<M, N>>,
    b: &mut LayoutTensor<f32, Pitched<M, N>>,
) {
    let from = a.tile([4, 32], [block_idx.y, block_idx.x]).tile([1, 4], [thread_idx.y, thread_idx.x]);
    let to = b.tile([4, 32], [block_idx.y, block_idx.x]).tile([1, 4], [thread_idx.y, thread_idx.x]);
    to.vectorize([1, 4]).copy_from(&from.vectorize([1, 4]));
}

/// Rows of any length by vectors, which so begin at any element: through registers, a vector a thread.
#[tiled_kernel(T = [u8, bf16], V = [8, 16], block = [16], grid = [N.div_ceil(16 * V), M])]
pub fn copy_unaligned<T, const M: usize, const N: usize>(
    a: &LayoutTensor<T, RowMajor<M, N>>,
    b: &mut LayoutTensor<T, RowMajor<M, N>>,
) {
    let first = (block_idx.x * 16 + thread_idx.x) * V;
    let own = a.slice(block_idx.y).window([V], [first]).vectorize([V]).to_local();
    b.slice(block_idx.y).window([V], [first]).vectorize([V]).copy_from(&own.vectorize([V]));
}

/// The last two modes change places; the destination is one row.
#[tiled_kernel(block = [32], grid = [(L * M * N).div_ceil(32)])]
pub fn heads_first<const L: usize, const M: usize, const N: usize>(
    a: &LayoutTensor<f32, RowMajor<L, M, N>>,
    b: &mut LayoutTensor<f32, RowMajor<L, N, M>>,
) {
    let mut flat = b.reshape([L * M * N]);
    let i = block_idx.x * 32 + thread_idx.x;
    if i < L * M * N {
        let own = a.permute([0, 2, 1]).tile([1, 1, 1], [i / M / N, i / M % N, i % M]);
        flat[[i]] = own.squeeze(0).squeeze(0)[[0]];
    }
}

/// Pairs of `bf16` without their signs as words, kept as words and read as `bf16`; where rows are pairs.
#[tiled_kernel(block = [32], grid = [M, N.div_ceil(64)])]
pub fn magnitudes<const M: usize, const N: usize>(
    a: &LayoutTensor<bf16, RowMajor<M, N>>,
    b: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mut held = shared::<u32>(row_major([32]));
    let (i, first, t) = (block_idx.x, block_idx.y * 64, thread_idx.x);
    if N % 2 == 0 {
        let pairs = a.bitcast::<u32>();
        if first / 2 + t < N / 2 {
            held[[t]] = pairs[[i, first / 2 + t]] & 0x7fff_7fff;
        }
    } else {
        let mut halves = held.bitcast::<bf16>();
        for k in (t..64.min(N - first)).step_by(32) {
            halves[[k]] = a[[i, first + k]].abs();
        }
    }
    barrier();
    let halves = held.bitcast::<bf16>();
    for k in (t..64.min(N - first)).step_by(32) {
        b[[i, first + k]] = halves[[k]].cast::<f32>();
    }
}

/// Any mode contiguous, the others at any distance.
#[tiled_kernel(MODE = [0, 1, 2], block = [4, 4, 4], grid = [N.div_ceil(4), M.div_ceil(4), L.div_ceil(4)])]
pub fn halve_along<const L: usize, const M: usize, const N: usize>(
    a: &LayoutTensor<f32, Contiguous<MODE, L, M, N>>,
    b: &mut LayoutTensor<f32, Contiguous<0, L, M, N>>,
) {
    let (i, j) = (block_idx.z * 4 + thread_idx.z, block_idx.y * 4 + thread_idx.y);
    let k = block_idx.x * 4 + thread_idx.x;
    if i < L && j < M && k < N {
        b[[i, j, k]] = 0.5 * a[[i, j, k]];
    }
}

/// Any strides.
#[tiled_kernel(block = [8, 8], grid = [N.div_ceil(8), M.div_ceil(8)])]
pub fn add_strided<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, Strided<M, N>>,
    b: &LayoutTensor<f32, ColMajor<M, N>>,
    c: &mut LayoutTensor<f32, Strided<M, N>>,
) {
    let (i, j) = (block_idx.y * 8 + thread_idx.y, block_idx.x * 8 + thread_idx.x);
    if i < M && j < N {
        c[[i, j]] = a[[i, j]] + b[[i, j]];
    }
}

/// A transposition by way of a swizzled tile, so that neither side meets a bank twice.
#[tiled_kernel(TILE = 32, ROWS = 8, block = [TILE, ROWS], grid = [N.div_ceil(TILE), M.div_ceil(TILE)])]
pub fn transpose<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, RowMajor<M, N>>,
    b: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let mut tile = shared::<f32>(row_major([TILE, TILE]).swizzle(5, 0, 5));
    let from = a.tile([TILE, TILE], [block_idx.y, block_idx.x]);
    for row in unroll((0..TILE).step_by(ROWS)) {
        tile[[row + thread_idx.y, thread_idx.x]] = from[[row + thread_idx.y, thread_idx.x]];
    }
    barrier();
    let turned = tile.transpose();
    let mut to = b.tile([TILE, TILE], [block_idx.x, block_idx.y]);
    for row in unroll((0..TILE).step_by(ROWS)) {
        to[[row + thread_idx.y, thread_idx.x]] = turned[[row + thread_idx.y, thread_idx.x]];
    }
}

/// The same by way of a tile whose rows are one longer than they need be.
#[tiled_kernel(TILE = 16, block = [TILE, TILE], grid = [N.div_ceil(TILE), M.div_ceil(TILE)])]
pub fn transpose_padded<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, RowMajor<M, N>>,
    b: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let mut tile = shared::<f32>(layout([TILE, TILE], [TILE + 1, 1]));
    copy_dram_to_sram(&mut tile, &a.tile([TILE, TILE], [block_idx.y, block_idx.x]), row_major([TILE, TILE]));
    barrier();
    let mut to = b.tile([TILE, TILE], [block_idx.x, block_idx.y]);
    to[[thread_idx.y, thread_idx.x]] = tile[[thread_idx.x, thread_idx.y]];
}

/// Four modes, reversed.
#[tiled_kernel(block = [32], grid = [A, B.div_ceil(32)])]
pub fn reverse_modes<const A: usize, const B: usize, const C: usize>(
    x: &LayoutTensor<f32, RowMajor<A, B, C, 2>>,
    y: &mut LayoutTensor<f32, RowMajor<2, C, B, A>>,
) {
    let (a, b) = (block_idx.x, block_idx.y * 32 + thread_idx.x);
    if b < B {
        for c in 0..C {
            for d in unroll(0..2) {
                y.transpose()[[a, b, c, d]] = x[[a, b, c, d]];
            }
        }
    }
}

/// A dimension that the attribute binds.
#[tiled_kernel(N = [24, 32], block = [32], grid = [M.div_ceil(32)])]
pub fn static_rows<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, RowMajor<M, N>>,
    sums: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    let row = block_idx.x * 32 + thread_idx.x;
    if row < M {
        let own = a.tile([1, N], [row, 0]).to_local();
        let mut sum = 0.0;
        for j in unroll(0..N) {
            sum += own[[0, j]];
        }
        sums[[row]] = sum;
    }
}

/// A tensor with these strides.
fn strided<T: Element, const R: usize>(
    run: &Run<'_>,
    values: &[T],
    shape: [usize; R],
    strides: [usize; R],
) -> Result<Operand<T, R>, Error> {
    Operand::new(run.device, values, run.skew, shape, strides)
}

/// The element number of a transposed matrix.
fn turned(values: &[f32], [m, n]: [usize; 2]) -> Vec<f32> {
    (0..m * n).map(|at| values[at % m * n + at / m]).collect()
}

fn unaligned<T: Element + PartialEq>(run: &Run<'_>, value: fn(usize) -> T) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let values: Vec<T> = (0..m * n).map(value).collect();
    let (a, mut b) = (run.tensor(&values, [m, n])?, run.output::<T, 2>([m, n])?);
    copy_unaligned::launch_with(run.config(), &run.stream(), &a.view()?, &mut b.view_mut()?)?;
    Ok(Outcome::exact(b.read()?, values))
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&scale_pitched::DEFINITION, around_tile([4, 32, 1]), |run| {
            let [m, n, ..] = run.size;
            let values = floats(m * n, 1);
            let a = strided(run, &values, [m, n], [n + 3, 1])?;
            let mut b = strided(run, &vec![untouched(); m * n], [m, n], [n.next_multiple_of(4) + 4, 1])?;
            scale_pitched::launch_with(run.config(), &run.stream(), 0.5, &a.view()?, &mut b.view_mut()?)?;
            Ok(Outcome::exact(b.read()?, values.iter().map(|value| value * 0.5)))
        }),
        Case::new(&copy_rows::DEFINITION, around_tile([4, 32, 1]), |run| {
            let [m, n, ..] = run.size;
            let values = floats(m * n, 2);
            let pitch = n.next_multiple_of(4) + 4;
            let a = strided(run, &values, [m, n], [pitch, 1])?;
            let mut b = strided(run, &vec![untouched(); m * n], [m, n], [pitch + 8, 1])?;
            copy_rows::launch_with(run.config(), &run.stream(), &a.view()?, &mut b.view_mut()?)?;
            let aligned = Outcome::exact(b.read()?, values.iter().copied());
            // Rows of another pitch, none of them aligned.
            let mut b = strided(run, &vec![untouched(); m * n], [m, n], [pitch + 1, 1])?;
            copy_rows::launch_with(run.config(), &run.stream(), &a.view()?, &mut b.view_mut()?)?;
            Ok(aligned.and(Outcome::exact(b.read()?, values)))
        }),
        Case::new(&copy_unaligned::DEFINITION, around_tile([2, 128, 1]), |run| unaligned(run, |i| i as u8))
            .of(Elem::U8),
        Case::new(&copy_unaligned::DEFINITION, around_tile([2, 128, 1]), |run| {
            unaligned(run, |i| bf16::from_bits((i % 30000) as u16))
        })
        .of(Elem::Bf16),
        Case::new(&heads_first::DEFINITION, around_tile([4, 4, 4]), |run| {
            let [l, m, n] = run.size;
            let values = floats(l * m * n, 10);
            let a = strided(run, &values, [l, m, n], [m * n, n, 1])?;
            let mut b = strided(run, &vec![untouched(); l * m * n], [l, n, m], [n * m, m, 1])?;
            heads_first::launch_with(run.config(), &run.stream(), &a.view()?, &mut b.view_mut()?)?;
            let turned = (0..l * m * n).map(|i| values[(i / m / n.max(1) * m + i % m) * n + i / m % n]);
            Ok(Outcome::exact(b.read()?, turned))
        }),
        Case::new(
            &magnitudes::DEFINITION,
            vec![[3, 64, 0], [2, 130, 0], [1, 65, 0], [2, 1, 0], [1, 2, 0]],
            |run| {
                // Words begin at multiples of four bytes.
                let run = run.aligned();
                let [m, n, _] = run.size;
                let values: Vec<bf16> = floats(m * n, 12).into_iter().map(bf16::from_f32).collect();
                let a = run.tensor(&values, [m, n])?;
                let mut b = run.output::<f32, 2>([m, n])?;
                magnitudes::launch_with(run.config(), &run.stream(), &a.view()?, &mut b.view_mut()?)?;
                Ok(Outcome::exact(b.read()?, values.iter().map(|value| value.to_f32().abs())))
            },
        ),
        Case::new(&halve_along::DEFINITION, around_tile([4, 4, 4]), |run| {
            let [l, m, n] = run.size;
            let values = floats(l * m * n, 9);
            let along = (0..3).find(|mode| run.set.get("MODE") == Some(ParamValue::Int(*mode)));
            let strides = match along {
                Some(0) => [1, (l + 1) * n + 3, l + 1],
                Some(1) => [(m + 2) * n + 5, 1, m + 2],
                _ => [m * (n + 3), n + 3, 1],
            };
            let a = strided(run, &values, [l, m, n], strides)?;
            let pitch = l.next_multiple_of(4) + 4;
            let mut b = strided(run, &vec![untouched(); l * m * n], [l, m, n], [1, pitch * n.max(1), pitch])?;
            halve_along::launch_with(run.config(), &run.stream(), &a.view()?, &mut b.view_mut()?)?;
            Ok(Outcome::exact(b.read()?, values.iter().map(|value| value * 0.5)))
        }),
        Case::new(&add_strided::DEFINITION, around_tile([8, 8, 1]), |run| {
            let [m, n, ..] = run.size;
            let (first, second) = (floats(m * n, 3), floats(m * n, 4));
            let a = strided(run, &first, [m, n], [2, 2 * m + 5])?;
            let b = strided(run, &second, [m, n], [1, m.max(1)])?;
            let mut c = strided(run, &vec![untouched(); m * n], [m, n], [3 * n + 1, 3])?;
            let (a_view, b_view) = (a.view()?, b.view()?);
            add_strided::launch_with(run.config(), &run.stream(), &a_view, &b_view, &mut c.view_mut()?)?;
            Ok(Outcome::exact(c.read()?, first.iter().zip(&second).map(|(a, b)| a + b)))
        }),
        Case::new(&transpose::DEFINITION, around_tile([32, 32, 1]), |run| {
            let [m, n, ..] = run.size;
            let values = floats(m * n, 5);
            let (a, mut b) = (run.tensor(&values, [m, n])?, run.output([n, m])?);
            transpose::launch_with(run.config(), &run.stream(), &a.view()?, &mut b.view_mut()?)?;
            Ok(Outcome::exact(b.read()?, turned(&values, [m, n])))
        }),
        Case::new(&transpose_padded::DEFINITION, around_tile([16, 16, 1]), |run| {
            let [m, n, ..] = run.size;
            let values = floats(m * n, 6);
            let (a, mut b) = (run.tensor(&values, [m, n])?, run.output([n, m])?);
            transpose_padded::launch_with(run.config(), &run.stream(), &a.view()?, &mut b.view_mut()?)?;
            Ok(Outcome::exact(b.read()?, turned(&values, [m, n])))
        }),
        Case::new(&reverse_modes::DEFINITION, around_tile([2, 32, 3]), |run| {
            let [a, b, c] = run.size;
            let values = floats(a * b * c * 2, 7);
            let (x, mut y) = (run.tensor(&values, [a, b, c, 2])?, run.output([2, c, b, a])?);
            reverse_modes::launch_with(run.config(), &run.stream(), &x.view()?, &mut y.view_mut()?)?;
            let value = |at: usize| {
                let (i, j, k, l) = (at % a, at / a % b, at / (a * b) % c, at / (a * b * c));
                values[((i * b + j) * c + k) * 2 + l]
            };
            Ok(Outcome::exact(y.read()?, (0..values.len()).map(value)))
        }),
        Case::new(&static_rows::DEFINITION, around(32), |run| {
            let [m, ..] = run.size;
            let n = if run.set.key() == "N24" { 24 } else { 32 };
            let values = floats(m * n, 8);
            let (a, mut sums) = (run.tensor(&values, [m, n])?, run.output([m])?);
            static_rows::launch_with(run.config(), &run.stream(), &a.view()?, &mut sums.view_mut()?)?;
            Ok(Outcome::exact(sums.read()?, values.chunks(n).map(|row| row.iter().sum::<f32>())))
        }),
    ]
}
