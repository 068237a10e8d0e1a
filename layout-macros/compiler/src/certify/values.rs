//! Values of indices at a point of the program, by names, positions and rounds.
//!
//! Law: a variable of which no value is known stays an atom of its own, and an index that may be of an earlier position has no value.

use super::counters::{Key, State};
use super::names::Names;
use super::positions;
use super::replay::Replay;
use crate::index::{Atom, AtomId, Index, VarId};

impl Replay<'_, '_> {
    /// An index by names, positions and rounds.
    pub(super) fn index(&mut self, state: &State, index: &Index) -> Option<Index> {
        let mut images = Vec::new();
        self.images(state, index, &mut images, 0)?;
        let replaced = self.names.atoms.replace(index, &images).ok()?;
        self.flat(replaced)
    }

    /// An index with `(a % S + b) % S` as `(a + b) % S`.
    pub(super) fn flat(&mut self, index: Index) -> Option<Index> {
        let ids: Vec<AtomId> = index.atoms().collect();
        let mut images = Vec::new();
        for id in ids {
            let Atom::Rem(inner, divisor) = self.names.atoms.atom(id).clone() else { continue };
            let Some(number) = divisor.as_constant().filter(|number| *number > 0) else { continue };
            let mut sum = (*inner).clone();
            for (monomial, factor) in inner.terms() {
                let [part] = monomial.as_slice() else { continue };
                let Atom::Rem(dividend, other) = self.names.atoms.atom(*part) else { continue };
                let whole = other.as_constant().is_some_and(|other| other > 0 && other % number == 0);
                if whole && self.names.atoms.range(dividend).low >= 0 {
                    let without = sum.add_scaled(&Index::atom(*part), -factor).ok()?;
                    sum = without.add_scaled(dividend, *factor).ok()?;
                }
            }
            let fits = |one: &Index| self.names.atoms.range(one).low >= 0;
            if sum != *inner && fits(&sum) && fits(&inner) {
                images.push((id, self.names.atoms.rem(&sum, &divisor).ok()?));
            }
        }
        match images.is_empty() {
            true => Some(index),
            false => self.names.atoms.replace(&index, &images).ok(),
        }
    }

    pub(super) fn images(
        &mut self,
        state: &State,
        index: &Index,
        images: &mut Vec<(AtomId, Index)>,
        depth: u32,
    ) -> Option<()> {
        if depth > 24 {
            return None;
        }
        for id in index.atoms() {
            if images.iter().any(|(known, _)| *known == id) {
                continue;
            }
            let Some(variable) = positions::of_atom(&self.names.atoms, id) else {
                let parts: Vec<Index> = self.names.atoms.atom(id).parts().cloned().collect();
                for part in &parts {
                    self.images(state, part, images, depth + 1)?;
                }
                continue;
            };
            let image = if let Some(known) = state.names.get(&variable) {
                known.clone()
            } else if let Some(position) = self.positions.of(variable) {
                let ghost = state.get(Key::Ghost(position.stage)).cloned();
                match ghost {
                    Some(ghost) => self.position(variable, &ghost, position)?,
                    None => continue,
                }
            } else {
                // Of a name that is not followed the definition may be of an earlier position.
                match self.names.atoms.facts(id).definition.clone() {
                    Some(definition) if self.has_position(&definition) => return None,
                    _ => continue,
                }
            };
            images.push((id, image));
        }
        Some(())
    }

    pub(super) fn has_position(&self, index: &Index) -> bool {
        let atoms = &self.names.atoms;
        index.atoms().any(|id| match positions::of_atom(atoms, id) {
            Some(variable) => {
                let definition = atoms.facts(id).definition.as_ref();
                self.positions.of(variable).is_some() || definition.is_some_and(|one| self.has_position(one))
            }
            None => atoms.atom(id).parts().any(|part| self.has_position(part)),
        })
    }

    pub(super) fn position(
        &mut self,
        variable: VarId,
        ghost: &Index,
        position: positions::Position,
    ) -> Option<Index> {
        let stages = Index::constant(position.stages);
        if variable == position.stage {
            return self.names.atoms.rem(ghost, &stages).ok();
        }
        let quotient = self.names.atoms.div(ghost, &stages).ok()?;
        self.names.atoms.rem(&quotient, &Index::constant(2)).ok()
    }

    /// Whether an index is made of counters, rounds around, and what no statement changes.
    pub(super) fn is_closed(&self, index: &Index) -> bool {
        let atoms = &self.names.atoms;
        index.atoms().all(|id| match positions::of_atom(atoms, id) {
            Some(variable) => Names::is_ghost(variable) || self.scope.contains(&variable),
            None => atoms.atom(id).parts().all(|part| self.is_closed(part)),
        })
    }
}
