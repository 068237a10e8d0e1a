//! Schedules: which ready warp runs, and when asynchronous work completes.
//!
//! ```text
//! 0        conservative: clusters and warps in order, each until it waits or writes atomically; asynchronous work completes as
//!          late as possible
//! 1        eager: clusters and warps in reverse order, each cluster while it makes progress; asynchronous work at once
//! 2, 4 ..  starve warp 0, 1, .. of a cluster, and cluster 0, 1, ..: it runs only if no other can, and every 32 rounds
//! 3, 5 ..  random
//! ```
//! Law: a schedule is determined by its number: the same number and launch give the same run. Every schedule is fair: a
//! warp that is ready runs eventually.

/// Rounds after which a starved warp runs.
const STARVED: u32 = 32;

/// The schedule of one host thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulePolicy {
    number: u64,
    state: u64,
    rounds: u32,
    /// The first warp of the next round in the conservative schedule: the one after the last that wrote atomically.
    pub next: usize,
}

impl SchedulePolicy {
    pub(crate) fn new(number: u64) -> SchedulePolicy {
        SchedulePolicy { number, state: number, rounds: 0, next: 0 }
    }

    /// Resets the state, so that a cluster's schedule does not depend on the clusters before it.
    pub(crate) fn start(&mut self, cluster: u64) {
        let state = self.number ^ cluster.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        *self = SchedulePolicy { state, rounds: 0, next: 0, ..*self };
    }

    pub(crate) fn is_conservative(self) -> bool {
        self.number == 0
    }

    pub(crate) fn is_eager(self) -> bool {
        self.number == 1
    }

    pub(crate) fn is_random(self) -> bool {
        self.number > 1 && self.number % 2 == 1
    }

    /// The starved warp of `warps`.
    pub(crate) fn starved_warp(self, warps: usize) -> Option<usize> {
        let which = (self.number > 1 && self.number.is_multiple_of(2))
            .then(|| (self.number / 2 - 1) % warps.max(1) as u64)?;
        Some(which as usize)
    }

    /// A random number below `end` (splitmix64).
    pub(crate) fn random_below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end.max(1) as u64) as usize
    }

    /// A permutation of the numbers below `count`.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        self.rounds = self.rounds.wrapping_add(1);
        let mut order: Vec<usize> = (0..count).collect();
        if self.is_eager() {
            order.reverse();
        } else if let Some(starved) = self.starved_warp(count) {
            order.retain(|number| *number != starved);
            order.push(starved);
        } else if self.is_random() {
            for at in (1..count).rev() {
                let other = self.random_below(at + 1);
                order.swap(at, other);
            }
        }
        order
    }

    /// The resident clusters that run in this round, in order, and the maximum number of steps of each while it makes
    /// progress.
    pub(crate) fn residents(&mut self, count: usize) -> Vec<(usize, u32)> {
        /// Steps of a cluster that runs as long as possible.
        const MANY: u32 = 1 << 12;
        self.rounds = self.rounds.wrapping_add(1);
        let all = (0..count).rev();
        if self.is_eager() {
            return all.map(|at| (at, MANY)).collect();
        }
        if let Some(starved) = self.starved_warp(count) {
            let waits = count > 1 && !self.rounds.is_multiple_of(STARVED);
            return all.filter(|at| !waits || *at != starved).map(|at| (at, 1)).collect();
        }
        if !self.is_random() {
            return all.map(|at| (at, 1)).collect();
        }
        let order = self.order(count);
        let mut taken: Vec<(usize, u32)> = Vec::with_capacity(count);
        for at in order {
            match self.random_below(4) {
                0 if count > 1 => {}
                1 => taken.push((at, MANY)),
                turns => taken.push((at, turns as u32)),
            }
        }
        taken
    }

    /// Whether a ready warp is delayed in this round; `ran` if another one ran.
    pub(crate) fn delays(&mut self, warp: usize, warps: usize, ran: bool) -> bool {
        ran && match self.starved_warp(warps) {
            Some(starved) => starved == warp && !self.rounds.is_multiple_of(STARVED),
            None => self.is_random() && self.random_below(4) == 0,
        }
    }

    /// The cluster that starts at this position.
    pub(crate) fn cluster(self, number: u64, clusters: u64) -> u64 {
        if self.is_eager() {
            return clusters - 1 - number;
        }
        if !self.is_random() || clusters < 2 {
            return number;
        }
        // A step coprime with the count visits all clusters.
        let mut random = SchedulePolicy { state: self.number, ..self };
        let step = (0..64)
            .map(|_| random.random_below(clusters as usize) as u64)
            .find(|step| coprime(*step, clusters));
        let first = random.random_below(clusters as usize) as u64;
        ((u128::from(number) * u128::from(step.unwrap_or(1)) + u128::from(first)) % u128::from(clusters))
            as u64
    }
}

fn coprime(mut a: u64, mut b: u64) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}
