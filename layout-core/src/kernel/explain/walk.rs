//! The accesses of a body, each with what moves its bytes.

use super::Means;
use crate::kernel::program::{Access, MatrixSource, Operation, Statement, StatementKind, Value};

/// Shows each access, and whether it writes.
pub(super) fn accesses<'a>(
    list: &'a [Statement<Access, Operation>],
    see: &mut impl FnMut(&'a Access, Means, bool),
) {
    for one in list {
        match &one.kind {
            StatementKind::Let(_, value) => value.iter().for_each(|one| value_of(one, see)),
            StatementKind::Assign(_, value) => value_of(value, see),
            StatementKind::Store(target, value) => {
                value_of(value, see);
                see(target, Means::Thread, true);
            }
            StatementKind::Operation(one) => operation(one, see),
            StatementKind::Collective(_, _, parts) => parts.iter().for_each(|part| value_of(part, see)),
            StatementKind::Atomic { target, value, .. } => {
                value_of(value, see);
                see(target, Means::Atomic, true);
            }
            StatementKind::For { body, .. } => accesses(body, see),
            StatementKind::While(condition, body) => {
                value_of(condition, see);
                accesses(body, see);
            }
            StatementKind::If(condition, then, otherwise) => {
                value_of(condition, see);
                accesses(then, see);
                accesses(otherwise, see);
            }
            StatementKind::LetIndex(..)
            | StatementKind::AssignIndex(..)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Barrier(_)
            | StatementKind::Signal(_) => {}
        }
    }
}

fn value_of<'a>(value: &'a Value<Access>, see: &mut impl FnMut(&'a Access, Means, bool)) {
    match value {
        Value::Constant(_)
        | Value::Argument(..)
        | Value::Variable(_)
        | Value::Index(..)
        | Value::Compare(_) => {}
        Value::Load(access) => see(access, Means::Thread, false),
        Value::Unary(_, operand) | Value::Cast(_, operand) => value_of(operand, see),
        Value::Binary(_, left, right) => {
            value_of(left, see);
            value_of(right, see);
        }
        Value::Math(_, parts) => parts.iter().for_each(|part| value_of(part, see)),
        Value::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().for_each(|part| value_of(part, see));
        }
    }
}

fn operation<'a>(one: &'a Operation, see: &mut impl FnMut(&'a Access, Means, bool)) {
    match one {
        Operation::Move { destination, source } => {
            see(source, Means::Thread, false);
            see(destination, Means::Thread, true);
        }
        Operation::AsyncCopy { destination, source } => {
            see(source, Means::CopyAsync, false);
            see(destination, Means::CopyAsync, true);
        }
        Operation::TensorLoad(load) => see(&load.destination, Means::Tma, true),
        Operation::TensorStore(store) => see(&store.source, Means::Tma, false),
        Operation::RemoteStore(store) => {
            see(&store.source, Means::StoreAsync, false);
            see(&store.destination, Means::StoreAsync, true);
        }
        Operation::Wgmma(product) => {
            match &product.a {
                MatrixSource::Shared(matrix) => see(&matrix.first, Means::MatrixUnits, false),
                // Registers.
                MatrixSource::Registers(_) => {}
            }
            see(&product.b.first, Means::MatrixUnits, false);
        }
        // Registers.
        Operation::Mma(_) => {}
        Operation::LoadMatrix(load) => see(&load.source, Means::Matrix, false),
        Operation::StoreMatrix(store) => {
            store.values.iter().for_each(|value| value_of(value, see));
            see(&store.destination, Means::Matrix, true);
        }
    }
}
