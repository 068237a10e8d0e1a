//! The program by ghost counters: what is known of them at each access.
//!
//! Law: each path from the start of the program to an access is followed with the counters of a thread that takes it. Where paths
//! join, and at the heads of loops, only what holds on all of them is kept.

use super::counters::{Key, State, apart};
use super::events::Events;
use super::mbarriers::Arrays;
use super::names::Names;
use super::positions::Positions;
use super::sites::{Line, Sites};
use super::threads::{Conditions, Threads};
use crate::index::{AtomId, Index, VarId};
use crate::ir::BinaryOp;
use crate::program::{Access, StatementKind, Tables, TensorMap, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Where an access happens: in the rounds of unrolled loops that are bound.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub state: Rc<State>,
    pub element: Option<Index>,
    pub bound: Vec<(AtomId, i64)>,
    /// The threads that may come there.
    pub threads: Rc<Threads>,
}

/// Who comes into a branch.
#[derive(Clone, Debug)]
pub(super) enum Guard {
    /// These threads.
    Actors(Threads),
    /// The threads where this is positive.
    While(Index),
    Other,
}

pub(super) struct Replay<'r, 'a> {
    pub names: &'r mut Names,
    pub tables: &'a Tables,
    pub sites: &'r Sites<'a>,
    pub positions: Positions,
    pub conditions: Conditions<'a>,
    pub arrays: Arrays,
    /// The numbers that waits begin with, where it is not 0.
    pub starts: BTreeMap<u32, i64>,
    pub moments: HashMap<usize, Vec<Moment>>,
    pub at: HashMap<*const Line, Vec<usize>>,
    /// The statements with an event inside.
    pub eventful: HashSet<*const Line>,
    pub recording: bool,
    pub guards: Vec<Guard>,
    pub bound: Vec<(AtomId, i64)>,
    /// The tensor maps of the launch.
    pub boxes: &'a [TensorMap],
    /// Numbers that waits begin with, where a run has shown that they are not those of `starts`.
    pub wanted: BTreeMap<u32, i64>,
    /// The threads that store by tensor map, commit groups of stores, and wait for them.
    pub storing: BTreeSet<Threads>,
    pub guessing: bool,
    /// Loops around that are not unrolled.
    pub depth: usize,
    pub unknown: HashMap<(*const Line, Key, u8), AtomId>,
    /// The variables of loops around that go up by one.
    pub scope: Vec<VarId>,
}

impl<'r, 'a> Replay<'r, 'a> {
    pub(super) fn new(
        names: &'r mut Names,
        tables: &'a Tables,
        sites: &'r Sites<'a>,
        (block, boxes): ([i64; 3], &'a [TensorMap]),
        body: &'a [Line],
    ) -> Replay<'r, 'a> {
        let positions = Positions::new(&names.atoms, body);
        let mut at: HashMap<*const Line, Vec<usize>> = HashMap::new();
        for (number, site) in sites.sites.iter().enumerate() {
            at.entry(site.statement).or_default().push(number);
        }
        let mut replay = Replay {
            names,
            tables,
            sites,
            positions,
            conditions: Conditions::new(body, block),
            arrays: Arrays::new(),
            starts: BTreeMap::new(),
            moments: HashMap::new(),
            at,
            eventful: HashSet::new(),
            recording: true,
            guards: Vec::new(),
            bound: Vec::new(),
            boxes,
            wanted: BTreeMap::new(),
            storing: BTreeSet::new(),
            guessing: false,
            depth: 0,
            unknown: HashMap::new(),
            scope: Vec::new(),
        };
        replay.mark(body);
        replay
    }

    fn mark(&mut self, list: &[Line]) -> bool {
        let mut any = false;
        for line in list {
            let mut own = Events::is_event(line) || self.positions.advanced(line).is_some();
            line.kind.lists().into_iter().for_each(|list| own |= self.mark(list));
            if own {
                self.eventful.insert(line);
            }
            any |= own;
        }
        any
    }

    /// A list; `None` where its end is not reached.
    pub(super) fn list(&mut self, list: &'a [Line], mut state: State) -> Option<State> {
        for line in list {
            state = self.line(line, state)?;
        }
        Some(state)
    }

    fn line(&mut self, line: &'a Line, mut state: State) -> Option<State> {
        self.record(line, &state);
        match &line.kind {
            StatementKind::If(condition, then, otherwise) => {
                if let Some(position) = self.positions.advanced(line) {
                    state.add(Key::Ghost(position.stage), 1);
                    return Some(state);
                }
                self.branch(condition, then, otherwise, state)
            }
            StatementKind::For { .. } | StatementKind::While(..) => self.rounds(line, state),
            StatementKind::Break | StatementKind::Continue => None,
            StatementKind::LetIndex(variable, index) => {
                if let Some(position) = self.positions.of(*variable) {
                    if position.stage == *variable {
                        state.set(Key::Ghost(position.stage), index.as_constant().map(Index::constant));
                    }
                    return Some(state);
                }
                let value = match self.tables.variable(*variable).mutable {
                    true => None,
                    false => self.index(&state, index),
                };
                match value {
                    Some(value) => drop(state.names.insert(*variable, value)),
                    None => drop(state.names.remove(variable)),
                }
                Some(state)
            }
            _ => {
                self.event(line, &mut state);
                Some(state)
            }
        }
    }

    pub(super) fn threads(&self) -> Threads {
        let all = self.conditions.all();
        self.guards.iter().fold(all, |all, guard| match guard {
            Guard::Actors(threads) => all.both(threads),
            Guard::While(_) | Guard::Other => all,
        })
    }

    fn record(&mut self, line: &Line, state: &State) {
        let numbers = self.at.get(&std::ptr::from_ref(line)).cloned();
        let (Some(numbers), true) = (numbers, self.recording) else { return };
        let (shared, threads) = (Rc::new(state.clone()), Rc::new(self.threads()));
        for number in numbers {
            let access = self.sites.sites[number].access;
            let element = match access.pointer {
                None => Some(access.index.clone()),
                Some(pointer) => match state.names.get(&pointer) {
                    Some(from) => from.add(&access.index).ok(),
                    None => self.names.element(access),
                },
            };
            let element = element.and_then(|element| self.index(state, &element));
            let (state, threads, bound) = (shared.clone(), threads.clone(), self.bound.clone());
            self.moments.entry(number).or_default().push(Moment { state, element, bound, threads });
        }
    }

    /// What a condition that holds, or does not, says of who is there.
    fn guards(&mut self, state: &State, condition: &Value<Access>, holds: bool) -> Vec<Guard> {
        if self.decided(state, condition) == Some(holds) {
            return Vec::new();
        }
        if let Some(set) = self.conditions.set(&self.names.atoms, condition, holds) {
            return vec![Guard::Actors(set)];
        }
        match condition {
            Value::Binary(BinaryOp::And | BinaryOp::BitAnd, left, right) if holds => {
                let (mut left, right) = (self.guards(state, left, holds), self.guards(state, right, holds));
                left.extend(right);
                left
            }
            Value::Compare(one) if holds && one.op == BinaryOp::Lt => {
                let left = self.index(state, &one.left);
                let right = self.index(state, &one.right);
                let rest = left.zip(right).and_then(|(left, right)| right.sub(&left).ok());
                vec![rest.map_or(Guard::Other, Guard::While)]
            }
            _ => vec![Guard::Other],
        }
    }

    /// Whether a condition is a number here.
    fn decided(&mut self, state: &State, condition: &Value<Access>) -> Option<bool> {
        let Value::Compare(one) = condition else { return None };
        let (left, right) = (self.index(state, &one.left)?, self.index(state, &one.right)?);
        let rest = apart(&left, &right)?;
        match one.op {
            BinaryOp::Eq => Some(rest == 0),
            BinaryOp::Ne => Some(rest != 0),
            BinaryOp::Lt => Some(rest < 0),
            BinaryOp::Le => Some(rest <= 0),
            BinaryOp::Gt => Some(rest > 0),
            BinaryOp::Ge => Some(rest >= 0),
            _ => None,
        }
    }

    fn branch(
        &mut self,
        condition: &'a Value<Access>,
        then: &'a [Line],
        otherwise: &'a [Line],
        state: State,
    ) -> Option<State> {
        match self.decided(&state, condition) {
            // The other branch is that of no thread; its accesses have no moment.
            Some(true) => return self.list(then, state),
            Some(false) => return self.list(otherwise, state),
            None => {}
        }
        let (mut ends, mut adopts, mut certain) = (Vec::new(), [false; 2], [false; 2]);
        for (at, (list, holds)) in [(then, true), (otherwise, false)].into_iter().enumerate() {
            let own = self.guards(&state, condition, holds);
            let depth = self.guards.len();
            self.guards.extend(own.iter().cloned());
            adopts[at] = own.iter().all(|guard| !matches!(guard, Guard::Other));
            certain[at] = own.iter().all(|guard| matches!(guard, Guard::Actors(_)))
                && self.threads().count() > 0
                && !self.threads().mixed;
            ends.push(self.list(list, state.clone()));
            self.guards.truncate(depth);
        }
        match (ends.remove(0), ends.remove(0)) {
            (Some(a), Some(b)) => Some(state.join(&a, &b, adopts, certain)),
            (a, b) => a.or(b).map(|one| State { names: state.names, ..one }),
        }
    }
}
