//! A reference interpreter of one thread, directly on the statements: no warps, no masks, no bytecode. It supports
//! integers and `bool` only.

use layout_compiler::elem::Elem;
use layout_compiler::index::{Atom, AtomId, Index, VarId};
use layout_compiler::ir::{BinaryOp, Special, UnaryOp};
use layout_compiler::program::{Access, Comparison, Operation, Statement, StatementKind, Tables, Value};
use std::collections::HashMap;

/// How a statement list ends.
#[derive(PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// One thread.
pub(super) struct Thread<'a> {
    pub tables: &'a Tables,
    pub thread: i64,
    /// Places by number, `i32` each.
    pub places: &'a mut Vec<Vec<i32>>,
    pub variables: HashMap<VarId, i64>,
}

impl Thread<'_> {
    pub(super) fn run(&mut self, body: &[Statement<Access, Operation>]) {
        self.list(body);
    }

    fn list(&mut self, body: &[Statement<Access, Operation>]) -> Flow {
        for statement in body {
            match &statement.kind {
                StatementKind::Let(id, Some(value)) | StatementKind::Assign(id, value) => {
                    let value = self.value(value);
                    self.variables.insert(*id, value);
                }
                StatementKind::LetIndex(id, index) | StatementKind::AssignIndex(id, index) => {
                    let value = self.index(index);
                    self.variables.insert(*id, value);
                }
                StatementKind::Store(access, value) => {
                    let value = self.value(value);
                    if self.open(&access.mask) {
                        let at = self.index(&access.index) as usize;
                        self.places[access.place.0 as usize][at] = value as i32;
                    }
                }
                StatementKind::For { variable, start, end, step, reversed, body, .. } => {
                    let (start, end) = (self.index(start), self.index(end));
                    let mut rounds: Vec<i64> = (start..end.max(start)).step_by(*step as usize).collect();
                    if *reversed {
                        rounds.reverse();
                    }
                    for round in rounds {
                        self.variables.insert(*variable, round);
                        if self.list(body) == Flow::Break {
                            break;
                        }
                    }
                }
                StatementKind::While(condition, body) => {
                    while self.value(condition) != 0 {
                        if self.list(body) == Flow::Break {
                            break;
                        }
                    }
                }
                StatementKind::If(condition, then, otherwise) => {
                    let taken = if self.value(condition) != 0 { then } else { otherwise };
                    let flow = self.list(taken);
                    if flow != Flow::Next {
                        return flow;
                    }
                }
                StatementKind::Break => return Flow::Break,
                StatementKind::Continue => return Flow::Continue,
                StatementKind::Let(_, None)
                | StatementKind::Operation(_)
                | StatementKind::Assume(_)
                | StatementKind::Print(_)
                | StatementKind::Assert { .. }
                | StatementKind::Signal(_)
                | StatementKind::Barrier(_)
                | StatementKind::SetMaxRegisters { .. }
                | StatementKind::Collective(..)
                | StatementKind::Atomic { .. } => {}
            }
        }
        Flow::Next
    }

    fn open(&self, mask: &[Comparison]) -> bool {
        mask.iter().all(|one| one.op.compare(&self.index(&one.left), &self.index(&one.right)))
    }

    fn index(&self, index: &Index) -> i64 {
        index.evaluate(&mut |id| Some(self.atom(id))).unwrap_or_default()
    }

    fn atom(&self, id: AtomId) -> i64 {
        match self.tables.atoms.atom(id) {
            Atom::Special(Special::ThreadIdx, 0) => self.thread,
            Atom::Variable(id, _) => self.variables.get(id).copied().unwrap_or_default(),
            Atom::Div(a, b) => self.index(a) / self.index(b),
            Atom::Rem(a, b) => self.index(a) % self.index(b),
            Atom::Xor(a, b) => self.index(a) ^ self.index(b),
            Atom::And(a, b) => self.index(a) & self.index(b),
            Atom::Or(a, b) => self.index(a) | self.index(b),
            Atom::Min(a, b) => self.index(a).min(self.index(b)),
            Atom::Max(a, b) => self.index(a).max(self.index(b)),
            Atom::Wrapped { index, .. } => self.index(index),
            Atom::Special(..) | Atom::Dim { .. } | Atom::Stride { .. } | Atom::Argument(_) => 0,
        }
    }

    fn value(&self, value: &Value<Access>) -> i64 {
        match value {
            Value::Constant(constant) => constant.as_i128() as i64,
            Value::Variable(id) => self.variables.get(id).copied().unwrap_or_default(),
            Value::Index(index, Elem::I32) => i64::from(self.index(index) as i32),
            Value::Compare(one) => i64::from(self.open(std::slice::from_ref(one))),
            Value::Load(access) if !self.open(&access.mask) => self.value(&access.pad.value()),
            Value::Load(access) => {
                i64::from(self.places[access.place.0 as usize][self.index(&access.index) as usize])
            }
            Value::Unary(UnaryOp::Not, a) => i64::from(self.value(a) == 0),
            Value::Select(condition, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                if self.value(condition) != 0 { a } else { b }
            }
            Value::Binary(BinaryOp::And, a, b) => i64::from(self.value(a) != 0 && self.value(b) != 0),
            Value::Binary(BinaryOp::Or, a, b) => i64::from(self.value(a) != 0 || self.value(b) != 0),
            Value::Binary(op, a, b) => {
                let (a, b) = (self.value(a) as i32, self.value(b) as i32);
                match op {
                    BinaryOp::Add => i64::from(a.wrapping_add(b)),
                    BinaryOp::Sub => i64::from(a.wrapping_sub(b)),
                    BinaryOp::Mul => i64::from(a.wrapping_mul(b)),
                    BinaryOp::BitXor => i64::from(a ^ b),
                    op => i64::from(op.compare(&a, &b)),
                }
            }
            Value::Argument(..) | Value::Index(..) | Value::Unary(..) | Value::Cast(..) | Value::Math(..) => {
                0
            }
        }
    }
}
