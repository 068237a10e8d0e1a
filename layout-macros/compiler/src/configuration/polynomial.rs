//! Polynomials with integer coefficients over symbols and variables: what an index of the body is before any parameter has a value.
//!
//! Law: two polynomials that are equal have equal values, whatever values their symbols have. The converse does not hold.

use crate::ir::TypeRef;
use std::collections::BTreeMap;

/// Terms of a sum, factors of a product, atoms in the text of an atom.
const MAX_TERMS: usize = 64;
const MAX_FACTORS: usize = 16;
const MAX_WEIGHT: usize = 64;

/// A symbol or a variable, by its place in [`Atoms`].
pub(super) type Atom = u32;

/// What an atom is. Up to `DivCeil` it is a symbol, one value in the whole launch; behind it a variable, one value in each
/// thread, block or round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Parameter(u32),
    Dim(u32),
    Argument(u32),
    BlockDim(u32),
    SizeOf(TypeRef),
    Div(Polynomial, Polynomial),
    Rem(Polynomial, Polynomial),
    DivCeil(Polynomial, Polynomial),
    Thread(u32),
    Block(u32),
    Warp,
    Lane,
    /// `variable / n`
    Quotient(Atom, Polynomial),
    /// `variable % n`
    Remainder(Atom, Polynomial),
    /// The variable of a loop from 0 to its count, where that is known.
    Loop(u32, Option<Polynomial>),
}

/// A sum of products of atoms.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Polynomial(pub(super) BTreeMap<Vec<Atom>, i128>);

impl Polynomial {
    pub(super) fn constant(value: i128) -> Polynomial {
        Polynomial(if value == 0 { BTreeMap::new() } else { [(vec![], value)].into() })
    }

    pub(super) fn atom(atom: Atom) -> Polynomial {
        Polynomial([(vec![atom], 1)].into())
    }

    pub(super) fn as_constant(&self) -> Option<i128> {
        match (self.0.len(), self.0.get(&vec![])) {
            (0, _) => Some(0),
            (1, Some(value)) => Some(*value),
            _ => None,
        }
    }

    /// The atom that it is.
    pub(super) fn as_atom(&self) -> Option<Atom> {
        match self.0.iter().next() {
            Some((product, 1)) if self.0.len() == 1 && product.len() == 1 => product.first().copied(),
            _ => None,
        }
    }

    pub(super) fn add(&self, other: &Polynomial, sign: i128) -> Option<Polynomial> {
        let mut sum = self.clone();
        for (product, coefficient) in &other.0 {
            let entry = sum.0.entry(product.clone()).or_default();
            *entry = entry.checked_add(coefficient.checked_mul(sign)?)?;
        }
        sum.0.retain(|_, coefficient| *coefficient != 0);
        // A body may not make polynomials without end.
        (sum.0.len() <= MAX_TERMS).then_some(sum)
    }

    pub(super) fn mul(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut out = Polynomial::default();
        for (a, left) in &self.0 {
            for (b, right) in &other.0 {
                let mut product = [a.as_slice(), b.as_slice()].concat();
                product.sort_unstable();
                if product.len() > MAX_FACTORS {
                    return None;
                }
                let term = Polynomial([(product, left.checked_mul(*right)?)].into());
                out = out.add(&term, 1)?;
            }
        }
        Some(out)
    }

    /// The quotient where there is no remainder, whatever the symbols' values: by one product of atoms.
    pub(super) fn exact_div(&self, by: &Polynomial) -> Option<Polynomial> {
        if self == by && *by != Polynomial::default() {
            return Some(Polynomial::constant(1));
        }
        let (divisor, number) = by.0.iter().next().filter(|_| by.0.len() == 1)?;
        let mut out = Polynomial::default();
        for (product, coefficient) in &self.0 {
            let mut rest = product.clone();
            for atom in divisor {
                rest.remove(rest.iter().position(|known| known == atom)?);
            }
            (coefficient.checked_rem(*number)? == 0).then_some(())?;
            out.0.insert(rest, coefficient.checked_div(*number)?);
        }
        Some(out)
    }

    /// The atoms in it.
    pub(super) fn atoms(&self) -> impl Iterator<Item = Atom> + '_ {
        self.0.keys().flatten().copied()
    }
}

/// Every atom of a kernel, with the number of atoms in its text.
#[derive(Default)]
pub(super) struct Atoms(Vec<(Kind, usize)>);

impl Atoms {
    /// An atom; where it would be too long, a variable of which nothing is known.
    pub(super) fn of(&mut self, kind: Kind) -> Polynomial {
        let weight = match &kind {
            Kind::Div(a, b) | Kind::Rem(a, b) | Kind::DivCeil(a, b) => self.weight(a) + self.weight(b),
            Kind::Quotient(inner, by) | Kind::Remainder(inner, by) => {
                self.weight(&Polynomial::atom(*inner)) + self.weight(by)
            }
            _ => 0,
        };
        let kind = if weight > MAX_WEIGHT { Kind::Loop(self.0.len() as u32, None) } else { kind };
        let known = self.0.iter().position(|(known, _)| *known == kind);
        let place = known.unwrap_or_else(|| {
            self.0.push((kind, weight + 1));
            self.0.len() - 1
        });
        Polynomial::atom(place as Atom)
    }

    fn weight(&self, of: &Polynomial) -> usize {
        of.atoms().map(|atom| self.0[atom as usize].1).sum()
    }

    pub(super) fn kind(&self, atom: Atom) -> &Kind {
        &self.0[atom as usize].0
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The variable of a loop that no other loop has.
    pub(super) fn round(&mut self, count: Option<Polynomial>) -> Polynomial {
        let number = self.0.len() as u32;
        self.of(Kind::Loop(number, count))
    }

    /// Whether an atom has one value in the whole launch.
    pub(super) fn is_symbol(&self, atom: Atom) -> bool {
        match self.kind(atom) {
            Kind::Parameter(_)
            | Kind::Dim(_)
            | Kind::Argument(_)
            | Kind::BlockDim(_)
            | Kind::SizeOf(_)
            | Kind::Div(..)
            | Kind::Rem(..)
            | Kind::DivCeil(..) => true,
            Kind::Thread(_)
            | Kind::Block(_)
            | Kind::Warp
            | Kind::Lane
            | Kind::Quotient(..)
            | Kind::Remainder(..)
            | Kind::Loop(..) => false,
        }
    }

    /// Whether all that it names has one value in the whole launch.
    pub(super) fn is_symbolic(&self, of: &Polynomial) -> bool {
        of.atoms().all(|atom| self.is_symbol(atom))
    }

    /// Whether it is known once the parameters are.
    pub(super) fn is_static(&self, of: &Polynomial) -> bool {
        of.atoms().all(|atom| match self.kind(atom) {
            Kind::Parameter(_) | Kind::SizeOf(_) => true,
            Kind::Div(a, b) | Kind::Rem(a, b) | Kind::DivCeil(a, b) => self.is_static(a) && self.is_static(b),
            _ => false,
        })
    }

    /// Whether a variable's value depends on the block.
    pub(super) fn of_block(&self, of: &Polynomial) -> bool {
        of.atoms().any(|atom| match self.kind(atom) {
            Kind::Block(_) => true,
            Kind::Quotient(inner, _) | Kind::Remainder(inner, _) => self.of_block(&Polynomial::atom(*inner)),
            _ => false,
        })
    }

    /// The axis of `thread_idx` that a variable is made of, or `None` for the warp; the divisors on the way.
    pub(super) fn thread_of(&self, atom: Atom) -> Option<(Option<u32>, Vec<Polynomial>)> {
        match self.kind(atom) {
            Kind::Thread(axis) => Some((Some(*axis), vec![])),
            Kind::Warp => Some((None, vec![Polynomial::constant(32)])),
            Kind::Quotient(inner, by) => {
                let (of, mut divisors) = self.thread_of(*inner)?;
                divisors.push(by.clone());
                Some((of, divisors))
            }
            _ => None,
        }
    }

    /// `a / b`, rounded down.
    pub(super) fn div(&mut self, a: &Polynomial, b: &Polynomial) -> Polynomial {
        match (a.exact_div(b), a.as_constant(), b.as_constant()) {
            (Some(exact), ..) => exact,
            (_, Some(a), Some(b)) if b > 0 && a >= 0 => Polynomial::constant(a / b),
            _ => self.of(Kind::Div(a.clone(), b.clone())),
        }
    }

    /// `a / b`, rounded up.
    pub(super) fn div_ceil(&mut self, a: &Polynomial, b: &Polynomial) -> Polynomial {
        match (a.exact_div(b), a.as_constant(), b.as_constant()) {
            (Some(exact), ..) => exact,
            (_, Some(a), Some(b)) if b > 0 && a >= 0 => Polynomial::constant(a / b + i128::from(a % b > 0)),
            _ => self.of(Kind::DivCeil(a.clone(), b.clone())),
        }
    }

    /// `a % b`
    pub(super) fn rem(&mut self, a: &Polynomial, b: &Polynomial) -> Polynomial {
        match (a.exact_div(b), a.as_constant(), b.as_constant()) {
            (Some(_), ..) => Polynomial::default(),
            (_, Some(a), Some(b)) if b > 0 && a >= 0 => Polynomial::constant(a % b),
            _ => self.of(Kind::Rem(a.clone(), b.clone())),
        }
    }
}
