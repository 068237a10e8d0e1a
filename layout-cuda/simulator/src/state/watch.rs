//! A watched run: it counts statements, and pauses in front of one.
//!
//! A *step* is one statement of one warp. Law: the steps of a launch are numbered from 0, and the same schedule gives the same
//! steps. A pause changes nothing: a run that is resumed is the run without it.

use crate::state::endless_loop::LoopDetector;

/// The statements at which a run pauses, and the number of its steps so far.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    /// Steps so far: the number of the step that comes next.
    pub step: u64,
    /// The run pauses in front of this step.
    pub until: u64,
    /// For each instruction whether the run pauses in front of the statement that begins there; empty where it does at none.
    pub marks: Vec<bool>,
    /// The warp that pauses at each of its statements: its number in the cluster, and that of the cluster's first block.
    pub warp: Option<(u32, u64)>,
    /// The warp of the last pause.
    pub at: u32,
    /// Whether the run pauses in front of `until` only.
    pub straight: bool,
    /// Whether the next statement is the one of the last pause.
    pub resumed: bool,
    pub paused: bool,
    /// The iterations of the warp that was paused.
    pub rounds: Option<LoopDetector>,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch {
            step: 0,
            until: u64::MAX,
            marks: Vec::new(),
            warp: None,
            at: 0,
            straight: false,
            resumed: false,
            paused: false,
            rounds: None,
        }
    }

    /// Whether the run pauses in front of the statement at this instruction; otherwise the statement is a step.
    pub(crate) fn pauses(&mut self, at: usize, warp: u32, block: u64) -> bool {
        let resumed = std::mem::take(&mut self.resumed);
        let marked = || self.marks.get(at).is_some_and(|mark| *mark) || self.warp == Some((warp, block));
        self.paused = self.step >= self.until || !resumed && !self.straight && marked();
        self.at = warp;
        self.step += u64::from(!self.paused);
        self.paused
    }
}

/// A round of the ready warps that a pause interrupted.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// The warps in the schedule's order; empty in the conservative schedule.
    pub order: Vec<usize>,
    /// The position of the warp that is paused.
    pub at: usize,
}
