//! What orders two accesses, by ghost counters: facts that hold where neither comes before the other.
//!
//! ```text
//! a comes before b where   barriers(a) < barriers(b)                    so unordered:   barriers(a) - barriers(b) >= 0
//!                          number of the load a < waits of b                            number - waits(b) >= 0
//! ```
//!
//! Law: each way of ordering that both moments have a counter for fails where the two are unordered, in both directions. So all these
//! facts hold of an unordered pair, whatever else does; a way that is missing makes a proof fail.

use super::counters::{Key, State};
use super::counts::Counts;
use super::replay::Moment;
use super::sites::Site;
use crate::index::Index;
use crate::program::Transport;

/// An access at a moment.
#[derive(Clone, Copy)]
pub(super) struct At<'m, 'a> {
    pub site: &'m Site<'a>,
    pub moment: &'m Moment,
    /// The array of the load's mbarrier.
    pub array: Option<u32>,
}

/// A fact of two sides: `first - second >= 0`.
pub(super) type Fact = (Index, Index);

impl At<'_, '_> {
    fn state(&self) -> &State {
        &self.moment.state
    }

    fn get(&self, key: Key) -> Option<Index> {
        self.state().get(key).cloned()
    }

    /// Whether it is by the asynchronous proxy.
    fn is_asynchronous(&self) -> bool {
        matches!(self.site.means, Transport::Tma | Transport::MatrixUnits)
    }

    /// The facts where this one does not come before another one.
    pub(super) fn not_before(&self, other: &At<'_, '_>, counts: &Counts) -> Vec<Fact> {
        let arrays = &counts.arrays;
        let mut facts: Vec<Fact> = Vec::new();
        let mut fails = |own: Option<Index>, passed: Option<Index>| facts.extend(own.zip(passed));
        match self.site.means {
            Transport::Tma if self.array.is_none() => {
                if counts.is_read {
                    fails(self.get(Key::Stores), other.get(Key::StoresReadAll));
                }
            }
            Transport::Tma => {
                let own = self.array.filter(|own| arrays.iter().any(|(array, _)| array == own));
                if let Some(array) = own {
                    let number = self.get(Key::Arrivals(array)).and_then(|next| next.plus(-1).ok());
                    fails(number.clone(), other.get(Key::Waits(array)));
                    // Or another one has waited for it, and arrived where this one waits.
                    let is_good = |other: &u32| arrays.iter().any(|(array, _)| array == other);
                    for (_, over) in counts.handed.iter().filter(|(own, over)| *own == array && is_good(over))
                    {
                        fails(number.clone(), other.get(Key::Waits(*over)));
                    }
                }
            }
            // Its writes are those of a thread: the asynchronous proxy does not see them without a fence.
            Transport::CopyAsync if other.is_asynchronous() => {}
            Transport::CopyAsync => fails(self.get(Key::Commits), other.get(Key::DoneAll)),
            Transport::MatrixUnits => fails(self.get(Key::Products), other.get(Key::ProductsDoneAll)),
            Transport::Thread | Transport::Atomic | Transport::Matrix => {
                // What a thread wrote the asynchronous proxy sees after a fence: the thread's own, or one after the barrier.
                if other.is_asynchronous() && self.site.way.writes() {
                    fails(self.get(Key::Fences), other.get(Key::FencesAll));
                    fails(self.get(Key::Barriers), other.get(Key::BarriersFenced));
                } else {
                    fails(self.get(Key::Barriers), other.get(Key::Barriers));
                    for (array, threads) in arrays {
                        if self.moment.threads.are_among(threads) {
                            fails(self.get(Key::Arrivals(*array)), other.get(Key::Waits(*array)));
                        }
                    }
                }
            }
            Transport::RemoteShared => {}
        }
        facts
    }
}
