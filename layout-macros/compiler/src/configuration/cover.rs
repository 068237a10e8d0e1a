//! How threads, loops and blocks cover the elements of a mode.
//!
//! Law: an index `c0 * v0 + c1 * v1 + ..` takes each value of `0..n` once where `c0` is 1 and each further coefficient is the one before
//! times the count of its variable (a mixed radix). A block's part is then as long as the coefficient of `block_idx`, and the mode has
//! `n.div_ceil(length)` of them: no more and no fewer blocks write inside of the tensor, and no element is written twice.

use super::polynomial::{Atom, Atoms, Kind, Polynomial};

/// Variables of one index that are tried in any order.
const MAX_VARIABLES: usize = 6;

/// What is known of a kernel besides its body.
pub(super) struct Known {
    /// The threads of a block along each axis, where they are known.
    pub block: Option<[Polynomial; 3]>,
    /// `left <= right`, promised by `require`.
    pub at_most: Vec<(Polynomial, Polynomial)>,
}

impl Known {
    /// Whether a part is never shorter than an extent.
    pub(super) fn covers(&self, part: &Polynomial, extent: &Polynomial) -> bool {
        let numbers = part.as_constant().zip(extent.as_constant());
        part == extent
            || numbers.is_some_and(|(part, extent)| part >= extent)
            || self.at_most.iter().any(|(left, right)| {
                left == extent
                    && (right == part
                        || right.as_constant().zip(part.as_constant()).is_some_and(|(a, b)| a <= b))
            })
    }

    /// How many values a variable takes.
    fn count(&self, atoms: &mut Atoms, atom: Atom) -> Option<Polynomial> {
        match atoms.kind(atom).clone() {
            Kind::Thread(axis) => Some(self.block.as_ref()?[axis as usize].clone()),
            Kind::Warp => {
                let total = self.threads()?;
                Some(atoms.div(&total, &Polynomial::constant(32)))
            }
            Kind::Lane => Some(Polynomial::constant(32)),
            Kind::Quotient(inner, by) => {
                let inner = self.count(atoms, inner)?;
                Some(atoms.div(&inner, &by))
            }
            Kind::Remainder(_, by) => Some(by),
            Kind::Loop(_, count) => count,
            _ => None,
        }
    }

    /// The threads of a block.
    fn threads(&self) -> Option<Polynomial> {
        let [x, y, z] = self.block.as_ref()?;
        x.mul(y)?.mul(z)
    }
}

/// One way in which an index covers a mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cover {
    /// The counts of threads that follow.
    pub threads: Vec<(Atom, Polynomial)>,
    /// The axis of the grid that selects the part, and the part's length.
    pub block: Option<(u32, Polynomial)>,
    /// What one block covers.
    pub length: Polynomial,
}

/// The variables of an index with their coefficients, and the rest; `None` where it is not linear in them.
pub(super) fn linear(atoms: &Atoms, index: &Polynomial) -> Option<(Vec<(Atom, Polynomial)>, Polynomial)> {
    let (mut variables, mut rest): (Vec<(Atom, Polynomial)>, _) = (vec![], Polynomial::default());
    for (product, coefficient) in &index.0 {
        let own: Vec<Atom> = product.iter().copied().filter(|atom| !atoms.is_symbol(*atom)).collect();
        let symbols = product.iter().copied().filter(|atom| atoms.is_symbol(*atom)).collect();
        let term = Polynomial([(symbols, *coefficient)].into());
        match own.as_slice() {
            [] => rest = rest.add(&term, 1)?,
            [one] => match variables.iter_mut().find(|(known, _)| known == one) {
                Some((_, sum)) => *sum = sum.add(&term, 1)?,
                None => variables.push((*one, term)),
            },
            _ => return None,
        }
    }
    Some((variables, rest))
}

/// The one way in which variables with these strides cover `extent` elements, from parts of `length` on.
pub(super) fn cover(
    atoms: &mut Atoms,
    known: &Known,
    strides: Vec<(Atom, Polynomial)>,
    length: Polynomial,
    extent: &Polynomial,
) -> Option<Cover> {
    if strides.len() > MAX_VARIABLES {
        return None;
    }
    let mut found = vec![];
    let start = Cover { length, ..Cover::default() };
    Search { atoms, known, extent, found: &mut found }.extend(start, strides);
    found.dedup();
    let mut found = found.into_iter();
    found.next().filter(|_| found.next().is_none())
}

struct Search<'s> {
    atoms: &'s mut Atoms,
    known: &'s Known,
    extent: &'s Polynomial,
    found: &'s mut Vec<Cover>,
}

impl Search<'_> {
    /// Each variable whose stride is the length so far comes next.
    fn extend(&mut self, so_far: Cover, strides: Vec<(Atom, Polynomial)>) {
        if strides.is_empty() && !self.found.contains(&so_far) {
            self.found.push(so_far);
            return;
        }
        for (number, (atom, stride)) in strides.iter().enumerate() {
            if *stride != so_far.length {
                continue;
            }
            let mut rest = strides.clone();
            rest.remove(number);
            if let Kind::Block(axis) = *self.atoms.kind(*atom) {
                if rest.is_empty() {
                    let block = Some((axis, so_far.length.clone()));
                    self.extend(Cover { block, ..so_far.clone() }, rest);
                }
                continue;
            }
            match self.known.count(self.atoms, *atom) {
                Some(count) => {
                    if let Some(length) = so_far.length.mul(&count) {
                        self.extend(Cover { length, ..so_far.clone() }, rest);
                    }
                }
                None if self.atoms.thread_of(*atom).is_some() => self.threads(&so_far, *atom, rest),
                None => {}
            }
        }
    }

    /// The count of threads that makes a further variable, or the mode's end, come next.
    fn threads(&mut self, so_far: &Cover, atom: Atom, rest: Vec<(Atom, Polynomial)>) {
        let counted = |of: &mut Self, count: Polynomial, length: Polynomial| {
            let mut next = Cover { length, ..so_far.clone() };
            next.threads.push((atom, count));
            of.extend(next, rest.clone());
        };
        for (_, stride) in &rest {
            if let Some(count) = stride.exact_div(&so_far.length) {
                counted(self, count, stride.clone());
            }
        }
        if rest.is_empty() {
            let promised = self.known.at_most.iter().find(|(left, _)| left == self.extent);
            let end = if self.atoms.is_static(self.extent) {
                Some(self.extent)
            } else {
                promised.map(|(_, right)| right)
            };
            if let Some(end) = end.filter(|end| self.atoms.is_static(end)) {
                let count = self.atoms.div_ceil(end, &so_far.length);
                counted(self, count, end.clone());
            }
        }
    }
}
