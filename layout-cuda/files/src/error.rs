//! What can be wrong with a file, or between a file and what is asked of it.

use layout_cuda::Elem;
use std::fmt;
use std::path::{Path, PathBuf};

/// A file, and what is wrong.
#[derive(Clone, PartialEq)]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub wrong: Wrong,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Wrong {
    /// The system does not read or write it.
    System {
        /// The system's words.
        why: String,
    },
    /// It is of another format, or damaged.
    Format {
        /// The format.
        format: &'static str,
        /// What is wrong.
        why: String,
    },
    /// It has other bytes than its head says.
    Length {
        /// By the head.
        needed: u64,
        /// In the file.
        found: u64,
    },
    /// There is no tensor of this name.
    Name {
        /// The name.
        name: String,
        /// The most similar name that is there, if any is similar.
        near: Option<String>,
    },
    /// The elements are of another type.
    Type {
        /// Of the file, in its own words.
        file: String,
        /// What was asked for.
        asked: Elem,
    },
    /// The tensor has another number of modes.
    Rank {
        /// Of the file.
        shape: Vec<usize>,
        /// What was asked for.
        asked: usize,
    },
    /// The rows asked for are not there.
    Rows {
        /// The first, and the one behind the last.
        asked: std::ops::Range<usize>,
        /// How many there are.
        rows: usize,
    },
    /// A tensor whose elements are not row after row without gaps is not written.
    Strided {
        /// The shape.
        shape: Vec<usize>,
        /// The strides, elements.
        strides: Vec<usize>,
    },
    /// The device.
    Device(Box<layout_cuda::Error>),
}

impl FileError {
    pub(crate) fn new(path: &Path, wrong: Wrong) -> FileError {
        FileError { path: path.to_owned(), wrong }
    }

    pub(crate) fn system(path: &Path, error: &std::io::Error) -> FileError {
        FileError::new(path, Wrong::System { why: error.to_string() })
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.wrong)
    }
}

impl fmt::Debug for FileError {
    /// The words of `Display`: what `fn main() -> Result<..>` and `unwrap` print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for FileError {
    /// What is behind the device's error, whose words are this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.wrong {
            Wrong::Device(error) => error.source(),
            _ => None,
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::System { why } => f.write_str(why),
            Wrong::Format { format, why } => write!(f, "no {format} file: {why}"),
            Wrong::Length { needed, found } => {
                write!(
                    f,
                    "its head says {needed} bytes and it has {found}: it is cut off, or another file's head"
                )
            }
            Wrong::Name { name, near: None } => write!(f, "there is no tensor `{name}`"),
            Wrong::Name { name, near: Some(near) } => {
                write!(f, "there is no tensor `{name}`; is `{near}` meant?")
            }
            Wrong::Type { file, asked } => {
                write!(
                    f,
                    "its elements are {file}, and {asked} was asked for; load the file's type and cast in a kernel"
                )
            }
            Wrong::Rank { shape, asked } => {
                write!(f, "its shape is {shape:?}, of {} modes, and {asked} were asked for", shape.len())
            }
            Wrong::Rows { asked, rows } => {
                write!(f, "rows {}..{} were asked for, and it has {rows}", asked.start, asked.end)
            }
            Wrong::Strided { shape, strides } => write!(
                f,
                "a tensor of shape {shape:?} and strides {strides:?} has gaps or another order; copy it into a row-major one"
            ),
            Wrong::Device(error) => error.fmt(f),
        }
    }
}
