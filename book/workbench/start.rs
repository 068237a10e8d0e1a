//! What a reader starts from: our solution, changed in a few places.
//!
//! ```text
//! // What the exercise asks for.        the comment above the kernel
//! @@ for                                these lines of our solution, which occur in it once
//!     for k in 0..K {
//!         sum += a[[row, k]] * b[[k, col]];
//!     }
//! @@ write                              become these
//!     // Hole: the row of a times the column of b.
//! @@
//! ```
//!
//! Law: what no place names is our solution's to the letter, so an exercise cannot differ from it but where it says so. A
//! text that names no place is the whole kernel.

/// The text that a reader starts from; `None` where a place is in our solution not at all, or twice.
pub fn start(edit: &str, solution: &str) -> Option<String> {
    let mut places = edit.split("@@ for\n");
    let comment = places.next()?;
    let mut text = bare(solution);
    if comment.len() == edit.len() {
        return Some(edit.to_owned());
    }
    for place in places {
        let (ours, theirs) = place.strip_suffix("@@\n")?.split_once("@@ write\n")?;
        // Whole lines: what is before them is the text's begin or a line's end.
        let mut found = text.match_indices(ours).filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
        let (at, _) = found.next()?;
        if found.next().is_some() {
            return None;
        }
        text.replace_range(at..at + ours.len(), theirs);
    }
    Some(comment.to_owned() + &text)
}

/// Without the documentation above it, and without `pub`.
fn bare(solution: &str) -> String {
    let lines = solution.lines().skip_while(|line| line.starts_with("//"));
    lines.map(|line| line.strip_prefix("pub ").unwrap_or(line).to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::start;

    #[test]
    fn places_are_found_once_or_refused() {
        let ours = "/// Doc.\n#[a]\npub fn f() {\n    one();\n    two();\n    one();\n}\n";
        let edit = |of: &str| format!("// Ask.\n@@ for\n{of}@@ write\n    // Hole.\n@@\n");
        let begun = "// Ask.\n#[a]\nfn f() {\n    one();\n    // Hole.\n    one();\n}\n";
        assert_eq!(start(&edit("    two();\n"), ours).as_deref(), Some(begun));
        assert_eq!(start(&edit("    one();\n"), ours), None, "twice");
        assert_eq!(start(&edit("    three();\n"), ours), None, "not at all");
        assert_eq!(start(&edit("two();\n"), ours), None, "a part of a line");
        assert_eq!(start("fn g() {}\n", ours).as_deref(), Some("fn g() {}\n"));
    }
}
