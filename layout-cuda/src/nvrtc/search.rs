//! Where NVRTC may lie: a list of folders, and the library files in them.
//!
//! Law: the search reads folders only, runs no other program, and its order is fixed: what `LAYOUT_NVRTC`
//! names alone if it is set, else all libraries found, those that the driver can take first, newest first.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// One `libnvrtc.so.X` on disk, not loaded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The library itself.
    pub library: PathBuf,
    /// The builtins library that it opens by its bare name, when one lies in the same folder.
    pub builtins: Option<PathBuf>,
    /// The version that the file names tell, `(major, minor)`; the minor number is 0 where no name tells it.
    pub version: (u32, u32),
}

impl Found {
    /// Tells this file from any other version of NVRTC without loading it: name, version, size and time of change.
    pub fn identity(&self) -> String {
        let name = self.library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = fs::metadata(&self.library);
        let size = file.as_ref().map_or(0, |file| file.len());
        let changed = file.and_then(|file| file.modified()).ok();
        let since = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let (major, minor) = self.version;
        format!("{name} {major}.{minor}, {size} bytes of {}", since.map_or(0, |since| since.as_secs()))
    }
}

/// What the search may read of its surroundings, so that tests can give their own.
pub struct Surroundings<'a> {
    /// An environment variable, `None` when unset or empty.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The folder that `target/nvrtc` is looked for in, and in its parents.
    pub current: Option<PathBuf>,
    /// The program as it was called: an interpreter of a virtual environment stands in the environment's `bin`.
    pub program: Option<PathBuf>,
    /// The root of the file system.
    pub root: PathBuf,
}

/// The process's own surroundings.
pub fn surroundings() -> Surroundings<'static> {
    Surroundings {
        variable: &|name| std::env::var_os(name).filter(|value| !value.is_empty()),
        current: std::env::current_dir().ok(),
        program: std::env::args_os().next().map(PathBuf::from),
        root: PathBuf::from("/"),
    }
}

/// The folders to look in, most particular first, without repetition. Folders that do not exist are left out.
pub fn folders(around: &Surroundings<'_>) -> Vec<PathBuf> {
    let variable = |name: &str| (around.variable)(name).map(PathBuf::from);
    let mut list = Vec::new();

    for up in around.current.iter().flat_map(|folder| folder.ancestors()) {
        site_packages(&up.join("target/nvrtc"), &mut list);
    }
    for name in ["CUDA_PATH", "CUDA_HOME"] {
        if let Some(toolkit) = variable(name) {
            toolkit_folders(&toolkit, &mut list);
        }
    }
    for toolkit in children(&around.root.join("usr/local"), "cuda") {
        toolkit_folders(&toolkit, &mut list);
    }

    let mut prefixes: Vec<PathBuf> = Vec::new();
    prefixes.extend(variable("VIRTUAL_ENV"));
    prefixes.extend(variable("CONDA_PREFIX"));
    let program = around.program.as_deref().filter(|program| program.is_absolute());
    prefixes.extend(program.and_then(prefix_of));
    prefixes.extend(python_prefixes(variable("PATH")));
    let home = variable("HOME");
    prefixes.extend(home.iter().map(|home| home.join(".local")));
    let pyenv = variable("PYENV_ROOT").or_else(|| home.map(|home| home.join(".pyenv")));
    prefixes.extend(pyenv.iter().flat_map(|root| children(&root.join("versions"), "")));
    prefixes.push(around.root.join("usr/local"));
    prefixes.push(around.root.join("usr"));
    for prefix in prefixes {
        list.push(prefix.join("lib")); // conda's packages put it here
        for python in children(&prefix.join("lib"), "python3") {
            site_packages(&python.join("site-packages"), &mut list);
            site_packages(&python.join("dist-packages"), &mut list);
        }
    }
    if let Some(paths) = variable("PYTHONPATH") {
        std::env::split_paths(&paths).for_each(|path| site_packages(&path, &mut list));
    }
    list.push(around.root.join("usr/lib/x86_64-linux-gnu"));
    list.push(around.root.join("usr/lib/aarch64-linux-gnu"));

    let mut seen = BTreeSet::new();
    list.retain(|folder| folder.is_dir() && seen.insert(folder.clone()));
    list
}

/// The libraries of one folder, newest first; a version that several names point to is listed once.
pub fn libraries(folder: &Path) -> Vec<Found> {
    let builtins = |major: u32| {
        let mut found: Vec<_> = children(folder, "libnvrtc-builtins.so.")
            .into_iter()
            .filter_map(|path| Some((version(&path, "libnvrtc-builtins.so.")?, path)))
            .filter(|((its, _), _)| *its == major)
            .collect();
        found.sort();
        found.pop()
    };
    let mut list: Vec<Found> = children(folder, "libnvrtc.so.")
        .into_iter()
        .filter_map(|library| {
            let (major, minor) = version(&library, "libnvrtc.so.")?;
            let builtins = builtins(major);
            let minor = minor.or(builtins.as_ref().and_then(|((_, minor), _)| *minor));
            let builtins = builtins.map(|(_, path)| path);
            Some(Found { library, builtins, version: (major, minor.unwrap_or(0)) })
        })
        .collect();
    list.sort_by(|a, b| b.version.cmp(&a.version).then(a.library.cmp(&b.library)));
    let mut seen = BTreeSet::new();
    list.retain(|found| seen.insert(fs::canonicalize(&found.library).unwrap_or(found.library.clone())));
    list
}

/// All libraries of all folders in the order in which they are to be tried. A CUBIN of a newer major version than the
/// driver's may not load, so those come last; `driver` is the driver's CUDA version where there is a driver.
pub fn all(folders: &[PathBuf], driver: Option<(u32, u32)>) -> Vec<Found> {
    let mut list: Vec<Found> = folders.iter().flat_map(|folder| libraries(folder)).collect();
    let too_new = |found: &Found| driver.is_some_and(|(major, _)| found.version.0 > major);
    list.sort_by(|a, b| too_new(a).cmp(&too_new(b)).then(b.version.cmp(&a.version)));
    let mut seen = BTreeSet::new();
    list.retain(|found| seen.insert(fs::canonicalize(&found.library).unwrap_or(found.library.clone())));
    list
}

/// What `LAYOUT_NVRTC` names: a library, a folder with libraries, or a folder that pip installed into.
pub fn named(path: &Path) -> Vec<Found> {
    if path.is_file() {
        let beside = path.parent().map(libraries).unwrap_or_default();
        let same = |found: &Found| fs::canonicalize(&found.library).ok() == fs::canonicalize(path).ok();
        let known = beside.into_iter().find(same);
        return vec![
            known.map_or(Found { library: path.to_path_buf(), builtins: None, version: (0, 0) }, |found| {
                Found { library: path.to_path_buf(), ..found }
            }),
        ];
    }
    let mut list = vec![path.to_path_buf()];
    site_packages(path, &mut list);
    toolkit_folders(path, &mut list);
    all(&list, None)
}

/// A toolkit's library folders.
fn toolkit_folders(toolkit: &Path, list: &mut Vec<PathBuf>) {
    list.push(toolkit.join("lib64"));
    for target in children(&toolkit.join("targets"), "") {
        list.push(target.join("lib"));
    }
}

/// The folders that the pip packages `nvidia-cuda-nvrtc` and `nvidia-cuda-nvrtc-cu12` fill.
fn site_packages(folder: &Path, list: &mut Vec<PathBuf>) {
    let nvidia = folder.join("nvidia");
    let mut cuda = children(&nvidia, "cu");
    cuda.reverse();
    list.extend(cuda.into_iter().map(|package| package.join("lib")));
}

/// The folder that a program's `bin` is in.
fn prefix_of(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.to_path_buf())
}

/// The prefixes of the first `python3` of the search path: as it is named there, which a virtual environment's is, and with links
/// followed.
fn python_prefixes(path: Option<PathBuf>) -> Vec<PathBuf> {
    let Some(path) = path else { return Vec::new() };
    let mut named = std::env::split_paths(&path).map(|folder| folder.join("python3"));
    let python = named.find(|file| file.is_file());
    let real = python.as_ref().and_then(|python| fs::canonicalize(python).ok());
    python.iter().chain(&real).filter_map(|program| prefix_of(program)).collect()
}

/// The entries of a folder whose names begin with `prefix`, sorted; none where it cannot be read.
pub(crate) fn children(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut list: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(prefix))
        })
        .collect();
    list.sort();
    list
}

/// The numbers after `prefix` in a file's name: `libnvrtc.so.13.0.88` is `(13, Some(0))`.
fn version(file: &Path, prefix: &str) -> Option<(u32, Option<u32>)> {
    let rest = file.file_name()?.to_str()?.strip_prefix(prefix)?;
    let mut numbers = rest.split('.').map(|part| part.parse::<u32>());
    let major = numbers.next()?.ok()?;
    Some((major, numbers.next().and_then(|minor| minor.ok())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    fn touch(root: &Path, path: &str) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("folder");
        fs::write(file, b"").expect("file");
    }

    fn search(
        root: &Path,
        current: &str,
        variables: &[(&str, &str)],
        driver: Option<(u32, u32)>,
    ) -> Vec<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(its, _)| *its == name)?;
            Some(root.join(found.1).into_os_string())
        };
        let around = Surroundings {
            variable: &variable,
            current: Some(root.join(current)),
            program: Some(root.join("run/bin/python")),
            root: root.to_path_buf(),
        };
        let found = all(&folders(&around), driver);
        let relative = |found: &Found| {
            let path = found.library.strip_prefix(root).expect("below the root");
            format!("{} {}.{}", path.display(), found.version.0, found.version.1)
        };
        found.iter().map(relative).collect()
    }

    #[test]
    fn places() {
        let folder = TestFolder::new("search");
        let root = folder.path();
        for file in [
            "work/target/nvrtc/nvidia/cu13/lib/libnvrtc.so.13",
            "work/target/nvrtc/nvidia/cu13/lib/libnvrtc.alt.so.13",
            "work/target/nvrtc/nvidia/cu13/lib/libnvrtc-builtins.so.13.0",
            "work/deep/down/file",
            "usr/local/cuda-12.4/lib64/libnvrtc.so.12.4.99",
            "usr/local/cuda-12.8/targets/x86_64-linux/lib/libnvrtc.so.12.8.61",
            "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "home/.pyenv/versions/3.11.2/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
            "conda/lib/libnvrtc.so.11.8.89",
            "toolkit/lib64/libnvrtc.so.13.1.5",
        ] {
            touch(root, file);
        }
        let cu13 = "work/target/nvrtc/nvidia/cu13/lib/libnvrtc.so.13 13.0";
        let local = [
            "usr/local/cuda-12.8/targets/x86_64-linux/lib/libnvrtc.so.12.8.61 12.8",
            "usr/local/cuda-12.4/lib64/libnvrtc.so.12.4.99 12.4",
        ];
        assert_eq!(search(root, "work/deep/down", &[], None), [cu13, local[0], local[1]]);
        assert_eq!(search(root, "home", &[], None), local);
        assert_eq!(
            search(root, "work", &[], Some((12, 8))),
            [local[0], local[1], cu13],
            "a CUBIN of a newer major version than the driver's comes last"
        );
        let venv = "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12 12.0";
        assert_eq!(search(root, "home", &[("VIRTUAL_ENV", "venv")], None), [local[0], local[1], venv]);
        // A virtual environment's interpreter is a link to one elsewhere.
        touch(root, "base/bin/python3");
        fs::create_dir_all(root.join("venv/bin")).expect("a folder");
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("base/bin/python3"), root.join("venv/bin/python3"))
            .expect("link");
        assert_eq!(search(root, "home", &[("PATH", "venv/bin")], None), [local[0], local[1], venv]);
        let pyenv =
            "home/.pyenv/versions/3.11.2/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13 13.0";
        assert_eq!(search(root, "home", &[("HOME", "home")], None), [pyenv, local[0], local[1]]);
        let conda = "conda/lib/libnvrtc.so.11.8.89 11.8";
        assert_eq!(search(root, "home", &[("CONDA_PREFIX", "conda")], None), [local[0], local[1], conda]);
        let run = "run/lib/python3.14/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
        touch(root, run);
        assert_eq!(search(root, "home", &[], None)[0], format!("{run} 13.0"), "the interpreter that runs");
        fs::remove_file(root.join(run)).expect("a file");
        let toolkit = "toolkit/lib64/libnvrtc.so.13.1.5 13.1";
        assert_eq!(search(root, "home", &[("CUDA_HOME", "toolkit")], None), [toolkit, local[0], local[1]]);
    }

    #[test]
    fn links_to_one_file_count_once() {
        let folder = TestFolder::new("links");
        let root = folder.path();
        touch(root, "libnvrtc.so.12.8.61");
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("libnvrtc.so.12.8.61"), root.join("libnvrtc.so.12"))
            .expect("link");
        let found = libraries(root);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].version, (12, 8));
    }

    #[test]
    fn named_place_is_a_file_or_a_folder() {
        let folder = TestFolder::new("named");
        let root = folder.path();
        touch(root, "nvidia/cu13/lib/libnvrtc.so.13");
        touch(root, "nvidia/cu13/lib/libnvrtc-builtins.so.13.2");
        let file = root.join("nvidia/cu13/lib/libnvrtc.so.13");
        for place in [root.to_path_buf(), root.join("nvidia/cu13/lib"), file.clone()] {
            let found = named(&place);
            assert_eq!(found.len(), 1, "{}", place.display());
            assert_eq!((&found[0].library, found[0].version), (&file, (13, 2)));
            assert!(found[0].builtins.is_some());
        }
        assert_eq!(named(&root.join("absent")), []);
    }
}
