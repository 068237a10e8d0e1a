//! Dead code elimination after lowering. Names without a read are removed, and the CUDA function takes only the
//! arguments that it uses.

use super::lower::Out;
use crate::index::{Atom, Size, VarId};
use crate::launch::{KernelParameter, PlanArgument, PlanArgumentKind};
use crate::program::{Space, Statement, StatementKind, Tables, Uses};
use std::collections::BTreeSet;

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
        | StatementKind::Assume(_)
        | StatementKind::Print(_)
        | StatementKind::Assert { .. }
        | StatementKind::Signal(_) => true,
    });
    let mut changed = body.len() != before;
    for Statement { kind, .. } in body {
        if let StatementKind::Atomic { old, .. } = kind {
            *old = old.filter(|var| used.contains(var));
        }
        for list in kind.lists_mut() {
            changed |= remove(list, used);
        }
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
    parameters.extend(uses.asserts.then_some(KernelParameter::Failure));
    parameters.extend(dims.into_iter().map(KernelParameter::Dim));
    parameters.extend(strides.into_iter().map(|(argument, mode)| KernelParameter::Stride { argument, mode }));
    parameters
}

/// The dimensions and index arguments that something is divided by, and that may be 0: of every index that there is, lowered ones too.
pub(super) fn divisors(tables: &Tables) -> Vec<Size> {
    let mut all = BTreeSet::new();
    for (_, facts) in tables.atoms.iter() {
        if let Atom::Div(_, by) | Atom::Rem(_, by) = &facts.atom
            && tables.atoms.range(by).has_zero()
        {
            all.extend(tables.atoms.sizes(by).into_iter().flatten());
        }
    }
    all.into_iter().collect()
}
