//! Where NCCL may be.
//!
//! Law: what `LAYOUT_NCCL` names alone, if it is set; else the loader's own names, then the folders of pip, conda and the
//! toolkit that [`trusted`] lets code be loaded from. Nothing but folders is read.

use layout_cuda::nvrtc::search::{Surroundings, prefixes, python_packages};
use layout_cuda::trusted;
use std::path::PathBuf;

/// The names of the library, newest way of naming first.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// What a search gives.
pub(crate) struct Search {
    /// What to try to load, in order.
    pub(crate) files: Vec<PathBuf>,
    /// The folders that were looked at.
    pub(crate) folders: Vec<PathBuf>,
    /// What is not loaded, and why.
    pub(crate) left_out: Vec<String>,
}

/// Looks for NCCL.
pub(crate) fn search(around: &Surroundings<'_>) -> Search {
    let path = |name: &str| (around.variable)(name).map(PathBuf::from);
    if let Some(named) = path("LAYOUT_NCCL") {
        // Who sets the variable answers for the place.
        if named.is_file() {
            return Search { files: vec![named], folders: vec![], left_out: vec![] };
        }
        let folders = vec![named.clone(), named.join("lib"), named.join("nvidia/nccl/lib")];
        return Search { files: files(&folders), folders, left_out: vec![] };
    }
    let mut folders = Vec::new();
    for home in ["NCCL_HOME", "CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(path) {
        folders.extend([home.join("lib"), home.join("lib64")]);
    }
    for prefix in prefixes(around) {
        folders.push(prefix.join("lib"));
        let packages = python_packages(&prefix);
        folders.extend(packages.iter().map(|packages| packages.join("nvidia/nccl/lib")));
    }
    let distribution = ["x86_64-linux-gnu", "aarch64-linux-gnu"];
    folders.extend(distribution.map(|machine| around.root.join("usr/lib").join(machine)));
    folders.retain(|folder| folder.is_dir());
    // Links are resolved, since they could be redirected after the check. Nothing is loaded from a relative folder: it is reported.
    for folder in folders.iter_mut().filter(|folder| folder.is_absolute()) {
        if let Ok(real) = std::fs::canonicalize(&*folder) {
            *folder = real;
        }
    }
    folders.dedup();
    let mut left_out = Vec::new();
    let mut found = files(&folders);
    found.retain(|file| {
        let why = trusted::refusal(file);
        left_out.extend(why.iter().map(|why| format!("{} is not loaded: {why}", file.display())));
        why.is_none()
    });
    let files = NAMES.iter().map(PathBuf::from).chain(found).collect();
    Search { files, folders, left_out }
}

fn files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let all = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    all.filter(|file| file.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout_cuda::nvrtc::system::System;
    use std::ffi::OsString;

    fn of(variable: &dyn Fn(&str) -> Option<OsString>) -> Search {
        search(&Surroundings {
            variable,
            current: None,
            program: None,
            root: "/no/such/root".into(),
            system: System::own(),
        })
    }

    #[test]
    fn what_is_named_is_taken_alone() {
        let found = of(&|_| Some(OsString::from("no/such/folder")));
        assert_eq!((found.files.len(), found.folders.len()), (0, 3));
        assert_eq!(of(&|_| None).files[0], PathBuf::from("libnccl.so.2"), "the loader's own comes first");
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_have_put_there_is_left_out() {
        use std::os::unix::fs::PermissionsExt;
        let root = std::env::temp_dir().join(format!("layout-mesh-nccl-{}", std::process::id()));
        let (venv, nccl) = (root.join("venv"), root.join("nccl"));
        let packages = venv.join("lib/python3.12/site-packages/nvidia/nccl/lib");
        for folder in [&packages, &nccl.join("lib")] {
            std::fs::create_dir_all(folder).expect("folders");
            std::fs::write(folder.join("libnccl.so.2"), b"").expect("a file");
        }
        for (name, value, open) in [("VIRTUAL_ENV", &venv, &packages), ("NCCL_HOME", &nccl, &nccl)] {
            let search = || of(&|own| (own == name).then(|| value.clone().into_os_string()));
            let trusted = search();
            assert_eq!((trusted.files.len(), trusted.left_out), (3, vec![]), "{name}");
            std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o777)).expect("own folders");
            let Search { files, left_out, .. } = search();
            assert_eq!(files.len(), 2, "the loader's own names are left: {files:?}");
            assert!(
                left_out[0].contains("libnccl.so.2 is not loaded: other users may write"),
                "{left_out:?}"
            );
        }
        std::fs::remove_dir_all(&root).expect("own folders");
    }
}
