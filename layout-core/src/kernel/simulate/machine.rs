//! One host thread's machine: it runs blocks one after the other, the warps of a block in turn.
//!
//! ```text
//! while a warp has not ended:
//!     each ready warp runs until it waits or ends
//!     barriers that all their warps wait at are released
//!     nobody ran and nothing was released: deadlock
//! ```
//!
//! Law: a block's result does not depend on other blocks, unless blocks race; that is told in `crossed`.

use super::bytecode::{LANES, Program};
use super::clock::{Clock, Knowledge};
use super::cluster::{self, Block, Remote};
use super::event::{Event, Hearing, Judge, Told};
use super::memory::Global;
use super::order::{Known, Releases};
use super::proxy::Proxy;
use super::report::{Counts, Finding, FindingKind};
use super::strands::{Clocks, Strands};
use super::turns::Turns;
use super::warp::{State, Warp, coordinates};
use crate::kernel::program::Participants;
use std::cell::RefCell;
use std::ops::Range;

/// What all host threads share.
pub(crate) struct Launch<'a> {
    pub program: &'a Program,
    /// One for each argument.
    pub globals: Vec<Global<'a>>,
    /// Who looks.
    pub judges: Vec<Box<dyn Judge>>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub max_steps: u64,
    pub counters: bool,
    /// Clusters that the device surely holds at once.
    pub places: usize,
    /// The number of the schedule.
    pub seed: u64,
    /// Whether clusters begin from the last to the first, whatever the schedule says.
    pub backwards: bool,
}

pub(crate) struct Machine<'a> {
    pub launch: &'a Launch<'a>,
    pub warps: Vec<Warp>,
    /// How many warps a block has; `warps` is moved out while one of them runs.
    pub count: usize,
    /// The blocks that run, and what their warps know.
    pub clocks: Clocks,
    pub shared: Vec<u8>,
    /// The judges of the cluster that runs.
    pub hearings: Vec<Box<dyn Hearing + 'a>>,
    /// What they tell.
    pub told: RefCell<Told>,
    /// For each instruction: how often a warp ran it, and how many lanes.
    pub runs: Vec<[u64; 2]>,
    /// What warps did last to other blocks' shared memory.
    pub remote: Vec<Remote>,
    /// What is in flight beside the threads.
    pub proxy: Proxy,
    pub releases: Releases,
    /// The schedule.
    pub turns: Turns,
    /// Whether anything was written, released or ended since this was reset.
    pub progress: bool,
}

/// Warps, mbarriers and other actors of a cluster at most: each has a number that the shadow keeps in 16 bits.
pub(crate) const MOST_ACTORS: u64 = 2048;

/// The actors of a cluster of so many blocks.
pub(crate) fn actors(program: &Program, threads: u32, ranks: u64) -> u64 {
    let each = threads.div_ceil(LANES as u32);
    Proxy::new(program, each as usize, 1).actors() as u64 * ranks
}

/// What a turn of a cluster's warps came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The cluster has ended.
    Ended,
    /// It goes on.
    Taken,
    /// All its warps wait for the grid.
    Met,
    /// The launch must stop.
    Stopped,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(launch: &'a Launch<'a>) -> Machine<'a> {
        let program = launch.program;
        let (ranks, each) =
            (cluster::size(launch.cluster), launch.block.iter().product::<u32>().div_ceil(LANES as u32));
        let count = ranks * each;
        let proxy = Proxy::new(program, each as usize, ranks as usize);
        let stride = cluster::stride(program);
        Machine {
            launch,
            count: count as usize,
            warps: (0..count)
                .map(|number| Warp {
                    number,
                    shared: number / each.max(1) * stride,
                    ..Warp::new(program, number % each.max(1), launch.block)
                })
                .collect(),
            clocks: Clocks { blocks: vec![Block::default(); ranks as usize], warps: Vec::new() },
            shared: vec![u8::MAX; (ranks * stride) as usize],
            hearings: launch.judges.iter().map(|judge| judge.hearing()).collect(),
            told: RefCell::new(Told {
                counts: vec![Counts::default(); program.sites.len()],
                ..Told::default()
            }),
            runs: if launch.counters { vec![[0; 2]; program.code.len()] } else { Vec::new() },
            remote: Vec::new(),
            proxy,
            releases: Releases::default(),
            turns: Turns::new(launch.seed),
            progress: false,
        }
    }

    /// Runs a cluster; false where the launch must stop.
    pub(crate) fn run_cluster(&mut self, number: u64) -> bool {
        self.told.get_mut().findings.start_block(number);
        self.start(number);
        loop {
            match self.turn() {
                Turn::Taken => {}
                end => return end == Turn::Ended,
            }
        }
    }

    /// A cluster's start.
    pub(crate) fn start(&mut self, number: u64) {
        self.clocks.blocks = cluster::blocks(number, self.launch.cluster, self.launch.grid);
        self.turns.start(number);
        self.remote.clear();
        self.shared.fill(u8::MAX);
        let begin = Knowledge {
            clock: Clock::start(self.count),
            engines: vec![1; self.proxy.actors() - self.count],
            blocks: Known::default(),
        };
        let strands = |(number, warp): (usize, &Warp)| Strands::new(number, warp.live, begin.clone());
        self.clocks.warps = self.warps.iter().enumerate().map(strands).collect();
        self.proxy.start(
            self.ranks() * self.launch.program.works.barriers as usize,
            self.launch.block.iter().product(),
        );
        let each = self.warps_of_block();
        for (number, warp) in self.warps.iter_mut().enumerate() {
            let block = self.clocks.blocks[number / each.max(1)];
            warp.start(self.launch.program, block.index);
            warp.block = block.number;
        }
        self.tell(&Event::Start);
    }

    /// Each ready warp runs until it waits, ends, or has read what others may write; then barriers are released.
    pub(crate) fn turn(&mut self) -> Turn {
        let ran = match self.run_warps() {
            Ok(ran) => ran,
            Err((number, site)) => {
                self.stop(number, FindingKind::StepLimit, site);
                return Turn::Stopped;
            }
        };
        if self.warps.iter().all(|warp| warp.state == State::Ended) {
            self.finish();
            return Turn::Ended;
        }
        let woken = self.release() | self.wake();
        let released = self.complete(woken);
        self.progress |= released;
        if !ran && !released && self.at_grid_barrier() {
            return Turn::Met;
        }
        if !ran && !released {
            self.deadlock();
            return Turn::Stopped;
        }
        Turn::Taken
    }

    pub(crate) fn stop(&mut self, warp: usize, kind: FindingKind, site: u32) {
        let lanes = self.warps[warp].active;
        let (limit, steps) = (self.launch.max_steps, self.warps[warp].steps);
        let blocks = self.launch.grid.iter().map(|extent| u64::from(*extent)).product::<u64>();
        let at_once = self.launch.places * self.ranks();
        self.report(kind, site, warp as u32, lanes, None, |_| match kind {
            FindingKind::StepLimit if steps <= limit => {
                format!("warp {warp} goes round this loop for ever: nothing that decides its end changes")
            }
            FindingKind::StepLimit => {
                format!("warp {warp} took more than {limit} steps; the launch was stopped")
            }
            FindingKind::NotResident => format!(
                "a wait for a block that need not run yet: of the {blocks} blocks {at_once} surely run at once, in an order that CUDA does \
                 not promise. Launch no more than that (`Options::multiprocessors`, `min_blocks`), or let blocks draw their \
                 numbers from a counter, so that those waited for have begun"
            ),
            _ => format!("warp {warp} and all others wait for something that cannot happen"),
        });
    }

    /// Whether all warps wait for the grid. Those that have ended do not come.
    fn at_grid_barrier(&mut self) -> bool {
        let waits = |warp: &Warp| matches!(warp.state, State::Waiting(Participants::Grid, _));
        let there = |warp: &Warp| waits(warp) || warp.state == State::Ended;
        let Some(first) = self.warps.iter().position(waits) else { return false };
        if !self.warps.iter().all(there) {
            return false;
        }
        let State::Waiting(_, site) = self.warps[first].state else { return false };
        if let Some(ended) = self.warps.iter().position(|warp| warp.state == State::Ended) {
            let message = format!("warp {ended} has ended while warp {first} waits at the grid's barrier");
            let lanes = self.warps[ended].live;
            self.report(FindingKind::DivergentBarrier, site, ended as u32, lanes, None, |_| message);
        }
        true
    }

    /// Releases every barrier that all of its warps wait at.
    fn release(&mut self) -> bool {
        let count = self.count;
        // Of a block that is alone both are one barrier.
        let alone = self.ranks() == 1;
        let mut any = self.release_group(0..count, |participants| {
            participants == Participants::Cluster || alone && participants == Participants::Block
        });
        for rank in 0..self.ranks() {
            let warps = self.warps_of(rank);
            if !alone {
                any |= self.release_group(warps.clone(), |participants| participants == Participants::Block);
            }
            for first in warps.clone().step_by(4) {
                any |= self.release_group(first..warps.end.min(first + 4), |participants| {
                    participants == Participants::Warpgroup
                });
            }
        }
        any
    }

    fn release_group(&mut self, group: Range<usize>, own: impl Fn(Participants) -> bool) -> bool {
        let (mut first, mut other, mut ended) = (None, None, None);
        for number in group.clone() {
            match self.warps[number].state {
                State::Waiting(participants, site) if own(participants) => {
                    let pc = self.warps[number].pc;
                    match first {
                        None => first = Some((number, pc, site)),
                        Some((_, known, _)) if known != pc => other = other.or(Some((number, site))),
                        Some(_) => {}
                    }
                }
                State::Ended => ended = Some(number),
                State::Ready
                | State::Waiting(..)
                | State::Phase { .. }
                | State::Named { .. }
                | State::Products { .. }
                | State::Registers { .. }
                | State::Exhausted(_) => return false,
            }
        }
        let Some((waiting, _, site)) = first else { return false };
        let line = |site: u32| self.launch.program.sites[site as usize].line;
        if let Some((warp, its_site)) = other {
            let message = format!(
                "warp {waiting} waits at the barrier in line {}, warp {warp} at the one in line {}",
                line(site),
                line(its_site)
            );
            let lanes = self.warps[warp].live;
            self.report(FindingKind::DivergentBarrier, site, warp as u32, lanes, None, |_| message);
        }
        // A cluster's barrier waits for those who have not ended.
        let leaves_out = matches!(self.warps[waiting].state, State::Waiting(Participants::Cluster, _));
        if let Some(warp) = ended.filter(|_| !leaves_out) {
            let message = format!("warp {warp} has ended while warp {waiting} waits at the barrier");
            let lanes = self.warps[warp].live;
            self.report(FindingKind::DivergentBarrier, site, warp as u32, lanes, None, |_| message);
        }
        let met: Vec<usize> = group.filter(|warp| self.warps[*warp].state != State::Ended).collect();
        self.meet(&met);
        true
    }

    /// Warps meet: everyone knows of everything that anyone knows of, and goes on.
    pub(crate) fn meet(&mut self, warps: &[usize]) {
        let mut joined = Knowledge::default();
        for warp in warps {
            self.warps[*warp].state = State::Ready;
            let strands = &mut self.clocks.warps[*warp];
            strands.meet();
            joined.join(strands.all());
        }
        for warp in warps {
            self.clocks.warps[*warp].know(&joined);
        }
    }

    /// Notes a finding for some lanes of a warp; `message` is given the first of them.
    pub(crate) fn report(
        &self,
        kind: FindingKind,
        site: u32,
        warp: u32,
        lanes: u32,
        index: Option<i64>,
        message: impl FnOnce(usize) -> String,
    ) {
        let program = self.launch.program;
        if !program.findings
            && !matches!(kind, FindingKind::StepLimit | FindingKind::Deadlock | FindingKind::NotResident)
        {
            return;
        }
        let lane = lanes.trailing_zeros().min(LANES as u32 - 1);
        let inside = self.inside(warp as usize) as u32;
        let (extents, block) = (self.launch.block, self.clocks.blocks[self.rank(warp as usize)].index);
        let known = &program.sites[site as usize];
        let mut told = self.told.borrow_mut();
        told.of_event += 1;
        told.findings.add(kind, site, u64::from(lanes.count_ones()).max(1), || Finding {
            kind,
            message: message(lane as usize),
            line: known.line,
            thread: coordinates(u64::from(inside * LANES as u32 + lane), extents),
            block,
            place: program.names.get(known.place as usize).cloned(),
            index,
            count: 1,
        });
    }
}
