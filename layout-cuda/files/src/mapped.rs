//! A file, mapped into memory.

use crate::error::FileError;
use memmap2::Mmap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The bytes of a file, and its path.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub path: PathBuf,
    map: Mmap,
}

impl Mapped {
    pub fn open(path: &Path) -> Result<Mapped, FileError> {
        let file = File::open(path).map_err(|error| FileError::system(path, &error))?;
        // SAFETY: the map is read only, and as bytes. A file that another process changes meanwhile gives other bytes, and one
        // that it cuts off ends this process, as of any mapped file: the documentation of `open` says so.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| FileError::system(path, &error))?;
        Ok(Mapped { path: path.to_owned(), map })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}
