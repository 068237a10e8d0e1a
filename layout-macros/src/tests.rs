//! The macro as a function of tokens: what it gives for whole kernels, wrong kernels and half-written ones.

use crate::compile::run;

/// The tokens that the macro gives, as text.
fn expand(attribute: &str, item: &str) -> String {
    let tokens = run(attribute.parse().expect("attribute"), item.parse().expect("item"));
    tokens.to_string()
}

const VECTOR_ADD: (&str, &str) = (
    "BLOCK = 256, block = [BLOCK], grid = [N.div_ceil(BLOCK)]",
    "/// Adds.
    pub fn vector_add<const N: usize>(
        a: &LayoutTensor<f32, RowMajor<N>>,
        b: &LayoutTensor<f32, RowMajor<N>>,
        c: &mut LayoutTensor<f32, RowMajor<N>>,
    ) {
        let i = block_idx.x * BLOCK + thread_idx.x;
        if i < N {
            c[[i]] = a[[i]] + b[[i]];
        }
    }",
);

#[test]
fn a_kernel_becomes_a_module() {
    let out = expand(VECTOR_ADD.0, VECTOR_ADD.1);
    println!("{out}");
    for wanted in
        ["pub mod vector_add", "pub fn launch", "pub static DEFINITION", "__global__", "checked_by_rustc"]
    {
        assert!(out.contains(wanted), "{wanted} in {out}");
    }
    assert!(!out.contains("compile_error"), "{out}");
}
