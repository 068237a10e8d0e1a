//! Lines of text with their indentation and the Rust line of each.
//!
//! Invariant: `lines` has one entry for each line of `text`, and every line ends with a newline.

/// The longest line, where one can be broken.
const LONGEST: usize = 110;

/// Text under construction.
#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
    lines: Vec<u32>,
    depth: usize,
}

impl Writer {
    /// One line at the present depth, from line `rust` of the kernel's file (0 for none).
    pub(super) fn line(&mut self, rust: u32, line: &str) {
        if !line.is_empty() {
            for _ in 0..self.depth {
                self.text.push_str("    ");
            }
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines.push(rust);
    }

    /// How long a line may be at the present depth, where it can be broken.
    pub(super) fn room(&self) -> usize {
        LONGEST - self.depth.min(12) * 4
    }

    /// An empty line, unless a block has just begun.
    pub(super) fn end_paragraph(&mut self) {
        if !self.text.ends_with("{\n") {
            self.line(0, "");
        }
    }

    /// The lines that follow are one level deeper.
    pub(super) fn indent(&mut self) {
        self.depth += 1;
    }

    /// The lines that follow are one level less deep.
    pub(super) fn dedent(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The text, and for each of its lines the line of the kernel's file.
    pub(super) fn finish(self) -> (String, Vec<u32>) {
        (self.text, self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::Writer;

    #[test]
    fn a_line_of_the_table_for_each_line_of_the_text() {
        let mut writer = Writer::default();
        writer.line(7, "if (a) {");
        writer.indent();
        writer.end_paragraph();
        writer.line(8, "b;");
        writer.end_paragraph();
        writer.dedent();
        writer.line(7, "}");
        let (text, lines) = writer.finish();
        assert_eq!(text, "if (a) {\n    b;\n\n}\n");
        assert_eq!(lines, [7, 8, 0, 7]);
    }
}
