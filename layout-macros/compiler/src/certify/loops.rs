//! Loops by ghost counters: invariants are guessed and checked.
//!
//! ```text
//! guess:   run a round from unknown counters: W → W + 1           so W = before + round
//! check:   run a round from the guess: it holds at the first round, and after a round for the next one
//! ```
//!
//! Law: an invariant of a loop is taken only where a round from it gives it again (induction); what is not inductive is forgotten. A
//! loop that is left in the middle says nothing. Loops of few rounds are unrolled.

use super::counters::{Key, State, apart};
use super::replay::Replay;
use super::sites::Line;
use crate::index::{Atom, AtomId, Index, VarId};
use crate::program::StatementKind;
use std::collections::BTreeMap;

/// The most rounds of a loop that is unrolled.
const FEW: i64 = 8;
/// Rounds of guesses until nothing is forgotten any more.
const GUESSES: usize = 6;
/// Kinds of ghost counters of a loop: unknown before a round, at its head, after it.
pub(super) const UNKNOWN: u8 = 0;
pub(super) const HEAD: u8 = 1;
const LAST: u8 = 2;

/// A loop's variable that goes up by one.
pub(super) struct Counted {
    pub variable: VarId,
    pub atom: AtomId,
    pub first: Index,
    pub end: Index,
}

impl<'a> Replay<'_, 'a> {
    fn leaves(list: &[Line]) -> bool {
        list.iter().any(|line| line.kind.leaves())
    }

    pub(super) fn rounds(&mut self, line: &'a Line, state: State) -> Option<State> {
        let [body, _] = line.kind.lists();
        if !self.eventful.contains(&std::ptr::from_ref(line)) {
            self.list(body, state.clone());
            return Some(state);
        }
        if let StatementKind::For { variable, start, end, step, reversed: false, .. } = &line.kind {
            let (first, end) = (self.index(&state, start), self.index(&state, end));
            let few = first.as_ref().zip(end.as_ref()).and_then(|(first, end)| {
                let (first, end) = (first.as_constant()?, end.as_constant()?);
                (end.checked_sub(first)? <= FEW.saturating_mul(*step)).then_some((first, end))
            });
            if let (Some((first, end)), false) = (few, Self::leaves(body)) {
                return self.unrolled(*variable, (first, end, *step), body, state);
            }
            if let (Some(first), Some(end), 1) = (first, end, *step) {
                return self.general(line, Some((*variable, first, end)), body, state);
            }
        }
        self.general(line, None, body, state)
    }

    fn unrolled(
        &mut self,
        variable: VarId,
        (first, end, step): (i64, i64, i64),
        body: &'a [Line],
        mut state: State,
    ) -> Option<State> {
        let atom = self.names.atoms.find(&Atom::Variable(variable, 0));
        let mut at = first;
        while at < end {
            state.names.insert(variable, Index::constant(at));
            self.bound.extend(atom.map(|atom| (atom, at)));
            let after = self.list(body, state);
            self.bound.truncate(self.bound.len() - usize::from(atom.is_some()));
            state = after?;
            at += step.max(1);
        }
        state.names.remove(&variable);
        Some(state)
    }

    /// A loop of any number of rounds; with its variable where that goes up by one, its first value and its end.
    fn general(
        &mut self,
        line: &'a Line,
        counted: Option<(VarId, Index, Index)>,
        body: &'a [Line],
        mut before: State,
    ) -> Option<State> {
        // What is in the terms of an earlier run of this loop is not in those of this one.
        let own: Vec<AtomId> =
            self.unknown.iter().filter(|((of, ..), _)| std::ptr::eq(*of, line)).map(|(_, id)| *id).collect();
        let old = |value: &Index| {
            let mut found = false;
            self.names.atoms.each(value, &mut |id| found |= own.contains(&id));
            found
        };
        before.keys.retain(|_, value| !old(value));
        before.names.retain(|_, value| !old(value));
        let atom =
            counted.as_ref().and_then(|(variable, ..)| self.names.atoms.find(&Atom::Variable(*variable, 0)));
        let counted =
            counted.zip(atom).filter(|((_, first, end), _)| self.is_closed(first) && self.is_closed(end));
        let counted = counted.map(|((variable, first, end), atom)| Counted { variable, atom, first, end });
        let depth = self.scope.len();
        self.scope.extend(counted.iter().map(|one| one.variable));
        self.depth += 1;
        let after = self.invariant(line, counted.as_ref(), body, &before);
        self.depth -= 1;
        self.scope.truncate(depth);
        after
    }

    fn invariant(
        &mut self,
        line: &'a Line,
        counted: Option<&Counted>,
        body: &'a [Line],
        before: &State,
    ) -> Option<State> {
        let (recording, guessing) = (self.recording, self.guessing);
        (self.recording, self.guessing) = (false, true);
        let (mut head, ghosts) = match Self::leaves(body) {
            true => (State { names: before.names.clone(), keys: BTreeMap::new() }, Vec::new()),
            false => self.guess(line, counted, body, before),
        };
        (self.recording, self.guessing) = (recording, guessing);
        for _ in 0..GUESSES {
            let saved = (self.moments.clone(), self.arrays.clone());
            let end = self.list(body, head.clone());
            let wrong: Vec<Key> = head
                .keys
                .iter()
                .filter(|(key, value)| {
                    !self.is_inductive(**key, value, counted, &ghosts, before, end.as_ref())
                })
                .map(|(key, _)| *key)
                .collect();
            if wrong.is_empty() {
                return Some(self.after_loop(line, head, counted, &ghosts));
            }
            wrong.iter().for_each(|key| drop(head.keys.remove(key)));
            // What is in the terms of a ghost counter is worth nothing without it.
            for (_, atom) in ghosts.iter().filter(|(key, _)| wrong.contains(key)) {
                head.keys.retain(|_, value| value.atoms().all(|id| id != *atom));
            }
            if recording {
                (self.moments, self.arrays) = saved;
            }
        }
        // Nothing is known then; once more for what is recorded.
        head.keys.clear();
        self.list(body, head.clone());
        Some(State { names: before.names.clone(), keys: BTreeMap::new() })
    }

    /// Whether a counter holds before the first round, and after a round for the next one.
    fn is_inductive(
        &mut self,
        key: Key,
        value: &Index,
        counted: Option<&Counted>,
        ghosts: &[(Key, AtomId)],
        before: &State,
        end: Option<&State>,
    ) -> bool {
        let Some(end) = end else { return true };
        let holds = |known: Option<&Index>, claimed: Option<Index>| {
            let apart = known.zip(claimed).and_then(|(known, claimed)| apart(known, &claimed));
            apart.is_some_and(|apart| if key.is_bound() { apart >= 0 } else { apart == 0 })
        };
        let first: Option<Vec<(AtomId, Index)>> = ghosts
            .iter()
            .map(|(key, atom)| Some((*atom, before.get(*key)?.clone())))
            .chain(counted.map(|one| Some((one.atom, one.first.clone()))))
            .collect();
        let next: Option<Vec<(AtomId, Index)>> = ghosts
            .iter()
            .map(|(key, atom)| Some((*atom, end.get(*key)?.clone())))
            .chain(counted.map(|one| Some((one.atom, Index::atom(one.atom).plus(1).ok()?))))
            .collect();
        let mut claimed =
            |images: Option<Vec<(AtomId, Index)>>| self.names.atoms.replace(value, &images?).ok();
        let (first, next) = (claimed(first), claimed(next));
        holds(before.get(key), first) && holds(end.get(key), next)
    }

    /// What holds after a loop.
    fn after_loop(
        &mut self,
        line: *const Line,
        mut head: State,
        counted: Option<&Counted>,
        ghosts: &[(Key, AtomId)],
    ) -> State {
        let rounds = counted.and_then(|one| one.end.sub(&one.first).ok());
        // Of no rounds the variable is at its start, and not at its end.
        let has_end = rounds.is_some_and(|rounds| self.names.atoms.range(&rounds).low >= 0);
        let mut images: Vec<(AtomId, Index)> = Vec::new();
        for (key, atom) in ghosts {
            let last = self.unknown(line, *key, LAST);
            images.push((*atom, Index::atom(last)));
        }
        images.extend(counted.filter(|_| has_end).map(|one| (one.atom, one.end.clone())));
        for (key, value) in std::mem::take(&mut head.keys) {
            let replaced = self.names.atoms.replace(&value, &images).ok();
            let leaves = counted.is_some_and(|one| {
                let mut found = false;
                self.names.atoms.each(&value, &mut |id| found |= id == one.atom);
                found && !has_end
            });
            head.set(key, replaced.filter(|_| !leaves));
        }
        head
    }

    /// A ghost counter of a loop: unknown before a round, at its head, or after it.
    pub(super) fn unknown(&mut self, line: *const Line, key: Key, kind: u8) -> AtomId {
        if let Some(known) = self.unknown.get(&(line, key, kind)) {
            return *known;
        }
        let made = self.names.ghost(kind == UNKNOWN);
        self.unknown.insert((line, key, kind), made);
        made
    }
}
