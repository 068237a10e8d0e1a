//! Mbarriers that are used before every thread sees that they were made.
//!
//! Law: on every path of control a barrier of the block or of the cluster stands between the making of mbarriers and the first
//! arrival, wait or copy that names one. Several threads make them, so not even the threads that did may go ahead.

use super::lower::Out;
use crate::kernel::origin::{Errors, KernelError, Origin};
use crate::kernel::program::{Operation, Participants, PlaceId, Signal, StatementKind, Tables};
use std::collections::BTreeSet;

/// Tells every use of mbarriers that no barrier stands before.
pub(super) fn check(tables: &Tables, body: &Out, errors: &mut Errors) {
    list(tables, body, &mut BTreeSet::new(), errors);
}

fn list(tables: &Tables, body: &Out, fresh: &mut BTreeSet<PlaceId>, errors: &mut Errors) {
    for statement in body {
        match &statement.kind {
            StatementKind::For { body, .. } | StatementKind::While(_, body) => {
                list(tables, body, fresh, errors)
            }
            StatementKind::If(_, then, otherwise) => {
                let mut other = fresh.clone();
                list(tables, then, fresh, errors);
                list(tables, otherwise, &mut other, errors);
                fresh.append(&mut other);
            }
            StatementKind::Barrier(Participants::Block | Participants::Cluster) => fresh.clear(),
            StatementKind::Signal(Signal::BarrierInit { barrier, .. }) => {
                fresh.insert(barrier.place);
            }
            StatementKind::Signal(signal) => {
                if let Some(barrier) = signal.barrier() {
                    used(tables, barrier.place, fresh, statement.origin, errors);
                }
            }
            StatementKind::Operation(Operation::TensorLoad(load)) => {
                used(tables, load.barrier.place, fresh, statement.origin, errors);
            }
            StatementKind::Operation(Operation::RemoteStore(store)) => {
                used(tables, store.barrier.place, fresh, statement.origin, errors);
            }
            _ => {}
        }
    }
}

fn used(tables: &Tables, place: PlaceId, fresh: &BTreeSet<PlaceId>, origin: Origin, errors: &mut Errors) {
    if fresh.contains(&place) {
        errors.push(KernelError {
            message: format!(
                "`{}` is used before every thread sees that it was made",
                tables.place(place).name
            ),
            help: Some("put `barrier()`, or `cluster_barrier()`, behind `mbarriers(..)`".into()),
            origin,
        });
    }
}
