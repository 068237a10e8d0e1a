//! The library's own files: no false errors, functions of other files, and how long they take.

use super::client::Client;
use serde_json::{Value, json};
use std::time::Instant;

const URI: &str = "file:///nowhere/kernels.rs";

#[test]
fn functions_of_other_files_are_found_or_named() {
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../layout-cuda/kernels/src/kernels");
    let mut client = Client::new(json!({ "debounce": 1 }));
    for name in ["attention", "attention_mma", "gemm", "decode", "backward", "rows", "orders", "quantized"] {
        let path = std::fs::canonicalize(format!("{kernels}/{name}.rs")).expect("a file of the library");
        let uri = format!("file://{}", path.display());
        client.write(&uri, 1, &std::fs::read_to_string(path).expect("its text"));
        assert_eq!(client.diagnostics(&uri, 1), [Value::Null; 0], "{name}");
        assert!(client.hints(&uri).len() > 3, "{name}");
    }
    let text = std::fs::read_to_string(format!("{kernels}/attention.rs")).expect("a file of the library");
    client.write(URI, 1, &text);
    assert_eq!(client.diagnostics(URI, 1), [Value::Null; 0]);
    let hints = client.hints(URI);
    assert_eq!(hints.len(), 1, "{hints:?}");
    assert!(hints[0].contains("no file of this package has `open = attention_scores`"), "{hints:?}");
}

#[test]
fn mistakes_are_those_of_the_build() {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ui/cases");
    let mut client = Client::new(json!({ "debounce": 0 }));
    let mut seen = 0;
    for entry in std::fs::read_dir(cases).expect("the cases") {
        let path = entry.expect("an entry").path();
        let Some(name) = path.to_str().and_then(|path| path.strip_suffix(".rs")) else { continue };
        let said = std::fs::read_to_string(format!("{name}.stderr")).unwrap_or_default();
        let (uri, text) = (format!("file://{name}.rs"), std::fs::read_to_string(&path).expect("a case"));
        client.write(&uri, 1, &text);
        for found in client.diagnostics(&uri, 1) {
            let message = found["message"].as_str().and_then(|text| text.lines().next()).expect("a message");
            let start =
                ["line", "character"].map(|part| found["range"]["start"][part].as_u64().unwrap_or(0) + 1);
            let place = format!(":{}:{}\n", start[0], start[1]);
            let mut errors =
                said.split("\n\n").filter(|error| error.contains(&format!("error: {message}\n")));
            assert!(errors.any(|error| error.contains(&place)), "{uri}: {message} at {start:?}\n{said}");
            seen += 1;
        }
        client.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
        client.published.clear();
    }
    // Of the others most are rustc's own.
    assert!(seen > 60, "only {seen} mistakes");
}

#[test]
fn a_mistake_in_another_file_is_related() {
    let folder = std::env::temp_dir().join(format!("layout-lsp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let [kernel, functions] = ["kernel.rs", "functions.rs"].map(|name| folder.join(name));
    let right =
        "#[tiled_kernels(open = shapes)]\nmod f {\n    fn bent(x: f32) -> f32 {\n        x * 2.0\n    }\n}";
    std::fs::write(&functions, right).expect("a file");
    let text = "#[tiled_kernels(functions = shapes)]\nmod k {\n    #[tiled_kernel(block = [1], grid = [1])]
    fn one(x: &mut LayoutTensor<f32, RowMajor<1>>) {\n        x[[0]] = bent(x[[0]]);\n    }\n}";
    std::fs::write(&kernel, text).expect("a file");
    let [kernel, functions] = [kernel, functions].map(|path| format!("file://{}", path.display()));
    let mut client = Client::new(json!({ "debounce": 0 }));
    client.write(&kernel, 1, text);
    assert_eq!(client.diagnostics(&kernel, 1), [Value::Null; 0]);
    // An open document is read before the file; one that is saved makes others be read again.
    client.write(&functions, 1, &right.replace("x * 2.0", "w * 2.0"));
    client.published.clear();
    client.tell("textDocument/didSave", json!({ "textDocument": { "uri": functions } }));
    let found = client.diagnostics(&kernel, 1);
    assert_eq!(found[0]["range"]["start"], json!({ "line": 3, "character": 7 }), "{found:?}");
    let related = &found[0]["relatedInformation"][0]["location"];
    assert_eq!(
        (&related["uri"], &related["range"]["start"]["line"]),
        (&json!(functions), &json!(3)),
        "{found:?}"
    );
    std::fs::remove_dir_all(&folder).expect("the folder");
}

/// How long after a change the hints of the library's attention are there: printed, with `--nocapture`.
#[test]
fn the_time_of_hints_is_measured() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../layout-cuda/kernels/src/kernels/attention.rs");
    let path = std::fs::canonicalize(path).expect("a file of the library");
    let (uri, text) =
        (format!("file://{}", path.display()), std::fs::read_to_string(&path).expect("its text"));
    let mut client = Client::new(json!({ "debounce": 0 }));
    client.write(&uri, 1, &text);
    let count = client.hints(&uri).len();
    for version in 2..7 {
        // Every place of the kernel moves, so that nothing is taken from before.
        let changed = format!("{}{text}", "\n".repeat(version as usize));
        let start = Instant::now();
        client.write(&uri, version, &changed);
        assert_eq!(client.hints(&uri).len(), count);
        println!("attention.rs: {count} hints {:.0} ms after a change", start.elapsed().as_secs_f64() * 1e3);
    }
}
