//! Which values are the same in all threads of a block, or of the grid (uniformity analysis), and which barriers are not reached by
//! all of them.
//!
//! Law: what is assigned a value that differs between threads, or where only some of them come, is varying. A loop that some threads
//! leave earlier is a place where only some of them come.

use super::sites::Line;
use crate::index::{Atom, Atoms, Index, VarId};
use crate::ir::Special;
use crate::origin::Origin;
use crate::program::{Access, Comparison, Control, Participants, Space, StatementKind, Tables, Value};
use std::collections::BTreeSet;

/// The variables that differ between threads.
#[derive(Debug)]
pub(super) struct Uniform {
    varying: BTreeSet<VarId>,
    /// Whether the threads are those of the grid; else of one block.
    grid: bool,
}

/// Analyses a program.
pub(super) fn uniform(tables: &Tables, body: &[Line], grid: bool) -> Uniform {
    let mut found = Uniform { varying: BTreeSet::new(), grid };
    loop {
        let before = found.varying.len();
        found.list(tables, body, true);
        if found.varying.len() == before {
            return found;
        }
    }
}

impl Uniform {
    fn vary(&mut self, variable: VarId, uniform: bool) {
        if !uniform {
            self.varying.insert(variable);
        }
    }

    fn list(&mut self, tables: &Tables, list: &[Line], uniform: bool) {
        for line in list {
            match &line.kind {
                StatementKind::Let(_, None) => {}
                StatementKind::Let(variable, Some(value)) | StatementKind::Assign(variable, value) => {
                    let uniform = uniform && self.value(tables, value);
                    self.vary(*variable, uniform);
                }
                StatementKind::LetIndex(variable, index) | StatementKind::AssignIndex(variable, index) => {
                    let uniform = uniform && self.index(&tables.atoms, index);
                    self.vary(*variable, uniform);
                }
                StatementKind::Collective(variable, ..) => self.vary(*variable, false),
                StatementKind::Atomic { old, .. } => {
                    old.iter().for_each(|variable| self.vary(*variable, false))
                }
                StatementKind::For { variable, body, .. } => {
                    let uniform = uniform && self.rounds(tables, line);
                    self.vary(*variable, uniform);
                    self.list(tables, body, uniform);
                }
                StatementKind::While(_, body) => {
                    let uniform = uniform && self.rounds(tables, line);
                    self.list(tables, body, uniform);
                }
                StatementKind::If(condition, then, otherwise) => {
                    let uniform = uniform && self.value(tables, condition);
                    self.list(tables, then, uniform);
                    self.list(tables, otherwise, uniform);
                }
                StatementKind::Store(..)
                | StatementKind::Operation(_)
                | StatementKind::Break
                | StatementKind::Continue
                | StatementKind::Barrier(_)
                | StatementKind::SetMaxRegisters { .. }
                | StatementKind::Assume(_)
                | StatementKind::Print(_)
                | StatementKind::Assert { .. }
                | StatementKind::Signal(_) => {}
            }
        }
    }

    /// Whether all threads that come to a loop do the same rounds of it.
    fn rounds(&self, tables: &Tables, line: &Line) -> bool {
        match &line.kind {
            StatementKind::For { start, end, body, .. } => {
                self.index(&tables.atoms, start)
                    && self.index(&tables.atoms, end)
                    && self.leaves(tables, body, true)
            }
            StatementKind::While(condition, body) => {
                self.value(tables, condition) && self.leaves(tables, body, true)
            }
            _ => false,
        }
    }

    /// Whether all threads leave the loop around these statements, or its round, together.
    fn leaves(&self, tables: &Tables, list: &[Line], uniform: bool) -> bool {
        list.iter().all(|line| match line.kind.control() {
            Control::Leave => uniform,
            Control::Branch(then, otherwise) => {
                let uniform = uniform
                    && matches!(&line.kind, StatementKind::If(condition, ..) if self.value(tables, condition));
                self.leaves(tables, then, uniform) && self.leaves(tables, otherwise, uniform)
            }
            Control::Loop(_) | Control::Straight => true,
        })
    }

    /// Whether a variable is the same in all threads.
    pub(super) fn variable(&self, variable: VarId) -> bool {
        !self.varying.contains(&variable)
    }

    /// Whether an index is.
    pub(super) fn index(&self, atoms: &Atoms, index: &Index) -> bool {
        index.atoms().all(|id| match atoms.atom(id) {
            Atom::Special(Special::ThreadIdx, _) => false,
            Atom::Special(Special::BlockIdx, _) => !self.grid,
            Atom::Special(Special::BlockDim | Special::GridDim, _) => true,
            Atom::Dim { .. } | Atom::Stride { .. } | Atom::Argument(_) => true,
            Atom::Variable(variable, _) => match &atoms.facts(id).definition {
                Some(definition) => self.index(atoms, definition),
                None => self.variable(*variable),
            },
            compound => compound.parts().all(|part| self.index(atoms, part)),
        })
    }

    /// Whether a value is. What is loaded is, where the tensor is only read.
    pub(super) fn value(&self, tables: &Tables, value: &Value<Access>) -> bool {
        let index = |index: &Index| self.index(&tables.atoms, index);
        let compared = |one: &Comparison| index(&one.left) && index(&one.right);
        match value {
            Value::Constant(_) | Value::Argument(..) => true,
            Value::Variable(variable) => self.variable(*variable),
            Value::Index(of, _) => index(of),
            Value::Compare(comparison) => compared(comparison),
            Value::Load(access) => {
                let place = tables.place(access.place);
                matches!(place.space, Space::Global(_))
                    && !place.mutable
                    && index(&access.index)
                    && access.pointer.is_none_or(|pointer| self.variable(pointer))
                    && access.mask.iter().all(compared)
            }
            Value::Unary(_, operand) | Value::Cast(_, operand) => self.value(tables, operand),
            Value::Binary(_, left, right) => self.value(tables, left) && self.value(tables, right),
            Value::Math(_, parts) => parts.iter().all(|part| self.value(tables, part)),
            Value::Select(condition, then, otherwise) => {
                [condition, then, otherwise].into_iter().all(|part| self.value(tables, part))
            }
        }
    }

    /// The barriers that some threads may not come to, or not as often as others; over the grid those of the grid.
    pub(super) fn divergent(&self, tables: &Tables, list: &[Line], uniform: bool, out: &mut Vec<Origin>) {
        for line in list {
            let barrier = match line.kind {
                StatementKind::Barrier(Participants::Grid) => true,
                StatementKind::Barrier(Participants::Block | Participants::Cluster) => !self.grid,
                _ => false,
            };
            if barrier && !uniform {
                out.push(line.origin);
            }
            let inside = uniform
                && match &line.kind {
                    StatementKind::If(condition, ..) => self.value(tables, condition),
                    StatementKind::For { .. } | StatementKind::While(..) => self.rounds(tables, line),
                    _ => true,
                };
            line.kind.lists().into_iter().for_each(|list| self.divergent(tables, list, inside, out));
        }
    }
}
