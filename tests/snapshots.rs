//! The CUDA C of every kernel, as files to read: of each the first variant. Other variants have a row each in `tests/nvrtc.lock`, with
//! the hash of their text, their registers and their instructions.
//!
//! `cargo insta review` shows what changed; a text is kept once it reads as a person would have written it.
//!
//! Law: a text has `// with` and a name for each device function in front of it. The function is in one of the emitter's device files,
//! or, where it is made of a template, in `root__snapshots__functions.snap`.

use layout_cuda::Variant;
use layout_tests::kernels::definitions;
use std::collections::BTreeMap;

/// How a line begins that represents a function.
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
        for variant in firsts() {
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
}

/// The first variant of each kernel.
fn firsts() -> impl Iterator<Item = &'static Variant> {
    definitions().into_iter().filter_map(|definition| definition.variants.first())
}

#[test]
fn texts() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let functions = Functions::new();
    settings.bind(|| {
        firsts().for_each(|variant| insta::assert_snapshot!(variant.entry, functions.folded(variant.text)));
    });
}

/// The device functions that the emitter writes as they are in its files.
fn device_files() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../layout-macros/compiler/src/emit/device");
    let files = std::fs::read_dir(folder).expect("the device files").map(|file| file.expect("a file").path());
    let plain = files.filter(|path| path.extension().is_some_and(|ending| ending == "cuh"));
    plain.map(|path| std::fs::read_to_string(path).expect("a text")).collect()
}

#[test]
fn functions() {
    let (names, files) = (Functions::new().names, device_files());
    let mut texts: Vec<(String, String)> = names
        .into_iter()
        .filter(|(text, _)| !files.contains(text))
        .map(|(text, name)| (name, text))
        .collect();
    texts.sort();
    assert!(texts.len() > 50, "only {} functions are made of templates", texts.len());
    let shown: Vec<String> = texts.iter().map(|(name, text)| format!("{WITH}{name}\n{text}")).collect();
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn no_text_is_of_a_kernel_that_is_gone() {
    let entries: Vec<String> = firsts().map(|variant| format!("{}.snap", variant.entry)).collect();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let files =
        std::fs::read_dir(folder).expect("the snapshots").map(|entry| entry.expect("a file").file_name());
    // Those of other tests have their module in front.
    let names =
        files.map(|name| name.to_string_lossy().into_owned()).filter(|name| !name.starts_with("root__"));
    let texts: Vec<String> = names.filter(|name| name.ends_with(".snap")).collect();
    let gone: Vec<&String> = texts.iter().filter(|name| !entries.contains(name)).collect();
    assert!(gone.is_empty(), "tests/snapshots has texts of no kernel: {gone:?}");
    assert!(!texts.is_empty());
}
