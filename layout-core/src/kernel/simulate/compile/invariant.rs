//! What a loop changes, and the index arithmetic that it does not change: computed before it.
//!
//! Law: an instruction put before a loop has no effect but its register, and cannot find a mistake.

use super::super::SimulateError;
use super::Compiler;
use crate::kernel::index::{Atom, AtomId, Index, VarId};
use crate::kernel::ir::BinaryOp;
use crate::kernel::program::{
    Access, Comparison, MatrixSource, Operation, Signal, Statement, StatementKind, Value,
};
use std::collections::BTreeSet;

/// Something that a statement list holds.
pub(super) enum Item<'p> {
    /// An index that is evaluated.
    Index(&'p Index),
    /// A comparison of indices.
    Comparison(&'p Comparison),
    /// A variable that is declared or assigned.
    Changes(VarId),
    /// A statement.
    Statement,
}

type Body = [Statement<Access, Operation>];

/// Visits everything in a statement list, nested lists included.
pub(super) fn walk<'p>(body: &'p Body, visit: &mut impl FnMut(Item<'p>)) {
    for statement in body {
        visit(Item::Statement);
        match &statement.kind {
            StatementKind::Let(variable, value) => {
                visit(Item::Changes(*variable));
                value.iter().for_each(|value| walk_value(value, visit));
            }
            StatementKind::Assign(variable, value) => {
                visit(Item::Changes(*variable));
                walk_value(value, visit);
            }
            StatementKind::LetIndex(variable, index) | StatementKind::AssignIndex(variable, index) => {
                visit(Item::Changes(*variable));
                visit(Item::Index(index));
            }
            StatementKind::Store(access, value) => {
                walk_access(access, visit);
                walk_value(value, visit);
            }
            StatementKind::Operation(operation) => walk_operation(operation, visit),
            StatementKind::Signal(signal) => walk_signal(signal, visit),
            StatementKind::Collective(variable, _, parts) => {
                visit(Item::Changes(*variable));
                parts.iter().for_each(|part| walk_value(part, visit));
            }
            StatementKind::Atomic { target, value, old, .. } => {
                old.iter().for_each(|variable| visit(Item::Changes(*variable)));
                walk_access(target, visit);
                walk_value(value, visit);
            }
            StatementKind::For { variable, start, end, body, .. } => {
                visit(Item::Changes(*variable));
                visit(Item::Index(start));
                visit(Item::Index(end));
                walk(body, visit);
            }
            StatementKind::While(condition, body) => {
                walk_value(condition, visit);
                walk(body, visit);
            }
            StatementKind::If(condition, then, otherwise) => {
                walk_value(condition, visit);
                walk(then, visit);
                walk(otherwise, visit);
            }
            StatementKind::Break | StatementKind::Continue | StatementKind::Barrier(_) => {}
        }
    }
}

fn walk_operation<'p>(operation: &'p Operation, visit: &mut impl FnMut(Item<'p>)) {
    match operation {
        Operation::Move { destination, source } | Operation::AsyncCopy { destination, source } => {
            walk_access(destination, visit);
            walk_access(source, visit);
        }
        Operation::TensorLoad(load) => {
            walk_access(&load.destination, visit);
            load.coordinates.iter().for_each(|at| visit(Item::Index(at)));
            visit(Item::Index(&load.barrier.index));
        }
        Operation::TensorStore(store) => {
            walk_access(&store.source, visit);
            store.coordinates.iter().for_each(|at| visit(Item::Index(at)));
        }
        Operation::Wgmma(product) => {
            walk_access(&product.accumulator, visit);
            match &product.a {
                MatrixSource::Shared(matrix) => walk_access(&matrix.first, visit),
                MatrixSource::Registers(parts) => parts.iter().for_each(|part| walk_access(part, visit)),
            }
            walk_access(&product.b.first, visit);
            walk_value(&product.accumulate, visit);
        }
        Operation::Mma(mma) => {
            [&mma.accumulator, &mma.left, &mma.right].into_iter().for_each(|part| walk_access(part, visit));
        }
        Operation::RemoteStore(store) => {
            walk_access(&store.destination, visit);
            walk_access(&store.source, visit);
            visit(Item::Index(&store.barrier.index));
        }
        Operation::LoadMatrix(load) => {
            walk_access(&load.destination, visit);
            walk_access(&load.source, visit);
        }
        Operation::StoreMatrix(store) => {
            walk_access(&store.destination, visit);
            store.values.iter().for_each(|value| walk_value(value, visit));
        }
    }
}

fn walk_signal<'p>(signal: &'p Signal, visit: &mut impl FnMut(Item<'p>)) {
    let barrier = signal.barrier().map(|barrier| &barrier.index);
    barrier.into_iter().chain(signal.index()).for_each(|index| visit(Item::Index(index)));
}

fn walk_access<'p>(access: &'p Access, visit: &mut impl FnMut(Item<'p>)) {
    visit(Item::Index(&access.index));
    access.mask.iter().for_each(|comparison| visit(Item::Comparison(comparison)));
}

fn walk_value<'p>(value: &'p Value<Access>, visit: &mut impl FnMut(Item<'p>)) {
    match value {
        Value::Constant(_) | Value::Argument(..) | Value::Variable(_) => {}
        Value::Index(index, _) => visit(Item::Index(index)),
        Value::Compare(comparison) => visit(Item::Comparison(comparison)),
        Value::Load(access) => walk_access(access, visit),
        Value::Unary(_, a) | Value::Cast(_, a) => walk_value(a, visit),
        Value::Binary(_, a, b) => {
            walk_value(a, visit);
            walk_value(b, visit);
        }
        Value::Math(_, values) => values.iter().for_each(|value| walk_value(value, visit)),
        Value::Select(a, b, c) => {
            walk_value(a, visit);
            walk_value(b, visit);
            walk_value(c, visit);
        }
    }
}

/// Whether a list holds `break` or `continue` of the loop around it.
pub(super) fn leaves(body: &Body) -> bool {
    body.iter().any(|statement| match &statement.kind {
        StatementKind::Break | StatementKind::Continue => true,
        StatementKind::If(_, then, otherwise) => leaves(then) || leaves(otherwise),
        StatementKind::Let(..)
        | StatementKind::LetIndex(..)
        | StatementKind::Assign(..)
        | StatementKind::AssignIndex(..)
        | StatementKind::Store(..)
        | StatementKind::Operation(_)
        | StatementKind::Signal(_)
        | StatementKind::For { .. }
        | StatementKind::While(..)
        | StatementKind::Barrier(_)
        | StatementKind::Collective(..)
        | StatementKind::Atomic { .. } => false,
    })
}

/// The variables that a loop with this body changes, its own included.
pub(super) fn changes(variable: Option<VarId>, body: &Body) -> BTreeSet<VarId> {
    let mut changed: BTreeSet<VarId> = variable.into_iter().collect();
    walk(body, &mut |item| {
        if let Item::Changes(variable) = item {
            changed.insert(variable);
        }
    });
    changed
}

impl Compiler<'_> {
    /// Enters a loop: computes what it does not change, forgets what it changes. `self.loops` has one more level then.
    pub(super) fn enter_loop(&mut self, changed: BTreeSet<VarId>, body: &Body) -> Result<(), SimulateError> {
        let (mut indices, mut comparisons) = (Vec::new(), Vec::new());
        walk(body, &mut |item| match item {
            Item::Index(index) => indices.push(index),
            Item::Comparison(comparison) => {
                comparisons.push(comparison);
                indices.push(&comparison.left);
                indices.push(&comparison.right);
            }
            Item::Changes(_) | Item::Statement => {}
        });
        self.loops.push(changed);
        let level = self.loops.len() - 1;
        for index in indices {
            self.hoist(index, level)?;
        }
        for comparison in comparisons {
            let sides = [&comparison.left, &comparison.right];
            if sides.into_iter().all(|side| self.split(side, level).0.terms().is_empty() && self.pure(side)) {
                let _known = self.comparison(comparison)?;
            }
        }
        for variable in self.loops[level].clone() {
            self.cache.forget(variable);
        }
        Ok(())
    }

    /// Computes the parts of an index that loop `level` does not change.
    fn hoist(&mut self, index: &Index, level: usize) -> Result<(), SimulateError> {
        let (variant, invariant) = self.split(index, level);
        if !invariant.terms().is_empty() && self.pure(&invariant) {
            self.index(&invariant)?;
        }
        let tables = self.tables;
        for atom in variant.atoms() {
            for part in tables.atoms.atom(atom).parts() {
                self.hoist(part, level)?;
            }
        }
        Ok(())
    }

    /// Whether a value may touch memory or find a mistake.
    pub(super) fn has_effect(&self, value: &Value<Access>) -> bool {
        match value {
            Value::Constant(_) | Value::Argument(..) => false,
            Value::Variable(id) => {
                let binding = self.variables.get(id.0 as usize).copied().flatten();
                binding.is_none_or(|binding| binding.slot.is_some())
            }
            Value::Index(index, _) => !self.pure(index),
            Value::Compare(comparison) => !(self.pure(&comparison.left) && self.pure(&comparison.right)),
            Value::Load(_) => true,
            Value::Unary(_, a) | Value::Cast(_, a) => self.has_effect(a),
            Value::Binary(op, a, b) => {
                matches!(op, BinaryOp::Div | BinaryOp::Rem) || self.has_effect(a) || self.has_effect(b)
            }
            Value::Math(_, values) => values.iter().any(|value| self.has_effect(value)),
            Value::Select(a, b, c) => self.has_effect(a) || self.has_effect(b) || self.has_effect(c),
        }
    }

    /// Whether an index can be computed here without finding a mistake: its variables are declared and initialised,
    /// and it divides by numbers only.
    fn pure(&self, index: &Index) -> bool {
        index.atoms().all(|atom| self.pure_atom(atom))
    }

    fn pure_atom(&self, id: AtomId) -> bool {
        if id.0 as usize >= self.dependencies.len() {
            return false;
        }
        match self.tables.atoms.atom(id) {
            Atom::Variable(variable, _) => {
                let binding = self.variables.get(variable.0 as usize).copied().flatten();
                binding.is_some_and(|binding| binding.slot.is_none())
            }
            Atom::Div(a, b) | Atom::Rem(a, b) => {
                self.pure(a) && b.as_constant().or_else(|| self.fixed(b)).is_some_and(|divisor| divisor != 0)
            }
            other => other.parts().all(|part| self.pure(part)),
        }
    }

    /// The value of an index that is made of dimensions and numbers.
    fn fixed(&self, index: &Index) -> Option<i64> {
        index.evaluate(&mut |id| match self.tables.atoms.atom(id) {
            Atom::Dim { dim, divisor } => {
                self.bound.dims.get(*dim as usize).map(|value| value / (*divisor).max(1))
            }
            _ => None,
        })
    }
}
