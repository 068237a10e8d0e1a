//! The puzzles, 9 to 14: sizes of the text and others, sums of whole numbers.

use super::{Case, Exercise, count};
use crate::data::{Given, Tensor};

/// A row of the table.
macro_rules! puzzle {
    ($name:literal, $title:literal, $file:literal, $function:literal, $cases:ident, $hint:literal) => {
        Exercise {
            name: $name,
            title: $title,
            edit: include_str!(concat!("../../exercises/", $name, ".edit")),
            hint: $hint,
            solution: (include_str!(concat!("../../../examples/kernels/puzzles/", $file, ".rs")), $function),
            cases: $cases,
            limits: &[],
        }
    };
}

/// The puzzles.
pub const ALL: &[Exercise] = &[
    puzzle!(
        "p09",
        "pooling over windows of three",
        "stencil",
        "pooling",
        pooling,
        "Threads 0 and 1 bring a[i - 2], where i >= 2: an index below zero is no element. Write `i as isize - 2`."
    ),
    puzzle!(
        "p10",
        "the dot product of two vectors",
        "reduce",
        "dot_product",
        dot_product,
        "stride = TPB / 2, TPB / 4, .., 1: thread t < stride adds partial[t + stride]. A barrier ends each round, for all threads."
    ),
    puzzle!(
        "p11",
        "a convolution in one block",
        "convolution",
        "conv_1d_simple",
        conv_simple,
        "The filter has K elements, the input N: each has its own bound. The window leaves the input where i + j >= N."
    ),
    puzzle!(
        "p11-blocks",
        "a convolution over blocks",
        "convolution",
        "conv_1d_block_boundary",
        conv_blocks,
        "Threads below K - 1 bring a[i + TPB] to shared_a[local + TPB], or zero where that is beyond N."
    ),
    puzzle!(
        "p11-2d",
        "a convolution in two dimensions",
        "convolution",
        "conv_2d_halo",
        conv_2d,
        "`for row in (thread_idx.y..TILE_H).step_by(TPB_Y)`, and columns likewise. Element (row, col) of the tile is the image's (block_idx.y * TPB_Y + row, block_idx.x * TPB_X + col)."
    ),
    puzzle!(
        "p12",
        "prefix sums, Hillis and Steele",
        "scan",
        "prefix_sum_simple",
        scan,
        "All write, all wait, all read, all wait: a thread that is ahead must not overwrite what another has yet to read."
    ),
    puzzle!(
        "p12-blelloch",
        "prefix sums, Blelloch",
        "scan",
        "prefix_sum_blelloch",
        scan,
        "The last of a group is the i with i % (2 * half) == 2 * half - 1; the last of its first half is i - half."
    ),
    puzzle!(
        "p12-blocks",
        "prefix sums over blocks, first launch",
        "scan",
        "prefix_sum_local",
        scan_local,
        "`a.tile([TPB], [block_idx.x])[[local]]` is zero beyond the end. The last thread of a block has the block's total."
    ),
    puzzle!(
        "p12-totals",
        "prefix sums over blocks, second launch",
        "scan",
        "prefix_sum_add_totals",
        scan_totals,
        "Block b adds out[size], .., out[size + b - 1]."
    ),
    puzzle!(
        "p13",
        "sums of rows",
        "reduce",
        "row_sum",
        row_sum,
        "`for i in (thread_idx.x..N).step_by(TPB)`."
    ),
    puzzle!("p13-columns", "sums of columns", "reduce", "column_sum", column_sum, "A column has M elements."),
    puzzle!(
        "p14",
        "a product, from global memory",
        "matmul",
        "matmul_naive",
        product,
        "The grid covers the matrix and a bit more: put everything into `if row < M && col < N`."
    ),
    puzzle!(
        "p14-shared",
        "a product, from shared memory",
        "matmul",
        "matmul_shared",
        square,
        "Only threads with row < S and col < S have an element; the barrier is for all of them, outside of the `if`."
    ),
    puzzle!(
        "p14-tiled",
        "a product in tiles, by hand",
        "matmul",
        "matmul_tiled",
        product,
        "`if row < M && a_col < K { a[[row, a_col]] } else { 0.0 }`. One barrier before the products, one after them."
    ),
    puzzle!(
        "p14-views",
        "a product in tiles, by views",
        "matmul",
        "matmul_layout_tensor",
        product,
        "`copy_dram_to_sram_async(&mut a_shared, &a_tile, row_major([TPB, TPB]))`; `async_copy_wait_all()` waits for this thread's own copies, `barrier()` for the others."
    ),
];

fn vector(values: Vec<f64>) -> Given {
    Tensor::new(&[values.len()], values).into()
}

fn case(what: String, given: Vec<Given>, expected: Vec<f64>) -> Case {
    Case { what, given, out: 0, expected, within: 0.0 }
}

pub(super) fn pooling() -> Vec<Case> {
    let one = |n: usize| {
        let expected = (0..n).map(|i| (i.saturating_sub(2)..=i).sum::<usize>() as f64).collect();
        case(format!("N = {n}"), vec![Tensor::unwritten(&[n]).into(), vector(count(n))], expected)
    };
    vec![one(8), one(21), one(1)]
}

pub(super) fn dot_product() -> Vec<Case> {
    let one = |n: usize| {
        let given = vec![Tensor::unwritten(&[1]).into(), vector(count(n)), vector(count(n))];
        case(format!("N = {n}"), given, vec![(0..n).map(|i| i * i).sum::<usize>() as f64])
    };
    vec![one(8), one(6), one(16)]
}

fn convolution(n: usize, k: usize) -> Case {
    let expected = (0..n).map(|i| (0..k).filter(|j| i + j < n).map(|j| (i + j) * j).sum::<usize>() as f64);
    let given = vec![Tensor::unwritten(&[n]).into(), vector(count(n)), vector(count(k))];
    case(format!("N = {n}"), given, expected.collect())
}

pub(super) fn conv_simple() -> Vec<Case> {
    vec![convolution(6, 3), convolution(8, 3), convolution(2, 3)]
}

pub(super) fn conv_blocks() -> Vec<Case> {
    vec![convolution(15, 4), convolution(16, 4), convolution(9, 4)]
}

fn conv_2d() -> Vec<Case> {
    let one = |h: usize, w: usize| {
        let image = Tensor::of(&[h, w], |i| (i % 5) as f64);
        let filter = Tensor::of(&[3, 3], |i| i as f64);
        let at = |y: usize, x: usize| if y < h && x < w { image.values[y * w + x] } else { 0.0 };
        let window =
            |y: usize, x: usize| -> f64 { (0..9).map(|i| at(y + i / 3, x + i % 3) * filter.values[i]).sum() };
        let expected = (0..h * w).map(|i| window(i / w, i % w)).collect();
        let given = vec![Tensor::unwritten(&[h, w]).into(), image.clone().into(), filter.clone().into()];
        case(format!("H = {h}, W = {w}"), given, expected)
    };
    vec![one(12, 16), one(8, 8), one(9, 3)]
}

/// The sums of the first 1, 2, .. numbers from `first` on.
fn sums(first: usize, n: usize) -> Vec<f64> {
    (first..first + n).map(|i| (first..=i).sum::<usize>() as f64).collect()
}

fn scan() -> Vec<Case> {
    let one = |n: usize| {
        case(format!("N = {n}"), vec![Tensor::unwritten(&[n]).into(), vector(count(n))], sums(0, n))
    };
    vec![one(8), one(5)]
}

/// A whole block's worth for the racy listing: more than one warp.
pub(super) fn scan_of_64() -> Vec<Case> {
    [64, 50]
        .into_iter()
        .map(|n| case(format!("N = {n}"), vec![Tensor::unwritten(&[n]).into(), vector(count(n))], sums(0, n)))
        .collect()
}

/// What the first launch leaves behind: the sums of blocks of 8, then their totals.
fn local_sums(n: usize) -> Vec<f64> {
    let blocks: Vec<Vec<f64>> = (0..n).step_by(8).map(|first| sums(first, 8.min(n - first))).collect();
    let totals: Vec<f64> = blocks.iter().map(|block| block[block.len() - 1]).collect();
    blocks.into_iter().flatten().chain(totals).collect()
}

fn scan_local() -> Vec<Case> {
    let one = |n: usize| {
        let expected = local_sums(n);
        let given = vec![Tensor::unwritten(&[expected.len()]).into(), vector(count(n))];
        case(format!("N = {n}"), given, expected)
    };
    vec![one(15), one(24)]
}

pub(super) fn scan_totals() -> Vec<Case> {
    let one = |n: usize| {
        let before = local_sums(n);
        let expected = sums(0, n).into_iter().chain(before[n..].iter().copied()).collect();
        let mut case = case(format!("size = {n}"), vec![vector(before), Given::Index(n as i64)], expected);
        case.what += &format!(", {} blocks", n.div_ceil(8));
        case
    };
    vec![one(15), one(30)]
}

fn row_sum() -> Vec<Case> {
    let one = |m: usize, n: usize| {
        let expected = (0..m).map(|row| (0..n).map(|i| row * n + i).sum::<usize>() as f64).collect();
        let a = Tensor::new(&[m, n], count(m * n));
        case(format!("M = {m}, N = {n}"), vec![Tensor::unwritten(&[m, 1]).into(), a.into()], expected)
    };
    vec![one(4, 6), one(3, 20)]
}

pub(super) fn column_sum() -> Vec<Case> {
    let one = |m: usize, n: usize| {
        let expected = (0..n).map(|col| (0..m).map(|i| i * n + col).sum::<usize>() as f64).collect();
        let a = Tensor::new(&[m, n], count(m * n));
        case(format!("M = {m}, N = {n}"), vec![Tensor::unwritten(&[1, n]).into(), a.into()], expected)
    };
    vec![one(4, 6), one(20, 3)]
}

/// `out = a b` of these extents: `out` first.
fn multiplied(m: usize, n: usize, k: usize) -> Case {
    let (a, b) = (count(m * k), count(k * n));
    let element = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum::<f64>();
    let expected = (0..m * n).map(|at| element(at / n, at % n)).collect();
    let given = vec![
        Tensor::unwritten(&[m, n]).into(),
        Tensor::new(&[m, k], a.clone()).into(),
        Tensor::new(&[k, n], b.clone()).into(),
    ];
    case(format!("M = {m}, N = {n}, K = {k}"), given, expected)
}

pub(super) fn product() -> Vec<Case> {
    vec![multiplied(9, 9, 9), multiplied(4, 5, 7), multiplied(8, 8, 8)]
}

fn square() -> Vec<Case> {
    vec![multiplied(3, 3, 3), multiplied(2, 2, 2)]
}
