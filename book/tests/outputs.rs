//! What the book prints beside its listings: made here, compared with `book/src/outputs`; `BOOK=write` writes anew.

use super::launches::{
    EXTENT, LADDER, LENGTH, TRANSPOSES, count, counts, cuda, kernel, outcome, root, run, tensor, unwritten,
};
use super::numbers::{record, recorded};
use super::others::PRINTED;
use layout_compiler::Elem;
use layout_core::Layout;
use layout_core::draw::format_layout;
use layout_core::expr::explain;
use layout_core::tensor::View;
use layout_cuda::{Finding, Report, f16};
use layout_workbench::exercises::{self, Verdict, check};
use layout_workbench::{Given, Tensor, data, read};
use std::fmt::Write;

/// Whether files are written.
pub fn writes() -> bool {
    std::env::var("BOOK").as_deref() == Ok("write")
}

/// Compares a file of the book, or writes it.
pub fn same(folder: &str, name: &str, found: &str) {
    let file = root().join("book/src").join(folder).join(name);
    if writes() {
        std::fs::create_dir_all(root().join("book/src").join(folder)).expect("a folder");
        std::fs::write(&file, found).expect("a file");
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(known, found, "{}: `BOOK=write cargo test -p layout-book` writes it anew", file.display());
}

pub fn output(name: &str, found: &str) {
    same("outputs", name, found);
}

#[test]
fn cuda_of_the_listings() {
    let first = kernel("book/listings/first.rs", "add_one");
    output("add_one.cu", &cuda(&first, &[tensor(&[6]), unwritten(&[6])]));
    for name in ["scaled", "scaled_whole", "guarded"] {
        output(&format!("{name}.cu"), &cuda(&kernel("book/listings/edges.rs", name), &[tensor(&[256])]));
    }
}

#[test]
fn reports_and_verdicts() {
    for name in
        ["first", "p12", "coalescing", "bug-dot", "bug-scan", "bug-columns", "bug-wait", "transpose-tma"]
    {
        let exercise = exercises::find(name).expect("an exercise");
        let (start, verdict) = (exercise.start(), check(exercise, &exercise.start()));
        output(&format!("check_{name}.txt"), &format!("{name}: {verdict}"));
        if let (true, Verdict::Findings { report, .. }) = (name.starts_with("bug-"), verdict) {
            output(&format!("kernel_{name}.txt"), &numbered(&start, &report));
        }
    }
    let solved = exercises::find("p12").expect("p12");
    output("check_solved.txt", &format!("p12: {}", check(solved, &solved.solution())));
    let wrong = kernel("book/listings/first.rs", "add_one").replace("x[[i]] + 1.0", "x[[i]] + one");
    let mistakes = read(&wrong).expect_err("no `one`");
    output("mistake.txt", &mistakes.iter().map(|mistake| format!("{mistake}\n")).collect::<String>());
}

#[test]
fn what_a_kernel_prints_and_asserts() {
    let text = kernel("book/listings/printing.rs", "rooted");
    let x = Tensor::of(&[4], |i| [4.0, 2.0, -1.0, 9.0][i]).into();
    let report = outcome(&text, None, &[x, unwritten(&[4])]).report;
    let findings = report.findings.iter().map(|finding| format!("{}\n", finding.in_file("", &text)));
    output("printed.txt", &(report.output() + &findings.collect::<String>()));
}

/// A kernel with the numbers of its lines; those of the findings are marked.
fn numbered(kernel: &str, report: &Report) -> String {
    let line = |(number, text): (usize, &str)| {
        let own = |finding: &Finding| [Some(finding.line), finding.other].contains(&Some(number as u32 + 1));
        let mark = if report.findings.iter().any(own) { '>' } else { ' ' };
        format!("{mark}{:3} {text}", number + 1).trim_end().to_owned() + "\n"
    };
    kernel.lines().enumerate().map(line).collect()
}

/// A count in thousands.
pub fn thousands(value: u64) -> String {
    if value < 10_000 { value.to_string() } else { format!("{} k", (value + 500) / 1000) }
}

#[test]
fn tables_of_counts() {
    let mut table = "| kernel | requests to global memory | sectors | requests to shared memory | bank conflicts | TFLOP/s on an H200 |\n|---|---|---|---|---|---|\n".to_owned();
    for (name, _) in LADDER {
        let own = counts(name).expect("a launch");
        let rate = match name {
            "tensor_core_simple" => "not recorded".to_owned(),
            name => format!("{:.2}", record(name, "4096")),
        };
        writeln!(
            table,
            "| `{name}` | {} | {} | {} | {} | {rate} |",
            thousands(own.global_requests),
            thousands(own.global_sectors),
            thousands(own.shared_requests),
            thousands(own.bank_conflicts)
        )
        .expect("text");
    }
    output(
        "ladder.md",
        &format!(
            "{table}\nCounted by the simulator at {EXTENT} × {EXTENT} × {EXTENT}; measured at 4096 × 4096 × 4096.\n"
        ),
    );
    let on = |card: &str, name: &str| {
        let rate = recorded(card, name, "16384", "rate");
        rate.map_or("not recorded".to_owned(), |rate| format!("{rate:.0}"))
    };
    let mut table = "| kernel | sectors | requests to shared memory | bank conflicts | GB/s on an H100 | GB/s on an H200 |\n|---|---|---|---|---|---|\n".to_owned();
    for (name, _, set) in TRANSPOSES {
        let own = counts(name).expect("a launch");
        assert!(set.is_none() || on("h200", name) != "not recorded", "{name} is recorded");
        writeln!(
            table,
            "| `{name}` | {} | {} | {} | {} | {} |",
            own.global_sectors,
            own.shared_requests,
            own.bank_conflicts,
            on("h100", name),
            on("h200", name)
        )
        .expect("text");
    }
    let shipped = ["h100", "h200"].map(|card| on(card, "transpose"));
    writeln!(table, "| `transpose`, as shipped | | | | {} |", shipped.join(" | ")).expect("text");
    output(
        "transpose.md",
        &format!(
            "{table}\nCounted by the simulator at {EXTENT} × {EXTENT}; measured at 16384 × 16384. What TMA moves is no request of a thread.\n"
        ),
    );
    let mut table =
        "| kernel | flops for each byte of the sectors that it asks for |\n|---|---|\n".to_owned();
    for (name, _) in LADDER.iter().filter(|(name, _)| *name != "tensor_core_simple") {
        let own = counts(name).expect("a launch");
        let intensity = own.flops as f64 / (32 * own.global_sectors) as f64;
        writeln!(table, "| `{name}` | {intensity:.1} |").expect("text");
    }
    output("intensity.md", &table);
    let mut table = "| kernel | requests to global memory | sectors | requests to shared memory | bank conflicts |\n|---|---|---|---|---|\n".to_owned();
    for (name, what) in [
        ("softmax_of_scores", "`softmax_simple`, the scores alone"),
        ("attention_simple", "`attention_simple`, all of it"),
        ("attention_causal", "`attention_simple` with `CAUSAL`"),
    ] {
        let own = counts(name).expect("a launch");
        let row = [own.global_requests, own.global_sectors, own.shared_requests, own.bank_conflicts];
        writeln!(table, "| {what} | {} |", row.map(thousands).join(" | ")).expect("text");
    }
    output(
        "attention.md",
        &format!(
            "{table}\nCounted by the simulator for one head, {LENGTH} queries and {LENGTH} keys of 64 elements.\n"
        ),
    );
    let mut table = "| kernel | requests | sectors | bank conflicts |\n|---|---|---|---|\n".to_owned();
    for name in ["rows", "columns", "turned", "turned_swizzled"] {
        let own = counts(name).expect("a launch");
        writeln!(
            table,
            "| `{name}` | {} | {} | {} |",
            own.global_requests, own.global_sectors, own.bank_conflicts
        )
        .expect("text");
    }
    output("access.md", &table);
}

/// The bits of fraction of a format: the most that one added to the first place of them is not lost.
fn fraction(rounded: impl Fn(f64) -> f64) -> u32 {
    (0..60).take_while(|bits| rounded(1.0 + 0.5f64.powi(*bits)) != 1.0).last().unwrap_or(0) as u32
}

#[test]
fn formats_of_numbers() {
    let elem = |elem: Elem| fraction(|x| data::values(elem, &data::bytes(elem, &[x]))[0]);
    let rows = [
        ("`f64`", elem(Elem::F64).to_string(), "references".to_owned()),
        ("`f32`", elem(Elem::F32).to_string(), "the usual".to_owned()),
        ("TF32", tf32().to_string(), "what tensor cores make of `f32` operands".to_owned()),
        ("`f16`", elem(Elem::F16).to_string(), format!("values of at most {}", f16::MAX)),
        ("`bf16`", elem(Elem::Bf16).to_string(), "the range of `f32`".to_owned()),
        (
            "`e4m3`, `e5m2`",
            format!("{}, {}", elem(Elem::E4m3), elem(Elem::E5m2)),
            "eight bits, with a scale beside them".to_owned(),
        ),
    ];
    let rows = rows.map(|(name, bits, what)| format!("| {name} | {bits} | {what} |\n")).concat();
    output("formats.md", &format!("| type | bits of fraction | for |\n|---|---|---|\n{rows}"));
}

/// What the matrix instruction keeps of a float32 operand.
fn tf32() -> u32 {
    let text = "#[tiled_kernel(block = [32], grid = [1])]
fn product(a: &LayoutTensor<f32, RowMajor<16, 8>>, b: &LayoutTensor<f32, RowMajor<8, 8>>, c: &mut LayoutTensor<f32, RowMajor<16, 8>>) {
    let mma = mma_atom::<f32>([16, 8, 8]);
    let mut acc = local::<f32>(row_major([1, 4])).fill(0.0);
    mma.mma(&mut acc, &mma.load_a(a), &mma.load_b(b));
    mma.store_d(&mut c.tile([16, 8], [0, 0]), &acc);
}";
    fraction(|x| {
        let first = |value: f64| move |i: usize| if i == 0 { value } else { 0.0 };
        let given = [
            Tensor::of(&[16, 8], first(x)).into(),
            Tensor::of(&[8, 8], first(1.0)).into(),
            unwritten(&[16, 8]),
        ];
        run(text, None, &given).tensors[2].as_ref().expect("a tensor").values[0]
    })
}

#[test]
fn the_list_of_exercises() {
    let rows = exercises::all().map(|one| format!("| `{}` | {} |\n", one.name, one.title));
    output("exercises.md", &format!("| name | what |\n|---|---|\n{}", rows.collect::<String>()));
}

/// `[1.0, 2.0]`, as Rust prints it.
fn printed(values: &[f64]) -> String {
    format!("{values:?}")
}

fn puzzle(file: &str, name: &str, given: &[Given], out: usize) -> Vec<f64> {
    let file = format!("examples/kernels/puzzles/{file}.rs");
    let outcome = run(&kernel(&file, name), None, given);
    outcome.tensors[out].as_ref().expect("a tensor").values.clone()
}

#[test]
fn the_puzzles_print_what_their_text_prints() {
    let ones = |shape: &[usize]| -> Given { Tensor::of(shape, |_| 1.0).into() };
    // The text prints eight times 11 and not its input; this is the one input that has these sums.
    let elevens = Tensor::new(&[8], vec![11.0, 0.0, 0.0, 11.0, 0.0, 0.0, 11.0, 0.0]);
    let local = puzzle("scan", "prefix_sum_local", &[unwritten(&[17]), count(&[15], 1.0)], 0);
    let square = |n: usize| [unwritten(&[n, n]), count(&[n, n], 1.0), count(&[n, n], 2.0)];
    let ours = [
        puzzle("stencil", "pooling", &[unwritten(&[8]), elevens.into()], 0),
        puzzle(
            "convolution",
            "conv_1d_block_boundary",
            &[unwritten(&[15]), count(&[15], 1.0), count(&[4], 1.0)],
            0,
        ),
        puzzle("convolution", "conv_2d_halo", &[unwritten(&[12, 16]), ones(&[12, 16]), ones(&[3, 3])], 0),
        puzzle("scan", "prefix_sum_simple", &[unwritten(&[8]), count(&[8], 1.0)], 0),
        puzzle("scan", "prefix_sum_blelloch", &[unwritten(&[8]), count(&[8], 1.0)], 0),
        puzzle("scan", "prefix_sum_add_totals", &[Tensor::new(&[17], local).into(), Given::Index(15)], 0),
        puzzle("matmul", "matmul_naive", &square(2), 0),
        puzzle("matmul", "matmul_shared", &square(2), 0),
        puzzle("matmul", "matmul_tiled", &square(8), 0),
    ];
    let mut text = String::new();
    for ((name, theirs), ours) in PRINTED.iter().zip(&ours) {
        let ours = printed(ours);
        // Where the text leaves numbers out, its two ends are ours.
        let (first, last) = theirs.split_once("...,").unwrap_or((theirs, ""));
        assert!(
            ours.starts_with(first.trim_end_matches(',')) && ours.ends_with(last.trim()),
            "{name}: {ours}"
        );
        writeln!(text, "{name}\n  theirs {theirs}\n  ours   {ours}").expect("text");
    }
    output("puzzles.txt", &text);
}

#[test]
fn layouts() {
    let layout = |text: &str| -> Layout { text.parse().expect("a layout") };
    let matrix = layout("(2,6):(6,1)");
    output("print_layout.txt", &format_layout(&matrix));
    let tile = View::new(matrix).tile(&[2, 2], &[0, 1]).expect("a tile");
    output("print_tile.txt", &format_layout(&tile));
    let (_, steps) = explain("logical_divide(24:1, 3:2)").expect("a value");
    output("divide.txt", &steps.iter().map(|step| format!("{step}\n")).collect::<String>());
}
