//! How a chapter names a listing: `{{#kernel FILE FUNCTION}}`, on a line of its own, becomes that item as it is in the
//! file; `{{#vocabulary}}` becomes the tables of words, each a link to its page of the documentation, which build.sh makes.
//!
//! Law: a name that is not there is an error, never an empty listing.

use layout_workbench::listing::function;
use std::path::Path;

/// The chapter with its listings, read below the folder `root` of the workspace.
///
/// # Errors
/// A file or a function that is not there.
pub fn expand(root: &Path, chapter: &str) -> Result<String, String> {
    let mut out = String::new();
    for line in chapter.lines() {
        if line == "{{#vocabulary}}" {
            out.push_str(&vocabulary(root)?);
            continue;
        }
        match line.strip_prefix("{{#kernel ").and_then(|rest| rest.strip_suffix("}}")) {
            None => out.push_str(line),
            Some(named) => {
                let (file, name) =
                    named.trim().split_once(' ').ok_or(format!("`{line}`: a file and a function"))?;
                let text =
                    std::fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
                let item = function(&text, name.trim()).ok_or(format!("{file} has no function `{name}`"))?;
                out.push_str(&format!("```rust,ignore\n{item}```"));
            }
        }
        out.push('\n');
    }
    Ok(out)
}

/// rustdoc's page of the words, as sections of a chapter.
fn vocabulary(root: &Path) -> Result<String, String> {
    let file = "layout-core/src/lang/vocabulary.md";
    let text = std::fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
    let row = |line: &str| {
        let (call, rest) = line.strip_prefix("| `")?.split_once('`')?;
        let path = call.split('(').next()?.split("::<").next()?;
        let word = path.rsplit(['.', ':']).next().filter(|_| call.contains('('))?;
        Some(format!("| [`{call}`](doc/layout_core/index.html?search={word}){rest}\n"))
    };
    let line = |line: &str| match line.strip_prefix("# ") {
        Some(head) => format!("## {head}\n"),
        None => row(line).unwrap_or_else(|| format!("{line}\n")),
    };
    // The first line speaks of rustdoc's own pages.
    Ok(text.lines().skip(1).map(line).collect())
}
