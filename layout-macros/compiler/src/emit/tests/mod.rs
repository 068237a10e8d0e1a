//! Kernels built by hand and their text, as snapshots: NVRTC compiles every one of them.

mod arithmetic;
mod build;
mod control;
mod elements;
mod indices;
mod kernels;
mod law;

use super::emit;
use crate::check::Checked;

/// Compares the text with its snapshot.
fn check(name: &str, checked: &Checked) {
    let source = emit(checked);
    assert_eq!(source.lines.len(), source.text.lines().count());
    assert_eq!(emit(checked), source);
    insta::assert_snapshot!(name, source.text);
}
