//! The ladder of the multiplication, step by step: each is right where the one before is right, and costs less.

use super::{Case, Exercise, Limit, small};
use crate::data::Tensor;

/// A row of the table.
macro_rules! step {
    ($name:literal, $title:literal, $file:literal, $function:literal, $limits:expr, $hint:literal) => {
        Exercise {
            name: $name,
            title: $title,
            edit: include_str!(concat!("../../exercises/", $name, ".edit")),
            hint: $hint,
            solution: (include_str!(concat!("../../../", $file, ".rs")), $function),
            cases: products,
            limits: $limits,
        }
    };
}

/// The steps.
pub const ALL: &[Exercise] = &[
    step!(
        "naive",
        "the ladder, step 1: a thread for each element",
        "examples/kernels/matmul",
        "naive",
        &[],
        "`for k in 0..K { sum += a[[row, k]] * b[[k, col]]; }`"
    ),
    step!(
        "coalescing",
        "the ladder, step 2: neighbours read neighbours",
        "examples/kernels/matmul",
        "coalescing",
        &[Limit::Sectors],
        "`col` from thread_idx.x and block_idx.x, `row` from y; block = [BN, BM], grid = [N.div_ceil(BN), M.div_ceil(BM)]."
    ),
    step!(
        "tiled",
        "the ladder, step 3: tiles in shared memory",
        "examples/kernels/matmul",
        "tiled",
        &[Limit::Sectors],
        "The threads of a copy: row_major([THREADS / BK, BK]) of a's tile. Copy, copy, async_copy_wait_all(), barrier(), products, barrier()."
    ),
    step!(
        "tiled_register",
        "the ladder, step 4: a column of C in registers",
        "examples/kernels/register_tiles",
        "tiled_register",
        &[Limit::Shared],
        "`let b_value = b_smem[[k, col]];`, then `acc[[t, 0]] += a_smem.tile([TM, 1], [row, k])[[t, 0]] * b_value` for t in unroll(0..TM)."
    ),
    step!(
        "block_tiled",
        "the ladder, step 5: a rectangle of C in registers",
        "examples/kernels/register_tiles",
        "block_tiled",
        &[Limit::Shared],
        "`a_smem.tile([TM, 1], [row, k]).to_local()`, `b_smem.tile([1, TN], [k, col]).to_local()`, `outer_product_acc(&mut acc, &a_reg, &b_reg)`."
    ),
    step!(
        "block_tiled_vectorized",
        "the ladder, step 6: vectors of four",
        "examples/kernels/register_tiles",
        "block_tiled_vectorized",
        &[Limit::Requests, Limit::Shared],
        "`.vectorize([1, 4])` on both sides of each copy and of the last store; threads of a copy: row_major([THREADS / (BK / 4), BK / 4])."
    ),
    step!(
        "tensor_core",
        "the ladder, step 7: the matrix instruction",
        "book/listings/tensor_core",
        "tensor_core_simple",
        &[Limit::Shared],
        "`mma.load_a(&a_warp.tile([16, 8], [m, k]))`, `mma.load_b(&b_warp.tile([8, 8], [k, n]))`, `mma.mma(&mut acc.tile([1, 4], [m, n]), &a_reg, &b_reg)`."
    ),
    step!(
        "own",
        "a product in tiles of your own",
        "book/listings/own",
        "own_product",
        &[Limit::Sectors, Limit::Shared],
        "Begin with the ladder's step 3, and make it right. Then let a thread own 4 x 4 elements: acc, a_reg, b_reg, outer_product_acc."
    ),
];

/// `c = a b`, `c` last, of sizes that tiles divide and of others.
pub(super) fn products() -> Vec<Case> {
    let one = |m: usize, n: usize, k: usize| {
        let (a, b) = (small(m * k), small(k * n));
        let element = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum::<f64>();
        let expected = (0..m * n).map(|at| element(at / n, at % n)).collect();
        let given = vec![
            Tensor::new(&[m, k], a.clone()).into(),
            Tensor::new(&[k, n], b.clone()).into(),
            Tensor::unwritten(&[m, n]).into(),
        ];
        Case { what: format!("M = {m}, N = {n}, K = {k}"), given, out: 2, expected, within: 0.0 }
    };
    vec![one(64, 64, 64), one(33, 47, 21)]
}
