//! A sentence of the README or of the book that says what the compiler, the simulator or a launch does names the test that holds it:
//! `The edges are masked.<!-- test: tiles_that_hang_over_the_end -->`.
//!
//! Law: a sentence with one of [`CLAIMS`] has a marker behind its end or is among the [`OTHERS`], and a marker names functions under
//! `#[test]` of this repository, or `ui/NAME`, a case of `tests/ui/cases`. Tables, titles, listings and code in a line claim nothing here.

use super::chapters;
use super::launches::{root, text};
use std::collections::HashSet;
use std::path::Path;

/// The words of a sentence that claims a behaviour.
const CLAIMS: [&str; 19] = [
    "refused",
    "refuses",
    "an error",
    "masked",
    "no mask",
    "a finding",
    "finds",
    "is found",
    "reports",
    "reported",
    "prints",
    "fails",
    "needs no",
    "costs no",
    "costs nothing",
    "undefined",
    "stops",
    "returns",
    "rounded",
];

/// Sentences with these words that no test of ours can hold, by their beginning, and why.
const OTHERS: [(&str, &str); 9] = [
    ("The first run fails and keeps", "insta's behaviour"),
    ("The tutorial prints the right numbers", "another's text; `others.rs` holds what it prints"),
    ("Several listings of the text", "another's text; `others.rs` holds what it prints"),
    ("The recipe prints a table", "another's text; `others.rs` holds what it prints"),
    ("Where one fails, measure", "an advice"),
    ("Here are listings of well-known", "what the chapter is about; each listing has its output"),
    ("`bench -- matmul` prints registers", "a benchmark, on a GPU"),
    ("`CAUSAL` ends the loop", "what the mask would be, not what is"),
    ("What may be printed", "a link"),
];

/// The code of a line without what it says, and comments that are no markers of this file.
fn plain(paragraph: &str) -> String {
    let mut out = String::new();
    let mut rest = paragraph;
    while let Some(at) = rest.find(['`', '<']) {
        let here = &rest[at..];
        out.push_str(&rest[..at]);
        let code = here.strip_prefix('`').and_then(|inner| inner.find('`'));
        let comment = here.strip_prefix("<!-- = ").and_then(|inner| inner.find("-->"));
        rest = match (code, comment) {
            (Some(end), _) => {
                // A sentence may begin or end with it.
                out.push_str(if out.ends_with(' ') || out.is_empty() { "`Code`" } else { "`code`" });
                &here[end + 2..]
            }
            (_, Some(end)) => &here["<!-- = ".len() + end + "-->".len()..],
            _ => {
                out.push_str(&here[..1]);
                &here[1..]
            }
        };
    }
    out + rest
}

/// The paragraphs and entries of a page as they are written, each on one line.
fn paragraphs(page: &str) -> Vec<String> {
    let prose = format!("\n{page}").split("\n```").step_by(2).collect::<Vec<_>>().join("\n\n");
    let mut all = vec![String::new()];
    for line in prose.lines() {
        let entry = line.trim_start();
        if entry.is_empty() || entry.starts_with(['-', '|', '#', '!', '*']) {
            all.push(String::new());
        }
        if !entry.starts_with(['|', '#', '{']) {
            let last = all.last_mut().expect("one");
            *last += if last.is_empty() { "" } else { " " };
            *last += entry.trim_start_matches("- ");
        }
    }
    all.retain(|paragraph| !paragraph.is_empty());
    all
}

/// The sentences of a page, without the code in them, each with the names of its marker.
fn sentences(page: &str) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for paragraph in paragraphs(page) {
        let (paragraph, mut sentence) = (plain(&paragraph), String::new());
        let mut rest = paragraph.as_str();
        while let Some(next) = rest.chars().next() {
            sentence.push(next);
            rest = &rest[next.len_utf8()..];
            let ends = match next {
                '.' | '?' | '!' => rest.is_empty() || rest.starts_with([' ', '<', '*']),
                ':' => rest.starts_with("<!-- test: "),
                _ => false,
            };
            if !ends && !rest.is_empty() {
                continue;
            }
            let marker = rest.strip_prefix("<!-- test: ").and_then(|inner| inner.split_once(" -->"));
            let names = marker.map_or("", |(names, behind)| {
                rest = behind;
                names
            });
            let names = names.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            all.push((std::mem::take(&mut sentence).trim().to_owned(), names));
        }
    }
    all
}

/// Whether a sentence has one of these words, whole.
fn claims(sentence: &str) -> bool {
    let words = |text: &str| {
        let apart = |c: char| !c.is_alphanumeric() && c != '-';
        format!(" {} ", text.split(apart).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
    };
    let sentence = words(&sentence.to_lowercase());
    CLAIMS.iter().any(|claim| sentence.contains(&words(claim)))
}

/// The functions under `#[test]` in the files of a folder and below it, and the cases of the compiler's messages.
fn tests(folder: &Path, found: &mut HashSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            tests(&path, found);
        } else if let Some(case) = name.strip_suffix(".rs").filter(|_| folder.ends_with("tests/ui/cases")) {
            found.insert(format!("ui/{case}"));
        } else if name.ends_with(".rs") {
            let source = std::fs::read_to_string(&path).expect("a source");
            for test in source.split("#[test]\n").skip(1) {
                // Other attributes may be between.
                let head = test.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
                found.extend(head.map(|(name, _)| name.to_owned()));
            }
        }
    }
}

/// The pages: the README and every chapter.
fn pages() -> Vec<(String, String)> {
    let readme = ("README.md".to_owned(), text("README.md"));
    std::iter::once(readme).chain(chapters::all()).collect()
}

#[test]
fn what_claims_a_behaviour_names_its_test() {
    let (mut known, mut wrong, mut held) = (HashSet::new(), vec![], 0);
    tests(&root(), &mut known);
    let mut unused: Vec<&str> = OTHERS.iter().map(|(begin, _)| *begin).collect();
    for (file, page) in pages() {
        let written: usize = page.matches("<!-- test: ").count();
        let sentences = sentences(&page);
        let read = sentences.iter().filter(|(_, names)| !names.is_empty()).count();
        if written != read {
            wrong.push(format!("{file}: {written} markers, {read} of them behind a sentence"));
        }
        for (sentence, names) in sentences {
            let other =
                |begin: &&str| sentence.replace("`Code`", "`").contains(&plain(begin).replace("`Code`", "`"));
            let excepted = unused.iter().position(other).map(|at| unused.remove(at)).is_some();
            if claims(&sentence) && names.is_empty() && !excepted {
                wrong.push(format!("{file}: no test is named behind: {sentence}"));
            }
            held += usize::from(!names.is_empty());
            let missing = names.iter().filter(|name| !known.contains(*name));
            wrong.extend(missing.map(|name| format!("{file}: there is no test `{name}`")));
        }
    }
    wrong.extend(unused.iter().map(|begin| format!("no sentence begins with `{begin}`")));
    assert!(wrong.is_empty(), "claims:\n  {}", wrong.join("\n  "));
    assert!(held > 30, "only {held} sentences name a test");
}

#[test]
fn a_claim_without_its_test_is_found() {
    let of = |page: &str| -> Vec<String> {
        let bare = |(sentence, names): (String, Vec<String>)| {
            (claims(&sentence) && names.is_empty()).then_some(sentence)
        };
        sentences(page).into_iter().filter_map(bare).collect()
    };
    for wrong in [
        "An edge is masked.",
        "One. It\nfails there: always. Two.",
        "- an entry that prints\n- another",
        "| a |\n\nRefused: `x`",
    ] {
        assert_eq!(of(wrong).len(), 1, "{wrong}");
    }
    for right in [
        "An edge is masked.<!-- test: a --> Another is here.",
        "# It is refused",
        "| it prints | x |",
        "```text\nit prints\n```\nas `it prints` here",
        "It reprints, failsafe.",
    ] {
        assert_eq!(of(right), Vec::<String>::new(), "{right}");
    }
    let [one, two] = &sentences("It prints.<!-- test: a, ui/b --> No.")[..] else { panic!("two sentences") };
    assert_eq!((one.1.as_slice(), two.1.len()), (&["a".to_owned(), "ui/b".to_owned()][..], 0));
}
