//! Every test is compiled: a file with `#[test]` that no test program contains runs nothing.
//!
//! Law: each such file is the root of a target that Cargo tests, or a module of one.

use crate::tidy::{Source, none, root, sources};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The roots of the targets that Cargo makes test programs of.
fn roots() -> Vec<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("the metadata");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let targets = packages.flat_map(|package| package["targets"].as_array().expect("targets"));
    let tested = targets.filter(|target| target["test"] == true);
    tested.map(|target| PathBuf::from(target["src_path"].as_str().expect("a path"))).collect()
}

/// A file and the files of its modules.
fn reach(file: &Path, reached: &mut BTreeSet<PathBuf>) {
    let Ok(path) = file.canonicalize() else { return };
    if !reached.insert(path) {
        return;
    }
    let text = std::fs::read_to_string(file).expect("a source");
    let folder = file.parent().expect("a folder");
    // The modules of `mod.rs` and of a root are next to it, those of `a.rs` in `a/`: looked for in both.
    let own = folder.join(file.file_stem().expect("a name"));
    let mut path = None;
    for line in text.lines().map(str::trim) {
        if let Some(written) = line.strip_prefix("#[path = \"") {
            path = written.split('"').next().map(|path| folder.join(path));
        }
        let line = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) else { continue };
        if let Some(path) = path.take() {
            reach(&path, reached);
            continue;
        }
        for folder in [folder, &own] {
            reach(&folder.join(format!("{name}.rs")), reached);
            reach(&folder.join(name).join("mod.rs"), reached);
        }
    }
}

#[test]
fn every_test_is_in_a_test_program() {
    let mut reached = BTreeSet::new();
    let roots = roots();
    assert!(roots.len() > 40, "only {} test programs", roots.len());
    roots.iter().for_each(|root| reach(root, &mut reached));
    let missing = |Source { path, text }: Source| {
        // A workspace of its own, with a script of its own.
        if path.starts_with("examples/candle/") {
            return None;
        }
        let tests = text.lines().any(|line| line.trim() == "#[test]");
        let file = root().join(&path).canonicalize().expect("a source");
        (tests && !reached.contains(&file)).then_some(path)
    };
    none(
        sources(&[".rs"]).into_iter().filter_map(missing).collect(),
        "a file with tests is in a test program",
    );
}
