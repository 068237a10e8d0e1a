//! Texts, positions and messages of any kind: the server answers all of them, and ends on request.

use super::client::Client;
use proptest::prelude::*;
use serde_json::{Value, json};

const URI: &str = "file:///nowhere/hostile.rs";
const TEXT: &str = include_str!("../../../examples/kernels/banks.rs");

/// What is put into a text, or in place of a part of it.
const PIECES: [&str; 16] = [
    "",
    "(",
    "}",
    "[[",
    "#[tiled_kernel]",
    "fn f(",
    "\"",
    "/*",
    "'",
    "𝔹é\u{feff}",
    "\r",
    "\0",
    "mod m { ",
    "0xfffffffffffffffff",
    "#[tiled_kernels(functions = x::y, open = z)] mod a {",
    "-",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn random_edits_are_answered(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, 0..PIECES.len(), 1..3_usize), 1..12),
        places in prop::collection::vec((any::<u32>(), 0..200_u32, 0..200_u32), 4),
    ) {
        let mut client = Client::new(json!({ "debounce": 0 }));
        let mut text: Vec<char> = TEXT.chars().collect();
        client.write(URI, 1, TEXT);
        for (version, (at, cut, piece, times)) in (2..).zip(edits) {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, PIECES[piece].repeat(times).chars());
            let whole: String = text.iter().collect();
            client.write(URI, version, &whole);
            for (line, far, character) in &places {
                let line = if version % 3 == 0 { *line } else { *far };
                client.hover(URI, line, *character);
                client.actions(URI, line);
            }
            client.hints(URI);
            prop_assert!(client.diagnostics(URI, version).len() < 1000);
        }
    }
}

#[test]
fn deep_and_long_texts_are_answered() {
    let mut client = Client::new(json!({ "debounce": 0 }));
    let nested = |open: &str, close: &str, times: usize| {
        format!("#[tiled_kernel]\nfn f() {{ {}1{} }}", open.repeat(times), close.repeat(times))
    };
    let texts = [
        nested("(", ")", 20_000),
        nested("- ", "", 20_000),
        nested("{ mod m ", "}", 5_000),
        nested("if a { } else ", "", 3_000),
        nested("(", ")", 900),
        format!("#[tiled_kernel]\n{}", "fn f() {} ".repeat(5_000)),
        format!("#[tiled_kernel({})]\nfn f() {{}}", "A = [1, 2, 3, 4, 5, 6, 7, 8], ".repeat(30)),
        "#[tiled_kernel".repeat(3_000),
    ];
    for (version, text) in (1..).zip(&texts) {
        client.write(URI, version, text);
        assert!(!client.diagnostics(URI, version).is_empty(), "{}", &text[..60]);
    }
}

#[test]
fn any_message_is_answered() {
    let mut client = Client::new(json!({ "debounce": -7, "sets": [1], "layout": "x" }));
    for method in [
        "textDocument/hover",
        "textDocument/inlayHint",
        "textDocument/codeAction",
        "textDocument/codeLens",
        "workspace/executeCommand",
        "no/such",
    ] {
        for params in [
            Value::Null,
            json!({}),
            json!({ "textDocument": { "uri": "a b" } }),
            json!({ "textDocument": { "uri": URI } }),
        ] {
            client.ask(method, params.clone());
            client.tell(method, params);
        }
    }
    for method in
        ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "$/cancelRequest"]
    {
        client.tell(method, json!({ "textDocument": 7, "id": [] }));
    }
    client.write(URI, 5, "never opened");
    // A name that is no name is no argument of cargo.
    let command = json!({ "command": "layout.test", "arguments": [URI, "--help"] });
    assert_eq!(client.ask("workspace/executeCommand", command), json!(-32602));
}
