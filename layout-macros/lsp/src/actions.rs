//! Code actions and lenses: the replacements that helps carry, and the tests of a kernel as a command.
//!
//! Law: an action is text that a help has between backquotes: a name in place of one (`is .. meant?`), or an entry for the
//! attribute (`require(..)`, `variant_if(..)`, `arch = ..`). A help with `..` in it is no replacement.

use crate::analysis::{Analysis, Known};
use crate::diagnostics::diagnostics;
use crate::text::Text;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeLens, Command, Diagnostic, Position, Range,
    TextEdit, Uri, WorkspaceEdit,
};
use std::collections::HashMap;

/// The command that runs a kernel's tests.
pub const TEST: &str = "layout.test";

/// Entries that an attribute has once.
const ONCE: [&str; 5] = ["arch", "block", "grid", "cooperative", "min_blocks"];

/// The actions for a range of the document.
pub fn actions(analysis: &Analysis, text: &Text, uri: &Uri, range: Range) -> Vec<CodeActionOrCommand> {
    let mut list: Vec<CodeActionOrCommand> = Vec::new();
    let touches = |one: &Range| one.start.line <= range.end.line && range.start.line <= one.end.line;
    for diagnostic in diagnostics(analysis, text).into_iter().filter(|one| touches(&one.range)) {
        let Some((_, help)) = diagnostic.message.split_once("= help: ") else { continue };
        let edits = edits(analysis, text, help, diagnostic.range);
        list.extend(
            edits.into_iter().map(|(title, edit)| action(title, edit, uri, Some(diagnostic.clone()))),
        );
    }
    // What is no error, but lost: the places are those of the kernels' text.
    if text == &analysis.text {
        for (_, variant) in analysis.variants() {
            for access in &variant.explanation.accesses {
                let at = text.to_lsp(access.position);
                let at = Range { start: at, end: at };
                for lost in access.degraded.iter().filter(|_| touches(&at)) {
                    let edits = edits(analysis, text, &lost.help, at);
                    list.extend(edits.into_iter().map(|(title, edit)| action(title, edit, uri, None)));
                }
            }
        }
    }
    let mut titles = Vec::new();
    list.retain(|one| match one {
        CodeActionOrCommand::CodeAction(action) => {
            let new = !titles.contains(&(action.title.clone(), action.edit.clone()));
            titles.push((action.title.clone(), action.edit.clone()));
            new
        }
        CodeActionOrCommand::Command(_) => true,
    });
    let own = text_line(analysis, text, range.start).and_then(|line| analysis.kernel_at(line));
    list.extend(own.map(|known| CodeActionOrCommand::Command(test(known, uri))));
    list
}

/// The line of the kernels' text, from 1, of a place.
fn text_line(analysis: &Analysis, text: &Text, at: Position) -> Option<u32> {
    Some(analysis.text.carried(text, at.line)? + 1)
}

#[expect(clippy::mutable_key_type, reason = "a URI is compared and hashed by its text")]
fn action(title: String, edit: TextEdit, uri: &Uri, diagnostic: Option<Diagnostic>) -> CodeActionOrCommand {
    let changes = HashMap::from([(uri.clone(), vec![edit])]);
    CodeActionOrCommand::CodeAction(CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: diagnostic.map(|one| vec![one]),
        edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
        ..CodeAction::default()
    })
}

/// The edits that a help carries, each with its title.
fn edits(analysis: &Analysis, text: &Text, help: &str, range: Range) -> Vec<(String, TextEdit)> {
    let pieces = help.split('`').skip(1).step_by(2).filter(|piece| !piece.contains(".."));
    if help.starts_with("is `") && help.ends_with("` meant?") {
        let word = |text: &str| text.chars().all(|one| one.is_alphanumeric() || one == '_');
        let names = text.within(range).is_some_and(word);
        let named = pieces.filter(|piece| names && word(piece));
        return named.map(|name| (format!("write `{name}`"), TextEdit::new(range, name.into()))).collect();
    }
    let Some(known) = text_line(analysis, text, range.start).and_then(|line| analysis.kernel_at(line)) else {
        return vec![];
    };
    let Some((end, closed)) = known.file.entries.filter(|_| *text == analysis.text) else { return vec![] };
    let written = attribute(known, text);
    let entry = |piece: &&str| {
        let name: String = piece.chars().take_while(|one| one.is_alphabetic() || *one == '_').collect();
        let call = ["require", "variant_if"].contains(&name.as_str()) && piece.ends_with(')');
        let once = ONCE.contains(&name.as_str()) && piece[name.len()..].starts_with(" = ");
        call || once && !written.contains(&format!("{name} ="))
    };
    let end = text.to_lsp(end);
    let insert = |piece: &str| format!("{}{piece}", if closed { " " } else { ", " });
    let added = pieces.filter(entry);
    added
        .map(|piece| (format!("add `{piece}`"), TextEdit::new(Range { start: end, end }, insert(piece))))
        .collect()
}

/// The lines of a kernel's attribute, up to its name.
fn attribute(known: &Known, text: &Text) -> String {
    let (first, last) = (known.file.whole.0.line, known.file.named.0.line);
    (first..=last).map(|line| text.line(line.saturating_sub(1))).collect::<Vec<_>>().join("\n")
}

/// A lens at each kernel.
pub fn lenses(analysis: &Analysis, text: &Text, uri: &Uri) -> Vec<CodeLens> {
    let lens = |known: &Known| {
        let line = text.carried(&analysis.text, known.file.named.0.line.saturating_sub(1))?;
        let start = Position { line, character: 0 };
        Some(CodeLens {
            range: Range { start, end: text.end_of(line) },
            command: Some(test(known, uri)),
            data: None,
        })
    };
    analysis.kernels.iter().filter_map(lens).collect()
}

fn test(known: &Known, uri: &Uri) -> Command {
    let name = &known.file.name;
    Command {
        title: format!("run the tests of `{name}`"),
        command: TEST.into(),
        arguments: Some(vec![uri.as_str().into(), name.as_str().into()]),
    }
}
