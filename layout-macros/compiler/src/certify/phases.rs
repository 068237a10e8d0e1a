//! Barrier intervals: after which barrier, and in which round of the loops around, an access may happen.
//!
//! ```text
//! barrier S ──► a, round +0 ──► end of the body ──► b, round +1 ──► barrier
//! ```
//!
//! Law: two threads that have passed equally many barriers have passed the same one last, in the same round of the loops around it,
//! where all threads come to all barriers. So two accesses may be unordered only where they have a barrier in common, and the
//! rounds behind it say in which rounds of the common loops they are. A loop without a barrier says nothing. All threads do equally many
//! rounds of a loop with one: a round that is not there for a thread that has left the loop is there for none.

use super::sites::{Line, Sites};
use crate::origin::Origin;
use crate::program::flow::{self, Analysis};
use crate::program::{Participants, StatementKind};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A loop's rounds since the barrier, counted from its round, or from the loop's first one where that begins after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rounds {
    number: usize,
    entered: bool,
    /// `MANY` is any number from that on.
    rounds: u8,
    /// Whether the loop is left, and had just so many rounds.
    left: bool,
}

const MANY: u8 = 2;

/// A barrier, 0 the kernel's start, and the rounds since.
type Moment = (usize, Vec<Rounds>);

/// What may be the last barrier before each statement.
pub(super) struct Phases {
    moments: HashMap<*const Line, BTreeSet<Moment>>,
    /// The loops with a barrier around each loop.
    nests: HashMap<usize, Vec<usize>>,
}

/// From a loop's round in the first access to that in the second one, where it is known, for each common loop.
pub(super) type Relation = Vec<Option<i64>>;

struct Last<'s, 'a> {
    sites: &'s Sites<'a>,
    nests: HashMap<usize, Vec<usize>>,
    barriers: HashMap<*const Line, usize>,
    /// The loops with a barrier.
    tracked: HashSet<usize>,
    /// Those of them that are left at the end of a round, not at the header.
    by_rounds: HashSet<usize>,
}

/// The loops around each loop.
fn nests(sites: &Sites<'_>) -> HashMap<usize, Vec<usize>> {
    let nest = |(line, number): (&*const Line, &usize)| Some((*number, sites.around.get(line)?.clone()));
    sites.number.iter().filter_map(nest).collect()
}

/// Whether a statement is a barrier for the threads of a block, or of the grid.
fn is_barrier(line: &Line, grid: bool, without: &[Origin]) -> bool {
    match line.kind {
        _ if without.contains(&line.origin) => false,
        StatementKind::Barrier(Participants::Grid) => true,
        StatementKind::Barrier(Participants::Block | Participants::Cluster) => !grid,
        _ => false,
    }
}

impl Last<'_, '_> {
    fn number(&mut self, list: &[Line], grid: bool, without: &[Origin]) -> bool {
        let mut any = false;
        for line in list {
            let mut inside = is_barrier(line, grid, without);
            if inside {
                let next = self.barriers.len() + 1;
                self.barriers.insert(std::ptr::from_ref(line), next);
            }
            line.kind.lists().into_iter().for_each(|list| inside |= self.number(list, grid, without));
            if let (true, Some(number)) = (inside, self.sites.number.get(&std::ptr::from_ref(line))) {
                self.tracked.insert(*number);
                if flow::at_least_once(&line.kind) {
                    self.by_rounds.insert(*number);
                }
            }
            any |= inside;
        }
        any
    }
}

impl Analysis for Last<'_, '_> {
    type State = BTreeSet<Moment>;

    fn transfer(&self, line: &Line, state: &mut Self::State) {
        let key = std::ptr::from_ref(line);
        let (around, own) = (self.sites.around.get(&key), self.sites.number.get(&key));
        let around: &[usize] = around.map_or(&[], Vec::as_slice);
        let innermost = around.last().copied();
        let tracked = own.filter(|own| self.tracked.contains(own));
        if let Some(barrier) = self.barriers.get(&key) {
            let inside = around.iter().filter(|number| self.tracked.contains(number));
            let now = inside.map(|number| Rounds { number: *number, entered: false, rounds: 0, left: false });
            *state = BTreeSet::from([(*barrier, now.collect())]);
            return;
        }
        *state = std::mem::take(state)
            .into_iter()
            .map(|(barrier, mut rounds)| {
                let around = |number: usize| around.contains(&number) || tracked == Some(&number);
                // The header counts a round that is not there; a loop that is left before its header has had its last round.
                for one in rounds.iter_mut().filter(|one| !one.left && !around(one.number)) {
                    one.left = true;
                    one.rounds = (one.rounds + u8::from(self.by_rounds.contains(&one.number))).min(MANY);
                }
                if let Some(own) = tracked {
                    // Those inside of it are of the round before.
                    rounds.retain(|one| !self.nests.get(&one.number).is_some_and(|nest| nest.contains(own)));
                    match rounds.iter_mut().find(|one| one.number == *own) {
                        Some(one) if !one.left => one.rounds = (one.rounds + 1).min(MANY),
                        known => {
                            let first = Rounds { number: *own, entered: true, rounds: 0, left: false };
                            match known {
                                Some(one) => *one = first,
                                None => rounds.push(first),
                            }
                        }
                    }
                }
                // The round that it ends counts.
                if let (StatementKind::Break, Some(last)) = (&line.kind, innermost)
                    && !self.by_rounds.contains(&last)
                    && let Some(one) = rounds.iter_mut().find(|one| one.number == last)
                {
                    one.rounds = (one.rounds + 1).min(MANY);
                }
                rounds.sort_unstable();
                (barrier, rounds)
            })
            .collect();
    }
}

/// Analyses a program, as if it had no barrier of the origins `without`.
pub(super) fn phases(sites: &Sites<'_>, body: &[Line], grid: bool, without: &[Origin]) -> Phases {
    let nests = nests(sites);
    let mut last =
        Last { sites, nests, barriers: HashMap::new(), tracked: HashSet::new(), by_rounds: HashSet::new() };
    last.number(body, grid, without);
    let mut moments = HashMap::new();
    flow::solve(&last, body, BTreeSet::from([(0, Vec::new())]), |line, state| {
        let mut state = state.clone();
        last.transfer(line, &mut state);
        moments.insert(std::ptr::from_ref(line), state);
    });
    let Last { mut nests, tracked, .. } = last;
    nests.values_mut().for_each(|nest| nest.retain(|number| tracked.contains(number)));
    Phases { moments, nests }
}

impl Phases {
    /// In which rounds of the common loops two accesses may be in one interval, each at some of these statements; none where they never
    /// are.
    pub(super) fn relations(
        &self,
        a: &[*const Line],
        b: &[*const Line],
        common: &[usize],
    ) -> BTreeSet<Relation> {
        let mut found = BTreeSet::new();
        // What no path reaches is in no interval.
        let of = |lines: &[*const Line]| -> BTreeSet<Moment> {
            lines.iter().filter_map(|line| self.moments.get(line)).flatten().cloned().collect()
        };
        let (first, second) = (of(a), of(b));
        for (barrier, left) in &first {
            for (_, right) in second.iter().filter(|(other, _)| other == barrier) {
                if !self.together(left, right) {
                    continue;
                }
                let mut together = true;
                let relation = common.iter().map(|number| {
                    let of = |list: &[Rounds]| list.iter().find(|one| one.number == *number).copied();
                    let known = of(left).zip(of(right)).filter(|(left, right)| {
                        together && left.entered == right.entered && left.rounds < MANY && right.rounds < MANY
                    });
                    let shift = known.map(|(left, right)| i64::from(right.rounds) - i64::from(left.rounds));
                    together &= shift == Some(0);
                    shift
                });
                found.insert(relation.collect());
            }
        }
        found
    }

    /// Whether two threads may be behind one barrier in these rounds: both do equally many of each loop.
    fn together(&self, left: &[Rounds], right: &[Rounds]) -> bool {
        let of = |list: &[Rounds], number: usize| list.iter().find(|one| one.number == number).copied();
        left.iter().all(|a| {
            let Some(b) = of(right, a.number) else { return true };
            let nest = self.nests.get(&a.number).map_or(&[][..], Vec::as_slice);
            // Of the same rounds of the loops around.
            let comparable = a.entered == b.entered
                && a.rounds < MANY
                && b.rounds < MANY
                && nest.iter().all(|outer| {
                    let (own, other) = (of(left, *outer), of(right, *outer));
                    own == other && own.is_some_and(|one| one.rounds < MANY && !one.left)
                });
            match (a.left, b.left) {
                _ if !comparable => true,
                (false, false) => true,
                (true, true) => a.rounds == b.rounds,
                (true, false) => b.rounds < a.rounds,
                (false, true) => a.rounds < b.rounds,
            }
        })
    }
}
