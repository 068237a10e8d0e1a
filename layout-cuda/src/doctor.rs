//! What this machine has for kernels, what is missing, and how to get it.
//!
//! Law: nothing is changed, except for a probe file in the cache's folder, which is removed at once. Nothing fails: what
//! cannot be found out is reported.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::device::{Device, Properties};
use crate::driver;
use crate::error::Error;
use crate::nvrtc::{self, NvrtcError};
use crate::trusted::{self, Untrusted};

/// The answer of [`doctor`]. Its text is for people; the fields are for programs.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The driver's CUDA version.
    pub driver: Result<(u32, u32), Error>,
    /// What `CUDA_VISIBLE_DEVICES` says, where it is set: the driver shows no other GPUs.
    pub visible: Option<String>,
    /// The GPUs, in the driver's order.
    pub gpus: Vec<Result<Properties, Error>>,
    /// The NVRTC that kernels are compiled with.
    pub nvrtc: Result<FoundNvrtc, NvrtcError>,
    /// The libraries that were found, in the order in which they are tried.
    pub candidates: Vec<PathBuf>,
    /// The libraries that are never loaded, and why: others could have put them there.
    pub left_out: Vec<(PathBuf, Untrusted)>,
    /// The folders that were searched for NVRTC.
    pub searched: Vec<PathBuf>,
    /// The kernel cache.
    pub cache: CacheReport,
    /// What [`Device::best`] takes.
    pub best: String,
}

/// The loaded NVRTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundNvrtc {
    /// The file, or the name that the system's loader knows it by.
    pub library: PathBuf,
    /// `(major, minor)`
    pub version: (u32, u32),
    /// The compute capabilities that it compiles for.
    pub architectures: Vec<u32>,
}

/// The state of the kernel cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheReport {
    /// Its folder; `None` where there is no cache.
    pub folder: Option<PathBuf>,
    /// Compiled kernels in it.
    pub entries: usize,
    /// Why it is not used or cannot be written, where that is so.
    pub unwritable: Option<String>,
}

/// Looks at everything.
///
/// ```
/// println!("{}", layout_cuda::doctor());
/// ```
pub fn doctor() -> Diagnosis {
    let driver = driver::ready().and_then(|()| driver::version()).map_err(Error::from);
    let count = driver::device_count().unwrap_or(0);
    let properties = |ordinal| {
        let device = Device::gpu(ordinal)?;
        device.properties().cloned().ok_or_else(|| unreachable_gpu(ordinal, count))
    };
    let nvrtc = nvrtc::nvrtc().map(|nvrtc| FoundNvrtc {
        library: nvrtc.library().to_path_buf(),
        version: nvrtc.version(),
        architectures: nvrtc.architectures().to_vec(),
    });
    let nvrtc::search::Search { found, folders, left_out } = nvrtc::candidates();
    Diagnosis {
        driver,
        visible: std::env::var_os("CUDA_VISIBLE_DEVICES").map(|value| value.to_string_lossy().into_owned()),
        gpus: (0..count).map(properties).collect(),
        nvrtc,
        candidates: found.into_iter().map(|found| found.library).collect(),
        left_out,
        searched: folders,
        cache: look_at(&Cache::user()),
        best: Device::best().describe(),
    }
}

fn unreachable_gpu(ordinal: usize, count: usize) -> Error {
    driver::DriverError::NoSuchDevice { ordinal, count }.into()
}

fn look_at(cache: &Cache) -> CacheReport {
    let Some(folder) = cache.folder() else {
        return CacheReport { folder: None, entries: 0, unwritable: None };
    };
    let is_entry = |path: &Path| path.join("kernel.cubin").is_file();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| is_entry(&entry.path())).count();
    // A folder that is not made yet will be writable where the nearest one above it is.
    let nearest = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    let probe = nearest.join(format!(".layout-cuda-probe-{}", std::process::id()));
    let written = || fs::File::create_new(&probe).and_then(|_| fs::remove_file(&probe));
    let unwritable = match trusted::refusal_to_make(folder) {
        Some(why) => Some(why.to_string()),
        None => written().err().map(|error| error.to_string()),
    };
    CacheReport { folder: Some(folder.to_path_buf()), entries, unwritable }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.driver {
            Ok((major, minor)) => writeln!(f, "driver   CUDA {major}.{minor}")?,
            Err(error) => writeln!(f, "driver   {error}")?,
        }
        for (ordinal, gpu) in self.gpus.iter().enumerate() {
            match gpu {
                Ok(gpu) => {
                    writeln!(f, "GPU {ordinal}    {}, {}, {} SMs", gpu.name, gpu.arch, gpu.multiprocessors)?
                }
                Err(error) => writeln!(f, "GPU {ordinal}    unusable: {error}")?,
            }
        }
        match &self.visible {
            Some(visible) if self.gpus.is_empty() => {
                writeln!(
                    f,
                    "GPU      none: CUDA_VISIBLE_DEVICES is `{visible}`, which hides all others; unset it"
                )?;
            }
            None if self.driver.is_ok() && self.gpus.is_empty() => writeln!(f, "GPU      none")?,
            _ => {}
        }
        match &self.nvrtc {
            Ok(nvrtc) => {
                let ((major, minor), library) = (nvrtc.version, nvrtc.library.display());
                writeln!(f, "NVRTC    {major}.{minor} at {library}")?;
                writeln!(f, "         compiles for {:?}", nvrtc.architectures)?;
                let others = self.candidates.iter().filter(|other| **other != nvrtc.library);
                others
                    .into_iter()
                    .try_for_each(|other| writeln!(f, "         also at {}", other.display()))?;
            }
            Err(error) => {
                writeln!(f, "NVRTC    {error}")?;
                writeln!(f, "         searched:")?;
                self.searched.iter().try_for_each(|folder| writeln!(f, "           {}", folder.display()))?;
            }
        }
        // An error has named them.
        for (library, why) in self.left_out.iter().filter(|_| self.nvrtc.is_ok()) {
            writeln!(f, "         not {}: {why}", library.display())?;
        }
        match &self.cache {
            CacheReport { folder: None, .. } => writeln!(f, "cache    none; name a folder in LAYOUT_CACHE")?,
            CacheReport { folder: Some(folder), entries, unwritable: None } => {
                writeln!(f, "cache    {entries} kernels in {}", folder.display())?;
            }
            CacheReport { folder: Some(folder), unwritable: Some(why), .. } => {
                writeln!(f, "cache    {} is not used: {why}; set LAYOUT_CACHE", folder.display())?;
            }
        }
        write!(f, "device   {}", self.best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn every_subject_is_reported() {
        let report = doctor();
        let text = report.to_string();
        for subject in ["driver   ", "NVRTC    ", "cache    ", "device   "] {
            assert!(text.lines().any(|line| line.starts_with(subject)), "{subject}:\n{text}");
        }
        let nvrtc = report.nvrtc.expect("NVRTC, which these tests need");
        assert!(text.contains(&nvrtc.library.display().to_string()), "{text}");
    }

    #[test]
    fn what_is_missing_is_reported_with_its_remedy() {
        let report = Diagnosis {
            driver: Err(driver::DriverError::Missing { why: "no such file".into() }.into()),
            visible: None,
            gpus: Vec::new(),
            nvrtc: Err(NvrtcError::NotFound {
                searched: vec![PathBuf::from("some/lib")],
                refused: Vec::new(),
            }),
            candidates: Vec::new(),
            left_out: Vec::new(),
            searched: vec![PathBuf::from("some/lib")],
            cache: CacheReport { folder: None, entries: 0, unwritable: None },
            best: "simulator".into(),
        };
        let want = "driver   no CUDA driver (no such file); install NVIDIA's, or stay with the simulator\n\
             NVRTC    no NVRTC in 1 folders; install it with `pip install nvidia-cuda-nvrtc` or \
             with the CUDA toolkit, or name its folder in LAYOUT_NVRTC\n         searched:\n           some/lib\n\
             cache    none; name a folder in LAYOUT_CACHE\ndevice   simulator";
        assert_eq!(report.to_string(), want);
    }

    #[test]
    fn cache_that_cannot_be_written() {
        let folder = TestFolder::new("doctor");
        assert_eq!(look_at(&Cache::at(folder.path())).unwritable, None);
        assert_eq!(look_at(&Cache::at(folder.path().join("not/made/yet"))).unwritable, None);
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is left behind");
        fs::write(folder.path().join("file"), b"").expect("written");
        assert!(look_at(&Cache::at(folder.path().join("file"))).unwritable.is_some());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("own folder");
            for cache in ["", "not/made/yet"] {
                let why = look_at(&Cache::at(folder.path().join(cache))).unwritable.expect("anybody's");
                assert!(why.contains("other users may write") && why.contains("777"), "{why}");
            }
        }
    }
}
