//! Lowering of tiles to elements: walks statements and values with the facts that hold at each.
//!
//! Invariant: `facts` holds exactly what the enclosing guards and loops promise at the current statement.

use crate::elem::Elem;
use crate::index::{Atom, AtomId, Atoms, Index, IndexOverflow, Range, VarId, Width};
use crate::ir::BinaryOp;
use crate::origin::{Errors, KernelError, Origin};
use crate::program::{
    Access, Comparison, Message, MessagePart, Operation, PlaceId, Space, Statement, StatementKind, Tables,
    TensorMap, Uses, Value, Variable, VariableKind,
};
use crate::prove::Facts;
use crate::specialise::{TileAccess, TileOperation};
use crate::view::View;
use std::collections::HashSet;

pub(super) type Out = Vec<Statement<Access, Operation>>;

pub(super) struct Lower {
    pub tables: Tables,
    pub facts: Facts,
    pub errors: Errors,
    /// The variables of unrolled loops: numbers once the code is unrolled.
    pub unrolled: HashSet<AtomId>,
    /// Indices of the thread alone, named once at the kernel's start.
    pub prologue: Out,
    /// How tensors are cut into boxes, and the shared place that each is for.
    pub maps: Vec<(TensorMap, PlaceId)>,
    /// Shared places that are read as tf32.
    pub tf32: Vec<PlaceId>,
    /// The rank of each argument that is a tensor.
    pub ranks: Vec<usize>,
    pub thread: Index,
    pub threads: i64,
    pub narrow: bool,
    /// The number of loops around the statement that remain loops at run time.
    pub loops: u32,
    /// Whether vectors that an edge may cut are moved in pieces, because one test for the whole copy has taken the other
    /// ones.
    pub cut: bool,
}

/// The error is reported.
pub(super) struct Failed;

/// Whether statements end with leaving the loop around them, or its round.
fn leaves(statements: &Out) -> bool {
    statements.last().is_some_and(|last| matches!(last.kind, StatementKind::Break | StatementKind::Continue))
}

impl Lower {
    pub(super) fn fail<T>(
        &mut self,
        origin: Origin,
        message: impl Into<String>,
        help: &str,
    ) -> Result<T, Failed> {
        let help = (!help.is_empty()).then(|| help.to_owned());
        self.errors.push(KernelError { message: message.into(), help, origin });
        Err(Failed)
    }

    pub(super) fn index<T>(&mut self, origin: Origin, result: Result<T, IndexOverflow>) -> Result<T, Failed> {
        match result {
            Ok(value) => Ok(value),
            Err(IndexOverflow) => self.fail(origin, "index arithmetic leaves the range of 64 bits", ""),
        }
    }

    pub(super) fn atoms(&mut self) -> &mut Atoms {
        &mut self.tables.atoms
    }

    /// Lowers statements; one that fails has reported its error and is left out.
    pub(super) fn statements(&mut self, statements: &[Statement<TileAccess, TileOperation>]) -> Out {
        let mut out = Vec::new();
        let mark = self.facts.len();
        for statement in statements {
            let _ = self.statement(statement, &mut out);
            // Behind `if c { continue; }` the condition does not hold.
            if let Some(Statement { kind: StatementKind::If(condition, then, otherwise), .. }) = out.last()
                && leaves(then) != leaves(otherwise)
            {
                self.facts.assume_condition(&self.tables.atoms, condition, leaves(otherwise));
            }
        }
        self.facts.truncate(mark);
        out
    }

    /// The value that a variable begins with. What a named condition means is kept for the branches on its name.
    fn bound(
        &mut self,
        var: VarId,
        value: Option<&Value<TileAccess>>,
    ) -> Result<Option<Value<Access>>, Failed> {
        let Some(value) = value else { return Ok(None) };
        let value = self.value(value)?;
        let variable = self.tables.variable(var);
        if variable.kind == VariableKind::Elem(Elem::Bool) && !variable.mutable {
            self.facts.define(var, &value);
        }
        Ok(Some(value))
    }

    fn statement(
        &mut self,
        statement: &Statement<TileAccess, TileOperation>,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let origin = statement.origin;
        let kind = match &statement.kind {
            StatementKind::Let(var, value) => StatementKind::Let(*var, self.bound(*var, value.as_ref())?),
            StatementKind::LetIndex(var, index) => StatementKind::LetIndex(*var, index.clone()),
            StatementKind::Assign(var, value) => StatementKind::Assign(*var, self.value(value)?),
            StatementKind::AssignIndex(var, index) => StatementKind::AssignIndex(*var, index.clone()),
            StatementKind::Store(access, value) => {
                let value = self.value(value);
                let access = self.element(access)?;
                StatementKind::Store(access, value?)
            }
            StatementKind::Operation(operation) => return self.operation(operation, origin, out),
            StatementKind::For { variable, start, end, step, unroll, reversed, body } => {
                let id = self.tables.atoms.find(&Atom::Variable(*variable, 0));
                let mark = self.facts.len();
                if let Some(id) = id {
                    let counter = Index::atom(id);
                    let above = Comparison { op: BinaryOp::Ge, left: counter.clone(), right: start.clone() };
                    let below = Comparison { op: BinaryOp::Lt, left: counter, right: end.clone() };
                    self.facts.assume(&above, true);
                    self.facts.assume(&below, true);
                    if *unroll {
                        self.unrolled.insert(id);
                    }
                }
                self.loops += u32::from(!*unroll);
                let body = self.statements(body);
                self.loops -= u32::from(!*unroll);
                self.facts.truncate(mark);
                StatementKind::For {
                    variable: *variable,
                    start: start.clone(),
                    end: end.clone(),
                    step: *step,
                    unroll: *unroll,
                    reversed: *reversed,
                    body,
                }
            }
            StatementKind::While(condition, body) => {
                let condition = self.value(condition)?;
                let mark = self.facts.len();
                self.assume(&condition, true);
                self.loops += 1;
                let body = self.statements(body);
                self.loops -= 1;
                self.facts.truncate(mark);
                StatementKind::While(condition, body)
            }
            StatementKind::If(condition, then, otherwise) => {
                let condition = self.value(condition)?;
                let mark = self.facts.len();
                self.assume(&condition, true);
                let then = self.statements(then);
                self.facts.truncate(mark);
                self.assume(&condition, false);
                let otherwise = self.statements(otherwise);
                self.facts.truncate(mark);
                StatementKind::If(condition, then, otherwise)
            }
            StatementKind::Assume(condition) => {
                let condition = self.value(condition)?;
                self.assume(&condition, true);
                StatementKind::Assume(condition)
            }
            StatementKind::Print(message) => StatementKind::Print(self.message(message)?),
            StatementKind::Assert { fails, message, debug } => {
                let fails = self.value(fails)?;
                let message = self.message_under(&fails, message)?;
                if !debug {
                    self.assume(&fails, false);
                }
                StatementKind::Assert { fails, message, debug: *debug }
            }
            StatementKind::Break => StatementKind::Break,
            StatementKind::Continue => StatementKind::Continue,
            StatementKind::Barrier(participants) => StatementKind::Barrier(*participants),
            StatementKind::Collective(var, collective, parts) => {
                let parts: Result<Vec<_>, Failed> = parts.iter().map(|part| self.value(part)).collect();
                StatementKind::Collective(*var, *collective, parts?)
            }
            StatementKind::Atomic { change, scope, target, values, old } => {
                let values: Result<Vec<_>, Failed> = values.iter().map(|value| self.value(value)).collect();
                let target = self.element(target)?;
                StatementKind::Atomic { change: *change, scope: *scope, target, values: values?, old: *old }
            }
            StatementKind::SetMaxRegisters { registers, increase } => {
                StatementKind::SetMaxRegisters { registers: *registers, increase: *increase }
            }
            StatementKind::Signal(signal) => StatementKind::Signal(self.signal(signal, origin)?),
        };
        out.push(Statement { kind, origin });
        Ok(())
    }

    /// The text, with its values lowered.
    fn message(&mut self, message: &Message<TileAccess>) -> Result<Message<Access>, Failed> {
        let one = |part: &MessagePart<TileAccess>| {
            Ok(match part {
                MessagePart::Text(text) => MessagePart::Text(text.clone()),
                MessagePart::Value(value, elem, spec) => MessagePart::Value(self.value(value)?, *elem, *spec),
            })
        };
        Ok(Message { parts: message.parts.iter().map(one).collect::<Result<_, Failed>>()? })
    }

    /// The same where a condition holds.
    fn message_under(
        &mut self,
        condition: &Value<Access>,
        message: &Message<TileAccess>,
    ) -> Result<Message<Access>, Failed> {
        let mark = self.facts.len();
        self.assume(condition, true);
        let message = self.message(message);
        self.facts.truncate(mark);
        message
    }

    /// Adds what follows from a condition that holds, or does not.
    fn assume(&mut self, condition: &Value<Access>, holds: bool) {
        self.facts.assume_condition(&self.tables.atoms, condition, holds);
    }

    pub(super) fn value(&mut self, value: &Value<TileAccess>) -> Result<Value<Access>, Failed> {
        let boxed = |this: &mut Self, value: &Value<TileAccess>| -> Result<Box<Value<Access>>, Failed> {
            Ok(Box::new(this.value(value)?))
        };
        Ok(match value {
            Value::Constant(constant) => Value::Constant(*constant),
            Value::Argument(number, elem) => Value::Argument(*number, *elem),
            Value::Variable(var) => Value::Variable(*var),
            Value::Index(index, elem) => Value::Index(index.clone(), *elem),
            Value::Compare(comparison) => Value::Compare(comparison.clone()),
            Value::Load(access) => {
                let mut load = self.element(access)?;
                // Who says what is beyond the edge means to read there.
                load.direct &= access.view.pad.is_none();
                Value::Load(Box::new(load))
            }
            Value::Unary(op, operand) => Value::Unary(*op, boxed(self, operand)?),
            Value::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                // The right side is evaluated only where the left one lets it.
                let left = self.value(left)?;
                let mark = self.facts.len();
                self.assume(&left, *op == BinaryOp::And);
                let right = self.value(right);
                self.facts.truncate(mark);
                Value::Binary(*op, Box::new(left), Box::new(right?))
            }
            Value::Binary(op, left, right) => {
                let left = boxed(self, left);
                let right = boxed(self, right)?;
                Value::Binary(*op, left?, right)
            }
            Value::Cast(elem, operand) => Value::Cast(*elem, boxed(self, operand)?),
            Value::Math(math, parts) => {
                let parts: Result<Vec<_>, Failed> = parts.iter().map(|part| self.value(part)).collect();
                Value::Math(*math, parts?)
            }
            Value::Select(condition, then, otherwise) => {
                Value::Select(boxed(self, condition)?, boxed(self, then)?, boxed(self, otherwise)?)
            }
        })
    }

    /// A new loop variable that runs through `0..count`, and its atom.
    pub(super) fn counter(&mut self, name: &str, count: i64, origin: Origin) -> (VarId, Index) {
        let var = VarId(self.tables.variables.len() as u32);
        let kind = VariableKind::Index(Width::Int);
        self.tables.variables.push(Variable {
            name: name.to_owned(),
            kind,
            mutable: false,
            origin,
            unnamed: true,
        });
        let range = Range::new(0, i128::from(count - 1).max(0));
        let atom = self.tables.atoms.intern(Atom::Variable(var, 0), range, 1, None);
        self.unrolled.insert(atom);
        (var, Index::atom(atom))
    }

    /// A name, at the kernel's start, for an index that depends on the thread alone.
    pub(super) fn thread_index(&mut self, name: &str, index: &Index, origin: Origin) -> Index {
        if index.as_constant().is_some() || index == &self.thread {
            return index.clone();
        }
        for statement in &self.prologue {
            if let StatementKind::LetIndex(var, known) = &statement.kind
                && known == index
                && let Some(atom) = self.tables.atoms.find(&Atom::Variable(*var, 0))
            {
                return Index::atom(atom);
            }
        }
        let range = self.tables.atoms.range(index);
        let divisor = self.tables.atoms.divisor(index).max(1);
        let var = VarId(self.tables.variables.len() as u32);
        let kind = VariableKind::Index(Width::of(range));
        self.tables.variables.push(Variable {
            name: name.to_owned(),
            kind,
            mutable: false,
            origin,
            unnamed: true,
        });
        self.prologue.push(Statement { kind: StatementKind::LetIndex(var, index.clone()), origin });
        Index::atom(self.tables.atoms.intern(Atom::Variable(var, 0), range, divisor, Some(index.clone())))
    }

    /// How far `shift` along the modes of a view leads, elements.
    pub(super) fn steps(&mut self, view: &View, shift: &[Index], origin: Origin) -> Result<Index, Failed> {
        let mut sum = Index::constant(0);
        for (mode, count) in view.modes.iter().zip(shift) {
            let next = count.mul(&mode.stride).and_then(|step| sum.add(&step));
            sum = self.index(origin, next)?;
        }
        Ok(sum)
    }

    /// The same view with a pointer to the thread's part of its offset: what is left of an index are numbers and
    /// strides, which instructions add by themselves.
    pub(super) fn own(
        &mut self,
        view: View,
        part: &Index,
        name: &str,
        origin: Origin,
        out: &mut Out,
    ) -> Result<View, Failed> {
        let local = self.tables.place(view.place).space == Space::Local;
        if local || view.swizzle.is_some() || part.as_constant().is_some() {
            return Ok(view);
        }
        let (base, before) = match &view.pointer {
            None => (Index::constant(0), Index::constant(0)),
            Some((var, full)) => {
                let (range, divisor) =
                    (self.tables.atoms.range(full), self.tables.atoms.divisor(full).max(1));
                let definition = Some(full.clone());
                let atom = self.tables.atoms.intern(Atom::Variable(*var, 0), range, divisor, definition);
                (Index::atom(atom), full.clone())
            }
        };
        let var = VarId(self.tables.variables.len() as u32);
        let kind = VariableKind::Pointer(view.place);
        self.tables.variables.push(Variable {
            name: name.to_owned(),
            kind,
            mutable: false,
            origin,
            unnamed: true,
        });
        let (value, full, offset) = (base.add(part), before.add(part), view.offset.sub(part));
        out.push(Statement { kind: StatementKind::LetIndex(var, self.index(origin, value)?), origin });
        let mut own = view;
        own.pointer = Some((var, self.index(origin, full)?));
        own.offset = self.index(origin, offset)?;
        Ok(own)
    }

    /// Whether an index is a number once the loops around it are unrolled.
    pub(super) fn is_unrolled(&self, index: &Index) -> bool {
        let Ok(expanded) = self.tables.atoms.expand(index) else { return false };
        let mut uses = Uses::default();
        uses.index(&self.tables.atoms, &expanded);
        uses.leaves.iter().all(|id| self.unrolled.contains(id))
    }
}
