//! Fences for accumulators that another statement than a product writes before a loop of products.
//!
//! Law: where products may be in flight at the end of an iteration, each of their accumulators that has a reaching
//! definition from outside the loop passes `accumulator_fence` before the loop. Otherwise the compiler moves the
//! definition between the products, and ptxas serialises every product (C7515). The function is empty: it only fixes
//! the position of the definition.

use crate::program::{
    Access, Control, Operation, Part, PlaceId, Signal, Statement, StatementKind, Wgmma,
    flow::{self, Analysis},
    walk,
};
use std::collections::{BTreeMap, BTreeSet};

type One = Statement<Access, Operation>;

/// The accumulators to fence in front of a loop, by the loop's statement.
pub(super) type Fences = BTreeMap<*const One, BTreeSet<PlaceId>>;

/// Reaching definitions: the statements, products aside, whose elements some path leaves in a place.
struct Definitions;

impl Analysis for Definitions {
    type State = BTreeSet<(PlaceId, *const One)>;

    fn transfer(&self, statement: &One, reaching: &mut Self::State) {
        if let Some(product) = product(statement) {
            return reaching.retain(|(place, _)| *place != product.accumulator.place);
        }
        walk::own(statement, &mut |part| {
            if let Part::Write(access) = part {
                reaching.insert((access.place, std::ptr::from_ref(statement)));
            }
        });
    }
}

/// The fences of a list of statements.
pub(super) fn fences(body: &[One]) -> Fences {
    let mut found = Fences::new();
    flow::solve(&Definitions, body, BTreeSet::new(), |statement, reaching| {
        let Control::Loop(round) = statement.kind.control() else { return };
        let products = products(round);
        if products.is_empty() || !fly_on(round) {
            return;
        }
        let inside = statements(round);
        let fenced = reaching.iter().filter(|(place, one)| products.contains(place) && !inside.contains(one));
        let fenced: BTreeSet<PlaceId> = fenced.map(|(place, _)| *place).collect();
        if !fenced.is_empty() {
            found.insert(statement, fenced);
        }
    });
    found
}

/// The accumulators of the products of a loop's round, but for those of loops within.
fn products(round: &[One]) -> BTreeSet<PlaceId> {
    let own = round.iter().filter_map(product).map(|product| product.accumulator.place);
    let mut places: BTreeSet<PlaceId> = own.collect();
    for statement in round {
        if let Control::Branch(then, otherwise) = statement.kind.control() {
            places.extend(products(then));
            places.extend(products(otherwise));
        }
    }
    places
}

/// Whether products may be in flight at the end of a round: the last that it says of them is no wait for all.
fn fly_on(round: &[One]) -> bool {
    let mut flying = false;
    walk::statements(round, &mut |part| {
        if let Part::Statement(one) = part {
            if let StatementKind::Signal(Signal::MatrixWait(groups)) = one.kind {
                flying &= groups > 0;
            }
            flying |= product(one).is_some();
        }
    });
    flying
}

fn statements(list: &[One]) -> BTreeSet<*const One> {
    let mut all = BTreeSet::new();
    walk::statements(list, &mut |part| {
        if let Part::Statement(one) = part {
            all.insert(std::ptr::from_ref(one));
        }
    });
    all
}

fn product(statement: &One) -> Option<&Wgmma> {
    if let StatementKind::Operation(Operation::Wgmma(product)) = &statement.kind {
        Some(product)
    } else {
        None
    }
}
