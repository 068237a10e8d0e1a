//! `assume`: what it proves, what the simulator finds where it is false, and what is refused.
//!
//! Law: with a true assumption a kernel writes what it writes without one, and the access has no mask. A false one is found at its line.

use super::{Given, launch, wrong};
use layout_compiler::{Promises, compile, emit};
use layout_simulator::{FindingKind, Options, SimulatorArgument, simulate};

const LINES: usize = 32;

/// A kernel of one warp around a body.
fn kernel(deny: &str, body: &str) -> String {
    format!(
        "#[tiled_kernel(block = [{LINES}], grid = [1]{deny})]
fn line<const N: usize>(
    keys: &LayoutTensor<u32, RowMajor<{LINES}>>, signed: &LayoutTensor<i32, RowMajor<{LINES}>>, wide: &LayoutTensor<u64, RowMajor<{LINES}>>,
    fixed: &LayoutTensor<f32, RowMajor<64>>, x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<{LINES}>>,
    limit: u32,
) {{
    let i = thread_idx.x;
    {body}
}}"
    )
}

fn key(i: usize) -> usize {
    i * 37 % 64
}

fn tensors() -> Vec<Given> {
    let numbers = || (0..LINES).map(key);
    vec![
        Given::new("u32", &[LINES], numbers().flat_map(|key| (key as u32).to_le_bytes()).collect(), false),
        Given::new("i32", &[LINES], numbers().flat_map(|key| (key as i32).to_le_bytes()).collect(), false),
        Given::new("u64", &[LINES], numbers().flat_map(|key| (key as u64).to_le_bytes()).collect(), false),
        Given::new("f32", &[64], (0..64).flat_map(|i| (i as f32).to_le_bytes()).collect(), false),
        Given::new("f32", &[100], (0..100).flat_map(|i| (i as f32 + 0.5).to_le_bytes()).collect(), false),
        Given::new("f32", &[LINES], vec![0; 4 * LINES], true),
    ]
}

/// Each body without its assumptions is refused by `deny(masked)`.
#[test]
fn an_assumption_proves_what_a_guard_proves() {
    let fixed: fn(usize) -> f32 = |i| key(i) as f32;
    let shaped: fn(usize) -> f32 = |i| key(i) as f32 + 0.5;
    let mut failed = vec![];
    for (body, wanted) in [
        // Elements of every integer type, named by a `let`.
        ("let key = keys[[i]]; assume(key < 64); y[[i]] = fixed[[key as usize]];", fixed),
        ("let key = signed[[i]]; assume((key as usize) < 64); y[[i]] = fixed[[key as usize]];", fixed),
        ("let at = keys[[i]] as usize; assume(at < N); y[[i]] = x[[at]];", shaped),
        ("let at = wide[[i]] as usize; assume(at < N); y[[i]] = x[[at]];", shaped),
        ("let at = signed[[i]] as usize; assume(at < 64); y[[i]] = fixed[[at]];", fixed),
        // One by way of another, of a mutable index, in a function, in a loop, in a branch.
        (
            "let (at, end) = (keys[[i]] as usize, 90usize.min(N)); assume(at <= end && end < N); y[[i]] = x[[at]];",
            shaped,
        ),
        ("let mut at = keys[[i]] as usize; assume(at < 64); y[[i]] = fixed[[at]];", fixed),
        (
            "fn below(key: u32) -> usize { assume(key < 64); key as usize } y[[i]] = fixed[[below(keys[[i]])]];",
            fixed,
        ),
        ("let f = |key: u32| { assume(key < 64); fixed[[key as usize]] }; y[[i]] = f(keys[[i]]);", fixed),
        (
            "for k in 0..2 { let key = keys[[i]]; assume(key < 64); y[[i]] = fixed[[key as usize]] + (k as f32 - 1.0); }",
            fixed,
        ),
        (
            "let key = keys[[i]]; if i < 7 { assume(key < 64); y[[i]] = fixed[[key as usize]]; } else { assume(key <= 63); y[[i]] = fixed[[key as usize]]; }",
            fixed,
        ),
        ("let at = { let key = keys[[i]]; assume(key < 64); key }; y[[i]] = fixed[[at as usize]];", fixed),
    ] {
        let plain = without_assumptions(body);
        if wrong(&kernel(", deny(masked)", &plain)).is_empty() {
            failed.push(format!("{plain}: has no mask"));
        }
        let text = kernel(", deny(masked)", body);
        if let Some(first) = wrong(&text).first() {
            failed.push(format!("{body}: {first}"));
            continue;
        }
        let mut all = tensors();
        launch(&text, &mut all, &[(Some(layout_compiler::Elem::U32), 64)], false);
        let found =
            all[5].bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().expect("four bytes")));
        if !found.eq((0..LINES).map(wanted)) {
            failed.push(format!("{body}: other elements"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The body with each `assume(..);` taken out.
fn without_assumptions(body: &str) -> String {
    let mut parts = body.split("assume(");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once(");").map_or("", |(_, rest)| rest))
}

/// A fact ends with its block, and a condition that compares nothing gives none.
#[test]
fn an_assumption_proves_nothing_elsewhere() {
    for body in [
        "let key = keys[[i]]; if i < 7 { assume(key < 64); } y[[i]] = fixed[[key as usize]];",
        "let key = keys[[i]]; for _ in 0..i { assume(key < 64); } y[[i]] = fixed[[key as usize]];",
        "let key = keys[[i]]; y[[i]] = fixed[[key as usize]]; assume(key < 64);",
        "let key = keys[[i]]; assume(key < 65); y[[i]] = fixed[[key as usize]];",
        "let key = keys[[i]]; assume(key < limit); y[[i]] = fixed[[key as usize]];",
        "assume(keys[[i]] < 64); y[[i]] = fixed[[keys[[i]] as usize]];",
        "let key = keys[[i]]; assume(key < 64 || i < 7); y[[i]] = fixed[[key as usize]];",
        "let mut at = keys[[i]] as usize; assume(at < 64); at += 1; y[[i]] = fixed[[at]];",
        "if i < 7 { let at = keys[[i]] as usize; assume(at < N); y[[i]] = x[[at + 1]]; }",
    ] {
        let found = wrong(&kernel(", deny(masked)", body));
        assert!(found.iter().any(|error| error.contains("mask")), "{body}: {found:#?}");
        assert!(wrong(&kernel("", body)).is_empty(), "{body}: {:#?}", wrong(&kernel("", body)));
    }
}

/// An index of 64 bits that is below a number is an `int` behind the assumption, in its block alone.
#[test]
fn an_assumption_narrows_indices() {
    let text_of = |body: &str| {
        let kernel = layout_text::kernel(&kernel("", body)).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let set = kernel.parameter_sets().remove(0);
        let checked = compile(&kernel, &set, Promises { narrow: true, aligned: true, variant_if: None });
        emit(&checked.unwrap_or_else(|errors| panic!("{errors}\n{body}"))).text
    };
    for (body, hint) in [
        (
            "let at = keys[[i]] as usize; assume(at < 32); y[[i]] = fixed[[2 * at + 1]];",
            "__builtin_assume(at < 32);",
        ),
        (
            "let key = keys[[i]]; assume(key < 32); y[[i]] = fixed[[2 * key as usize + 1]];",
            "__builtin_assume(key < 32u);",
        ),
        (
            "let at = wide[[i]] as usize; assume(at < N); y[[i]] = x[[at]];",
            "__builtin_assume((unsigned long long)at_2 < N);",
        ),
        ("let v = fixed[[i]]; assume(v >= 0.0); y[[i]] = v.sqrt();", "__builtin_assume(v >= 0.0f);"),
    ] {
        let text = text_of(body);
        assert!(text.contains(hint), "{body}: {text}");
        let behind = text.split(hint).nth(1).unwrap_or_default();
        let store = behind.lines().find(|line| line.contains("y[thread_x] =")).unwrap_or_default();
        assert!(!store.contains("long long"), "{body}: {text}");
    }
    // The name is the wide one again.
    let text = text_of(
        "let at = keys[[i]] as usize; if i < 7 { assume(at < 32); y[[i]] = fixed[[2 * at]]; } if at < N { y[[at % 32]] = x[[at]]; }",
    );
    assert!(text.contains("int at_2 = at;"), "{text}");
    assert!(!text.split_once("at_2 = at;").expect("is there").1.contains("x[at_2]"), "{text}");
}

#[test]
fn a_false_assumption_is_found_at_its_line() {
    for (condition, message, count) in [
        ("keys[[i]] < 60", "60 < 60 is assumed", 2),
        ("i < 31", "31 < 31 is assumed", 1),
        ("i as i32 - 3 >= 0", "-3 >= 0 is assumed", 3),
        ("fixed[[i]] != 2.5 && fixed[[i]] < 30.0", "30 < 30 is assumed", 2),
        ("(i as f32 / 0.0).is_nan()", "the condition is assumed, and does not hold", 31),
        ("i < 2 || i > 2", "the condition is assumed, and does not hold", 1),
        ("wide[[i]] as usize != 0", "0 != 0 is assumed", 1),
        ("(i == 3) == (keys[[i]] == 47)", "", 0),
    ] {
        let text = kernel("", &format!("y[[i]] = 1.0;\n    assume({condition});\n    y[[i]] = 2.0;"));
        let kernel = layout_text::kernel(&text).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let set = kernel.parameter_sets().remove(0);
        let checked =
            compile(&kernel, &set, Promises::default()).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let mut all = tensors();
        let bound = super::bound(&checked, &all, &[(Some(layout_compiler::Elem::U32), 64)])
            .expect("arguments that fit");
        let mut arguments: Vec<SimulatorArgument<'_>> = all
            .iter_mut()
            .map(|tensor| match tensor.mutable {
                true => SimulatorArgument::Write(&mut tensor.bytes),
                false => SimulatorArgument::Read(&tensor.bytes),
            })
            .collect();
        arguments.push(SimulatorArgument::Scalar(layout_compiler::Constant {
            elem: layout_compiler::Elem::U32,
            bits: 64,
        }));
        let report = simulate(&checked, &bound, &mut arguments, &Options::default()).expect("it runs");
        match (count, report.findings.as_slice()) {
            (0, []) => {}
            (_, [found]) => {
                assert_eq!(
                    (found.kind, found.line, found.count),
                    (FindingKind::FalseAssumption, 9, count),
                    "{condition}: {found}"
                );
                assert_eq!(found.message, message, "{condition}");
            }
            (_, found) => panic!("{condition}: {found:?}"),
        }
        assert_eq!(all[5].bytes, 2f32.to_le_bytes().repeat(LINES), "{condition}: it changes nothing");
    }
}

#[test]
fn what_is_no_assumption_is_refused() {
    for (body, message) in [
        ("assume(keys[[i]]);", "expected a condition (bool), found a value of type u32"),
        ("assume(i);", "expected a condition (bool), found an index"),
        ("assume(1.0);", "expected a condition (bool)"),
        ("assume(x);", "expected a condition (bool)"),
        ("assume(());", "expected a condition (bool)"),
        ("assume();", "`assume` takes 1 argument"),
        ("assume(i < 3, i < 4);", "`assume` takes 1 argument"),
        ("assume(64 < 64);", "the assumption is false"),
        ("assume(false);", "the assumption is false"),
        ("assume({ y[[i]] = 1.0; i < 40 });", "`assume` stores an element"),
        ("let mut k = 0; assume({ k += 1; k < 4 });", "`assume` assigns a variable"),
        ("let mut k = i as i32; assume({ if i < 3 { k = 1; } k < 40 });", "`assume` assigns a variable"),
        (
            "let s = shared::<u32>(row_major([4])); assume(s.atomic_add([0], 1) < 40);",
            "`assume` is an atomic operation",
        ),
        (
            "let s = shared::<u32>(row_major([4])); assume(s.load_relaxed([0]) < 40);",
            "`assume` is an atomic operation",
        ),
        ("assume(all(i < 40));", "`assume` is of several threads together"),
        ("assume(keys[[i]].warp_sum() > 0);", "`assume` is of several threads together"),
        ("assume({ barrier(); i < 40 });", "`assume` waits for other threads"),
        ("loop { assume({ if i < 3 { break; } i < 40 }); break; }", "`assume` leaves the code around it"),
        ("loop { assume({ break; }); }", "`assume` leaves the code around it"),
        (
            "loop { assume({ if i < 3 { break; } else { continue; } }); }",
            "`assume` leaves the code around it",
        ),
        ("let v = assume(i < 40) + 1;", ""),
    ] {
        let found = wrong(&kernel("", body));
        assert!(found.iter().any(|error| error.contains(message)), "{body}: {found:#?}");
    }
    // What computes alone is none.
    for body in [
        "assume(true);",
        "let f = |a: usize| a < 40; assume(f(i));",
        "assume({ let mut all = true; for k in 0..4 { all = all && i + k < 40; } all });",
        "assume(if i < 3 { keys[[i]] < 64 } else { i < 40 });",
        "let mut low = i; low /= 2; assume(low < 16);",
    ] {
        assert!(wrong(&kernel("", body)).is_empty(), "{body}: {:#?}", wrong(&kernel("", body)));
    }
}
