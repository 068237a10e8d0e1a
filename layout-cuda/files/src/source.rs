//! A file that tensors come from.
//!
//! Law: it is read where and when it is asked for, into memory of this program's own: another process that changes or cuts it off
//! meanwhile makes other elements or an error, and nothing else.

use crate::error::{FileError, Wrong};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// An open file, its path and its length when it was opened.
#[derive(Debug)]
pub(crate) struct Source {
    pub path: PathBuf,
    pub bytes: u64,
    file: File,
}

impl Source {
    pub fn open(path: &Path) -> Result<Source, FileError> {
        let system = |error| FileError::system(path, &error);
        // A pipe would be waited for.
        if !std::fs::metadata(path).map_err(system)?.is_file() {
            let why = "it is no regular file".to_owned();
            return Err(FileError::new(path, Wrong::System { why }));
        }
        let file = File::open(path).map_err(system)?;
        let bytes = file.metadata().map_err(system)?.len();
        Ok(Source { path: path.to_owned(), bytes, file })
    }

    /// Fills `bytes` with what is in the file from `start` on.
    pub fn read(&self, start: u64, bytes: &mut [u8]) -> Result<(), FileError> {
        read_exact_at(&self.file, bytes, start).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let why = format!("it was cut off after it was opened, when it had {} bytes", self.bytes);
                FileError::new(&self.path, Wrong::System { why })
            }
            _ => FileError::system(&self.path, &error),
        })
    }

    /// Its first bytes: so many, or all.
    pub fn first(&self, most: u64) -> Result<Vec<u8>, FileError> {
        let count = usize::try_from(most.min(self.bytes)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; count];
        self.read(0, &mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, start)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => (bytes, start) = (&mut bytes[count..], start + count as u64),
        }
    }
    Ok(())
}
