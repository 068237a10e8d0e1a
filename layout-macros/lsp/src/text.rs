//! A document's text, and its positions: the compiler counts characters from 1, the protocol UTF-16 units from 0.
//!
//! Law: a position of either kind is taken; one beyond a line's end is that end.

use layout_compiler::Position;
use lsp_types as lsp;

/// A text by lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    lines: Vec<String>,
}

impl Text {
    /// A document's text.
    pub fn new(text: &str) -> Text {
        Text { lines: text.split('\n').map(|line| line.trim_end_matches('\r').to_owned()).collect() }
    }

    /// The line of this number, from 0; empty beyond the end.
    pub fn line(&self, number: u32) -> &str {
        self.lines.get(number as usize).map_or("", String::as_str)
    }

    /// The protocol's position of one of the compiler's; the start of the text for none.
    pub fn to_lsp(&self, position: Position) -> lsp::Position {
        let line = position.line.saturating_sub(1);
        let before = self.line(line).chars().take(position.column.saturating_sub(1) as usize);
        lsp::Position { line, character: before.map(|one| one.len_utf16() as u32).sum() }
    }

    /// The range between two of the compiler's positions.
    pub fn range(&self, start: Position, end: Position) -> lsp::Range {
        lsp::Range { start: self.to_lsp(start), end: self.to_lsp(end.max(start)) }
    }

    /// The text of a range within one line.
    pub fn within(&self, range: lsp::Range) -> Option<&str> {
        let line = self.line(range.start.line);
        (range.start.line == range.end.line)
            .then(|| line.get(bytes(line, range.start.character)..bytes(line, range.end.character)))
            .flatten()
    }

    /// The end of a line, of a number from 0.
    pub fn end_of(&self, line: u32) -> lsp::Position {
        let units = self.line(line).chars().map(|one| one.len_utf16() as u32).sum();
        lsp::Position { line, character: units }
    }

    /// The word at a position, with its range.
    pub fn word(&self, at: lsp::Position) -> Option<(&str, lsp::Range)> {
        let line = self.line(at.line);
        let place = bytes(line, at.character);
        let part = |one: char| one.is_alphanumeric() || one == '_';
        let start =
            place - line[..place].chars().rev().take_while(|c| part(*c)).map(char::len_utf8).sum::<usize>();
        let end = place + line[place..].chars().take_while(|c| part(*c)).map(char::len_utf8).sum::<usize>();
        let unit = |bytes: usize| lsp::Position {
            line: at.line,
            character: line[..bytes].encode_utf16().count() as u32,
        };
        (start < end).then(|| (&line[start..end], lsp::Range { start: unit(start), end: unit(end) }))
    }

    /// Where a line of an older text is now, both from 0; `None` for one that has changed.
    pub fn carried(&self, older: &Text, line: u32) -> Option<u32> {
        let pairs = older.lines.iter().zip(&self.lines);
        let front = pairs.take_while(|(old, new)| old == new).count();
        if (line as usize) < front {
            return Some(line);
        }
        let pairs = older.lines.iter().rev().zip(self.lines.iter().rev());
        let behind = pairs.take_while(|(old, new)| old == new).count();
        let from_end = older.lines.len().checked_sub(line as usize).filter(|left| *left > 0)?;
        (from_end <= behind).then(|| self.lines.len().saturating_sub(from_end) as u32)
    }
}

/// The byte of a line at a number of UTF-16 units; within a character, where that begins.
fn bytes(line: &str, units: u32) -> usize {
    let mut left = units as usize;
    let inside = line.chars().take_while(|one| {
        let fits = one.len_utf16() <= left;
        left = left.saturating_sub(one.len_utf16());
        fits
    });
    inside.map(char::len_utf8).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_utf_16() {
        let text = Text::new("a\r\nlet 𝛼é = x;\n");
        let at = |line, column| text.to_lsp(Position { line, column });
        assert_eq!(at(2, 8), lsp::Position { line: 1, character: 8 });
        assert_eq!(at(2, 99), text.end_of(1));
        assert_eq!(at(0, 0), lsp::Position::new(0, 0));
        assert_eq!(text.word(lsp::Position::new(1, 10)).map(|(word, _)| word), Some("x"));
        let (word, range) = text.word(lsp::Position::new(1, 5)).expect("a word");
        assert_eq!((word, range.start.character, range.end.character), ("𝛼é", 4, 7));
        assert_eq!(text.within(range), Some("𝛼é"));
        // Within a character, beyond the line, beyond the text.
        for at in [(1, 5), (1, 400), (9, 9)] {
            let _ = text.word(lsp::Position::new(at.0, at.1));
        }
    }

    #[test]
    fn lines_are_carried_over_a_change() {
        let (old, new) = (Text::new("a\nb\nc\nd"), Text::new("a\nx\ny\nc\nd"));
        let carried: Vec<_> = (0..5).map(|line| new.carried(&old, line)).collect();
        assert_eq!(carried, [Some(0), None, Some(3), Some(4), None]);
    }
}
