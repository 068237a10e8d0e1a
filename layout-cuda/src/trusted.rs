//! From which places this process runs code: those that only its own user and the administrator can change.
//!
//! Law: nothing is loaded, run or taken from a place that another user owns or may write, nor from a place that is named
//! relative to the working folder. Only a variable that names the very thing (`LAYOUT_NVRTC`, `NVDISASM`, ...) is its user's own
//! word and is not held against this. On systems without Unix's owners and modes, nothing but the path itself is checked.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why nothing is loaded from a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Untrusted {
    /// It belongs to the working folder or a parent of it: whoever made that folder chose what is in it.
    WorkingFolder,
    /// It is named relative to the working folder.
    Relative,
    /// Another user owns it, or a folder above it.
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// Other users may write it, or a folder above it.
    Writable {
        /// The file or folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It cannot be looked at.
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Untrusted::WorkingFolder => {
                write!(f, "it is in the working folder or a parent of it, from which nothing is loaded")
            }
            Untrusted::Relative => write!(f, "its path is relative to the working folder"),
            Untrusted::Owner { path, owner, user } => {
                write!(f, "user {owner} owns {}, and this process is of user {user}", path.display())
            }
            Untrusted::Writable { path, mode } => {
                write!(f, "other users may write {} (mode {mode:o})", path.display())
            }
            Untrusted::Unreadable { path, why } => write!(f, "{}: {why}", path.display()),
        }
    }
}

impl std::error::Error for Untrusted {}

/// Why code in this file or folder is not run, if another user than this process's or the administrator can change it. A folder
/// for temporary files may be above the place: there nobody can replace what others own.
///
/// ```
/// use layout_cuda::trusted::{Untrusted, refusal};
/// assert_eq!(refusal("some/lib".as_ref()), Some(Untrusted::Relative));
/// assert_eq!(refusal("/".as_ref()), None);
/// ```
pub fn refusal(place: &Path) -> Option<Untrusted> {
    if !place.is_absolute() {
        return Some(Untrusted::Relative);
    }
    // With links followed. Who loads from there does so by the path without links.
    let real = match std::fs::canonicalize(place) {
        Ok(real) => real,
        Err(error) => {
            return Some(Untrusted::Unreadable { path: place.to_path_buf(), why: error.to_string() });
        }
    };
    refusal_of(&real, user())
}

/// The same of a place that may have to be made: then of the nearest folder above it that is there.
pub(crate) fn refusal_to_make(place: &Path) -> Option<Untrusted> {
    let there = place.ancestors().find(|folder| folder.symlink_metadata().is_ok()).unwrap_or(place);
    // A new folder in one for temporary files is its maker's own.
    refusal(there).filter(|why| there == place || !shared_by_all(why))
}

/// The folders of packages that Cargo runs this program for, innermost first. Cargo has built and run their code already.
pub(crate) fn packages(manifest: Option<PathBuf>) -> Vec<PathBuf> {
    let folder = manifest.filter(|folder| folder.is_absolute());
    let above = folder.iter().flat_map(|folder| folder.ancestors());
    above.filter(|folder| folder.join("Cargo.toml").is_file()).map(Path::to_path_buf).collect()
}

/// Whether it is a folder like `/tmp`, in which nobody may rename or remove what others own.
#[cfg(unix)]
fn shared_by_all(why: &Untrusted) -> bool {
    matches!(why, Untrusted::Writable { mode, .. } if mode & 0o1000 != 0)
}

#[cfg(not(unix))]
fn shared_by_all(_: &Untrusted) -> bool {
    false
}

/// The user that this process acts for.
#[cfg(unix)]
pub(crate) fn user() -> u32 {
    unsafe extern "C" {
        // Of POSIX: it takes nothing and cannot fail; the standard library links the C library.
        safe fn geteuid() -> u32;
    }
    geteuid()
}

#[cfg(not(unix))]
pub(crate) fn user() -> u32 {
    0
}

#[cfg(not(unix))]
fn refusal_of(_: &Path, _: u32) -> Option<Untrusted> {
    None
}

/// The same of an absolute path without links, for a process of this user.
#[cfg(unix)]
fn refusal_of(real: &Path, user: u32) -> Option<Untrusted> {
    use std::os::unix::fs::MetadataExt;

    const OF_ALL: u32 = 0o002;
    const OF_GROUP: u32 = 0o020;
    const STICKY: u32 = 0o1000;
    // In a container the administrator of the files may have another number than 0.
    let administrator = std::fs::metadata("/").map_or(0, |root| root.uid());
    let administers = |owner: u32| owner == 0 || owner == administrator;
    // Who may write the folder of a file may put another file next to it, so that one is held to the same.
    let strict = if real.is_dir() { 1 } else { 2 };
    for (above, path) in real.ancestors().enumerate() {
        let found = match std::fs::metadata(path) {
            Ok(found) => found,
            Err(error) => {
                return Some(Untrusted::Unreadable { path: path.to_path_buf(), why: error.to_string() });
            }
        };
        let (owner, mode) = (found.uid(), found.mode() & 0o7777);
        if owner != user && !administers(owner) {
            return Some(Untrusted::Owner { path: path.to_path_buf(), owner, user });
        }
        // Each user's own group, as many systems make it, has the user's number. To the administrator's groups the administrator
        // let users in.
        let group = mode & OF_GROUP != 0 && !administers(owner) && found.gid() != owner;
        let kept = above >= strict && mode & STICKY != 0;
        if (mode & OF_ALL != 0 || group) && !kept {
            return Some(Untrusted::Writable { path: path.to_path_buf(), mode });
        }
    }
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own files");
    }

    #[test]
    fn what_others_may_write_is_refused() {
        let folder = TestFolder::new("trusted");
        let deep = folder.path().join("a/b");
        fs::create_dir_all(&deep).expect("folders");
        let file = deep.join("code.so");
        fs::write(&file, b"").expect("a file");
        assert_eq!((refusal(&file), refusal(&deep)), (None, None), "below the folder for temporary files");
        let writable = |path: &Path, mode| Some(Untrusted::Writable { path: path.to_path_buf(), mode });
        for changed in [&file, &deep, &folder.path().join("a")] {
            let before = fs::metadata(changed).expect("there").permissions();
            set_mode(changed, 0o777);
            assert_eq!(refusal(&file), writable(changed, 0o777));
            fs::set_permissions(changed, before).expect("own files");
            assert_eq!(refusal(&file), None);
        }
        // In a folder like /tmp nobody replaces the file, but its neighbours may be anybody's.
        set_mode(&deep, 0o1777);
        assert_eq!(refusal(&file), writable(&deep, 0o1777));
        assert_eq!(refusal(&deep), writable(&deep, 0o1777));
        set_mode(&deep, 0o755);
        set_mode(&folder.path().join("a"), 0o1777);
        assert_eq!(refusal(&file), None);
        // A link leads to what it names.
        let link = folder.path().join("link.so");
        symlink(&file, &link).expect("a link");
        set_mode(&file, 0o666);
        assert_eq!(refusal(&link), writable(&file, 0o666));
    }

    #[test]
    fn what_another_user_owns_is_refused() {
        let folder = TestFolder::new("owner");
        let file = folder.path().join("code.so");
        fs::write(&file, b"").expect("a file");
        let real = fs::canonicalize(&file).expect("the file");
        if user() == 0 {
            // The administrator's processes take nothing of users; the users take the administrator's.
            assert_eq!(refusal_of(&real, 1234), None);
            chown(&file, Some(1234), Some(1234)).expect("the administrator");
            let user = 0;
            assert_eq!(refusal(&file), Some(Untrusted::Owner { path: real.clone(), owner: 1234, user }));
            assert!(matches!(refusal_of(&real, 1235), Some(Untrusted::Owner { owner: 1234, .. })));
            assert_eq!(refusal_of(&real, 1234), None);
            // A group of several users, and one that is the user's own.
            set_mode(&file, 0o664);
            assert_eq!(refusal_of(&real, 1234), None);
            chown(&file, None, Some(100)).expect("the administrator");
            assert!(matches!(refusal_of(&real, 1234), Some(Untrusted::Writable { mode: 0o664, .. })));
        } else {
            assert!(matches!(refusal_of(&real, user() + 1), Some(Untrusted::Owner { .. })));
        }
        assert_eq!(
            refusal(&file.join("absent")).map(|why| matches!(why, Untrusted::Unreadable { .. })),
            Some(true)
        );
        assert_eq!(refusal(Path::new("")), Some(Untrusted::Relative));
    }

    #[test]
    fn packages_are_those_of_cargo() {
        let folder = TestFolder::new("packages");
        let inner = folder.path().join("workspace/inner");
        fs::create_dir_all(&inner).expect("folders");
        for package in [inner.clone(), folder.path().join("workspace")] {
            fs::write(package.join("Cargo.toml"), b"").expect("a file");
        }
        assert_eq!(packages(Some(inner.clone())), [inner, folder.path().join("workspace")]);
        assert_eq!(packages(Some(PathBuf::from("."))), [] as [PathBuf; 0]);
        assert_eq!(packages(None), [] as [PathBuf; 0]);
    }
}
