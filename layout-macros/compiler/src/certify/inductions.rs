//! Induction variables: those that a loop adds a number to, once a round.
//!
//! ```text
//! let mut i = start;  while .. { .. x[[i]] ..  i += step; }      i = start + step * round
//! ```
//!
//! Law: such a variable is declared in the loops around the loop, assigned once in the whole program, on every way through the body, and
//! what is added is the same in every launch's thread and round.

use super::sites::{Counter, Line};
use crate::index::{Atom, AtomId, Atoms, Index, VarId};
use crate::ir::Special;
use crate::program::StatementKind;
use std::collections::HashMap;

/// Where the variables of a program are declared, and how often each is assigned.
#[derive(Debug, Default)]
pub(super) struct Inductions {
    declared: HashMap<VarId, (usize, Index)>,
    assigned: HashMap<VarId, u32>,
}

impl Inductions {
    pub(super) fn new(body: &[Line]) -> Inductions {
        let mut found = Inductions::default();
        found.list(body, 0);
        found
    }

    fn list(&mut self, list: &[Line], depth: usize) {
        for line in list {
            match &line.kind {
                // A second declaration counts as an assignment.
                StatementKind::LetIndex(variable, index) => {
                    let again = self.declared.insert(*variable, (depth, index.clone())).is_some();
                    *self.assigned.entry(*variable).or_default() += 2 * u32::from(again);
                }
                StatementKind::AssignIndex(variable, _) | StatementKind::Assign(variable, _) => {
                    *self.assigned.entry(*variable).or_default() += 1;
                }
                _ => {}
            }
            let inside = match line.kind {
                StatementKind::For { .. } | StatementKind::While(..) => depth + 1,
                _ => depth,
            };
            line.kind.lists().into_iter().for_each(|list| self.list(list, inside));
        }
    }

    /// The induction variables of a loop with so many loops around it.
    pub(super) fn of(&self, atoms: &Atoms, depth: usize, body: &[Line]) -> Vec<Counter> {
        if continues(body) {
            return Vec::new();
        }
        let one = |line: &Line| {
            let StatementKind::AssignIndex(variable, index) = &line.kind else { return None };
            let (declared, start) = self.declared.get(variable)?;
            if *declared != depth || self.assigned.get(variable) != Some(&1) {
                return None;
            }
            let own = |id: &AtomId| matches!(atoms.atom(*id), Atom::Variable(own, _) if own == variable);
            let atom = index.atoms().find(own)?;
            let step = index.sub(&Index::atom(atom)).ok()?;
            invariant(atoms, &step).then(|| Counter {
                atom,
                start: start.clone(),
                step,
                end: None,
                reversed: false,
            })
        };
        body.iter().filter_map(one).collect()
    }
}

/// Whether an index is the same in every thread, always.
fn invariant(atoms: &Atoms, index: &Index) -> bool {
    index.atoms().all(|id| match atoms.atom(id) {
        Atom::Special(special, _) => matches!(special, Special::BlockDim | Special::GridDim),
        Atom::Dim { .. } | Atom::Stride { .. } | Atom::Argument(_) => true,
        Atom::Variable(..) => {
            atoms.facts(id).definition.as_ref().is_some_and(|index| invariant(atoms, index))
        }
        compound => compound.parts().all(|part| invariant(atoms, part)),
    })
}

/// Whether a round may end before its last statement and be followed by another one.
fn continues(list: &[Line]) -> bool {
    list.iter().any(|line| match &line.kind {
        StatementKind::Continue => true,
        StatementKind::If(_, then, otherwise) => continues(then) || continues(otherwise),
        _ => false,
    })
}
