//! Rule E: every thread of the block, and every value of the counters that matter, one by one.
//!
//! Law: what is not enumerated may have any value: an equation with it says nothing, and a fact about it excludes nothing. A common
//! value that occurs only in remainders by numbers is enumerated modulo their least common multiple (rule R).

use super::pair::{Equation, Pair};
use crate::arith::gcd;
use crate::index::{Atom, AtomId, Atoms, Index, Range};
use crate::ir::Special;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most instances of one side, and common values.
const MOST_INSTANCES: i128 = 1 << 15;
const MOST_COMMON: i128 = 256;
/// The most steps in all.
const MOST_STEPS: i128 = 1 << 18;

/// What a value depends on.
pub(super) fn leaves(atoms: &Atoms, index: &Index, out: &mut BTreeSet<AtomId>) {
    for id in index.atoms() {
        match atoms.atom(id) {
            atom if atom.is_leaf() => drop(out.insert(id)),
            compound => compound.parts().for_each(|part| leaves(atoms, part, out)),
        }
    }
}

/// Values of leaves.
struct Values(Vec<Option<i64>>);

impl Values {
    fn new(atoms: &Atoms) -> Values {
        Values(vec![None; atoms.iter().count()])
    }

    fn index(&self, atoms: &Atoms, index: &Index) -> Option<i64> {
        index.evaluate(&mut |id| match self.0[id.0 as usize] {
            Some(value) => Some(value),
            None => atoms.atom(id).evaluate(|part| self.index(atoms, part)),
        })
    }
}

/// The leaves that are enumerated, each with its first and its last value.
type Axes = BTreeMap<AtomId, (i64, i64)>;

fn count(axes: &Axes) -> i128 {
    axes.values().fold(1i128, |product, (low, high)| product.saturating_mul(i128::from(high - low) + 1))
}

/// Shows each assignment.
fn each(axes: &Axes, values: &mut Values, see: &mut impl FnMut(&mut Values) -> bool) -> bool {
    let ids: Vec<(AtomId, i64, i64)> = axes.iter().map(|(id, (low, high))| (*id, *low, *high)).collect();
    ids.iter().for_each(|(id, low, _)| values.0[id.0 as usize] = Some(*low));
    loop {
        if !see(values) {
            return false;
        }
        let mut done = true;
        for (id, low, high) in &ids {
            let value = &mut values.0[id.0 as usize];
            match *value {
                Some(now) if now < *high => {
                    *value = Some(now + 1);
                    done = false;
                    break;
                }
                _ => *value = Some(*low),
            }
        }
        if done {
            return true;
        }
    }
}

/// The values of a leaf, where they are few.
fn few(range: Range, most: i128) -> Option<(i64, i64)> {
    let size = range.high.checked_sub(range.low)?.checked_add(1)?;
    (size >= 1 && size <= most)
        .then(|| Some((i64::try_from(range.low).ok()?, i64::try_from(range.high).ok()?)))?
}

/// The least common multiple of the numbers whose remainders a leaf occurs in; `None` where it occurs elsewhere.
fn period(atoms: &Atoms, index: &Index, leaf: AtomId, inside: Option<i64>) -> Option<i64> {
    let mut found = 1i64;
    for id in index.atoms() {
        let multiple = match atoms.atom(id) {
            _ if id == leaf => inside?,
            Atom::Rem(n, d) if atoms.range(n).low >= 0 && d.as_constant().is_some_and(|d| d > 0) => {
                period(atoms, n, leaf, d.as_constant())?
            }
            compound => {
                let mut all = 1i64;
                for part in compound.parts() {
                    let part = period(atoms, part, leaf, None)?;
                    all = all.checked_mul(part / gcd(all, part))?;
                }
                all
            }
        };
        found = found.checked_mul(multiple / gcd(found, multiple))?;
    }
    Some(found)
}

/// An equation of values of the first side, values of the second one, and common ones: `b - a + common + gap = 0`.
struct Parts {
    sides: [Index; 2],
    common: Index,
    gap: (i64, i64),
}

/// What is enumerated.
struct Plan {
    parts: Vec<Parts>,
    own: [Axes; 2],
    common: Axes,
    /// Common leaves that are enumerated as remainders: no fact is about such a value.
    residues: BTreeSet<AtomId>,
}

fn thread_axes(atoms: &Atoms, pair: &Pair, threads: [i64; 3]) -> [Axes; 2] {
    let mut own = [Axes::new(), Axes::new()];
    for (axis, count) in threads.into_iter().enumerate() {
        if let Some(a) = atoms.find(&Atom::Special(Special::ThreadIdx, axis as u32)) {
            own[0].insert(a, (0, count - 1));
            if let Some(b) = pair.differing.get(&a) {
                own[1].insert(*b, (0, count - 1));
            }
        }
    }
    own
}

impl Plan {
    fn of(atoms: &Atoms, pair: &Pair, threads: [i64; 3], equations: &[Equation]) -> Plan {
        let (common, residues) = (Axes::new(), BTreeSet::new());
        let mut plan = Plan { parts: Vec::new(), own: thread_axes(atoms, pair, threads), common, residues };
        for one in equations {
            if let Some(parts) = plan.parts(atoms, pair, one) {
                plan.add(atoms, pair, parts);
            }
        }
        plan
    }

    fn parts(&self, atoms: &Atoms, pair: &Pair, one: &Equation) -> Option<Parts> {
        let side = |index: &Index| {
            let mut found = BTreeSet::new();
            leaves(atoms, index, &mut found);
            [0, 1].map(|side| found.iter().any(|id| pair.own[side].contains(id)))
        };
        let mixed =
            one.value.terms().iter().any(|(monomial, _)| side(&Index::product(monomial, 1)) == [true; 2]);
        if mixed || one.value.terms().is_empty() {
            return None;
        }
        let of = |wanted: [bool; 2]| move |index: &Index| side(index) == wanted;
        let (a, rest) = one.value.partition(|monomial, _| of([true, false])(&Index::product(monomial, 1)));
        let (b, common) = rest.partition(|monomial, _| of([false, true])(&Index::product(monomial, 1)));
        let gap = few(one.gap, 64)?;
        Some(Parts { sides: [a.scale(-1).ok()?, b], common, gap })
    }

    /// Takes an equation in, where its leaves have few values.
    fn add(&mut self, atoms: &Atoms, pair: &Pair, parts: Parts) {
        let (mut own, mut common, mut residues) =
            (self.own.clone(), self.common.clone(), self.residues.clone());
        let whole = [&parts.sides[0], &parts.sides[1], &parts.common];
        for index in whole {
            let mut found = BTreeSet::new();
            leaves(atoms, index, &mut found);
            for id in found {
                let side = [0, 1].into_iter().find(|side| pair.own[*side].contains(&id));
                let range = pair.facts.interval(atoms, id);
                match side {
                    Some(side) if own[side].contains_key(&id) => {}
                    Some(side) => match few(range, MOST_INSTANCES) {
                        Some(values) => drop(own[side].insert(id, values)),
                        None => return,
                    },
                    None if common.contains_key(&id) => {}
                    None => match few(range, MOST_COMMON) {
                        Some(values) => drop(common.insert(id, values)),
                        None => {
                            let mut all = 1i64;
                            for index in whole {
                                let Some(part) = period(atoms, index, id, None) else { return };
                                let Some(product) = all.checked_mul(part / gcd(all, part)) else { return };
                                all = product;
                            }
                            let low = atoms.facts(id).range.low;
                            let Some(values) = few(Range::new(low, low + i128::from(all) - 1), MOST_COMMON)
                            else {
                                return;
                            };
                            residues.insert(id);
                            common.insert(id, values);
                        }
                    },
                }
            }
        }
        // A residue that another equation has too is not enumerated for both.
        let again = residues.iter().any(|id| self.common.contains_key(id));
        let steps = (count(&own[0]) + count(&own[1])).saturating_mul(count(&common));
        let fits = own.iter().all(|own| count(own) <= MOST_INSTANCES) && count(&common) <= MOST_COMMON;
        if fits && steps <= MOST_STEPS && !again {
            (self.own, self.common, self.residues) = (own, common, residues);
            self.parts.push(parts);
        }
    }

    /// The facts of a side that are about enumerated values alone.
    fn facts<'f>(&self, atoms: &Atoms, side: usize, facts: &'f [Index]) -> Vec<&'f Index> {
        let known = |fact: &&Index| {
            let mut found = BTreeSet::new();
            leaves(atoms, fact, &mut found);
            found.iter().all(|id| {
                self.own[side].contains_key(id) || self.common.contains_key(id) && !self.residues.contains(id)
            })
        };
        facts.iter().filter(known).collect()
    }
}

/// Whether no two instances of different threads of one block satisfy all equations.
pub(super) fn distinct(atoms: &Atoms, pair: &Pair, threads: [i64; 3], equations: &[Equation]) -> bool {
    let plan = Plan::of(atoms, pair, threads, equations);
    if plan.parts.is_empty() {
        return false;
    }
    let facts = [0, 1].map(|side| plan.facts(atoms, side, &pair.own_facts[side]));
    let primed = |a: &AtomId| pair.differing.get(a).copied();
    let axes: Vec<AtomId> = (0..3u32)
        .filter(|axis| threads[*axis as usize] > 1)
        .filter_map(|axis| atoms.find(&Atom::Special(Special::ThreadIdx, axis)))
        .filter(|id| plan.own[0].contains_key(id))
        .collect();
    // A thread is its three numbers.
    if axes.len() < threads.iter().filter(|count| **count > 1).count() {
        return false;
    }
    let mut values = Values::new(atoms);
    let mut common = Values::new(atoms);
    each(&plan.common, &mut common, &mut |common| {
        values.0.clone_from(&common.0);
        // Who has these values on the first side: one thread, or several.
        let mut first: HashMap<Vec<i64>, (Vec<i64>, bool)> = HashMap::new();
        let complete = each(&plan.own[0], &mut values, &mut |values| {
            if facts[0].iter().any(|fact| values.index(atoms, fact).is_some_and(|value| value < 0)) {
                return true;
            }
            let thread: Vec<i64> = axes.iter().map(|id| values.0[id.0 as usize].unwrap_or(0)).collect();
            let key: Option<Vec<i64>> =
                plan.parts.iter().map(|parts| values.index(atoms, &parts.sides[0])).collect();
            let Some(key) = key else { return false };
            let owner = first.entry(key).or_insert_with(|| (thread.clone(), false));
            owner.1 |= owner.0 != thread;
            true
        });
        values.0.clone_from(&common.0);
        complete
            && each(&plan.own[1], &mut values, &mut |values| {
                if facts[1].iter().any(|fact| values.index(atoms, fact).is_some_and(|value| value < 0)) {
                    return true;
                }
                let of = |id: &AtomId| primed(id).and_then(|id| values.0[id.0 as usize]);
                let thread: Option<Vec<i64>> = axes.iter().map(of).collect();
                let meets = |key: &Vec<i64>| {
                    first.get(key).is_some_and(|(owner, several)| {
                        *several || pair.by_the_warp || thread.as_ref() != Some(owner)
                    })
                };
                keys(atoms, &plan.parts, values).is_some_and(|keys| !keys.iter().any(meets))
            })
    })
}

/// The values of the first side that an instance of the second one meets.
fn keys(atoms: &Atoms, parts: &[Parts], values: &Values) -> Option<Vec<Vec<i64>>> {
    let mut keys = vec![Vec::new()];
    for one in parts {
        let at = values.index(atoms, &one.sides[1])?.checked_add(values.index(atoms, &one.common)?)?;
        let (low, high) = (at.checked_add(one.gap.0)?, at.checked_add(one.gap.1)?);
        keys = keys
            .into_iter()
            .flat_map(|key: Vec<i64>| (low..=high).map(move |at| [&key[..], &[at]].concat()))
            .collect();
    }
    Some(keys)
}

/// Whether an index is from 0 to `most` for every thread and every value that the facts allow.
pub(super) fn inside(atoms: &Atoms, threads: [i64; 3], facts: &[Index], index: &Index, most: i64) -> bool {
    let mut found = BTreeSet::new();
    leaves(atoms, index, &mut found);
    let mut axes = Axes::new();
    for id in found {
        let range = match atoms.atom(id) {
            Atom::Special(Special::ThreadIdx, axis) => {
                Range::new(0, i128::from(threads[*axis as usize % 3] - 1))
            }
            _ => atoms.facts(id).range,
        };
        let Some(values) = few(range, MOST_INSTANCES) else { return false };
        axes.insert(id, values);
    }
    if count(&axes) > MOST_STEPS {
        return false;
    }
    let known = |fact: &&Index| {
        let mut found = BTreeSet::new();
        leaves(atoms, fact, &mut found);
        found.iter().all(|id| axes.contains_key(id))
    };
    let facts: Vec<&Index> = facts.iter().filter(known).collect();
    each(&axes, &mut Values::new(atoms), &mut |values| {
        facts.iter().any(|fact| values.index(atoms, fact).is_some_and(|value| value < 0))
            || values.index(atoms, index).is_some_and(|value| (0..=most).contains(&value))
    })
}
