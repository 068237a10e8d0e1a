//! What the chapters claim and no other test holds.

use super::launches::{cuda, kernel, outcome, run, tensor, unwritten};
use layout_cuda::FindingKind;
use layout_workbench::Tensor;

/// first.md: the report of the first kernel without its guard.
#[test]
fn the_first_kernel_without_its_guard_is_reported() {
    let text = kernel("book/listings/first.rs", "add_one");
    let bare = text.replace("if i < N {", "{");
    assert_ne!(bare, text);
    let report = outcome(&bare, None, &[tensor(&[6]), unwritten(&[6])]).report;
    let write = report.findings.first().expect("a finding");
    assert_eq!((write.kind, write.thread, write.block), (FindingKind::OutOfBounds, [2, 0, 0], [1, 0, 0]));
    assert_eq!(write.message, "write of element 6 of `y`, which has 6 elements");
}

/// rust.md: a literal has the type of its use, here `i32` and `u8`; without one it is an index.
#[test]
fn literals_have_the_types_of_their_uses() {
    let body = "let (bit, one, two) = (1, 1, 2); let high = (bit << 31) + y[[0]] as i32; let small: u8 = one - two;
        let index = 1; let free = index << 31;
        y[[0]] = if high < 0 { 1.0 } else { 0.0 }; y[[1]] = small as f32; y[[2]] = if free < 0 { 1.0 } else { 0.0 };";
    let text = format!(
        "#[tiled_kernel(block = [1], grid = [1])]\nfn typed(y: &mut LayoutTensor<f32, RowMajor<3>>) {{ {body} }}"
    );
    let found = run(&text, None, &[Tensor::of(&[3], |_| 0.0).into()]);
    let (high, small, free) = (1i32 << 31, 1u8.wrapping_sub(2), 1usize << 31);
    let wanted = [f64::from(u8::from(high < 0)), f64::from(small), f64::from(u8::from(free == 0))];
    assert_eq!(found.tensors[0].as_ref().map(|y| &y.values), Some(&wanted.to_vec()));
}

/// transpose.md: none of the kernels that `layout_kernels::transpose` picks from has an instruction of TMA.
#[test]
fn the_shipped_transposition_needs_no_tma() {
    for name in ["transpose", "transpose_by_elements", "transpose_by_pairs"] {
        let text = kernel("layout-cuda/kernels/src/kernels/memory/transposition.rs", name);
        let text = cuda(&text, &[tensor(&[64, 64]), unwritten(&[64, 64])]);
        assert!(text.contains("__global__") && !text.contains("cp.async.bulk"), "{text}");
    }
}
