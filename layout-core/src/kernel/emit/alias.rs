//! Copies of variables that need no name of their own.
//!
//! Law: `long long v = k;` may be left out, and `k` read instead of `v`, where nothing reads `v` after `k` is assigned, and
//! nothing assigns `v`.

use crate::kernel::index::{Atom, VarId};
use crate::kernel::program::{Access, Operation, Part, Space, Statement, StatementKind, Tables, walk};
use std::collections::BTreeMap;

/// For each such copy the variable that is read for it.
pub(super) fn copies(
    tables: &Tables,
    list: &[Statement<Access, Operation>],
    out: &mut BTreeMap<VarId, VarId>,
) {
    for (number, statement) in list.iter().enumerate() {
        if let StatementKind::LetIndex(copy, index) = &statement.kind
            && let Some(id) = index.as_atom()
            && let Atom::Variable(source, _) = tables.atoms.atom(id)
            && tables.variable(*source).mutable
            && !tables.variable(*copy).mutable
            && tables.variable(*source).kind == tables.variable(*copy).kind
            // Who lies in another block is read with each of its elements.
            && !tables.places.iter().any(|place| matches!(place.space, Space::Remote { rank, .. } if rank == *copy))
        {
            let later = &list[number + 1..];
            let first = later.iter().position(|one| assigns(one, *source)).unwrap_or(later.len());
            if !later[first..].iter().any(|one| reads(tables, one, *copy)) {
                out.insert(*copy, *source);
            }
        }
        statement.kind.lists().into_iter().for_each(|list| copies(tables, list, out));
    }
}

fn assigns(statement: &Statement<Access, Operation>, variable: VarId) -> bool {
    let mut found = false;
    walk::statement(statement, &mut |part| found |= matches!(part, Part::Assigned(one) if one == variable));
    found
}

fn reads(tables: &Tables, statement: &Statement<Access, Operation>, variable: VarId) -> bool {
    let mut found = false;
    walk::statement(statement, &mut |part| {
        if let Part::Index(index) | Part::Bound(_, index) = part {
            tables.atoms.each(index, &mut |id| {
                found |= matches!(tables.atoms.atom(id), Atom::Variable(one, _) if *one == variable);
            });
        }
    });
    found
}
