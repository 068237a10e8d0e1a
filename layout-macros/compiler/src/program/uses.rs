//! The names that a piece of code uses: variables, places, arguments, tensor maps.
//!
//! Law: every name that occurs in the text of the code is included, also one that occurs through another name: a
//! pointer's place, the rank of another block's memory.

use super::{
    Access, Operation, Part, Participants, PlaceId, Space, Statement, StatementKind, Tables, VariableKind,
    walk,
};
use crate::index::{Atom, AtomId, Atoms, Index, VarId};
use std::collections::BTreeSet;

/// What a piece of code reads.
#[derive(Default)]
pub struct Uses {
    /// Variables.
    pub variables: BTreeSet<VarId>,
    /// Atoms without parts.
    pub leaves: BTreeSet<AtomId>,
    /// Places, by name or by a pointer that is declared.
    pub places: BTreeSet<u32>,
    /// Places that elements are read from or written to.
    pub touched: BTreeSet<u32>,
    /// Scalar arguments.
    pub arguments: BTreeSet<u32>,
    /// Tensor maps.
    pub maps: BTreeSet<u32>,
    /// Whether there is a barrier of the grid.
    pub grid_barrier: bool,
    /// Whether a GPU tests an assertion.
    pub asserts: bool,
}

impl Uses {
    /// What an index reads.
    pub fn index(&mut self, atoms: &Atoms, index: &Index) {
        for id in index.atoms() {
            match atoms.atom(id) {
                Atom::Variable(var, _) => {
                    self.variables.insert(*var);
                    self.leaves.insert(id);
                }
                Atom::Special(..) | Atom::Dim { .. } | Atom::Stride { .. } | Atom::Argument(_) => {
                    self.leaves.insert(id);
                }
                compound => compound.parts().for_each(|part| self.index(atoms, part)),
            }
        }
    }

    fn place(&mut self, tables: &Tables, place: PlaceId) {
        self.places.insert(place.0);
        if let Space::Remote { of, rank } = tables.place(place).space {
            self.places.insert(of.0);
            self.variables.insert(rank);
        }
    }

    fn part(&mut self, tables: &Tables, part: Part<'_>) {
        match part {
            Part::Index(index) => self.index(&tables.atoms, index),
            Part::Bound(var, index) => {
                self.index(&tables.atoms, index);
                if let VariableKind::Pointer(place) = tables.variable(var).kind {
                    self.place(tables, place);
                }
            }
            Part::Read(access) | Part::Write(access) => {
                self.touched.insert(access.place.0);
                self.variables.extend(access.pointer);
                // The text of a store to another block names the rank, also where a pointer says the place.
                if let Space::Remote { rank, .. } = tables.place(access.place).space {
                    self.variables.insert(rank);
                }
                if access.pointer.is_none() {
                    self.place(tables, access.place);
                }
            }
            Part::Variable(var) => drop(self.variables.insert(var)),
            Part::Argument(number) => drop(self.arguments.insert(number)),
            Part::Barrier(place) => drop(self.places.insert(place.0)),
            Part::Map(map) => drop(self.maps.insert(map)),
            // What they hold are parts of their own.
            Part::Statement(statement) => {
                self.grid_barrier |= matches!(statement.kind, StatementKind::Barrier(Participants::Grid));
                self.asserts |= matches!(statement.kind, StatementKind::Assert { debug: false, .. });
            }
            Part::Compare(_) => {}
            Part::Hint(_) | Part::Assigned(_) | Part::Declared(_) | Part::Word(..) | Part::Quotient(..) => {}
        }
    }

    /// What a statement reads, without the lists inside of it.
    pub fn own(&mut self, tables: &Tables, statement: &Statement<Access, Operation>) {
        walk::own(statement, &mut |part| self.part(tables, part));
    }

    /// What statements read, those of nested lists included.
    pub fn statements(&mut self, tables: &Tables, body: &[Statement<Access, Operation>]) {
        walk::statements(body, &mut |part| self.part(tables, part));
    }
}
