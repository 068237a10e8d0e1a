//! Positions in a ring: the variables that name a stage and its parity, and are advanced together.
//!
//! ```text
//! if stage == S - 1 { stage = 0; phase = 1 - phase; } else { stage += 1; }        stage = g % S,  phase = (g / S + p) % 2
//! ```
//!
//! Law: the ghost counter `g` is the number of advances, added to the first stage. Its variables are declared once, with numbers,
//! and assigned by such advances alone; of any other variable nothing is said.

use super::sites::Line;
use crate::index::{Atom, AtomId, Atoms, Index, VarId};
use crate::ir::BinaryOp;
use crate::program::{Comparison, StatementKind, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A ring's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub stage: VarId,
    pub phase: Option<VarId>,
    pub stages: i64,
}

/// The positions of a program, by their variables, and the statements that advance them.
#[derive(Debug, Default)]
pub(super) struct Positions {
    of: BTreeMap<VarId, Position>,
    advances: HashMap<*const Line, VarId>,
}

/// The list in which each variable is declared, and its first value.
type Declared = BTreeMap<VarId, (*const Line, Option<i64>)>;

/// The variable whose atom an index is.
fn variable(atoms: &Atoms, index: &Index) -> Option<VarId> {
    match atoms.atom(index.as_atom()?) {
        Atom::Variable(variable, _) => Some(*variable),
        _ => None,
    }
}

/// The variable of an atom, where it is one.
pub(super) fn of_atom(atoms: &Atoms, id: AtomId) -> Option<VarId> {
    variable(atoms, &Index::atom(id))
}

/// What an advance changes.
fn advance(atoms: &Atoms, line: &Line) -> Option<Position> {
    let StatementKind::If(Value::Compare(Comparison { op: BinaryOp::Eq, left, right }), then, otherwise) =
        &line.kind
    else {
        return None;
    };
    let (stage, last) = (variable(atoms, left)?, right.as_constant()?);
    let [next] = &otherwise[..] else { return None };
    let StatementKind::AssignIndex(own, value) = &next.kind else { return None };
    let before = value.plus(-1).ok().and_then(|before| variable(atoms, &before));
    if *own != stage || before != Some(stage) || !(0..i64::from(u16::MAX)).contains(&last) {
        return None;
    }
    let (mut zeroed, mut phase) = (false, None);
    for one in then {
        let StatementKind::AssignIndex(own, value) = &one.kind else { return None };
        if *own == stage && value.as_constant() == Some(0) && !zeroed {
            zeroed = true;
            continue;
        }
        let other = Index::constant(1).sub(value).ok().and_then(|other| variable(atoms, &other));
        if phase.is_some() || other != Some(*own) {
            return None;
        }
        phase = Some(*own);
    }
    zeroed.then_some(Position { stage, phase, stages: last + 1 })
}

impl Positions {
    pub(super) fn new(atoms: &Atoms, body: &[Line]) -> Positions {
        let (mut found, mut other) = (Positions::default(), BTreeSet::new());
        let mut declared = Declared::new();
        found.list(atoms, body, &mut other, &mut declared);
        // Both begin together, at a stage of an even phase.
        let begins = |own: &Position| {
            let (list, first) = declared.get(&own.stage)?;
            let is_first = first.is_some_and(|first| (0..own.stages).contains(&first));
            let phase = own.phase.is_none_or(|phase| declared.get(&phase) == Some(&(*list, Some(0))));
            (is_first && phase && !other.contains(&own.stage)).then_some(())
        };
        // A phase of two positions is none of either.
        let all: Vec<Position> = found.of.values().copied().collect();
        let shared = |phase| all.iter().filter(|one| one.phase == Some(phase)).count() > 1;
        found.of.retain(|stage, own| {
            begins(own).is_some()
                && own.phase.is_none_or(|phase| !other.contains(&phase) && phase != *stage && !shared(phase))
        });
        found.advances.retain(|_, stage| found.of.contains_key(stage));
        found
    }

    fn list(&mut self, atoms: &Atoms, list: &[Line], other: &mut BTreeSet<VarId>, declared: &mut Declared) {
        for line in list {
            if let Some(own) = advance(atoms, line) {
                // Two advances of one stage are of one ring.
                if *self.of.entry(own.stage).or_insert(own) != own {
                    other.insert(own.stage);
                }
                self.advances.insert(std::ptr::from_ref(line), own.stage);
                continue;
            }
            if let StatementKind::LetIndex(variable, index) = &line.kind {
                let own = (list.as_ptr(), index.as_constant());
                if declared.insert(*variable, own).is_some() {
                    other.insert(*variable);
                }
            }
            if let StatementKind::Let(variable, _)
            | StatementKind::Assign(variable, _)
            | StatementKind::AssignIndex(variable, _)
            | StatementKind::For { variable, .. } = &line.kind
            {
                other.insert(*variable);
            }
            line.kind.lists().into_iter().for_each(|list| self.list(atoms, list, other, declared));
        }
    }

    /// The position that a statement advances.
    pub(super) fn advanced(&self, line: *const Line) -> Option<Position> {
        self.of.get(self.advances.get(&line)?).copied()
    }

    /// The position whose stage, or whose phase, a variable is.
    pub(super) fn of(&self, variable: VarId) -> Option<Position> {
        let own = |one: &&Position| one.stage == variable || one.phase == Some(variable);
        self.of.values().find(own).copied()
    }
}
