//! The accesses of a program, each with what holds where it happens: its loops, its branches, its facts.
//!
//! Law: every access that the walk shows is a site. What is found around it can only be too little: a fact that is missing makes
//! a proof fail.

use super::inductions::Inductions;
use super::uniform::Uniform;
use crate::index::{Atom, AtomId, Index, VarId};
use crate::ir::BinaryOp;
use crate::program::{
    Access, AtomicChange, Comparison, Operation, Part, Scope, Space, Statement, StatementKind, Tables,
    Transport, Value, walk,
};
use crate::prove::Facts;
use std::collections::{BTreeSet, HashMap};

pub(super) type Line = Statement<Access, Operation>;

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Read,
    Write,
    /// An atomic operation, between the threads of a scope.
    Atomic {
        scope: Scope,
        writes: bool,
    },
}

impl Way {
    pub(super) fn writes(self) -> bool {
        matches!(self, Way::Write | Way::Atomic { writes: true, .. })
    }
}

/// A branch of an `if` around a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// Which `if`.
    pub number: usize,
    /// Whether its condition holds.
    pub holds: bool,
    /// Whether all threads of the block agree, and those of the grid.
    pub uniform: [bool; 2],
    /// How many loops are around the `if`.
    pub depth: usize,
}

/// An access to global or shared memory.
#[derive(Clone, Debug)]
pub(super) struct Site<'a> {
    pub access: &'a Access,
    pub way: Way,
    pub means: Transport,
    pub statement: *const Line,
    /// The loops around it, the outermost first.
    pub loops: Vec<usize>,
    pub branches: Vec<Branch>,
    /// What is not negative where the access happens.
    pub facts: Vec<Index>,
}

/// A loop's variable, `start + step * round`.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    pub atom: AtomId,
    pub start: Index,
    pub step: Index,
    /// The bound, not reached, and the step as a number: of a `for`.
    pub end: Option<(Index, i64)>,
    pub reversed: bool,
}

/// A loop.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// The loop's own variable, and those that each round adds a number to, once.
    pub counters: Vec<Counter>,
    /// The variables that its body assigns or declares.
    pub changed: BTreeSet<VarId>,
}

/// The sites of a program, its loops, and which of them are around a statement.
#[derive(Debug, Default)]
pub(super) struct Sites<'a> {
    pub sites: Vec<Site<'a>>,
    pub loops: Vec<Loop>,
    pub around: HashMap<*const Line, Vec<usize>>,
    pub number: HashMap<*const Line, usize>,
    branches: usize,
}

struct Finder<'a, 'u> {
    tables: &'a Tables,
    uniform: [&'u Uniform; 2],
    facts: Facts,
    loops: Vec<usize>,
    branches: Vec<Branch>,
    inductions: Inductions,
    found: Sites<'a>,
}

/// Finds them. `facts` hold everywhere; `uniform` is over the threads of a block, and over those of the grid.
pub(super) fn find<'a>(
    tables: &'a Tables,
    facts: &[Comparison],
    uniform: [&Uniform; 2],
    body: &'a [Line],
) -> Sites<'a> {
    let mut known = Facts::default();
    facts.iter().for_each(|fact| known.assume(fact, true));
    let (loops, branches, found) = (Vec::new(), Vec::new(), Sites::default());
    let inductions = Inductions::new(body);
    let mut finder = Finder { tables, uniform, facts: known, loops, branches, inductions, found };
    finder.list(body);
    finder.found
}

impl<'a> Finder<'a, '_> {
    fn assume(&mut self, condition: &Value<Access>, holds: bool) {
        self.facts.assume_condition(&self.tables.atoms, condition, holds);
    }

    fn list(&mut self, list: &'a [Line]) {
        let mark = self.facts.len();
        for line in list {
            self.line(line);
            match &line.kind {
                StatementKind::Assume(condition) => self.assume(condition, true),
                StatementKind::Assert { fails, debug: false, .. } => self.assume(fails, false),
                // Behind `if c { continue; }` the condition does not hold.
                StatementKind::If(condition, then, otherwise) if ends(then) != ends(otherwise) => {
                    self.assume(condition, ends(otherwise));
                }
                _ => {}
            }
        }
        self.facts.truncate(mark);
    }

    fn line(&mut self, line: &'a Line) {
        self.found.around.insert(std::ptr::from_ref(line), self.loops.clone());
        let mark = self.facts.len();
        match &line.kind {
            StatementKind::For { variable, start, end, step, reversed, body, .. } => {
                let atom = self.tables.atoms.find(&Atom::Variable(*variable, 0));
                let counter = atom.map(|atom| {
                    let left = Index::atom(atom);
                    let above = Comparison { op: BinaryOp::Ge, left: left.clone(), right: start.clone() };
                    self.facts.assume(&above, true);
                    self.facts.assume(&Comparison { op: BinaryOp::Lt, left, right: end.clone() }, true);
                    let end = Some((end.clone(), *step));
                    let (start, step) = (start.clone(), Index::constant(*step));
                    Counter { atom, start, step, end, reversed: *reversed }
                });
                self.enter(line, counter, body);
                self.list(body);
                self.loops.pop();
            }
            StatementKind::While(condition, body) => {
                self.enter(line, None, body);
                self.own(line);
                self.assume(condition, true);
                self.list(body);
                self.loops.pop();
            }
            StatementKind::If(condition, then, otherwise) => {
                self.own(line);
                self.found.branches += 1;
                let uniform = self.uniform.map(|level| level.value(self.tables, condition));
                let (number, depth) = (self.found.branches, self.loops.len());
                for (holds, list) in [(true, then), (false, otherwise)] {
                    self.branches.push(Branch { number, holds, uniform, depth });
                    self.assume(condition, holds);
                    self.list(list);
                    self.facts.truncate(mark);
                    self.branches.pop();
                }
            }
            _ => self.own(line),
        }
        self.facts.truncate(mark);
    }

    fn enter(&mut self, line: &'a Line, counter: Option<Counter>, body: &'a [Line]) {
        let mut changed = walk::changed(body);
        if let StatementKind::For { variable, .. } = &line.kind {
            changed.insert(*variable);
        }
        let number = self.found.loops.len();
        self.found.number.insert(std::ptr::from_ref(line), number);
        let mut counters: Vec<Counter> = counter.into_iter().collect();
        counters.extend(self.inductions.of(&self.tables.atoms, self.loops.len(), body));
        self.found.loops.push(Loop { counters, changed });
        self.loops.push(number);
    }

    /// The accesses of a statement itself.
    fn own(&mut self, line: &'a Line) {
        let mut guarded = HashMap::new();
        let mark = self.facts.len();
        line.kind.guard().iter().for_each(|comparison| self.facts.assume(comparison, true));
        values(line, &mut |value| self.value(value, &mut guarded));
        self.facts.truncate(mark);
        let (target, means) = match &line.kind {
            StatementKind::Atomic { target, .. } => (Some(target), Transport::Atomic),
            StatementKind::Operation(operation) => (None, operation.means()),
            _ => (None, Transport::Thread),
        };
        let updated = |access: &Access| target.is_some_and(|target| std::ptr::eq(target, access));
        walk::own(line, &mut |part| {
            let (access, writes) = match part {
                // The write of an atomic operation is its read, too.
                Part::Read(access) if !updated(access) => (access, false),
                Part::Write(access) => (access, true),
                _ => return,
            };
            if self.tables.place(access.place).space == Space::Local {
                return;
            }
            let means = if target.is_some() && !updated(access) { Transport::Thread } else { means };
            let own = guarded.get(&std::ptr::from_ref(access)).cloned();
            let mut facts = Facts::default();
            own.unwrap_or_else(|| self.facts.clone().known()).into_iter().for_each(|fact| facts.add(fact));
            access.mask.iter().for_each(|comparison| facts.assume(comparison, true));
            let way = match &line.kind {
                StatementKind::Atomic { change, scope, .. } if updated(access) => {
                    Way::Atomic { scope: *scope, writes: !matches!(change, AtomicChange::Load(_)) }
                }
                _ if writes => Way::Write,
                _ => Way::Read,
            };
            self.found.sites.push(Site {
                access,
                way,
                means,
                statement: std::ptr::from_ref(line),
                loops: self.loops.clone(),
                branches: self.branches.clone(),
                facts: facts.known(),
            });
        });
    }

    /// Notes what holds where a value reads: the right side of `&&`, and what a choice chooses, are evaluated under a condition.
    fn value(&mut self, value: &'a Value<Access>, guarded: &mut HashMap<*const Access, Vec<Index>>) {
        let mark = self.facts.len();
        match value {
            Value::Constant(_)
            | Value::Argument(..)
            | Value::Variable(_)
            | Value::Index(..)
            | Value::Compare(_) => {}
            Value::Load(access) => {
                guarded.insert(std::ptr::from_ref(&**access), self.facts.clone().known());
            }
            Value::Unary(_, operand) | Value::Cast(_, operand) => self.value(operand, guarded),
            Value::Binary(op, left, right) => {
                self.value(left, guarded);
                if let BinaryOp::And | BinaryOp::Or = op {
                    self.assume(left, *op == BinaryOp::And);
                }
                self.value(right, guarded);
            }
            Value::Math(_, parts) => parts.iter().for_each(|part| self.value(part, guarded)),
            Value::Select(condition, then, otherwise) => {
                self.value(condition, guarded);
                self.assume(condition, true);
                self.value(then, guarded);
                self.facts.truncate(mark);
                self.assume(condition, false);
                self.value(otherwise, guarded);
            }
        }
        self.facts.truncate(mark);
    }
}

/// Whether statements end with leaving the loop around them, or its round.
fn ends(list: &[Line]) -> bool {
    list.last().is_some_and(|last| matches!(last.kind, StatementKind::Break | StatementKind::Continue))
}

/// The values of a statement itself, those in operations left out: they are evaluated under no condition.
fn values<'a>(line: &'a Line, see: &mut impl FnMut(&'a Value<Access>)) {
    match &line.kind {
        StatementKind::Let(_, Some(value))
        | StatementKind::Assign(_, value)
        | StatementKind::Store(_, value)
        | StatementKind::While(value, _)
        | StatementKind::If(value, ..)
        | StatementKind::Assume(value) => see(value),
        StatementKind::Collective(_, _, parts) => parts.iter().for_each(see),
        StatementKind::Atomic { values, .. } => values.iter().for_each(see),
        StatementKind::Let(_, None)
        | StatementKind::LetIndex(..)
        | StatementKind::AssignIndex(..)
        | StatementKind::Operation(_)
        | StatementKind::For { .. }
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Barrier(_)
        | StatementKind::SetMaxRegisters { .. }
        | StatementKind::Print(_)
        | StatementKind::Assert { .. }
        | StatementKind::Signal(_) => {}
    }
}
