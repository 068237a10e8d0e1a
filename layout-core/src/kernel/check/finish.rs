//! What is left after lowering: names that nothing reads go, and the function takes only what it uses.

use super::lower::Out;
use crate::kernel::index::{Atom, AtomId, Atoms, Index, VarId};
use crate::kernel::launch::{KernelParameter, PlanArgument, PlanArgumentKind};
use crate::kernel::program::{
    Access, BarrierAt, Mask, MatrixSource, Mma, Operation, Pad, PlaceId, Signal, Space, Statement,
    StatementKind, Tables, Value,
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

    fn mask(&mut self, atoms: &Atoms, mask: &Mask) {
        for comparison in mask {
            self.index(atoms, &comparison.left);
            self.index(atoms, &comparison.right);
        }
    }

    fn access(&mut self, tables: &Tables, access: &Access) {
        self.touched.insert(access.place.0);
        self.index(&tables.atoms, &access.index);
        self.mask(&tables.atoms, &access.mask);
        if let (Pad::Argument(number, _), false) = (access.pad, access.mask.is_empty()) {
            self.arguments.insert(number);
        }
        match access.pointer {
            Some(pointer) => {
                self.variables.insert(pointer);
            }
            None => self.place(tables, access.place),
        }
    }

    fn place(&mut self, tables: &Tables, place: PlaceId) {
        self.places.insert(place.0);
        if let Space::Remote { of, rank } = tables.place(place).space {
            self.places.insert(of.0);
            self.variables.insert(rank);
        }
    }

    fn value(&mut self, tables: &Tables, value: &Value<Access>) {
        match value {
            Value::Constant(_) => {}
            Value::Argument(number, _) => {
                self.arguments.insert(*number);
            }
            Value::Variable(var) => {
                self.variables.insert(*var);
            }
            Value::Index(index, _) => self.index(&tables.atoms, index),
            Value::Compare(comparison) => self.mask(&tables.atoms, &vec![comparison.clone()]),
            Value::Load(access) => self.access(tables, access),
            Value::Unary(_, operand) | Value::Cast(_, operand) => self.value(tables, operand),
            Value::Binary(_, left, right) => {
                self.value(tables, left);
                self.value(tables, right);
            }
            Value::Math(_, parts) => parts.iter().for_each(|part| self.value(tables, part)),
            Value::Select(condition, then, otherwise) => {
                self.value(tables, condition);
                self.value(tables, then);
                self.value(tables, otherwise);
            }
        }
    }

    fn barrier(&mut self, tables: &Tables, barrier: &BarrierAt) {
        self.index(&tables.atoms, &barrier.index);
        self.places.insert(barrier.place.0);
    }

    fn signal(&mut self, tables: &Tables, signal: &Signal) {
        signal.barrier().into_iter().for_each(|barrier| self.barrier(tables, barrier));
        signal.index().into_iter().for_each(|index| self.index(&tables.atoms, index));
        if let Signal::PrefetchMap(map) = signal {
            self.maps.insert(*map);
        }
    }

    fn operation(&mut self, tables: &Tables, operation: &Operation) {
        match operation {
            Operation::Move { destination, source } | Operation::AsyncCopy { destination, source } => {
                self.access(tables, destination);
                self.access(tables, source);
            }
            Operation::TensorLoad(load) => {
                self.maps.insert(load.map);
                self.access(tables, &load.destination);
                load.coordinates.iter().for_each(|at| self.index(&tables.atoms, at));
                self.barrier(tables, &load.barrier);
            }
            Operation::TensorStore(store) => {
                self.maps.insert(store.map);
                self.access(tables, &store.source);
                store.coordinates.iter().for_each(|at| self.index(&tables.atoms, at));
            }
            Operation::Wgmma(product) => {
                self.access(tables, &product.accumulator);
                match &product.a {
                    MatrixSource::Shared(matrix) => self.access(tables, &matrix.first),
                    MatrixSource::Registers(parts) => parts.iter().for_each(|part| self.access(tables, part)),
                }
                self.access(tables, &product.b.first);
                self.value(tables, &product.accumulate);
            }
            Operation::Mma(mma) => {
                let Mma { accumulator, left, right, .. } = &**mma;
                [accumulator, left, right].into_iter().for_each(|part| self.access(tables, part));
            }
            Operation::LoadMatrix(load) => {
                self.access(tables, &load.destination);
                self.access(tables, &load.source);
            }
            Operation::RemoteStore(store) => {
                self.access(tables, &store.destination);
                if let Space::Remote { rank, .. } = tables.place(store.destination.place).space {
                    self.variables.insert(rank);
                }
                self.access(tables, &store.source);
                self.barrier(tables, &store.barrier);
            }
            Operation::StoreMatrix(store) => {
                self.access(tables, &store.destination);
                store.values.iter().for_each(|value| self.value(tables, value));
            }
        }
    }

    pub(super) fn statements(&mut self, tables: &Tables, statements: &Out) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Let(_, value) => value.iter().for_each(|value| self.value(tables, value)),
                StatementKind::LetIndex(var, index) => {
                    self.index(&tables.atoms, index);
                    if let crate::kernel::program::VariableKind::Pointer(place) = tables.variable(*var).kind {
                        self.place(tables, place);
                    }
                }
                StatementKind::AssignIndex(_, index) => self.index(&tables.atoms, index),
                StatementKind::Assign(_, value) => self.value(tables, value),
                StatementKind::Store(access, value) => {
                    self.access(tables, access);
                    self.value(tables, value);
                }
                StatementKind::Operation(operation) => self.operation(tables, operation),
                StatementKind::Signal(signal) => self.signal(tables, signal),
                StatementKind::Collective(_, _, parts) => {
                    parts.iter().for_each(|part| self.value(tables, part));
                }
                StatementKind::Atomic { target, value, .. } => {
                    self.access(tables, target);
                    self.value(tables, value);
                }
                StatementKind::For { start, end, body, .. } => {
                    self.index(&tables.atoms, start);
                    self.index(&tables.atoms, end);
                    self.statements(tables, body);
                }
                StatementKind::While(condition, body) => {
                    self.value(tables, condition);
                    self.statements(tables, body);
                }
                StatementKind::If(condition, then, otherwise) => {
                    self.value(tables, condition);
                    self.statements(tables, then);
                    self.statements(tables, otherwise);
                }
                StatementKind::Break | StatementKind::Continue | StatementKind::Barrier(_) => {}
            }
        }
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
        _ => true,
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
            _ => false,
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
    parameters.extend(dims.into_iter().map(KernelParameter::Dim));
    parameters.extend(strides.into_iter().map(|(argument, mode)| KernelParameter::Stride { argument, mode }));
    parameters
}
