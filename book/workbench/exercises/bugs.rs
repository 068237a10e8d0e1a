//! Find the bug: listings of tutorials as they are printed there, each wrong in its own way.

use super::Exercise;
use super::products::products;
use super::puzzles::{
    column_sum, conv_blocks, conv_simple, dot_product, pooling, product, scan_of_64, scan_totals,
};
use super::transposes::odd;

const CONVOLUTION: &str = include_str!("../../../examples/kernels/puzzles/convolution.rs");
const LADDER: &str = include_str!("../../../examples/kernels/matmul.rs");
const MATMUL: &str = include_str!("../../../examples/kernels/puzzles/matmul.rs");
const REDUCE: &str = include_str!("../../../examples/kernels/puzzles/reduce.rs");
const SCAN: &str = include_str!("../../../examples/kernels/puzzles/scan.rs");
const STENCIL: &str = include_str!("../../../examples/kernels/puzzles/stencil.rs");
const REPAIRED: &str = include_str!("../../listings/repaired.rs");

/// A row of the table.
macro_rules! bug {
    ($name:literal, $title:literal, $solution:expr, $cases:ident, $hint:literal) => {
        Exercise {
            name: $name,
            title: $title,
            edit: include_str!(concat!("../../exercises/", $name, ".edit")),
            hint: $hint,
            solution: $solution,
            cases: $cases,
            limits: &[],
        }
    };
}

/// The listings.
pub const ALL: &[Exercise] = &[
    bug!(
        "bug-dot",
        "find the bug: a dot product",
        (REDUCE, "dot_product"),
        dot_product,
        "Who writes partial[6] where N is 6? And how many blocks write out[0] where N is 16?"
    ),
    bug!(
        "bug-race",
        "find the bug: a sum by everybody",
        (REDUCE, "dot_product"),
        dot_product,
        "Every thread reads out[0] and writes it, and nothing orders them. One thread is enough for the sum of a block."
    ),
    bug!(
        "bug-pooling",
        "find the bug: windows at a block's begin",
        (STENCIL, "pooling"),
        pooling,
        "The windows begin anew at each block: its first two threads need elements of the block before."
    ),
    bug!(
        "bug-filter",
        "find the bug: a filter with the input's bound",
        (CONVOLUTION, "conv_1d_simple"),
        conv_simple,
        "b has K elements, and i goes up to N."
    ),
    bug!(
        "bug-halo",
        "find the bug: zeros that nobody writes",
        (CONVOLUTION, "conv_1d_block_boundary"),
        conv_blocks,
        "Where a block hangs over the end, part of shared_a is never written, and the last windows read it."
    ),
    bug!(
        "bug-scan",
        "find the bug: adding in place",
        (REPAIRED, "prefix_sum_of_64"),
        scan_of_64,
        "One warp reads held[i - offset] while another has already added to it. Read, wait, write, wait."
    ),
    bug!(
        "bug-totals",
        "find the bug: the totals before",
        (SCAN, "prefix_sum_add_totals"),
        scan_totals,
        "The third block needs the totals of two blocks."
    ),
    bug!(
        "bug-columns",
        "find the bug: a trivial change",
        (REDUCE, "column_sum"),
        column_sum,
        "The loop still runs along a row's length."
    ),
    bug!(
        "bug-barrier",
        "find the bug: a barrier inside of an `if`",
        (MATMUL, "matmul_tiled"),
        product,
        "A barrier is for all threads of the block, also for those without an element."
    ),
    bug!(
        "bug-wait",
        "find the bug: whose copies have landed",
        (MATMUL, "matmul_layout_tensor"),
        product,
        "async_copy_wait_all() waits for the copies of this thread. The others' elements come with a barrier."
    ),
    bug!(
        "bug-guard",
        "find the bug: a store outside of the guard",
        (LADDER, "naive"),
        products,
        "Which threads have no element of c? They skip the loop, and store all the same."
    ),
    bug!(
        "bug-coarse",
        "find the bug: the column in the loop",
        (REPAIRED, "transpose_batched"),
        odd,
        "Each round writes the same column."
    ),
];
