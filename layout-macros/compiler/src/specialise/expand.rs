//! Full unrolling: a loop that is written out round by round, with a number for its variable.
//!
//! Law: a value that must be known at compile time may depend on the variables of the enclosing `unroll`s. An
//! unrolled loop stays a loop, as a person would write it, until an expression in its body needs its variable as a
//! number. Then the evaluation of the body is discarded and repeated for each round.

use super::datum::{Binding, StaticValue};
use super::evaluator::{Evaluator, Outcome, Owner, TileStatement};
use super::tile::TileAccess;
use crate::elem::{Constant, Elem};
use crate::index::{Atom, AtomId, Index, Range, VarId};
use crate::ir::{Block, LocalId, Seen, StatementKind as Ast};
use crate::origin::Errors;
use crate::program::{Tables, Value};
use crate::prove::Facts;
use std::collections::HashMap;

/// The most indices of one value that are followed.
const MAX_DECIDING: usize = 16;

/// The state before an evaluation that the evaluation changes.
struct Checkpoint {
    tables: Tables,
    errors: Errors,
    bindings: HashMap<LocalId, Binding>,
    versions: HashMap<VarId, u32>,
    bounded: HashMap<VarId, i64>,
    ranges: HashMap<VarId, (Range, bool)>,
    undecided: HashMap<VarId, Option<f64>>,
    copies: Vec<(VarId, VarId)>,
    decided: Vec<(VarId, f64, Elem)>,
    later: HashMap<VarId, Vec<VarId>>,
    owners: HashMap<VarId, Owner>,
    intervals: HashMap<VarId, Range>,
    present: HashMap<VarId, Range>,
    deciding: HashMap<VarId, Vec<Index>>,
    facts: Facts,
    shared_bytes: u64,
}

impl Evaluator<'_> {
    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            tables: self.tables.clone(),
            errors: self.errors.clone(),
            bindings: self.bindings.clone(),
            versions: self.versions.clone(),
            bounded: self.bounded.clone(),
            ranges: self.ranges.clone(),
            undecided: self.undecided.clone(),
            copies: self.copies.clone(),
            decided: self.decided.clone(),
            later: self.later.clone(),
            owners: self.owners.clone(),
            intervals: self.intervals.clone(),
            present: self.present.clone(),
            deciding: self.deciding.clone(),
            // What names mean: the numbers of variables that are taken back are used again.
            facts: self.facts.clone(),
            shared_bytes: self.shared_bytes,
        }
    }

    fn take_back(&mut self, before: Checkpoint) {
        self.tables = before.tables;
        self.errors = before.errors;
        self.bindings = before.bindings;
        self.versions = before.versions;
        self.bounded = before.bounded;
        self.ranges = before.ranges;
        self.undecided = before.undecided;
        self.copies = before.copies;
        self.decided = before.decided;
        self.later = before.later;
        self.owners = before.owners;
        self.intervals = before.intervals;
        self.present = before.present;
        self.deciding = before.deciding;
        self.facts = before.facts;
        self.shared_bytes = before.shared_bytes;
    }

    /// Evaluates the body of an unrolled loop with its variable still a variable. `None` where the body asked for it: then it
    /// was evaluated for each of `rounds`, and the loop is written out.
    pub(super) fn unrolled_body(
        &mut self,
        (local, var, of, unroll): (LocalId, VarId, Option<Elem>, bool),
        body: &Block,
        rounds: impl Iterator<Item = i64>,
    ) -> Option<(Vec<TileStatement>, Outcome<StaticValue>)> {
        if self.leaves(body) {
            // A `break` needs its loop.
            return Some(self.round(body));
        }
        let before = self.checkpoint();
        self.unrolled.push((var, unroll));
        let evaluated = self.round(body);
        self.unrolled.pop();
        if self.asked != Some(var) {
            return Some(evaluated);
        }
        self.asked = None;
        self.take_back(before);
        for round in rounds {
            let number = match of.and_then(|elem| Constant::integer(elem, i128::from(round))) {
                None => StaticValue::Index(Index::constant(round)),
                Some(constant) => StaticValue::Scalar(Value::Constant(constant), constant.elem),
            };
            self.bindings.insert(local, Binding::Value(number));
            // Its errors are reported; the other rounds have their own.
            if self.block(body).is_err() || self.asked.is_some() {
                break;
            }
        }
        None
    }

    /// Whether these indices would be numbers if unrolled loops around were written out; asks for the outermost of them.
    pub(super) fn ask(&mut self, indices: &[&Index]) -> bool {
        self.ask_loops(indices, false)
    }

    /// The same of an element of an array, which asks short loops without `unroll` too: registers have no addresses.
    pub(super) fn request_unroll_of_element(&mut self, index: &Index) -> bool {
        self.ask_loops(&[index], true)
    }

    fn ask_loops(&mut self, indices: &[&Index], short: bool) -> bool {
        let mut found = None;
        let known = indices.iter().all(|index| self.only_unrolled(index, short, &mut found));
        match found {
            Some(place) if known => {
                let before = self.asked.and_then(|var| self.unrolled.iter().position(|known| known.0 == var));
                self.asked = Some(self.unrolled[before.map_or(place, |before| before.min(place))].0);
                true
            }
            _ => false,
        }
    }

    /// The same of a condition.
    pub(super) fn ask_condition(&mut self, condition: &Value<TileAccess>) -> bool {
        let mut indices = Vec::new();
        self.compared(condition, &mut indices) && self.ask(&indices.iter().collect::<Vec<_>>())
    }

    /// The indices that a condition compares; false where it is made of anything else.
    fn compared(&self, condition: &Value<TileAccess>, out: &mut Vec<Index>) -> bool {
        match condition {
            Value::Compare(_) | Value::Constant(_) | Value::Variable(_) => self.decided_by(condition, out),
            Value::Unary(_, a) => self.compared(a, out),
            Value::Binary(_, a, b) => self.compared(a, out) && self.compared(b, out),
            _ => false,
        }
    }

    /// Notes what decides a variable that gets its value from these alone, as that of an `if` from its condition and its branches.
    pub(super) fn decides(&mut self, var: VarId, values: &[&Value<TileAccess>], indices: &[&Index]) {
        let mut found: Vec<Index> = indices.iter().map(|index| (*index).clone()).collect();
        if values.iter().all(|value| self.decided_by(value, &mut found)) {
            self.deciding.insert(var, found);
        }
    }

    /// The indices that a value is computed of; false where something else decides it, or more of them than are followed.
    fn decided_by(&self, value: &Value<TileAccess>, out: &mut Vec<Index>) -> bool {
        let add = |index: &Index, out: &mut Vec<Index>| {
            if !out.contains(index) {
                out.push(index.clone());
            }
        };
        let pure = match value {
            Value::Constant(_) => true,
            Value::Index(index, _) => {
                add(index, out);
                true
            }
            Value::Compare(comparison) => {
                add(&comparison.left, out);
                add(&comparison.right, out);
                true
            }
            Value::Variable(var) => match self.deciding.get(var) {
                Some(indices) => {
                    indices.iter().for_each(|index| add(index, out));
                    true
                }
                None => false,
            },
            Value::Unary(_, operand) | Value::Cast(_, operand) => self.decided_by(operand, out),
            Value::Binary(_, left, right) => self.decided_by(left, out) && self.decided_by(right, out),
            Value::Select(condition, then, otherwise) => {
                [condition, then, otherwise].into_iter().all(|part| self.decided_by(part, out))
            }
            Value::Math(_, parts) => parts.iter().all(|part| self.decided_by(part, out)),
            Value::Argument(..) | Value::Load(_) => false,
        };
        pure && out.len() <= MAX_DECIDING
    }

    /// Whether a block leaves, or begins anew, the loop around it.
    pub(super) fn leaves(&self, block: &Block) -> bool {
        let mut found = false;
        self.kernel.each_statement(block, &mut |seen| {
            let Seen::Statement(statement) = seen else { return true };
            found |= matches!(statement.kind, Ast::Break | Ast::Continue);
            // Those of loops inside are their own.
            !matches!(statement.kind, Ast::For { .. } | Ast::While { .. })
        });
        found
    }

    /// Whether the index is made of numbers and variables of loops under `unroll` only, also of such as a `break` leaves.
    pub(super) fn is_made_of_unrolled(&self, index: &Index) -> bool {
        let Ok(expanded) = self.tables.atoms.expand(index) else { return false };
        expanded.atoms().all(|atom| match self.tables.atoms.atom(atom) {
            Atom::Variable(var, 0) => self.unrolls.contains(var),
            Atom::Special(..)
            | Atom::Dim { .. }
            | Atom::Stride { .. }
            | Atom::Argument(_)
            | Atom::Variable(..) => false,
            compound => compound.parts().all(|part| self.is_made_of_unrolled(part)),
        })
    }

    /// Whether the index is made of numbers and variables of unrolled loops only; `found` is the outermost so far.
    fn only_unrolled(&self, index: &Index, short: bool, found: &mut Option<usize>) -> bool {
        index.atoms().all(|atom| self.atom_only_unrolled(atom, short, found))
    }

    fn atom_only_unrolled(&self, atom: AtomId, short: bool, found: &mut Option<usize>) -> bool {
        match self.tables.atoms.atom(atom) {
            Atom::Variable(var, 0) => {
                let mut loops = self.unrolled.iter();
                if let Some(place) = loops.position(|(known, unroll)| known == var && (short || *unroll)) {
                    *found = Some(found.map_or(place, |known| known.min(place)));
                    return true;
                }
                if let Some(indices) = self.deciding.get(var) {
                    return indices.iter().all(|index| self.only_unrolled(index, short, found));
                }
                let definition = &self.tables.atoms.facts(atom).definition;
                definition.as_ref().is_some_and(|index| self.only_unrolled(index, short, found))
            }
            compound => compound.parts().all(|part| self.only_unrolled(part, short, found)),
        }
    }
}
