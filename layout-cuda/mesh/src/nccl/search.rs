//! Where NCCL may lie.
//!
//! Law: what `LAYOUT_NCCL` names alone, if it is set; else the loader's own names, then the folders of pip, conda and the
//! toolkit. Nothing but folders is read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The names of the library, newest way of naming first.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// What to try to load, in order, and the folders that were looked at.
pub(crate) fn candidates(variable: &dyn Fn(&str) -> Option<OsString>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = path("LAYOUT_NCCL") {
        if named.is_file() {
            return (vec![named], vec![]);
        }
        let folders = vec![named.clone(), named.join("lib"), named.join("nvidia/nccl/lib")];
        return (files(&folders), folders);
    }
    let mut folders = Vec::new();
    for home in ["NCCL_HOME", "CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(path) {
        folders.extend([home.join("lib"), home.join("lib64")]);
    }
    let mut prefixes: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(path).collect();
    // The first python3 of the search path: as it is named, which is a virtual environment's, and what that points to.
    let python = variable("PATH").and_then(|list| {
        std::env::split_paths(&list).map(|folder| folder.join("python3")).find(|file| file.is_file())
    });
    let above = |file: &Path| Some(file.parent()?.parent()?.to_path_buf());
    prefixes.extend(python.as_deref().and_then(above));
    prefixes.extend(python.and_then(|file| above(&std::fs::canonicalize(file).ok()?)));
    prefixes.extend(path("HOME").map(|home| home.join(".local")));
    prefixes.extend(["/usr/local", "/usr"].map(PathBuf::from));
    for prefix in prefixes {
        folders.push(prefix.join("lib"));
        let entries = std::fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
        let mut pythons: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        pythons.retain(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"))
        });
        pythons.sort();
        for packages in
            pythons.iter().flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        {
            folders.push(packages.join("nvidia/nccl/lib"));
        }
    }
    folders.extend(["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"].map(PathBuf::from));
    folders.retain(|folder| folder.is_dir());
    folders.dedup();
    let mut list: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).collect();
    list.extend(files(&folders));
    (list, folders)
}

fn files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let all = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    all.filter(|file| file.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_taken_alone() {
        let named = |_: &str| Some(OsString::from("no/such/folder"));
        let (files, folders) = candidates(&named);
        assert_eq!((files.len(), folders.len()), (0, 3));
        let (files, _) = candidates(&|_| None);
        assert_eq!(files[0], PathBuf::from("libnccl.so.2"), "the loader's own comes first");
    }
}
