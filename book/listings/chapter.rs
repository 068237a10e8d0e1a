//! How a chapter names a listing: `{{#kernel FILE FUNCTION}}`, on a line of its own, becomes that item as it is in the
//! file.
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
