//! The tables of a tutorial's figures and ours, made of the records.
//!
//! Law: a column is of one card. Where `examples/bench/tutorials.sh` has recorded an H100, the tutorials' own sizes are its; else they
//! are those that the records of an H200 have.

use super::launches::{EXTENT, counts};
use super::numbers::{record, recorded, searched};
use super::outputs::{output, thousands};
use std::fmt::Write;

/// The size of TVM's product in the records.
const TVM: &str = "1024x512x2048";
/// The guide's.
const GUIDE: &str = "1028";

/// Whether the tutorials' sizes are recorded of an H100.
fn on_an_h100() -> bool {
    recorded("h100", "naive BM=1,BN=1", TVM, "ms").is_some()
}

/// Where our milliseconds are recorded.
enum From {
    /// Nowhere.
    Nowhere,
    /// Of this kernel.
    Kernel(&'static str),
    /// Of this one of the 36 sets that were searched.
    Set(&'static str),
    /// Of the best of them.
    Best,
}
use From::{Best, Kernel, Nowhere, Set};

/// TVM's third schedule.
const OWN: &str = r#"{"TK":8,"TX":16,"TY":16,"VECTOR":false}"#;

/// Ours in words, and where its milliseconds are.
type Ours = (&'static str, From);

/// A row: their step and milliseconds, ours on an H200 and on an H100, the launches that are counted.
type Row = (&'static str, f64, [Ours; 2], [&'static str; 2]);

const ROWS: [Row; 8] = [
    (
        "Naive: a block for each element",
        84.52,
        [("`one_each`, above", Nowhere), ("`naive`, `BM = 1, BN = 1`", Kernel("naive BM=1,BN=1"))],
        ["one_each"; 2],
    ),
    (
        "v1: threads along one axis",
        36.98,
        [
            ("[naive](coalescing.md), a warp along a column", Kernel("naive")),
            ("`naive`, `BM = 32, BN = 1`", Kernel("naive BM=32,BN=1")),
        ],
        ["naive", "naive_v1"],
    ),
    (
        "v2: threads along two axes",
        35.50,
        [
            ("[coalescing](coalescing.md), a warp along a row", Kernel("coalescing")),
            ("`naive`, `BM = 32, BN = 32`", Kernel("naive BM=32,BN=32")),
        ],
        ["coalescing", "naive_v2"],
    ),
    (
        "v3: tiles in shared memory",
        8.11,
        [
            ("`scheduled`, the same tiles", Set(OWN)),
            ("`scheduled`, the same tiles", Kernel("scheduled TX=16")),
        ],
        ["scheduled"; 2],
    ),
    (
        "AutoTVM: the best of 36",
        42.56,
        [("`scheduled`, the best of the same 36", Best), ("`scheduled`, the best of the same 36", Best)],
        [""; 2],
    ),
    (
        "NumPy on the CPU",
        74.95,
        [("ndarray on the CPU", Kernel("gemm")), ("NumPy on our CPU", Kernel("numpy on the CPU"))],
        [""; 2],
    ),
    (
        "PyTorch on the CPU",
        18.74,
        [("ndarray on the CPU", Kernel("gemm")), ("PyTorch on our CPU", Kernel("torch on the CPU"))],
        [""; 2],
    ),
    (
        "PyTorch on the GPU",
        0.70,
        [("cuBLAS", Kernel("cublas")), ("PyTorch on our GPU", Kernel("torch on the GPU"))],
        [""; 2],
    ),
];

/// How many times as fast.
fn times(first: Option<f64>, ms: Option<f64>) -> String {
    let ratio = |(first, ms): (f64, f64)| match first / ms {
        near @ 0.95..1.05 => format!("{near:.2}"),
        far => format!("{far:.1}"),
    };
    first.zip(ms).map_or(String::new(), ratio)
}

#[test]
fn tvm() {
    let (card, side) = if on_an_h100() { ("h100", 1) } else { ("h200", 0) };
    let sets = searched(card, "scheduled");
    assert_eq!(sets.len(), 36);
    let of = |name: &str| recorded(card, name, TVM, "ms").unwrap_or_else(|| panic!("no record of {name}"));
    let ms = |from: &From| match from {
        Nowhere => None,
        Kernel(name) => Some(of(name)),
        Set(set) => Some(*sets.get(*set).unwrap_or_else(|| panic!("no {set}"))),
        Best => sets.values().copied().reduce(f64::min),
    };
    let mut table = format!(
        "| step | theirs, ms on a T4 | × naive | × before | ours | ms on an {} | × naive | × before | instructions of warps | requests to global memory |\n|---|---|---|---|---|---|---|---|---|---|\n",
        card.to_uppercase()
    );
    let (first, mut before) = ((ROWS[0].1, ms(&ROWS[0].2[side].1)), (None, None));
    for (number, (step, theirs, ours, launches)) in ROWS.iter().enumerate() {
        let (words, from) = &ours[side];
        let own = ms(from);
        // The steps are four; what follows is no step of them.
        let step_before = |value: Option<f64>| value.filter(|_| number < 4);
        let count = Some(launches[side]).filter(|name| !name.is_empty());
        let count = count.map(|name| counts(name).unwrap_or_else(|| panic!("no launch `{name}`")));
        writeln!(
            table,
            "| {step} | {theirs:.2}<!-- = theirs --> | {} | {} | {words} | {} | {} | {} | {} | {} |",
            times(Some(first.0), Some(*theirs)),
            times(step_before(before.0), Some(*theirs)),
            own.map_or("not recorded".to_owned(), |ms| format!("{ms:.4}<!-- = record -->")),
            times(first.1, own),
            times(step_before(before.1), own),
            count.map_or(String::new(), |count| format!("{}<!-- = count -->", thousands(count.instructions))),
            count.map_or(String::new(), |count| thousands(count.global_requests)),
        )
        .expect("text");
        before = (Some(*theirs), own);
    }
    let best = of("sgemm_sliced_fed");
    let ratio = times(first.1, Some(best));
    writeln!(table, "| | | | | `sgemm_sliced_fed` of layout-kernels | {best:.4} | {ratio} | | | |")
        .expect("text");
    let note = format!("Counts are the simulator's at {EXTENT} × {EXTENT} × {EXTENT}.");
    output("tvm.md", &format!("{table}\n{note}\n"));
}

/// A step of the ladder: its name and chapter, theirs on an A100 and on an A10G, our kernel.
const LADDER: [(&str, &str, &str, &str); 7] = [
    ("[naive](coalescing.md)", "292", "764", "naive"),
    ("[coalescing](coalescing.md)", "2936", "1983", "coalescing"),
    ("[tiled](banks.md)", "3943", "2212", "tiled"),
    ("[tiled, registers](registers.md)", "7078", "5535", "tiled_register"),
    ("[block tiled](registers.md)", "10661", "5675", "block_tiled"),
    ("[block tiled, vectorized](vectors.md)", "10663", "5893", "block_tiled_vectorized"),
    ("[tensor cores](tensor_cores.md)", "", "11949", "tensor_core"),
];

#[test]
fn ladder() {
    let h100 = on_an_h100();
    let mut table =
        "| step | theirs on an A100, 4096³ | ours on an H200, 4096³ | theirs on an A10G, 1028³ |".to_owned();
    table +=
        if h100 { " ours on an H100, 1028³ |\n|---|---|---|---|---|\n" } else { "\n|---|---|---|---|\n" };
    let theirs = |number: &str| match number {
        "" => String::new(),
        number => format!("{number}<!-- = theirs -->"),
    };
    let rate = |tflops: f64| match 1e3 * tflops {
        slow @ ..10.0 => format!("{slow:.3}<!-- = record -->"),
        fast => format!("{fast:.0}<!-- = record -->"),
    };
    let at_1028 = |kernel: &str| match h100 {
        true => {
            let found = recorded("h100", kernel, GUIDE, "rate");
            format!(" {} |", rate(found.unwrap_or_else(|| panic!("no record of {kernel}"))))
        }
        false => String::new(),
    };
    // The CPU has time for some rows of C only.
    let own = at_1028("naive (141 rows)");
    let cpu = rate(record("naive (8 rows)", "4096"));
    writeln!(table, "| three loops on the CPU | | {cpu} | {} |{own}", theirs("1.318")).expect("text");
    for (step, a100, a10g, kernel) in LADDER {
        let ours = rate(record(kernel, "4096"));
        let own = at_1028(kernel);
        writeln!(table, "| {step} | {} | {ours} | {} |{own}", theirs(a100), theirs(a10g)).expect("text");
    }
    output("tutorial_ladder.md", &format!("{table}\nGFLOP/s, of `2 * K` operations an element.\n"));
}
