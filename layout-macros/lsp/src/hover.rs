//! Hover: the page of a word of the language, and the CUDA lines of the statement.
//!
//! Law: the lines are the emitter's, of the variant that is shown; only within kernels and their modules is a word a word.

use crate::analysis::Analysis;
use crate::text::Text;
use crate::words;
use layout_compiler::emit;
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};

/// The most CUDA lines that are shown of a statement.
const LINES: usize = 40;

/// What is said of a place.
pub fn hover(analysis: &Analysis, text: &Text, at: Position) -> Option<Hover> {
    // The line of the kernels' text: from 1.
    let line = analysis.text.carried(text, at.line)? + 1;
    if !analysis.in_language(line) {
        return None;
    }
    let word = text.word(at);
    let page = word.and_then(|(word, _)| words::page(word));
    let parts: Vec<String> = page.into_iter().chain(cuda(analysis, line)).collect();
    let value = parts.join("\n\n---\n\n");
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    (!parts.is_empty()).then_some(Hover { contents, range: word.map(|(_, range)| range) })
}

/// The emitted lines of a line of the file, for each kernel that has some.
fn cuda(analysis: &Analysis, line: u32) -> Vec<String> {
    let mut blocks = Vec::new();
    for (_, variant) in analysis.variants() {
        let source = emit(&variant.checked);
        let (mut code, mut last, mut count) = (String::new(), None, 0);
        for (number, own) in source.text.lines().enumerate() {
            if source.lines.get(number) != Some(&line) {
                continue;
            }
            count += 1;
            if count > LINES {
                continue;
            }
            if last.is_some_and(|last| last + 1 != number) {
                code.push_str("// ..\n");
            }
            last = Some(number);
            code.push_str(own);
            code.push('\n');
        }
        if count > LINES {
            code.push_str(&format!("// .. {} lines more\n", count - LINES));
        }
        if count > 0 {
            blocks.push(format!("`{}`\n\n```cuda\n{code}```", source.entry));
        }
    }
    blocks
}
