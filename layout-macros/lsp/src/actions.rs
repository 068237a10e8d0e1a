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
    let touches = |one: &Range| one.start.line <= range.end.line && range.start.line <= one.end.line;
    // The places of kernels are those of their text.
    let is_present = *text == analysis.text;
    let around = |line: u32| analysis.kernel_at(line + 1).filter(|_| is_present);
    let mut found: Vec<(String, TextEdit, Option<Diagnostic>)> = Vec::new();
    let mut add = |edits: Vec<(String, TextEdit)>, diagnostic: Option<&Diagnostic>| {
        for (title, edit) in edits {
            if !found.iter().any(|(known, old, _)| (known, old) == (&title, &edit)) {
                found.push((title, edit, diagnostic.cloned()));
            }
        }
    };
    for one in diagnostics(analysis, text).iter().filter(|one| touches(&one.range)) {
        if let Some((_, help)) = one.message.split_once("= help: ") {
            add(edits(around(one.range.start.line), text, help, one.range), Some(one));
        }
    }
    // What is no error, but lost.
    for (known, variant) in analysis.variants().filter(|_| is_present) {
        for access in &variant.explanation.accesses {
            let at = text.range(access.position, access.position);
            for lost in access.degraded.iter().filter(|_| touches(&at)) {
                add(edits(Some(known), text, &lost.help, at), None);
            }
        }
    }
    let list = found.into_iter().map(|(title, edit, diagnostic)| action(title, edit, uri, diagnostic));
    let own = around(range.start.line).map(|known| CodeActionOrCommand::Command(test(known, uri)));
    list.chain(own).collect()
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

/// The edits that a help carries, each with its title; entries are for the attribute of the kernel.
fn edits(kernel: Option<&Known>, text: &Text, help: &str, range: Range) -> Vec<(String, TextEdit)> {
    let word = |text: &str| text.chars().all(|one| one.is_alphanumeric() || one == '_');
    let pieces = help.split('`').skip(1).step_by(2).filter(|piece| !piece.contains(".."));
    if help.ends_with("` meant?") {
        let named = pieces.filter(|piece| word(piece) && text.within(range).is_some_and(word));
        return named.map(|name| (format!("write `{name}`"), TextEdit::new(range, name.into()))).collect();
    }
    let Some((known, (end, closed))) = kernel.and_then(|known| Some((known, known.file.entries?))) else {
        return vec![];
    };
    let written = attribute(known, text);
    let entry = |piece: &&str| {
        let (name, rest) = piece.split_at(piece.find([' ', '(']).unwrap_or(piece.len()));
        let call = ["require", "variant_if"].contains(&name) && rest.ends_with(')');
        call || ONCE.contains(&name) && rest.starts_with(" = ") && !written.contains(&format!("{name} ="))
    };
    let before = if closed { " " } else { ", " };
    let added =
        |piece| (format!("add `{piece}`"), TextEdit::new(text.range(end, end), format!("{before}{piece}")));
    pieces.filter(entry).map(added).collect()
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
