//! Bounds-check elimination: proofs that an index is not negative, from intervals, divisors and the guards in force.
//!
//! Law: `prove` returns true only if `goal >= 0` for every value of the atoms that satisfies the facts. A failed
//! proof proves nothing; it costs a mask, never a wrong result. A proof uses at most two facts: `goal = c1 * fact1 +
//! c2 * fact2 + rest`, where the interval of `rest` is not negative. A `min` or a `max` equals one of its operands:
//! the goal holds if it holds with both, or with one operand that bounds it from the required side. The value of an
//! `if` is that of one of its branches.

use super::elem::Constant;
use super::index::{Atom, AtomId, Atoms, Index, Monomial, Range, VarId, Way};
use super::ir::{BinaryOp, UnaryOp};
use super::program::{Comparison, Value};
use std::collections::HashMap;
use std::convert::Infallible;

/// Indices that are known not to be negative at some point of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    known: Vec<Index>,
    /// What the truth values that have names mean.
    conditions: HashMap<VarId, Value<Infallible>>,
}

impl Facts {
    /// Adds `index >= 0`.
    pub(super) fn add(&mut self, index: Index) {
        if index.as_constant().is_none() && !self.known.contains(&index) {
            self.known.push(index);
        }
    }

    /// Adds a comparison that holds, or, with `holds` false, one that does not.
    pub(super) fn assume(&mut self, comparison: &Comparison, holds: bool) {
        let Ok(difference) = comparison.left.sub(&comparison.right) else { return };
        let Ok(negated) = difference.scale(-1) else { return };
        let (less, more) = (negated, difference);
        let strict = |index: &Index| index.plus(-1).ok();
        match (comparison.op, holds) {
            (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => self.extend(strict(&less)),
            (BinaryOp::Le, true) | (BinaryOp::Gt, false) => self.extend(Some(less)),
            (BinaryOp::Gt, true) | (BinaryOp::Le, false) => self.extend(strict(&more)),
            (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => self.extend(Some(more)),
            (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => {
                self.extend(Some(less));
                self.extend(Some(more));
            }
            _ => {}
        }
    }

    /// `let name = condition;`. The indices of a condition never change, so the name has this meaning wherever it is in scope.
    pub(super) fn define<A>(&mut self, name: VarId, condition: &Value<A>) {
        match outline(condition) {
            Some(meaning) => drop(self.conditions.insert(name, meaning)),
            None => drop(self.conditions.remove(&name)),
        }
    }

    /// Adds what follows from a condition that holds, or does not.
    pub(super) fn assume_condition<A>(&mut self, atoms: &Atoms, condition: &Value<A>, holds: bool) {
        match condition {
            Value::Compare(comparison) => {
                self.assume(comparison, holds);
                let unequal = if holds { BinaryOp::Ne } else { BinaryOp::Eq };
                if comparison.op == unequal {
                    self.assume_unequal(atoms, comparison);
                }
            }
            // Of elements that are known as indices: variables that do not change, and numbers.
            Value::Binary(op, left, right) if op.is_comparison() => {
                if let (Some(left), Some(right)) = (as_index(atoms, left), as_index(atoms, right)) {
                    let comparison = Value::<A>::Compare(Comparison { op: *op, left, right });
                    self.assume_condition(atoms, &comparison, holds);
                }
            }
            Value::Binary(BinaryOp::And | BinaryOp::BitAnd, left, right) if holds => {
                self.assume_condition(atoms, left, true);
                self.assume_condition(atoms, right, true);
            }
            Value::Binary(BinaryOp::Or | BinaryOp::BitOr, left, right) if !holds => {
                self.assume_condition(atoms, left, false);
                self.assume_condition(atoms, right, false);
            }
            Value::Unary(UnaryOp::Not, inner) => self.assume_condition(atoms, inner, !holds),
            Value::Variable(name) => {
                if let Some(meaning) = self.conditions.get(name).cloned() {
                    self.assume_condition(atoms, &meaning, holds);
                }
            }
            _ => {}
        }
    }

    /// Of two indices that differ one is the larger: known where their intervals meet only at an end.
    fn assume_unequal(&mut self, atoms: &Atoms, comparison: &Comparison) {
        let Ok(difference) = comparison.left.sub(&comparison.right) else { return };
        let range = atoms.range(&difference);
        let op = match (range.low, range.high) {
            (0, _) => BinaryOp::Gt,
            (_, 0) => BinaryOp::Lt,
            _ => return,
        };
        self.assume(&Comparison { op, ..comparison.clone() }, true);
    }

    fn extend(&mut self, index: Option<Index>) {
        if let Some(index) = index {
            self.add(index);
        }
    }

    /// The interval of an atom by the facts that name it alone: `c * atom + rest >= 0`.
    pub(super) fn interval(&self, atoms: &Atoms, id: AtomId) -> Range {
        let mut range = atoms.facts(id).range;
        for fact in &self.known {
            let own = |(monomial, _): &&(Monomial, i64)| monomial.as_slice() == [id];
            let Some((_, coefficient)) = fact.terms().iter().find(own) else { continue };
            let Ok(rest) = fact.add_scaled(&Index::atom(id), -coefficient) else { continue };
            let (most, by) = (atoms.range(&rest).high, i128::from(*coefficient));
            match by > 0 {
                true => range.low = range.low.max(-most.div_euclid(by)),
                false => range.high = range.high.min(most.div_euclid(-by)),
            }
        }
        range
    }

    /// The indices that are not negative.
    pub(super) fn known(self) -> Vec<Index> {
        self.known
    }

    /// The atoms that the facts from `len` on name alone.
    pub(super) fn named_since(&self, len: usize) -> Vec<AtomId> {
        let terms = self.known.iter().skip(len).flat_map(Index::terms);
        terms
            .filter_map(|(monomial, _)| if let [id] = monomial.as_slice() { Some(*id) } else { None })
            .collect()
    }

    /// How many facts there are; with [`Facts::truncate`] the end of a guard's reach.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Forgets all but the first `len` facts.
    pub(super) fn truncate(&mut self, len: usize) {
        self.known.truncate(len);
    }

    /// Whether `goal >= 0` is proved.
    pub(super) fn prove(&self, atoms: &Atoms, goal: &Index) -> bool {
        self.prove_plain(atoms, goal) || self.prove_split(atoms, goal, SPLITS)
    }

    /// The same by the operands of a `min` or a `max` in the goal.
    fn prove_split(&self, atoms: &Atoms, goal: &Index, splits: u32) -> bool {
        let Some(splits) = splits.checked_sub(1) else { return false };
        let Ok(goal) = atoms.expand(goal) else { return false };
        if let Some(ways) = branches(atoms, &goal) {
            return ways.into_iter().all(|(facts, goal)| {
                let mut own = self.clone();
                facts.iter().for_each(|fact| own.add(fact.clone()));
                own.prove_plain(atoms, &goal) || own.prove_split(atoms, &goal, splits)
            });
        }
        let Some((a, b, larger)) = operands(atoms, &goal, |_| true) else { return false };
        let holds = |goal: &Index| self.prove_plain(atoms, goal) || self.prove_split(atoms, goal, splits);
        if larger { holds(&a) || holds(&b) } else { holds(&a) && holds(&b) }
    }

    fn prove_plain(&self, atoms: &Atoms, goal: &Index) -> bool {
        if atoms.range(goal).low >= 0 {
            return true;
        }
        if reduce(atoms, &self.known, goal, 2) {
            return true;
        }
        // Once more with every name replaced by its meaning, where correlations show.
        let Ok(expanded) = atoms.expand(goal) else { return false };
        let mut facts: Vec<Index> = self.known.iter().filter_map(|fact| atoms.expand(fact).ok()).collect();
        bounds(atoms, &mut facts);
        let divided: Vec<Index> =
            facts.iter().chain([&expanded]).flat_map(|index| quotients(atoms, index)).collect();
        facts.extend(divided);
        let factors: Vec<Index> = facts.iter().flat_map(|fact| factors(atoms, fact)).collect();
        facts.extend(factors);
        let remainders = remainders(atoms, &facts, &expanded);
        facts.extend(remainders);
        atoms.range(&expanded).low >= 0
            || reduce(atoms, &facts, &expanded, 2)
            || multiplied(atoms, &expanded).is_some_and(|goal| reduce(atoms, &facts, &goal, 2))
    }

    /// Whether `index < limit` was assumed, in these words.
    pub(super) fn below(&self, index: &Index, limit: &Index) -> bool {
        let rest = limit.sub(index).and_then(|rest| rest.plus(-1));
        rest.is_ok_and(|rest| self.known.contains(&rest))
    }

    /// Whether a comparison is proved to hold.
    pub(super) fn holds(&self, atoms: &Atoms, comparison: &Comparison) -> bool {
        let Ok(difference) = comparison.left.sub(&comparison.right) else { return false };
        let Ok(negated) = difference.scale(-1) else { return false };
        let strictly = |index: &Index| index.plus(-1).is_ok_and(|index| self.prove(atoms, &index));
        match comparison.op {
            BinaryOp::Lt => strictly(&negated),
            BinaryOp::Le => self.prove(atoms, &negated),
            BinaryOp::Gt => strictly(&difference),
            BinaryOp::Ge => self.prove(atoms, &difference),
            BinaryOp::Eq => difference.as_constant() == Some(0),
            BinaryOp::Ne => strictly(&negated) || strictly(&difference),
            _ => false,
        }
    }
}

/// A condition without what it loads. Of such a part nothing is known, and a constant says nothing.
fn outline<A>(condition: &Value<A>) -> Option<Value<Infallible>> {
    use BinaryOp::{And, BitAnd, BitOr, Or};
    let boxed = |value: &Value<A>| outline(value).map(Box::new);
    Some(match condition {
        Value::Constant(constant) => Value::Constant(*constant),
        Value::Variable(var) => Value::Variable(*var),
        Value::Index(index, elem) => Value::Index(index.clone(), *elem),
        Value::Compare(comparison) => Value::Compare(comparison.clone()),
        Value::Unary(op, inner) => Value::Unary(*op, boxed(inner)?),
        Value::Binary(op @ (And | Or | BitAnd | BitOr), left, right) => {
            let unknown = || Box::new(Value::Constant(Constant::bool(true)));
            let (left, right) = (boxed(left), boxed(right));
            left.as_ref().or(right.as_ref())?;
            Value::Binary(*op, left.unwrap_or_else(unknown), right.unwrap_or_else(unknown))
        }
        Value::Binary(op, left, right) if op.is_comparison() => {
            Value::Binary(*op, boxed(left)?, boxed(right)?)
        }
        _ => return None,
    })
}

/// An integer as the index that it is, where it is known as one.
fn as_index<A>(atoms: &Atoms, value: &Value<A>) -> Option<Index> {
    match value {
        Value::Variable(var) => Some(Index::atom(atoms.find(&Atom::Variable(*var, 0))?)),
        Value::Constant(constant) if constant.elem.is_integer() => {
            Some(Index::constant(i64::try_from(constant.as_i128()).ok()?))
        }
        Value::Index(index, elem) => {
            let ((low, high), range) = (elem.limits(), atoms.range(index));
            (elem.is_integer() && low <= range.low && range.high <= high).then(|| index.clone())
        }
        _ => None,
    }
}

/// Facts, with what follows from them, at most.
const MAX_FACTS: usize = 64;
/// Nested `min` and `max` that are taken apart.
const SPLITS: u32 = 4;

/// The first `min` or `max` that is alone in a term of an index: the index with each of its operands in its place, and
/// whether it is at least as large as both of them. `wanted` says of which kind it is to be.
fn operands(atoms: &Atoms, index: &Index, wanted: impl Fn(bool) -> bool) -> Option<(Index, Index, bool)> {
    index.terms().iter().find_map(|(monomial, factor)| {
        let [id] = monomial.as_slice() else { return None };
        let (a, b, larger) = match atoms.atom(*id) {
            Atom::Min(a, b) => (a, b, *factor < 0),
            Atom::Max(a, b) => (a, b, *factor > 0),
            _ => return None,
        };
        if !wanted(larger) {
            return None;
        }
        let rest = index.add_scaled(&Index::atom(*id), -factor).ok()?;
        Some((rest.add_scaled(a, *factor).ok()?, rest.add_scaled(b, *factor).ok()?, larger))
    })
}

/// The first value of an `if` that is alone in a term of an index: for each branch its facts, and the index with its value.
fn branches<'a>(atoms: &'a Atoms, index: &Index) -> Option<[(&'a [Index], Index); 2]> {
    index.terms().iter().find_map(|(monomial, factor)| {
        let [id] = monomial.as_slice() else { return None };
        let [first, second] = atoms.ways(*id)?;
        let rest = index.add_scaled(&Index::atom(*id), -factor).ok()?;
        let with = |way: &'a Way| Some((&way.facts[..], rest.add_scaled(&way.value, *factor).ok()?));
        Some([with(first)?, with(second)?])
    })
}

/// Adds what follows from facts with a `min` or a `max` that is no larger than its operands: `min(a, b) - i >= 0` says it
/// of `a` and of `b`.
fn bounds(atoms: &Atoms, facts: &mut Vec<Index>) {
    let mut at = 0;
    while at < facts.len() && facts.len() < MAX_FACTS {
        if let Some((a, b, _)) = operands(atoms, &facts[at], |larger| !larger) {
            facts.extend([a, b]);
        }
        at += 1;
    }
}

/// Takes multiples of facts from the goal until its interval is not negative.
fn reduce(atoms: &Atoms, facts: &[Index], goal: &Index, depth: u32) -> bool {
    for fact in facts {
        let mut tried: Vec<i64> = Vec::new();
        for (monomial, coefficient) in fact.terms() {
            let Some((_, wanted)) = goal.terms().iter().find(|(known, _)| known == monomial) else {
                continue;
            };
            if wanted % coefficient != 0
                || wanted / coefficient <= 0
                || tried.contains(&(wanted / coefficient))
            {
                continue;
            }
            let factor = wanted / coefficient;
            tried.push(factor);
            let Ok(rest) = goal.add_scaled(fact, -factor) else { continue };
            if atoms.range(&rest).low >= 0 || (depth > 1 && reduce(atoms, facts, &rest, depth - 1)) {
                return true;
            }
        }
    }
    false
}

/// `d - 1 - n % d >= 0` for each remainder in an index and `d >= 1`: by a number the interval says so.
fn remainders(atoms: &Atoms, known: &[Index], index: &Index) -> Vec<Index> {
    let mut facts = Vec::new();
    for id in index.atoms() {
        if let Atom::Rem(_, d) = atoms.atom(id)
            && d.as_constant().is_none()
            && let Ok(less) = d.plus(-1)
            && (atoms.range(&less).low >= 0 || reduce(atoms, known, &less, 2))
        {
            facts.extend(less.sub(&Index::atom(id)));
        }
    }
    facts
}

/// `a - 1 >= 0` of each factor of the only product that a fact `c * a * b - rest >= 0` adds, where `rest` is positive and no
/// factor is negative.
fn factors(atoms: &Atoms, fact: &Index) -> Vec<Index> {
    let mut added = fact.terms().iter().filter(|(_, coefficient)| *coefficient > 0);
    let (Some((monomial, coefficient)), None) = (added.next(), added.next()) else { return Vec::new() };
    let natural = |id: &&AtomId| atoms.facts(**id).range.low >= 0;
    let is_positive = fact
        .add_scaled(&Index::product(monomial, 1), -coefficient)
        .is_ok_and(|rest| atoms.range(&rest).high < 0);
    if monomial.len() < 2 || !is_positive || !monomial.iter().all(|id| natural(&id)) {
        return Vec::new();
    }
    monomial.iter().filter_map(|id| Index::atom(*id).plus(-1).ok()).collect()
}

/// `g - n / d >= 0` as `d * (g + 1) - 1 - n >= 0`, which is the same where neither `n` nor `d` is negative; a quotient by 0 has no
/// value.
fn multiplied(atoms: &Atoms, goal: &Index) -> Option<Index> {
    let (id, n, d) =
        goal.terms().iter().find_map(|(monomial, coefficient)| match (monomial.as_slice(), coefficient) {
            ([id], -1) => match atoms.atom(*id) {
                Atom::Div(n, d) => Some((*id, n, d)),
                _ => None,
            },
            _ => None,
        })?;
    if atoms.range(n).low < 0 || atoms.range(d).low < 0 {
        return None;
    }
    let (n, d) = (atoms.expand(n).ok()?, atoms.expand(d).ok()?);
    goal.add(&Index::atom(id)).ok()?.plus(1).ok()?.mul(&d).ok()?.plus(-1).ok()?.sub(&n).ok()
}

/// `n - d * (n / d) >= 0` and `d * (n / d) + d - 1 - n >= 0` for each quotient in an index, `n >= 0` and `d` a number; `a - (a & b) >= 0`
/// and `a - a % b >= 0` where `a >= 0`.
fn quotients(atoms: &Atoms, index: &Index) -> Vec<Index> {
    let mut facts = Vec::new();
    for id in index.atoms() {
        let most = match atoms.atom(id) {
            Atom::And(a, b) => [Some(a), Some(b)],
            Atom::Rem(a, _) => [Some(a), None],
            _ => [None; 2],
        };
        let natural = most.into_iter().flatten().filter(|side| atoms.range(side).low >= 0);
        facts.extend(natural.filter_map(|side| side.sub(&Index::atom(id)).ok()));
        if let Atom::Div(n, d) = atoms.atom(id)
            && let Some(d) = d.as_constant()
            && d > 0
            && atoms.range(n).low >= 0
            && let Ok(low) = n.add_scaled(&Index::atom(id), -d)
        {
            facts.extend(low.scale(-1).and_then(|high| high.plus(d - 1)));
            facts.push(low);
        }
    }
    facts
}
