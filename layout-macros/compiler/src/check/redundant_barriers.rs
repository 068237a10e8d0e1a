//! Redundant barrier elimination: the barrier at the end of a collective of the block goes where no thread writes the collective's
//! scratch memory again before another barrier.
//!
//! ```text
//! if lane == 0 { of_warps[warp] = sum }    barrier    total = of_warps[0] + of_warps[1] + ..    barrier
//! ```
//!
//! Law: the first barrier orders all accesses before the collective with all after it, but for the loads of the scratch memory between
//! both. So the second one orders only these loads with a later write to the same bytes; where no path leads to one, it is redundant.

use super::lower::Out;
use crate::program::{
    Access, Operation, Part, Participants, PlaceId, Space, Statement, StatementKind, Tables,
    flow::{self, Analysis},
    walk,
};
use std::collections::{BTreeSet, HashMap};

type Line = Statement<Access, Operation>;

/// The scratch memory that threads may still be loading from, as if no collective ended with a barrier.
struct Loading {
    ends: HashMap<*const Line, PlaceId>,
}

impl Analysis for Loading {
    type State = BTreeSet<PlaceId>;

    fn transfer(&self, line: &Line, loading: &mut BTreeSet<PlaceId>) {
        if let Some(place) = self.ends.get(&std::ptr::from_ref(line)) {
            loading.insert(*place);
        } else if let StatementKind::Barrier(
            Participants::Block | Participants::Cluster | Participants::Grid,
        ) = line.kind
        {
            loading.clear();
        }
    }
}

/// Removes them.
pub(super) fn remove(tables: &Tables, body: &mut Out) {
    if tables.scratch.is_empty() {
        return;
    }
    let mut loading = Loading { ends: HashMap::new() };
    ends(tables, body, &mut |line, place| {
        loading.ends.insert(std::ptr::from_ref(line), place);
    });
    let mut needed = BTreeSet::new();
    flow::solve(&loading, body, BTreeSet::new(), |line, loading| {
        walk::own(line, &mut |part| {
            if let Part::Write(access) = part {
                needed.extend(loading.iter().filter(|place| overlap(tables, **place, access.place)));
            }
        });
    });
    drop_ends(tables, body, &needed);
}

/// The scratch memory that a statement loads from.
fn loaded(tables: &Tables, line: &Line) -> Option<PlaceId> {
    if !matches!(line.kind, StatementKind::Let(..) | StatementKind::Collective(..)) {
        return None;
    }
    let mut found = None;
    walk::own(line, &mut |part| {
        if let Part::Read(access) = part
            && tables.scratch.contains(&access.place)
        {
            found = Some(access.place);
        }
    });
    found
}

/// Whether the second of two neighbours ends the collective whose scratch memory the first one loads from.
fn end(tables: &Tables, pair: [&Line; 2]) -> Option<PlaceId> {
    let is_barrier = matches!(pair[1].kind, StatementKind::Barrier(Participants::Block));
    loaded(tables, pair[0]).filter(|_| is_barrier)
}

/// Shows the barriers that end collectives.
fn ends<'a>(tables: &Tables, list: &'a [Line], see: &mut impl FnMut(&'a Line, PlaceId)) {
    for pair in list.windows(2) {
        if let Some(place) = end(tables, [&pair[0], &pair[1]]) {
            see(&pair[1], place);
        }
    }
    for line in list {
        line.kind.lists().into_iter().for_each(|list| ends(tables, list, see));
    }
}

/// Removes those that are not needed.
fn drop_ends(tables: &Tables, list: &mut Out, needed: &BTreeSet<PlaceId>) {
    for at in (1..list.len()).rev() {
        if end(tables, [&list[at - 1], &list[at]]).is_some_and(|place| !needed.contains(&place)) {
            list.remove(at);
        }
    }
    for line in list {
        line.kind.lists_mut().into_iter().for_each(|list| drop_ends(tables, list, needed));
    }
}

/// Whether a write to a place may be to the bytes of scratch memory.
fn overlap(tables: &Tables, scratch: PlaceId, written: PlaceId) -> bool {
    let bytes = |id: PlaceId| {
        let place = tables.place(id);
        let Space::Shared { byte_offset } = place.space else { return None };
        let from = u64::from(byte_offset);
        Some((from, from.saturating_add(place.len.saturating_mul(u64::from(place.elem.bytes())))))
    };
    match (bytes(scratch), bytes(written)) {
        (Some((from, to)), Some((other, end))) => from < end && other < to,
        _ => matches!(tables.place(written).space, Space::Remote { .. }),
    }
}
