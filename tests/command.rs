//! The commands: what `layout` prints, writes and refuses, with which exit code; and what the other ones say to what they cannot do.

use crate::tidy::root;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The programs that are run here.
const EXAMPLES: [&str; 2] = ["layout", "puzzles"];
const BINARIES: [&str; 4] = ["bench", "code", "plot", "tune"];

/// Where a program is, built as a test of the whole workspace builds it.
fn built(name: &str) -> &'static Path {
    static BUILT: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let examples = EXAMPLES.iter().flat_map(|name| ["--example", *name]);
        let binaries = BINARIES.iter().flat_map(|name| ["--bin", *name]);
        let targets = examples.chain(binaries);
        let arguments =
            ["build", "--quiet", "--workspace", "--message-format", "json"].into_iter().chain(targets);
        let built =
            Command::new(env!("CARGO")).current_dir(root()).args(arguments).output().expect("cargo runs");
        let text = String::from_utf8(built.stdout).expect("JSON");
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let own = |message: Value| {
            let path = PathBuf::from(message["executable"].as_str()?);
            Some((message["target"]["name"].as_str()?.to_owned(), path))
        };
        let paths: BTreeMap<String, PathBuf> = messages.filter_map(own).collect();
        assert_eq!(
            paths.len(),
            EXAMPLES.len() + BINARIES.len(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        paths
    });
    built.get(name).unwrap_or_else(|| panic!("`{name}` is not built here"))
}

/// Runs the command with these arguments and this text on standard input.
fn run(arguments: &[&str], input: &str) -> Output {
    program("layout", arguments, input)
}

/// The same of another command. There is no NVRTC where it looks.
fn program(name: &str, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(built(name))
        .current_dir(root())
        .args(arguments)
        .env("LAYOUT_NVRTC", root().join("no/such/folder"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("the command reads");
    child.wait_with_output().expect("it ends")
}

/// The lines of standard output of a run that succeeds.
fn lines(arguments: &[&str], input: &str) -> Vec<String> {
    let output = run(arguments, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// The exit code and standard error of a run that fails, which prints no result.
fn refusal(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(arguments, "");
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

#[test]
fn an_expression_prints_its_value_verdicts_and_table() {
    let expected = [
        "(2,3):(3,1)",
        "size 6, cosize 6, injective, surjective, bijective",
        "      0   1   2",
        "    +---+---+---+",
        " 0  | 0 | 1 | 2 |",
        "    +---+---+---+",
        " 1  | 3 | 4 | 5 |",
        "    +---+---+---+",
    ];
    assert_eq!(lines(&["row_major((2,3))"], ""), expected);
    let aliasing = lines(&["(2,2):(1,1)"], "");
    assert_eq!(aliasing[1], "size 4, cosize 3, not injective: (1,0) and (0,1) are both 1, surjective");
    assert_eq!(lines(&["is_injective((3,4):(3,2))"], ""), ["false"]);
    let swizzled = lines(&["Sw<1,0,1> o 0 o (2,2):(2,1)"], "");
    assert_eq!(
        (swizzled[0].as_str(), swizzled[5].as_str()),
        ("Sw<1,0,1> o 0 o (2,2):(2,1)", " 1  | 3 | 2 |")
    );
}

#[test]
fn a_division_that_rounds_up_says_so() {
    let note = |text: &str| lines(&[text], "").iter().find(|line| line.starts_with("note: ")).cloned();
    let rounded = note("logical_divide((4,8):(8,1), (3,4))");
    assert_eq!(rounded.as_deref(), Some("note: rounded up to whole tiles, 48 elements of 32"));
    assert_eq!(note("zipped_divide((4,8):(8,1), (2,4))"), None);
}

#[test]
fn explain_shows_the_steps() {
    let shown = lines(&["--explain", "zipped_divide((4,8):(8,1), (2,4))"], "");
    let expected = [
        "1. complement(2:1, 4) = 2:2",
        "2. composition(4:8, (2,2):(1,2)) = (2,2):(8,16)",
        "3. logical_divide(4:8, 2:1) = (2,2):(8,16)",
        "4. complement(4:1, 8) = 2:4",
        "5. composition(8:1, (4,2):(1,4)) = (4,2):(1,4)",
        "6. logical_divide(8:1, 4:1) = (4,2):(1,4)",
        "7. logical_divide((4,8):(8,1), (2,4)) = ((2,2),(4,2)):((8,16),(1,4))",
        "8. zipped_divide((4,8):(8,1), (2,4)) = ((2,4),(2,2)):((8,1),(16,4))",
        "((2,4),(2,2)):((8,1),(16,4))",
    ];
    assert_eq!(shown[..expected.len()], expected);
    let product = lines(&["--explain", "raked_product((2,5):(5,1), (3,4):(1,3))"], "");
    assert_eq!(product[0], "1. complement((2,5):(5,1), 120) = 12:10");
    assert!(product[2].starts_with("3. logical_product("), "{}", product[2]);
}

#[test]
fn svg_writes_the_picture() {
    let file = std::env::temp_dir().join(format!("layout-command-{}.svg", std::process::id()));
    let name = file.to_str().expect("a name");
    for expression in ["(4,8):(8,1)", "slice((4,8):(8,1), (1,_))", "Sw<3,2,3> o 0 o (8,32):(32,1)"] {
        let shown = lines(&[expression, "--svg", name], "");
        assert_eq!(shown.last(), Some(&format!("picture: {name}")));
        let picture = std::fs::read_to_string(&file).expect("the picture");
        assert!(!crate::pictures::check(&picture).is_empty(), "{expression}");
        std::fs::remove_file(&file).expect("it was written");
    }
    let output = run(&["size(4:1)", "--svg", name], "");
    assert_eq!((output.status.code(), file.exists()), (Some(1), false));
}

#[test]
fn what_is_refused_says_why_and_fails() {
    let (code, text) = refusal(&["composition((4,6,8):(2,3,5), 6:3)"]);
    assert_eq!(code, Some(1));
    assert!(text.starts_with("error: composition: mode 0: 3 is not divisible by 2"), "{text}");
    for (arguments, words) in [
        (&["coalesce((2,4):(1"][..], "error: "),
        (&["frobnicate(4:1)"], "there is no operation `frobnicate`; there are"),
        (&["coalese(4:1)"], "there is no operation `coalese`; is `coalesce` meant?"),
        (&["composition(4:1)"], "composition takes (a, b), not 1 arguments"),
        (&[], "give an expression"),
    ] {
        let (code, text) = refusal(arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
    assert_eq!(refusal(&["--frobnicate"]).0, Some(2));
    assert_eq!(refusal(&["eval"]).0, Some(2), "rows are JSON, and that is to be said");
}

#[test]
fn rows_of_json_are_answered_line_by_line() {
    let rows = [
        json!({ "id": 7, "op": "coalesce", "args": { "layout": { "shape": [2, 4], "stride": [1, 2] } } }),
        json!({ "id": "b", "op": "composition", "args": {
            "a": { "shape": [4, 6, 8], "stride": [2, 3, 5] }, "b": { "shape": 6, "stride": 3 } } }),
        json!({ "id": 9, "op": "size", "args": { "layout": { "shape": [2, [3, 4]], "stride": [0, [0, 0]] } } }),
        json!({ "id": 10, "op": "frobnicate", "args": {} }),
        json!({ "id": 11 }),
    ];
    let mut input: Vec<String> = rows.iter().map(Value::to_string).collect();
    input.insert(2, String::new());
    input.push("{ this is no row".into());
    let answers = lines(&["eval", "--json"], &input.join("\n"));
    let answers: Vec<Value> = answers.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(7), &json!("b"), &json!(9), &json!(10), &json!(11), &Value::Null]);
    assert_eq!(answers[0]["result"], json!({ "shape": 8, "stride": 1 }));
    assert_eq!(answers[0]["table"], json!([0, 1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(answers[2]["result"], json!(24));
    for refused in [1, 3, 4, 5] {
        assert!(answers[refused]["error"].is_string() && answers[refused].get("result").is_none());
    }
}

#[test]
fn every_operation_is_listed() {
    let listed = lines(&["operations"], "");
    let named = layout_core::expr::OPERATIONS.iter().map(|operation| operation.name);
    assert!(listed.iter().map(|line| line.split('(').next().unwrap_or_default()).eq(named));
    assert!(listed.iter().all(|line| line.contains("): ")), "each with a summary");
}

#[test]
fn what_other_commands_cannot_do_is_refused_in_words() {
    let peaks = std::env::temp_dir().join(format!("layout-peaks-{}.json", std::process::id()));
    let peaks = peaks.to_str().expect("a path in UTF-8");
    let gpu = layout_cuda::Device::gpu(0).is_ok();
    let rows: [(&str, &[&str], &str); 6] = [
        ("plot", &["no/such/records.jsonl"], "error: no/such/records.jsonl: "),
        ("plot", &["tests/records/h200.jsonl", "Cargo.toml"], "error: Cargo.toml: line 1: "),
        ("tune", &["matmul", "--size", "0", "0", "0"], "nothing can be timed of no element"),
        ("tune", &["matmul", "--size", "64", "x", "64"], "invalid digit"),
        ("layout", &["(2,2):(1,2)", "--svg", "/no/such/folder/x.svg"], "error: /no/such/folder/x.svg: "),
        ("bench", &["peaks", peaks], "error: "),
    ];
    for (name, arguments, words) in rows.into_iter().filter(|(name, ..)| *name != "bench" || !gpu) {
        let output = program(name, arguments, "");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name} {arguments:?}");
        assert!(errors.contains(words), "{name} {arguments:?}: {errors}");
    }
    assert!(gpu || !std::path::Path::new(peaks).exists(), "the simulator's peaks are no GPU's");
}

#[test]
fn what_needs_nothing_is_there_without_a_gpu_and_nvrtc() {
    let said = |name: &str, arguments: &[&str], input: &str| {
        let output = program(name, arguments, input);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} {arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    };
    for set in [&["tiled", "--form", "cuda"][..], &["tiled", "--form", "cuda", "--set", "BM=16,BN=16,BK=16"]]
    {
        assert!(said("code", set, "").contains("__global__ void"), "{set:?}");
    }
    let list = said("puzzles", &[], "");
    assert!(
        list.lines().any(|line| line.trim_start().starts_with("p12 ")) && !list.contains("expected:"),
        "{list}"
    );
    let help = said("layout", &["eval", "--help"], "");
    let (row, _) = help.split_once("echo '").and_then(|(_, rest)| rest.split_once('\'')).expect("an example");
    assert_eq!(
        said("layout", &["eval", "--json"], row).trim_end().matches("\"result\":").count(),
        1,
        "{row}"
    );
}
