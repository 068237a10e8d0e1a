//! The search for proofs: it proposes, and the checker decides.
//!
//! Law: nothing here is relied on. What it proposes wrongly the checker refuses.

use super::enumerate::leaves;
use super::pair::Pair;
use super::proof::{Axes, Proof, Split, State, Step, holds};
use crate::arith::gcd;
use crate::index::{AtomId, Atoms, Index};
use std::collections::BTreeSet;

/// Equations, splits, and facts that are tried.
const MOST_SPLITS: usize = 24;
const MOST_FACTS: usize = 24;

/// A proof that the checker takes, where one is found.
pub(super) fn search(atoms: &mut Atoms, axes: &Axes, pair: &Pair) -> Option<Proof> {
    for simple in [Proof::Atomic, Proof::Exclusive] {
        if holds(atoms, axes, pair, &simple) {
            return Some(simple);
        }
    }
    let never = (0..pair.facts.len().min(MOST_FACTS)).map(|fact| Proof::Never { fact });
    if pair.in_flight
        && let Some(proof) = never.clone().find(|proof| holds(atoms, axes, pair, proof))
    {
        return Some(proof);
    }
    let digits = Proof::Digits(splits(atoms, pair));
    if holds(atoms, axes, pair, &digits) {
        return Some(digits);
    }
    let apart = (0..pair.equations.len())
        .flat_map(|equation| [true, false].map(|before| Proof::Apart { equation, before }));
    let whole = [Proof::Digits(Vec::new())];
    let others = whole.into_iter().filter(|proof| *proof != digits);
    let never = never.filter(|_| !pair.in_flight);
    apart.chain(others).chain(never).find(|proof| holds(atoms, axes, pair, proof))
}

/// Splits at every radix that takes something off, the largest first.
fn splits(atoms: &mut Atoms, pair: &Pair) -> Vec<Split> {
    let mut state = State::new(pair);
    let mut found = Vec::new();
    if !state.reduce(atoms) {
        return found;
    }
    let mut equation = 0;
    while equation < state.equations.len() && found.len() < MOST_SPLITS {
        let next = radices(atoms, pair, &state.equations[equation].value)
            .into_iter()
            .map(|radix| Split { equation, radix })
            .find(|split| !matches!(state.split(atoms, split), Step::Refused));
        match next {
            Some(split) => {
                found.push(split);
                if !state.reduce(atoms) {
                    return found;
                }
                // A later equation may have become shorter.
                equation = 0;
            }
            None => equation += 1,
        }
    }
    found
}

/// What an equation may be split by.
fn radices(atoms: &Atoms, pair: &Pair, value: &Index) -> Vec<Index> {
    let mut factors: Vec<i64> = value
        .terms()
        .iter()
        .map(|(monomial, factor)| {
            monomial
                .iter()
                .fold(factor.saturating_abs(), |product, id| product.saturating_mul(atoms.facts(*id).divisor))
        })
        .collect();
    factors.sort_unstable_by(|a, b| b.cmp(a));
    let mut found: Vec<i64> = Vec::new();
    let mut common = 0;
    for factor in factors {
        common = gcd(common, factor);
        if common > 1 && !found.contains(&common) {
            found.push(common);
        }
    }
    let mut symbols: BTreeSet<AtomId> = BTreeSet::new();
    for (monomial, _) in value.terms().iter().filter(|(monomial, _)| monomial.len() > 1) {
        symbols.extend(monomial);
    }
    symbols.retain(|id| {
        let mut found = BTreeSet::new();
        leaves(atoms, &Index::atom(*id), &mut found);
        !found.iter().any(|id| pair.own.iter().any(|own| own.contains(id)))
    });
    let symbols = symbols.into_iter().map(Index::atom);
    symbols.chain(found.into_iter().map(Index::constant)).collect()
}
