//! Placement of local arrays: each is declared in the innermost statement list that holds every use of it.
//!
//! A local place lives as long as the thread. So its declaration may be in a loop only if an iteration never reads
//! what an earlier one wrote: the loop's body writes every element before it reads one. Law: with this placement,
//! each read returns the element that was written last, as if all arrays were declared at the function's head.

use crate::index::{Atom, AtomId, Atoms, Index, VarId};
use crate::program::{
    Access, Control, Operation, Part, PlaceId, Statement, StatementKind, Tables, Value, VariableKind, walk,
};
use std::collections::{BTreeSet, HashMap};

type List = [Statement<Access, Operation>];

/// Rounds of unrolled loops that are followed before the proof is given up.
const MOST_ROUNDS: u32 = 1 << 14;

/// Whether a statement uses a place.
pub(super) fn uses(statement: &Statement<Access, Operation>, place: PlaceId, tables: &Tables) -> bool {
    let mut found = false;
    walk::statement(statement, &mut |part| match part {
        Part::Read(access) | Part::Write(access) => found |= access.place == place,
        Part::Declared(variable) => {
            found |= tables.variable(variable).kind == VariableKind::Pointer(place);
        }
        _ => {}
    });
    found
}

/// The alignment that a local array needs for the vectors that move through it, bytes.
pub(super) fn alignment(list: &List, place: PlaceId, tables: &Tables) -> u32 {
    let bytes = tables.place(place).elem.bytes();
    let mut most = bytes;
    walk::statements(list, &mut |part| match part {
        Part::Read(access) | Part::Write(access) if access.place == place => {
            most = most.max(access.width * bytes)
        }
        _ => {}
    });
    most
}

/// The number of the nested list of `statement` (a loop's body, an `if`'s branches) in which `place` may be declared,
/// given that no other statement uses it.
pub(super) fn inner_list(
    statement: &Statement<Access, Operation>,
    place: PlaceId,
    tables: &Tables,
) -> Option<usize> {
    let used = |list: &List| list.iter().any(|inner| uses(inner, place, tables));
    // A condition is evaluated outside of the lists.
    if let StatementKind::While(condition, _) | StatementKind::If(condition, ..) = &statement.kind
        && reads(condition, place)
    {
        return None;
    }
    match statement.kind.control() {
        Control::Loop(body) => written_first(body, place, tables).then_some(0),
        Control::Branch(then, otherwise) => match (used(then), used(otherwise)) {
            (true, false) => Some(0),
            (false, true) => Some(1),
            (true, true) | (false, false) => None,
        },
        Control::Leave | Control::Straight => None,
    }
}

fn reads(value: &Value<Access>, place: PlaceId) -> bool {
    let mut found = false;
    walk::value(value, &mut |part| {
        if let Part::Read(access) = part {
            found |= access.place == place;
        }
    });
    found
}

/// Whether every read of the place in the list is of what the same run of the list wrote.
fn written_first(list: &List, place: PlaceId, tables: &Tables) -> bool {
    let mut users = list.iter().filter(|statement| uses(statement, place, tables));
    if let (Some(only), None) = (users.next(), users.next())
        && let Some(number) = inner_list(only, place, tables)
    {
        let written = match only.kind.control() {
            // Of a loop, `inner_list` has asked for just this.
            Control::Loop(_) => true,
            Control::Branch(then, otherwise) => {
                written_first(if number == 0 { then } else { otherwise }, place, tables)
            }
            Control::Leave | Control::Straight => false,
        };
        if written {
            return true;
        }
    }
    let (written, values) = (BTreeSet::new(), HashMap::new());
    let mut cover = Cover { place, tables, written, values, rounds: MOST_ROUNDS };
    for statement in list {
        if cover.run(statement).is_none() {
            return false;
        }
        if cover.complete() {
            return true;
        }
    }
    false
}

/// Follows straight-line code with unrolled loops and gathers what is written for certain.
struct Cover<'a> {
    place: PlaceId,
    tables: &'a Tables,
    written: BTreeSet<i64>,
    values: HashMap<VarId, i64>,
    rounds: u32,
}

impl Cover<'_> {
    fn complete(&self) -> bool {
        self.written.len() as u64 >= self.tables.place(self.place).len
    }

    /// `None` where the place is read, or nothing more can be said.
    fn run(&mut self, statement: &Statement<Access, Operation>) -> Option<()> {
        if self.complete() {
            return Some(());
        }
        self.rounds = self.rounds.checked_sub(1)?;
        if !uses(statement, self.place, self.tables) {
            return (!statement.kind.leaves()).then_some(());
        }
        if let StatementKind::Store(target, stored) = &statement.kind {
            return if reads(stored, self.place) { None } else { self.write(target) };
        }
        if let StatementKind::Operation(Operation::Move { destination, source }) = &statement.kind {
            return if source.place == self.place { None } else { self.write(destination) };
        }
        if let StatementKind::Operation(Operation::LoadMatrix(load)) = &statement.kind {
            return self.write(&load.destination);
        }
        // What else uses the place may read it, or write it in some rounds only.
        let StatementKind::For { variable, start, end, step, unroll: true, body, .. } = &statement.kind
        else {
            return None;
        };
        let (start, end) = (self.evaluate(start)?, self.evaluate(end)?);
        let mut value = start;
        while value < end {
            self.values.insert(*variable, value);
            for inner in body {
                self.run(inner)?;
            }
            value = value.checked_add(*step)?;
        }
        self.values.remove(variable);
        Some(())
    }

    fn write(&mut self, target: &Access) -> Option<()> {
        if !target.mask.is_empty() || target.pointer.is_some() {
            return None;
        }
        let first = self.evaluate(&target.index)?;
        self.written.extend((0..i64::from(target.width)).filter_map(|i| first.checked_add(i)));
        Some(())
    }

    fn evaluate(&self, index: &Index) -> Option<i64> {
        index.evaluate(&mut |id| self.atom(&self.tables.atoms, id))
    }

    fn atom(&self, atoms: &Atoms, id: AtomId) -> Option<i64> {
        let of = |index: &Index| index.evaluate(&mut |inner| self.atom(atoms, inner));
        match atoms.atom(id) {
            Atom::Variable(variable, _) => self.values.get(variable).copied(),
            compound => compound.evaluate(of),
        }
    }
}
