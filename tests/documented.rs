//! Each public item that a program names has an example of its own that the documentation's tests run.
//!
//! The rule: a `pub` function, method, type, trait, constant or static, and each method of a public trait, has a code block
//! in its own words that rustdoc compiles and runs, or compiles and expects to be refused. Variants and fields belong to
//! their type, methods of a trait's implementations to the trait, a re-export to what it names. What is `pub` can be read
//! off the text because the crate denies `unreachable_pub`.

use super::tidy::{none, root, sources};

/// What an item begins with, after its `pub`.
const KINDS: [&str; 10] =
    ["fn ", "const fn ", "struct ", "enum ", "trait ", "type ", "const ", "static ", "macro ", "unsafe "];

/// The items of a text without an example, as line and words, and how many there are in all.
fn without_example(text: &str) -> (Vec<(usize, &str)>, usize) {
    let (mut found, mut items) = (Vec::new(), 0);
    // Whether the words before this line have an example, and whether a code block is open in them.
    let (mut example, mut open) = (false, false);
    let mut in_trait = false;
    for (number, whole) in text.lines().enumerate() {
        let line = whole.trim_start();
        if let Some(words) = line.strip_prefix("///") {
            if let Some(tags) = words.trim_start().strip_prefix("```") {
                // `text`, `ignore` and `no_run` do not run.
                example |= !open && matches!(tags, "" | "rust" | "compile_fail");
                open = !open;
            }
            continue;
        }
        // Words that a macro makes, with a code block of their own.
        example |= line.starts_with("#[doc = example!(");
        let public =
            line.strip_prefix("pub ").is_some_and(|rest| KINDS.iter().any(|kind| rest.starts_with(kind)));
        if public || (in_trait && line.starts_with("fn ")) {
            items += 1;
            if !example {
                found.push((number + 1, line));
            }
        }
        in_trait = (in_trait && whole != "}") || line.starts_with("pub trait ") && !line.ends_with("{}");
        // Attributes are between an item and its words.
        if !line.starts_with("#[") {
            (example, open) = (false, false);
        }
    }
    (found, items)
}

/// What `layout_cuda` re-exports of the compiler and the simulator.
const REEXPORTED: [&str; 10] = [
    "layout-macros/compiler/src/bind_error.rs",
    "layout-macros/compiler/src/certify/mod.rs",
    "layout-macros/compiler/src/definition.rs",
    "layout-macros/compiler/src/params.rs",
    "layout-macros/compiler/src/explain/mod.rs",
    "layout-macros/compiler/src/precision.rs",
    "layout-cuda/simulator/src/error.rs",
    "layout-cuda/simulator/src/lib.rs",
    "layout-cuda/simulator/src/options.rs",
    "layout-cuda/simulator/src/report.rs",
];

#[test]
fn every_public_item_has_an_example() {
    let library = std::fs::read_to_string(root().join("layout-core/src/lib.rs")).expect("a library");
    assert!(library.contains("#![deny(unreachable_pub)]"), "then `pub` would not mean public");
    let (mut bare, mut items) = (Vec::new(), 0);
    for source in sources(&[".rs"]) {
        let named = source.path.starts_with("layout-core/src/") || REEXPORTED.contains(&source.path.as_str());
        if !named {
            continue;
        }
        let (found, count) = without_example(&source.text);
        bare.extend(found.into_iter().map(|(number, line)| format!("{}:{number}: {line}", source.path)));
        items += count;
    }
    none(bare, "a public item has an example that runs");
    assert!(items > 450, "only {items} public items were found");
}

#[test]
fn what_has_no_example_is_seen() {
    let text = "\
/// With.
///
/// ```
/// assert!(true);
/// ```
#[derive(Debug)]
pub struct With {
    /// A field.
    pub field: i32,
}

/// Shown only.
///
/// ```text
/// shown
/// ```
pub fn shown() {}

/// A trait.
///
/// ```
/// assert!(true);
/// ```
pub trait Named {
    /// A name.
    fn name(&self) -> String;
}

impl Named for With {
    fn name(&self) -> String {
        String::new()
    }
}

pub(crate) fn private() {}
";
    let (found, items) = without_example(text);
    assert_eq!(found, [(17, "pub fn shown() {}"), (26, "fn name(&self) -> String;")]);
    assert_eq!(items, 4);
}
