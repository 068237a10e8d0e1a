//! By how many schedules each kernel of the corpus was run with nothing found, as a file of a line each: `scan: 100`.
//!
//! Law: reading what was written gives the same; a kernel's number never shrinks but by hand, and is 100 at least.

use std::collections::BTreeMap;
use std::fmt;

/// Kernels, and schedules by which nothing was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedules(pub BTreeMap<String, u32>);

impl Schedules {
    /// The file in the repository.
    pub fn known() -> Schedules {
        Schedules::read(include_str!("schedules.txt"))
    }

    /// Reads a file; a line that is none of it counts for nothing.
    pub fn read(text: &str) -> Schedules {
        let line = |line: &str| {
            let (name, count) = line.split_once(": ")?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        Schedules(text.lines().filter_map(line).collect())
    }

    /// Nothing was found of a kernel by so many.
    pub fn add(&mut self, name: &str, schedules: u32) {
        let known = self.0.entry(name.to_owned()).or_default();
        *known = schedules.max(*known);
    }
}

impl fmt::Display for Schedules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, count)| writeln!(f, "{name}: {count}"))
    }
}
