//! The engine: breakpoints, the chosen lane, and moves forward and back over a session.
//!
//! Law: a move backward ends where the same move forward would have stopped last. Front ends have no state of the run of their own.

use crate::condition::Condition;
use layout_cuda::debug::{Moment, PauseAt, Session};
use layout_cuda::{Finding, FindingKind};

/// A breakpoint at a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakpoint {
    /// The line in the kernel's Rust file.
    pub line: u32,
    /// It stops where this holds for an active lane.
    pub condition: Option<Condition>,
}

/// How far a move goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Move {
    /// One statement of any warp.
    Statement,
    /// To the next line of the chosen warp.
    Line,
    /// Until the chosen warp waits.
    Wait,
    /// To the next finding.
    Finding,
    /// To the next breakpoint.
    Breakpoint,
}

/// Why a move ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// It went as far as it was to.
    Step,
    /// A breakpoint, by its line.
    Breakpoint(u32),
    /// In front of the step of this finding, or behind the run where the run stopped for it.
    Finding(Box<Finding>),
    /// At the start of the run.
    Start,
    /// At its end.
    End,
}

/// The warp and the lane whose values are shown; the warp is numbered in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Focus {
    /// The warp.
    pub warp: u32,
    /// The lane.
    pub lane: u32,
}

/// A session with breakpoints and a chosen lane.
#[derive(Debug)]
pub struct Engine<'s, 'a> {
    session: &'s mut Session<'a>,
    breakpoints: Vec<Breakpoint>,
    focus: Focus,
}

/// Whether the run stopped for a finding of this kind, or it is of the whole run: its state is the one behind the last step.
fn is_behind(kind: FindingKind) -> bool {
    use FindingKind as Kind;
    matches!(kind, Kind::Deadlock | Kind::StepLimit | Kind::NotResident | Kind::InFlightAtEnd)
}

impl<'s, 'a> Engine<'s, 'a> {
    /// At the start of the run.
    pub fn new(session: &'s mut Session<'a>) -> Engine<'s, 'a> {
        session.go(0);
        let warp = session.moment().warp().unwrap_or(0);
        Engine { session, breakpoints: Vec::new(), focus: Focus { warp, lane: 0 } }
    }

    /// The session.
    pub fn session(&mut self) -> &mut Session<'a> {
        self.session
    }

    /// The state at hand.
    pub fn moment(&self) -> Moment<'_> {
        self.session.moment()
    }

    /// The chosen warp and lane.
    pub fn focus(&self) -> Focus {
        self.focus
    }

    /// Chooses a warp and a lane, where there are such.
    pub fn choose(&mut self, focus: Focus) -> bool {
        let warps = self.session.moment().warps();
        let there = warps
            .get(focus.warp as usize)
            .is_some_and(|warp| focus.lane < 32 && warp.live >> focus.lane & 1 != 0);
        if there {
            self.focus = focus;
        }
        there
    }

    /// Sets the breakpoints, in place of all before; whether each is at a line with a statement.
    pub fn set_breakpoints(&mut self, breakpoints: Vec<Breakpoint>) -> Vec<bool> {
        let known = self.session.lines();
        let lines: Vec<u32> = breakpoints.iter().map(|one| one.line).collect();
        self.session.mark(&lines);
        self.breakpoints = breakpoints;
        lines.iter().map(|line| known.contains(line)).collect()
    }

    /// The breakpoints.
    pub fn breakpoints(&self) -> &[Breakpoint] {
        &self.breakpoints
    }

    /// Moves forward, or back.
    pub fn go(&mut self, to: Move, back: bool) -> Stop {
        let here = self.session.step();
        let warp = self.focus.warp;
        let stop = match to {
            Move::Statement => {
                let (last, none) = (self.session.steps(), back && here == 0);
                self.session.go(if back { here.saturating_sub(1) } else { (here + 1).min(last) });
                if none { Stop::Start } else { self.ended(Stop::Step) }
            }
            Move::Line => {
                let (line, block) = (self.moment().line(warp), self.moment().block(warp));
                let cluster = self.moment().block(0);
                let other =
                    |m: &Moment<'_>| m.warp() == Some(warp) && m.block(warp) == block && m.line(warp) != line;
                self.run(PauseAt::Warp(warp, cluster), back, &other, Stop::Step)
            }
            Move::Wait => {
                let waits = move |m: &Moment<'_>| !m.is_ready(warp);
                self.run(PauseAt::Every, back, &waits, Stop::Step)
            }
            Move::Breakpoint => self.run(PauseAt::Marks, back, &|_| false, Stop::Step),
            Move::Finding => return self.find(back),
        };
        self.follow(matches!(to, Move::Wait));
        stop
    }

    /// Runs to the next statement for which `holds`, or to a breakpoint.
    fn run(&mut self, at: PauseAt, back: bool, holds: &dyn Fn(&Moment<'_>) -> bool, stop: Stop) -> Stop {
        let (breakpoints, mut hit) = (&self.breakpoints, None);
        let mut stops = |m: &Moment<'_>| {
            hit = breakpoints.iter().find_map(|one| Some((one.line, hits(one, m)?)));
            hit.is_some() || holds(m)
        };
        let found = match back {
            true => self.session.backward(at, &mut stops),
            false => self.session.forward(at, &mut stops),
        };
        match (found, back) {
            (false, true) => return Stop::Start,
            (false, false) => return Stop::End,
            _ => {}
        }
        // A search backward tested later statements, too: what holds at this one counts.
        let moment = self.session.moment();
        let here = self.breakpoints.iter().find_map(|one| Some((one.line, hits(one, &moment)?)));
        match here {
            Some((line, focus)) => {
                self.focus = focus;
                Stop::Breakpoint(line)
            }
            None => stop,
        }
    }

    fn find(&mut self, back: bool) -> Stop {
        let (here, last) = (self.session.step(), self.session.steps());
        let place = |(step, finding): &(u64, Finding)| if is_behind(finding.kind) { last } else { *step };
        let mut places: Vec<(u64, Finding)> =
            self.session.findings().iter().map(|one| (place(one), one.1.clone())).collect();
        places.sort_by_key(|(step, _)| *step);
        let found = match back {
            true => places.into_iter().rev().find(|(step, _)| *step < here),
            false => places.into_iter().find(|(step, _)| *step > here || *step == here && here == 0),
        };
        let Some((step, finding)) = found else {
            self.session.go(if back { 0 } else { last });
            self.follow(false);
            return if back { Stop::Start } else { Stop::End };
        };
        self.session.go(step);
        self.follow(false);
        let warps = self.moment().warps();
        let threads = |warp: &&layout_cuda::debug::WarpState| warp.block_idx == finding.block;
        if let Some(first) = warps.iter().find(threads) {
            let thread = self.session.thread_number(finding.thread);
            let focus = Focus { warp: first.number + thread / 32, lane: thread % 32 };
            self.choose(focus);
        }
        Stop::Finding(Box::new(finding))
    }

    fn ended(&self, stop: Stop) -> Stop {
        if self.moment().warp().is_none() { Stop::End } else { stop }
    }

    /// Chooses the warp that is to run, and an active lane of it.
    fn follow(&mut self, stay: bool) {
        let moment = self.session.moment();
        let warp = if stay { Some(self.focus.warp) } else { moment.warp() };
        if let Some(warp) = warp {
            let active = moment.active(warp);
            let lane = if active >> self.focus.lane & 1 != 0 {
                self.focus.lane
            } else {
                active.trailing_zeros() % 32
            };
            self.focus = Focus { warp, lane };
        }
    }
}

/// The first active lane for which a breakpoint stops.
fn hits(breakpoint: &Breakpoint, moment: &Moment<'_>) -> Option<Focus> {
    let warp = moment.warp()?;
    if moment.line(warp) != breakpoint.line {
        return None;
    }
    let active = moment.active(warp);
    let Some(condition) = &breakpoint.condition else {
        return Some(Focus { warp, lane: active.trailing_zeros() % 32 });
    };
    lanes_where(condition, moment, warp).first().map(|lane| Focus { warp, lane: *lane })
}

/// The active lanes of a warp in which a condition holds.
pub(crate) fn lanes_where(condition: &Condition, moment: &Moment<'_>, warp: u32) -> Vec<u32> {
    let rows = std::cell::RefCell::new(std::collections::HashMap::new());
    let value = |name: &str, lane: u32| {
        match name {
            "lane" => return Some(f64::from(lane)),
            "warp" => return Some(f64::from(warp)),
            _ => {}
        }
        let mut rows = rows.borrow_mut();
        let row = rows.entry(name.to_owned()).or_insert_with(|| moment.row(warp, name));
        row.as_ref().and_then(|row| row.get(lane as usize)).map(|value| value.number())
    };
    let holds = |lane: &u32| {
        let of = |name: &str| value(name, *lane);
        condition.evaluate(&of).is_some_and(|value| value != 0.0)
    };
    (0..32).filter(|lane| moment.active(warp) >> lane & 1 != 0).filter(holds).collect()
}
