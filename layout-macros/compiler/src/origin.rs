//! Source locations that do not depend on the source.
//!
//! An [`Origin`] is an opaque number. Only layout-macros maps it to a span; the kernel carries a table from origin to
//! line and column, so that the simulator and NVRTC's log can name the kernel's Rust line.

use super::wire::wire;
use std::fmt;

wire! {
    /// A place in the kernel's Rust source: an index into the kernel's table of lines.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Origin(pub u32);
}

wire! {
    /// Line and column in the kernel's Rust file, both from 1. Zero where the compiler gave none.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub struct Position {
        /// Line, from 1.
        pub line: u32,
        /// Column, from 1.
        pub column: u32,
    }
}

/// An error of a stage: what is wrong, with the numbers, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelError {
    /// What is wrong: lower case, with the values in it.
    pub message: String,
    /// The way out, where there is one.
    pub help: Option<String>,
    /// Where.
    pub origin: Origin,
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  = help: {help}"),
            None => Ok(()),
        }
    }
}

/// The errors of a stage, gathered: never empty when returned, each origin at most once.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Errors(Vec<KernelError>);

impl Errors {
    /// None so far.
    pub fn new() -> Errors {
        Errors::default()
    }

    /// Adds an error, unless its origin already has one: what follows from a first error is noise.
    pub fn push(&mut self, error: KernelError) {
        if self.0.iter().all(|known| known.origin != error.origin) {
            self.0.push(error);
        }
    }

    /// The errors so far.
    pub fn as_slice(&self) -> &[KernelError] {
        &self.0
    }

    /// `value` if there is no error, else all of them.
    pub fn propagate<T>(self, value: T) -> Result<T, Errors> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

impl std::error::Error for KernelError {}

impl From<KernelError> for Errors {
    fn from(error: KernelError) -> Errors {
        Errors(vec![error])
    }
}
