//! What this machine has for several GPUs, and how to get what it lacks.

use crate::error::{MeshError, Result};
use std::fmt;
use std::path::PathBuf;

/// The answer of [`doctor`].
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// NCCL's file, or the name that the loader knows it by, and its version.
    pub nccl: Result<(PathBuf, (i32, i32, i32))>,
    /// The number of GPUs.
    pub gpus: usize,
}

/// Looks for NCCL and GPUs; never an error.
///
/// ```
/// println!("{}", layout_mesh::doctor());
/// ```
pub fn doctor() -> Diagnosis {
    let found = |nccl: &'static crate::nccl::Nccl| Ok((nccl.library.clone(), nccl.version()?));
    Diagnosis {
        nccl: crate::nccl::nccl().and_then(found),
        gpus: layout_cuda::driver::device_count().unwrap_or(0),
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.nccl {
            Ok((library, (major, minor, patch))) => {
                write!(f, "NCCL     {major}.{minor}.{patch} at {}", library.display())?;
            }
            Err(error) => {
                write!(f, "NCCL     {error}")?;
                if let MeshError::NoNccl { searched, .. } = error {
                    write!(f, "\n         searched:")?;
                    searched.iter().try_for_each(|folder| write!(f, "\n           {}", folder.display()))?;
                }
            }
        }
        let what = match self.gpus {
            0 => "none: the mesh is of simulators".to_owned(),
            1 => "one: a mesh of it alone needs no NCCL".to_owned(),
            gpus => format!("{gpus} GPUs"),
        };
        write!(f, "\nmesh     {what}")
    }
}
