//! The CUDA C of every kernel and variant, and what its launch takes, as files to read.
//!
//! `cargo insta review` shows what changed; a text is kept once it reads as a person would have written it.
//!
//! Law: a file for each variant, and the files say its text to the letter. The text stands there, or, where most of it is
//! that of an earlier variant of the kernel or of another one in its file, what differs: lines out (`-`) and in (`+`), at which lines.
//! A function in front of kernels stands once, in `root__snapshots__functions.snap`; a text has `// with` and its name.

use layout_cuda::Variant;
use layout_tests::kernels::definitions;
use similar::TextDiff;
use std::collections::BTreeMap;

/// How a file begins that says how one variant differs from another.
const BESIDE: &str = "As ";

/// How a line begins that stands for a function.
const WITH: &str = "// with ";
/// What the kernel itself begins with.
const KERNEL: &str = "extern \"C\"";

/// The functions in front of all kernels: each distinct text once, under a name of its own.
struct Functions {
    /// The names of a text, `warp_sum` or, where another text took that, `warp_sum 2`.
    names: BTreeMap<String, String>,
}

impl Functions {
    fn new() -> Functions {
        let mut functions = Functions { names: BTreeMap::new() };
        let mut count = BTreeMap::new();
        for variant in definitions().into_iter().flat_map(|definition| definition.variants) {
            let front = variant.text.split(KERNEL).next().unwrap_or_default();
            for text in front.split("\n\n") {
                let Some(name) = Functions::declared(text) else { continue };
                if !functions.names.contains_key(text) {
                    let known: &mut usize = count.entry(name).or_default();
                    *known += 1;
                    let label = if *known == 1 { name.to_owned() } else { format!("{name} {known}") };
                    functions.names.insert(text.to_owned(), label);
                }
            }
        }
        functions
    }

    /// The name of the function that a text declares.
    fn declared(text: &str) -> Option<&str> {
        let (_, declaration) = text.split_once("__device__ ")?;
        declaration.split('(').next()?.rsplit(' ').next()
    }

    /// A text with a line for each function.
    fn folded(&self, text: &str) -> String {
        let (front, kernel) = text.split_at(text.find(KERNEL).unwrap_or(0));
        let of = |part: &str| match self.names.get(part) {
            Some(name) => format!("{WITH}{name}"),
            None => part.to_owned(),
        };
        front.split("\n\n").map(of).collect::<Vec<_>>().join("\n\n") + kernel
    }

    /// The text that was folded.
    fn unfolded(&self, told: &str) -> String {
        let (front, kernel) = told.split_at(told.find(KERNEL).unwrap_or(0));
        let of = |part: &str| match part.strip_prefix(WITH) {
            Some(name) => {
                let known = self.names.iter().find(|(_, known)| *known == name);
                known.unwrap_or_else(|| panic!("no function {name}")).0.clone()
            }
            None => part.to_owned(),
        };
        front.split("\n\n").map(of).collect::<Vec<_>>().join("\n\n") + kernel
    }

    /// What the file of a variant holds.
    fn told(&self, variant: &Variant, earlier: &[&Variant]) -> String {
        let own = self.folded(variant.text);
        let differences = earlier.iter().map(|other| (other, difference(&self.folded(other.text), &own)));
        match differences.min_by_key(|(_, lines)| lines.lines().count()) {
            Some((other, lines)) if 5 * lines.lines().count() <= 4 * own.lines().count() => {
                format!("{BESIDE}{}, but:\n{lines}", other.entry)
            }
            _ => own,
        }
    }
}

/// The lines that differ, under where they stand in both.
fn difference(from: &str, to: &str) -> String {
    TextDiff::from_lines(from, to).unified_diff().context_radius(0).to_string()
}

/// The text that `difference` makes of `from`.
fn restored(from: &str, difference: &str) -> String {
    let (from, mut text, mut line) = (from.lines().collect::<Vec<_>>(), Vec::new(), 0);
    for told in difference.lines() {
        if let Some(header) = told.strip_prefix("@@ -") {
            let numbers = header.split(' ').next().unwrap_or_default();
            let (first, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
            // Of no line, the one before is named.
            let first: usize = first.parse().expect("a line");
            let first = if count == "0" { first } else { first - 1 };
            text.extend_from_slice(&from[line..first]);
            line = first;
        } else if let Some(new) = told.strip_prefix('+') {
            text.push(new);
        } else {
            assert_eq!(told.strip_prefix('-'), Some(from[line]), "a line that goes is there");
            line += 1;
        }
    }
    text.extend_from_slice(&from[line..]);
    text.join("\n") + "\n"
}

/// Every variant with those that may say its text: the earlier ones of the kernels in its file.
fn each(mut see: impl FnMut(&'static Variant, &[&'static Variant])) {
    let mut files: BTreeMap<&str, Vec<&'static Variant>> = BTreeMap::new();
    for definition in definitions() {
        let earlier = files.entry(definition.file).or_default();
        for variant in definition.variants {
            see(variant, earlier);
            earlier.push(variant);
        }
    }
}

#[test]
fn texts() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let functions = Functions::new();
    settings.bind(|| {
        each(|variant, earlier| insta::assert_snapshot!(variant.entry, functions.told(variant, earlier)));
    });
}

/// What a file leaves out stands in the one that it names.
#[test]
fn a_difference_is_as_good_as_the_text() {
    let (functions, mut differ) = (Functions::new(), 0);
    each(|variant, earlier| {
        let told = functions.told(variant, earlier);
        let Some((other, lines)) = told.strip_prefix(BESIDE).and_then(|rest| rest.split_once(", but:\n"))
        else {
            assert_eq!(functions.unfolded(&told), variant.text);
            return;
        };
        let other = earlier.iter().find(|known| known.entry == other);
        let other = other.unwrap_or_else(|| panic!("{} names no earlier variant", variant.entry));
        let own = restored(&functions.folded(other.text), lines);
        assert_eq!(functions.unfolded(&own), variant.text, "{}", variant.entry);
        differ += 1;
    });
    assert!(differ > 50, "{differ} variants are told by what differs");
}

#[test]
fn functions() {
    let mut texts: Vec<(String, String)> =
        Functions::new().names.into_iter().map(|(text, name)| (name, text)).collect();
    texts.sort();
    let told: Vec<String> = texts.into_iter().map(|(name, text)| format!("{WITH}{name}\n{text}")).collect();
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn launch_facts() {
    let mut table = format!("{:44} {:>14} {:>13}\n", "entry", "block", "shared bytes");
    for definition in definitions() {
        for variant in definition.variants {
            let block = format!("{:?}", variant.block);
            table.push_str(&format!("{:44} {block:>14} {:>13}\n", variant.entry, variant.shared_bytes));
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn no_text_is_of_a_variant_that_is_gone() {
    let variants = definitions().into_iter().flat_map(|definition| definition.variants);
    let entries: Vec<String> = variants.map(|variant| format!("{}.snap", variant.entry)).collect();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let files =
        std::fs::read_dir(folder).expect("the snapshots").map(|entry| entry.expect("a file").file_name());
    // Those of other tests have their module in front.
    let names =
        files.map(|name| name.to_string_lossy().into_owned()).filter(|name| !name.starts_with("root__"));
    let texts: Vec<String> = names.filter(|name| name.ends_with(".snap")).collect();
    let gone: Vec<&String> = texts.iter().filter(|name| !entries.contains(name)).collect();
    assert!(gone.is_empty(), "tests/snapshots has texts of no variant: {gone:?}");
    assert!(!texts.is_empty());
}
