//! Registers in flight: an accumulator that is touched between its product and the wait.
//!
//! Law: on every path of control, between a product of a warpgroup and the wait that completes it nothing but further
//! products into the same accumulator touches its registers. The hardware gives anything otherwise.

use super::lower::Out;
use crate::kernel::origin::{Errors, KernelError, Origin};
use crate::kernel::program::{
    Access, MatrixSource, Operation, PlaceId, Signal, Space, StatementKind, Tables, Value,
};
use std::collections::{BTreeMap, BTreeSet};

/// The accumulators in flight, with the groups that were closed since.
type Flying = BTreeMap<PlaceId, u32>;

/// Tells every touch of an accumulator in flight.
pub(super) fn check(tables: &Tables, body: &Out, errors: &mut Errors) {
    Walk { tables, errors, operands: BTreeSet::new() }.list(body, &mut Flying::new());
}

struct Walk<'a> {
    tables: &'a Tables,
    errors: &'a mut Errors,
    /// Those that are read by products.
    operands: BTreeSet<PlaceId>,
}

impl Walk<'_> {
    fn list(&mut self, body: &Out, flying: &mut Flying) {
        for statement in body {
            let origin = statement.origin;
            match &statement.kind {
                StatementKind::For { body, .. } => self.rounds(body, flying),
                StatementKind::While(condition, body) => {
                    self.value(condition, flying, origin);
                    self.rounds(body, flying);
                }
                StatementKind::If(condition, then, otherwise) => {
                    self.value(condition, flying, origin);
                    let mut other = flying.clone();
                    self.list(then, flying);
                    self.list(otherwise, &mut other);
                    join(flying, other);
                }
                StatementKind::Let(_, value) => {
                    value.iter().for_each(|value| self.value(value, flying, origin));
                }
                StatementKind::Assign(_, value) => self.value(value, flying, origin),
                StatementKind::Store(access, value) => {
                    self.access(access, flying, origin);
                    self.value(value, flying, origin);
                }
                StatementKind::Collective(_, _, parts) => {
                    parts.iter().for_each(|part| self.value(part, flying, origin));
                }
                StatementKind::Atomic { target, value, .. } => {
                    self.access(target, flying, origin);
                    self.value(value, flying, origin);
                }
                StatementKind::Operation(operation) => self.operation(operation, flying, origin),
                StatementKind::Signal(Signal::MatrixCommit) => {
                    flying.values_mut().for_each(|closed| *closed += 1);
                }
                // The products of at most `groups` closed groups stay in flight; so do those of an open one.
                StatementKind::Signal(Signal::MatrixWait(groups)) => {
                    flying.retain(|_, closed| *closed <= *groups);
                }
                _ => {}
            }
        }
    }

    /// A loop's body, twice: what one round leaves in flight the next one meets.
    fn rounds(&mut self, body: &Out, flying: &mut Flying) {
        let before = flying.clone();
        self.list(body, flying);
        join(flying, before.clone());
        self.list(body, flying);
        join(flying, before);
    }

    fn operation(&mut self, operation: &Operation, flying: &mut Flying, origin: Origin) {
        match operation {
            Operation::Move { destination, source } | Operation::AsyncCopy { destination, source } => {
                self.access(destination, flying, origin);
                self.access(source, flying, origin);
            }
            Operation::StoreMatrix(store) => {
                store.values.iter().for_each(|value| self.value(value, flying, origin));
            }
            Operation::Wgmma(product) => {
                if let MatrixSource::Registers(parts) = &product.a {
                    // Several products may read the same registers, as long as none of them writes there.
                    let read = parts.iter().filter(|part| !self.operands.contains(&part.place));
                    let read: Vec<&Access> = read.collect();
                    read.into_iter().for_each(|part| self.access(part, flying, origin));
                    self.operands.extend(parts.iter().map(|part| part.place));
                    flying.extend(parts.iter().map(|part| (part.place, 0)));
                }
                flying.insert(product.accumulator.place, 0);
            }
            Operation::Mma(mma) => {
                [&mma.accumulator, &mma.left, &mma.right]
                    .into_iter()
                    .for_each(|part| self.access(part, flying, origin));
            }
            Operation::RemoteStore(store) => self.access(&store.source, flying, origin),
            Operation::LoadMatrix(load) => self.access(&load.destination, flying, origin),
            Operation::TensorLoad(_) | Operation::TensorStore(_) => {}
        }
    }

    fn access(&mut self, access: &Access, flying: &Flying, origin: Origin) {
        let place = self.tables.place(access.place);
        if place.space == Space::Local && flying.contains_key(&access.place) {
            self.errors.push(KernelError {
                message: format!("`{}` is touched while a product into it is in flight", place.name),
                help: Some(
                    "close the group and wait for it: `wgmma_commit_group(); wgmma_wait_group(0);`".into(),
                ),
                origin,
            });
        }
    }

    fn value(&mut self, value: &Value<Access>, flying: &Flying, origin: Origin) {
        match value {
            Value::Load(access) => self.access(access, flying, origin),
            Value::Unary(_, a) | Value::Cast(_, a) => self.value(a, flying, origin),
            Value::Binary(_, a, b) => {
                self.value(a, flying, origin);
                self.value(b, flying, origin);
            }
            Value::Math(_, parts) => parts.iter().for_each(|part| self.value(part, flying, origin)),
            Value::Select(a, b, c) => [a, b, c].into_iter().for_each(|part| self.value(part, flying, origin)),
            Value::Constant(_)
            | Value::Argument(..)
            | Value::Variable(_)
            | Value::Index(..)
            | Value::Compare(_) => {}
        }
    }
}

/// In flight on one of two paths is in flight.
fn join(flying: &mut Flying, other: Flying) {
    for (place, closed) in other {
        let known = flying.entry(place).or_insert(closed);
        *known = (*known).min(closed);
    }
}
