//! Vector clocks: for each thread the time before which all that it did is known.
//!
//! A warp has one time, which advances whenever one of its lanes releases something to others. The clock of a warp is
//! mostly knowledge of all its lanes, and is one number; what is known of single lanes beyond that stands in a list.
//!
//! Law: `a.join(b)` knows what `a` knows and what `b` knows, and nothing else.

use crate::register::LANES;
use std::ops::Range;

/// The times of some warps' lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WarpClock {
    /// For each warp the time before which what its lanes did is known.
    warps: Vec<u32>,
    /// The least of those.
    floor: u32,
    /// Threads of which more is known, by number, and the time.
    lanes: Vec<(u32, u32)>,
}

impl WarpClock {
    /// Of so many warps nothing is known but that they begin, at time 1.
    pub(crate) fn start(warps: usize) -> WarpClock {
        WarpClock { warps: vec![1; warps], floor: u32::from(warps > 0), lanes: Vec::new() }
    }

    /// The time before which what any warp did is known.
    #[inline]
    pub(crate) fn floor(&self) -> u32 {
        self.floor
    }

    /// The time before which what all lanes of a warp did is known.
    #[inline]
    pub(crate) fn of(&self, warp: usize) -> u32 {
        self.warps.get(warp).copied().unwrap_or_default()
    }

    /// Of these lanes of a warp, those of which it is not known what they did at a time.
    #[inline]
    pub(crate) fn unknown(&self, warp: usize, lanes: u32, time: u32) -> u32 {
        if self.warps.get(warp).is_some_and(|known| time < *known) {
            return 0;
        }
        let known =
            self.lanes.iter().filter(|(thread, known)| *thread as usize / LANES == warp && time < *known);
        known.fold(lanes, |left, (thread, _)| left & !(1 << (thread % LANES as u32)))
    }

    /// Whether anything is known of these warps but that they begin.
    pub(crate) fn has_advanced(&self, warps: Range<usize>) -> bool {
        self.warps.get(warps.clone()).is_some_and(|times| times.iter().any(|time| *time > 1))
            || self.lanes.iter().any(|(thread, _)| warps.contains(&(*thread as usize / LANES)))
    }

    /// Whether it knows all that another knows, but for what threads of a warp did.
    pub(crate) fn covers(&self, other: &WarpClock, own: usize) -> bool {
        let known = |warp: usize, lanes: u32, time: u32| {
            warp == own || time == 0 || self.unknown(warp, lanes, time - 1) == 0
        };
        other.warps.iter().enumerate().all(|(warp, time)| known(warp, u32::MAX, *time))
            && other
                .lanes
                .iter()
                .all(|(thread, time)| known(*thread as usize / LANES, 1 << (thread % LANES as u32), *time))
    }

    /// Learns what these lanes did before a time; `live` are the lanes that the warp has.
    pub(crate) fn advance(&mut self, warp: usize, lanes: u32, live: u32, time: u32) {
        if self.warps.len() <= warp {
            self.warps.resize(warp + 1, 0);
        }
        if lanes == live {
            self.warps[warp] = self.warps[warp].max(time);
            self.tidy();
        } else if self.warps[warp] < time {
            let threads = (0..LANES as u32).filter(|lane| lanes >> lane & 1 != 0);
            self.lanes.extend(threads.map(|lane| (warp as u32 * LANES as u32 + lane, time)));
            self.tidy();
        }
    }

    /// Knows what another knows, and no more.
    pub(crate) fn set(&mut self, other: &WarpClock) {
        self.warps.clone_from(&other.warps);
        self.lanes.clone_from(&other.lanes);
        self.floor = other.floor;
    }

    /// Learns what another knows.
    pub(crate) fn join(&mut self, other: &WarpClock) {
        self.join_from(0, other);
    }

    /// Learns what another knows, whose warps are counted from `first` on here.
    pub(crate) fn join_from(&mut self, first: usize, other: &WarpClock) {
        self.warps.resize(self.warps.len().max(first + other.warps.len()), 0);
        for (mine, other) in self.warps[first..].iter_mut().zip(&other.warps) {
            *mine = (*mine).max(*other);
        }
        let moved = (first * LANES) as u32;
        self.lanes.extend(other.lanes.iter().map(|(thread, time)| (thread + moved, *time)));
        self.tidy();
    }

    /// What it knows of some of the warps, which are counted from 0 on there.
    pub(crate) fn part(&self, warps: Range<usize>) -> WarpClock {
        let own = |thread: &u32| warps.contains(&(*thread as usize / LANES));
        let lanes = self.lanes.iter().filter(|(thread, _)| own(thread));
        let mut part = WarpClock {
            warps: self.warps.get(warps.clone()).unwrap_or_default().to_vec(),
            floor: 0,
            lanes: lanes.map(|(thread, time)| (thread - (warps.start * LANES) as u32, *time)).collect(),
        };
        part.tidy();
        part
    }

    /// Each thread once, and only where more is known of it than of its warp.
    fn tidy(&mut self) {
        self.floor = self.warps.iter().copied().min().unwrap_or_default();
        if self.lanes.is_empty() {
            return;
        }
        let warps = &self.warps;
        self.lanes
            .retain(|(thread, time)| warps.get(*thread as usize / LANES).is_none_or(|known| known < time));
        // The latest time of a thread first.
        self.lanes.sort_unstable_by_key(|(thread, time)| (*thread, std::cmp::Reverse(*time)));
        self.lanes.dedup_by_key(|(thread, _)| *thread);
    }
}
