//! NVRTC's log in the words of the kernel's Rust file.
//!
//! Law: only places of the form `kernel.cu(line)` change, and only where the table knows the Rust line.

/// The name that the text is compiled under.
pub(super) const TEXT_NAME: &str = "kernel.cu";

/// Puts `file:line` before every place of the text whose Rust line is in `lines`, which has an entry for each line of
/// the text, 0 for none.
///
/// ```
/// let log = "kernel.cu(2): error: identifier \"x\" is undefined";
/// let located = layout_cuda::nvrtc::locate(log, "src/lib.rs", &[0, 41]);
/// assert_eq!(located, "src/lib.rs:41: kernel.cu(2): error: identifier \"x\" is undefined");
/// ```
pub fn locate(log: &str, file: &str, lines: &[u32]) -> String {
    let mut out = String::with_capacity(log.len());
    for line in log.split_inclusive('\n') {
        if let Some(rust) = rust_line(line, lines) {
            out.push_str(&format!("{file}:{rust}: "));
        }
        out.push_str(line);
    }
    out
}

/// The Rust line of the place that a line of the log begins with.
fn rust_line(line: &str, lines: &[u32]) -> Option<u32> {
    let rest = line.strip_prefix(TEXT_NAME)?.strip_prefix('(')?;
    let number: usize = rest[..rest.find(')')?].parse().ok()?;
    let rust = *lines.get(number.checked_sub(1)?)?;
    (rust != 0).then_some(rust)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_the_table_knows() {
        let rows = [
            (
                "kernel.cu(1): error: a\n  int x\n      ^\n",
                "k.rs:10: kernel.cu(1): error: a\n  int x\n      ^\n",
            ),
            ("kernel.cu(2): warning: b", "kernel.cu(2): warning: b"),
            ("kernel.cu(9): error: c", "kernel.cu(9): error: c"),
            ("kernel.cu(0): error: d", "kernel.cu(0): error: d"),
            ("kernel.cu(: error", "kernel.cu(: error"),
            ("other.cu(1): error", "other.cu(1): error"),
            ("", ""),
        ];
        for (log, want) in rows {
            assert_eq!(locate(log, "k.rs", &[10, 0, 12]), want);
        }
    }
}
