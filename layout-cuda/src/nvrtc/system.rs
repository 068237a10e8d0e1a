//! What differs between operating systems in the search for NVRTC: the names of its files and the folders of libraries.
//!
//! Law: a file's name alone says whether it is NVRTC and of which version; a name of one system is none on another.

use std::path::{Path, PathBuf};

use super::search::children;

/// An operating system, as far as the search is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Linux, and others with its names.
    Unix,
    /// Windows.
    Windows,
}

/// A version, as far as a name has it.
type Version = (u32, Option<u32>);

impl System {
    /// This program's.
    pub fn own() -> System {
        if cfg!(windows) { System::Windows } else { System::Unix }
    }

    /// The version in the name of an NVRTC library: `libnvrtc.so.13.0.88` is 13.0. `nvrtc64_130_0.dll` is 13 without a minor number,
    /// since Windows' name is that of the first release from CUDA 12 on.
    pub(super) fn library(self, name: &str) -> Option<Version> {
        match self {
            System::Unix => numbers(name.strip_prefix("libnvrtc.so.")?),
            System::Windows => {
                let digits = name.strip_prefix("nvrtc64_")?.strip_suffix("_0.dll")?;
                let (major, minor) = tenths(digits)?;
                Some((major, minor.filter(|_| major < 12)))
            }
        }
    }

    /// The version in the name of the library of builtins: `libnvrtc-builtins.so.13.0`, `nvrtc-builtins64_130.dll`.
    pub(super) fn builtins(self, name: &str) -> Option<Version> {
        match self {
            System::Unix => numbers(name.strip_prefix("libnvrtc-builtins.so.")?),
            System::Windows => tenths(name.strip_prefix("nvrtc-builtins64_")?.strip_suffix(".dll")?),
        }
    }

    /// The folders of libraries of a toolkit.
    pub(super) fn toolkit(self, toolkit: &Path) -> Vec<PathBuf> {
        match self {
            System::Unix => {
                let targets =
                    children(&toolkit.join("targets"), "").into_iter().map(|target| target.join("lib"));
                std::iter::once(toolkit.join("lib64")).chain(targets).collect()
            }
            System::Windows => with_children(toolkit.join("bin")),
        }
    }

    /// The folders of toolkits that were installed in the usual place.
    pub(super) fn toolkits(self, root: &Path, programs: Option<PathBuf>) -> Vec<PathBuf> {
        match self {
            System::Unix => children(&root.join("usr/local"), "cuda"),
            System::Windows => {
                let all = programs.map(|programs| programs.join("NVIDIA GPU Computing Toolkit/CUDA"));
                all.map(|all| children(&all, "v")).unwrap_or_default()
            }
        }
    }

    /// The folders of libraries of one of pip's packages below `nvidia`.
    pub(super) fn package(self, package: &Path) -> Vec<PathBuf> {
        match self {
            System::Unix => vec![package.join("lib")],
            System::Windows => with_children(package.join("bin")),
        }
    }

    /// The folder of conda's libraries in an environment.
    pub(super) fn conda(self, prefix: &Path) -> PathBuf {
        prefix.join(if self == System::Unix { "lib" } else { "Library/bin" })
    }

    /// The interpreter of Python in a folder of programs.
    pub(super) fn python(self) -> &'static str {
        if self == System::Unix { "python3" } else { "python.exe" }
    }

    /// The folders that may be the prefix of an interpreter: on Windows it is in the prefix, or in an environment's `Scripts`.
    pub(super) fn prefixes(self, program: &Path) -> Vec<PathBuf> {
        let above = |up: usize| program.ancestors().nth(up).map(Path::to_path_buf);
        match self {
            System::Unix => above(2).into_iter().collect(),
            System::Windows => above(1).into_iter().chain(above(2)).collect(),
        }
    }

    /// The folders of packages of the Pythons of a prefix.
    pub(super) fn packages(self, prefix: &Path) -> Vec<PathBuf> {
        match self {
            System::Unix => {
                let pythons = children(&prefix.join("lib"), "python3");
                let names = ["site-packages", "dist-packages"];
                pythons.iter().flat_map(|python| names.map(|name| python.join(name))).collect()
            }
            // That of a prefix, and those below the user's `%APPDATA%\Python`.
            System::Windows => {
                let users =
                    children(prefix, "Python3").into_iter().map(|python| python.join("site-packages"));
                std::iter::once(prefix.join("Lib/site-packages")).chain(users).collect()
            }
        }
    }
}

/// A folder and those in it: CUDA 13 has its libraries in one for each architecture, `bin\x64` or `bin\x86_64`.
fn with_children(folder: PathBuf) -> Vec<PathBuf> {
    let inside = children(&folder, "");
    std::iter::once(folder).chain(inside).collect()
}

/// `13.0.88` is 13.0.
fn numbers(text: &str) -> Option<Version> {
    let mut numbers = text.split('.').map(|part| part.parse::<u32>());
    let major = numbers.next()?.ok()?;
    Some((major, numbers.next().and_then(|minor| minor.ok())))
}

/// `130` is 13.0.
fn tenths(text: &str) -> Option<Version> {
    let number = text.parse::<u32>().ok().filter(|number| *number >= 10)?;
    Some((number / 10, Some(number % 10)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_version() {
        let rows = [
            ("libnvrtc.so.13", System::Unix, Some((13, None))),
            ("libnvrtc.so.12.8.61", System::Unix, Some((12, Some(8)))),
            ("libnvrtc.alt.so.13", System::Unix, None),
            ("libnvrtc.so.", System::Unix, None),
            ("nvrtc64_130_0.dll", System::Windows, Some((13, None))),
            ("nvrtc64_120_0.dll", System::Windows, Some((12, None))),
            ("nvrtc64_112_0.dll", System::Windows, Some((11, Some(2)))),
            ("nvrtc64_130_0.alt.dll", System::Windows, None),
            ("nvrtc64__0.dll", System::Windows, None),
            ("nvrtc64_99999999999_0.dll", System::Windows, None),
        ];
        for (name, system, want) in rows {
            assert_eq!(system.library(name), want, "{name}");
            let other = if system == System::Unix { System::Windows } else { System::Unix };
            assert_eq!(other.library(name), None, "{name} on {other:?}");
        }
        assert_eq!(System::Windows.builtins("nvrtc-builtins64_128.dll"), Some((12, Some(8))));
        assert_eq!(System::Unix.builtins("libnvrtc-builtins.so.13.0"), Some((13, Some(0))));
        assert_eq!(System::Windows.builtins("nvrtc64_130_0.dll"), None);
    }
}
