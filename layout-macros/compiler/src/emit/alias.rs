//! Copy propagation: copies of variables that need no name of their own.
//!
//! Law: `long long v = k;` is left out, and `k` is read instead of `v`, only if every path from an assignment of `k`
//! to a read of `v` passes the declaration of `v`, and `v` is not assigned.

use crate::index::{Atom, VarId};
use crate::program::{
    Access, Operation, Part, Statement, StatementKind, Tables, Uses,
    flow::{self, Analysis},
    walk,
};
use std::collections::{BTreeMap, BTreeSet};

/// Each copy with the variable that it copies.
type Copies = BTreeMap<VarId, VarId>;

/// The copies whose variable has changed since, on some path.
struct Stale<'a>(&'a Copies);

impl Analysis for Stale<'_> {
    type State = BTreeSet<VarId>;

    fn transfer(&self, statement: &Statement<Access, Operation>, stale: &mut BTreeSet<VarId>) {
        walk::own(statement, &mut |part| {
            if let Part::Assigned(changed) | Part::Declared(changed) = part {
                stale.remove(&changed);
                stale.extend(self.0.iter().filter(|(_, source)| **source == changed).map(|(copy, _)| *copy));
            }
        });
    }
}

/// For each such copy the variable that is read for it.
pub(super) fn copies(tables: &Tables, body: &[Statement<Access, Operation>]) -> Copies {
    let mut copies = Copies::new();
    walk::statements(body, &mut |part| {
        if let Part::Statement(statement) = part {
            copies.extend(copy(tables, statement));
        }
    });
    if copies.is_empty() {
        return copies;
    }
    let mut needed = BTreeSet::new();
    flow::solve(&Stale(&copies), body, BTreeSet::new(), |statement, stale| {
        if !stale.is_empty() {
            let mut uses = Uses::default();
            uses.own(tables, statement);
            needed.extend(uses.variables.intersection(stale).copied());
        }
    });
    copies.retain(|copy, _| !needed.contains(copy));
    copies
}

/// A variable that is a copy of one that may be assigned.
fn copy(tables: &Tables, statement: &Statement<Access, Operation>) -> Option<(VarId, VarId)> {
    let StatementKind::LetIndex(copy, index) = &statement.kind else { return None };
    let Atom::Variable(source, _) = tables.atoms.atom(index.as_atom()?) else { return None };
    let (own, of) = (tables.variable(*copy), tables.variable(*source));
    (of.mutable && !own.mutable && own.kind == of.kind).then_some((*copy, *source))
}
