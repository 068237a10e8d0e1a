//! What is known of an index, and the operations that leave the polynomials: quotient, remainder, bits, min, max.
//!
//! Law: each result equals the mathematical operation for every value of the atoms within their facts. A quotient or
//! remainder becomes an atom only where no exact form is found: `(64 * x + y) / 64 == x` for `0 <= y < 64`.

use super::index::{Atom, AtomId, Atoms, Index, IndexOverflow, Range};

const LIMIT: i128 = 1 << 126;

impl Range {
    /// From `low` to `high`, both included.
    pub(crate) fn new(low: i128, high: i128) -> Range {
        Range { low: low.clamp(-LIMIT, LIMIT), high: high.clamp(-LIMIT, LIMIT) }
    }

    /// One value.
    pub(crate) fn of(value: i64) -> Range {
        Range::new(i128::from(value), i128::from(value))
    }

    /// Whether every value fits `i32`.
    pub(crate) fn fits_i32(self) -> bool {
        self.low >= i128::from(i32::MIN) && self.high <= i128::from(i32::MAX)
    }

    /// The smallest interval that holds both.
    pub(crate) fn union(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn add(self, other: Range) -> Range {
        Range::new(self.low.saturating_add(other.low), self.high.saturating_add(other.high))
    }

    fn mul(self, other: Range) -> Range {
        let products = [
            self.low.saturating_mul(other.low),
            self.low.saturating_mul(other.high),
            self.high.saturating_mul(other.low),
            self.high.saturating_mul(other.high),
        ];
        let low = products.iter().copied().fold(products[0], i128::min);
        let high = products.iter().copied().fold(products[0], i128::max);
        Range::new(low, high)
    }
}

/// Greatest common divisor of magnitudes; of zero and `n` it is `n`.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

impl Atoms {
    /// The interval of an index.
    pub(crate) fn range(&self, index: &Index) -> Range {
        index.terms().iter().fold(Range::of(index.offset()), |sum, (monomial, coefficient)| {
            let start = Range::of(*coefficient);
            sum.add(monomial.iter().fold(start, |product, id| product.mul(self.facts(*id).range)))
        })
    }

    /// A number that divides every value of an index; 0 for the index 0.
    pub(crate) fn divisor(&self, index: &Index) -> i64 {
        index.terms().iter().fold(index.offset().saturating_abs(), |known, (monomial, coefficient)| {
            let start = coefficient.saturating_abs();
            let product =
                monomial.iter().fold(start, |product, id| product.saturating_mul(self.facts(*id).divisor));
            gcd(known, product)
        })
    }

    /// The index with every named atom replaced by what it names, all the way down.
    pub(crate) fn expand(&self, index: &Index) -> Result<Index, IndexOverflow> {
        let mut current = index.clone();
        loop {
            let named = current.atoms().find(|id| self.facts(*id).definition.is_some());
            let Some(id) = named else { return Ok(current) };
            current = self.substitute(&current, id)?;
        }
    }

    fn substitute(&self, index: &Index, id: AtomId) -> Result<Index, IndexOverflow> {
        let Some(definition) = &self.facts(id).definition else { return Ok(index.clone()) };
        let (with, mut sum) = index.partition(|monomial, _| monomial.contains(&id));
        for (monomial, coefficient) in with.terms() {
            let mut product = Index::constant(*coefficient);
            for atom in monomial {
                let factor = if *atom == id { definition.clone() } else { Index::atom(*atom) };
                product = product.mul(&factor)?;
            }
            sum = sum.add(&product)?;
        }
        Ok(sum)
    }

    /// An atom whose facts follow from its parts.
    fn derived(&mut self, atom: Atom, range: Range, divisor: i64) -> Index {
        Index::atom(self.intern(atom, range, divisor.max(1), None))
    }

    /// `n = d * q + r` with `r` the part whose coefficients `d` does not divide.
    fn split(n: &Index, d: i64) -> Result<(Index, Index), IndexOverflow> {
        let (multiples, rest) = n.partition(|_, coefficient| coefficient % d == 0);
        let constant = rest.offset();
        let q = multiples.plus(constant - constant.rem_euclid(d))?;
        let r = rest.plus(-(constant - constant.rem_euclid(d)))?;
        let q = q.exact_div(d).ok_or(IndexOverflow)?;
        Ok((q, r))
    }

    /// Truncated quotient. `d` must not be the number 0.
    pub(crate) fn div(&mut self, n: &Index, d: &Index) -> Result<Index, IndexOverflow> {
        let range = self.range(n);
        let Some(number) = d.as_constant() else {
            let by = self.range(d);
            let range = if range.low >= 0 && by.low >= 0 {
                Range::new(0, range.high)
            } else {
                let most = range.low.abs().max(range.high.abs());
                Range::new(-most, most)
            };
            return Ok(self.derived(Atom::Div(Box::new(n.clone()), Box::new(d.clone())), range, 1));
        };
        if number < 0 {
            return self.div(n, &Index::constant(number.checked_neg().ok_or(IndexOverflow)?))?.scale(-1);
        }
        if let Some(value) = n.as_constant() {
            return value.checked_div(number).map(Index::constant).ok_or(IndexOverflow);
        }
        if let Some(exact) = n.exact_div(number) {
            return Ok(exact);
        }
        let (quotient, rest) = Atoms::split(n, number)?;
        let rest_range = self.range(&rest);
        let whole = i128::from(number);
        if range.low >= 0 && rest_range.low >= 0 {
            if rest_range.high < whole {
                return Ok(quotient);
            }
            if let Some(id) = rest.as_atom()
                && let Atom::Div(inner, by) = self.atom(id).clone()
                && let Some(by) = by.as_constant()
            {
                let both = Index::constant(by.checked_mul(number).ok_or(IndexOverflow)?);
                return quotient.add(&self.div(&inner, &both)?);
            }
            let range = Range::new(rest_range.low / whole, rest_range.high / whole);
            let atom = self.derived(Atom::Div(Box::new(rest), Box::new(d.clone())), range, 1);
            return quotient.add(&atom);
        }
        let range = Range::new(range.low / whole, range.high / whole);
        Ok(self.derived(Atom::Div(Box::new(n.clone()), Box::new(d.clone())), range, 1))
    }

    /// Remainder with the sign of `n`. `d` must not be the number 0.
    pub(crate) fn rem(&mut self, n: &Index, d: &Index) -> Result<Index, IndexOverflow> {
        let range = self.range(n);
        let Some(number) = d.as_constant() else {
            let most = self.range(d).high.max(-self.range(d).low) - 1;
            let low = if range.low >= 0 { 0 } else { -most };
            let high = if range.low >= 0 { most.min(range.high) } else { most };
            return Ok(self.derived(
                Atom::Rem(Box::new(n.clone()), Box::new(d.clone())),
                Range::new(low, high),
                1,
            ));
        };
        let number = number.checked_abs().ok_or(IndexOverflow)?;
        if let Some(value) = n.as_constant() {
            return value.checked_rem(number).map(Index::constant).ok_or(IndexOverflow);
        }
        if n.exact_div(number).is_some() {
            return Ok(Index::constant(0));
        }
        let (_, rest) = Atoms::split(n, number)?;
        let rest_range = self.range(&rest);
        let whole = i128::from(number);
        let divisor = gcd(self.divisor(n), number);
        if range.low >= 0 && rest_range.low >= 0 {
            if rest_range.high < whole {
                return Ok(rest);
            }
            if let Some(id) = rest.as_atom()
                && let Atom::Rem(inner, by) = self.atom(id).clone()
                && by.as_constant().is_some_and(|by| by % number == 0)
            {
                return self.rem(&inner, &Index::constant(number));
            }
            let atom = Atom::Rem(Box::new(rest), Box::new(Index::constant(number)));
            return Ok(self.derived(atom, Range::new(0, whole - 1), divisor));
        }
        let low = if range.low >= 0 { 0 } else { 1 - whole };
        let high = if range.high <= 0 { 0 } else { whole - 1 };
        let atom = Atom::Rem(Box::new(n.clone()), Box::new(Index::constant(number)));
        Ok(self.derived(atom, Range::new(low, high), divisor))
    }

    /// `n / d` rounded up, of a non-negative `n` and a positive `d`.
    pub(crate) fn div_ceil(&mut self, n: &Index, d: &Index) -> Result<Index, IndexOverflow> {
        let top = n.add(d)?.plus(-1)?;
        self.div(&top, d)
    }

    /// Bitwise and of two non-negative values.
    pub(crate) fn and(&mut self, a: &Index, b: &Index) -> Result<Index, IndexOverflow> {
        if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant()) {
            return Ok(Index::constant(a & b));
        }
        for (value, mask) in [(a, b), (b, a)] {
            if let Some(mask) = mask.as_constant()
                && mask >= 0
                && mask.checked_add(1).is_some_and(|next| next & mask == 0)
            {
                return self.rem(value, &Index::constant(mask + 1));
            }
        }
        let high = self.range(a).high.min(self.range(b).high);
        let low_zeros = self.divisor(a).trailing_zeros().max(self.divisor(b).trailing_zeros()).min(62);
        let atom = Atom::And(Box::new(a.clone()), Box::new(b.clone()));
        Ok(self.derived(atom, Range::new(0, high), 1 << low_zeros))
    }

    /// Bitwise or (`xor` false) or exclusive or of two non-negative values.
    pub(crate) fn or(&mut self, a: &Index, b: &Index, xor: bool) -> Result<Index, IndexOverflow> {
        if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant()) {
            return Ok(Index::constant(if xor { a ^ b } else { a | b }));
        }
        for (value, other) in [(a, b), (b, a)] {
            if other.as_constant() == Some(0) {
                return Ok(value.clone());
            }
        }
        let most = self.range(a).high.max(self.range(b).high).max(1);
        let high = if most >= 1 << 62 { LIMIT } else { (1i128 << (128 - most.leading_zeros())) - 1 };
        let zeros = |divisor: i64| if divisor == 0 { 62 } else { divisor.trailing_zeros() };
        let low_zeros = zeros(self.divisor(a)).min(zeros(self.divisor(b))).min(62);
        let (left, right) = (Box::new(a.clone()), Box::new(b.clone()));
        let atom = if xor { Atom::Xor(left, right) } else { Atom::Or(left, right) };
        Ok(self.derived(atom, Range::new(0, high), 1 << low_zeros))
    }

    /// The smaller or the larger of two values.
    pub(crate) fn extremum(&mut self, a: &Index, b: &Index, larger: bool) -> Result<Index, IndexOverflow> {
        let difference = self.range(&a.sub(b)?);
        if difference.low >= 0 {
            return Ok(if larger { a.clone() } else { b.clone() });
        }
        if difference.high <= 0 {
            return Ok(if larger { b.clone() } else { a.clone() });
        }
        let (left, right) = (self.range(a), self.range(b));
        let divisor = gcd(self.divisor(a), self.divisor(b));
        let (x, y) = (Box::new(a.clone()), Box::new(b.clone()));
        Ok(if larger {
            let range = Range::new(left.low.max(right.low), left.high.max(right.high));
            self.derived(Atom::Max(x, y), range, divisor)
        } else {
            let range = Range::new(left.low.min(right.low), left.high.min(right.high));
            self.derived(Atom::Min(x, y), range, divisor)
        })
    }
}
