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
