//! Findings: one for each kind and site, with the first occurrence and the number of occurrences.
//!
//! Law: the result does not depend on the host threads: the first occurrence is the first by block, then by order.
//! Among concurrent blocks it is the first by time, since the earliest is the likeliest cause. Findings of other
//! schedules follow.

use crate::report::{Finding, FindingKind};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// A message, and the line of the conflicting access if it is known.
pub(crate) struct Message {
    pub text: String,
    pub other: Option<u32>,
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message { text, other: None }
    }
}

impl Message {
    /// With the line of the conflicting access; 0 for none.
    pub(crate) fn with_line(text: String, line: u32) -> Message {
        Message { text, other: Some(line).filter(|line| *line > 0) }
    }
}

/// The position of an occurrence in the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Moment {
    /// The number of the schedule.
    pub schedule: u64,
    pub block: u64,
    /// Occurrences before it in the block.
    pub order: u64,
}

/// Its kind and its site.
pub(crate) type Key = (FindingKind, u32);

#[derive(Default)]
pub(crate) struct Findings {
    known: HashMap<Key, (Moment, Finding)>,
    now: Moment,
}

impl Findings {
    /// Starts a block; blocks come in increasing order.
    pub(crate) fn start_block(&mut self, block: u64) {
        self.now = Moment { block, ..Moment::default() };
    }

    /// Adds `count` occurrences; `finding` is called for the first.
    pub(crate) fn add(
        &mut self,
        kind: FindingKind,
        site: u32,
        count: u64,
        finding: impl FnOnce() -> Finding,
    ) {
        self.now.order += 1;
        match self.known.entry((kind, site)) {
            Entry::Occupied(mut entry) => entry.get_mut().1.count += count,
            Entry::Vacant(entry) => {
                let finding = Finding { count, ..finding() };
                entry.insert((self.now, finding));
            }
        }
    }

    /// The findings that are not among those known before; they are afterwards.
    pub(crate) fn news(&self, before: &mut HashSet<Key>) -> Vec<Finding> {
        if self.known.len() <= before.len() {
            return Vec::new();
        }
        let new = self.known.iter().filter(|(key, _)| before.insert(**key));
        let mut new: Vec<&(Moment, Finding)> = new.map(|(_, found)| found).collect();
        new.sort_by_key(|(moment, _)| *moment);
        new.into_iter().map(|(_, finding)| finding.clone()).collect()
    }

    /// Moves a finding to the front: it is the cause of the others.
    pub(crate) fn first(&mut self, kind: FindingKind, site: u32) {
        if let Some((moment, _)) = self.known.get_mut(&(kind, site)) {
            *moment = Moment { block: 0, order: 0, ..*moment };
        }
    }

    /// Replaces the kind and message of a finding whose cause is found, at its position.
    pub(crate) fn explain(&mut self, (kind, site): (FindingKind, u32), cause: FindingKind, message: Message) {
        let Some((moment, finding)) = self.known.remove(&(kind, site)) else { return };
        let mut own = Findings::default();
        let Message { text, other } = message;
        own.known.insert((cause, site), (moment, Finding { kind: cause, message: text, other, ..finding }));
        self.merge(own);
    }

    pub(crate) fn merge(&mut self, other: Findings) {
        for (key, (moment, finding)) in other.known {
            match self.known.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert((moment, finding));
                }
                Entry::Occupied(mut entry) => {
                    let (known, mine) = entry.get_mut();
                    let count = mine.count + finding.count;
                    if moment < *known {
                        (*known, *mine) = (moment, finding);
                    }
                    mine.count = count;
                }
            }
        }
    }

    /// Adds findings that only another schedule has.
    pub(crate) fn merge_new(&mut self, other: Findings, schedule: u64, seed: u64) {
        for (key, (moment, finding)) in other.known {
            self.known.entry(key).or_insert_with(|| {
                let message = format!("{}, under the schedule of seed {seed}", finding.message);
                (Moment { schedule, ..moment }, Finding { message, ..finding })
            });
        }
    }

    /// In the order of the first occurrence, at most `most` of each kind; and the number of the omitted ones.
    pub(crate) fn finish(self, most: usize) -> (Vec<Finding>, u64) {
        let mut all: Vec<((Moment, FindingKind, u32), Finding)> =
            self.known.into_iter().map(|((kind, site), (moment, f))| ((moment, kind, site), f)).collect();
        all.sort_by_key(|(key, _)| *key);
        let mut kept: HashMap<FindingKind, usize> = HashMap::new();
        let before = all.len();
        let findings: Vec<Finding> = all
            .into_iter()
            .map(|(_, finding)| finding)
            .filter(|finding| {
                let count = kept.entry(finding.kind).or_default();
                *count += 1;
                *count <= most
            })
            .collect();
        let left_out = (before - findings.len()) as u64;
        (findings, left_out)
    }
}
