//! Registers in flight: an accumulator must not be touched between its product and the wait.
//!
//! Law: on every path of control, between a product of a warpgroup and the wait that completes it, only further products
//! into the same accumulator touch its registers. Otherwise the hardware gives arbitrary values.

use super::lower::Out;
use crate::kernel::origin::{Errors, KernelError, Origin};
use crate::kernel::program::{
    Access, Control, MatrixSource, Operation, Part, PlaceId, Signal, Space, Statement, StatementKind, Tables,
    Wgmma, walk,
};
use std::collections::{BTreeMap, BTreeSet};

/// The accumulators in flight, with the groups that were closed since.
type Flying = BTreeMap<PlaceId, u32>;

/// Reports every touch of an accumulator in flight.
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
    fn list(&mut self, body: &[Statement<Access, Operation>], flying: &mut Flying) {
        for statement in body {
            let origin = statement.origin;
            if let StatementKind::Operation(Operation::Wgmma(product)) = &statement.kind {
                self.product(product, flying, origin);
            } else {
                let mut touched = BTreeSet::new();
                walk::own(statement, &mut |part| {
                    if let Part::Read(access) | Part::Write(access) = part {
                        touched.insert(access.place);
                    }
                });
                touched.into_iter().for_each(|place| self.touch(place, flying, origin));
            }
            if let StatementKind::Signal(Signal::MatrixCommit) = statement.kind {
                flying.values_mut().for_each(|closed| *closed += 1);
            }
            // The products of at most `groups` closed groups stay in flight; so do those of an open one.
            if let StatementKind::Signal(Signal::MatrixWait(groups)) = statement.kind {
                flying.retain(|_, closed| *closed <= groups);
            }
            match statement.kind.control() {
                Control::Loop(body) => self.rounds(body, flying),
                Control::Branch(then, otherwise) => {
                    let mut other = flying.clone();
                    self.list(then, flying);
                    self.list(otherwise, &mut other);
                    join(flying, other);
                }
                Control::Leave | Control::Straight => {}
            }
        }
    }

    /// A loop's body is walked twice: what one round leaves in flight, the next one meets.
    fn rounds(&mut self, body: &[Statement<Access, Operation>], flying: &mut Flying) {
        let before = flying.clone();
        self.list(body, flying);
        join(flying, before.clone());
        self.list(body, flying);
        join(flying, before);
    }

    fn product(&mut self, product: &Wgmma, flying: &mut Flying, origin: Origin) {
        if let MatrixSource::Registers(parts) = &product.a {
            // Several products may read the same registers, as long as none of them writes there.
            let places: BTreeSet<PlaceId> = parts.iter().map(|part| part.place).collect();
            for place in places {
                if self.operands.insert(place) {
                    self.touch(place, flying, origin);
                }
                flying.insert(place, 0);
            }
        }
        flying.insert(product.accumulator.place, 0);
    }

    fn touch(&mut self, place: PlaceId, flying: &Flying, origin: Origin) {
        let known = self.tables.place(place);
        if known.space == Space::Local && flying.contains_key(&place) {
            self.errors.push(KernelError {
                message: format!("`{}` is touched while a product into it is in flight", known.name),
                help: Some(
                    "close the group and wait for it: `wgmma_commit_group(); wgmma_wait_group(0);`".into(),
                ),
                origin,
            });
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
