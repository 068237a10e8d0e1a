//! What an editor sees: mistakes and their repairs, hints, hover, lenses, settings.

use super::client::{Client, applied};
use serde_json::{Value, json};

const URI: &str = "file:///nowhere/kernels.rs";

const KERNELS: &str = "use layout_cuda::tiled_kernel;

/* ℝ𝔹 */ #[tiled_kernel(block = [32], grid = [M], deny(narrowed))] /* 𝔹 */ fn doubled<const M: usize, const K: usize>(x: &mut LayoutTensor<f32, RowMajor<M, K>>) {
    let mut own = x.tile([1, 128], [block_idx.x, 0]).vectorize([1, 4]).distribute(row_major([1, 32]), thread_idx.x);
    let values = own.to_local();
    own.copy_from(&values);
}

#[tiled_kernel(block = [32], grid = [1])]
fn banks<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut tile = shared::<f32>(row_major([32, 32]));
    let mut padded = shared::<f32>(layout([32, 32], [33, 1]));
    let turned = shared::<f32>(row_major([32, 32]).swizzle(5, 0, 5));
    tile[[thread_idx.x, 0]] = 1.0;
    padded[[thread_idx.x, 0]] = 1.0;
    if thread_idx.x < 4 {
        tile[[thread_idx.x, 1]] = 2.0;
    }
    /* 𝔹é */ barrier();
    let i = thread_idx.x;
    if i < N {
        x[[i]] = tile[[0, i]] + padded[[0, i]] + turned[[i, 0]];
    }
}
";

#[test]
fn an_editor_sees_a_mistake_and_its_repair() {
    let mut client = Client::new(json!({ "debounce": 1 }));
    client.write(URI, 1, KERNELS);
    // What `deny` refuses; the entry is put behind characters of two units.
    let found = client.diagnostics(URI, 1);
    assert_eq!((found.len(), &found[0]["code"]), (2, &json!("compile")), "a load and a store: {found:?}");
    assert!(found[0]["message"].as_str().is_some_and(|text| text.contains("`x` is narrowed")), "{found:?}");
    let actions = client.actions(URI, found[0]["range"]["start"]["line"].as_u64().expect("a line") as u32);
    let titles: Vec<&str> = actions.iter().filter_map(|action| action["title"].as_str()).collect();
    let wanted = ["add `require(K % 4 == 0)`", "add `variant_if(K % 4 == 0)`", "run the tests of `doubled`"];
    assert_eq!(titles, wanted);
    let text = applied(KERNELS, &actions[0], URI);
    assert!(text.contains("grid = [M], deny(narrowed), require(K % 4 == 0))]"), "{text}");
    client.write(URI, 2, &text);
    assert_eq!(client.diagnostics(URI, 2), [Value::Null; 0]);

    // A name that is near another one.
    let wrong = text.replace("barrier();", "barier();");
    client.write(URI, 3, &wrong);
    let found = client.diagnostics(URI, 3);
    let range = json!({ "start": { "line": 18, "character": 14 }, "end": { "line": 18, "character": 20 } });
    assert_eq!(
        (found.len(), &found[0]["range"], &found[0]["code"]),
        (1, &range, &json!("read")),
        "{found:?}"
    );
    let actions = client.actions(URI, 18);
    assert_eq!(actions[0]["title"], "write `barrier`");
    assert_eq!(applied(&wrong, &actions[0], URI), text);
    client.write(URI, 4, &text);
    assert_eq!(client.diagnostics(URI, 4), [Value::Null; 0]);
}

#[test]
fn hints_are_what_explain_says() {
    let mut client = Client::new(json!({ "debounce": 1 }));
    client.write(URI, 1, &KERNELS.replace("deny(narrowed)", "require(K % 4 == 0)"));
    let hints = client.hints(URI);
    let of = |line: u32| {
        hints.iter().filter(|hint| hint.starts_with(&line.to_string())).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of(10), ["10: [32, 32] : [32, 1]"], "{hints:?}");
    assert_eq!(of(11), ["11: [32, 32] : [33, 1]"]);
    assert_eq!(of(12), ["12: [32, 32] : [32, 1], swizzled"]);
    assert_eq!(of(13), ["13write tile 4 bytes, 32-way bank conflict"]);
    assert_eq!(of(14), ["14write padded 4 bytes"]);
    assert_eq!(of(16), ["16write tile 4 bytes, 4-way bank conflict"]);
    assert_eq!(of(21).len(), 1, "{hints:?}");
    assert!(of(21)[0].contains("write x 4 bytes") && !of(21)[0].contains("conflict"), "{hints:?}");
    assert!(of(3)[0].contains("vectors of 4") && of(3).len() == 1, "{hints:?}");
    assert!(of(4).iter().any(|hint| hint.contains("read x 16 bytes, masked: ")), "{hints:?}");
    let behind = json!({ "start": { "line": 11, "character": 0 }, "end": { "line": 11, "character": 9 } });
    let some =
        client.ask("textDocument/inlayHint", json!({ "textDocument": { "uri": URI }, "range": behind }));
    assert_eq!(some.as_array().map(Vec::len), Some(1), "{some}");
    assert_eq!(some[0]["position"], json!({ "line": 11, "character": 18 }));
}

#[test]
fn hover_has_the_page_and_the_cuda_lines() {
    let mut client = Client::new(json!({ "debounce": 1 }));
    client.write(URI, 1, &KERNELS.replace("deny(narrowed)", "require(K % 4 == 0)"));
    let barrier = client.hover(URI, 18, 16);
    assert!(
        barrier.contains("block") && barrier.contains("```cuda\n") && barrier.contains("__syncthreads()"),
        "{barrier}"
    );
    // Outside of kernels a word is none.
    assert_eq!(client.hover(URI, 0, 6), "");
    let lenses = client.ask("textDocument/codeLens", json!({ "textDocument": { "uri": URI } }));
    let names: Vec<&Value> =
        lenses.as_array().expect("lenses").iter().map(|lens| &lens["command"]["arguments"][1]).collect();
    assert_eq!(names, ["doubled", "banks"]);
    // The lens is a command of the server; here is no folder to run it in.
    client.ask("workspace/executeCommand", lenses[0]["command"].clone());
    let shown = client.shown();
    assert!(shown.starts_with("cargo test doubled\nit does not start: "), "{shown}");
}

#[test]
fn a_text_that_does_not_parse_keeps_the_last_state() {
    let mut client = Client::new(json!({ "debounce": 1 }));
    let text = KERNELS.replace("deny(narrowed)", "require(K % 4 == 0)");
    client.write(URI, 1, &text);
    let before = client.hints(URI);
    let broken = text
        .replace("use layout_cuda", "// one line more\nuse layout_cuda")
        .replace("/* 𝔹é */ barrier();", "let = ;");
    client.write(URI, 2, &broken);
    let found = client.diagnostics(URI, 2);
    assert_eq!((found.len(), &found[0]["code"]), (1, &json!("syntax")), "{found:?}");
    let after = client.hints(URI);
    let moved = |hint: &String| {
        let digits = hint.chars().take_while(char::is_ascii_digit).count();
        let line: u32 = hint[..digits].parse().expect("a line");
        // Lines between two changes are not followed.
        (line > 18).then(|| format!("{}{}", line + 1, &hint[digits..]))
    };
    assert_eq!(after, before.iter().filter_map(moved).collect::<Vec<_>>());
    assert!(!after.is_empty());
    client.write(URI, 3, "fn plain() { let = ; }");
    assert_eq!(client.diagnostics(URI, 3), [Value::Null; 0], "plain Rust is rust-analyzer's");
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(client.hover(URI, 1, 1), "");
}

#[test]
fn a_setting_chooses_the_parameter_set() {
    let text = "#[tiled_kernel(WIDE = [32, 64], block = [WIDE], grid = [1])]
fn filled(x: &mut LayoutTensor<f32, RowMajor<WIDE>>) {
    let tile = shared::<f32>(row_major([WIDE]));
    x[[thread_idx.x]] = tile[[thread_idx.x]];
}";
    let mut client = Client::new(json!({ "debounce": 1 }));
    client.write(URI, 1, text);
    assert_eq!(client.hints(URI)[0], "2: [32] : [1]");
    for (set, wanted) in [("WIDE = 64", "2: [64] : [1]"), ("WIDE = 128", "2: [128] : [1]")] {
        let settings = json!({ "settings": { "layout": { "sets": { "filled": set } } } });
        client.tell("workspace/didChangeConfiguration", settings);
        assert_eq!(client.hints(URI)[0], wanted);
    }
    client.published.clear();
    client.tell(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "sets": { "filled": "TALL = wide" } } }),
    );
    let found = client.diagnostics(URI, 1);
    assert_eq!(found[0]["code"], "settings", "{found:?}");
}
