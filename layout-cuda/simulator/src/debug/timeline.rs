//! The timeline of a run: what warps, copies, matrix units and mbarriers do, step by step.
//!
//! ```text
//! state in front of each step ──what changed──► spans of tracks; arrows from what ends a wait to where the warp goes on
//! ```
//! Law: the spans of a track are in order and do not overlap; an arrow ends where a wait ends. A step is no time: a statement counts
//! one, whatever a GPU needs for it.

use super::moment::Moment;
use super::session::{PauseAt, Session};
use crate::bytecode::{LANES, Op};
use crate::report::Finding;
use crate::state::warp::{State, Warp};
use std::collections::BTreeMap;

/// The most spans; what is behind is left out.
const MOST: usize = 1 << 18;

/// What a run did, in steps: see [`Session::timeline`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Timeline {
    /// The number of the schedule.
    pub schedule: u64,
    /// The steps of the run.
    pub steps: u64,
    /// The tracks, in the order in which they begin.
    pub tracks: Vec<Track>,
    /// The arrows.
    pub arrows: Vec<Arrow>,
    /// The findings, each with its step.
    pub findings: Vec<(u64, Finding)>,
    /// Whether spans were left out.
    pub cut: bool,
}

/// One row of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// The number of the block in the grid.
    pub block: u64,
    /// What the row is of: `warp 0`, `copies 1`.
    pub name: String,
    /// Its spans, in order.
    pub spans: Vec<Span>,
}

/// What a track does from one step to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// In words: `line 12`, `waits at a barrier of the block (line 6)`.
    pub name: String,
    /// The step that it begins with.
    pub begin: u64,
    /// The step in front of which it ends.
    pub end: u64,
}

/// From the end of what a warp waited for to the end of its wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Track and step where it begins: in a span.
    pub from: (usize, u64),
    /// Track and step where it ends: the end of a wait.
    pub to: (usize, u64),
}

/// What a row is of; rows are in this order where they begin together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Warp(u32),
    /// The copies in flight take the first free row.
    Copies(usize),
    MatrixUnit(u32),
    Mbarrier(usize),
}

/// Work in flight: its key, the row that it takes, and its first step.
struct Open {
    key: (String, u64),
    row: usize,
    begin: u64,
}

#[derive(Default)]
struct Drawing {
    out: Timeline,
    rows: BTreeMap<(u64, Row), usize>,
    /// For each block and warp the wait that lasts: its words and first step.
    waits: BTreeMap<(u64, u32), (String, u64)>,
    /// For each block the copies in flight.
    copies: BTreeMap<u64, Vec<Open>>,
    /// For each mbarrier the phase that lasts, and its first step.
    phases: BTreeMap<(u64, usize), (u32, u64)>,
    /// For each warpgroup's products in flight the first step.
    products: BTreeMap<(u64, u32), u64>,
    count: usize,
}

impl Session<'_> {
    /// The timeline of the whole run. The session is in front of the same step afterwards.
    pub fn timeline(&mut self) -> Timeline {
        let here = self.step();
        let mut drawing = Drawing::default();
        self.mark(&[]);
        self.go(0);
        let mut last: Option<(u64, u32)> = None;
        loop {
            let (step, moment) = (self.step(), self.moment());
            drawing.changes(&moment, step, last);
            last = moment.warp().map(|warp| (moment.block(warp), warp));
            let Some((block, warp)) = last else { break };
            drawing.statement(&moment, step, block, warp);
            if drawing.count > MOST || !self.forward(PauseAt::Every, &mut |_| true) {
                let (step, moment) = (self.step(), self.moment());
                drawing.changes(&moment, step, last);
                break;
            }
        }
        let end = self.step();
        drawing.close(end);
        let out = Timeline {
            schedule: self.seed(),
            steps: self.steps(),
            findings: self.findings().to_vec(),
            cut: end < self.steps(),
            ..drawing.out
        };
        self.go(here);
        out
    }
}

impl Drawing {
    fn row(&mut self, block: u64, row: Row) -> usize {
        let tracks = &mut self.out.tracks;
        *self.rows.entry((block, row)).or_insert_with(|| {
            let name = match row {
                Row::Warp(number) => format!("warp {number}"),
                Row::Copies(number) => format!("copies {number}"),
                Row::MatrixUnit(number) => format!("matrix unit {number}"),
                Row::Mbarrier(number) => format!("mbarrier {number}"),
            };
            tracks.push(Track { block, name, spans: Vec::new() });
            tracks.len() - 1
        })
    }

    /// Adds a span; one that goes on where the last one of the same name ended is part of it.
    fn span(&mut self, track: usize, name: String, begin: u64, end: u64) {
        let spans = &mut self.out.tracks[track].spans;
        let begin = spans.last().map_or(begin, |last| begin.max(last.end));
        if begin >= end {
            return;
        }
        match spans.last_mut() {
            Some(last) if last.end == begin && last.name == name && name.starts_with("line") => {
                last.end = end
            }
            _ => {
                spans.push(Span { name, begin, end });
                self.count += 1;
            }
        }
    }

    /// The statement that comes next.
    fn statement(&mut self, moment: &Moment<'_>, step: u64, block: u64, warp: u32) {
        let track = self.row(block, Row::Warp(warp));
        let line = moment.line(warp);
        self.span(track, format!("line {line}"), step, step + 1);
        if moment.multiplies(warp) {
            let track = self.row(block, Row::MatrixUnit(warp / 4));
            self.span(track, format!("line {line}"), step, step + 1);
        }
    }

    /// What is another than in front of the step before; `by` is the warp of that step.
    fn changes(&mut self, moment: &Moment<'_>, step: u64, by: Option<(u64, u32)>) {
        let ended = self.copies_now(moment, step);
        self.phases_now(moment, step);
        self.products_now(moment, step);
        for warp in &moment.machine.warps {
            let key = (warp.block, warp.number);
            let waits = !matches!(warp.state, State::Ready | State::Ended | State::Exhausted(_));
            match (waits, self.waits.contains_key(&key)) {
                (true, false) => {
                    let words =
                        format!("waits {}", moment.machine.waits_for(warp.state, &[warp.number as usize]));
                    self.waits.insert(key, (words, step));
                }
                (false, true) => self.woken(key, step, ended.or(by.map(|by| (by, None)))),
                _ => {}
            }
        }
    }

    /// A wait ends, by a copy of a block or by the last statement of a warp.
    fn woken(&mut self, key: (u64, u32), step: u64, cause: Option<((u64, u32), Option<usize>)>) {
        let Some((words, begin)) = self.waits.remove(&key) else { return };
        let track = self.row(key.0, Row::Warp(key.1));
        self.span(track, words, begin, step);
        let Some(((block, warp), copies)) = cause else { return };
        let from = match copies {
            Some(number) => self.row(block, Row::Copies(number)),
            None => self.row(block, Row::Warp(warp)),
        };
        let last = |track: usize| self.out.tracks[track].spans.last();
        if let (Some(source), Some(wait)) = (last(from), last(track))
            && wait.end == step
            && from != track
        {
            let arrow = Arrow { from: (from, (source.end - 1).min(step)), to: (track, step) };
            self.out.arrows.push(arrow);
        }
    }

    /// Copies that began or ended; the row of one that ended.
    fn copies_now(&mut self, moment: &Moment<'_>, step: u64) -> Option<((u64, u32), Option<usize>)> {
        let mut now: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
        let program = moment.machine.launch.program;
        for warp in &moment.machine.warps {
            let own = now.entry(warp.block).or_default();
            for copy in warp.pending.iter().filter(|copy| copy.lanes != 0) {
                let line = program.sites[copy.site as usize].line;
                own.push((format!("cp.async, line {line}, warp {}", warp.number), u64::from(copy.groups[0])));
            }
        }
        for copy in moment.copies() {
            let (block, (warp, lane)) = (moment.block(copy.thread.0), copy.thread);
            let words = format!("{} of {} bytes, line {}", copy.what, copy.bytes, copy.line);
            let phase = copy.barrier.map_or(0, |(_, phase)| u64::from(phase) + 1);
            now.entry(block).or_default().push((words, phase << 16 | u64::from(warp * LANES as u32 + lane)));
        }
        let mut last = None;
        for (block, mut now) in now {
            let mut open = self.copies.remove(&block).unwrap_or_default();
            for one in std::mem::take(&mut open) {
                match now.iter().position(|key| *key == one.key) {
                    Some(at) => {
                        now.swap_remove(at);
                        open.push(one);
                    }
                    None => {
                        let track = self.row(block, Row::Copies(one.row));
                        self.span(track, one.key.0, one.begin, step);
                        last = Some(((block, 0), Some(one.row)));
                    }
                }
            }
            for key in now {
                let row = (0..).find(|row| open.iter().all(|one| one.row != *row)).unwrap_or(0);
                open.push(Open { key, row, begin: step.saturating_sub(1) });
            }
            self.copies.insert(block, open);
        }
        last
    }

    fn phases_now(&mut self, moment: &Moment<'_>, step: u64) {
        let block = moment.block(0);
        for (number, barrier) in moment.machine.proxy.barriers.iter().enumerate() {
            if barrier.arrivals == 0 {
                continue;
            }
            let (phase, begin) = *self.phases.entry((block, number)).or_insert((barrier.phase, step));
            if phase != barrier.phase {
                let track = self.row(block, Row::Mbarrier(number));
                self.span(track, format!("phase {phase}"), begin, step);
                self.phases.insert((block, number), (barrier.phase, step));
            }
        }
    }

    fn products_now(&mut self, moment: &Moment<'_>, step: u64) {
        let leaders = |warp: &&Warp| warp.number.is_multiple_of(4);
        for warp in moment.machine.warps.iter().filter(leaders) {
            let key = (warp.block, warp.number / 4);
            match (warp.accumulators.is_empty(), self.products.remove(&key)) {
                (false, begin) => {
                    self.products.insert(key, begin.unwrap_or(step.saturating_sub(1)));
                }
                (true, Some(begin)) => {
                    let track = self.row(key.0, Row::MatrixUnit(key.1));
                    self.span(track, "wgmma in flight".to_owned(), begin, step);
                }
                (true, None) => {}
            }
        }
    }

    /// What lasts at the end ends there.
    fn close(&mut self, end: u64) {
        for ((block, warp), (words, begin)) in std::mem::take(&mut self.waits) {
            let track = self.row(block, Row::Warp(warp));
            self.span(track, words, begin, end);
        }
        for (block, open) in std::mem::take(&mut self.copies) {
            for one in open {
                let track = self.row(block, Row::Copies(one.row));
                self.span(track, one.key.0, one.begin, end);
            }
        }
        for ((block, number), (phase, begin)) in std::mem::take(&mut self.phases) {
            let track = self.row(block, Row::Mbarrier(number));
            self.span(track, format!("phase {phase}"), begin, end);
        }
        for ((block, group), begin) in std::mem::take(&mut self.products) {
            let track = self.row(block, Row::MatrixUnit(group));
            self.span(track, "wgmma in flight".to_owned(), begin, end);
        }
    }
}

impl Moment<'_> {
    /// Whether a warp's next statement issues a product of the matrix units.
    fn multiplies(&self, warp: u32) -> bool {
        let code = &self.machine.launch.program.code;
        let Some(warp) = self.warp_record(warp) else { return false };
        let statement = code.iter().skip(warp.pc + 1).take_while(|op| !matches!(op, Op::Statement));
        statement.take(1 << 10).any(|op| matches!(op, Op::Mma { .. }))
    }
}
