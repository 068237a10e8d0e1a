//! After lowering: names that nothing reads are removed, and the function takes only the arguments that it uses.

use super::lower::Out;
use crate::kernel::index::{Atom, AtomId, Atoms, Index, VarId};
use crate::kernel::launch::{KernelParameter, PlanArgument, PlanArgumentKind};
use crate::kernel::program::{
    Access, Operation, Part, Participants, PlaceId, Space, Statement, StatementKind, Tables, VariableKind,
    walk,
};
use std::collections::BTreeSet;

/// What a piece of code reads.
#[derive(Default)]
pub(super) struct Uses {
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
}

impl Uses {
    pub(super) fn index(&mut self, atoms: &Atoms, index: &Index) {
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
            }
            Part::Compare(_) => {}
            Part::Hint(_) | Part::Assigned(_) | Part::Declared(_) | Part::Word(_) => {}
        }
    }

    pub(super) fn statement(&mut self, tables: &Tables, statement: &Statement<Access, Operation>) {
        walk::statement(statement, &mut |part| self.part(tables, part));
    }

    fn statements(&mut self, tables: &Tables, body: &Out) {
        walk::statements(body, &mut |part| self.part(tables, part));
    }
}

/// Removes variables that nothing reads, until none is left. Values have no effect, so nothing else changes.
pub(super) fn prune(tables: &Tables, body: &mut Out) {
    loop {
        let mut uses = Uses::default();
        uses.statements(tables, body);
        if !remove(body, &uses.variables) {
            return;
        }
    }
}

fn remove(body: &mut Out, used: &BTreeSet<VarId>) -> bool {
    let before = body.len();
    body.retain(|statement| match &statement.kind {
        StatementKind::Let(var, _)
        | StatementKind::LetIndex(var, _)
        | StatementKind::Assign(var, _)
        | StatementKind::AssignIndex(var, _)
        | StatementKind::Collective(var, ..) => used.contains(var),
        StatementKind::If(_, then, otherwise) => !(then.is_empty() && otherwise.is_empty()),
        StatementKind::For { body, .. } => !body.is_empty(),
        StatementKind::Store(..)
        | StatementKind::Operation(_)
        | StatementKind::While(..)
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Barrier(_)
        | StatementKind::Atomic { .. }
        | StatementKind::SetMaxRegisters { .. }
        | StatementKind::Signal(_) => true,
    });
    let mut changed = body.len() != before;
    for Statement { kind, .. } in body {
        changed |= match kind {
            StatementKind::For { body, .. } | StatementKind::While(_, body) => remove(body, used),
            StatementKind::If(_, then, otherwise) => remove(then, used) | remove(otherwise, used),
            StatementKind::Atomic { old, .. } => {
                *old = old.filter(|var| used.contains(var));
                false
            }
            StatementKind::Let(..)
            | StatementKind::LetIndex(..)
            | StatementKind::Assign(..)
            | StatementKind::AssignIndex(..)
            | StatementKind::Store(..)
            | StatementKind::Operation(_)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Barrier(_)
            | StatementKind::Collective(..)
            | StatementKind::SetMaxRegisters { .. }
            | StatementKind::Signal(_) => false,
        };
    }
    changed
}

/// What the CUDA function takes: the arguments that it uses in order, then dimensions, then strides.
pub(super) fn parameters(tables: &Tables, arguments: &[PlanArgument], body: &Out) -> Vec<KernelParameter> {
    let mut uses = Uses::default();
    uses.statements(tables, body);
    let mut dims = BTreeSet::new();
    let mut strides = BTreeSet::new();
    let mut indices = BTreeSet::new();
    for id in &uses.leaves {
        match tables.atoms.atom(*id) {
            Atom::Dim { dim, .. } => drop(dims.insert(*dim)),
            Atom::Stride { argument, mode, .. } => drop(strides.insert((*argument, *mode))),
            Atom::Argument(number) => drop(indices.insert(*number)),
            _ => {}
        }
    }
    let global = |number: u32| {
        uses.places.iter().any(|place| tables.places[*place as usize].space == Space::Global(number))
    };
    let mut parameters = Vec::new();
    for (number, argument) in (0u32..).zip(arguments) {
        match argument.kind {
            PlanArgumentKind::Tensor { .. } if global(number) => {
                parameters.push(KernelParameter::Pointer(number));
            }
            PlanArgumentKind::Scalar(_) if uses.arguments.contains(&number) => {
                parameters.push(KernelParameter::Scalar(number));
            }
            PlanArgumentKind::Index if indices.contains(&number) => {
                parameters.push(KernelParameter::Index(number));
            }
            _ => {}
        }
    }
    parameters.extend(uses.maps.iter().map(|map| KernelParameter::TensorMap(*map)));
    parameters.extend(uses.grid_barrier.then_some(KernelParameter::GridCounter));
    parameters.extend(dims.into_iter().map(KernelParameter::Dim));
    parameters.extend(strides.into_iter().map(|(argument, mode)| KernelParameter::Stride { argument, mode }));
    parameters
}
