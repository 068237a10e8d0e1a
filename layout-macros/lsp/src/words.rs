//! The pages of words: the documentation of `layout_core::lang`, as its files have it, and the vocabulary's lines.
//!
//! Law: a page is the text of the documentation without its hidden lines; a word without one has its line of the vocabulary.

use layout_compiler::intrinsic::{Form, Intrinsic};

macro_rules! files {
    ($($name:literal)*) => { [$(include_str!(concat!("../../../layout-core/src/lang/", $name, ".rs"))),*] };
}

/// The files whose items are words.
const FILES: [&str; 20] = files!["atomic" "block_scale" "float" "hint" "layout" "matrix" "mbarrier" "mod" "movement" "number" "order"
    "small_float" "sum" "tcgen05" "tensor" "threads" "tma" "view" "wgmma" "whole"];

/// The page of a word, in Markdown.
pub fn page(word: &str) -> Option<String> {
    let lines = Intrinsic::ALL.iter().filter(|known| known.name() == word && known.form() != Form::Internal);
    let mut lines: Vec<&str> = lines.map(|known| known.summary()).collect();
    lines.dedup();
    let pages: Vec<String> = FILES.iter().filter_map(|file| documentation(file, word)).collect();
    let all: Vec<String> =
        if pages.is_empty() { lines.iter().map(|line| (*line).to_owned()).collect() } else { pages };
    (!all.is_empty()).then(|| all.join("\n\n---\n\n"))
}

/// The documentation of the first public item of a name.
fn documentation(file: &str, word: &str) -> Option<String> {
    let lines: Vec<&str> = file.lines().map(str::trim_start).collect();
    let at = lines.iter().position(|line| declares(line, word))?;
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("///") || line.starts_with("#["));
    let mut words: Vec<&str> = above.filter_map(|line| line.strip_prefix("///")).collect();
    words.reverse();
    let (mut page, mut code) = (String::new(), false);
    for line in words {
        let line = line.strip_prefix(' ').unwrap_or(line);
        let fence = line.starts_with("```");
        code ^= fence;
        if code && (line == "#" || line.starts_with("# ")) {
            continue;
        }
        // A fence without a language is Rust.
        page.push_str(if fence && code && line == "```" { "```rust" } else { line });
        page.push('\n');
    }
    (!page.trim().is_empty()).then(|| page.trim_end().to_owned())
}

/// Whether a line begins the item of a name.
fn declares(line: &str, word: &str) -> bool {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("const ").filter(|rest| rest.starts_with("fn ")).unwrap_or(line);
    let kinds = ["fn ", "static ", "struct ", "trait ", "enum ", "type "];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind)).and_then(|rest| rest.strip_prefix(word));
    name.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_a_page() {
        let words = Intrinsic::ALL.iter().filter(|known| known.form() != Form::Internal);
        let bare: Vec<&str> = words.map(|known| known.name()).filter(|name| page(name).is_none()).collect();
        assert_eq!(bare, [""; 0]);
        let barrier = page("barrier").expect("a word");
        assert!(barrier.contains("```rust\n") && !barrier.contains("\n# "), "{barrier}");
        assert!(page("thread_idx").is_some_and(|page| page.starts_with("The thread's index in its block.")));
        assert!(page("sin").is_some_and(|page| page.contains("2 ulp")));
        assert_eq!(page("no_such_word"), None);
    }
}
