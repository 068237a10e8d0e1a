//! A `libnvrtc` that somebody planted is never loaded: not from the working folder, a parent of it, a relative entry of a search
//! path, or a folder that everybody may write; and `doctor` says why.
//!
//! Law: the planted library writes a file when it is loaded. That it does so where `LAYOUT_NVRTC` names it shows that the
//! test would see it.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says in a constructor that it was loaded.
const LIBRARY: &str = r#"
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOADED: extern "C" fn() = loaded;
    extern "C" fn loaded() {
        if let Some(file) = std::env::var_os("PLANTED") {
            let _ = std::fs::write(file, b"loaded");
        }
    }
"#;

/// What the processes below do: look for NVRTC, and say what they found.
#[test]
fn a_program_that_looks_for_nvrtc() {
    if std::env::var_os("PLANTED").is_some() {
        let compiled = layout_cuda::nvrtc::compile("", "sm_80", &[]).map(|compiled| compiled.cubin.len());
        println!("{}\ncompiled {compiled:?}", layout_cuda::doctor());
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let name = format!("layout-loaded-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder for a test");
        Folder(fs::canonicalize(path).expect("the folder just made"))
    }

    /// The library at this place below the folder.
    fn plant(&self, library: &Path, place: &str) {
        let file = self.0.join(place);
        fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        fs::copy(library, file).expect("a copy");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether the planted library was loaded by a program that starts in `current` with these variables alone, and what it printed.
fn run(folder: &Folder, current: &str, variables: &[(&str, String)]) -> (bool, String) {
    let marker = folder.0.join("marker");
    let _ = fs::remove_file(&marker);
    let current = folder.0.join(current);
    fs::create_dir_all(&current).expect("a folder");
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "a_program_that_looks_for_nvrtc", "--nocapture"])
        .env_clear()
        .env("PLANTED", &marker)
        .env("LAYOUT_CACHE", "off")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .current_dir(current)
        .output()
        .expect("this program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (marker.exists(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn planted_libraries_are_not_loaded() {
    let folder = Folder::new();
    let source = folder.0.join("planted.rs");
    fs::write(&source, LIBRARY).expect("a file");
    let library = folder.0.join("planted.so");
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let built = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .args([&library, &source])
        .status();
    if !built.as_ref().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: rustc makes no library here: {built:?}");
    }
    let at = |place: &str| folder.0.join(place).display().to_string();

    // Named, it is loaded.
    folder.plant(&library, "named/libnvrtc.so.13");
    let (loaded, text) = run(&folder, "empty", &[("LAYOUT_NVRTC", at("named"))]);
    assert!(loaded, "the test sees what is loaded: {text}");

    let packages = "lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13.99";
    folder.plant(&library, "work/target/nvrtc/nvidia/cu13/lib/libnvrtc.so.13.99");
    folder.plant(&library, &format!("relative/{packages}"));
    fs::create_dir_all(folder.0.join("relative/bin")).expect("a folder");
    fs::write(folder.0.join("relative/bin/python3"), b"").expect("a file");
    folder.plant(&library, "toolkit/lib64/libnvrtc.so.13.99");
    folder.plant(&library, &format!("venv/{packages}"));
    for open in ["toolkit/lib64", "venv/lib"] {
        fs::set_permissions(folder.0.join(open), fs::Permissions::from_mode(0o777)).expect("own folders");
    }
    let working = "it is in the working folder or a parent of it";
    let relative = "its path is relative to the working folder";
    let open = |folder: &str| format!("other users may write {} (mode 777)", at(folder));
    type Variables = Vec<(&'static str, String)>;
    let cases: [(&str, Variables, String); 8] = [
        ("work", vec![], working.into()),
        ("work/deep/down", vec![], working.into()),
        // A package that Cargo does not run the program for makes no difference.
        ("work", vec![("CARGO_MANIFEST_DIR", at("empty"))], working.into()),
        ("relative", vec![("PATH", "bin".into())], relative.into()),
        ("relative", vec![("PATH", "/nowhere:./bin:".into())], relative.into()),
        ("relative", vec![("PYTHONPATH", "lib/python3.12/site-packages".into())], relative.into()),
        ("empty", vec![("CUDA_HOME", at("toolkit"))], open("toolkit/lib64")),
        ("empty", vec![("VIRTUAL_ENV", at("venv"))], open("venv/lib")),
    ];
    for (current, variables, why) in cases {
        let (loaded, text) = run(&folder, current, &variables);
        assert!(!loaded, "loaded in {current} with {variables:?}: {text}");
        assert!(text.contains("libnvrtc.so.13.99") && text.contains(&why), "{variables:?}: {text}");
    }

    // Closed to others, the same folders are taken.
    fs::set_permissions(folder.0.join("toolkit/lib64"), fs::Permissions::from_mode(0o755))
        .expect("own folders");
    let (loaded, text) = run(&folder, "empty", &[("CUDA_HOME", at("toolkit"))]);
    assert!(loaded, "{text}");
    // So is `target/nvrtc` of a package that Cargo runs the program for.
    fs::write(folder.0.join("work/Cargo.toml"), b"").expect("a file");
    let (loaded, text) = run(&folder, "empty", &[("CARGO_MANIFEST_DIR", at("work"))]);
    assert!(loaded, "{text}");
}
