//! The checker: replays the proof that two accesses of different threads never meet unordered at one byte.
//!
//! Law: it searches for nothing. It takes a step of a proof only where it has computed that the step holds, so a proof that is
//! wrong is refused, whoever made it. What it relies on: the atoms' intervals, the prover of [`crate::prove`], the instances of
//! [`super::pair`].

use super::enumerate::{distinct, leaves};
use super::pair::{Equation, Pair};
use crate::arith::gcd;
use crate::index::{Atom, AtomId, Atoms, Index, Monomial, Range};
use crate::ir::Special;
use std::collections::BTreeSet;

/// Why two accesses do not meet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Proof {
    /// Rule A: both are atomic, each in the other's scope.
    Atomic,
    /// Rule U: they are in the two branches of a uniform `if`.
    Exclusive,
    /// Rule G: in this equation one is behind the end of the other, by the prover.
    Apart { equation: usize, before: bool },
    /// Rule G: this fact fails under the others, by the prover.
    Never { fact: usize },
    /// Rules D, R and E: equal digits mean one thread, or no values are equal.
    Digits(Vec<Split>),
}

/// An equation of digits is one of each: `high + low = 0`, where the radix divides `high` and `low` is between its neighbouring
/// multiples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Split {
    pub equation: usize,
    pub radix: Index,
}

/// The name of the rule.
pub(super) fn rule(proof: &Proof) -> &'static str {
    match proof {
        Proof::Atomic => "atomic",
        Proof::Exclusive => "exclusive branches",
        Proof::Apart { .. } | Proof::Never { .. } => "apart",
        Proof::Digits(_) => "digits",
    }
}

/// The axes of the block that have several threads, and those of the grid that may have several blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes {
    pub threads: [i64; 3],
    pub blocks: [bool; 3],
}

/// Whether a proof holds.
pub(super) fn holds(atoms: &mut Atoms, axes: &Axes, pair: &Pair, proof: &Proof) -> bool {
    match proof {
        Proof::Atomic => pair.atomic,
        Proof::Exclusive => pair.exclusive,
        Proof::Apart { equation, before } => pair.equations.get(*equation).is_some_and(|one| {
            let Ok(back) = one.value.scale(-1) else { return false };
            // No gap of the range makes the sum 0.
            let (value, most) = if *before { (&one.value, one.gap.low) } else { (&back, -one.gap.high) };
            let goal = i64::try_from(most - 1).ok().and_then(|most| value.plus(most).ok());
            goal.is_some_and(|goal| pair.facts.prove(atoms, &goal))
        }),
        Proof::Never { fact } => {
            let known = pair.facts.clone().known();
            let goal = known.get(*fact).and_then(|fact| fact.scale(-1).ok()?.plus(-1).ok());
            goal.is_some_and(|goal| pair.facts.prove(atoms, &goal))
        }
        Proof::Digits(splits) => digits(atoms, axes, pair, splits),
    }
}

/// Rules D, R and E.
fn digits(atoms: &mut Atoms, axes: &Axes, pair: &Pair, splits: &[Split]) -> bool {
    let mut state = State::new(pair);
    if !state.reduce(atoms) {
        return true;
    }
    for split in splits {
        match state.split(atoms, split) {
            Step::Refused => return false,
            Step::Impossible => return true,
            Step::Taken => {}
        }
        if !state.reduce(atoms) {
            return true;
        }
    }
    match pair.same_block {
        true => {
            let one =
                (0..3).all(|axis| axes.threads[axis] <= 1 || state.pinned(atoms, Special::ThreadIdx, axis));
            let mut rounds = pair.rounds.iter().flatten();
            rounds.all(|round| round.is_some_and(|round| state.agree(round)))
                && (one && !pair.by_the_warp || distinct(atoms, pair, axes.threads, &state.all()))
        }
        false => (0..3).all(|axis| !axes.blocks[axis] || state.pinned(atoms, Special::BlockIdx, axis)),
    }
}

/// What a step does.
pub(super) enum Step {
    Refused,
    Taken,
    /// No values satisfy the equation.
    Impossible,
}

/// The equations so far, and what is known to be equal.
pub(super) struct State<'p> {
    pair: &'p Pair,
    pub equations: Vec<Equation>,
    /// Atoms of both sides with one value.
    equal: Vec<(AtomId, AtomId)>,
    /// Atoms that are one number.
    values: Vec<(AtomId, i64)>,
    /// Quotients and remainders whose dividends are known to be equal.
    closed: Vec<AtomId>,
}

impl<'p> State<'p> {
    pub(super) fn new(pair: &'p Pair) -> State<'p> {
        State {
            pair,
            equations: pair.equations.clone(),
            equal: Vec::new(),
            values: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// The equations, with those whose values were taken out.
    fn all(&self) -> Vec<Equation> {
        let equal = self.equal.iter().filter_map(|(a, b)| Index::atom(*b).sub(&Index::atom(*a)).ok());
        let values =
            self.values.iter().filter_map(|(id, value)| Index::atom(*id).plus(value.checked_neg()?).ok());
        let known = equal.chain(values).map(|value| Equation { value, gap: Range::of(0) });
        self.equations.iter().cloned().chain(known).collect()
    }

    /// The second side's part that is the first side's with its own leaves replaced.
    fn partner(&self, atoms: &mut Atoms, id: AtomId) -> Option<AtomId> {
        let images: Vec<(AtomId, Index)> =
            self.pair.differing.iter().map(|(a, b)| (*a, Index::atom(*b))).collect();
        let image = atoms.replace(&Index::atom(id), &images).ok()?.as_atom()?;
        (image != id).then_some(image)
    }

    fn interval(&self, atoms: &Atoms, id: AtomId) -> Range {
        self.pair.facts.interval(atoms, id)
    }

    /// The range of an index: of a value and its partner the difference is taken as one.
    fn range(&self, atoms: &mut Atoms, index: &Index) -> Range {
        let mut rest = index.clone();
        let mut sum = Range::of(0);
        let alone = |(monomial, factor): &(Monomial, i64)| match monomial.as_slice() {
            [id] => Some((*id, *factor)),
            _ => None,
        };
        let single: Vec<(AtomId, i64)> = index.terms().iter().filter_map(alone).collect();
        for (id, factor) in &single {
            let Some(partner) = self.partner(atoms, *id) else { continue };
            if !single.contains(&(partner, -factor)) {
                continue;
            }
            let (own, other) = (self.interval(atoms, *id), self.interval(atoms, partner));
            let minus = other.mul(Range::of(-1));
            sum = sum.add(own.add(minus).mul(Range::of(*factor)));
            let without = rest.add_scaled(&Index::atom(*id), -factor);
            let without = without.and_then(|rest| rest.add_scaled(&Index::atom(partner), *factor));
            let Ok(without) = without else { return Range::new(i128::MIN, i128::MAX) };
            rest = without;
        }
        // A single atom's interval by the facts may be closer than its own.
        let mut others = rest.clone();
        for (id, factor) in rest.terms().iter().filter_map(alone) {
            sum = sum.add(self.interval(atoms, id).mul(Range::of(factor)));
            let Ok(without) = others.add_scaled(&Index::atom(id), -factor) else {
                return Range::new(i128::MIN, i128::MAX);
            };
            others = without;
        }
        sum.add(atoms.range(&others))
    }

    /// Takes equal values out of the equations, and finds more of them. `false` where an equation has no solution.
    pub(super) fn reduce(&mut self, atoms: &mut Atoms) -> bool {
        for id in self.pair.facts.named_since(0) {
            let own = self.interval(atoms, id);
            if let (true, Ok(value)) = (own.low == own.high, i64::try_from(own.low)) {
                self.value(id, value);
            }
        }
        for _ in 0..16 {
            self.substitute(atoms);
            let before = (self.equal.len(), self.values.len(), self.equations.len());
            for one in self.equations.clone() {
                match single(&one) {
                    Some((id, factor, rest)) if rest % factor == 0 => self.value(id, -(rest / factor)),
                    Some(_) => return false,
                    None => {}
                }
                if let Some((a, b)) = equality(&one) {
                    self.equate(a, b);
                }
            }
            self.dividends(atoms);
            if !self.residues(atoms) {
                return false;
            }
            for (a, value) in self.values.clone() {
                if let Some(b) = self.partner(atoms, a)
                    && self.values.contains(&(b, value))
                {
                    self.equate(a, b);
                }
            }
            if before == (self.equal.len(), self.values.len(), self.equations.len()) {
                break;
            }
        }
        let equations = self.equations.clone();
        equations.iter().all(|one| {
            let range = self.range(atoms, &one.value).add(one.gap);
            range.low <= 0 && range.high >= 0
        })
    }

    /// Replaces what is known, and divides by what all numbers have in common.
    fn substitute(&mut self, atoms: &mut Atoms) {
        let values = self.values.iter().map(|(id, value)| (*id, Index::constant(*value)));
        let images: Vec<(AtomId, Index)> =
            values.chain(self.equal.iter().map(|(a, b)| (*b, Index::atom(*a)))).collect();
        for one in &mut self.equations {
            if let Ok(value) = atoms.replace(&one.value, &images) {
                one.value = value;
            }
            let common =
                one.value.terms().iter().fold(one.value.offset(), |all, (_, factor)| gcd(all, *factor));
            if let (Some(value), true) = (one.value.exact_div(common), one.gap == Range::of(0)) {
                one.value = value;
            }
            one.gap = multiples(one.gap, divisor(atoms, &one.value));
        }
    }

    fn value(&mut self, id: AtomId, value: i64) {
        if !self.values.iter().any(|(known, _)| *known == id) {
            self.values.push((id, value));
        }
    }

    fn equate(&mut self, a: AtomId, b: AtomId) {
        let own = |side: usize, id: AtomId| self.pair.own[side].contains(&id);
        let (a, b) = if own(0, b) || own(1, a) { (b, a) } else { (a, b) };
        if a != b && !self.equal.iter().any(|(_, known)| *known == b) {
            self.equal.push((a, b));
        }
    }

    /// Where `n / d = n' / d` and `n % d = n' % d`, `n = n'`.
    fn dividends(&mut self, atoms: &Atoms) {
        for (a, b) in self.equal.clone() {
            let (Atom::Div(n, d), Atom::Div(m, e)) = (atoms.atom(a), atoms.atom(b)) else { continue };
            let is_rem = |(x, y): &(AtomId, AtomId)| {
                *atoms.atom(*x) == Atom::Rem(n.clone(), d.clone())
                    && *atoms.atom(*y) == Atom::Rem(m.clone(), e.clone())
            };
            if d != e || self.closed.contains(&a) || !self.equal.iter().any(is_rem) {
                continue;
            }
            if let Ok(value) = m.sub(n) {
                self.closed.push(a);
                self.equations.push(Equation { value, gap: Range::of(0) });
            }
        }
    }

    /// Rule R: numbers of one remainder differ by a multiple of its divisor. By the facts they differ by less, and so not at all, or by
    /// something between two multiples: `false`.
    fn residues(&mut self, atoms: &Atoms) -> bool {
        for (a, b) in self.equal.clone() {
            let (Atom::Rem(n, d), Atom::Rem(m, e)) = (atoms.atom(a), atoms.atom(b)) else { continue };
            let Some(divisor) = d.as_constant().filter(|divisor| *divisor > 0 && d == e) else { continue };
            if self.closed.contains(&a) {
                continue;
            }
            let Ok(value) = m.sub(n) else { continue };
            // From `low` to `high` there is no multiple but 0, or none at all.
            let is_above = |number: i64| {
                let goal = value.plus(number.saturating_neg());
                goal.is_ok_and(|goal| self.pair.facts.prove(atoms, &goal))
            };
            let is_below = |number: i64| {
                let goal = value.scale(-1).and_then(|back| back.plus(number));
                goal.is_ok_and(|goal| self.pair.facts.prove(atoms, &goal))
            };
            let (more, less) = (is_above(1 - divisor), is_below(divisor - 1));
            if less && is_above(1) || more && is_below(-1) {
                return false;
            }
            if more && less {
                self.closed.push(a);
                self.equations.push(Equation { value, gap: Range::of(0) });
            }
        }
        true
    }

    /// Splits an equation.
    pub(super) fn split(&mut self, atoms: &mut Atoms, split: &Split) -> Step {
        let Some(Equation { value, gap }) = self.equations.get(split.equation).cloned() else {
            return Step::Refused;
        };
        match split.radix.as_constant() {
            Some(radix @ 1..) => {
                let whole = |monomial: &Monomial, factor: i64| {
                    let product = monomial.iter().fold(i128::from(factor), |product, id| {
                        product.saturating_mul(i128::from(gcd(atoms.facts(*id).divisor, radix)))
                    });
                    product % i128::from(radix) == 0
                };
                let (high, low) = value.partition(whole);
                let (range, radix) = (self.range(atoms, &low).add(gap), i128::from(radix));
                let first = -(-range.low).div_euclid(radix) * radix;
                if first > range.high {
                    return Step::Impossible;
                }
                // The low part with its gap is `first`, the only multiple in reach.
                let Ok(first) = i64::try_from(first) else { return Step::Refused };
                if i128::from(first) + radix <= range.high || high == Index::default() {
                    return Step::Refused;
                }
                let (Ok(low), Ok(high)) = (low.plus(-first), high.plus(first)) else { return Step::Refused };
                self.replace(split.equation, low, gap, high);
                Step::Taken
            }
            _ => self.split_symbol(atoms, split, &value, gap),
        }
    }

    /// The same by a radix that is an atom: the prover shows that the low part is between its neighbouring multiples.
    fn split_symbol(&mut self, atoms: &Atoms, split: &Split, value: &Index, gap: Range) -> Step {
        let Some(radix) = split.radix.as_atom() else { return Step::Refused };
        let mut found = BTreeSet::new();
        leaves(atoms, &split.radix, &mut found);
        if found.iter().any(|id| self.pair.own.iter().any(|own| own.contains(id))) || gap != Range::of(0) {
            return Step::Refused;
        }
        let (high, low) = value.partition(|monomial, _| monomial.contains(&radix));
        let below = |index: &Index| {
            let goal = split.radix.sub(index).and_then(|goal| goal.plus(-1));
            goal.is_ok_and(|goal| self.pair.facts.prove(atoms, &goal))
        };
        let (Ok(back), false) = (low.scale(-1), high == Index::default()) else { return Step::Refused };
        if !below(&low) || !below(&back) {
            return Step::Refused;
        }
        // So the radix is positive.
        let mut divided = Index::default();
        for (monomial, factor) in high.terms() {
            let mut rest = monomial.clone();
            if let Some(at) = rest.iter().position(|id| *id == radix) {
                rest.remove(at);
            }
            let Ok(sum) = divided.add_scaled(&Index::product(&rest, 1), *factor) else {
                return Step::Refused;
            };
            divided = sum;
        }
        self.replace(split.equation, low, gap, divided);
        Step::Taken
    }

    fn replace(&mut self, at: usize, low: Index, gap: Range, high: Index) {
        self.equations[at] = Equation { value: low, gap };
        self.equations.push(Equation { value: high, gap: Range::of(0) });
    }

    /// Whether both sides have the same index of the thread, or of the block, along an axis.
    fn pinned(&self, atoms: &Atoms, special: Special, axis: usize) -> bool {
        atoms.find(&Atom::Special(special, axis as u32)).is_some_and(|id| self.agree(id))
    }

    /// Whether both sides have the same value of a leaf.
    fn agree(&self, id: AtomId) -> bool {
        self.pair.differing.get(&id).is_some_and(|other| self.equal.contains(&(id, *other)))
    }
}

/// A number that divides every value of an index.
fn divisor(atoms: &Atoms, index: &Index) -> i64 {
    index.terms().iter().fold(index.offset(), |all, (monomial, factor)| {
        let mut divisors = monomial.iter().map(|id| atoms.facts(*id).divisor);
        let product = divisors.try_fold(*factor, |product: i64, one| product.checked_mul(one));
        gcd(all, product.unwrap_or(*factor))
    })
}

/// The smallest range with the multiples of a number that a range has: a sum of 0 has no other gaps. Without one it is as before.
fn multiples(range: Range, number: i64) -> Range {
    let number = i128::from(number.saturating_abs()).max(1);
    let (low, high) = (-(-range.low).div_euclid(number) * number, range.high.div_euclid(number) * number);
    if low <= high { Range::new(low, high) } else { range }
}

/// `factor * x + rest = 0` for an atom: the atom, and both numbers.
fn single(one: &Equation) -> Option<(AtomId, i64, i64)> {
    match one.value.terms() {
        [(monomial, factor)] if one.gap == Range::of(0) && one.value.offset() != i64::MIN => {
            let [id] = monomial.as_slice() else { return None };
            Some((*id, *factor, one.value.offset()))
        }
        _ => None,
    }
}

/// `x - y = 0` for two atoms.
fn equality(one: &Equation) -> Option<(AtomId, AtomId)> {
    match one.value.terms() {
        [(a, x), (b, y)]
            if one.value.offset() == 0 && one.gap == Range::of(0) && x.checked_add(*y) == Some(0) =>
        {
            match (a.as_slice(), b.as_slice()) {
                ([a], [b]) => Some((*a, *b)),
                _ => None,
            }
        }
        _ => None,
    }
}
