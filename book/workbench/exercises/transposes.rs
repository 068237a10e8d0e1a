//! The steps of the transposition: through shared memory, without conflicts, by TMA.

use super::{Case, Exercise, Limit, count};
use crate::data::Tensor;

const OURS: &str = include_str!("../../listings/transpose.rs");

/// The steps.
pub const ALL: &[Exercise] = &[
    Exercise {
        name: "transpose",
        title: "transposition, step 1: element by element",
        start: include_str!("../../exercises/transpose.rs"),
        hint: "`if row < M && col < N { y[[col, row]] = x[[row, col]]; }`",
        solution: (OURS, "transpose_naive"),
        cases: odd,
        limits: &[],
    },
    Exercise {
        name: "transpose-shared",
        title: "transposition, step 2: through shared memory",
        start: include_str!("../../exercises/transpose-shared.rs"),
        hint: "Row `row` of the transposed tile is column `row` of `held`.",
        solution: (OURS, "transpose_shared"),
        cases: odd,
        limits: &[Limit::Sectors],
    },
    Exercise {
        name: "transpose-swizzled",
        title: "transposition, step 3: no bank conflicts",
        start: include_str!("../../exercises/transpose-swizzled.rs"),
        hint: "`row_major([32, 32]).swizzle(5, 0, 5)`, or rows of 33: `layout([32, 32], [33, 1])`.",
        solution: (OURS, "transpose_swizzled"),
        cases: odd,
        limits: &[Limit::Sectors, Limit::Conflicts],
    },
    Exercise {
        name: "transpose-tma",
        title: "transposition by TMA",
        start: include_str!("../../exercises/transpose-tma.rs"),
        hint: "`loaded.wait(0)` before the read; `fence_async_proxy()` after the write, before the barrier.",
        solution: (OURS, "transpose_tma"),
        cases: fours,
        limits: &[],
    },
];

fn transposed(m: usize, n: usize) -> Case {
    let expected = (0..m * n).map(|at| (at % m * n + at / m) as f64).collect();
    let given = vec![Tensor::new(&[m, n], count(m * n)).into(), Tensor::unwritten(&[n, m]).into()];
    Case { what: format!("M = {m}, N = {n}"), given, out: 1, expected, within: 0.0 }
}

pub(super) fn odd() -> Vec<Case> {
    vec![transposed(64, 64), transposed(33, 50)]
}

/// TMA asks for rows of whole 16 bytes.
fn fours() -> Vec<Case> {
    vec![transposed(64, 64), transposed(36, 44)]
}
