//! Where NVRTC may be: a list of folders, and the library files in them.
//!
//! Law: the search reads folders only, runs no other program, and its order is fixed: what `LAYOUT_NVRTC`
//! names alone if it is set, else all libraries found, those that the driver can take first, newest first. A library that others
//! could have put there ([`trusted`]) is left out, with the reason.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::system::System;
use crate::trusted::{self, Untrusted};

/// One library on disk, not loaded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The library itself.
    pub library: PathBuf,
    /// The builtins library that it opens by its bare name, when one is in the same folder.
    pub builtins: Option<PathBuf>,
    /// The version that the file names say, `(major, minor)`; the minor number is 0 where no name reports it.
    pub version: (u32, u32),
}

impl Found {
    /// Distinguishes this file from any other version of NVRTC without loading it: name, version, size and time of change.
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
    /// The working folder: what is under `target/nvrtc` of it and of its parents is named, not taken.
    pub current: Option<PathBuf>,
    /// The program as it was called: an interpreter of a virtual environment is in the environment's `bin`.
    pub program: Option<PathBuf>,
    /// The root of the file system.
    pub root: PathBuf,
    /// Whose names and folders are looked for.
    pub system: System,
}

/// The process's own surroundings.
pub fn surroundings() -> Surroundings<'static> {
    Surroundings {
        variable: &|name| std::env::var_os(name).filter(|value| !value.is_empty()),
        current: std::env::current_dir().ok(),
        program: std::env::args_os().next().map(PathBuf::from),
        root: PathBuf::from("/"),
        system: System::own(),
    }
}

/// What a search gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The libraries, in the order in which they are to be tried.
    pub found: Vec<Found>,
    /// The folders that were searched.
    pub folders: Vec<PathBuf>,
    /// The libraries that are not tried, and why.
    pub left_out: Vec<(PathBuf, Untrusted)>,
}

/// Looks in all folders; `driver` is the driver's CUDA version where there is a driver.
pub fn search(around: &Surroundings<'_>, driver: Option<(u32, u32)>) -> Search {
    let places = places(around);
    let mut left_out = Vec::new();
    let mut taken = |place: &Place| {
        let mut found = libraries(&place.folder, around.system);
        found.retain(|found| {
            let files = [Some(&found.library), found.builtins.as_ref()];
            let refusal = || files.into_iter().flatten().find_map(|file| trusted::refusal(file));
            let why = place.barred.clone().or_else(refusal);
            left_out.extend(why.iter().map(|why| (found.library.clone(), why.clone())));
            why.is_none()
        });
        found
    };
    let found = places.iter().flat_map(&mut taken).collect();
    let folders = places.into_iter().filter(|place| place.barred.is_none()).map(|place| place.folder);
    Search { found: in_order(found, driver), folders: folders.collect(), left_out }
}

/// The folders to look in, most particular first, without repetition. Folders that do not exist are left out.
pub fn folders(around: &Surroundings<'_>) -> Vec<PathBuf> {
    let open = places(around).into_iter().filter(|place| place.barred.is_none());
    open.map(|place| place.folder).collect()
}

/// A folder to look in, or to say that nothing of it is taken.
struct Place {
    folder: PathBuf,
    barred: Option<Untrusted>,
}

fn places(around: &Surroundings<'_>) -> Vec<Place> {
    let variable = |name: &str| (around.variable)(name).map(PathBuf::from);
    let system = around.system;
    let mut list = Vec::new();

    // Where `pip install --target target/nvrtc` puts it in a workspace whose programs and tests Cargo runs.
    for package in trusted::packages(variable("CARGO_MANIFEST_DIR")) {
        site_packages(system, &package.join("target/nvrtc"), &mut list);
    }
    for name in ["CUDA_PATH", "CUDA_HOME"] {
        if let Some(toolkit) = variable(name) {
            list.extend(system.toolkit(&toolkit));
        }
    }
    for toolkit in system.toolkits(&around.root, variable("ProgramFiles")) {
        list.extend(system.toolkit(&toolkit));
    }

    for prefix in prefixes(around) {
        list.push(system.conda(&prefix));
        system.packages(&prefix).iter().for_each(|packages| site_packages(system, packages, &mut list));
    }
    if let Some(paths) = variable("PYTHONPATH") {
        std::env::split_paths(&paths).for_each(|path| site_packages(system, &path, &mut list));
    }
    if system == System::Unix {
        list.push(around.root.join("usr/lib/x86_64-linux-gnu"));
        list.push(around.root.join("usr/lib/aarch64-linux-gnu"));
    }

    let relative = |folder: &PathBuf| (!folder.is_absolute()).then_some(Untrusted::Relative);
    let mut list: Vec<Place> =
        list.into_iter().map(|folder| Place { barred: relative(&folder), folder }).collect();
    // Last, so that a folder that is also reached in another way is open.
    for up in around.current.iter().flat_map(|folder| folder.ancestors()) {
        let mut folders = Vec::new();
        site_packages(system, &up.join("target/nvrtc"), &mut folders);
        let barred = |folder| Place { folder, barred: Some(Untrusted::WorkingFolder) };
        list.extend(folders.into_iter().map(barred));
    }
    list.sort_by_key(|place| place.barred.is_some());
    let mut seen = BTreeSet::new();
    let mut once = |Place { folder, barred }| {
        let real = fs::canonicalize(&folder).ok().filter(|real| real.is_dir())?;
        // What is loaded is loaded without links: others could turn one after it was looked at.
        seen.insert(real.clone())
            .then_some(Place { folder: if barred.is_some() { folder } else { real }, barred })
    };
    list.into_iter().filter_map(&mut once).collect()
}

/// The prefixes below which Python's packages and conda's may be: of environments, of the interpreter that runs this program, of
/// the first `python3` of the search path, of the user and of the system.
pub fn prefixes(around: &Surroundings<'_>) -> Vec<PathBuf> {
    let variable = |name: &str| (around.variable)(name).map(PathBuf::from);
    let mut prefixes: Vec<PathBuf> = Vec::new();
    prefixes.extend(variable("VIRTUAL_ENV"));
    prefixes.extend(variable("CONDA_PREFIX"));
    let program = around.program.as_deref().filter(|program| program.is_absolute());
    prefixes.extend(program.iter().flat_map(|program| around.system.prefixes(program)));
    prefixes.extend(python_prefixes(around.system, variable("PATH")));
    if around.system == System::Windows {
        prefixes.extend(variable("APPDATA").map(|data| data.join("Python")));
        return prefixes;
    }
    let home = variable("HOME");
    prefixes.extend(home.iter().map(|home| home.join(".local")));
    let pyenv = variable("PYENV_ROOT").or_else(|| home.map(|home| home.join(".pyenv")));
    prefixes.extend(pyenv.iter().flat_map(|root| children(&root.join("versions"), "")));
    prefixes.push(around.root.join("usr/local"));
    prefixes.push(around.root.join("usr"));
    prefixes
}

/// The folders of packages of the Pythons of a prefix.
pub fn python_packages(prefix: &Path) -> Vec<PathBuf> {
    System::own().packages(prefix)
}

/// The libraries of one folder, newest first; a version that several names point to is listed once.
pub fn libraries(folder: &Path, system: System) -> Vec<Found> {
    let all = children(folder, "");
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let builtins = |major: u32| {
        let mut found: Vec<_> = all
            .iter()
            .filter_map(|path| Some((system.builtins(&name(path)?)?, path.clone())))
            .filter(|((its, _), _)| *its == major)
            .collect();
        found.sort();
        found.pop()
    };
    let mut list: Vec<Found> = all
        .iter()
        .filter_map(|library| {
            let (major, minor) = system.library(&name(library)?)?;
            let builtins = builtins(major);
            let minor = minor.or(builtins.as_ref().and_then(|((_, minor), _)| *minor));
            let builtins = builtins.map(|(_, path)| path);
            Some(Found { library: library.clone(), builtins, version: (major, minor.unwrap_or(0)) })
        })
        .collect();
    list.sort_by(|a, b| b.version.cmp(&a.version).then(a.library.cmp(&b.library)));
    let mut seen = BTreeSet::new();
    list.retain(|found| seen.insert(fs::canonicalize(&found.library).unwrap_or(found.library.clone())));
    list
}

/// The libraries in the order in which they are to be tried. A CUBIN of a newer major version than the driver's may not load, so
/// those come last; `driver` is the driver's CUDA version where there is a driver.
fn in_order(mut list: Vec<Found>, driver: Option<(u32, u32)>) -> Vec<Found> {
    let too_new = |found: &Found| driver.is_some_and(|(major, _)| found.version.0 > major);
    list.sort_by(|a, b| too_new(a).cmp(&too_new(b)).then(b.version.cmp(&a.version)));
    let mut seen = BTreeSet::new();
    list.retain(|found| seen.insert(fs::canonicalize(&found.library).unwrap_or(found.library.clone())));
    list
}

/// What `LAYOUT_NVRTC` names: a library, a folder with libraries, or a folder that pip installed into. Who sets the variable
/// answers for the place.
pub fn named(path: &Path, system: System) -> Vec<Found> {
    if path.is_file() {
        let beside = path.parent().map(|folder| libraries(folder, system)).unwrap_or_default();
        let same = |found: &Found| fs::canonicalize(&found.library).ok() == fs::canonicalize(path).ok();
        let known = beside.into_iter().find(same);
        return vec![
            known.map_or(Found { library: path.to_path_buf(), builtins: None, version: (0, 0) }, |found| {
                Found { library: path.to_path_buf(), ..found }
            }),
        ];
    }
    let mut list = vec![path.to_path_buf()];
    site_packages(system, path, &mut list);
    list.extend(system.toolkit(path));
    in_order(list.iter().flat_map(|folder| libraries(folder, system)).collect(), None)
}

/// The folders that the pip packages `nvidia-cuda-nvrtc` and `nvidia-cuda-nvrtc-cu12` fill.
fn site_packages(system: System, folder: &Path, list: &mut Vec<PathBuf>) {
    let nvidia = folder.join("nvidia");
    let mut cuda = children(&nvidia, "cu");
    cuda.reverse();
    list.extend(cuda.iter().flat_map(|package| system.package(package)));
}

/// The prefixes of the first interpreter of the search path: as it is named there, which a virtual environment's is, and with links
/// followed. Of entries that are relative to the working folder only the name, which the search leaves out and says.
fn python_prefixes(system: System, path: Option<PathBuf>) -> Vec<PathBuf> {
    let Some(path) = path else { return Vec::new() };
    let named = std::env::split_paths(&path).map(|folder| folder.join(system.python()));
    let (named, relative): (Vec<_>, Vec<_>) =
        named.filter(|file| file.is_file()).partition(|file| file.is_absolute());
    let python = named.first();
    let real = python.and_then(|python| fs::canonicalize(python).ok());
    python.into_iter().chain(&real).chain(&relative).flat_map(|program| system.prefixes(program)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    fn touch(root: &Path, path: &str) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().expect("a parent")).expect("folder");
        fs::write(file, b"").expect("file");
    }

    fn searched(
        root: &Path,
        current: &str,
        variables: &[(&str, &str)],
        driver: Option<(u32, u32)>,
    ) -> Search {
        searched_as(System::Unix, root, (current, "run/bin/python"), variables, driver)
    }

    fn searched_as(
        system: System,
        root: &Path,
        (current, program): (&str, &str),
        variables: &[(&str, &str)],
        driver: Option<(u32, u32)>,
    ) -> Search {
        let variable = |name: &str| {
            let found = variables.iter().find(|(its, _)| *its == name)?;
            Some(root.join(found.1).into_os_string())
        };
        let around = Surroundings {
            variable: &variable,
            current: Some(root.join(current)),
            program: Some(root.join(program)),
            root: root.to_path_buf(),
            system,
        };
        super::search(&around, driver)
    }

    fn search(
        root: &Path,
        current: &str,
        variables: &[(&str, &str)],
        driver: Option<(u32, u32)>,
    ) -> Vec<String> {
        let relative = |found: &Found| {
            let path = found.library.strip_prefix(root).expect("below the root");
            format!("{} {}.{}", path.display(), found.version.0, found.version.1)
        };
        searched(root, current, variables, driver).found.iter().map(relative).collect()
    }

    #[test]
    fn places() {
        let folder = TestFolder::new("search");
        let root = folder.path();
        for file in [
            "work/target/nvrtc/nvidia/cu13/lib/libnvrtc.so.13",
            "work/target/nvrtc/nvidia/cu13/lib/libnvrtc.alt.so.13",
            "work/target/nvrtc/nvidia/cu13/lib/libnvrtc-builtins.so.13.0",
            "work/deep/down/Cargo.toml",
            "work/Cargo.toml",
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
        let package = [("CARGO_MANIFEST_DIR", "work/deep/down")];
        assert_eq!(search(root, "work/deep/down", &package, None), [cu13, local[0], local[1]]);
        assert_eq!(search(root, "home", &[], None), local);
        assert_eq!(
            search(root, "home", &package, Some((12, 8))),
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
    fn places_on_windows() {
        let folder = TestFolder::new("windows");
        let root = folder.path();
        for file in [
            "work/Cargo.toml",
            "work/target/nvrtc/nvidia/cu13/bin/x86_64/nvrtc64_130_0.dll",
            "work/target/nvrtc/nvidia/cu13/bin/x86_64/nvrtc64_130_0.alt.dll",
            "work/target/nvrtc/nvidia/cu13/bin/x86_64/nvrtc-builtins64_131.dll",
            "programs/NVIDIA GPU Computing Toolkit/CUDA/v12.8/bin/nvrtc64_120_0.dll",
            "programs/NVIDIA GPU Computing Toolkit/CUDA/v12.8/bin/nvrtc-builtins64_128.dll",
            "toolkit/bin/x64/nvrtc64_130_0.dll",
            "venv/Lib/site-packages/nvidia/cuda_nvrtc/bin/nvrtc64_120_0.dll",
            "data/Python/Python312/site-packages/nvidia/cu13/bin/nvrtc64_130_0.dll",
            "conda/Library/bin/nvrtc64_112_0.dll",
            "python/python.exe",
            "python/Lib/site-packages/nvidia/cuda_nvrtc/bin/nvrtc64_120_0.dll",
            // Of another system.
            "toolkit/lib64/libnvrtc.so.13",
        ] {
            touch(root, file);
        }
        let found = |variables: &[(&str, &str)], program: &str| -> Vec<String> {
            let search = searched_as(System::Windows, root, ("home", program), variables, None);
            assert_eq!(search.left_out, []);
            let relative = |found: &Found| {
                let path = found.library.strip_prefix(root).expect("below the root");
                format!("{} {}.{}", path.display(), found.version.0, found.version.1).replace('\\', "/")
            };
            search.found.iter().map(relative).collect()
        };
        let package = "work/target/nvrtc/nvidia/cu13/bin/x86_64/nvrtc64_130_0.dll 13.1";
        assert_eq!(found(&[("CARGO_MANIFEST_DIR", "work")], "run/user.exe"), [package]);
        for (variable, value, want) in [
            (
                "ProgramFiles",
                "programs",
                "programs/NVIDIA GPU Computing Toolkit/CUDA/v12.8/bin/nvrtc64_120_0.dll 12.8",
            ),
            ("CUDA_PATH", "toolkit", "toolkit/bin/x64/nvrtc64_130_0.dll 13.0"),
            ("VIRTUAL_ENV", "venv", "venv/Lib/site-packages/nvidia/cuda_nvrtc/bin/nvrtc64_120_0.dll 12.0"),
            ("APPDATA", "data", "data/Python/Python312/site-packages/nvidia/cu13/bin/nvrtc64_130_0.dll 13.0"),
            ("CONDA_PREFIX", "conda", "conda/Library/bin/nvrtc64_112_0.dll 11.2"),
            ("PATH", "python", "python/Lib/site-packages/nvidia/cuda_nvrtc/bin/nvrtc64_120_0.dll 12.0"),
        ] {
            assert_eq!(found(&[(variable, value)], "run/user.exe"), [want], "{variable}");
        }
        let venv = "venv/Lib/site-packages/nvidia/cuda_nvrtc/bin/nvrtc64_120_0.dll 12.0";
        assert_eq!(found(&[], "venv/Scripts/python.exe"), [venv], "an environment's interpreter");
        assert_eq!(named(&root.join("toolkit"), System::Windows).len(), 1);
        // What is in the working folder is left out there, too.
        let here = searched_as(System::Windows, root, ("work", "run/user.exe"), &[], None);
        assert_eq!((here.found.len(), here.left_out.len()), (0, 1));
    }

    /// The reasons that the search gives for the planted libraries, of which it takes none.
    fn left_out(root: &Path, current: &str, variables: &[(&str, &str)]) -> Vec<Untrusted> {
        let Search { found, left_out, .. } = searched(root, current, variables, None);
        assert_eq!(found, [], "{left_out:?}");
        left_out.into_iter().map(|(_, why)| why).collect()
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_have_put_there_is_left_out() {
        use std::os::unix::fs::PermissionsExt;
        let folder = TestFolder::new("planted");
        let root = folder.path();
        touch(root, "work/target/nvrtc/nvidia/cu13/lib/libnvrtc.so.13.99");
        // The working folder and its parents, whether or not a package is there that Cargo does not run this for.
        assert_eq!(left_out(root, "work", &[]), [Untrusted::WorkingFolder]);
        touch(root, "work/Cargo.toml");
        touch(root, "work/deep/file");
        assert_eq!(left_out(root, "work/deep", &[]), [Untrusted::WorkingFolder]);
        // A folder that everybody may write, whatever leads there; its own mode or that of a folder above it.
        let variables = [("CARGO_MANIFEST_DIR", "work"), ("CUDA_HOME", "toolkit"), ("VIRTUAL_ENV", "venv")];
        touch(root, "toolkit/lib64/libnvrtc.so.13.99");
        touch(root, "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13.99");
        touch(root, "fine/lib64/libnvrtc.so.13");
        touch(root, "fine/lib64/libnvrtc-builtins.so.13.0");
        let all = |folder: &str| {
            fs::set_permissions(root.join(folder), fs::Permissions::from_mode(0o777)).expect("own folders")
        };
        for (open, leads) in [
            ("work/target", variables[0]),
            ("toolkit/lib64", variables[1]),
            ("venv/lib/python3.12/site-packages", variables[2]),
            ("fine/lib64/libnvrtc-builtins.so.13.0", ("CUDA_PATH", "fine")),
        ] {
            assert_eq!(searched(root, "home", &[leads], None).found.len(), 1, "{open} is not open yet");
            all(open);
            let why = left_out(root, "home", &[leads]);
            assert!(
                matches!(&why[..], [Untrusted::Writable { path, mode: 0o777 }] if path.ends_with(open)),
                "{why:?}"
            );
        }
    }

    #[test]
    fn relative_entries_are_left_out() {
        // Below the folder that the tests of a package run in.
        let name = format!("target/relative-{}", std::process::id());
        let root = std::env::current_dir().expect("a folder").join(&name);
        touch(&root, "bin/python3");
        touch(&root, "lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13.99");
        touch(&root, "lib64/libnvrtc.so.13.99");
        for (variable, value) in [
            ("PATH", format!("{name}/bin")),
            ("PATH", format!("./{name}/bin")),
            ("VIRTUAL_ENV", name.clone()),
            ("CUDA_HOME", name.clone()),
            ("PYTHONPATH", format!("{name}/lib/python3.12/site-packages")),
            ("HOME", name.clone()),
        ] {
            let around = Surroundings {
                variable: &|own| (own == variable).then(|| OsString::from(&value)),
                current: None,
                program: None,
                root: root.join("empty"),
                system: System::Unix,
            };
            if variable == "HOME" {
                touch(&root, ".local/lib/libnvrtc.so.13.99");
            }
            let Search { found, left_out, .. } = super::search(&around, None);
            let reasons: Vec<&Untrusted> = left_out.iter().map(|(_, why)| why).collect();
            assert_eq!((found.len(), &reasons[..]), (0, &[&Untrusted::Relative][..]), "{variable}={value}");
        }
        fs::remove_dir_all(&root).expect("own folders");
        // The folder above is there where Cargo builds into it.
        let _ = fs::remove_dir("target");
    }

    #[test]
    fn links_to_one_file_count_once() {
        let folder = TestFolder::new("links");
        let root = folder.path();
        touch(root, "libnvrtc.so.12.8.61");
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("libnvrtc.so.12.8.61"), root.join("libnvrtc.so.12"))
            .expect("link");
        let found = libraries(root, System::Unix);
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
            let found = named(&place, System::Unix);
            assert_eq!(found.len(), 1, "{}", place.display());
            assert_eq!((&found[0].library, found[0].version), (&file, (13, 2)));
            assert!(found[0].builtins.is_some());
        }
        assert_eq!(named(&root.join("absent"), System::Unix), []);
    }
}
