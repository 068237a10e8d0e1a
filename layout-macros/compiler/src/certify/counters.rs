//! Ghost counters of a thread: how many barriers it has passed, copies it has committed, phases of mbarriers it has waited for.
//!
//! Law: an exact counter is that of every thread that comes here; a lower bound counts what is complete for the thread, and may be too
//! small. What is not known is not in the state. A counter of an actor is that of the threads of one branch: after the branch it is
//! theirs still.

use crate::index::{Index, VarId};
use std::collections::BTreeMap;

/// What is counted. Mbarriers are counted by array, over all of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    /// Barriers of the block that the thread has passed.
    Barriers,
    /// Groups of copies that it has committed.
    Commits,
    /// Groups of its copies that are complete: all before this number; and those at its last barrier.
    Done,
    DoneAll,
    /// Fences of the asynchronous proxy, and those at its last barrier.
    Fences,
    FencesAll,
    /// The barriers that it had passed at its last fence.
    BarriersFenced,
    /// Groups of matrix products: committed, complete, complete at its last barrier.
    Products,
    ProductsDone,
    ProductsDoneAll,
    /// Groups of its stores by tensor map, those that have read shared memory, and those at the last barrier.
    Stores,
    StoresRead,
    StoresReadAll,
    /// Whether a store is in no group yet, as a number.
    StoresOpen,
    /// Phases of an array of mbarriers that it has waited for: all before this number.
    Waits(u32),
    /// The same of any thread whose next barrier orders it.
    Seen(u32),
    /// The next arrival's number at an array.
    Arrivals(u32),
    /// Bytes that the last arrival expects and no load has reported yet.
    Bytes(u32),
    /// A position's ghost counter, by its stage.
    Ghost(VarId),
}

impl Key {
    /// Whether it is a lower bound.
    pub(super) fn is_bound(self) -> bool {
        match self {
            Key::Done
            | Key::DoneAll
            | Key::FencesAll
            | Key::BarriersFenced
            | Key::ProductsDone
            | Key::ProductsDoneAll
            | Key::StoresRead
            | Key::StoresReadAll
            | Key::Waits(_)
            | Key::Seen(_) => true,
            Key::Barriers
            | Key::Commits
            | Key::Fences
            | Key::Products
            | Key::Stores
            | Key::StoresOpen
            | Key::Arrivals(_)
            | Key::Bytes(_)
            | Key::Ghost(_) => false,
        }
    }

    /// Whether it goes on where a branch ends it: events of numbers from some one on do not happen.
    fn is_prefixed(self) -> bool {
        matches!(self, Key::Arrivals(_) | Key::Bytes(_))
    }

    /// Whether it is an actor's.
    pub(super) fn is_actors(self) -> bool {
        self.is_prefixed() || matches!(self, Key::Seen(_) | Key::Stores | Key::StoresRead | Key::StoresOpen)
    }
}

/// What is known at a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    pub keys: BTreeMap<Key, Index>,
    /// The values of names and of bound loop variables.
    pub names: BTreeMap<VarId, Index>,
}

/// `a - b`, where that is a number.
pub(super) fn apart(a: &Index, b: &Index) -> Option<i64> {
    a.sub(b).ok()?.as_constant()
}

impl State {
    pub(super) fn get(&self, key: Key) -> Option<&Index> {
        self.keys.get(&key)
    }

    /// Sets a counter, or forgets it.
    pub(super) fn set(&mut self, key: Key, value: Option<Index>) {
        match value {
            Some(value) => drop(self.keys.insert(key, value)),
            None => drop(self.keys.remove(&key)),
        }
    }

    pub(super) fn add(&mut self, key: Key, by: i64) {
        let value = self.get(key).and_then(|value| value.plus(by).ok());
        self.set(key, value);
    }

    /// Raises a lower bound to another one, where they are a number apart.
    pub(super) fn raise(&mut self, key: Key, to: Option<&Index>) {
        let Some(to) = to.cloned() else { return };
        let is_more = self.get(key).is_none_or(|own| apart(&to, own).is_some_and(|apart| apart > 0));
        if is_more {
            self.keys.insert(key, to);
        }
    }

    /// Sets a lower bound to a new one, where the old one is not known to be more.
    pub(super) fn renew(&mut self, key: Key, to: Option<Index>) {
        let Some(to) = to else { return };
        let is_less = self.get(key).is_some_and(|own| apart(&to, own).is_some_and(|apart| apart < 0));
        if !is_less {
            self.keys.insert(key, to);
        }
    }

    /// What every thread has at a barrier, all have after it.
    pub(super) fn barrier(&mut self) {
        self.add(Key::Barriers, 1);
        for (own, all) in [
            (Key::Done, Key::DoneAll),
            (Key::Fences, Key::FencesAll),
            (Key::ProductsDone, Key::ProductsDoneAll),
            (Key::StoresRead, Key::StoresReadAll),
        ] {
            // What was complete at an earlier barrier still is.
            if let Some(value) = self.get(own).cloned() {
                self.keys.insert(all, value);
            }
        }
        let seen: Vec<(Key, Index)> = self.keys.iter().map(|(key, value)| (*key, value.clone())).collect();
        for (key, value) in seen {
            if let Key::Seen(array) = key {
                self.raise(Key::Waits(array), Some(&value));
            }
        }
    }

    /// What holds after both branches. `adopts` says of each whether it is the actors' alone, who certainly come there.
    pub(super) fn join(
        &self,
        then: &State,
        otherwise: &State,
        adopts: [bool; 2],
        certain: [bool; 2],
    ) -> State {
        let mut joined = State { names: self.names.clone(), keys: BTreeMap::new() };
        for (key, a) in &then.keys {
            let Some(b) = otherwise.get(*key) else { continue };
            let before = self.get(*key);
            let value = match (a == b, key.is_actors()) {
                (true, _) => Some(a),
                (false, true) => {
                    let adopts = if key.is_prefixed() { adopts } else { certain };
                    match (Some(a) == before, Some(b) == before) {
                        (false, true) if adopts[0] => Some(a),
                        (true, false) if adopts[1] => Some(b),
                        _ => None,
                    }
                }
                (false, false) => None,
            };
            let lower = || match key.is_bound() {
                true => apart(a, b).map(|apart| if apart < 0 { a } else { b }),
                false => None,
            };
            joined.set(*key, value.or_else(lower).cloned());
        }
        joined
    }
}
