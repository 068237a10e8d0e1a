//! Which threads of the block take a branch.
//!
//! Law: a condition has a set of threads only where each thread's answer follows from its number alone; `elect_one` chooses one
//! lane of each warp, the same one each time.

use super::sites::Line;
use crate::index::{Atom, AtomId, Atoms, Index, VarId};
use crate::ir::{BinaryOp, Special, UnaryOp};
use crate::program::{Access, Collective, Part, StatementKind, Value, walk};
use std::collections::{BTreeSet, HashMap};

/// A set of threads, by their numbers in the block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Threads {
    pub set: Vec<bool>,
    /// Whether the first lane of a warp is a name for the one that `elect_one` chooses.
    pub elected: bool,
    /// Whether numbers of lanes and elected ones are mixed: then nothing is said of which they are.
    pub mixed: bool,
}

impl Threads {
    pub(super) fn count(&self) -> usize {
        self.set.iter().filter(|own| **own).count()
    }

    /// The threads of both.
    pub(super) fn both(&self, other: &Threads) -> Threads {
        let by_warps = |one: &Threads| one.set.chunks(32).all(|warp| warp.iter().all(|own| *own == warp[0]));
        let fits = |a: &Threads, b: &Threads| a.elected == b.elected || a.elected && by_warps(b);
        Threads {
            set: self.set.iter().zip(&other.set).map(|(a, b)| *a && *b).collect(),
            elected: self.elected || other.elected,
            mixed: self.mixed || other.mixed || !fits(self, other) && !fits(other, self),
        }
    }

    /// Whether all of them are surely among others.
    pub(super) fn are_among(&self, others: &Threads) -> bool {
        let alike = self.elected == others.elected && !self.mixed && !others.mixed;
        let all = others.set.iter().all(|own| *own) && !others.mixed;
        all || alike && self.set.iter().zip(&others.set).all(|(own, other)| !own || *other)
    }

    /// Whether both are the same single thread.
    pub(super) fn are_one(&self, other: &Threads) -> bool {
        self == other && !self.mixed && self.count() == 1
    }
}

/// The truth values of a program that are declared once.
#[derive(Debug, Default)]
pub(super) struct Conditions<'a> {
    means: HashMap<VarId, &'a Value<Access>>,
    elected: BTreeSet<VarId>,
    block: [i64; 3],
}

impl<'a> Conditions<'a> {
    pub(super) fn new(body: &'a [Line], block: [i64; 3]) -> Conditions<'a> {
        let mut found = Conditions { block, ..Conditions::default() };
        let (mut seen, mut again) = (BTreeSet::new(), BTreeSet::new());
        walk::statements(body, &mut |part| {
            let Part::Statement(line) = part else { return };
            let variable = match &line.kind {
                StatementKind::Let(variable, value) => {
                    found.means.extend(value.iter().map(|value| (*variable, value)));
                    *variable
                }
                StatementKind::Collective(variable, Collective::ElectOne, _) => {
                    found.elected.insert(*variable);
                    *variable
                }
                StatementKind::Assign(variable, _) | StatementKind::Collective(variable, ..) => *variable,
                _ => return,
            };
            if !seen.insert(variable) {
                again.insert(variable);
            }
        });
        found.means.retain(|variable, _| !again.contains(variable));
        found.elected.retain(|variable| !again.contains(variable));
        found
    }

    /// All threads.
    pub(super) fn all(&self) -> Threads {
        let count = self.block.iter().fold(1i64, |all, one| all.saturating_mul((*one).max(1)));
        let set = vec![true; usize::try_from(count.min(1024)).unwrap_or(0)];
        Threads { set, elected: false, mixed: false }
    }

    /// The threads for which a condition holds, or does not.
    pub(super) fn set(&self, atoms: &Atoms, condition: &Value<Access>, holds: bool) -> Option<Threads> {
        let all = self.all();
        if let Value::Variable(variable) = condition
            && self.elected.contains(variable)
        {
            let set = (0..all.set.len()).map(|thread| (thread % 32 == 0) == holds).collect();
            return Some(Threads { set, elected: true, mixed: false });
        }
        let of = |thread: usize| self.decide(atoms, condition, thread as i64).map(|own| own == holds);
        let set: Option<Vec<bool>> = (0..all.set.len()).map(of).collect();
        Some(Threads { set: set?, ..all })
    }

    fn index(&self, atoms: &Atoms, index: &Index, thread: i64) -> Option<i64> {
        index.evaluate(&mut |id| self.atom(atoms, id, thread))
    }

    fn atom(&self, atoms: &Atoms, id: AtomId, thread: i64) -> Option<i64> {
        let [x, y, _] = self.block.map(|extent| extent.max(1));
        match atoms.atom(id) {
            Atom::Special(Special::ThreadIdx, 0) => Some(thread % x),
            Atom::Special(Special::ThreadIdx, 1) => Some(thread / x % y),
            Atom::Special(Special::ThreadIdx, _) => Some(thread / x / y),
            atom @ Atom::Variable(..) if atom.is_leaf() => {
                self.index(atoms, atoms.facts(id).definition.as_ref()?, thread)
            }
            atom if atom.is_leaf() => None,
            compound => compound.evaluate(|part| self.index(atoms, part, thread)),
        }
    }

    fn decide(&self, atoms: &Atoms, condition: &Value<Access>, thread: i64) -> Option<bool> {
        let of = |value: &Value<Access>| self.decide(atoms, value, thread);
        match condition {
            Value::Constant(constant) => Some(constant.bits != 0),
            Value::Variable(variable) => of(self.means.get(variable).copied()?),
            Value::Compare(one) => {
                let [left, right] = [&one.left, &one.right].map(|side| self.index(atoms, side, thread));
                let (left, right) = (left?, right?);
                match one.op {
                    BinaryOp::Eq => Some(left == right),
                    BinaryOp::Ne => Some(left != right),
                    BinaryOp::Lt => Some(left < right),
                    BinaryOp::Le => Some(left <= right),
                    BinaryOp::Gt => Some(left > right),
                    BinaryOp::Ge => Some(left >= right),
                    _ => None,
                }
            }
            Value::Unary(UnaryOp::Not, inner) => of(inner).map(|holds| !holds),
            Value::Binary(BinaryOp::And | BinaryOp::BitAnd, left, right) => Some(of(left)? && of(right)?),
            Value::Binary(BinaryOp::Or | BinaryOp::BitOr, left, right) => Some(of(left)? || of(right)?),
            Value::Argument(..)
            | Value::Index(..)
            | Value::Load(_)
            | Value::Unary(..)
            | Value::Binary(..)
            | Value::Cast(..)
            | Value::Math(..)
            | Value::Select(..) => None,
        }
    }
}
