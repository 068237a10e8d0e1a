//! The CUDA C of every kernel and variant, and what its launch takes, as files to read.
//!
//! `cargo insta review` shows what changed; a text is kept once it reads as a person would have written it.

use layout_tests::kernels::definitions;

#[test]
fn texts() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for definition in definitions() {
            for variant in definition.variants {
                insta::assert_snapshot!(variant.entry, variant.text);
            }
        }
    });
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
