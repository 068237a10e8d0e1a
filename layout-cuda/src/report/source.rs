//! The Rust file of a kernel, where it can be read, to show a line of it.
//!
//! Law: a file that has no function of the kernel's name is not shown; what cannot be read is empty.

use std::fs::{metadata, read_to_string};
use std::path::Path;

/// Bytes of a file that is read at most.
const MOST: u64 = 16 << 20;

/// The text of a kernel's file. Its path is relative to where Cargo was called: the working folder, or one above it.
pub(crate) fn source(file: &str, kernel: &str) -> String {
    let own = |text: &String| {
        let mut parts = text.split("fn ").skip(1);
        parts.any(|part| part.strip_prefix(kernel).is_some_and(|rest| rest.starts_with(['(', '<', ' '])))
    };
    let read = |path: &Path| {
        let small = metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MOST);
        small.then(|| read_to_string(path).ok()).flatten().filter(own)
    };
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().find_map(|folder| read(&folder.join(file))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_from_the_packages_folder() {
        // Relative to the workspace; tests run in the package's folder.
        assert!(source(file!(), "source").contains("a_file_is_found_from"));
        for (file, kernel) in [(file!(), "sour"), (file!(), "other"), ("src/none.rs", "source"), ("", "")] {
            assert_eq!(source(file, kernel), "", "{file}, {kernel}");
        }
    }
}
