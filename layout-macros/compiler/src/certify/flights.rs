//! Asynchronous copies by threads (`cp.async`): from the statement that issues one to the wait that completes its group.
//!
//! ```text
//! copy ──► commit ──► barrier ──► .. ──► wait      each statement on the way is in the copy's flight
//! ```
//!
//! Law: a copy reads and writes at any time of its flight. So it is unordered with every access of its flight, those of its own thread
//! included. A copy is open, and no rule covers it, where it is in flight as a loop with a barrier goes on to its next round or is left,
//! or at the kernel's end.

use super::sites::{Line, Sites};
use crate::program::flow::{self, Analysis};
use crate::program::{Operation, Part, Participants, Signal, StatementKind, walk};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Groups committed since, from which on they are not counted.
const MANY: u8 = 32;

/// The flights of a program's copies.
#[derive(Debug, Default)]
pub(super) struct Flights {
    lines: HashMap<*const Line, Vec<*const Line>>,
    open: HashSet<*const Line>,
}

/// The copies in flight: each with the groups that its thread has committed since it was issued, its own one included.
struct InFlight {
    copies: HashMap<*const Line, usize>,
}

impl Analysis for InFlight {
    type State = BTreeSet<(usize, u8)>;

    fn transfer(&self, line: &Line, state: &mut Self::State) {
        if let Some(copy) = self.copies.get(&std::ptr::from_ref(line)) {
            state.insert((*copy, 0));
        }
        match line.kind {
            StatementKind::Signal(Signal::CopyCommit) => {
                *state = state.iter().map(|(copy, groups)| (*copy, (groups + 1).min(MANY))).collect();
            }
            StatementKind::Signal(Signal::CopyWait(left)) => {
                state.retain(|(_, groups)| *groups == 0 || u32::from(*groups) <= left);
            }
            _ => {}
        }
    }
}

/// Finds them.
pub(super) fn flights(sites: &Sites<'_>, body: &[Line]) -> Flights {
    let (mut found, mut copies, mut synchronised) = (Flights::default(), Vec::new(), HashSet::new());
    walk::statements(body, &mut |part| {
        let Part::Statement(line) = part else { return };
        let key = std::ptr::from_ref(line);
        if let StatementKind::Operation(Operation::AsyncCopy { .. }) = line.kind {
            copies.push(key);
        }
        let orders = [Participants::Block, Participants::Cluster, Participants::Grid];
        if let (StatementKind::Barrier(participants), Some(around)) = (&line.kind, sites.around.get(&key))
            && orders.contains(participants)
        {
            synchronised.extend(around.iter().copied());
        }
    });
    if copies.is_empty() {
        return found;
    }
    let around = |line: &*const Line| sites.around.get(line).map_or(&[][..], Vec::as_slice);
    let analysis = InFlight { copies: copies.iter().enumerate().map(|(at, line)| (*line, at)).collect() };
    let end = flow::solve(&analysis, body, BTreeSet::new(), |line, state| {
        let line = std::ptr::from_ref(line);
        let own_loop = sites.number.get(&line);
        for copy in state.iter().map(|(copy, _)| copies[*copy]) {
            let lines = found.lines.entry(copy).or_default();
            if lines.last() != Some(&line) {
                lines.push(line);
            }
            let mut crossed = around(&copy).iter().filter(|one| synchronised.contains(one));
            if crossed.any(|one| own_loop == Some(one) || !around(&line).contains(one)) {
                found.open.insert(copy);
            }
        }
    });
    found.open.extend(end.iter().flatten().map(|(copy, _)| copies[*copy]));
    found
}

impl Flights {
    /// The statements at which an access of a statement may happen.
    pub(super) fn of(&self, line: *const Line) -> Vec<*const Line> {
        let flight = self.lines.get(&line).into_iter().flatten().copied();
        std::iter::once(line).chain(flight.filter(|one| *one != line)).collect()
    }

    /// Whether a statement, in some round, is in the flight of a copy.
    pub(super) fn holds(&self, copy: *const Line, line: *const Line) -> bool {
        self.lines.get(&copy).is_some_and(|lines| lines.contains(&line))
    }

    /// Whether no rule covers a copy.
    pub(super) fn is_open(&self, copy: *const Line) -> bool {
        self.open.contains(&copy)
    }
}
