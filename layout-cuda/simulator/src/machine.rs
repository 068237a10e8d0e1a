//! The machine of one host thread: the launch, and the state of the cluster that runs.
//!
//! The folders `actors` and `schedule` add methods. Observers read the machine.

use crate::bytecode::{LANES, Program};
use crate::event::{Diagnostics, Event};
use crate::findings::{Findings, Message};
use crate::memory::bytes::Global;
use crate::memory::lane_clocks::{Block, ClusterClocks};
use crate::memory::releases::Releases;
use crate::report::{Counts, Finding, FindingKind};
use crate::state::cluster;
use crate::state::policy::SchedulePolicy;
use crate::state::proxy::Proxy;
use crate::state::warp::{Warp, coordinates};
use crate::state::watch::{Round, Watch};
use crate::trail::Trail;
use std::cell::RefCell;

/// An analysis of a launch; its state is shared by the host threads.
pub(crate) trait Analysis: Send + Sync {
    /// Its state for one cluster at a time.
    fn observer(&self) -> Box<dyn Observer + '_>;

    /// The launch has ended.
    fn close(&self, _program: &Program, _findings: &mut Findings) {}
}

pub(crate) trait Observer {
    /// The observed events: [`ACCESSES`], [`CHECKS`], [`ARITHMETIC`], [`OTHERS`].
    fn interests(&self) -> u8;

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>);
}

/// The observers of a cluster, each with its interests.
pub(crate) type Observers<'a> = Vec<(u8, Box<dyn Observer + 'a>)>;

pub(crate) fn observers<'a>(analyses: &'a [Box<dyn Analysis>]) -> Observers<'a> {
    let observers = analyses.iter().map(|analysis| analysis.observer());
    observers.map(|observer| (observer.interests(), observer)).collect()
}

/// The part that all host threads share.
pub(crate) struct Launch<'a> {
    pub program: &'a Program,
    /// One for each argument.
    pub globals: Vec<Global<'a>>,
    pub analyses: Vec<Box<dyn Analysis>>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub max_steps: u64,
    pub counters: bool,
    /// The number of clusters that the device is certain to hold at once.
    pub places: usize,
    /// The number of the schedule.
    pub seed: u64,
    /// Whether clusters start in reverse order, whatever the schedule.
    pub backwards: bool,
    /// The kernel's name.
    pub kernel: &'a str,
}

pub(crate) struct Machine<'a> {
    pub launch: &'a Launch<'a>,
    pub warps: Vec<Warp>,
    /// The number of warps; `warps` is moved out while one of them runs.
    pub count: usize,
    pub clocks: ClusterClocks,
    pub shared: Vec<u8>,
    pub observers: Observers<'a>,
    pub diagnostics: RefCell<Diagnostics>,
    /// For each instruction: executions by a warp, and active lanes.
    pub runs: Vec<[u64; 2]>,
    pub proxy: Proxy,
    pub releases: Releases,
    pub policy: SchedulePolicy,
    /// Counts statements, and pauses the run in front of one.
    pub watch: Option<Box<Watch>>,
    /// The step that a watched run executes.
    pub now: u64,
    /// The round that a pause interrupted.
    pub round: Option<Round>,
    /// The last accesses to a range, where they are looked for.
    pub trail: Option<Box<Trail>>,
    /// Whether anything was written, released or ended since this was reset.
    pub progress: bool,
    /// Whether the last warp did an atomic write that another warp may be polling.
    pub wrote_atomically: bool,
}

/// The maximum number of actors (warps, mbarriers and other engines) of a cluster: the shadow memory has 16 bits for
/// each.
pub(crate) const MOST_ACTORS: u64 = 2048;

/// The number of actors of a cluster.
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
            watch: None,
            now: 0,
            round: None,
            trail: None,
            progress: false,
            wrote_atomically: false,
        }
    }

    #[inline]
    pub(crate) fn observed(&self) -> bool {
        !self.observers.is_empty() || self.trail.is_some()
    }

    #[inline]
    pub(crate) fn notify(&mut self, event: &Event<'_>) {
        if self.observed() {
            // Moved out, so that observers can borrow the machine.
            let mut observers = std::mem::take(&mut self.observers);
            self.diagnostics.borrow_mut().findings_of_event = 0;
            let kind = event.kind();
            for (interests, observer) in &mut observers {
                if *interests & kind != 0 {
                    observer.on_event(event, self);
                }
            }
            self.observers = observers;
            if let Some(mut trail) = self.trail.take() {
                trail.on_event(event, self.launch.program, self.now);
                self.trail = Some(trail);
            }
        }
    }

    /// Adds a finding for some lanes of a warp; `message` gets the first of them.
    pub(crate) fn report<M: Into<Message>>(
        &self,
        kind: FindingKind,
        site: u32,
        warp: u32,
        lanes: u32,
        index: Option<i64>,
        message: impl FnOnce(usize) -> M,
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
        let mut diagnostics = self.diagnostics.borrow_mut();
        diagnostics.findings_of_event += 1;
        diagnostics.findings.add(kind, site, u64::from(lanes.count_ones()).max(1), || {
            let Message { text, other } = message(lane as usize).into();
            Finding {
                kind,
                message: text,
                line: known.line,
                thread: coordinates(u64::from(inside * LANES as u32 + lane), extents),
                block,
                place: program.names.get(known.place as usize).cloned(),
                index,
                count: 1,
                other,
            }
        });
    }
}
