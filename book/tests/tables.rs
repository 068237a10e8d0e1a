//! The tables of a tutorial's figures and ours, made of the records.

use super::launches::{EXTENT, counts};
use super::numbers::{recorded, searched};
use super::outputs::{output, thousands};
use std::fmt::Write;

/// The size of TVM's product in the records.
const TVM: &str = "1024x512x2048";
/// The card of our column, and what the records call the kernels there.
const CARD: &str = "h200";

/// The set of the attribute: TVM's third schedule.
const OWN: &str = r#"{"TK":8,"TX":16,"TY":16,"VECTOR":false}"#;

/// A row: their name of the step and milliseconds, ours in words, where our milliseconds are, the launch that is counted.
type Row = (&'static str, f64, &'static str, From, Option<&'static str>);

/// Where milliseconds are recorded.
enum From {
    /// Nowhere.
    Nowhere,
    /// Of this kernel.
    Kernel(&'static str),
    /// This one of the sets that were searched.
    Set(&'static str),
    /// The best of them.
    Best,
}

const ROWS: [Row; 8] = [
    ("Naive: a block for each element", 84.52, "`one_each`, above", From::Nowhere, Some("one_each")),
    (
        "v1: threads along one axis",
        36.98,
        "[naive](coalescing.md), a warp along a column",
        From::Kernel("naive"),
        Some("naive"),
    ),
    (
        "v2: threads along two axes",
        35.50,
        "[coalescing](coalescing.md), a warp along a row",
        From::Kernel("coalescing"),
        Some("coalescing"),
    ),
    ("v3: tiles in shared memory", 8.11, "`scheduled`, the same tiles", From::Set(OWN), Some("scheduled")),
    ("AutoTVM: the best of 36", 42.56, "`scheduled`, the best of the same 36", From::Best, None),
    ("NumPy on the CPU", 74.95, "ndarray on the CPU", From::Kernel("gemm"), None),
    ("PyTorch on the CPU", 18.74, "the same", From::Kernel("gemm"), None),
    ("PyTorch on the GPU", 0.70, "cuBLAS", From::Kernel("cublas"), None),
];

#[test]
fn tvm() {
    let sets = searched(CARD, "scheduled");
    assert_eq!(sets.len(), 36);
    let ms = |from: &From| match from {
        From::Nowhere => None,
        From::Kernel(name) => {
            Some(recorded(CARD, name, TVM, "ms").unwrap_or_else(|| panic!("no record of {name}")))
        }
        From::Set(set) => Some(*sets.get(*set).unwrap_or_else(|| panic!("no {set}"))),
        From::Best => sets.values().copied().reduce(f64::min),
    };
    let times = |first: Option<f64>, ms: Option<f64>| {
        let ratio = |(first, ms): (f64, f64)| match first / ms {
            near @ 0.95..1.05 => format!("{near:.2}"),
            far => format!("{far:.1}"),
        };
        first.zip(ms).map_or(String::new(), ratio)
    };
    let mut table = "| step | theirs, ms on a T4 | × naive | × before | ours | ms | × naive | × before | instructions of warps | requests to global memory |\n|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    let (first, mut before) = ((ROWS[0].1, ms(&ROWS[0].3)), (None, None));
    for (number, (step, theirs, ours, from, launch)) in ROWS.iter().enumerate() {
        let own = ms(from);
        // The steps are four; what follows is no step of them.
        let before_of = |value: Option<f64>| value.filter(|_| number < 4);
        let count = launch.map(|name| counts(name).unwrap_or_else(|| panic!("no launch `{name}`")));
        writeln!(
            table,
            "| {step} | {theirs:.2}<!-- = theirs --> | {} | {} | {ours} | {} | {} | {} | {} | {} |",
            times(Some(first.0), Some(*theirs)),
            times(before_of(before.0), Some(*theirs)),
            own.map_or("not recorded".to_owned(), |ms| format!("{ms:.4}<!-- = record -->")),
            times(first.1, own),
            times(before_of(before.1), own),
            count.map_or(String::new(), |count| {
                format!("{}<!-- = count -->", thousands(count.instructions))
            }),
            count.map_or(String::new(), |count| thousands(count.global_requests)),
        )
        .expect("text");
        before = (Some(*theirs), own);
    }
    let best = recorded(CARD, "sgemm_sliced_fed", TVM, "ms").expect("a record");
    writeln!(
        table,
        "| | | | | `sgemm_sliced_fed` of layout-kernels | {best:.4} | {} | | | |",
        times(first.1, Some(best))
    )
    .expect("text");
    let note = format!("Counts are the simulator's at {EXTENT} × {EXTENT} × {EXTENT}.");
    output("tvm.md", &format!("{table}\n{note}\n"));
}
