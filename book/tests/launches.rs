//! The launches that the book gives numbers of: a kernel by file and function, its arguments, what the simulator counts.

use layout_compiler::{ParamSet, ParamValue, emit};
use layout_simulator::{Counts, Options};
use layout_workbench::listing::function;
use layout_workbench::{Given, Outcome, Prepared, Tensor, prepare, read};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of a file of the repository.
pub fn text(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A kernel as it is in its file.
pub fn kernel(file: &str, name: &str) -> String {
    function(&text(file), name).unwrap_or_else(|| panic!("{file} has no `{name}`"))
}

fn prepared(text: &str, set: Option<&ParamSet>, given: &[Given]) -> Prepared {
    let kernel = read(text).unwrap_or_else(|mistakes| panic!("{}:\n{text}", mistakes[0]));
    // What the set leaves out is the attribute's.
    let set = set.map(|asked| kernel.choose(asked, &[]).unwrap_or_else(|errors| panic!("{errors:?}")));
    let prepared = prepare(&kernel, set.as_ref(), given, None);
    prepared.unwrap_or_else(|mistakes| panic!("{}:\n{text}", mistakes[0]))
}

/// Runs a kernel.
pub fn outcome(text: &str, set: Option<&ParamSet>, given: &[Given]) -> Outcome {
    let outcome = prepared(text, set, given).run(given, &Options::default());
    outcome.unwrap_or_else(|mistakes| panic!("{}", mistakes[0]))
}

/// Runs a kernel that has nothing to find.
pub fn run(text: &str, set: Option<&ParamSet>, given: &[Given]) -> Outcome {
    let outcome = outcome(text, set, given);
    assert!(outcome.report.clean(), "{}\n{text}", outcome.report);
    outcome
}

/// The CUDA C of the variant that these arguments take.
pub fn cuda(text: &str, given: &[Given]) -> String {
    emit(&prepared(text, None, given).checked).text
}

/// Small whole numbers.
pub fn tensor(shape: &[usize]) -> Given {
    Tensor::of(shape, |i| (i * 7 % 11) as f64 - 5.0).into()
}

/// A tensor of `0, 1, 2, ..` times `by`.
pub fn count(shape: &[usize], by: f64) -> Given {
    Tensor::of(shape, |i| i as f64 * by).into()
}

/// A tensor to write.
pub fn unwritten(shape: &[usize]) -> Given {
    Tensor::unwritten(shape).into()
}

/// The steps of the ladder, and where they are.
pub const LADDER: [(&str, &str); 7] = [
    ("naive", "examples/kernels/matmul.rs"),
    ("coalescing", "examples/kernels/matmul.rs"),
    ("tiled", "examples/kernels/matmul.rs"),
    ("tiled_register", "examples/kernels/register_tiles.rs"),
    ("block_tiled", "examples/kernels/register_tiles.rs"),
    ("block_tiled_vectorized", "examples/kernels/register_tiles.rs"),
    ("tensor_core_simple", "book/listings/tensor_core.rs"),
];

/// The extents of the ladder's launches: M = N = K.
pub const EXTENT: usize = 128;

/// A step: name, file, parameters.
pub type Step = (&'static str, &'static str, Option<(bool, i64)>);

/// The steps of the transposition.
pub const TRANSPOSES: [Step; 7] = [
    ("transpose_naive", "book/listings/transpose.rs", None),
    ("transpose_shared", "book/listings/transpose.rs", None),
    ("transpose_swizzled", "book/listings/transpose.rs", None),
    ("transpose_tma", "layout-cuda/kernels/src/kernels/memory/boxes.rs", Some((false, 1))),
    ("transpose_tma_swizzled", "layout-cuda/kernels/src/kernels/memory/boxes.rs", Some((true, 1))),
    ("transpose_tma_columns", "layout-cuda/kernels/src/kernels/memory/boxes.rs", Some((false, 8))),
    ("transpose_tma_swizzled_columns", "layout-cuda/kernels/src/kernels/memory/boxes.rs", Some((true, 8))),
];

/// Queries and keys of the launches of attention, and the rows and columns of the softmax of their scores.
pub const LENGTH: usize = 256;

/// What the launch of this name counts: a step of the ladder at 128³, of the transposition at 128², attention and what it
/// avoids at 256, or a listing on 32². Each is launched once.
pub fn counts(name: &str) -> Option<Counts> {
    static KNOWN: Mutex<BTreeMap<String, Counts>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if !known.contains_key(name) {
        known.insert(name.to_owned(), counted(name)?);
    }
    known.get(name).copied()
}

fn counted(name: &str) -> Option<Counts> {
    if let Some((name, file)) = LADDER.iter().find(|(known, _)| *known == name) {
        let square = [EXTENT, EXTENT];
        let given = [tensor(&square), tensor(&square), unwritten(&square)];
        return Some(run(&kernel(file, name), None, &given).report.totals);
    }
    if let Some((name, file, set)) = TRANSPOSES.iter().find(|(known, ..)| *known == name) {
        let set = set.map(|(swizzled, columns)| {
            let set = ParamSet::default().with("SWIZZLED", ParamValue::Bool(swizzled));
            set.with("COLUMNS", ParamValue::Int(columns))
        });
        let name = if set.is_some() { "transpose_by_boxes" } else { name };
        let given = [tensor(&[EXTENT, EXTENT]), unwritten(&[EXTENT, EXTENT])];
        return Some(run(&kernel(file, name), set.as_ref(), &given).report.totals);
    }
    // TVM's first schedules with threads are sets of `naive`.
    if let "naive_v1" | "naive_v2" = name {
        let columns = if name == "naive_v1" { 1 } else { 32 };
        let set = ParamSet::default().with("BM", ParamValue::Int(32)).with("BN", ParamValue::Int(columns));
        let given = [tensor(&[EXTENT, EXTENT]), tensor(&[EXTENT, EXTENT]), unwritten(&[EXTENT, EXTENT])];
        let own = run(&kernel("examples/kernels/matmul.rs", "naive"), Some(&set), &given);
        return Some(own.report.totals);
    }
    let products = [("one_each", "book/listings/blocks.rs"), ("scheduled", "examples/kernels/schedule.rs")];
    if let Some((_, file)) = products.iter().find(|(known, _)| *known == name) {
        let given = [tensor(&[EXTENT, EXTENT]), tensor(&[EXTENT, EXTENT]), unwritten(&[EXTENT, EXTENT])];
        return Some(run(&kernel(file, name), None, &given).report.totals);
    }
    if name == "softmax_of_scores" {
        let given = [tensor(&[LENGTH, LENGTH]), unwritten(&[LENGTH, LENGTH])];
        return Some(run(&kernel("book/listings/softmax.rs", "softmax_simple"), None, &given).report.totals);
    }
    if let "attention_simple" | "attention_causal" = name {
        let set = ParamSet::default().with("CAUSAL", ParamValue::Bool(name == "attention_causal"));
        let heads = [1, LENGTH, 64];
        let given = [tensor(&heads), tensor(&heads), tensor(&heads), unwritten(&heads), Given::Scalar(0.125)];
        let text = kernel("book/listings/attention.rs", "attention_simple");
        return Some(run(&text, Some(&set), &given).report.totals);
    }
    if let "by_parity" | "by_warp" = name {
        let positive = Tensor::of(&[64], |i| i as f64 / 64.0).into();
        return Some(
            run(&kernel("book/listings/warps.rs", name), None, &[positive, unwritten(&[64])]).report.totals,
        );
    }
    let small = ["rows", "columns", "turned", "turned_swizzled"];
    small.contains(&name).then(|| {
        let given = [tensor(&[32, 32]), unwritten(&[32, 32])];
        run(&kernel("book/listings/access.rs", name), None, &given).report.totals
    })
}
