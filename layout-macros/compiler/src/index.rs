//! Indices: polynomials with integer coefficients over atoms, in one canonical form.
//!
//! An [`Index`] is a mathematical integer: it never wraps. `row * K + k` is one polynomial. An operation that a
//! polynomial cannot express (a quotient, a remainder, an exclusive or) and a value that only the thread has become
//! an [`Atom`]. [`Atoms`] interns it with its interval and a divisor. Equal polynomials are equal values; the proofs
//! in [`super::prove`] build on that. The machine type, 32 or 64 bits, is chosen afterwards, from the interval.

use super::elem::Elem;
use super::ir::Special;
use std::collections::{BTreeSet, HashMap};

/// An atom, by its place in [`Atoms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AtomId(pub u32);

/// A variable of the program, by its place in `variables`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// What an index is made of besides numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// `thread_idx.x` and the like; the axis is 0, 1 or 2.
    Special(Special, u32),
    /// Dimension `dim` of the kernel divided by `divisor`, which is known to divide it (1 where nothing is known).
    Dim {
        /// The number of the const generic.
        dim: u32,
        /// A promised divisor.
        divisor: i64,
    },
    /// The stride, in elements, of mode `mode` of tensor argument `argument`, divided by `divisor`.
    Stride {
        /// The argument's number.
        argument: u32,
        /// The mode's number.
        mode: u32,
        /// A promised divisor.
        divisor: i64,
    },
    /// The scalar argument of this number, of type `usize` or `isize`.
    Argument(u32),
    /// A variable. One that is assigned has a new version after each assignment.
    Variable(VarId, u32),
    /// Truncated quotient, as in Rust and C.
    Div(Box<Index>, Box<Index>),
    /// Remainder with the sign of the dividend, as in Rust and C.
    Rem(Box<Index>, Box<Index>),
    /// Bitwise exclusive or, in two's complement.
    Xor(Box<Index>, Box<Index>),
    /// Bitwise and, in two's complement.
    And(Box<Index>, Box<Index>),
    /// Bitwise or, in two's complement.
    Or(Box<Index>, Box<Index>),
    /// The smaller.
    Min(Box<Index>, Box<Index>),
    /// The larger.
    Max(Box<Index>, Box<Index>),
    /// An index that may leave 64 bits, modulo 2⁶⁴: as Rust's `isize` where `signed`, else as its `usize`.
    Wrapped {
        /// The index.
        index: Box<Index>,
        /// Whether the result may be negative.
        signed: bool,
    },
}

impl Atom {
    /// The indices that it is made of.
    pub fn parts(&self) -> impl Iterator<Item = &Index> {
        let (first, second) = match self {
            Atom::Special(..)
            | Atom::Dim { .. }
            | Atom::Stride { .. }
            | Atom::Argument(_)
            | Atom::Variable(..) => (None, None),
            Atom::Wrapped { index, .. } => (Some(&**index), None),
            Atom::Div(left, right)
            | Atom::Rem(left, right)
            | Atom::Xor(left, right)
            | Atom::And(left, right)
            | Atom::Or(left, right)
            | Atom::Min(left, right)
            | Atom::Max(left, right) => (Some(&**left), Some(&**right)),
        };
        first.into_iter().chain(second)
    }

    /// The value of an atom that is made of indices, given theirs; `None` where it has none or leaves 64 bits.
    pub fn evaluate(&self, mut of: impl FnMut(&Index) -> Option<i64>) -> Option<i64> {
        match self {
            Atom::Special(..)
            | Atom::Dim { .. }
            | Atom::Stride { .. }
            | Atom::Argument(_)
            | Atom::Variable(..) => None,
            Atom::Wrapped { index, signed } => of(index).filter(|value| *signed || *value >= 0),
            Atom::Div(left, right) => of(left)?.checked_div(of(right)?),
            Atom::Rem(left, right) => of(left)?.checked_rem(of(right)?),
            Atom::Xor(left, right) => Some(of(left)? ^ of(right)?),
            Atom::And(left, right) => Some(of(left)? & of(right)?),
            Atom::Or(left, right) => Some(of(left)? | of(right)?),
            Atom::Min(left, right) => Some(of(left)?.min(of(right)?)),
            Atom::Max(left, right) => Some(of(left)?.max(of(right)?)),
        }
    }

    /// Whether it is made of no other indices.
    pub fn is_leaf(&self) -> bool {
        self.parts().next().is_none()
    }
}

/// A product of atoms, sorted; one atom may be in it several times. Empty is one.
pub(super) type Monomial = Vec<AtomId>;

/// A polynomial: monomials with coefficients, sorted, none zero, the constant apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Index {
    terms: Vec<(Monomial, i64)>,
    constant: i64,
}

/// What becomes of a coefficient beyond 64 bits.
#[derive(Clone, Copy, Debug)]
enum Numbers {
    /// It is an error.
    Checked,
    /// It wraps.
    Wrapping,
}

impl Numbers {
    fn add(self, a: i64, b: i64) -> Result<i64, IndexOverflow> {
        match self {
            Numbers::Checked => a.checked_add(b).ok_or(IndexOverflow),
            Numbers::Wrapping => Ok(a.wrapping_add(b)),
        }
    }

    fn mul(self, a: i64, b: i64) -> Result<i64, IndexOverflow> {
        match self {
            Numbers::Checked => a.checked_mul(b).ok_or(IndexOverflow),
            Numbers::Wrapping => Ok(a.wrapping_mul(b)),
        }
    }
}

/// An operation on indices left the 64-bit range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOverflow;

impl Index {
    /// A number.
    pub fn constant(value: i64) -> Index {
        Index { terms: Vec::new(), constant: value }
    }

    /// An atom.
    pub fn atom(atom: AtomId) -> Index {
        Index { terms: vec![(vec![atom], 1)], constant: 0 }
    }

    /// `factor` times the product of these atoms, which are sorted.
    pub fn product(monomial: &Monomial, factor: i64) -> Index {
        match monomial.is_empty() {
            true => Index::constant(factor),
            false => Index { terms: vec![(monomial.clone(), factor)], constant: 0 },
        }
    }

    /// The monomials with their coefficients, sorted.
    pub fn terms(&self) -> &[(Monomial, i64)] {
        &self.terms
    }

    /// The number added to the terms.
    pub fn offset(&self) -> i64 {
        self.constant
    }

    /// The value, where it is a number.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The atom, where it is nothing else.
    pub fn as_atom(&self) -> Option<AtomId> {
        match self.terms.as_slice() {
            [(monomial, 1)] if monomial.len() == 1 && self.constant == 0 => Some(monomial[0]),
            _ => None,
        }
    }

    /// `self + factor * other`
    pub fn add_scaled(&self, other: &Index, factor: i64) -> Result<Index, IndexOverflow> {
        self.add_scaled_in(Numbers::Checked, other, factor)
    }

    fn add_scaled_in(&self, numbers: Numbers, other: &Index, factor: i64) -> Result<Index, IndexOverflow> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(l), Some(r)) => l.0.cmp(&r.0),
            };
            let mut coefficient = 0i64;
            let mut monomial = None;
            if order.is_le()
                && let Some(l) = left.next()
            {
                coefficient = l.1;
                monomial = Some(&l.0);
            }
            if order.is_ge()
                && let Some(r) = right.next()
            {
                coefficient = numbers.add(coefficient, numbers.mul(r.1, factor)?)?;
                monomial = Some(&r.0);
            }
            if let Some(monomial) = monomial
                && coefficient != 0
            {
                terms.push((monomial.clone(), coefficient));
            }
        }
        let constant = numbers.add(self.constant, numbers.mul(other.constant, factor)?)?;
        Ok(Index { terms, constant })
    }

    /// `self + other`
    pub fn add(&self, other: &Index) -> Result<Index, IndexOverflow> {
        self.add_scaled(other, 1)
    }

    /// `self - other`
    pub fn sub(&self, other: &Index) -> Result<Index, IndexOverflow> {
        self.add_scaled(other, -1)
    }

    /// `self + value`
    pub fn plus(&self, value: i64) -> Result<Index, IndexOverflow> {
        self.add(&Index::constant(value))
    }

    /// `self * factor`
    pub fn scale(&self, factor: i64) -> Result<Index, IndexOverflow> {
        Index::default().add_scaled(self, factor)
    }

    /// `self * other`
    pub fn mul(&self, other: &Index) -> Result<Index, IndexOverflow> {
        self.mul_in(Numbers::Checked, other)
    }

    /// `self + factor * other` with its numbers modulo 2⁶⁴.
    pub fn wrapping_add_scaled(&self, other: &Index, factor: i64) -> Result<Index, IndexOverflow> {
        self.add_scaled_in(Numbers::Wrapping, other, factor)
    }

    /// `self * other` with its numbers modulo 2⁶⁴.
    pub fn wrapping_mul(&self, other: &Index) -> Result<Index, IndexOverflow> {
        self.mul_in(Numbers::Wrapping, other)
    }

    fn mul_in(&self, numbers: Numbers, other: &Index) -> Result<Index, IndexOverflow> {
        let mut product = Index::default().add_scaled_in(numbers, self, other.constant)?;
        for (monomial, coefficient) in &other.terms {
            let mut terms: Vec<(Monomial, i64)> = Vec::with_capacity(self.terms.len() + 1);
            for (mine, factor) in
                self.terms.iter().map(|(m, c)| (m.as_slice(), *c)).chain([(&[][..], self.constant)])
            {
                if factor != 0 {
                    let mut joined = [mine, monomial].concat();
                    joined.sort_unstable();
                    terms.push((joined, numbers.mul(factor, *coefficient)?));
                }
            }
            terms.sort();
            product = product.add_scaled_in(numbers, &Index { terms, constant: 0 }, 1)?;
        }
        Ok(product)
    }

    /// `self / divisor` where `divisor` (positive) divides every coefficient.
    pub fn exact_div(&self, divisor: i64) -> Option<Index> {
        if divisor <= 0 || self.constant % divisor != 0 || self.terms.iter().any(|(_, c)| c % divisor != 0) {
            return None;
        }
        Some(Index {
            terms: self.terms.iter().map(|(m, c)| (m.clone(), c / divisor)).collect(),
            constant: self.constant / divisor,
        })
    }

    /// Every atom that occurs in a term (not those inside other atoms).
    pub fn atoms(&self) -> impl Iterator<Item = AtomId> + '_ {
        self.terms.iter().flat_map(|(monomial, _)| monomial.iter().copied())
    }

    /// The part whose terms satisfy a test, and the rest; the constant goes to the rest.
    pub fn partition(&self, mut test: impl FnMut(&Monomial, i64) -> bool) -> (Index, Index) {
        let (yes, no) = self.terms.iter().cloned().partition(|(monomial, c)| test(monomial, *c));
        (Index { terms: yes, constant: 0 }, Index { terms: no, constant: self.constant })
    }

    /// The value, given the value of each atom.
    pub fn evaluate(&self, atom: &mut impl FnMut(AtomId) -> Option<i64>) -> Option<i64> {
        let mut sum = self.constant;
        for (monomial, coefficient) in &self.terms {
            let mut product = *coefficient;
            for id in monomial {
                product = product.checked_mul(atom(*id)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }
}

/// An interval of integers, both ends included. Ends beyond what an index reaches are clamped to ±2¹²⁶.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The smallest value.
    pub low: i128,
    /// The largest value.
    pub high: i128,
}

/// The machine type of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 32 bits with a sign.
    Int,
    /// 32 bits without a sign.
    Word,
    /// 64 bits with a sign.
    Long,
    /// 64 bits without a sign.
    Natural,
}

impl Width {
    /// The type of a variable with these values. One of 64 bits is signed; what is beyond is read from it as natural again.
    pub fn of(range: Range) -> Width {
        if range.fits_i32() {
            Width::Int
        } else if range.low >= 0 && range.high <= u32::MAX.into() {
            Width::Word
        } else {
            Width::Long
        }
    }

    /// The element type with the same values.
    pub fn elem(self) -> Elem {
        match self {
            Width::Int => Elem::I32,
            Width::Word => Elem::U32,
            Width::Long => Elem::I64,
            Width::Natural => Elem::U64,
        }
    }
}

/// What is known of an atom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomFacts {
    /// The atom.
    pub atom: Atom,
    /// Its interval.
    pub range: Range,
    /// A number that divides it, at least 1.
    pub divisor: i64,
    /// The value, where the atom is a variable bound once to an index: a name for it.
    pub definition: Option<Index>,
}

/// A number of which each launch has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// The dimension of this number.
    Dim(u32),
    /// The index argument of this number.
    Argument(u32),
}

/// One of two values of an atom: that of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// What is not negative where the branch is taken.
    pub facts: Vec<Index>,
    /// The value there.
    pub value: Index,
}

/// The atoms of a program, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Atoms {
    facts: Vec<AtomFacts>,
    known: HashMap<Atom, AtomId>,
    /// The atoms that are the value of an `if`, with those of its branches.
    selected: HashMap<AtomId, [Way; 2]>,
    /// Indices modulo 2⁶⁴ that are meant to be that, and what is made of them.
    meant: BTreeSet<AtomId>,
    /// Products of atoms, and what they are at most: the elements of a compact tensor.
    products: Vec<(Monomial, i64)>,
}

impl Atoms {
    /// The atom's id: the known one, or a new one with these facts.
    pub fn intern(&mut self, atom: Atom, range: Range, divisor: i64, definition: Option<Index>) -> AtomId {
        if let Some(id) = self.known.get(&atom) {
            return *id;
        }
        let id = AtomId(self.facts.len() as u32);
        self.known.insert(atom.clone(), id);
        self.facts.push(AtomFacts { atom, range, divisor, definition });
        id
    }

    /// A product that is at most `most`, as a launch checks: of one term, or nothing is noted.
    pub(crate) fn limit_product(&mut self, product: &Index, most: i64) {
        if let ([(monomial, factor @ 1..)], 0) = (product.terms(), product.offset()) {
            self.products.push((monomial.clone(), most / factor));
        }
    }

    /// The least of the limits of a product.
    pub(crate) fn most_of(&self, monomial: &Monomial) -> Option<i64> {
        self.products.iter().filter(|(known, _)| known == monomial).map(|(_, most)| *most).min()
    }

    /// The word `wrapping_*` is behind this index: where it leaves 64 bits that is meant.
    pub fn mean(&mut self, index: &Index) {
        self.meant.extend(index.as_atom().filter(|id| matches!(self.atom(*id), Atom::Wrapped { .. })));
    }

    /// Whether the remainder that this atom is was asked for.
    pub fn is_meant(&self, id: AtomId) -> bool {
        self.meant.contains(&id)
    }

    /// The atom is one of two values.
    pub(crate) fn select(&mut self, id: AtomId, ways: [Way; 2]) {
        self.selected.insert(id, ways);
    }

    /// The two values of which an atom is one.
    pub(crate) fn ways(&self, id: AtomId) -> Option<&[Way; 2]> {
        self.selected.get(&id)
    }

    /// What is known of an atom.
    pub fn facts(&self, id: AtomId) -> &AtomFacts {
        &self.facts[id.0 as usize]
    }

    /// The atom itself.
    pub fn atom(&self, id: AtomId) -> &Atom {
        &self.facts(id).atom
    }

    /// The dimensions and index arguments that an index is a product of, where it is one.
    pub(crate) fn sizes(&self, index: &Index) -> Option<Vec<Size>> {
        let ([(monomial, _)], 0) = (index.terms(), index.offset()) else { return None };
        let sizes = monomial.iter().map(|id| match self.atom(*id) {
            // Of a quotient that has no rest: it is 0 where the dimension is.
            Atom::Dim { dim, .. } => Some(Size::Dim(*dim)),
            Atom::Argument(number) => Some(Size::Argument(*number)),
            _ => None,
        });
        sizes.collect()
    }

    /// Every atom of an index, those inside of other atoms included.
    pub fn each(&self, index: &Index, see: &mut impl FnMut(AtomId)) {
        for id in index.atoms() {
            see(id);
            self.atom(id).parts().for_each(|part| self.each(part, see));
        }
    }

    /// Whether it represents a variable that is assigned more than once: a name for it says another value later.
    pub fn may_be_assigned(&self, id: AtomId) -> bool {
        matches!(self.atom(id), Atom::Variable(_, version) if *version != 0)
    }

    /// The variable that an index is, or is the bits of as a natural number.
    pub(crate) fn own_variable(&self, index: &Index) -> Option<VarId> {
        match self.atom(index.as_atom()?) {
            Atom::Variable(var, 0) => Some(*var),
            Atom::Wrapped { index, .. } => self.own_variable(index),
            _ => None,
        }
    }

    /// The id of an atom that is known.
    pub fn find(&self, atom: &Atom) -> Option<AtomId> {
        self.known.get(atom).copied()
    }

    /// Every atom, in the order of its first use.
    pub fn iter(&self) -> impl Iterator<Item = (AtomId, &AtomFacts)> {
        self.facts.iter().enumerate().map(|(i, facts)| (AtomId(i as u32), facts))
    }
}
