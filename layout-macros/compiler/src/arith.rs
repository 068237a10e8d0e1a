//! Intervals of indices, and the operations that a polynomial cannot express: quotient, remainder, bit operations,
//! min, max.
//!
//! Law: each result equals the mathematical operation for every value of the atoms within their facts. A quotient or
//! remainder becomes an atom only where no exact form is found: `(64 * x + y) / 64 == x` for `0 <= y < 64`.

use super::index::{Atom, AtomId, Atoms, Index, IndexOverflow, Monomial, Range};

const LIMIT: i128 = 1 << 126;

/// Remainders that a proof of divisibility looks behind.
const REMAINDERS: usize = 8;

// Sums and products of intervals saturate, so they are not the operators.
#[allow(clippy::should_implement_trait)]
impl Range {
    /// From `low` to `high`, both included.
    pub fn new(low: i128, high: i128) -> Range {
        Range { low: low.clamp(-LIMIT, LIMIT), high: high.clamp(-LIMIT, LIMIT) }
    }

    /// One value.
    pub fn of(value: i64) -> Range {
        Range::new(i128::from(value), i128::from(value))
    }

    /// Whether 0 is one of the values.
    pub fn has_zero(self) -> bool {
        self.low <= 0 && self.high >= 0
    }

    /// Whether every value fits `i32`.
    pub fn fits_i32(self) -> bool {
        self.low >= i128::from(i32::MIN) && self.high <= i128::from(i32::MAX)
    }

    /// Whether every value fits `i64`.
    pub fn fits_i64(self) -> bool {
        self.low >= i128::from(i64::MIN) && self.high <= i128::from(i64::MAX)
    }

    /// Whether there are values beyond `i64`: of an index that has been [wrapped](Atoms::wrapped) those of a `u64`.
    pub fn beyond_i64(self) -> bool {
        self.high > i128::from(i64::MAX)
    }

    /// Every `i64`.
    pub fn signed() -> Range {
        Range::new(i128::from(i64::MIN), i128::from(i64::MAX))
    }

    /// The smallest interval that holds both.
    pub fn union(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub fn add(self, other: Range) -> Range {
        Range::new(self.low.saturating_add(other.low), self.high.saturating_add(other.high))
    }

    pub fn mul(self, other: Range) -> Range {
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
    pub fn range(&self, index: &Index) -> Range {
        index.terms().iter().fold(Range::of(index.offset()), |sum, (monomial, coefficient)| {
            let start = Range::of(1);
            let mut product = monomial.iter().fold(start, |product, id| product.mul(self.facts(*id).range));
            if let Some(most) = self.most_of(monomial) {
                product.high = product.high.min(i128::from(most));
            }
            sum.add(product.mul(Range::of(*coefficient)))
        })
    }

    /// A number that divides every value of an index; 0 for the index 0.
    pub fn divisor(&self, index: &Index) -> i64 {
        index.terms().iter().fold(index.offset().saturating_abs(), |known, (monomial, coefficient)| {
            let start = coefficient.saturating_abs();
            let product =
                monomial.iter().fold(start, |product, id| product.saturating_mul(self.facts(*id).divisor));
            gcd(known, product)
        })
    }

    /// Whether a number divides every value of an index.
    pub fn divides(&self, index: &Index, by: i64) -> bool {
        by > 0 && (self.divisor(index) % by == 0 || self.divisor(&self.congruent(index, by)) % by == 0)
    }

    /// An index that differs by a multiple of a positive number, without remainders and wraps as far as it takes to be a
    /// multiple. `a % d` differs from `a` by a multiple of `d`, so that 4 divides `a - a % 4`, whatever `a` is: what is before a
    /// place at an aligned one. What wraps differs from what it would be by a multiple of 2⁶⁴, and so of each smaller power of
    /// two.
    pub fn congruent(&self, index: &Index, by: i64) -> Index {
        let mut current = self.expand(index).unwrap_or_else(|_| index.clone());
        for _ in 0..REMAINDERS {
            if self.divisor(&current) % by == 0 {
                return current;
            }
            let found = current.terms().iter().find_map(|(monomial, coefficient)| {
                let (place, instead) =
                    monomial.iter().enumerate().find_map(|(place, id)| match self.atom(*id) {
                        Atom::Rem(dividend, d) => {
                            let whole = d.as_constant().map(|d| coefficient.saturating_mul(d) % by == 0);
                            whole?.then_some((place, dividend))
                        }
                        Atom::Wrapped { index, .. } => (by.count_ones() == 1).then_some((place, index)),
                        _ => None,
                    })?;
                let mut others = monomial.clone();
                others.remove(place);
                let instead = Index::product(&others, *coefficient).mul(&self.expand(instead).ok()?).ok()?;
                current.sub(&Index::product(monomial, *coefficient)).ok()?.add(&instead).ok()
            });
            let Some(next) = found else { return current };
            current = next;
        }
        current
    }

    /// The index with every named atom replaced by what it names, all the way down.
    pub fn expand(&self, index: &Index) -> Result<Index, IndexOverflow> {
        self.expand_where(index, &|_| true)
    }

    /// The index with those names replaced that are asked for.
    pub fn expand_where(
        &self,
        index: &Index,
        asked: &dyn Fn(AtomId) -> bool,
    ) -> Result<Index, IndexOverflow> {
        let mut current = index.clone();
        loop {
            let named = current.atoms().find(|id| self.facts(*id).definition.is_some() && asked(*id));
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

    /// The index with atoms replaced by indices of the same value, also inside of other atoms.
    pub fn replace(&mut self, index: &Index, by: &[(AtomId, Index)]) -> Result<Index, IndexOverflow> {
        let mut sum = Index::constant(index.offset());
        for (monomial, coefficient) in index.terms() {
            let mut product = Index::constant(*coefficient);
            for id in monomial {
                product = product.mul(&self.replace_atom(*id, by)?)?;
            }
            sum = sum.add(&product)?;
        }
        Ok(sum)
    }

    /// The index with atoms of its terms replaced, not those inside of other atoms.
    fn replace_terms(index: &Index, by: &[(AtomId, Index)]) -> Result<Index, IndexOverflow> {
        let mut sum = Index::constant(index.offset());
        for (monomial, coefficient) in index.terms() {
            let mut product = Index::constant(*coefficient);
            for id in monomial {
                let other = by.iter().find(|(known, _)| known == id);
                product = product.mul(&other.map_or_else(|| Index::atom(*id), |(_, index)| index.clone()))?;
            }
            sum = sum.add(&product)?;
        }
        Ok(sum)
    }

    fn replace_atom(&mut self, id: AtomId, by: &[(AtomId, Index)]) -> Result<Index, IndexOverflow> {
        if let Some((_, index)) = by.iter().find(|(known, _)| *known == id) {
            return Ok(index.clone());
        }
        let atom = self.atom(id).clone();
        let old: Vec<&Index> = atom.parts().collect();
        let parts = old.iter().map(|part| self.replace(part, by)).collect::<Result<Vec<Index>, _>>()?;
        if parts.iter().eq(old) {
            return Ok(Index::atom(id));
        }
        match (&atom, &parts[..]) {
            (Atom::Wrapped { signed, .. }, [index]) => Ok(self.modulo(index, *signed)),
            (Atom::Div(..), [left, right]) => self.div(left, right),
            (Atom::Rem(..), [left, right]) => self.rem(left, right),
            (Atom::Xor(..), [left, right]) => self.or(left, right, true),
            (Atom::And(..), [left, right]) => self.and(left, right),
            (Atom::Or(..), [left, right]) => self.or(left, right, false),
            (Atom::Min(..), [left, right]) => self.extremum(left, right, false),
            (Atom::Max(..), [left, right]) => self.extremum(left, right, true),
            _ => Ok(Index::atom(id)),
        }
    }

    /// The index as 64 bits hold it. Law: what comes from here, and every operand of a quotient, a remainder, bits, `min`,
    /// `max` or a comparison, is in the range of `i64`, or one atom in that of `u64`. Where it may leave both it wraps, as
    /// an `isize` where it may be negative, else as a `usize`.
    pub fn wrapped(&mut self, index: Index) -> Index {
        let range = self.range(&index);
        if range.fits_i64()
            || (range.low >= 0 && range.high <= i128::from(u64::MAX) && index.as_atom().is_some())
        {
            return index;
        }
        self.modulo(&index, range.low < 0)
    }

    /// `a + factor * b` of 64 bits.
    pub fn sum(&mut self, a: &Index, b: &Index, factor: i64) -> Result<Index, IndexOverflow> {
        match a.add_scaled(b, factor) {
            Ok(sum) => Ok(self.wrapped(sum)),
            Err(IndexOverflow) => {
                let range = self.range(a).add(self.range(b).mul(Range::of(factor)));
                Ok(self.remainder(a.wrapping_add_scaled(b, factor)?, range.low < 0))
            }
        }
    }

    /// `a * b` of 64 bits.
    pub fn product(&mut self, a: &Index, b: &Index) -> Result<Index, IndexOverflow> {
        match a.mul(b) {
            Ok(product) => Ok(self.wrapped(product)),
            Err(IndexOverflow) => {
                let range = self.range(a).mul(self.range(b));
                Ok(self.remainder(a.wrapping_mul(b)?, range.low < 0))
            }
        }
    }

    /// An index whose numbers are known modulo 2⁶⁴ only.
    fn remainder(&mut self, index: Index, signed: bool) -> Index {
        let range = if signed { Range::signed() } else { Range::new(0, i128::from(u64::MAX)) };
        match index.as_constant() {
            Some(number) if signed || number >= 0 => index,
            _ => Index::atom(self.intern(Atom::Wrapped { index: Box::new(index), signed }, range, 1, None)),
        }
    }

    /// The index as an `i64`: what is beyond is negative.
    pub fn signed(&mut self, index: &Index) -> Index {
        if self.range(index).beyond_i64() { self.modulo(index, true) } else { index.clone() }
    }

    /// The bits of an index as a `usize`.
    pub fn natural(&mut self, index: &Index) -> Index {
        self.modulo(index, false)
    }

    /// The index modulo 2⁶⁴, where it is not that already.
    fn modulo(&mut self, index: &Index, signed: bool) -> Index {
        let range = if signed { Range::signed() } else { Range::new(0, i128::from(u64::MAX)) };
        let known = self.range(index);
        if known.low >= range.low && known.high <= range.high && (signed || index.as_atom().is_some()) {
            return index.clone();
        }
        // Sums and products of remainders are those of the numbers themselves; quotients are not.
        let plain: Vec<(AtomId, Index)> = index
            .atoms()
            .filter_map(|id| match self.atom(id) {
                Atom::Wrapped { index, .. } => Some((id, (**index).clone())),
                _ => None,
            })
            .collect();
        let mut index = index.clone();
        if let Ok(replaced) = Self::replace_terms(&index, &plain) {
            index = replaced;
        }
        let meant = plain.iter().any(|(id, _)| self.is_meant(*id));
        let wrapped =
            Index::atom(self.intern(Atom::Wrapped { index: Box::new(index), signed }, range, 1, None));
        if meant {
            self.mean(&wrapped);
        }
        wrapped
    }

    /// Both as numbers that one comparison of 64 bits compares. Where one is beyond `i64` both are as Rust's `usize`, unless
    /// the other is a negative number: then both are as its `isize`.
    pub fn alike(&mut self, a: &Index, b: &Index) -> (Index, Index) {
        let (left, right) = (self.range(a), self.range(b));
        let mixed = left.beyond_i64() && right.low < 0 || right.beyond_i64() && left.low < 0;
        if !mixed {
            return (a.clone(), b.clone());
        }
        match [a, b].iter().any(|side| side.as_constant().is_some_and(|number| number < 0)) {
            true => (self.signed(a), self.signed(b)),
            false => (self.natural(a), self.natural(b)),
        }
    }

    /// An atom whose facts follow from its parts.
    fn derived(&mut self, atom: Atom, range: Range, divisor: i64) -> Index {
        Index::atom(self.intern(atom, range, divisor.max(1), None))
    }

    /// `n = d * q + r` with `r` the part whose coefficients `d` does not divide.
    fn split(n: &Index, d: i64) -> Result<(Index, Index), IndexOverflow> {
        let (multiples, rest) = n.partition(|_, coefficient| coefficient % d == 0);
        let constant = rest.offset();
        let whole = constant.checked_sub(constant.rem_euclid(d)).ok_or(IndexOverflow)?;
        let q = multiples.plus(whole)?;
        // The least number has no negative.
        let r = match whole.checked_neg() {
            Some(back) => rest.plus(back)?,
            None => rest.plus(i64::MAX)?.plus(1)?,
        };
        let q = q.exact_div(d).ok_or(IndexOverflow)?;
        Ok((q, r))
    }

    /// The parts of [`split`](Atoms::split) and the rest's range, where neither `n` nor the rest is negative. Near the ends of 64 bits a part may be
    /// beyond them, and `n` is then as good as any other atom.
    fn natural_parts(&self, n: &Index, d: i64) -> Option<(Index, Index, Range)> {
        let (quotient, rest) =
            Some(n).filter(|n| self.range(n).low >= 0).and_then(|n| Atoms::split(n, d).ok())?;
        let range = self.range(&rest);
        (range.low >= 0).then_some((quotient, rest, range))
    }

    /// Truncated quotient. `d` must not be the number 0.
    pub fn div(&mut self, n: &Index, d: &Index) -> Result<Index, IndexOverflow> {
        let (n, d) = &self.alike(n, d);
        let range = self.range(n);
        if let Some(number) = d.as_constant()
            && number > 1
            && range.beyond_i64()
        {
            let high = Range::new(0, range.high / i128::from(number));
            return Ok(self.derived(Atom::Div(Box::new(n.clone()), Box::new(d.clone())), high, 1));
        }
        let Some(number) = d.as_constant() else {
            let by = self.range(d);
            let range = if range.low >= 0 && by.low >= 0 {
                Range::new(0, range.high / by.low.max(1))
            } else {
                // The quotient of the least number by -1 wraps.
                let most = range.low.abs().max(range.high.abs()).min(i128::from(i64::MAX));
                Range::new(-most - 1, most)
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
        let whole = i128::from(number);
        if let Some((quotient, rest, rest_range)) = self.natural_parts(n, number) {
            if rest_range.high < whole {
                return Ok(quotient);
            }
            if let Some(id) = rest.as_atom()
                && let Atom::Div(inner, by) = self.atom(id).clone()
                && let Some(both) = by.as_constant().and_then(|by| by.checked_mul(number))
            {
                return quotient.add(&self.div(&inner, &Index::constant(both))?);
            }
            let range = Range::new(rest_range.low / whole, rest_range.high / whole);
            let atom = self.derived(Atom::Div(Box::new(rest), Box::new(d.clone())), range, 1);
            return quotient.add(&atom);
        }
        let range = Range::new(range.low / whole, range.high / whole);
        Ok(self.derived(Atom::Div(Box::new(n.clone()), Box::new(d.clone())), range, 1))
    }

    /// The remainder of an `n` that is not negative, though its interval may not show it, by a `d >= 1`.
    pub fn natural_rem(&mut self, n: &Index, d: &Index) -> Result<Index, IndexOverflow> {
        if d.as_constant().is_some() || self.range(n).low >= 0 {
            return self.rem(n, d);
        }
        let high = (self.range(d).high - 1).max(0);
        Ok(self.derived(Atom::Rem(Box::new(n.clone()), Box::new(d.clone())), Range::new(0, high), 1))
    }

    /// Remainder with the sign of `n`. `d` must not be the number 0.
    pub fn rem(&mut self, n: &Index, d: &Index) -> Result<Index, IndexOverflow> {
        let (n, d) = &self.alike(n, d);
        let range = self.range(n);
        if let Some(number) = d.as_constant()
            && range.beyond_i64()
        {
            let high = Range::new(0, i128::from(number) - 1);
            return Ok(self.derived(Atom::Rem(Box::new(n.clone()), Box::new(d.clone())), high, 1));
        }
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
        let whole = i128::from(number);
        let divisor = gcd(self.divisor(n), number);
        if let Some((_, rest, rest_range)) = self.natural_parts(n, number) {
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

    /// `n / d` rounded up. `d` must not be the number 0.
    pub fn div_ceil(&mut self, n: &Index, d: &Index) -> Result<Index, IndexOverflow> {
        if self.range(n).low >= 0 && self.range(d).low >= 0 {
            let top = n.add(d)?.plus(-1)?;
            if self.range(&top).fits_i64() {
                return self.div(&top, d);
            }
        }
        // The truncated quotient, and one more where something is left that has the divisor's sign.
        let (quotient, rest) = (self.div(n, d)?, self.rem(n, d)?);
        let (zero, one) = (Index::constant(0), Index::constant(1));
        let sign = self.extremum(d, &one, false)?;
        let sign = self.extremum(&sign, &Index::constant(-1), true)?;
        let more = self.extremum(&rest.mul(&sign)?, &zero, true)?;
        quotient.add(&self.extremum(&more, &one, false)?)
    }

    /// `n` shifted to the right by `count` bits, which are less than 63: the quotient rounded down.
    pub fn shift_right(&mut self, n: &Index, count: u32) -> Result<Index, IndexOverflow> {
        let by = Index::constant(1 << count);
        if self.range(n).low >= 0 {
            return self.div(n, &by);
        }
        let rest = self.and(n, &Index::constant((1 << count) - 1))?;
        let whole = n.sub(&rest)?;
        let whole = self.wrapped(whole);
        self.div(&whole, &by)
    }

    /// Bitwise and, in two's complement.
    pub fn and(&mut self, a: &Index, b: &Index) -> Result<Index, IndexOverflow> {
        if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant()) {
            return Ok(Index::constant(a & b));
        }
        let (a, b) = &self.alike(a, b);
        for (value, mask) in [(a, b), (b, a)] {
            if let Some(mask) = mask.as_constant()
                && mask >= 0
                && mask.checked_add(1).is_some_and(|next| next & mask == 0)
                && self.range(value).low >= 0
            {
                return self.rem(value, &Index::constant(mask + 1));
            }
        }
        let (left, right) = (self.range(a), self.range(b));
        let range = match (left.low >= 0, right.low >= 0) {
            (true, true) => Range::new(0, left.high.min(right.high)),
            (true, false) => Range::new(0, left.high),
            (false, true) => Range::new(0, right.high),
            (false, false) => Range::signed(),
        };
        let low_zeros = self.divisor(a).trailing_zeros().max(self.divisor(b).trailing_zeros()).min(62);
        let atom = Atom::And(Box::new(a.clone()), Box::new(b.clone()));
        Ok(self.derived(atom, range, 1 << low_zeros))
    }

    /// Bitwise or (`xor` false) or exclusive or, in two's complement.
    pub fn or(&mut self, a: &Index, b: &Index, xor: bool) -> Result<Index, IndexOverflow> {
        if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant()) {
            return Ok(Index::constant(if xor { a ^ b } else { a | b }));
        }
        for (value, other) in [(a, b), (b, a)] {
            if other.as_constant() == Some(0) {
                return Ok(value.clone());
            }
        }
        let (a, b) = &self.alike(a, b);
        let most = self.range(a).high.max(self.range(b).high).max(1);
        let range = match self.range(a).low < 0 || self.range(b).low < 0 {
            true => Range::signed(),
            false => Range::new(0, (1i128 << (128 - most.leading_zeros())) - 1),
        };
        let zeros = |divisor: i64| if divisor == 0 { 62 } else { divisor.trailing_zeros() };
        let low_zeros = zeros(self.divisor(a)).min(zeros(self.divisor(b))).min(62);
        let (left, right) = (Box::new(a.clone()), Box::new(b.clone()));
        let atom = if xor { Atom::Xor(left, right) } else { Atom::Or(left, right) };
        Ok(self.derived(atom, range, 1 << low_zeros))
    }

    /// The index where it is from `least` to `most`; elsewhere a number there whose distance from that end is less than a
    /// 2048th of it.
    pub fn clamp(&mut self, index: &Index, least: i64, most: i64) -> Result<Index, IndexOverflow> {
        let far = |monomial: &Monomial, coefficient: i64| {
            let range = self.range(&Index::product(monomial, coefficient));
            range.low < i128::from(least) / 4096 || range.high > i128::from(most) / 4096
        };
        let (terms, rest) = index.partition(far);
        let small = self.range(&rest);
        // One far term is taken to where the sum is within; of several first each to where 64 bits hold the sum.
        let one = terms.terms().len() == 1;
        let (low, high) = match one {
            true => (i128::from(least) - small.low.min(0), i128::from(most) - small.high.max(0)),
            false => (-(1 << 60), 1 << 60),
        };
        let mut sum = rest;
        for (monomial, coefficient) in terms.terms() {
            let count = terms.terms().len() as i128 * i128::from(coefficient.saturating_abs());
            let end = |end: i128| i64::try_from(end / count).map(Index::constant).map_err(|_| IndexOverflow);
            let (low, high) = (end(low)?, end(high)?);
            let (low, high) = if *coefficient < 0 { (high.scale(-1)?, low.scale(-1)?) } else { (low, high) };
            let term = self.extremum(&Index::product(monomial, 1), &high, false)?;
            sum = sum.add_scaled(&self.extremum(&term, &low, true)?, *coefficient)?;
        }
        if one {
            return Ok(sum);
        }
        let below = self.extremum(&sum, &Index::constant(most), false)?;
        self.extremum(&below, &Index::constant(least), true)
    }

    /// The smaller or the larger of two values.
    pub fn extremum(&mut self, a: &Index, b: &Index, larger: bool) -> Result<Index, IndexOverflow> {
        let (a, b) = &self.alike(a, b);
        // A difference that leaves 64 bits is one of the bounds.
        let difference = match a.sub(b) {
            Ok(difference) => self.range(&difference),
            Err(IndexOverflow) => self.range(a).add(self.range(b).mul(Range::of(-1))),
        };
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
