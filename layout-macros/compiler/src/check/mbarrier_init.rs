//! Initialisation of mbarriers: no thread uses one before all threads see that it is initialised.
//!
//! Law: on every path a barrier of the block or of the cluster separates the initialisation of mbarriers from the
//! first arrival, wait or copy that names one. Several threads initialise them, so this holds for the initialising
//! threads as well.

use super::lower::Out;
use crate::origin::{Errors, KernelError};
use crate::program::{
    Access, Operation, Part, Participants, PlaceId, Signal, Statement, StatementKind, Tables,
    flow::{self, Analysis},
    walk,
};
use std::collections::BTreeSet;

/// The mbarriers that were initialised with no barrier since, on some path.
struct Fresh;

impl Analysis for Fresh {
    type State = BTreeSet<PlaceId>;

    fn transfer(&self, statement: &Statement<Access, Operation>, fresh: &mut BTreeSet<PlaceId>) {
        if let StatementKind::Signal(Signal::BarrierInit { barrier, .. }) = &statement.kind {
            fresh.insert(barrier.place);
        }
        if let StatementKind::Barrier(Participants::Block | Participants::Cluster | Participants::Grid) =
            statement.kind
        {
            fresh.clear();
        }
    }
}

/// Reports every use of mbarriers that no barrier precedes.
pub(super) fn check(tables: &Tables, body: &Out, errors: &mut Errors) {
    flow::solve(&Fresh, body, BTreeSet::new(), |statement, fresh| {
        if let StatementKind::Signal(Signal::BarrierInit { .. }) = statement.kind {
            return;
        }
        walk::own(statement, &mut |part| {
            if let Part::Barrier(place) = part
                && fresh.contains(&place)
            {
                errors.push(KernelError {
                    message: format!(
                        "`{}` is used before every thread sees that it was made",
                        tables.place(place).name
                    ),
                    help: Some("put `barrier()`, or `cluster_barrier()`, behind `mbarriers(..)`".into()),
                    origin: statement.origin,
                });
            }
        });
    });
}
