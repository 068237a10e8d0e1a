//! Two instances of accesses over one set of atoms: what both threads agree on is one atom, what they may not is two.
//!
//! ```text
//! a: tile[thread_idx.x + 32 * k]      of one thread
//! b: tile[thread_idx.x' + 32 * k']    of another one; the block's `k` of a common round is the same atom in both
//! ```
//!
//! Law: an atom is common only where both instances give it one value: a uniform one, read in the same rounds of all loops that
//! change it. A loop's counter is `start + step * round`.

use super::phases::Relation;
use super::sites::{Loop, Site};
use super::uniform::Uniform;
use crate::index::{Atom, AtomId, Atoms, Index, IndexOverflow, Range, VarId};
use crate::ir::Special;
use crate::program::{Access, StatementKind, Tables};
use crate::program::{Part, walk};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Variables of the proofs, beyond those of the program.
const PRIMED: u32 = 1 << 31;
/// Ghost counters, which no statement assigns.
const GHOSTS: u32 = 3 << 30;
/// The most that one counts to.
const MOST_COUNTED: i128 = 1 << 60;

/// The atoms of a program and those of the proofs.
pub(super) struct Names {
    pub atoms: Atoms,
    /// The element that each pointer names.
    pointers: HashMap<VarId, Option<Index>>,
    made: HashMap<(AtomId, u8), AtomId>,
    ghosts: u32,
}

/// Which of the two instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    A,
    B,
}

/// What two instances have in common.
pub(super) struct Common<'c> {
    pub loops: &'c [Loop],
    pub uniform: &'c Uniform,
    /// Whether both are of one block.
    pub same_block: bool,
    /// Whether induction variables are expressed by rounds.
    pub rounds: bool,
    /// The loops around both, with the rounds from one to the other.
    pub around: Vec<(usize, Option<i64>)>,
}

impl<'c> Common<'c> {
    pub(super) fn new(
        loops: &'c [Loop],
        uniform: &'c Uniform,
        same_block: bool,
        pair: (&Site<'_>, &Site<'_>),
        relation: &Relation,
    ) -> Common<'c> {
        let around = common(pair.0, pair.1).into_iter().zip(relation.iter().copied()).collect();
        Common { loops, uniform, same_block, rounds: true, around }
    }

    /// Whether a variable has one value in both.
    fn variable(&self, variable: VarId) -> bool {
        let changes = |number: usize| self.loops[number].changed.contains(&variable);
        let elsewhere = (0..self.loops.len()).filter(|number| changes(*number));
        let mut changing = elsewhere.map(|number| self.around.iter().find(|(own, _)| *own == number));
        self.uniform.variable(variable) && changing.all(|own| own.is_some_and(|(_, shift)| *shift == Some(0)))
    }
}

/// The loops around both, the outermost first.
pub(super) fn common(a: &Site<'_>, b: &Site<'_>) -> Vec<usize> {
    a.loops.iter().zip(&b.loops).take_while(|(a, b)| a == b).map(|(number, _)| *number).collect()
}

type Fallible<T> = Result<T, IndexOverflow>;

impl Names {
    pub(super) fn new(tables: &Tables, body: &[super::sites::Line]) -> Names {
        let mut pointers = HashMap::new();
        walk::statements(body, &mut |part| {
            if let Part::Statement(line) = part
                && let StatementKind::LetIndex(variable, index) = &line.kind
                && !tables.variable(*variable).mutable
            {
                let one = Some(index.clone());
                let known = pointers.entry(*variable).or_insert_with(|| one.clone());
                // Declared twice it names two elements.
                if *known != one {
                    *known = None;
                }
            }
        });
        Names { atoms: tables.atoms.clone(), pointers, made: HashMap::new(), ghosts: 0 }
    }

    /// The element of an access, from its place's first one on. `None` where its pointer is not known.
    pub(super) fn element(&self, access: &Access) -> Option<Index> {
        match access.pointer {
            None => Some(access.index.clone()),
            Some(pointer) => self.pointers.get(&pointer)?.as_ref()?.add(&access.index).ok(),
        }
    }

    fn make(&mut self, of: AtomId, kind: u8, range: Range, divisor: i64) -> AtomId {
        if let Some(known) = self.made.get(&(of, kind)) {
            return *known;
        }
        let variable = VarId(PRIMED + self.made.len() as u32);
        let made = self.atoms.intern(Atom::Variable(variable, 0), range, divisor, None);
        self.made.insert((of, kind), made);
        made
    }

    /// A new ghost counter; an unknown one may be negative.
    pub(super) fn ghost(&mut self, unknown: bool) -> AtomId {
        self.ghosts += 1;
        let range = Range::new(if unknown { -MOST_COUNTED } else { 0 }, MOST_COUNTED);
        self.atoms.intern(Atom::Variable(VarId(GHOSTS + self.ghosts), 0), range, 1, None)
    }

    /// Whether a variable is a ghost counter.
    pub(super) fn is_ghost(variable: VarId) -> bool {
        variable.0 > GHOSTS
    }

    /// The round of a loop's variable, where an instance is expressed by it.
    pub(super) fn round(&self, counter: AtomId) -> Option<AtomId> {
        self.made.get(&(counter, 1)).copied()
    }

    /// The atom of the second instance that is not the first one's.
    fn primed(&mut self, id: AtomId) -> AtomId {
        let (range, divisor) = (self.atoms.facts(id).range, self.atoms.facts(id).divisor);
        self.make(id, 0, range, divisor)
    }
}

/// One of the two instances, under way.
pub(super) struct Instance<'n, 'c> {
    pub names: &'n mut Names,
    pub common: &'n Common<'c>,
    pub side: Side,
    images: BTreeMap<AtomId, Index>,
    /// The leaves that are this instance's own.
    pub own: BTreeSet<AtomId>,
    /// Of those that differ: the first instance's, and the second one's.
    pub differing: BTreeMap<AtomId, AtomId>,
}

impl<'n, 'c> Instance<'n, 'c> {
    pub(super) fn new(names: &'n mut Names, common: &'n Common<'c>, side: Side) -> Instance<'n, 'c> {
        let (images, own, differing) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Instance { names, common, side, images, own, differing }
    }

    /// An index in this instance, every name replaced by its meaning.
    pub(super) fn index(&mut self, index: &Index) -> Fallible<Index> {
        let ids: Vec<AtomId> = index.atoms().collect();
        for id in ids {
            self.atom(id)?;
        }
        let images: Vec<(AtomId, Index)> =
            self.images.iter().map(|(id, index)| (*id, index.clone())).collect();
        self.names.atoms.replace(index, &images)
    }

    /// Finds the images of an atom's leaves and names.
    fn atom(&mut self, id: AtomId) -> Fallible<()> {
        if self.images.contains_key(&id) {
            return Ok(());
        }
        let facts = self.names.atoms.facts(id).clone();
        let image = match (&facts.definition, &facts.atom) {
            (Some(definition), _) => self.index(definition)?,
            (None, Atom::Special(Special::ThreadIdx, _)) => self.differs(id),
            (None, Atom::Special(Special::BlockIdx, _)) if !self.common.same_block => self.differs(id),
            (None, Atom::Variable(variable, _)) => self.variable(id, *variable)?,
            (None, atom) if atom.is_leaf() => Index::atom(id),
            (None, atom) => {
                let parts: Vec<Index> = atom.parts().cloned().collect();
                for part in &parts {
                    for id in part.atoms().collect::<Vec<_>>() {
                        self.atom(id)?;
                    }
                }
                return Ok(());
            }
        };
        self.images.insert(id, image);
        Ok(())
    }

    fn differs(&mut self, id: AtomId) -> Index {
        let primed = self.names.primed(id);
        self.differing.insert(id, primed);
        let own = if self.side == Side::A { id } else { primed };
        self.own.insert(own);
        Index::atom(own)
    }

    fn variable(&mut self, id: AtomId, variable: VarId) -> Fallible<Index> {
        // A counter is each thread's own.
        if Names::is_ghost(variable) {
            return Ok(self.differs(id));
        }
        let counts = |one: &Loop| one.counters.iter().position(|counter| counter.atom == id);
        let found =
            self.common.loops.iter().enumerate().find_map(|(number, one)| Some((number, counts(one)?)));
        if let Some((number, at)) = found
            && (self.common.rounds || self.common.loops[number].counters[at].end.is_some())
        {
            return self.counter(id, number, at);
        }
        Ok(if self.common.variable(variable) { Index::atom(id) } else { self.differs(id) })
    }

    /// `start + step * round`, where the round of the second instance is the first one's and so many more, or is its own.
    fn counter(&mut self, id: AtomId, number: usize, at: usize) -> Fallible<Index> {
        let counter = self.common.loops[number].counters[at].clone();
        let known = self.common.around.iter().find(|(own, _)| *own == number).and_then(|(_, shift)| *shift);
        let last = match &counter.end {
            Some((end, step)) => {
                let (start, end) = (self.names.atoms.range(&counter.start), self.names.atoms.range(end));
                (end.high - 1 - start.low).div_euclid(i128::from((*step).max(1))).max(0)
            }
            None => i128::from(i64::MAX),
        };
        let round = self.names.make(id, 1, Range::new(0, last), 1);
        let shift = known.map(|shift| if counter.reversed { -shift } else { shift });
        let round = match shift {
            // The atom is the earlier round.
            Some(shift) if self.side == Side::B => Index::atom(round).plus(shift.max(0))?,
            Some(shift) => Index::atom(round).plus((-shift).max(0))?,
            None => self.differs(round),
        };
        self.index(&counter.start)?.add(&self.index(&counter.step)?.mul(&round)?)
    }
}
