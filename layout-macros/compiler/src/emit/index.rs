//! Index polynomials as C expressions.
//!
//! Terms are in the order in which a person writes them (`block_y * 64 + row`). A dimension or stride that several
//! terms share is factored out: `(row + 1) * K + k`. A product that equals a dimension is printed as the dimension:
//! `8 * (K / 8)` is `K`.
//!
//! Law: the text has the polynomial's value, provided that the value fits the text's type. The modes of [`Steps`]:
//! - `Proved`: no step overflows 32 bits. A step whose interval does not prove that is computed in `long long`, and
//!   the remainder of a 64-bit position is cast to `int` where it meets `int`s.
//! - `Promised`: sizes and counts are `int`s, since the result fits. Terms that cancel are computed as in `Proved`.
//! - `Wrapping`: an index that may leave 64 bits ([`Atom::Wrapped`]) is computed in `unsigned long long`, whose
//!   overflow C defines. No other step is unsigned.

use super::expression::Expression;
use super::names::{Name, Names, register};
use super::types;
use crate::elem::Elem;
use crate::index::{Atom, AtomFacts, AtomId, Atoms, Index, Range, Width};
use crate::ir::{BinaryOp, Special};
use crate::program::{Tables, VariableKind};
use std::cell::Cell;
use std::cmp::Reverse;

/// How to choose the machine type of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// The result is known to fit 32 bits (a narrow variant's promise); the steps follow the operands' types.
    Promised,
    /// Each step is 64 bits wide unless the intervals prove that 32 are enough.
    Proved,
    /// Likewise, and a step that may leave 64 bits wraps.
    Wrapping,
}

impl Width {
    /// Its name in C.
    pub(super) fn name(self) -> &'static str {
        types::scalar(self.elem())
    }

    /// The type of the variant's sizes.
    pub(super) fn of_sizes(narrow: bool) -> Width {
        if narrow { Width::Int } else { Width::Long }
    }
}

/// An expression with its type and what is known of its value.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    /// The expression.
    pub(super) expression: Expression,
    /// Its type.
    pub(super) width: Width,
    range: Range,
    /// Whether it is of 64 bits and would fit 32: the remainder of a long place, which is an `int` beside other ones.
    short: bool,
}

/// What the printing of an index needs to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub(super) tables: &'a Tables,
    pub(super) names: &'a Names,
    /// Whether dimensions, strides and index arguments are `int`.
    pub(super) narrow: bool,
    /// Set where the text calls `wrapping_neg`.
    pub(super) negates: &'a Cell<bool>,
}

/// A part of a product: an atom, or the whole dimension or stride of an atom that holds a quotient of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Factor {
    /// Dimensions and strides are after everything else.
    size: bool,
    atom: AtomId,
    whole: bool,
}

#[derive(Clone, Debug)]
struct Term {
    coefficient: i64,
    factors: Vec<Factor>,
}

impl Scope<'_> {
    /// The polynomial.
    pub(super) fn index(&self, index: &Index, steps: Steps) -> Typed {
        let mut terms: Vec<Term> = index.terms().iter().map(|(atoms, c)| self.term(atoms, *c)).collect();
        if index.offset() != 0 {
            terms.push(Term { coefficient: index.offset(), factors: Vec::new() });
        }
        let steps = if steps == Steps::Promised && self.leaps(&terms) { Steps::Proved } else { steps };
        self.polynomial(terms, steps)
    }

    /// Whether parts may leave 32 bits although the whole is promised to fit: where more is taken away again than 32 bits hold,
    /// `c * row - c * first`, or a multiple is beyond them. Sizes are promised to fit with what they count. So is what has no
    /// sign, where nothing is taken away.
    fn leaps(&self, terms: &[Term]) -> bool {
        let least = |Term { coefficient, factors }: &Term| {
            let ranges = factors.iter().map(|factor| self.tables.atoms.facts(factor.atom).range);
            ranges.fold(point((*coefficient).into()), times).low
        };
        let mut factors = terms.iter().flat_map(|term| &term.factors);
        if factors.any(|factor| self.is_word(factor.atom)) && terms.iter().any(|term| least(term) < 0) {
            return true;
        }
        terms.iter().any(|Term { coefficient, factors }| {
            let range = |factor: &Factor| self.tables.atoms.facts(factor.atom).range;
            let values = factors.iter().map(range).fold(point((*coefficient).into()), times);
            let is_sized = factors.iter().any(|factor| factor.size);
            i32::try_from(*coefficient).is_err() || !is_sized && values.low < i32::MIN.into()
        })
    }

    /// `left op right`, both in types that hold them.
    pub(super) fn comparison(&self, op: BinaryOp, left: &Index, right: &Index) -> Expression {
        let right_range = self.tables.atoms.range(right);
        let order = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        let right = self.index(right, Steps::Proved);
        // Of 32 bits a negative number is above each that is none, as it is of 64.
        let (left, right) = match self.natural_of_int(left) {
            Some(inner) if right_range.low >= 0 && right_range.fits_i32() && order => {
                (cast(self.index(inner, Steps::Proved), Width::Word), right)
            }
            _ => ordered(self.index(left, Steps::Proved), right),
        };
        Expression::infix(op, left.expression, right.expression)
    }

    /// The `int` that an index is as a natural number of 64 bits: `x as usize` of an `i32`.
    pub(super) fn natural_of_int<'i>(&'i self, index: &Index) -> Option<&'i Index> {
        match self.tables.atoms.atom(index.as_atom()?) {
            Atom::Wrapped { index, signed: false } if self.tables.atoms.range(index).fits_i32() => {
                Some(index)
            }
            _ => None,
        }
    }

    /// Whether an atom is computed in 32 bits without a sign, and beyond those with one.
    fn is_word(&self, id: AtomId) -> bool {
        let AtomFacts { atom, range, .. } = self.tables.atoms.facts(id);
        match atom {
            Atom::Variable(variable, _) => matches!(
                self.tables.variable(*variable).kind,
                VariableKind::Index(Width::Word) | VariableKind::Elem(Elem::U32)
            ),
            other => !other.is_leaf() && Width::of(*range) == Width::Word,
        }
    }

    fn term(&self, atoms: &[AtomId], coefficient: i64) -> Term {
        let mut coefficient = coefficient;
        let mut factors = Vec::with_capacity(atoms.len());
        for atom in atoms {
            let factor = match self.tables.atoms.atom(*atom) {
                Atom::Dim { divisor, .. } | Atom::Stride { divisor, .. } => {
                    let whole = *divisor != 0 && coefficient % divisor == 0;
                    if whole {
                        coefficient /= divisor;
                    }
                    Factor { size: true, atom: *atom, whole }
                }
                _ => Factor { size: false, atom: *atom, whole: false },
            };
            factors.push(factor);
        }
        factors.sort_unstable();
        Term { coefficient, factors }
    }

    fn polynomial(&self, terms: Vec<Term>, steps: Steps) -> Typed {
        let mut parts = Vec::new();
        self.parts(terms, steps, &mut parts);
        // A positive part goes first, so that no expression begins with a sign that could be a subtraction.
        if let Some(first) = parts.iter().position(|(negative, _)| !negative) {
            let part = parts.remove(first);
            parts.insert(0, part);
        }
        let is_negative = steps == Steps::Wrapping && matches!(parts.as_slice(), [(true, _)]);
        let mut parts = parts.into_iter();
        let Some((negative, first)) = parts.next() else { return constant(0) };
        if is_negative {
            self.negates.set(true);
            let operand = cast(first, Width::Long);
            let range = times(operand.range, point(-1));
            return Typed {
                expression: Expression::call("wrapping_neg", vec![operand.expression]),
                range,
                ..operand
            };
        }
        let first = match (negative, steps) {
            (true, Steps::Wrapping) => negated(cast(first, Width::Natural)),
            // The least `int` has no negative among them.
            (true, Steps::Proved) if !fits(times(first.range, point(-1))) => {
                negated(cast(first, Width::Long))
            }
            (true, _) if first.width == Width::Word => negated(cast(first, Width::Long)),
            (true, _) => negated(first),
            (false, _) => first,
        };
        parts.fold(first, |sum, (negative, part)| {
            combine(if negative { BinaryOp::Sub } else { BinaryOp::Add }, sum, part, steps)
        })
    }

    /// The summands, each with whether it is subtracted.
    fn parts(&self, mut terms: Vec<Term>, steps: Steps, out: &mut Vec<(bool, Typed)>) {
        if let Some(shared) = shared_size(&terms) {
            let (mut with, without): (Vec<Term>, Vec<Term>) =
                terms.into_iter().partition(|term| term.factors.contains(&shared));
            let negative = with.iter().all(|term| term.coefficient < 0);
            for term in &mut with {
                if let Some(at) = term.factors.iter().position(|factor| *factor == shared) {
                    term.factors.remove(at);
                }
                if negative {
                    term.coefficient = term.coefficient.saturating_neg();
                }
            }
            let rest = self.polynomial(with, steps);
            out.push((negative, combine(BinaryOp::Mul, rest, self.factor(shared, steps), steps)));
            return self.parts(without, steps, out);
        }
        terms.sort_by_key(|term| (Reverse(term.factors.len()), Reverse(term.coefficient.unsigned_abs())));
        for term in terms {
            out.push((term.coefficient < 0, self.product(&term, steps)));
        }
    }

    /// The product of a term without its sign: `row * 8 * K`, `2 * K`.
    fn product(&self, term: &Term, steps: Steps) -> Typed {
        let magnitude = magnitude(term.coefficient);
        let (sizes, others): (Vec<Factor>, Vec<Factor>) = term.factors.iter().partition(|factor| factor.size);
        let mut operands: Vec<Typed> = others.iter().map(|factor| self.factor(*factor, steps)).collect();
        if term.coefficient.unsigned_abs() != 1 || term.factors.is_empty() {
            operands.push(magnitude);
        }
        operands.extend(sizes.iter().map(|factor| self.factor(*factor, steps)));
        if let (Some(range), [left, right]) = (self.limited(term), operands.as_slice())
            && [left.width, right.width] == [Width::Int; 2]
        {
            let [left, right] = [left, right].map(|side| side.expression.clone());
            let expression = Expression::infix(BinaryOp::Mul, left, right);
            return Typed { expression, width: Width::Int, range, short: false };
        }
        let mut operands = operands.into_iter();
        let Some(first) = operands.next() else { return constant(1) };
        operands.fold(first, |product, operand| combine(BinaryOp::Mul, product, operand, steps))
    }

    /// The range of a product of two factors that a launch limits to 32 bits: the elements of a compact tensor.
    fn limited(&self, term: &Term) -> Option<Range> {
        let [left, right] = term.factors.as_slice() else { return None };
        let mut atoms = vec![left.atom, right.atom];
        atoms.sort_unstable();
        let most = i128::from(self.tables.atoms.most_of(&atoms)?);
        let divisor = |factor: &Factor| match self.tables.atoms.atom(factor.atom) {
            Atom::Dim { divisor, .. } if factor.whole => i128::from(*divisor),
            _ => 1,
        };
        let range = Range::new(0, most * divisor(left) * divisor(right));
        (term.coefficient.unsigned_abs() == 1 && range.fits_i32()).then_some(range)
    }

    fn factor(&self, factor: Factor, steps: Steps) -> Typed {
        let facts = self.tables.atoms.facts(factor.atom);
        let sized = |name: Name, divisor: i64| {
            let whole = times(facts.range, point(divisor.into()));
            let width = Width::of_sizes(self.narrow);
            let size = Typed { expression: self.name(name), width, range: whole, short: false };
            if factor.whole || divisor == 1 {
                size
            } else {
                let mut quotient = combine(BinaryOp::Div, size, constant(divisor), steps);
                quotient.range = facts.range;
                quotient
            }
        };
        let leaf = |expression: Expression, width: Width| Typed {
            expression,
            width,
            range: facts.range,
            short: false,
        };
        let operands = |op: BinaryOp, left: &Index, right: &Index| {
            let is_quotient = matches!(op, BinaryOp::Div | BinaryOp::Rem);
            let (left, right) = (
                self.index(left, Steps::Proved),
                if is_quotient { self.divisor(right) } else { self.index(right, Steps::Proved) },
            );
            let is_rem = op == BinaryOp::Rem;
            let mut value = match self.bits_of_natural(op, &left, &right) {
                Some((op, bits)) => combine(op, left, constant(bits), Steps::Promised),
                None => combine(op, left, right, Steps::Promised),
            };
            value.range = facts.range;
            let value = signed(value);
            Typed { short: is_rem && value.width == Width::Long && fits(facts.range), ..value }
        };
        match &facts.atom {
            Atom::Wrapped { index, signed } => {
                let value = self.index(index, Steps::Wrapping);
                let value = cast(value, if *signed { Width::Long } else { Width::Natural });
                Typed { range: facts.range, ..value }
            }
            Atom::Special(special, axis) => match self.names.get(Name::Special(*special, *axis)) {
                Some(name) => leaf(Expression::leaf(name), Width::Int),
                None => {
                    leaf(Expression::cast("int", Expression::leaf(register(*special, *axis))), Width::Int)
                }
            },
            Atom::Dim { dim, divisor } => sized(Name::Dim(*dim), *divisor),
            Atom::Stride { argument, mode, divisor } => sized(Name::Stride(*argument, *mode), *divisor),
            Atom::Argument(number) => leaf(self.name(Name::Argument(*number)), Width::of_sizes(self.narrow)),
            Atom::Variable(variable, _) => {
                let width = match self.tables.variable(*variable).kind {
                    VariableKind::Index(width) => width,
                    VariableKind::Elem(Elem::U32) => Width::Word,
                    VariableKind::Elem(elem) if elem.bits() == 64 => Width::Long,
                    VariableKind::Elem(_) | VariableKind::Pointer(_) => Width::Int,
                };
                let own = leaf(self.name(Name::Variable(*variable)), width);
                // What wraps is computed in 64 bits.
                if steps == Steps::Wrapping { unworded(own) } else { own }
            }
            atom @ Atom::Div(left, right) => match self.names.get(Name::WarpGroup) {
                Some(name) if is_warp_group(&self.tables.atoms, atom) => {
                    leaf(Expression::leaf(name), Width::Int)
                }
                _ => operands(BinaryOp::Div, left, right),
            },
            Atom::Rem(left, right) => operands(BinaryOp::Rem, left, right),
            Atom::Xor(left, right) => operands(BinaryOp::BitXor, left, right),
            Atom::And(left, right) => operands(BinaryOp::BitAnd, left, right),
            Atom::Or(left, right) => operands(BinaryOp::BitOr, left, right),
            Atom::Min(left, right) => self.choice("min", left, right, facts.range),
            Atom::Max(left, right) => self.choice("max", left, right, facts.range),
        }
    }

    /// A divisor that is not 0: by 0 a GPU divides to -1, which no proof of a bound expects, and C++ leaves it undefined. A narrow variant
    /// is launched where its sizes are none.
    fn divisor(&self, index: &Index) -> Typed {
        let by = self.index(index, Steps::Proved);
        if !by.range.has_zero() || self.narrow && self.tables.atoms.sizes(index).is_some() {
            return by;
        }
        let range = Range::new(by.range.low, by.range.high.max(1));
        let expression = if by.range.low >= 0 {
            types::not_zero(by.width.elem(), by.expression)
        } else {
            let is_zero = Expression::infix(BinaryOp::Eq, by.expression.clone(), Expression::leaf("0"));
            Expression::conditional(is_zero, Expression::leaf("1"), by.expression)
        };
        Typed { expression, range, ..by }
    }

    /// The quotient or the remainder of a natural number by a power of two, as a shift or a mask. A compiler finds that by
    /// itself where it sees that the number is natural: of 64 bits it does not.
    fn bits_of_natural(&self, op: BinaryOp, left: &Typed, right: &Typed) -> Option<(BinaryOp, i64)> {
        let by = i64::try_from(right.range.low).ok().filter(|by| *by > 1 && by.count_ones() == 1)?;
        let is_natural =
            left.width == Width::Long && left.range.low >= 0 && right.range.high == right.range.low;
        match op {
            BinaryOp::Div if is_natural => Some((BinaryOp::Shr, by.trailing_zeros().into())),
            BinaryOp::Rem if is_natural => Some((BinaryOp::BitAnd, by - 1)),
            _ => None,
        }
    }

    /// `min` and `max` take two arguments of one type.
    fn choice(&self, name: &str, left: &Index, right: &Index, range: Range) -> Typed {
        let (left, right) = (self.index(left, Steps::Proved), self.index(right, Steps::Proved));
        let (left, right) = ordered(left, right);
        let width = left.width.max(right.width);
        let (left, right) = (cast(left, width), cast(right, width));
        let expression = Expression::call(name, vec![left.expression, right.expression]);
        signed(Typed { expression, width, range, short: false })
    }

    fn name(&self, name: Name) -> Expression {
        // Everything is declared before it is used; the fallback only keeps this total.
        Expression::leaf(self.names.get(name).unwrap_or("undeclared"))
    }
}

/// Whether this is the warpgroup of the thread in a block of one dimension.
pub(super) fn is_warp_group(atoms: &Atoms, atom: &Atom) -> bool {
    let Atom::Div(thread, count) = atom else { return false };
    let thread = thread.as_atom().map(|id| atoms.atom(id));
    count.as_constant() == Some(128) && matches!(thread, Some(Atom::Special(Special::ThreadIdx, 0)))
}

/// The dimension or stride that most terms share, of those in at least two.
fn shared_size(terms: &[Term]) -> Option<Factor> {
    let mut best: Option<(usize, Factor)> = None;
    for factor in terms.iter().flat_map(|term| &term.factors).filter(|factor| factor.size) {
        let count = terms.iter().filter(|term| term.factors.contains(factor)).count();
        if count >= 2 && best.is_none_or(|(most, _)| count > most) {
            best = Some((count, *factor));
        }
    }
    best.map(|(_, factor)| factor)
}

/// `left op right`, 64 bits wide where an operand is, or where the steps are to be proved and the result may not fit.
fn combine(op: BinaryOp, left: Typed, right: Typed, steps: Steps) -> Typed {
    let range = match op {
        BinaryOp::Add => plus(left.range, right.range),
        BinaryOp::Sub => plus(left.range, times(right.range, point(-1))),
        BinaryOp::Mul => times(left.range, right.range),
        _ => left.range,
    };
    let sums = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul);
    let (mut left, mut right) = (left, right);
    if sums && steps != Steps::Wrapping {
        // What is natural is in the range of the signed numbers where it is added to.
        let plain = |side: Typed| if side.width == Width::Natural { cast(side, Width::Long) } else { side };
        (left, right) = (plain(left), plain(right));
    }
    if sums && steps == Steps::Proved && (range.low < 0 || Width::of(range) == Width::Long) {
        (left, right) = (unworded(left), unworded(right));
    } else if !sums || steps == Steps::Proved {
        (left, right) = ordered(left, right);
    }
    let natural = |left: &Typed, right: &Typed| [left.width, right.width].contains(&Width::Natural);
    if sums && steps == Steps::Wrapping && !range.fits_i64() && !natural(&left, &right) {
        left = cast(left, Width::Natural);
    }
    if sums && (steps == Steps::Promised || steps == Steps::Proved && fits(range)) {
        match (left.width, right.width) {
            (Width::Int, Width::Long) if right.short => right = cast(right, Width::Int),
            (Width::Long, Width::Int) if left.short => left = cast(left, Width::Int),
            _ => {}
        }
    }
    if left.width == Width::Int && right.width == Width::Int && steps != Steps::Promised && !fits(range) {
        left = cast(left, Width::Long);
    }
    let width = left.width.max(right.width);
    Typed { expression: Expression::infix(op, left.expression, right.expression), width, range, short: false }
}

/// What has no sign beside what may be negative, in 64 bits.
fn ordered(left: Typed, right: Typed) -> (Typed, Typed) {
    if left.range.low < 0 || right.range.low < 0 { (unworded(left), unworded(right)) } else { (left, right) }
}

/// What has 32 bits without a sign, in 64.
fn unworded(value: Typed) -> Typed {
    if value.width == Width::Word { cast(value, Width::Long) } else { value }
}

/// With a sign where that type of the same size holds it.
fn signed(value: Typed) -> Typed {
    match value.width {
        Width::Word if fits(value.range) => cast(value, Width::Int),
        Width::Natural if !value.range.beyond_i64() => cast(value, Width::Long),
        _ => value,
    }
}

fn negated(value: Typed) -> Typed {
    let range = times(value.range, point(-1));
    Typed { expression: Expression::prefix("-", value.expression), range, ..value }
}

/// The value in a type that holds it, or modulo 2⁶⁴.
fn cast(value: Typed, width: Width) -> Typed {
    if value.width == width {
        return value;
    }
    let expression = match i64::try_from(value.range.low) {
        Ok(number) if value.range.low == value.range.high && width == Width::Long => types::integer64(number),
        _ => Expression::cast(width.name(), value.expression),
    };
    Typed { expression, width, range: value.range, short: false }
}

fn constant(value: i64) -> Typed {
    let range = point(value.into());
    let width = if fits(range) { Width::Int } else { Width::Long };
    Typed { expression: types::integer(value), width, range, short: false }
}

/// The absolute value of a coefficient; that of the least number is natural only, and is where numbers wrap.
fn magnitude(coefficient: i64) -> Typed {
    match coefficient.checked_abs() {
        Some(magnitude) => constant(magnitude),
        None => Typed {
            expression: Expression::leaf("9223372036854775808ULL"),
            width: Width::Natural,
            range: point(1 << 63),
            short: false,
        },
    }
}

fn point(value: i128) -> Range {
    Range { low: value, high: value }
}

fn fits(range: Range) -> bool {
    range.low >= i32::MIN.into() && range.high <= i32::MAX.into()
}

fn plus(left: Range, right: Range) -> Range {
    Range { low: left.low.saturating_add(right.low), high: left.high.saturating_add(right.high) }
}

fn times(left: Range, right: Range) -> Range {
    let corners = [
        left.low.saturating_mul(right.low),
        left.low.saturating_mul(right.high),
        left.high.saturating_mul(right.low),
        left.high.saturating_mul(right.high),
    ];
    let (mut low, mut high) = (corners[0], corners[0]);
    for corner in corners {
        low = low.min(corner);
        high = high.max(corner);
    }
    Range { low, high }
}
