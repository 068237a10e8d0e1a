//! Proofs at random, for tests of the checker.
//!
//! Law: no proof holds of a pair that races.

use super::pair::Pair;
use super::proof::{Proof, Split, holds};
use super::{search, with_prover};
use crate::check::Checked;
use crate::index::{AtomId, Atoms, Index};

/// What became of proofs at random.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Of pairs for which a proof is found.
    pub of_proved: usize,
    /// Those of them that the checker takes.
    pub taken: usize,
    /// Of pairs for which none is found.
    pub of_unproved: usize,
    /// Those of them that the checker takes.
    pub wrong: usize,
}

/// A small generator of numbers, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

/// Gives the checker so many proofs at random of each pair of a variant.
#[doc(hidden)]
pub fn damaged(checked: &Checked, seed: u64, count: usize) -> Damage {
    with_prover(checked, |mut prover| {
        let mut damage = Damage::default();
        let mut numbers = Numbers(seed);
        let placed = prover.bounds();
        let phases = prover.phases();
        let sites = &prover.sites.sites;
        for (at, a) in sites.iter().enumerate() {
            for (other, b) in sites.iter().enumerate().skip(at) {
                let races = a.way.writes() || b.way.writes();
                if !races || !prover.meet(a, b) || prover.uncovered_pair(a, b).is_some() {
                    continue;
                }
                let (Some(left), Some(right)) = (&placed[at], &placed[other]) else { continue };
                let pairs: Vec<Pair> = match prover.is_counted(a) || prover.is_counted(b) {
                    true => prover.unordered(left, right).unwrap_or_default(),
                    false => {
                        let cases = prover.cases(&phases, a, b);
                        let instance =
                            |(grid, relation): (bool, _)| prover.instances(grid, &relation, left, right);
                        cases.into_iter().filter_map(instance).collect()
                    }
                };
                for pair in pairs {
                    let (atoms, axes) = (&mut prover.names.atoms, &prover.axes);
                    let own = search::search(atoms, axes, &pair);
                    for _ in 0..count {
                        let proof = proof(atoms, &pair, own.as_ref(), &mut numbers);
                        let taken = usize::from(holds(atoms, axes, &pair, &proof));
                        match own {
                            Some(_) => {
                                damage.of_proved += 1;
                                damage.taken += taken;
                            }
                            None => {
                                damage.of_unproved += 1;
                                damage.wrong += taken;
                            }
                        }
                    }
                }
            }
        }
        damage
    })
}

/// A proof at random, often one that is nearly right.
fn proof(atoms: &Atoms, pair: &Pair, own: Option<&Proof>, numbers: &mut Numbers) -> Proof {
    match (numbers.next(8), own) {
        (0, _) => Proof::Atomic,
        (1, _) => Proof::Exclusive,
        (2, _) => Proof::Never { fact: numbers.next(pair.facts.len() + 2) },
        (3, _) => Proof::Apart { equation: numbers.next(3), before: numbers.next(2) == 0 },
        (4, Some(Proof::Digits(splits))) => {
            let mut splits = splits.clone();
            if !splits.is_empty() {
                let at = numbers.next(splits.len());
                splits[at] = split(atoms, pair, numbers);
            }
            Proof::Digits(splits)
        }
        _ => Proof::Digits((0..numbers.next(5)).map(|_| split(atoms, pair, numbers)).collect()),
    }
}

fn split(atoms: &Atoms, pair: &Pair, numbers: &mut Numbers) -> Split {
    let factors: Vec<i64> =
        pair.equations.iter().flat_map(|one| one.value.terms()).map(|(_, factor)| *factor).collect();
    let radix = match numbers.next(6) {
        0 => Index::constant(numbers.next(80) as i64 - 4),
        1 => Index::atom(AtomId(numbers.next(atoms.iter().count()) as u32)),
        2 => Index::constant(1 << numbers.next(10)),
        _ => Index::constant(factors.get(numbers.next(factors.len())).copied().unwrap_or(2)),
    };
    Split { equation: numbers.next(pair.equations.len() + 3), radix }
}
