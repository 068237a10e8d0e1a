//! The steps of the transposition: through shared memory, without conflicts, by TMA.

use super::{Case, Exercise, Limit, count};
use crate::data::Tensor;

/// A row of the table.
macro_rules! step {
    ($name:literal, $title:literal, $function:literal, $cases:ident, $limits:expr, $hint:literal) => {
        Exercise {
            name: $name,
            title: $title,
            edit: include_str!(concat!("../../exercises/", $name, ".edit")),
            hint: $hint,
            solution: (include_str!("../../listings/transpose.rs"), $function),
            cases: $cases,
            limits: $limits,
        }
    };
}

/// The steps.
pub const ALL: &[Exercise] = &[
    step!(
        "transpose",
        "transposition, step 1: element by element",
        "transpose_naive",
        odd,
        &[],
        "`if row < M && col < N { y[[col, row]] = x[[row, col]]; }`"
    ),
    step!(
        "transpose-shared",
        "transposition, step 2: through shared memory",
        "transpose_shared",
        odd,
        &[Limit::Sectors],
        "Row `row` of the transposed tile is column `row` of `held`."
    ),
    step!(
        "transpose-swizzled",
        "transposition, step 3: no bank conflicts",
        "transpose_swizzled",
        odd,
        &[Limit::Sectors, Limit::Conflicts],
        "`row_major([32, 32]).swizzle(5, 0, 5)`, or rows of 33: `layout([32, 32], [33, 1])`."
    ),
    step!(
        "transpose-tma",
        "transposition by TMA",
        "transpose_tma",
        fours,
        &[],
        "`loaded.wait(0)` before the read; `fence_async_proxy()` after the write, before the barrier."
    ),
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
