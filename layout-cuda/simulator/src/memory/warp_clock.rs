//! The clock of the warps of a cluster: for each thread the time before which its work happens-before the owner's next
//! step.
//!
//! A warp has one time. It advances whenever one of its lanes releases. A clock is one number for each warp, and a list
//! of the lanes that are ahead of their warp.
//!
//! Law: `a.join(b)` is the least clock that covers `a` and `b`.

use crate::register::LANES;
use std::ops::Range;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WarpClock {
    /// The component of each warp.
    warps: Vec<u32>,
    /// The least component.
    floor: u32,
    /// Threads that are ahead of their warp: number and time.
    lanes: Vec<(u32, u32)>,
}

impl WarpClock {
    /// The clock at the start: time 1 for each warp.
    pub(crate) fn start(warps: usize) -> WarpClock {
        WarpClock { warps: vec![1; warps], floor: u32::from(warps > 0), lanes: Vec::new() }
    }

    #[inline]
    pub(crate) fn floor(&self) -> u32 {
        self.floor
    }

    /// The component of a warp.
    #[inline]
    pub(crate) fn of(&self, warp: usize) -> u32 {
        self.warps.get(warp).copied().unwrap_or_default()
    }

    /// The subset of a warp's lanes whose work at a time is not covered.
    #[inline]
    pub(crate) fn unknown(&self, warp: usize, lanes: u32, time: u32) -> u32 {
        if self.warps.get(warp).is_some_and(|known| time < *known) {
            return 0;
        }
        let known =
            self.lanes.iter().filter(|(thread, known)| *thread as usize / LANES == warp && time < *known);
        known.fold(lanes, |left, (thread, _)| left & !(1 << (thread % LANES as u32)))
    }

    /// Whether a component of these warps is beyond the start.
    pub(crate) fn has_advanced(&self, warps: Range<usize>) -> bool {
        self.warps.get(warps.clone()).is_some_and(|times| times.iter().any(|time| *time > 1))
            || self.lanes.iter().any(|(thread, _)| warps.contains(&(*thread as usize / LANES)))
    }

    /// Whether it covers another clock, except for the threads of warp `own`.
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

    /// Covers the work of these lanes before a time; `live` are the lanes that the warp has.
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

    pub(crate) fn set(&mut self, other: &WarpClock) {
        self.warps.clone_from(&other.warps);
        self.lanes.clone_from(&other.lanes);
        self.floor = other.floor;
    }

    pub(crate) fn join(&mut self, other: &WarpClock) {
        self.join_from(0, other);
    }

    /// Joins a clock whose warp 0 is warp `first` here.
    pub(crate) fn join_from(&mut self, first: usize, other: &WarpClock) {
        self.warps.resize(self.warps.len().max(first + other.warps.len()), 0);
        for (mine, other) in self.warps[first..].iter_mut().zip(&other.warps) {
            *mine = (*mine).max(*other);
        }
        let moved = (first * LANES) as u32;
        self.lanes.extend(other.lanes.iter().map(|(thread, time)| (thread + moved, *time)));
        self.tidy();
    }

    /// The components of some warps, renumbered from 0.
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

    /// Keeps one entry for each lane, and only lanes that are ahead of their warp.
    fn tidy(&mut self) {
        self.floor = self.warps.iter().copied().min().unwrap_or_default();
        if self.lanes.is_empty() {
            return;
        }
        let warps = &self.warps;
        self.lanes
            .retain(|(thread, time)| warps.get(*thread as usize / LANES).is_none_or(|known| known < time));
        self.lanes.sort_unstable_by_key(|(thread, time)| (*thread, std::cmp::Reverse(*time)));
        self.lanes.dedup_by_key(|(thread, _)| *thread);
    }
}
