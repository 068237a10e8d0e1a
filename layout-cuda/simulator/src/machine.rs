//! The machine of one host thread: the launch, and the parts of memory, actors and schedule that belong to the cluster that
//! runs.
//!
//! Each folder adds its methods; judges see all of the machine and can change nothing.

use crate::bytecode::{LANES, Program};
use crate::event::{Diagnostics, Event};
use crate::findings::Findings;
use crate::memory::bytes::Global;
use crate::memory::lane_clocks::{Block, ClusterClocks};
use crate::memory::releases::Releases;
use crate::report::{Counts, Finding, FindingKind};
use crate::state::cluster;
use crate::state::policy::SchedulePolicy;
use crate::state::proxy::Proxy;
use crate::state::warp::{Warp, coordinates};
use std::cell::RefCell;

/// A judge of a launch: what it keeps of all clusters, of which several host threads may run some.
pub(crate) trait Analysis: Send + Sync {
    /// What it keeps of one cluster at a time.
    fn observer(&self) -> Box<dyn Observer + '_>;

    /// The launch has ended.
    fn close(&self, _program: &Program, _findings: &mut Findings) {}
}

/// A judge, and what it keeps of the cluster that runs.
pub(crate) trait Observer {
    /// Which events it observes: [`ACCESSES`], [`CHECKS`], [`ARITHMETIC`], [`OTHERS`].
    fn interests(&self) -> u8;

    /// Something happens.
    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>);
}

/// The hearings of a cluster, each with what it hears.
pub(crate) type Observers<'a> = Vec<(u8, Box<dyn Observer + 'a>)>;

/// The hearings of a launch's judges.
pub(crate) fn observers<'a>(analyses: &'a [Box<dyn Analysis>]) -> Observers<'a> {
    let observers = analyses.iter().map(|judge| judge.observer());
    observers.map(|observer| (observer.interests(), observer)).collect()
}

/// What all host threads share.
pub(crate) struct Launch<'a> {
    pub program: &'a Program,
    /// One for each argument.
    pub globals: Vec<Global<'a>>,
    /// Who looks.
    pub analyses: Vec<Box<dyn Analysis>>,
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
    pub clocks: ClusterClocks,
    pub shared: Vec<u8>,
    /// The judges of the cluster that runs.
    pub observers: Observers<'a>,
    /// What they tell.
    pub diagnostics: RefCell<Diagnostics>,
    /// For each instruction: how often a warp ran it, and how many lanes.
    pub runs: Vec<[u64; 2]>,
    /// What is in flight beside the threads.
    pub proxy: Proxy,
    pub releases: Releases,
    /// The schedule.
    pub policy: SchedulePolicy,
    /// Whether anything was written, released or ended since this was reset.
    pub progress: bool,
    /// Whether the warp that ran last changed something undivided that others may wait for.
    pub wrote_atomically: bool,
}

/// Warps, mbarriers and other actors of a cluster at most: each has a number that the shadow keeps in 16 bits.
pub(crate) const MOST_ACTORS: u64 = 2048;

/// The actors of a cluster of so many blocks.
pub(crate) fn actors(program: &Program, threads: u32, ranks: u64) -> u64 {
    let each = threads.div_ceil(LANES as u32);
    Proxy::new(program, each as usize, 1).actors() as u64 * ranks
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
            clocks: ClusterClocks { blocks: vec![Block::default(); ranks as usize], warps: Vec::new() },
            shared: vec![u8::MAX; (ranks * stride) as usize],
            observers: observers(&launch.analyses),
            diagnostics: RefCell::new(Diagnostics {
                counts: vec![Counts::default(); program.sites.len()],
                ..Diagnostics::default()
            }),
            runs: if launch.counters { vec![[0; 2]; program.code.len()] } else { Vec::new() },
            proxy,
            releases: Releases::default(),
            policy: SchedulePolicy::new(launch.seed),
            progress: false,
            wrote_atomically: false,
        }
    }

    /// Whether anybody looks.
    #[inline]
    pub(crate) fn observed(&self) -> bool {
        !self.observers.is_empty()
    }

    /// Tells the judges.
    #[inline]
    pub(crate) fn notify(&mut self, event: &Event<'_>) {
        if self.observed() {
            // Moved out, so that they look at the machine without themselves.
            let mut observers = std::mem::take(&mut self.observers);
            self.diagnostics.borrow_mut().findings_of_event = 0;
            let kind = event.kind();
            for (interests, observer) in &mut observers {
                if *interests & kind != 0 {
                    observer.on_event(event, self);
                }
            }
            self.observers = observers;
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
        let mut told = self.diagnostics.borrow_mut();
        told.findings_of_event += 1;
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
