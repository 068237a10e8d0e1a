//! Kernels for sm_75, whose threads have no asynchronous copies.

use super::{SOURCES, functions, kernel};
use layout_compiler::{Promises, compile};

/// On sm_75 the ladder's asynchronous copies are ordinary ones, and nothing waits for them.
#[test]
fn the_ladder_is_for_a_t4_too() {
    for text in SOURCES.iter().flat_map(|source| functions(source)) {
        let text = text.replacen("tiled_kernel (", "tiled_kernel (arch = \"sm_75\",", 1);
        let kernel = kernel(&text).unwrap_or_else(|error| panic!("{error}"));
        for set in kernel.parameter_sets() {
            let checked = compile(&kernel, &set, Promises::USUAL)
                .unwrap_or_else(|errors| panic!("{}: {errors}", kernel.name));
            let source = layout_compiler::emit(&checked);
            assert!(
                !source.text.contains("cp.async") && !source.text.contains("cp_async"),
                "{}",
                source.text
            );
            if let Ok(folder) = std::env::var("SM_75_TEXTS") {
                std::fs::write(format!("{folder}/{}.cu", source.entry), &source.text).expect("a folder");
            }
        }
    }
    let product = "#[tiled_kernel(arch = \"sm_75\", block = [32], grid = [1])] fn product(y: &mut LayoutTensor<f32, RowMajor<32>>) {
        let core = mma_atom::<f32>([16, 8, 8]); let mut acc = local::<f32>(row_major([1, 4])).fill(0.0); let mut a = shared::<f32>(row_major([16, 8]));
        let b = shared::<f32>(row_major([8, 8])); core.mma(&mut acc, &core.load_a(&a), &core.load_b(&b)); y[[thread_idx.x]] = acc[[0, 0]];
    }";
    let kernel = kernel(product).unwrap_or_else(|error| panic!("{error}"));
    let error = compile(&kernel, &kernel.parameter_sets()[0], Promises::USUAL).expect_err("TF32").to_string();
    assert!(error.contains("needs sm_80 or later, and the kernel is for sm_75"), "{error}");
}
