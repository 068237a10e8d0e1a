//! What each statement that orders does to the ghost counters.
//!
//! Law: a wait that is not of the next number of its array gives nothing: parity does not distinguish a phase from the one before the
//! last. What an event does is written here once, and every other statement changes no counter.

use super::counters::{Key, State};
use super::mbarriers::{Array, Arrival};
use super::replay::{Guard, Replay};
use super::sites::Line;
use crate::index::{Atom, Index};
use crate::program::{BarrierAt, Operation, Participants, Signal, StatementKind};

pub(super) struct Events;

impl Events {
    /// Whether a statement changes counters.
    pub(super) fn is_event(line: &Line) -> bool {
        match &line.kind {
            StatementKind::Barrier(_) | StatementKind::Signal(_) => true,
            StatementKind::Operation(
                Operation::TensorLoad(_) | Operation::TensorStore(_) | Operation::RemoteStore(_),
            ) => true,
            StatementKind::Operation(_)
            | StatementKind::Let(..)
            | StatementKind::LetIndex(..)
            | StatementKind::Assign(..)
            | StatementKind::AssignIndex(..)
            | StatementKind::Store(..)
            | StatementKind::For { .. }
            | StatementKind::While(..)
            | StatementKind::If(..)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Collective(..)
            | StatementKind::Atomic { .. }
            | StatementKind::SetMaxRegisters { .. }
            | StatementKind::Assume(_)
            | StatementKind::Print(_)
            | StatementKind::Assert { .. } => false,
        }
    }
}

impl<'a> Replay<'_, 'a> {
    pub(super) fn event(&mut self, line: &'a Line, state: &mut State) {
        match &line.kind {
            StatementKind::Barrier(Participants::Block | Participants::Cluster | Participants::Grid) => {
                state.barrier();
            }
            StatementKind::Signal(signal) => self.signal(signal, state),
            StatementKind::Operation(Operation::TensorLoad(load)) => {
                let bytes = self.boxes.get(load.map as usize).map_or(0, |one| one.bytes());
                self.load(&load.barrier, load.multicast.is_some(), i64::from(bytes), state);
            }
            StatementKind::Operation(Operation::TensorStore(_)) => {
                self.store();
                state.set(Key::StoresOpen, Some(Index::constant(1)));
            }
            StatementKind::Operation(Operation::RemoteStore(store)) => {
                self.array(&store.barrier).refuse("another block reports to it");
            }
            StatementKind::Barrier(Participants::Thread | Participants::Warp | Participants::Warpgroup)
            | StatementKind::Operation(_)
            | StatementKind::Let(..)
            | StatementKind::LetIndex(..)
            | StatementKind::Assign(..)
            | StatementKind::AssignIndex(..)
            | StatementKind::Store(..)
            | StatementKind::For { .. }
            | StatementKind::While(..)
            | StatementKind::If(..)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Collective(..)
            | StatementKind::Atomic { .. }
            | StatementKind::SetMaxRegisters { .. }
            | StatementKind::Assume(_)
            | StatementKind::Print(_)
            | StatementKind::Assert { .. } => {}
        }
    }

    fn signal(&mut self, signal: &Signal, state: &mut State) {
        match signal {
            Signal::BarrierInit { barrier, arrivals } => {
                let made = state.get(Key::Barriers).cloned();
                if self.recording {
                    let is_once = self.depth == 0;
                    let array = self.array(barrier);
                    if !is_once {
                        array.refuse("it is made in a loop");
                    }
                    array.counts.push(*arrivals);
                    array.made = made;
                }
            }
            Signal::BarrierArrive { barrier, expect, rank } => {
                if rank.is_some() {
                    self.array(barrier).refuse("another block arrives at it");
                }
                self.arrive(barrier, *expect, state);
            }
            Signal::BarrierWait { barrier, parity } => self.wait(barrier, parity, state),
            Signal::TensorCommit { barrier } => {
                self.array(barrier).refuse("the commit of a tensor product arrives at it");
            }
            Signal::AsyncProxyFence { global: false } => {
                state.add(Key::Fences, 1);
                let passed = state.get(Key::Barriers).cloned();
                state.set(Key::BarriersFenced, passed);
            }
            Signal::CopyCommit => state.add(Key::Commits, 1),
            Signal::CopyWait(left) => {
                let done = state.get(Key::Commits).and_then(|all| all.plus(-i64::from(*left)).ok());
                state.renew(Key::Done, done);
            }
            Signal::MatrixCommit => state.add(Key::Products, 1),
            Signal::MatrixWait(left) => {
                let done = state.get(Key::Products).and_then(|all| all.plus(-i64::from(*left)).ok());
                state.renew(Key::ProductsDone, done);
            }
            Signal::BulkCommit => {
                self.store();
                state.add(Key::Stores, 1);
                state.set(Key::StoresOpen, Some(Index::constant(0)));
            }
            Signal::BulkWait { groups, .. } => {
                self.store();
                let done = state.get(Key::Stores).and_then(|all| all.plus(-i64::from(*groups)).ok());
                state.renew(Key::StoresRead, done);
            }
            Signal::AsyncProxyFence { global: true }
            | Signal::BarrierInitFence
            | Signal::MemoryFence(_)
            | Signal::MatrixFence
            | Signal::TensorAllocate { .. }
            | Signal::TensorFree { .. }
            | Signal::TensorFence { .. }
            | Signal::TensorWait { .. }
            | Signal::DependencyWait
            | Signal::LaunchDependents
            | Signal::NamedBarrier { .. } => {}
        }
    }

    /// Notes who stores, commits and waits.
    fn store(&mut self) {
        if self.recording {
            let threads = self.threads();
            self.storing.insert(threads);
        }
    }

    fn array(&mut self, barrier: &BarrierAt) -> &mut Array {
        let stages = i64::try_from(self.tables.place(barrier.place).len).unwrap_or(0);
        self.arrays.entry(barrier.place.0).or_insert_with(|| Array { stages, ..Array::default() })
    }

    /// Notes a use, and whether the element is that of a number.
    fn used(&mut self, barrier: &BarrierAt, number: Option<&Index>, state: &State) -> bool {
        let stages = Index::constant(self.array(barrier).stages);
        let wanted = number.and_then(|number| {
            let negative = self.names.atoms.range(number).low < 0;
            let number = if negative { number.add(&stages).ok()? } else { number.clone() };
            (self.names.atoms.range(&number).low >= 0).then_some(())?;
            self.names.atoms.rem(&number, &stages).ok()
        });
        let found = self.index(state, &barrier.index);
        if self.recording {
            let passed = state.get(Key::Barriers).cloned();
            self.array(barrier).used.push(passed);
        }
        found.is_some() && found == wanted
    }

    fn arrive(&mut self, barrier: &BarrierAt, bytes: u32, state: &mut State) {
        let place = barrier.place.0;
        let number = state.get(Key::Arrivals(place)).cloned();
        let is_next = self.used(barrier, number.as_ref(), state);
        if self.recording {
            let mut end = None;
            let mut whiles = 0;
            for guard in &self.guards {
                match guard {
                    Guard::Actors(_) | Guard::Other => {}
                    Guard::While(rest) => {
                        whiles += 1;
                        end = number.as_ref().and_then(|number| rest.add(number).ok());
                        end = end.filter(|end| self.is_invariant(end));
                    }
                }
            }
            let threads = self.threads();
            let array = self.array(barrier);
            if whiles > 1 || whiles == 1 && end.is_none() {
                array.refuse("it is not known at which number its arrivals end");
            }
            array.ends.push(end);
            array.threads.insert(threads);
            match number.clone().filter(|_| is_next) {
                Some(number) => array.arrivals.push(Arrival { number, state: state.clone(), bytes }),
                None => array.refuse("its arrivals are not one after the other around its stages"),
            }
        }
        state.add(Key::Arrivals(place), 1);
        state.set(Key::Bytes(place), Some(Index::constant(i64::from(bytes))));
    }

    /// Whether an index is the same in every round.
    fn is_invariant(&self, index: &Index) -> bool {
        let atoms = &self.names.atoms;
        index.atoms().all(|id| match atoms.atom(id) {
            Atom::Variable(..) => false,
            atom => atom.parts().all(|part| self.is_invariant(part)),
        })
    }

    /// A load reports its bytes to the phase of the last arrival.
    fn load(&mut self, barrier: &BarrierAt, multicast: bool, bytes: i64, state: &mut State) {
        let place = barrier.place.0;
        let number = state.get(Key::Arrivals(place)).and_then(|next| next.plus(-1).ok());
        let is_own = self.used(barrier, number.as_ref(), state);
        state.add(Key::Bytes(place), -bytes);
        let left = state.get(Key::Bytes(place)).and_then(Index::as_constant);
        if self.recording {
            let array = self.array(barrier);
            if multicast {
                array.refuse("boxes for several blocks report to it");
            }
            if !is_own {
                array.refuse("a load reports to an element that no arrival before it has announced");
            }
            if left.is_none_or(|left| left < 0) {
                array.refuse("its loads report more bytes than are expected");
            }
        }
    }

    fn wait(&mut self, barrier: &BarrierAt, parity: &Index, state: &mut State) {
        let place = barrier.place.0;
        if self.guessing {
            state.add(Key::Waits(place), 1);
            state.add(Key::Seen(place), 1);
            return;
        }
        let Some(next) = state.get(Key::Waits(place)).cloned() else { return };
        let is_element = self.used(barrier, Some(&next), state);
        let Some(found) = self.index(state, parity) else { return };
        let stages = self.array(barrier).stages;
        let is_parity = self.is_parity(&found, &next, stages);
        if is_element && is_parity {
            let after = next.plus(1).ok();
            state.set(Key::Waits(place), after.clone());
            state.raise(Key::Seen(place), after.as_ref());
            return;
        }
        // An array whose first waits pass at once is counted from the phase before the first.
        let begun = self.starts.get(&place).copied().unwrap_or(0);
        let before = next.plus(-stages).ok();
        let is_before = before.is_some_and(|before| self.is_parity(&found, &before, stages));
        if self.recording && begun == 0 && is_element && is_before {
            self.wanted.insert(place, -stages);
        }
    }

    /// Whether an index is the parity of a number's phase, by the forms in which programs have it. No number is below `-stages`.
    fn is_parity(&mut self, found: &Index, number: &Index, stages: i64) -> bool {
        (0..3).any(|rounds: i64| {
            let shifted = stages.checked_mul(rounds).and_then(|by| number.plus(by).ok());
            // The quotient of a negative number is rounded towards 0.
            let Some(shifted) = shifted.filter(|one| self.names.atoms.range(one).low >= 0) else {
                return false;
            };
            let atoms = &mut self.names.atoms;
            let Ok(quotient) = atoms.div(&shifted, &Index::constant(stages)) else { return false };
            let Ok(parity) = atoms.rem(&quotient, &Index::constant(2)) else { return false };
            let parity = if rounds % 2 == 0 { Some(parity) } else { Index::constant(1).sub(&parity).ok() };
            parity.as_ref() == Some(found)
        })
    }
}
