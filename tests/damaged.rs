//! Bytes that are not a kernel any more: refused, or a kernel with errors, or another kernel; never a panic.

use layout_core::kernel::{Definition, Promises, compile, emit};

/// Every byte of every kernel, changed in three ways, and every way to cut it short.
#[test]
fn changed_bytes_never_panic() {
    let (mut refused, mut compiled) = (0, 0);
    for definition in layout_examples::kernels::definitions() {
        let mut tried: Vec<Vec<u8>> =
            (0..definition.bytes.len()).map(|end| definition.bytes[..end].to_vec()).collect();
        for at in 0..definition.bytes.len() {
            for change in [1, 3, 0x80] {
                let mut bytes = definition.bytes.to_vec();
                bytes[at] ^= change;
                tried.push(bytes);
            }
        }
        for bytes in tried {
            let changed = Definition { bytes: bytes.leak(), variants: &[], ..*definition };
            let Ok(kernel) = changed.kernel() else {
                refused += 1;
                continue;
            };
            for set in kernel.parameter_sets().iter().take(2) {
                if let Ok(checked) = compile(&kernel, set, Promises::USUAL) {
                    assert!(!emit(&checked).text.is_empty());
                    compiled += 1;
                }
            }
        }
    }
    assert!(refused > 1000 && compiled > 100, "{refused} refused, {compiled} compiled");
}
