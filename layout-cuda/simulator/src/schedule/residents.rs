//! Resident blocks: clusters that run concurrently, where threads may wait for other blocks.
//!
//! ```text
//! a few clusters start
//! while there are clusters:
//!     each one, in the schedule's order, runs its ready warps up to the warp's next atomic operation
//!     no progress: one more cluster starts if the device has room; if none is left: deadlock
//! ```
//!
//! Law: every started cluster is scheduled repeatedly. If the device does not hold all clusters, the launch runs
//! twice, in order and in reverse order: CUDA promises no order (CUDA C++ Programming Guide, thread hierarchy: blocks
//! run in any order), and a wait must end in both. So a wait for another block is correct only if all blocks are
//! resident, or if the other block has certainly started, for example because it drew an earlier number from a
//! counter. A cooperative launch with more blocks than the device holds is refused.

use super::run::Step;
use crate::machine::Machine;
use crate::machine::Observers;
use crate::memory::lane_clocks::ClusterClocks;
use crate::memory::vector_clock::RemoteClocks;
use crate::report::FindingKind;
use crate::state::policy::SchedulePolicy;
use crate::state::proxy::Proxy;
use crate::state::warp::{State, Warp};
use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;

/// Blocks that start together; at least a cluster.
const FIRST: usize = 8;
/// Rounds without progress before another cluster starts.
const PATIENCE: u32 = 4;
/// Rounds without progress that count as a deadlock.
const IDLE: u32 = 1 << 12;

/// A resident cluster while another one runs.
struct Resident<'a> {
    warps: Vec<Warp>,
    clocks: ClusterClocks,
    shared: Vec<u8>,
    observers: Observers<'a>,
    proxy: Proxy,
    policy: SchedulePolicy,
    at_grid_barrier: bool,
    ended: bool,
}

/// Threads of a multiprocessor (CUDA C++ Programming Guide, compute capabilities 8.0 and 9.0).
const THREADS: u32 = 2048;
/// Bytes of shared memory of a multiprocessor (same, 9.0). A block takes 1 KiB in addition to its own.
const SHARED_BYTES: u32 = 228 << 10;

/// The number of clusters that the multiprocessors are certain to hold: one block each, or `min_blocks` if their
/// threads and shared memory fit.
pub(crate) fn places(checked: &Checked, bound: &Bound, multiprocessors: u32) -> usize {
    let threads = bound.block.iter().product::<u32>().max(1);
    let shared = checked.plan().shared_bytes + 1024;
    let each = checked.min_blocks().unwrap_or(1).min(THREADS / threads).min(SHARED_BYTES / shared).max(1);
    let blocks = u64::from(multiprocessors) * u64::from(each);
    let clusters = blocks / u64::from(crate::state::cluster::size(checked.plan().cluster)).max(1);
    usize::try_from(clusters).unwrap_or(usize::MAX).max(1)
}

/// The clusters that run concurrently, and the place in their schedule.
#[derive(Default)]
pub(crate) struct Together<'a> {
    residents: Vec<Resident<'a>>,
    /// Clusters that have started.
    next: u64,
    /// Rounds without progress.
    idle: u32,
    /// How many residents wait for the grid; clusters that have not started come before them.
    at_grid_barrier: usize,
    /// The residents of this round and the steps of each, the next one last.
    turns: Vec<(usize, u32)>,
    /// Whether one of them made progress, and the steps of the present one since its last.
    progress: bool,
    still: u32,
    /// Whether a watched run is paused: the machine holds the state of the present resident.
    paused: bool,
}

impl Together<'_> {
    pub(crate) fn len(&self) -> usize {
        self.residents.len()
    }

    /// A copy without the analyses.
    pub(crate) fn copy(&self) -> Together<'static> {
        let copy = |one: &Resident<'_>| Resident {
            warps: one.warps.clone(),
            clocks: one.clocks.clone(),
            shared: one.shared.clone(),
            observers: Vec::new(),
            proxy: one.proxy.clone(),
            policy: one.policy,
            at_grid_barrier: one.at_grid_barrier,
            ended: one.ended,
        };
        Together {
            residents: self.residents.iter().map(copy).collect(),
            next: self.next,
            idle: self.idle,
            at_grid_barrier: self.at_grid_barrier,
            turns: self.turns.clone(),
            progress: self.progress,
            still: self.still,
            paused: self.paused,
        }
    }
}

impl<'a> Machine<'a> {
    /// Runs all clusters concurrently; false if the launch must stop.
    pub(crate) fn run_together(&mut self, clusters: u64) -> bool {
        self.resume_together(&mut Together::default(), clusters) == Step::Ended
    }

    /// Runs them until the launch ends or stops, or a watched run pauses.
    pub(crate) fn resume_together(&mut self, all: &mut Together<'a>, clusters: u64) -> Step {
        let first = FIRST.div_ceil(self.ranks());
        let places = self.launch.places;
        loop {
            if all.turns.is_empty() {
                let residents = &mut all.residents;
                let more = all.idle > PATIENCE || all.at_grid_barrier > 0;
                let wanted = if more { residents.len() + 1 } else { first };
                while residents.len() < wanted.min(places) && all.next < clusters {
                    residents.push(self.resident(match self.launch.backwards {
                        true => clusters - 1 - all.next,
                        false => self.policy.cluster(all.next, clusters),
                    }));
                    all.next += 1;
                    all.idle = 0;
                }
                if residents.is_empty() {
                    return Step::Ended;
                }
                all.turns = self.policy.residents(residents.len());
                all.turns.reverse();
                (all.progress, all.still) = (false, 0);
            }
            match self.round_of_residents(all) {
                Step::Advanced => {}
                stopped => return stopped,
            }
            let residents = &mut all.residents;
            residents.retain(|resident| !resident.ended);
            if all.at_grid_barrier > 0 && all.at_grid_barrier == residents.len() && all.next == clusters {
                self.release_grid(residents, clusters);
                (all.at_grid_barrier, all.progress) = (0, true);
            }
            all.idle = if all.progress { 0 } else { all.idle + 1 };
            if all.idle > IDLE {
                if let Some(resident) = residents.first_mut() {
                    self.exchange(resident);
                    let stuck = self.warps.iter().position(|warp| warp.state == State::Ready);
                    let stuck = stuck.unwrap_or_default();
                    let site = self.warps[stuck].wait_site;
                    let kind =
                        if all.next < clusters { FindingKind::NotResident } else { FindingKind::Deadlock };
                    self.stop(stuck, kind, site);
                }
                return Step::Stopped;
            }
        }
    }

    /// The residents' turns of one round, or those that are left of it.
    fn round_of_residents(&mut self, all: &mut Together<'a>) -> Step {
        while let Some((at, turns)) = all.turns.pop() {
            let resident = &mut all.residents[at];
            if turns == 0 || resident.at_grid_barrier || resident.ended {
                all.still = 0;
                continue;
            }
            if !std::mem::take(&mut all.paused) {
                self.progress = false;
                self.exchange(resident);
            }
            let turn = self.step();
            if turn == Step::Paused {
                all.paused = true;
                all.turns.push((at, turns));
                return Step::Paused;
            }
            self.exchange(resident);
            match turn {
                Step::Ended => resident.ended = true,
                Step::AtGridBarrier => {
                    resident.at_grid_barrier = true;
                    all.at_grid_barrier += 1;
                    self.progress = true;
                }
                Step::Advanced | Step::Paused => {}
                Step::Stopped => return Step::Stopped,
            }
            all.progress |= self.progress;
            // A polling warp may need several steps before it makes progress.
            all.still = if self.progress { 0 } else { all.still + 1 };
            if all.still <= PATIENCE {
                all.turns.push((at, turns - 1));
            } else {
                all.still = 0;
            }
        }
        Step::Advanced
    }

    /// All clusters that have not ended wait for the grid: they join their clocks.
    fn release_grid(&mut self, residents: &mut [Resident<'a>], clusters: u64) {
        let missing = clusters - residents.len() as u64;
        let mut all = RemoteClocks::default();
        for resident in &mut *residents {
            self.exchange(resident);
            let waits = |warp: &Warp| match warp.state {
                State::Waiting(_, site) => Some((warp.number, warp.live, site)),
                _ => None,
            };
            if let (true, Some((warp, lanes, site))) = (missing > 0, self.warps.iter().find_map(waits)) {
                self.report(FindingKind::DivergentBarrier, site, warp, lanes, None, |_| {
                    format!("{missing} of the {clusters} blocks have ended while this one waits at the grid's barrier")
                });
            }
            all.join(&self.release_to_grid());
            self.exchange(resident);
        }
        for resident in residents {
            self.exchange(resident);
            self.acquire_from_grid(&all);
            self.exchange(resident);
            resident.at_grid_barrier = false;
        }
    }

    /// A new resident cluster.
    fn resident(&self, number: u64) -> Resident<'a> {
        let mut other = Machine::new(self.launch);
        other.start(number);
        Resident {
            warps: other.warps,
            clocks: other.clocks,
            shared: other.shared,
            observers: other.observers,
            proxy: other.proxy,
            policy: other.policy,
            at_grid_barrier: false,
            ended: false,
        }
    }

    /// Swaps the running cluster and a resident.
    fn exchange(&mut self, other: &mut Resident<'a>) {
        use std::mem::swap;
        swap(&mut self.warps, &mut other.warps);
        swap(&mut self.clocks, &mut other.clocks);
        swap(&mut self.shared, &mut other.shared);
        swap(&mut self.observers, &mut other.observers);
        swap(&mut self.proxy, &mut other.proxy);
        swap(&mut self.policy, &mut other.policy);
    }
}
