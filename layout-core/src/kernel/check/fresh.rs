//! Mbarriers must not be used before every thread sees that they are initialised.
//!
//! Law: on every path of control a barrier of the block or of the cluster stands between the initialisation of mbarriers
//! and the first arrival, wait or copy that names one. Several threads initialise them, so this holds for the initialising
//! threads as well.

use super::lower::Out;
use crate::kernel::origin::{Errors, KernelError, Origin};
use crate::kernel::program::{
    Access, Control, Operation, Part, Participants, PlaceId, Signal, Statement, StatementKind, Tables, walk,
};
use std::collections::BTreeSet;

/// Reports every use of mbarriers that no barrier precedes.
pub(super) fn check(tables: &Tables, body: &Out, errors: &mut Errors) {
    list(tables, body, &mut BTreeSet::new(), errors);
}

fn list(
    tables: &Tables,
    body: &[Statement<Access, Operation>],
    fresh: &mut BTreeSet<PlaceId>,
    errors: &mut Errors,
) {
    for statement in body {
        if let StatementKind::Signal(Signal::BarrierInit { barrier, .. }) = &statement.kind {
            fresh.insert(barrier.place);
            continue;
        }
        if let StatementKind::Barrier(Participants::Block | Participants::Cluster | Participants::Grid) =
            statement.kind
        {
            fresh.clear();
        }
        walk::own(statement, &mut |part| {
            if let Part::Barrier(place) = part {
                used(tables, place, fresh, statement.origin, errors);
            }
        });
        match statement.kind.control() {
            Control::Loop(body) => list(tables, body, fresh, errors),
            Control::Branch(then, otherwise) => {
                let mut other = fresh.clone();
                list(tables, then, fresh, errors);
                list(tables, otherwise, &mut other, errors);
                fresh.append(&mut other);
            }
            Control::Leave | Control::Straight => {}
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
