//! The list of all mutants, as a file that is read and written: one line for a mutant that the simulator does not find, with the
//! reason why it need not, and one for each kernel with the counts of the others.
//!
//! ```text
//! row_max: 9 mutants, 8 found, 1 harmless
//!   barrier 2 later: harmless, the statement it passes touches the thread's own registers only
//! ```
//!
//! Law: reading what was written gives the same list; a mutant without a reason is missed.

use std::collections::BTreeMap;
use std::fmt;

/// A kernel's part of the list.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Entry {
    /// Mutants in all.
    pub mutants: usize,
    /// Those that a stage refuses or the simulator reports.
    pub found: usize,
    /// The others: the edit, and why it is harmless, where it is.
    pub others: BTreeMap<String, Option<String>>,
}

/// The list, by kernel.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct List(pub BTreeMap<String, Entry>);

impl Entry {
    /// How many have a reason.
    pub fn harmless(&self) -> usize {
        self.others.values().flatten().count()
    }
}

impl List {
    /// Reads a list.
    ///
    /// # Errors
    /// The line that is none of a list.
    pub fn read(text: &str) -> Result<List, String> {
        let mut list = List::default();
        let mut last = None;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let wrong = || format!("no line of a list of mutants: {line}");
            let (name, rest) = line.trim().split_once(": ").ok_or_else(wrong)?;
            if let Some(edit) = line.strip_prefix("  ") {
                let entry: &mut Entry = last.and_then(|last| list.0.get_mut(last)).ok_or_else(wrong)?;
                let (edit, _) = edit.split_once(": ").ok_or_else(wrong)?;
                let reason = rest.strip_prefix("harmless, ").map(str::to_owned);
                entry.others.insert(edit.to_owned(), reason);
                continue;
            }
            let numbers: Vec<usize> = rest.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
            let [mutants, found, ..] = numbers[..] else { return Err(wrong()) };
            list.0.insert(name.to_owned(), Entry { mutants, found, others: BTreeMap::new() });
            last = Some(name);
        }
        Ok(list)
    }

    /// The mutants in all, those found, those harmless, those missed.
    pub fn counts(&self) -> [usize; 4] {
        let mutants = self.0.values().map(|entry| entry.mutants).sum();
        let found = self.0.values().map(|entry| entry.found).sum();
        let harmless = self.0.values().map(Entry::harmless).sum();
        [mutants, found, harmless, mutants - found - harmless]
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mutants, found, harmless, missed] = self.counts();
        writeln!(
            f,
            "# {mutants} mutants of {} kernels: {found} found, {harmless} harmless, {missed} missed",
            self.0.len()
        )?;
        writeln!(f, "# `cargo run -p layout-mutants -- write` makes it anew and keeps the reasons.")?;
        for (name, entry) in &self.0 {
            let Entry { mutants, found, others } = entry;
            let harmless = entry.harmless();
            let missed = mutants - found - harmless;
            writeln!(f, "{name}: {mutants} mutants, {found} found, {harmless} harmless, {missed} missed")?;
            for (edit, reason) in others {
                match reason {
                    Some(reason) => writeln!(f, "  {edit}: harmless, {reason}")?,
                    None => writeln!(f, "  {edit}: missed")?,
                }
            }
        }
        Ok(())
    }
}
