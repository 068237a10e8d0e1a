//! What the macro made at build time is what the program makes from the embedded kernel.
//!
//! Law: for each variant, `emit(check(specialise(embedded kernel)))` equals the macro's text, line table and launch
//! facts.

use layout_compiler::{ParamSet, compile, emit, wire};
use layout_tests::kernels::definitions;

#[test]
fn embedded_kernels_give_the_texts_of_the_macro() {
    for definition in definitions() {
        let kernel = definition.kernel().expect("bytes of this version");
        assert_eq!(kernel.name, definition.name);
        assert_eq!(wire::encode(&kernel), definition.bytes, "{}", definition.name);
        assert!(definition.file.ends_with(".rs"), "{}", definition.file);
        assert!(!definition.variants.is_empty());
        for variant in definition.variants {
            let parameters = variant.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value));
            let set = ParamSet(parameters.collect());
            let checked = compile(&kernel, &set, variant.promises).expect("a kernel that the macro compiled");
            let source = emit(&checked);
            assert_eq!(source.text, variant.text);
            assert_eq!(source.lines, variant.lines);
            assert_eq!(source.entry, variant.entry);
            assert_eq!(checked.plan().block, variant.block);
            assert_eq!(checked.plan().shared_bytes, variant.shared_bytes);
            assert_eq!(format!("{}{}", set.key(), variant.promises.suffix()), variant.key);
        }
    }
}

#[test]
fn lines_of_the_text_lead_to_lines_of_the_kernel() {
    for definition in definitions() {
        for variant in definition.variants {
            assert_eq!(variant.lines.len(), variant.text.lines().count(), "{}", variant.entry);
            let (first, last) =
                (variant.lines.iter().filter(|line| **line > 0).min(), variant.lines.iter().max());
            assert!(first.is_some() && last > first, "{}: {:?}", variant.entry, variant.lines);
        }
    }
}
