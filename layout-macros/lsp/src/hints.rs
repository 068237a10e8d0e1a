//! Inlay hints: the layout of a view behind its name, and what a line's accesses cost at its end.
//!
//! Law: a hint is a line of `explain`, in fewer words; its tooltip has the reasons and the ways out. A hint of a line that has
//! changed since is left out.

use crate::analysis::{Analysis, Variant};
use crate::text::Text;
use layout_compiler::{Explained, Position, Transport};
use lsp_types::{self as lsp, InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip};
use std::collections::BTreeMap;

/// The most characters of a label.
const LABEL: usize = 120;

/// The parts of a line's label, and the lines of its tooltip.
type Line = (Vec<String>, Vec<String>);

/// The hints of the lines of a range.
pub fn hints(analysis: &Analysis, text: &Text, range: lsp::Range) -> Vec<InlayHint> {
    let mut list = Vec::new();
    let mut lines: BTreeMap<u32, Line> = BTreeMap::new();
    for (_, variant) in analysis.variants() {
        names(analysis, variant, &mut list);
        variant.explanation.accesses.iter().for_each(|access| accessed(access, variant, &mut lines));
        for costly in &variant.explanation.arithmetic {
            let (parts, tooltip) = lines.entry(costly.position.line).or_default();
            add(parts, format!("costly: {}", costly.what));
            add(tooltip, format!("{}\n= help: {}", costly.what, costly.help));
        }
    }
    for (line, (parts, tooltip)) in lines {
        let line = line.saturating_sub(1);
        let mut label = parts.join(" · ");
        if label.chars().count() > LABEL {
            label = label.chars().take(LABEL).chain(['…']).collect();
        }
        let position = analysis.text.end_of(line);
        list.push(hint(position, label, Some(tooltip.join("\n")), true));
    }
    for (name, at) in &analysis.missing {
        let label = format!("kernels not shown: no file of this package has `open = {name}`");
        list.push(hint(analysis.text.end_of(at.line.saturating_sub(1)), label, None, true));
    }
    list.retain_mut(|hint| {
        let now = text.carried(&analysis.text, hint.position.line);
        hint.position.line = now.unwrap_or_default();
        now.is_some_and(|line| (range.start.line..=range.end.line).contains(&line))
    });
    list.sort_by_key(|hint| hint.position);
    list
}

fn hint(position: lsp::Position, label: String, tooltip: Option<String>, padding: bool) -> InlayHint {
    InlayHint {
        position,
        label: InlayHintLabel::String(label),
        kind: (!padding).then_some(InlayHintKind::TYPE),
        text_edits: None,
        tooltip: tooltip.map(InlayHintTooltip::String),
        padding_left: Some(padding),
        padding_right: None,
        data: None,
    }
}

fn add(list: &mut Vec<String>, part: String) {
    if !list.contains(&part) {
        list.push(part);
    }
}

/// The layouts of the views that the variant binds; of one that several kernels bind the first.
fn names(analysis: &Analysis, variant: &Variant, list: &mut Vec<InlayHint>) {
    for view in &variant.views {
        let start = analysis.text.to_lsp(view.position);
        // A function of another file has the kernel's place, where no view is bound.
        let Some((name, range)) = analysis.text.word(start).filter(|(_, range)| range.start == start) else {
            continue;
        };
        if name != "fn" && !list.iter().any(|known| known.position == range.end) {
            list.push(hint(range.end, format!(": {view}"), None, false));
        }
    }
}

/// What an access adds to its line.
fn accessed(access: &Explained, variant: &Variant, lines: &mut BTreeMap<u32, Line>) {
    let (parts, tooltip) = lines.entry(access.position.line).or_default();
    let way = if access.writes { "write" } else { "read" };
    let space = if access.shared { "shared" } else { "global" };
    let mut part = format!("{way} {}", access.tensor);
    match (access.bytes, access.means) {
        (0, means) => part += &format!(" {means}"),
        (1, Transport::Thread) => part += " 1 byte",
        (bytes, Transport::Thread) => part += &format!(" {bytes} bytes"),
        (bytes, means) => part += &format!(" {bytes} bytes {means}"),
    }
    let full = format!("{space} {part}");
    let place = |position: Position| (position, access.tensor.as_str(), access.writes);
    let conflict = variant.conflicts.iter().find(|one| {
        (one.position, one.tensor.as_str(), one.writes) == place(access.position) && access.shared
    });
    let mut reasons = Vec::new();
    if let Some(conflict) = conflict {
        part += &format!(", {}-way bank conflict", conflict.ways);
        reasons.push(format!("{}-way bank conflict in the first warp", conflict.ways));
    }
    for lost in &access.degraded {
        part += &format!(", {}: {}", lost.what, lost.reason);
        reasons.push(format!("{}: {}\n= help: {}", lost.what, lost.reason, lost.help));
    }
    add(parts, part);
    add(tooltip, std::iter::once(full).chain(reasons).collect::<Vec<_>>().join("\n"));
}
