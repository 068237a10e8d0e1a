//! The tables of words: each word of ours is one of the language, and what it becomes is in a listing's CUDA C.

use super::launches::{cuda, kernel, root, tensor, text, unwritten};
use super::outputs::output;
use std::fmt::Write;

/// A word of Hopper's units, the instruction that it becomes, and what is to say about it.
const HOPPER: [(&str, &str, &str); 10] = [
    ("mbarriers(", "mbarrier.init", "in shared memory; the fences after it are written, too"),
    (".arrive_expect(", "mbarrier.arrive.expect_tx", "one arrival, and so many bytes to come"),
    (".wait(", "mbarrier.try_wait.parity", "in a loop; the argument is the phase, 0 or 1"),
    ("tma_load(", "cp.async.bulk.tensor.2d.shared::cluster.global", "the coordinates are the tile's"),
    ("tma_store(", "cp.async.bulk.tensor.2d.global.shared::cta", ""),
    ("bulk_commit_group(", "cp.async.bulk.commit_group", ""),
    ("bulk_wait_group(", "cp.async.bulk.wait_group", ""),
    ("fence_async_proxy(", "fence.proxy.async", ""),
    ("wgmma(", "wgmma.mma_async", "`wgmma.fence` and the matrix descriptors come with it"),
    ("wgmma_wait_group(", "wgmma.wait_group", "`wgmma_commit_group` likewise"),
];

#[test]
fn the_words_of_hopper_and_their_instructions() {
    let tma = kernel("book/listings/transpose.rs", "transpose_tma");
    let products = kernel("book/listings/hopper.rs", "wgmma_simple");
    let square = [64, 64];
    let text_of_tma = cuda(&tma, &[tensor(&square), unwritten(&square)]);
    let text_of_products = cuda(&products, &[tensor(&square), tensor(&square), unwritten(&square)]);
    let mut table = "| here | PTX | |\n|---|---|---|\n".to_owned();
    for (word, instruction, note) in HOPPER {
        let becomes = |kernel: &str, text: &str| kernel.contains(word) && text.contains(instruction);
        let shown = becomes(&tma, &text_of_tma) || becomes(&products, &text_of_products);
        assert!(shown, "no listing says `{word}` and becomes `{instruction}`");
        let word = word.trim_end_matches('(');
        writeln!(table, "| `{word}` | `{instruction}` | {note} |").expect("text");
    }
    output("hopper.md", &table);
}

/// The files of a folder, one after the other.
fn all_of(folder: &str) -> String {
    let entries = std::fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let files = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    files.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// The identifiers between backquotes of a cell.
fn identifiers(cell: &str) -> Vec<&str> {
    let code = cell.split('`').skip(1).step_by(2);
    let parts = code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
    parts.filter(|word| word.len() > 2 && word.starts_with(|c: char| c.is_ascii_lowercase())).collect()
}

#[test]
fn the_words_of_the_tables_are_words_of_the_language() {
    let known = all_of("layout-core/src/lang") + &all_of("layout-macros") + &all_of("layout-cuda/src");
    let known: std::collections::BTreeSet<&str> =
        known.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut words = 0;
    for (file, column) in [("vocabulary.md", 2), ("coming.md", 1)] {
        let chapter = text(&format!("book/src/{file}"));
        for line in chapter.lines().filter(|line| line.starts_with('|')) {
            for word in line.split('|').nth(column).into_iter().flat_map(identifiers) {
                words += 1;
                assert!(known.contains(word), "{file}: `{word}` is no word of the language: {line}");
            }
        }
    }
    assert!(words > 80, "only {words} words");
}
