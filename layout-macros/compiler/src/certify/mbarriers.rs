//! Arrays of mbarriers as rings: arrival `n` is at element `n % S`, in its phase `n / S`.
//!
//! ```text
//! element:   0   1   2   0   1   2        phase 0 of each, then phase 1 of each
//! number:    0   1   2   3   4   5
//! ```
//!
//! Law: who has waited for number `n` comes after every arrival of that number, and after the loads that its phase counts. That holds
//! where each thread that arrives does so once a number, in order, where they are as many as the barrier counts, where none arrives for
//! a number before the phase of this element before has ended, and where no more bytes are reported than are expected. An array of
//! which this is not shown orders nothing.

use super::counters::{Key, State};
use super::threads::Threads;
use crate::index::{Atoms, Index};
use std::collections::{BTreeMap, BTreeSet};

/// An arrival.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub number: Index,
    pub state: State,
    pub bytes: u32,
}

/// An array of mbarriers.
#[derive(Clone, Debug, Default)]
pub(super) struct Array {
    pub stages: i64,
    /// Arrivals of a phase, for each statement that makes them.
    pub counts: Vec<u32>,
    /// The barriers passed at that statement.
    pub made: Option<Index>,
    /// Those passed at each use.
    pub used: Vec<Option<Index>>,
    pub arrivals: Vec<Arrival>,
    /// The threads that arrive.
    pub threads: BTreeSet<Threads>,
    /// The end of the numbers of arrivals, where a branch says it.
    pub ends: Vec<Option<Index>>,
    /// Why it orders nothing.
    pub wrong: Option<&'static str>,
}

/// The arrays of a program.
pub(super) type Arrays = BTreeMap<u32, Array>;

impl Array {
    pub(super) fn refuse(&mut self, reason: &'static str) {
        self.wrong.get_or_insert(reason);
    }

    /// What can be said of it alone.
    fn own(&self, atoms: &Atoms) -> Result<(), &'static str> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let [count] = self.counts[..] else { return Err("it is not made exactly once") };
        let made = self.made.as_ref().ok_or("it is not known when it is made")?;
        let is_after = |used: &Option<Index>| {
            let goal = used.as_ref().and_then(|used| used.sub(made).ok()?.plus(-1).ok());
            goal.is_some_and(|goal| atoms.range(&goal).low >= 0)
        };
        if !self.used.iter().all(is_after) {
            return Err("no barrier of the block is between where it is made and its use");
        }
        let mut sets = self.threads.iter();
        if let (Some(set), None) = (sets.next(), sets.next())
            && (set.count() != count as usize || set.mixed)
        {
            return Err("its arrivals are not as many as its phases count");
        }
        if self.threads.len() != 1 {
            return Err("not the same threads arrive everywhere");
        }
        if self.ends.iter().any(|end| *end != self.ends[0]) {
            return Err("its arrivals end at different numbers");
        }
        if self.arrivals.iter().any(|arrival| arrival.bytes > 0) && count != 1 {
            return Err("bytes are expected by several threads");
        }
        Ok(())
    }
}

/// Whether a state is after the phase `number - stages`.
fn has_passed(atoms: &Atoms, state: &State, array: u32, number: &Index, stages: i64) -> bool {
    let goal = |waits: &Index| waits.sub(number).ok()?.plus(stages - 1).ok();
    let goal = state.get(Key::Waits(array)).and_then(goal);
    goal.is_some_and(|goal| atoms.range(&goal).low >= 0)
}

/// Pairs of arrays: who arrives at the second one for a number has waited for that number of the first one.
pub(super) fn handed(atoms: &Atoms, arrays: &Arrays) -> Vec<(u32, u32)> {
    let is_handed = |place: u32, over: &Array| {
        let waited = |one: &Arrival| has_passed(atoms, &one.state, place, &one.number, 0);
        !over.arrivals.is_empty() && over.arrivals.iter().all(waited)
    };
    let pairs =
        arrays.keys().flat_map(|place| arrays.iter().map(move |(other, over)| (*place, *other, over)));
    pairs.filter(|(place, _, over)| is_handed(*place, over)).map(|(place, other, _)| (place, other)).collect()
}

/// Arrays whose phases never end: who arrives for a number waits for it, at the array itself or by another one.
fn endless(atoms: &Atoms, arrays: &Arrays) -> Vec<u32> {
    let pairs = handed(atoms, arrays);
    let both = |(place, other): &&(u32, u32)| pairs.contains(&(*other, *place));
    pairs.iter().filter(both).map(|(place, _)| *place).collect()
}

/// The arrays that order, and why the others do not.
pub(super) fn judge(atoms: &Atoms, arrays: &Arrays) -> BTreeMap<u32, Result<(), &'static str>> {
    let mut judged: BTreeMap<u32, Result<(), &'static str>> =
        arrays.iter().map(|(place, array)| (*place, array.own(atoms))).collect();
    for place in endless(atoms, arrays) {
        judged.insert(place, Err("its phases never end: who arrives for one waits for it"));
    }
    // Each way around a ring is shown under the assumption that the numbers before are in order: an induction over the time.
    loop {
        let good = |judged: &BTreeMap<u32, Result<(), &'static str>>, place: &u32| {
            judged.get(place).is_some_and(Result::is_ok)
        };
        let late = arrays.iter().find(|(place, array)| {
            good(&judged, place)
                && !array.arrivals.iter().all(|arrival| {
                    let number = &arrival.number;
                    has_passed(atoms, &arrival.state, **place, number, array.stages)
                        || arrays.iter().any(|(other, over)| {
                            // Those who arrive there have waited for this array, or the arrival for all that they did.
                            *other != **place
                                && good(&judged, other)
                                && over.stages == array.stages
                                && !over.arrivals.is_empty()
                                && [(0, array.stages), (array.stages, 0)].into_iter().any(|(there, here)| {
                                    let handed = |one: &Arrival| {
                                        has_passed(atoms, &one.state, **place, &one.number, there)
                                    };
                                    over.arrivals.iter().all(handed)
                                        && has_passed(atoms, &arrival.state, *other, number, here)
                                })
                        })
                })
        });
        match late {
            Some((place, _)) => {
                judged.insert(
                    *place,
                    Err("an arrival may be before the phase of its element before has ended"),
                );
            }
            None => return judged,
        }
    }
}
