//! Where the functions of `functions = NAME` are: the file of the package with a module of `open = NAME`.
//!
//! Law: an open document is read before the file on disk. Other packages are not searched: their macros are rustc's to find.

use layout_text::Source;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The most files of a package that are read to find one module.
const MOST: usize = 2_000;

/// The files that were found.
#[derive(Debug, Default)]
pub struct Modules {
    /// By the package's folder and the module's name; `None` where no file has it.
    known: HashMap<(PathBuf, String), Option<PathBuf>>,
}

impl Modules {
    /// Forgets what was found: files may be others.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// The file with the open module, searched from the folder of the file that names it.
    pub fn find(&mut self, from: &Path, name: &str, open: &HashMap<PathBuf, String>) -> Option<Source> {
        let folder = from.parent()?;
        let package = folder.ancestors().find(|one| one.join("Cargo.toml").is_file()).unwrap_or(folder);
        let text = |path: &Path| open.get(path).cloned().or_else(|| std::fs::read_to_string(path).ok());
        let key = (package.to_owned(), name.to_owned());
        let path = self.known.entry(key).or_insert_with(|| {
            let mut files = Vec::new();
            collect(folder, false, &mut files);
            collect(&package.join("src"), true, &mut files);
            files.into_iter().find(|path| text(path).is_some_and(|text| opens(&text, name)))
        });
        let path = path.as_ref()?;
        Some(Source { name: path.to_string_lossy().into_owned(), text: text(path)? })
    }
}

/// Whether a text has `open = NAME`.
fn opens(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].trim_end().strip_suffix('=');
        before.is_some_and(|before| before.trim_end().ends_with("open"))
    })
}

fn collect(folder: &Path, below: bool, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if files.len() >= MOST {
            return;
        }
        // Links are not followed, so that this ends.
        if below && kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
            collect(&path, true, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}
