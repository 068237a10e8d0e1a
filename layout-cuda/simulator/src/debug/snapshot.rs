//! A snapshot of a watched run, and the way back to it.
//!
//! Law: a machine that was restored continues as the one that the snapshot was taken of. Analyses are not part of it: they change
//! nothing.

use crate::machine::Machine;
use crate::memory::bytes::Global;
use crate::memory::lane_clocks::ClusterClocks;
use crate::memory::releases::Releases;
use crate::schedule::residents::Together;
use crate::state::policy::SchedulePolicy;
use crate::state::proxy::Proxy;
use crate::state::warp::Warp;
use crate::state::watch::{Round, Watch};

/// The clusters of a launch: those that have run, and the running ones.
#[derive(Default)]
pub(super) struct Progress<'a> {
    /// Clusters that have started.
    pub next: u64,
    /// Whether one of them runs.
    pub running: bool,
    /// Where blocks may wait for each other, all of them.
    pub together: Together<'a>,
    pub ended: bool,
    /// Whether the launch was stopped before its end.
    pub stopped: bool,
}

impl Progress<'_> {
    fn copy(&self) -> Progress<'static> {
        Progress {
            next: self.next,
            running: self.running,
            together: self.together.copy(),
            ended: self.ended,
            stopped: self.stopped,
        }
    }
}

pub(super) struct Snapshot {
    pub step: u64,
    pub bytes: usize,
    warps: Vec<Warp>,
    clocks: ClusterClocks,
    shared: Vec<u8>,
    proxy: Proxy,
    releases: Releases,
    policy: SchedulePolicy,
    round: Option<Round>,
    flags: [bool; 2],
    now: u64,
    watch: Watch,
    globals: Vec<Vec<u32>>,
    progress: Progress<'static>,
}

impl Snapshot {
    pub(super) fn of(machine: &Machine<'_>, watch: &Watch, progress: &Progress<'_>) -> Snapshot {
        let globals: Vec<Vec<u32>> = machine.launch.globals.iter().map(Global::words).collect();
        let registers: usize = machine.warps.iter().map(Warp::bytes).sum();
        // The clocks and the work in flight are as large as the registers at most.
        let bytes =
            2 * registers + machine.shared.len() + globals.iter().map(|words| 4 * words.len()).sum::<usize>();
        Snapshot {
            step: watch.step,
            bytes: bytes * (1 + progress.together.len()),
            warps: machine.warps.clone(),
            clocks: machine.clocks.clone(),
            shared: machine.shared.clone(),
            proxy: machine.proxy.clone(),
            releases: machine.releases.clone(),
            policy: machine.policy,
            round: machine.round.clone(),
            flags: [machine.progress, machine.wrote_atomically],
            now: machine.now,
            watch: Watch { marks: Vec::new(), ..watch.clone() },
            globals,
            progress: progress.copy(),
        }
    }

    /// Puts a machine of the same launch into this state.
    pub(super) fn restore(&self, machine: &mut Machine<'_>, marks: Vec<bool>) -> Progress<'static> {
        machine.warps.clone_from(&self.warps);
        machine.clocks = self.clocks.clone();
        machine.shared.clone_from(&self.shared);
        machine.proxy = self.proxy.clone();
        machine.releases = self.releases.clone();
        machine.policy = self.policy;
        machine.round = self.round.clone();
        [machine.progress, machine.wrote_atomically] = self.flags;
        machine.now = self.now;
        machine.watch = Some(Box::new(Watch { marks, ..self.watch.clone() }));
        for (global, words) in machine.launch.globals.iter().zip(&self.globals) {
            global.set_words(words);
        }
        self.progress.copy()
    }
}
