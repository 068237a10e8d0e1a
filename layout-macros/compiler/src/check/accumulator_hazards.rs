//! Accumulator hazards: between a product and its wait no other instruction may access the product's registers.
//!
//! Law: on every path between a product of a warpgroup and the wait that completes it, only further products into the
//! same accumulator access that accumulator, and only products read a left operand that is in registers. Otherwise
//! the hardware result is undefined.

use super::lower::Out;
use crate::origin::{Errors, KernelError};
use crate::program::{
    Access, MatrixSource, Operation, Part, PlaceId, Signal, Space, Statement, StatementKind, Tables, Wgmma,
    flow::{self, Analysis, Lattice},
    walk,
};
use std::collections::{BTreeMap, BTreeSet};

/// A register array that products in flight use.
#[derive(Clone, Copy, PartialEq)]
struct InFlight {
    /// How many groups were closed since its last product, on the path with the fewest.
    closed: u32,
    /// Whether a product writes it, on some path.
    written: bool,
}

/// Those in flight on some path.
#[derive(Clone, Default, PartialEq)]
struct Flying(BTreeMap<PlaceId, InFlight>);

impl Lattice for Flying {
    fn join(&mut self, other: &Flying) {
        for (place, theirs) in &other.0 {
            let known = self.0.entry(*place).or_insert(*theirs);
            known.closed = known.closed.min(theirs.closed);
            known.written |= theirs.written;
        }
    }
}

struct Hazards;

impl Analysis for Hazards {
    type State = Flying;

    fn transfer(&self, statement: &Statement<Access, Operation>, flying: &mut Flying) {
        if let StatementKind::Operation(Operation::Wgmma(product)) = &statement.kind {
            let mut begin = |place: PlaceId, writes: bool| {
                let known = flying.0.entry(place).or_insert(InFlight { closed: 0, written: false });
                *known = InFlight { closed: 0, written: known.written || writes };
            };
            operands(product).into_iter().for_each(|place| begin(place, false));
            begin(product.accumulator.place, true);
        }
        if let StatementKind::Signal(Signal::MatrixCommit) = statement.kind {
            flying.0.values_mut().for_each(|known| known.closed = known.closed.saturating_add(1));
        }
        // The products of at most `groups` closed groups stay in flight; so do those of an open one.
        if let StatementKind::Signal(Signal::MatrixWait(groups)) = statement.kind {
            flying.0.retain(|_, known| known.closed <= groups);
        }
    }
}

/// Reports every touch of an accumulator in flight.
pub(super) fn check(tables: &Tables, body: &Out, errors: &mut Errors) {
    flow::solve(&Hazards, body, Flying::default(), |statement, flying| {
        for place in touched(statement, flying) {
            let known = tables.place(place);
            if known.space == Space::Local {
                errors.push(KernelError {
                    message: format!("`{}` is touched while a product into it is in flight", known.name),
                    help: Some(
                        "close the group and wait for it: `wgmma_commit_group(); wgmma_wait_group(0);`"
                            .into(),
                    ),
                    origin: statement.origin,
                });
            }
        }
    });
}

/// The places in flight that a statement must not touch.
fn touched(statement: &Statement<Access, Operation>, flying: &Flying) -> BTreeSet<PlaceId> {
    if let StatementKind::Operation(Operation::Wgmma(product)) = &statement.kind {
        // Several products may read the same registers, as long as none of them writes there.
        let mut places = operands(product);
        places.retain(|place| flying.0.get(place).is_some_and(|known| known.written));
        return places;
    }
    let mut places = BTreeSet::new();
    walk::own(statement, &mut |part| {
        if let Part::Read(access) | Part::Write(access) = part
            && flying.0.contains_key(&access.place)
        {
            places.insert(access.place);
        }
    });
    places
}

/// The registers of a product's left operand.
fn operands(product: &Wgmma) -> BTreeSet<PlaceId> {
    match &product.a {
        MatrixSource::Registers(parts) => parts.iter().map(|part| part.place).collect(),
        MatrixSource::Shared(_) => BTreeSet::new(),
    }
}
