//! The command `layout` itself: what it prints, writes and refuses, and with which exit code.

use crate::tidy::root;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// Where the command is, built as a test of the whole workspace builds it.
fn command() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let arguments =
            ["build", "--quiet", "--workspace", "--example", "layout", "--message-format", "json"];
        let built =
            Command::new(env!("CARGO")).current_dir(root()).args(arguments).output().expect("cargo runs");
        let text = String::from_utf8(built.stdout).expect("JSON");
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let own = |message: &Value| message["target"]["name"] == "layout";
        let path = messages.filter(own).find_map(|message| message["executable"].as_str().map(PathBuf::from));
        path.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&built.stderr)))
    })
}

/// Runs the command with these arguments and this text on standard input.
fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(command())
        .current_dir(root())
        .args(arguments)
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
        (&["frobnicate(4:1)"], "there is no operation `frobnicate`"),
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
