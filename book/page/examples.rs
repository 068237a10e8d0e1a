//! What can be picked: kernels of the book, one that is wrong and one that races, layouts, the exercises.

use layout_workbench::exercises;
use layout_workbench::listing::function;
use serde_json::{Value, json};

/// Name, file, function, sizes.
type Kernel = (&'static str, &'static str, &'static str, &'static str);

macro_rules! kernel {
    ($name:literal, $file:literal, $function:literal, $sizes:literal) => {
        ($name, include_str!(concat!("../../", $file, ".rs")), $function, $sizes)
    };
}

const KERNELS: &[Kernel] = &[
    kernel!("vector addition", "examples/kernels/elementwise", "vector_add", "N = 1000"),
    kernel!("product 1: naive", "examples/kernels/matmul", "naive", "M = 64, N = 64, K = 64"),
    kernel!("product 2: coalescing", "examples/kernels/matmul", "coalescing", "M = 64, N = 64, K = 64"),
    kernel!(
        "product 3: tiles in shared memory",
        "examples/kernels/matmul",
        "tiled",
        "M = 64, N = 64, K = 64"
    ),
    kernel!(
        "product 4: a column in registers",
        "examples/kernels/register_tiles",
        "tiled_register",
        "M = 64, N = 64, K = 64"
    ),
    kernel!(
        "product 5: a rectangle in registers",
        "examples/kernels/register_tiles",
        "block_tiled",
        "M = 64, N = 64, K = 64"
    ),
    kernel!(
        "product 6: vectors",
        "examples/kernels/register_tiles",
        "block_tiled_vectorized",
        "M = 64, N = 64, K = 64"
    ),
    kernel!(
        "product 7: tensor cores",
        "book/listings/tensor_core",
        "tensor_core_simple",
        "M = 64, N = 64, K = 64"
    ),
    kernel!(
        "transposition 1: element by element",
        "book/listings/transpose",
        "transpose_naive",
        "M = 64, N = 64"
    ),
    kernel!(
        "transposition 2: shared memory",
        "book/listings/transpose",
        "transpose_shared",
        "M = 64, N = 64"
    ),
    kernel!("transposition 3: swizzled", "book/listings/transpose", "transpose_swizzled", "M = 64, N = 64"),
    kernel!("transposition by TMA", "book/listings/transpose", "transpose_tma", "M = 64, N = 64"),
    kernel!("products of a warpgroup", "book/listings/hopper", "wgmma_simple", "M = 64, N = 64, K = 128"),
    kernel!("prefix sum", "examples/kernels/puzzles/scan", "prefix_sum_simple", "N = 8"),
    kernel!("convolution", "examples/kernels/puzzles/convolution", "conv_1d_block_boundary", "N = 30"),
    kernel!("softmax", "book/listings/softmax", "softmax_simple", "M = 8, N = 100"),
    kernel!(
        "attention",
        "book/listings/attention",
        "attention_simple",
        "H = 1, M = 64, N = 64, scale = 0.125"
    ),
];

/// Kernels with a mistake, by the exercise that repairs them.
const WRONG: &[(&str, &str, &str)] = &[
    ("wrong: a race", "bug-scan", "N = 64"),
    ("wrong: beyond the end", "bug-columns", "M = 4, N = 6"),
    ("wrong: a missing barrier", "bug-wait", "M = 6, N = 6, K = 6"),
];

/// Name, expression, picture.
const LAYOUTS: &[(&str, &str, &str)] = &[
    ("row-major", "(4,8):(8,1)", "offsets"),
    ("column-major", "(4,8):(1,4)", "offsets"),
    ("a block picked out", "composition((4,8):(8,1), (2,4):(1,4))", "offsets"),
    ("tiles", "zipped_divide((4,8):(8,1), (2,4))", "offsets"),
    ("a complement", "complement(4:2, 24)", "offsets"),
    ("threads of a matrix instruction", "((4,8),(2,2)):((32,1),(16,8))", "threads"),
    ("banks of a row-major tile", "(8,32):(32,1)", "banks"),
    ("banks of the swizzled tile", "Sw<3,2,3> o 0 o (8,32):(32,1)", "banks"),
];

/// All that can be picked.
pub fn list() -> Value {
    let kernels = KERNELS.iter().map(|(name, file, own, sizes)| {
        json!({ "name": name, "text": function(file, own).unwrap_or_default(), "sizes": sizes })
    });
    let wrong = WRONG.iter().map(|(name, exercise, sizes)| {
        let text = exercises::find(exercise).map_or_else(String::new, |exercise| exercise.start());
        json!({ "name": name, "text": text, "sizes": sizes })
    });
    let layouts =
        LAYOUTS.iter().map(|(name, text, picture)| json!({ "name": name, "text": text, "picture": picture }));
    let tasks = exercises::all().map(|exercise| {
        json!({ "name": exercise.name, "title": exercise.title, "text": exercise.start(), "hint": exercise.hint,
            "solution": exercise.solution() })
    });
    json!({
        "kernels": kernels.chain(wrong).collect::<Vec<_>>(), "layouts": layouts.collect::<Vec<_>>(),
        "exercises": tasks.collect::<Vec<_>>(),
    })
}
