//! Which set is tried next.
//!
//! Law: deterministic, by the seed and by what was measured; no set is tried twice.

use super::model::{Regression, guess};
use crate::probe::Planned;

/// How the space is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Every set, in the space's order.
    All,
    /// In a random order, by a seed.
    Random(u64),
    /// By an estimate of how the blocks fill the device, then by a regression over what was measured: where it expects the
    /// least time, and now and then where it knows least.
    Guided(u64),
}

/// A set that may still be tried.
pub(crate) struct Open {
    /// Its number in the space.
    pub(crate) number: usize,
    pub(crate) planned: Planned,
    pub(crate) features: Vec<f64>,
}

/// A small generator of numbers (SplitMix64, Steele et al. 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The course of a search.
pub(crate) struct Course {
    search: Search,
    state: u64,
    multiprocessors: u32,
    picks: usize,
}

impl Course {
    pub(crate) fn new(search: Search, multiprocessors: u32) -> Course {
        let state = match search {
            Search::All => 0,
            Search::Random(seed) | Search::Guided(seed) => seed,
        };
        Course { search, state, multiprocessors, picks: 0 }
    }

    /// Takes the next set out of the open ones; `measured` are features and milliseconds so far.
    pub(crate) fn next(&mut self, open: &mut Vec<Open>, measured: &[(Vec<f64>, f64)]) -> Option<Open> {
        if open.is_empty() {
            return None;
        }
        self.picks += 1;
        // The default is measured first, whatever the search: all others are held against it.
        let at = match self.search {
            _ if self.picks == 1 => 0,
            Search::All => 0,
            Search::Random(_) => (random(&mut self.state) % open.len() as u64) as usize,
            Search::Guided(_) => self.guided(open, measured),
        };
        Some(open.remove(at))
    }

    fn guided(&mut self, open: &[Open], measured: &[(Vec<f64>, f64)]) -> usize {
        let least = |score: &dyn Fn(&Open) -> f64| {
            let scores = open.iter().map(score).enumerate();
            scores.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at)
        };
        let Some(fitted) = Regression::fit(measured) else {
            return least(&|one| guess(&one.planned, self.multiprocessors));
        };
        // A few by the guess alone, far from one another; then the regression.
        if measured.len() < 4 {
            return least(&|one| {
                guess(&one.planned, self.multiprocessors)
                    - 0.5 * fitted.distance(&one.features, measured).min(2.0)
            });
        }
        let explore = if self.picks.is_multiple_of(4) { 0.25 } else { 0.03 };
        least(&|one| {
            fitted.predict(&one.features) - explore * fitted.distance(&one.features, measured).min(3.0)
        })
    }
}
