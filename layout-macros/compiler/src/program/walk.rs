//! The walk over a program: the parts of statements, operations, signals and values, in program order.
//!
//! Law: nothing is skipped. The walk matches every kind by name, so a new kind that is missing here does not compile;
//! every pass that uses the walk then sees it. Reads come before writes.

use super::{
    Access, BarrierAt, Comparison, Hint, Operation, Pad, PlaceId, Signal, Statement, StatementKind, Value,
};
use crate::index::{Index, VarId};
use crate::ir::BinaryOp;
use crate::math::Math;
use std::collections::BTreeSet;

/// What a statement holds.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A statement, before its parts.
    Statement(&'a Statement<Access, Operation>),
    /// A comparison of indices, before its two.
    Compare(&'a Comparison),
    /// An element variable that is read.
    Variable(VarId),
    /// A scalar argument that is read, of an element type.
    Argument(u32),
    /// A tensor map, of the plan's.
    Map(u32),
    /// An index, wherever it is but in a [`Part::Bound`].
    Index(&'a Index),
    /// The index that a variable's declaration gives it.
    Bound(VarId, &'a Index),
    /// An element read.
    Read(&'a Access),
    /// An element written.
    Write(&'a Access),
    /// An mbarrier of this array.
    Barrier(PlaceId),
    /// A hint to the caches.
    Hint(Hint),
    /// A variable that an assignment changes.
    Assigned(VarId),
    /// A variable that is declared.
    Declared(VarId),
    /// An elementwise word, and what it takes.
    Word(Math, &'a [Value<Access>]),
    /// A quotient: what is divided, and by what.
    Quotient(&'a Value<Access>, &'a Value<Access>),
}

/// Every part of the statements, nested ones included; what an assignment reads comes before what it writes.
pub fn statements<'a>(list: &'a [Statement<Access, Operation>], see: &mut impl FnMut(Part<'a>)) {
    for one in list {
        statement(one, see);
    }
}

/// Every part of a statement, those of nested lists included.
pub fn statement<'a>(one: &'a Statement<Access, Operation>, see: &mut impl FnMut(Part<'a>)) {
    own(one, see);
    one.kind.lists().into_iter().for_each(|list| statements(list, see));
}

/// The parts of a statement without those of nested lists: of a loop its bounds, of an `if` its condition.
pub fn own<'a>(one: &'a Statement<Access, Operation>, see: &mut impl FnMut(Part<'a>)) {
    see(Part::Statement(one));
    match &one.kind {
        StatementKind::Let(variable, initial) => {
            if let Some(initial) = initial {
                value(initial, see);
            }
            see(Part::Declared(*variable));
        }
        StatementKind::LetIndex(variable, index) => {
            see(Part::Bound(*variable, index));
            see(Part::Declared(*variable));
        }
        StatementKind::Assign(variable, assigned) => {
            value(assigned, see);
            see(Part::Assigned(*variable));
        }
        StatementKind::AssignIndex(variable, index) => {
            see(Part::Index(index));
            see(Part::Assigned(*variable));
        }
        StatementKind::Store(target, stored) => {
            value(stored, see);
            access(target, see);
            see(Part::Write(target));
        }
        StatementKind::Operation(one) => one.parts(see),
        StatementKind::Signal(one) => signal(one, see),
        StatementKind::Collective(variable, _, parts) => {
            parts.iter().for_each(|part| value(part, see));
            see(Part::Declared(*variable));
        }
        StatementKind::Atomic { target, values, old, .. } => {
            values.iter().for_each(|operand| value(operand, see));
            access(target, see);
            see(Part::Read(target));
            see(Part::Write(target));
            old.iter().for_each(|variable| see(Part::Declared(*variable)));
        }
        StatementKind::For { variable, start, end, .. } => {
            see(Part::Index(start));
            see(Part::Index(end));
            see(Part::Declared(*variable));
        }
        StatementKind::While(condition, _)
        | StatementKind::If(condition, ..)
        | StatementKind::Assume(condition) => value(condition, see),
        StatementKind::Print(message) => message.values().for_each(|part| value(part, see)),
        StatementKind::Assert { fails, message, .. } => {
            value(fails, see);
            message.values().for_each(|part| value(part, see));
        }
        StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Barrier(_)
        | StatementKind::SetMaxRegisters { .. } => {}
    }
}

pub(super) fn barrier<'a>(one: &'a BarrierAt, see: &mut impl FnMut(Part<'a>)) {
    see(Part::Index(&one.index));
    see(Part::Barrier(one.place));
}

fn signal<'a>(one: &'a Signal, see: &mut impl FnMut(Part<'a>)) {
    let (at, index) = one.parts();
    at.into_iter().for_each(|at| barrier(at, see));
    index.into_iter().for_each(|index| see(Part::Index(index)));
    if let Signal::TensorFree { base, .. } = one {
        see(Part::Variable(*base));
    }
}

/// Every part of a value.
pub fn value<'a>(one: &'a Value<Access>, see: &mut impl FnMut(Part<'a>)) {
    match one {
        Value::Constant(_) => {}
        Value::Argument(number, _) => see(Part::Argument(*number)),
        Value::Variable(variable) => see(Part::Variable(*variable)),
        Value::Index(index, _) => see(Part::Index(index)),
        Value::Compare(one) => comparison(one, see),
        Value::Load(source) => {
            access(source, see);
            see(Part::Read(source));
        }
        Value::Unary(_, operand) | Value::Cast(_, operand) => value(operand, see),
        Value::Binary(op, left, right) => {
            if *op == BinaryOp::Div {
                see(Part::Quotient(left, right));
            }
            value(left, see);
            value(right, see);
        }
        Value::Math(word, arguments) => {
            see(Part::Word(*word, arguments));
            arguments.iter().for_each(|argument| value(argument, see));
        }
        Value::Select(condition, then, otherwise) => {
            value(condition, see);
            value(then, see);
            value(otherwise, see);
        }
    }
}

pub(super) fn access<'a>(one: &'a Access, see: &mut impl FnMut(Part<'a>)) {
    one.hint.into_iter().for_each(|hint| see(Part::Hint(hint)));
    see(Part::Index(&one.index));
    one.mask.iter().for_each(|one| comparison(one, see));
    if let (Pad::Argument(number, _), false) = (one.pad, one.mask.is_empty()) {
        see(Part::Argument(number));
    }
}

fn comparison<'a>(one: &'a Comparison, see: &mut impl FnMut(Part<'a>)) {
    see(Part::Compare(one));
    see(Part::Index(&one.left));
    see(Part::Index(&one.right));
}

/// The variables that statements assign, or declare.
pub fn changed(list: &[Statement<Access, Operation>]) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    statements(list, &mut |part| {
        if let Part::Assigned(variable) | Part::Declared(variable) = part {
            found.insert(variable);
        }
    });
    found
}
