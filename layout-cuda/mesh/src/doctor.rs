//! What this machine has for several GPUs, and how to get what it lacks.

use crate::error::{MeshError, Result};
use crate::world::{UNSET, World};
use std::fmt;
use std::path::PathBuf;

/// The answer of [`doctor`].
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// NCCL's file, or the name that the loader knows it by, and its version.
    pub nccl: Result<(PathBuf, (i32, i32, i32))>,
    /// The number of GPUs.
    pub gpus: usize,
    /// Whether each reaches the others' memory; not asked of fewer than two.
    pub reach: Option<bool>,
    /// What a launcher has given this process: its rank, its world's size and where they meet; none where no rank is set.
    pub process: Option<Result<String>>,
}

/// Looks for NCCL and GPUs; never an error.
///
/// ```
/// println!("{}", layout_mesh::doctor());
/// ```
pub fn doctor() -> Diagnosis {
    let found = |nccl: &'static crate::nccl::Nccl| Ok((nccl.library.clone(), nccl.version()?));
    let gpus = layout_cuda::driver::device_count().unwrap_or(0);
    let process = World::process();
    Diagnosis {
        nccl: crate::nccl::nccl().and_then(found),
        gpus,
        reach: (gpus > 1).then(|| crate::copies::all_reach(gpus)),
        process: match process {
            // Nobody started it as one of several.
            Err(MeshError::Environment { ref variable, ref why }) if variable == "RANK" && why == UNSET => {
                None
            }
            process => Some(process.map(|world| world.to_string())),
        },
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
            1 => "one GPU: a mesh of it alone needs no NCCL".to_owned(),
            gpus => format!(
                "{gpus} GPUs{}: World::gpus(0..{gpus}) in one process, or World::process() and\n         torchrun --no-python --nproc-per-node {gpus} PROGRAM",
                match self.reach {
                    Some(true) => ", which reach one another's memory",
                    Some(false) =>
                        ", not all of which reach one another's memory: messages go through the host where they do not",
                    None => "",
                }
            ),
        };
        write!(f, "\nmesh     {what}")?;
        match &self.process {
            None => Ok(()),
            Some(Ok(process)) => write!(f, "\nprocess  {process}"),
            Some(Err(error)) => write!(f, "\nprocess  {error}"),
        }
    }
}
