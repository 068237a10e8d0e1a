//! Order of evaluation: an operand is read where it occurs.
//!
//! A [`StaticValue`] is not code yet: it names variables and elements, which the code reads at its final use. Law:
//! between the occurrence of an expression and its use, nothing that it reads changes. So if a later operand changes
//! something, earlier operands that read it are copied to temporaries first, and a `let` binds a copy.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Failed, Outcome, TileStatement};
use super::expression::leaves;
use super::tile::TileAccess;
use crate::index::{Atom, AtomId, Index, IndexOverflow, VarId};
use crate::ir::{Block, ExprId, Seen};
use crate::origin::Origin;
use crate::program::{BarrierAt, Comparison, PlaceId, Space, StatementKind, Value};
use crate::view::View;
use std::collections::HashSet;

/// The variables and memory that some code reads, or changes.
#[derive(Debug, Default)]
struct Touched {
    variables: HashSet<VarId>,
    places: HashSet<PlaceId>,
    /// Memory that other threads or asynchronous work may access: waits and barriers let it change.
    memory: bool,
}

impl Touched {
    fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.places.is_empty() && !self.memory
    }

    /// Whether what is changed here is read there.
    fn meets(&self, reads: &Touched) -> bool {
        !self.variables.is_disjoint(&reads.variables)
            || !self.places.is_disjoint(&reads.places)
            || self.memory && reads.memory
    }
}

impl Evaluator<'_> {
    /// Evaluates all from left to right, so that all their errors are reported.
    pub(super) fn exprs(&mut self, ids: &[ExprId]) -> Outcome<Vec<StaticValue>> {
        let mut values: Vec<Outcome<StaticValue>> = Vec::with_capacity(ids.len());
        for id in ids {
            let before = self.out.len();
            let value = self.expr(*id);
            self.keep(&mut values, before);
            values.push(value);
            if self.out.len() > before && leaves(&self.out) {
                // What is behind it is never reached.
                return Err(Failed);
            }
        }
        values.into_iter().collect()
    }

    /// Names, ahead of statement `before`, those of `values` that the statements from there on change.
    pub(super) fn keep(&mut self, values: &mut [Outcome<StaticValue>], before: usize) {
        let mut changes = Touched::default();
        self.out[before..].iter().for_each(|statement| self.changes(statement, &mut changes));
        if changes.is_empty() {
            return;
        }
        let later = self.out.split_off(before);
        for value in values.iter_mut().flatten() {
            let mut reads = Touched::default();
            self.reads(value, &mut reads);
            if changes.meets(&reads) {
                let origin = later.first().map_or(Origin(0), |statement| statement.origin);
                *value = self.hold("before", std::mem::replace(value, StaticValue::Unknown), origin);
            }
        }
        self.out.extend(later);
    }

    /// The datum, whose indices do not name variables that may be assigned.
    pub(super) fn settled(&mut self, index: &Index, origin: Origin) -> Index {
        let mut assigned = Vec::new();
        self.assigned_atoms(index, &mut assigned);
        if assigned.is_empty() {
            return index.clone();
        }
        let copies: Vec<(AtomId, Index)> =
            assigned.into_iter().map(|atom| (atom, self.copied(atom, origin))).collect();
        match self.tables.atoms.replace(index, &copies) {
            Ok(replaced) => replaced,
            Err(IndexOverflow) => self.unnamed_index("before", index, origin),
        }
    }

    /// The view, likewise: its address and its edges stay as they were where it was made.
    pub(super) fn settled_view(&mut self, mut view: View, origin: Origin) -> View {
        let mut assigned = Vec::new();
        view.indices(&mut |index| self.assigned_atoms(index, &mut assigned));
        if assigned.is_empty() {
            return view;
        }
        let copies: Vec<(AtomId, Index)> =
            assigned.into_iter().map(|atom| (atom, self.copied(atom, origin))).collect();
        let atoms = &mut self.tables.atoms;
        let mut failed = false;
        view.map_indices(&mut |index| match atoms.replace(index, &copies) {
            Ok(replaced) => *index = replaced,
            Err(IndexOverflow) => failed = true,
        });
        if failed {
            let _ = self.fail::<()>(origin, "an index of this view leaves the range of 64 bits");
        }
        view
    }

    /// A name for the present value of a variable that may be assigned.
    fn copied(&mut self, atom: AtomId, origin: Origin) -> Index {
        let name = match self.tables.atoms.atom(atom) {
            Atom::Variable(var, _) => self.tables.variable(*var).name.clone(),
            _ => "before".to_owned(),
        };
        self.name_index(&name, &Index::atom(atom), origin)
    }

    /// The atoms of an index, also inside of others, that represent variables that may be assigned.
    fn assigned_atoms(&self, index: &Index, out: &mut Vec<AtomId>) {
        self.tables.atoms.each(index, &mut |id| {
            if self.tables.atoms.may_be_assigned(id) && !out.contains(&id) {
                out.push(id);
            }
        });
    }

    fn reads(&self, datum: &StaticValue, out: &mut Touched) {
        match datum {
            StaticValue::Index(index) => self.reads_index(index, out),
            StaticValue::Scalar(value, _) => self.reads_value(value, out),
            StaticValue::Tuple(parts) | StaticValue::Array(parts) => {
                parts.iter().for_each(|part| self.reads(part, out))
            }
            StaticValue::View(view) => view.indices(&mut |index| self.reads_index(index, out)),
            StaticValue::Barrier(BarrierAt { index, .. }) => self.reads_index(index, out),
            // A state of a pipeline is what its variables are when it is asked; a closure likewise sees the names around it.
            StaticValue::Unit
            | StaticValue::Function(..)
            | StaticValue::Borrowed(_)
            | StaticValue::Float(_)
            | StaticValue::Bool(_)
            | StaticValue::Layout(_)
            | StaticValue::Barriers(..)
            | StaticValue::Pipeline(..)
            | StaticValue::TensorCore(_)
            | StaticValue::Unknown => {}
        }
    }

    fn reads_index(&self, index: &Index, out: &mut Touched) {
        self.tables.atoms.each(index, &mut |id| {
            if let Atom::Variable(var, _) = self.tables.atoms.atom(id) {
                out.variables.insert(*var);
            }
        });
    }

    fn reads_value(&self, value: &Value<TileAccess>, out: &mut Touched) {
        match value {
            Value::Constant(_) | Value::Argument(..) => {}
            Value::Variable(var) => {
                out.variables.insert(*var);
            }
            Value::Index(index, _) => self.reads_index(index, out),
            Value::Compare(Comparison { left, right, .. }) => {
                self.reads_index(left, out);
                self.reads_index(right, out);
            }
            Value::Load(access) => {
                access.coordinates.iter().for_each(|index| self.reads_index(index, out));
                access.view.indices(&mut |index| self.reads_index(index, out));
                self.place_of(&access.view, out);
                let place = self.tables.place(access.view.place);
                out.memory |= place.mutable && place.space != Space::Local;
            }
            Value::Unary(_, operand) | Value::Cast(_, operand) => self.reads_value(operand, out),
            Value::Binary(_, left, right) => {
                self.reads_value(left, out);
                self.reads_value(right, out);
            }
            Value::Math(_, parts) => parts.iter().for_each(|part| self.reads_value(part, out)),
            Value::Select(condition, then, otherwise) => {
                [condition, then, otherwise].into_iter().for_each(|part| self.reads_value(part, out));
            }
        }
    }

    /// The place of a view; another block's memory is the same kind of place as the own.
    fn place_of(&self, view: &View, out: &mut Touched) {
        out.places.insert(self.tables.memory(view.place));
        if let Space::Remote { of, .. } = self.tables.place(view.place).space {
            out.places.insert(self.tables.memory(of));
        }
    }

    fn changes(&self, statement: &TileStatement, out: &mut Touched) {
        match &statement.kind {
            StatementKind::Let(..)
            | StatementKind::LetIndex(..)
            | StatementKind::Collective(..)
            | StatementKind::Assume(_)
            | StatementKind::Print(_)
            | StatementKind::Assert { .. }
            | StatementKind::Break
            | StatementKind::Continue => {}
            StatementKind::Assign(var, _) | StatementKind::AssignIndex(var, _) => {
                out.variables.insert(*var);
            }
            StatementKind::Store(access, _) => self.place_of(&access.view, out),
            // What it reads may say that another thread has written.
            StatementKind::Atomic { target, .. } => {
                self.place_of(&target.view, out);
                out.memory = true;
            }
            StatementKind::Operation(operation) => {
                operation.written().into_iter().for_each(|view| self.place_of(view, out));
            }
            StatementKind::For { body, .. } | StatementKind::While(_, body) => {
                body.iter().for_each(|one| self.changes(one, out));
            }
            StatementKind::If(_, then, otherwise) => {
                then.iter().chain(otherwise).for_each(|one| self.changes(one, out));
            }
            StatementKind::Barrier(_) | StatementKind::SetMaxRegisters { .. } | StatementKind::Signal(_) => {
                out.memory = true
            }
        }
    }

    /// The mutable index variables that a condition and blocks assign.
    pub(super) fn assigned_indices(&self, condition: Option<ExprId>, blocks: &[&Block]) -> Vec<VarId> {
        let mut locals = Vec::new();
        let mut see = |seen: Seen<'_>| {
            locals.extend(seen.changed().and_then(|place| self.named(place)).map(|(local, _)| local));
            true
        };
        condition.iter().for_each(|id| self.kernel.each_statement_in(*id, &mut see));
        blocks.iter().for_each(|block| self.kernel.each_statement(block, &mut see));
        locals.extend(&self.captured);
        let mut vars = Vec::new();
        for local in locals {
            self.bindings.get(&local).into_iter().for_each(|binding| binding.indices(&mut vars));
        }
        // `state.advance()` assigns too.
        vars.extend(self.bounded.keys());
        vars.sort_unstable();
        vars.dedup();
        vars
    }
}
