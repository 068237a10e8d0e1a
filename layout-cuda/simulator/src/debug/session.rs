//! A session: the recorded run of a launch, and a place in it.
//!
//! The launch runs once, with all analyses, and leaves snapshots; each move restores the snapshot before its goal and runs up to
//! the goal without analyses. Law: the state in front of a step is the same however the session came there.

use super::moment::{Moment, Tensor, TensorSpace};
use super::snapshot::{Progress, Snapshot};
use crate::bytecode::Op;
use crate::findings::Key;
use crate::machine::{Launch, Machine};
use crate::report::{Finding, Report};
use crate::schedule::run::Step;
use crate::state::watch::Watch;
use crate::trail::{Access, Memory, Trail};
use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;
use std::collections::{HashMap, HashSet};

/// Snapshots take so many bytes; beyond, every second one is dropped.
const SNAPSHOT_BYTES: usize = 256 << 20;
/// The most snapshots.
const SNAPSHOTS: usize = 128;

/// Where a run may pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PauseAt {
    /// The statements of marked lines: see [`Session::mark`].
    Marks,
    /// These, and each statement of a warp: its number in its cluster, and the number of the cluster's first block.
    Warp(u32, u64),
    /// Every statement.
    Every,
}

/// The recorded run of a launch, and a place in it.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// # use layout_cuda::debug::{Debugger, Launch, PauseAt, Session, attach};
/// #[tiled_kernel(block = [64], grid = [1])]
/// fn reverse(x: &mut LayoutTensor<i32, RowMajor<64>>) {
///     let mut held = shared::<i32>(row_major([64]));
///     let t = thread_idx.x;
///     held[[t]] = x[[t]];
///     barrier();
///     x[[t]] = held[[63 - t]];
/// }
/// struct Looks;
/// impl Debugger for Looks {
///     fn launched(&mut self, _: &Launch<'_>, session: &mut Session<'_>) {
///         let last = *session.lines().last().expect("a statement");
///         session.mark(&[last]);
///         assert!(session.forward(PauseAt::Marks, &mut |_| true)); // warp 0 is to write `x`
///         let here = session.step();
///         assert!(session.forward(PauseAt::Marks, &mut |moment| moment.warp() == Some(1)));
///         assert!(session.backward(PauseAt::Marks, &mut |_| true) && session.step() == here);
///         session.go(session.steps());
///         assert!(session.findings().is_empty() && session.moment().warp().is_none());
///     }
/// }
/// let attached = attach(Looks);
/// let device = Device::simulator();
/// reverse::launch(&device.stream(), &mut device.zeros::<i32, 1>([64])?)?;
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub struct Session<'a> {
    pub(super) machine: Machine<'a>,
    pub(super) progress: Progress<'a>,
    pub(super) checked: &'a Checked,
    pub(super) bound: &'a Bound,
    pub(super) indices: Vec<Option<i64>>,
    pub(super) clusters: u64,
    pub(super) snapshots: Vec<Snapshot>,
    /// Steps between two snapshots.
    pub(super) interval: u64,
    /// The marks of the statements at which a run pauses.
    pub(super) marks: Vec<bool>,
    pub(super) steps: u64,
    pub(super) findings: Vec<(u64, Finding)>,
    pub(super) report: Report,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("kernel", &self.kernel())
            .field("step", &self.step())
            .finish_non_exhaustive()
    }
}

/// Runs the clusters until a pause; false at the end.
pub(super) fn advance<'a>(machine: &mut Machine<'a>, progress: &mut Progress<'a>, clusters: u64) -> bool {
    while !progress.ended {
        if machine.launch.program.waits {
            match machine.resume_together(&mut progress.together, clusters) {
                Step::Paused => return true,
                step => (progress.ended, progress.stopped) = (true, step != Step::Ended),
            }
            continue;
        }
        if !progress.running {
            if progress.next >= clusters {
                progress.ended = true;
                continue;
            }
            let number = machine.policy.cluster(progress.next, clusters);
            machine.diagnostics.get_mut().findings.start_block(number);
            machine.start(number);
            (progress.next, progress.running) = (progress.next + 1, true);
        }
        match machine.step() {
            Step::Advanced => {}
            Step::Paused => return true,
            Step::Ended => progress.running = false,
            Step::Stopped | Step::AtGridBarrier => (progress.ended, progress.stopped) = (true, true),
        }
    }
    false
}

/// A statement's pause, which the next run goes on from.
pub(super) fn resume(watch: &mut Watch, until: u64) {
    (watch.until, watch.resumed, watch.paused) = (until, watch.paused, false);
}

impl<'a> Session<'a> {
    /// Runs the launch with its analyses, and keeps snapshots and the step of each finding.
    pub(super) fn record(&mut self, launch: &'a Launch<'a>) -> (Machine<'a>, HashSet<Key>, Progress<'a>) {
        let mut machine = Machine::new(launch);
        machine.watch = Some(Box::new(Watch::new()));
        let mut progress = Progress::default();
        let mut known = HashSet::new();
        let (mut next, mut until) = (0, 0);
        loop {
            if let Some(watch) = &mut machine.watch {
                resume(watch, until);
            }
            let paused = advance(&mut machine, &mut progress, self.clusters);
            let now = machine.now;
            for finding in machine.diagnostics.get_mut().findings.news(&mut known) {
                self.findings.push((now, finding));
            }
            let Some(watch) = machine.watch.take() else { break };
            (self.steps, until) = (watch.step, watch.step + 1);
            if paused && watch.step >= next {
                self.keep(Snapshot::of(&machine, &watch, &progress));
                next = watch.step + self.interval;
            }
            machine.watch = Some(watch);
            if !paused {
                break;
            }
        }
        (machine, known, progress)
    }

    fn keep(&mut self, snapshot: Snapshot) {
        self.snapshots.push(snapshot);
        let bytes: usize = self.snapshots.iter().map(|snapshot| snapshot.bytes).sum();
        if self.snapshots.len() > SNAPSHOTS || bytes > SNAPSHOT_BYTES && self.snapshots.len() > 2 {
            let mut number = 0;
            self.snapshots.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.interval *= 2;
        }
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        self.machine.launch.kernel
    }

    /// The number of a thread in its block, by its `thread_idx`.
    pub fn thread_number(&self, [x, y, z]: [u32; 3]) -> u32 {
        let [width, height, _] = self.bound.block;
        x + width * (y + height * z)
    }

    /// The number of the run's schedule.
    pub fn seed(&self) -> u64 {
        self.machine.launch.seed
    }

    /// The steps of the whole run: statements, each executed by a warp.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The step that comes next.
    pub fn step(&self) -> u64 {
        self.machine.watch.as_ref().map_or(0, |watch| watch.step)
    }

    /// Each finding with the step that it was found in, in the order of the run.
    pub fn findings(&self) -> &[(u64, Finding)] {
        &self.findings
    }

    /// The report of the recorded run.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The lines at which a statement begins.
    pub fn lines(&self) -> Vec<u32> {
        let program = self.machine.launch.program;
        let code = program.lines.iter().zip(&program.code);
        let mut lines: Vec<u32> =
            code.filter(|(_, op)| matches!(op, Op::Statement)).map(|(line, _)| *line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The state in front of the next step.
    pub fn moment(&self) -> Moment<'_> {
        let watch = self.machine.watch.as_ref().filter(|_| !self.progress.ended);
        Moment {
            machine: &self.machine,
            checked: self.checked,
            bound: self.bound,
            indices: &self.indices,
            at: watch.map(|watch| watch.at),
        }
    }

    pub(super) fn restore(&mut self, snapshot: usize) {
        if let Some(snapshot) = self.snapshots.get(snapshot) {
            self.progress = snapshot.restore(&mut self.machine, self.marks.clone());
        }
    }

    /// Goes to the state in front of a step, or to the end of the run.
    pub fn go(&mut self, step: u64) {
        let near = self.snapshots.partition_point(|snapshot| snapshot.step <= step).saturating_sub(1);
        let behind = self.snapshots.get(near).is_some_and(|snapshot| snapshot.step > self.step());
        if step < self.step() || behind || self.progress.ended {
            self.restore(near);
        }
        self.straight(step);
    }

    /// Runs up to a step, whatever is marked.
    fn straight(&mut self, step: u64) {
        if step <= self.step() {
            return;
        }
        if let Some(watch) = &mut self.machine.watch {
            watch.straight = true;
            resume(watch, step);
        }
        advance(&mut self.machine, &mut self.progress, self.clusters);
        if let Some(watch) = &mut self.machine.watch {
            watch.straight = false;
        }
    }

    /// Marks the lines at which [`Session::forward`] and [`Session::backward`] pause; others are unmarked.
    pub fn mark(&mut self, lines: &[u32]) {
        let program = self.machine.launch.program;
        self.marks = match lines.is_empty() {
            true => Vec::new(),
            false => program.lines.iter().map(|line| lines.contains(line)).collect(),
        };
        if let Some(watch) = &mut self.machine.watch {
            watch.marks.clone_from(&self.marks);
        }
    }

    /// Goes forward to the next statement at which the run may pause and for which `stops` holds; false at the end.
    pub fn forward(&mut self, at: PauseAt, stops: &mut dyn FnMut(&Moment<'_>) -> bool) -> bool {
        self.run(at, u64::MAX, stops)
    }

    fn run(&mut self, at: PauseAt, until: u64, stops: &mut dyn FnMut(&Moment<'_>) -> bool) -> bool {
        loop {
            if let Some(watch) = &mut self.machine.watch {
                watch.warp = if let PauseAt::Warp(warp, block) = at { Some((warp, block)) } else { None };
                let next = if at == PauseAt::Every { watch.step + u64::from(watch.paused) } else { until };
                resume(watch, next.min(until));
            }
            let paused = advance(&mut self.machine, &mut self.progress, self.clusters);
            if let Some(watch) = &mut self.machine.watch {
                watch.warp = None;
            }
            if !paused || self.step() >= until {
                return false;
            }
            if stops(&self.moment()) {
                return true;
            }
        }
    }

    /// As [`Session::forward`], to the last such statement before this one; false at the start, where it goes then.
    pub fn backward(&mut self, at: PauseAt, stops: &mut dyn FnMut(&Moment<'_>) -> bool) -> bool {
        let mut end = self.step();
        let first = self.snapshots.partition_point(|snapshot| snapshot.step < end);
        for number in (0..first).rev() {
            self.restore(number);
            let begin = self.step();
            let mut last = None;
            // The snapshot itself is in front of a statement.
            if let Some(watch) = &mut self.machine.watch {
                watch.paused = false;
            }
            while self.run(at, end, stops) {
                last = Some(self.step());
            }
            if let Some(step) = last {
                self.go(step);
                return true;
            }
            end = begin;
        }
        self.go(0);
        false
    }

    /// The last write of each element of a tensor's memory from `first` to `last`, by element; none of registers.
    pub fn writers(&mut self, tensor: &Tensor, first: i64, last: i64) -> HashMap<i64, Access> {
        self.accesses(tensor, first, last, true)
    }

    /// As [`Session::writers`], the last read of each by a thread.
    pub fn readers(&mut self, tensor: &Tensor, first: i64, last: i64) -> HashMap<i64, Access> {
        self.accesses(tensor, first, last, false)
    }

    fn accesses(&mut self, tensor: &Tensor, first: i64, last: i64, writes: bool) -> HashMap<i64, Access> {
        let size = i64::from(tensor.elem.bytes());
        let (memory, base) = match tensor.space {
            TensorSpace::Global(number) => (Memory::Global(number), 0),
            TensorSpace::Shared(first) => (Memory::Shared, i64::from(first)),
            TensorSpace::Registers(_) => return HashMap::new(),
        };
        let byte = |element: i64| usize::try_from(base + element * size).unwrap_or(0);
        let (here, bytes) = (self.step(), byte(first)..byte(last.saturating_add(1)));
        let wanted = bytes.len() / size.max(1) as usize;
        let (mut found, mut end): (HashMap<i64, Access>, u64) = (HashMap::new(), here);
        let count = self.snapshots.partition_point(|snapshot| snapshot.step < here);
        for number in (0..count).rev() {
            self.restore(number);
            let begin = self.step();
            self.machine.trail = Some(Box::new(Trail::new(memory, bytes.clone(), writes)));
            self.straight(end);
            let Some(trail) = self.machine.trail.take() else { break };
            for (byte, written) in trail.last {
                found.entry((byte as i64 - base) / size).or_insert(written);
            }
            if found.len() >= wanted || trail.begun {
                break;
            }
            end = begin;
        }
        self.restore(count.saturating_sub(1));
        self.straight(here);
        found
    }
}
