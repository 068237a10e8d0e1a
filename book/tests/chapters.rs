//! The chapters: what they show exists, what they link to is there, and no Rust in them is unrun.

use super::launches::{root, text};
use layout_book::expand;

/// Every chapter of the summary: its file, its text.
pub fn all() -> Vec<(String, String)> {
    let summary = text("book/src/SUMMARY.md");
    let files = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    files.map(|file| (file.to_owned(), text(&format!("book/src/{file}")))).collect()
}

#[test]
fn every_listing_is_there_and_every_kernel_compiles() {
    let mut kernels = 0;
    for (file, chapter) in all() {
        let expanded = expand(&root(), &chapter).unwrap_or_else(|error| panic!("{file}: {error}"));
        for item in expanded.split("```rust,ignore\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            kernels += 1;
            // A function of a module of kernels, or of a program, is compiled where it is.
            if item.contains("#[tiled_kernel(")
                && !["relu", "biased", "chosen"].iter().any(|name| item.contains(&format!("fn {name}<")))
            {
                let read = layout_workbench::read(item);
                assert!(read.is_ok(), "{file}: {:?}\n{item}", read.err());
            }
        }
    }
    assert!(kernels > 20, "only {kernels} listings");
}

#[test]
fn the_vocabulary_has_every_word_with_a_link() {
    let page = expand(&root(), "{{#vocabulary}}\n").expect("the tables");
    for (call, word) in [
        ("row_major([m, n])", "row_major"),
        ("shared::<T>(layout)", "shared"),
        ("x.exp()", "exp"),
        ("f32::from_bits(bits)", "from_bits"),
    ] {
        let link = format!("| [`{call}`](doc/layout_core/index.html?search={word}) | ");
        assert!(page.contains(&link), "{link}");
    }
    let (words, links) =
        (page.lines().filter(|line| line.starts_with("| [")), page.matches("?search=").count());
    assert!(words.count() == links && links > 200, "{links} links");
}

#[test]
fn no_chapter_has_rust_of_its_own() {
    for (file, chapter) in all() {
        // But for a whole file, which an include brings.
        let own = chapter.replace("```rust,ignore\n{{#include ../listings/", "");
        for kind in ["```rust", "```cuda", "```c++"] {
            assert!(
                !own.contains(kind),
                "{file}: a listing comes by {{{{#kernel FILE FUNCTION}}}} or an include"
            );
        }
    }
}

#[test]
fn links_pictures_and_includes_are_there() {
    let mut missing = vec![];
    let mut seen = 0;
    for (file, chapter) in all() {
        // What is between backquotes is code.
        let words: String = chapter.split('`').step_by(2).collect();
        let links = words.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let links = links.filter(|link| !link.is_empty() && !link.contains("://"));
        let includes = chapter.split("{{#include ").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
        for named in links.chain(includes) {
            seen += 1;
            // The page and the primer's pictures are put there by build.sh.
            let built = named.starts_with("page/");
            if !built && !root().join("book/src").join(named).exists() {
                missing.push(format!("{file}: {named}"));
            }
        }
    }
    assert!(missing.is_empty(), "not there:\n  {}", missing.join("\n  "));
    assert!(seen > 40, "only {seen} links");
}

#[test]
fn every_output_is_shown_and_every_chapter_is_in_the_summary() {
    let chapters: String = all().into_iter().map(|(_, chapter)| chapter).collect();
    let summary = text("book/src/SUMMARY.md");
    for (folder, shown) in
        [("book/src/outputs", &chapters), ("book/src/figures", &chapters), ("book/src", &summary)]
    {
        for entry in std::fs::read_dir(root().join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let part = name.contains('.') && name != "SUMMARY.md";
            assert!(!part || shown.contains(&name), "{folder}/{name} is nowhere shown");
        }
    }
}

#[test]
fn the_first_program_says_what_the_chapter_says() {
    assert_eq!(layout_book::run().map_err(|error| error.to_string()), Ok(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
}

/// A chapter with what it includes.
fn whole(chapter: &str) -> String {
    let lines = chapter.lines().map(|line| {
        let file = line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
        // A part of a file counts as the file.
        let file = file.and_then(|file| file.split(':').next());
        file.map_or_else(|| line.to_owned(), |file| text(&format!("book/src/{file}")))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_picture_says_in_words_what_it_shows() {
    let mut pictures = 0;
    for (file, chapter) in all() {
        for picture in whole(&chapter).split("![").skip(1) {
            let words = picture.split("](").next().unwrap_or_default();
            pictures += 1;
            assert!(words.split(' ').count() > 2, "{file}: `{words}` does not say what the picture shows");
        }
    }
    assert!(pictures > 15, "only {pictures} pictures");
}

/// The sources of what runs listings: the tests of the book, its table of exercises, the tests of the other packages.
fn runners() -> String {
    let folders =
        ["book/tests", "book/workbench/exercises", "tests", "tests/kernels", "layout-cuda/kernels/tests"];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(root().join(folder)).expect("a folder"));
    let files = files.map(|entry| entry.expect("an entry").path());
    // But for this one, which runs none.
    let files = files.filter(|file| {
        file.extension().is_some_and(|end| end == "rs") && !file.ends_with("book/tests/chapters.rs")
    });
    files.map(|file| std::fs::read_to_string(file).expect("a file")).collect()
}

/// Does the text call or name it: `name::launch`, `name(..)`, `"name"`?
fn names(text: &str, name: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let called = after.starts_with("::") || after.starts_with('(');
        let own = !before.ends_with("fn ") && !before.ends_with(word);
        own && called || before.ends_with('"') && after.starts_with('"')
    })
}

#[test]
fn every_listing_is_run_by_a_test() {
    assert!(
        names("a_kernel::launch(", "a_kernel") && !names("fn a_kernel(", "a_kernel") && !names("my_a(", "a")
    );
    let runners = runners();
    for (file, chapter) in all() {
        for listing in chapter.lines().filter_map(|line| line.strip_prefix("{{#kernel ")?.strip_suffix("}}"))
        {
            let (source, name) = listing.split_once(' ').expect("a file and a function");
            // A function of a kernel runs with those of its file; a test runs by itself.
            let own = text(source);
            let run =
                names(&runners, name) || names(&own, name) || own.contains(&format!("#[test]\nfn {name}("));
            assert!(run, "{file}: no test runs `{name}` of {source}");
        }
    }
}
