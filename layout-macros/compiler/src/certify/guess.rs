//! Guesses of loop invariants of ghost counters.
//!
//! Law: nothing here is relied on: [`Replay`] takes an invariant only where it is inductive.

use super::counters::{Key, State, apart};
use super::loops::{Counted, HEAD, UNKNOWN};
use super::replay::Replay;
use super::sites::Line;
use crate::index::{AtomId, Index};

/// What holds at a loop's head, and the ghost counters of that head.
type Guess = (State, Vec<(Key, AtomId)>);

impl<'a> Replay<'_, 'a> {
    pub(super) fn guess(
        &mut self,
        line: &'a Line,
        counted: Option<&Counted>,
        body: &'a [Line],
        before: &State,
    ) -> Guess {
        let mut start = State { names: before.names.clone(), ..State::default() };
        let mut unknown: Vec<(Key, AtomId)> = Vec::new();
        for key in before.keys.keys() {
            let atom = self.unknown(line, *key, UNKNOWN);
            unknown.push((*key, atom));
            start.set(*key, Some(Index::atom(atom)));
        }
        let end = self.list(body, start);
        let mut head = State { names: before.names.clone(), ..State::default() };
        let Some(end) = end else { return (head, Vec::new()) };
        let of = |key: Key| unknown.iter().find(|(own, _)| *own == key).map(|(_, atom)| Index::atom(*atom));
        // By how much a round raises a counter.
        let raised = |key: Key| {
            let by = end.get(key)?.sub(&of(key)?).ok()?;
            let own = |id: AtomId| unknown.iter().any(|(_, atom)| *atom == id);
            let is_known = !by.atoms().any(own);
            is_known.then_some(by)
        };
        let mut ghosts: Vec<(Key, AtomId)> = Vec::new();
        let mut left: Vec<Key> = Vec::new();
        for key in before.keys.keys().copied() {
            let Some(from) = before.get(key) else { continue };
            let by = raised(key);
            let value = match (&by, counted) {
                (Some(by), _) if *by == Index::default() => Some(from.clone()),
                (Some(by), Some(one)) => {
                    let rounds = Index::atom(one.atom).sub(&one.first);
                    rounds.and_then(|rounds| from.add(&rounds.mul(by)?)).ok()
                }
                _ => None,
            };
            match value {
                Some(value) => head.set(key, Some(value)),
                None if matches!(key, Key::Ghost(_)) => {
                    let atom = self.unknown(line, key, HEAD);
                    ghosts.push((key, atom));
                    head.set(key, Some(Index::atom(atom)));
                }
                None => left.push(key),
            }
        }
        // What goes along with a ghost counter.
        left.retain(|key| {
            let along = |(ghost, atom): &(Key, AtomId)| {
                let lead = apart(before.get(*key)?, before.get(*ghost)?)?;
                let same = match (raised(*key), raised(*ghost)) {
                    (Some(own), Some(other)) => own == other,
                    _ => apart(end.get(*key)?, end.get(*ghost)?) == Some(lead),
                };
                same.then(|| Index::atom(*atom).plus(lead).ok())?
            };
            let value = ghosts.iter().find_map(along);
            let found = value.is_some();
            head.set(*key, value);
            !found
        });
        for key in left {
            let value = self.lagging(key, counted, &ghosts, &unknown, (before, &head, &end));
            head.set(key, value);
        }
        (head, ghosts)
    }

    /// A counter that a round sets to what others have: at the next head it has what the round before gave.
    fn lagging(
        &mut self,
        key: Key,
        counted: Option<&Counted>,
        ghosts: &[(Key, AtomId)],
        unknown: &[(Key, AtomId)],
        (before, head, end): (&State, &State, &State),
    ) -> Option<Index> {
        let known: Option<Vec<(AtomId, Index)>> = unknown
            .iter()
            .filter(|(_, atom)| end.get(key).is_some_and(|value| value.atoms().any(|id| id == *atom)))
            .map(|(own, atom)| Some((*atom, head.get(*own)?.clone())))
            .collect();
        let atoms = &mut self.names.atoms;
        let given = atoms.replace(end.get(key)?, &known?).ok()?;
        let mut back = Vec::new();
        for (ghost, atom) in ghosts {
            let by =
                end.get(*ghost)?.sub(&Index::atom(unknown.iter().find(|(own, _)| own == ghost)?.1)).ok()?;
            back.push((*atom, Index::atom(*atom).sub(&by).ok()?));
        }
        let mut first: Vec<(AtomId, Index)> =
            ghosts.iter().filter_map(|(ghost, atom)| Some((*atom, before.get(*ghost)?.clone()))).collect();
        if let Some(one) = counted {
            back.push((one.atom, Index::atom(one.atom).plus(-1).ok()?));
            first.push((one.atom, one.first.clone()));
        }
        let value = atoms.replace(&given, &back).ok()?;
        let begins = atoms.replace(&value, &first).ok()?;
        let over = apart(&begins, before.get(key)?)?;
        let over = if key.is_bound() { over.max(0) } else { 0 };
        value.plus(-over).ok()
    }
}
