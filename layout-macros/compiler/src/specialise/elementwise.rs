//! The elementwise words, applied to indices, to numbers known at compile time, and to a thread's values; and the
//! words that are defined by other words.
//!
//! A word of indices gives an index where an index operation has the same meaning. Otherwise it is computed as a
//! `u64` (an `i64` where it may be negative), and its result is an index again.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Failed, Outcome};
use super::tile::TileAccess;
use crate::elem::{Constant, Elem};
use crate::index::Index;
use crate::intrinsic::Intrinsic;
use crate::ir::{BinaryOp, TypeRef, UnaryOp};
use crate::math::{Domain, Math, Type};
use crate::meaning;
use crate::origin::Origin;
use crate::program::Value;

/// Powers of an index up to this one are products.
const MOST_FACTORS: i64 = 8;

impl Evaluator<'_> {
    /// `function(values)`, the receiver first; `signed` where indices that saturate are of type `isize`.
    pub(super) fn elementwise(
        &mut self,
        function: Math,
        values: Vec<StaticValue>,
        signed: bool,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let name = function.name();
        let same = |n: usize| n == 0 || function.operands().get(n - 1) == Some(&Type::Same);
        let indices: Option<Vec<Index>> = values
            .iter()
            .enumerate()
            .filter(|(n, _)| same(*n))
            .map(|(_, value)| if let StaticValue::Index(index) = value { Some(index.clone()) } else { None })
            .collect();
        if let Some(indices) = indices.filter(|_| function.domain() != Domain::Word) {
            return self.of_indices(function, indices, values, signed, origin);
        }
        let (parts, elem) = self.operands(function, values, origin)?;
        let result = function.result().of(elem);
        if let Some(known) = folded(function, elem, &parts) {
            return Ok(known);
        }
        if self.host {
            return self.fail(origin, format!("`{name}` has no meaning in the attribute, on the host"));
        }
        Ok(StaticValue::Scalar(Value::Math(function, parts), result))
    }

    /// The operands as values of the types that the word asks for, and the first one's type.
    fn operands(
        &mut self,
        function: Math,
        values: Vec<StaticValue>,
        origin: Origin,
    ) -> Outcome<(Vec<Value<TileAccess>>, Elem)> {
        let name = function.name();
        let mut types = function.operands().iter().copied();
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or(StaticValue::Unknown);
        let first = next();
        let (mut parts, elem) = if function.domain() == Domain::Word {
            (vec![self.coerce(first, Elem::U32, origin)?], Elem::U32)
        } else if function.operands().first() == Some(&Type::Same) {
            types.next();
            let (a, b, elem) = self.unify(first, next(), name, origin)?;
            (vec![a, b], elem)
        } else {
            match first {
                StaticValue::Float(value) => {
                    (vec![self.coerce(StaticValue::Float(value), Elem::F32, origin)?], Elem::F32)
                }
                StaticValue::Scalar(value, elem) => (vec![value], elem),
                StaticValue::Unknown => return Err(Failed),
                other => {
                    let help = match other {
                        StaticValue::View(_) => {
                            format!("it is of a number of each thread: `x[[i, j]].{name}(..)`")
                        }
                        _ => format!("it is of numbers: {}", other.way_to("f32")),
                    };
                    return self.fail_help(
                        origin,
                        format!("`{name}` does not apply to {}", other.kind()),
                        help,
                    );
                }
            }
        };
        // An operand behind it may be of no type that the word has.
        self.applies(function, elem, origin)?;
        for ty in types {
            let value = self.coerce(next(), ty.of(elem), origin)?;
            parts.push(value);
        }
        Ok((parts, elem))
    }

    /// Refuses a word where it has no meaning for the type.
    fn applies(&mut self, function: Math, elem: Elem, origin: Origin) -> Outcome<()> {
        let name = function.name();
        if function.domain().holds(elem) {
            return Ok(());
        }
        let types: Vec<&str> =
            Elem::ALL.into_iter().filter(|elem| function.domain().holds(*elem)).map(Elem::name).collect();
        let kin = |other: &Math| other.name().starts_with(name) && other.domain().holds(elem);
        let kin: Vec<String> =
            Math::ALL.into_iter().filter(kin).map(|other| format!("`{}`", other.name())).collect();
        let kin = match kin.is_empty() {
            true => String::new(),
            false => format!("; of {elem} there is {}", kin.join(", ")),
        };
        let help = format!("it is of {}{kin}", types.join(", "));
        self.fail_help(origin, format!("`{name}` does not apply to {elem}"), help)
    }

    /// A sum or difference that saturates, where 64 bits hold the exact one: a `usize` has only the lower end.
    fn saturated(&mut self, function: Math, signed: bool, a: &Index, b: &Index) -> Option<Index> {
        let factor = match function {
            Math::SaturatingAdd => 1,
            Math::SaturatingSub => -1,
            _ => return None,
        };
        let exact = a.add_scaled(b, factor).ok()?;
        if !self.tables.atoms.range(&exact).fits_i64() {
            return None;
        }
        if signed {
            return Some(exact);
        }
        let natural = [a, b].into_iter().all(|index| self.facts.prove(&self.tables.atoms, index));
        let zero = Index::constant(0);
        if natural { self.tables.atoms.extremum(&exact, &zero, true).ok() } else { None }
    }

    /// A word of indices.
    fn of_indices(
        &mut self,
        function: Math,
        indices: Vec<Index>,
        values: Vec<StaticValue>,
        signed: bool,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        if let [a, b] = &indices[..]
            && let Some(index) = self.saturated(function, signed, a, b)
        {
            return Ok(StaticValue::Index(index));
        }
        let known = indices.iter().all(|index| index.as_constant().is_some());
        let exponent = match values.get(1) {
            Some(StaticValue::Index(index)) => index.as_constant(),
            _ => None,
        };
        let atoms = &mut self.tables.atoms;
        let index = match (function, indices.as_slice()) {
            (Math::Min | Math::Max, [a, b]) => Some(atoms.extremum(a, b, function == Math::Max)),
            (Math::Clamp, [a, low, high]) => {
                let raised = atoms.extremum(a, low, true);
                Some(raised.and_then(|raised| atoms.extremum(&raised, high, false)))
            }
            (Math::Abs, [a]) if atoms.range(a).low >= 0 => Some(Ok(a.clone())),
            (Math::Abs, [a]) => Some(a.scale(-1).and_then(|negated| atoms.extremum(a, &negated, true))),
            (Math::AbsDiff, [a, b]) => {
                let (large, small) = (atoms.extremum(a, b, true), atoms.extremum(a, b, false));
                Some(large.and_then(|large| large.sub(&small?)))
            }
            (Math::Pow, [a]) => exponent
                .filter(|n| (0..=MOST_FACTORS).contains(n))
                .map(|exponent| (0..exponent).try_fold(Index::constant(1), |product, _| product.mul(a))),
            _ => None,
        };
        if let Some(index) = index {
            return Ok(StaticValue::Index(self.index(origin, index)?));
        }
        let natural = match function.saturates() {
            true => !signed,
            false => indices.iter().all(|index| self.tables.atoms.range(index).low >= 0),
        };
        let elem = if natural && function.domain() != Domain::Signed { Elem::U64 } else { Elem::I64 };
        if !function.domain().holds(elem) {
            let help = "convert it: `x as f32`, `x as u32`";
            return self.fail_help(origin, format!("`{}` does not apply to an index", function.name()), help);
        }
        if self.host && !known {
            let message = format!("`{}` has no meaning in the attribute, on the host", function.name());
            return self.fail(origin, message);
        }
        let (mut parts, mut types) = (Vec::new(), function.operands().iter());
        for (n, value) in values.into_iter().enumerate() {
            let ty = if n == 0 { Type::Same } else { types.next().copied().unwrap_or(Type::Same) };
            let ty = ty.of(elem);
            let value = match value {
                StaticValue::Index(index) if index.as_constant().is_none() => Value::Index(index, ty),
                other => self.coerce(other, ty, origin)?,
            };
            parts.push(value);
        }
        let result = function.result().of(elem);
        let value = match folded(function, elem, &parts) {
            Some(known) => known,
            None => StaticValue::Scalar(Value::Math(function, parts), result),
        };
        match value {
            StaticValue::Scalar(Value::Constant(constant), _) if matches!(result, Elem::U64 | Elem::I64) => {
                let fits = i64::try_from(constant.as_i128()).map_err(|_| crate::index::IndexOverflow);
                Ok(StaticValue::Index(Index::constant(self.index(origin, fits)?)))
            }
            StaticValue::Scalar(value, Elem::U64 | Elem::I64) => {
                Ok(StaticValue::Index(self.index_from_value(value, result, origin)))
            }
            other => Ok(other),
        }
    }

    /// Words that operators define: integers wrap anyway.
    pub(super) fn composed(
        &mut self,
        word: Intrinsic,
        values: Vec<StaticValue>,
        signed: bool,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let op = match word {
            Intrinsic::WrappingAdd => BinaryOp::Add,
            Intrinsic::WrappingSub => BinaryOp::Sub,
            Intrinsic::WrappingMul => BinaryOp::Mul,
            Intrinsic::WrappingDiv => BinaryOp::Div,
            Intrinsic::WrappingRem => BinaryOp::Rem,
            Intrinsic::WrappingShl => BinaryOp::Shl,
            Intrinsic::WrappingShr => BinaryOp::Shr,
            Intrinsic::DivEuclid | Intrinsic::RemEuclid => return self.euclidean(word, values, origin),
            _ => {
                let Some(value) = values.into_iter().next() else { return Err(Failed) };
                let negated = match value {
                    StaticValue::Scalar(_, elem) if !elem.is_signed() => {
                        self.binary(BinaryOp::Sub, StaticValue::Index(Index::constant(0)), value, origin)
                    }
                    value => self.unary(UnaryOp::Neg, value, origin),
                }?;
                return Ok(self.meant_to_wrap(negated, signed));
            }
        };
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or(StaticValue::Unknown);
        let (a, b) = (next(), next());
        if let StaticValue::Float(_)
        | StaticValue::Scalar(_, Elem::F64 | Elem::F32 | Elem::F16 | Elem::Bf16) = a
        {
            return self.fail(origin, format!("`{}` does not apply to {}", word.name(), a.kind()));
        }
        let value = self.binary(op, a, b, origin)?;
        Ok(self.meant_to_wrap(value, signed))
    }

    /// Marks a result that may leave its type on purpose: an index, of `isize` or `usize`, by its atom, a value by a conversion
    /// to its own type.
    fn meant_to_wrap(&mut self, value: StaticValue, signed: bool) -> StaticValue {
        match value {
            StaticValue::Index(index) => {
                let index = self.as_index(index, if signed { TypeRef::Isize } else { TypeRef::Usize });
                self.tables.atoms.mean(&index);
                StaticValue::Index(index)
            }
            StaticValue::Scalar(value @ (Value::Binary(..) | Value::Unary(..)), elem) => {
                StaticValue::Scalar(Value::Cast(elem, Box::new(value)), elem)
            }
            other => other,
        }
    }

    /// The quotient and the remainder whose remainder is not negative.
    fn euclidean(
        &mut self,
        word: Intrinsic,
        values: Vec<StaticValue>,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let name = word.name();
        let quotient = word == Intrinsic::DivEuclid;
        let op = if quotient { BinaryOp::Div } else { BinaryOp::Rem };
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or(StaticValue::Unknown);
        let (a, b) = (next(), next());
        if let (StaticValue::Index(n), StaticValue::Index(d)) = (&a, &b) {
            let (low, by) = (self.tables.atoms.range(n).low, self.tables.atoms.range(d));
            if low >= 0 {
                return self.binary(op, a, b, origin);
            }
            if !by.fits_i64() || by.low == i128::from(i64::MIN) {
                let help = "take an element type: `x as i64`";
                return self.fail_help(
                    origin,
                    format!("`{name}` by an index that may be any number of 64 bits"),
                    help,
                );
            }
            let (n, d) = (n.clone(), d.clone());
            if !quotient
                && let Ok(raised) = n.add(&d)
                && let Some(rest) = self.reduced(&raised, &d, origin)?
            {
                return Ok(StaticValue::Index(rest));
            }
            // ((n % d) + |d|) % |d|, and what is left is divided exactly.
            let atoms = &mut self.tables.atoms;
            let size = match by.low {
                0.. => Ok(d.clone()),
                _ => d.scale(-1).and_then(|other| atoms.extremum(&d, &other, true)),
            };
            let rest = size.and_then(|size| {
                let raised = atoms.rem(&n, &d)?.add(&size)?;
                atoms.natural_rem(&raised, &size)
            });
            let rest = self.index(origin, rest)?;
            if !quotient {
                return Ok(StaticValue::Index(rest));
            }
            let divided = n.sub(&rest).and_then(|whole| self.tables.atoms.div(&whole, &d));
            return Ok(StaticValue::Index(self.index(origin, divided)?));
        }
        let (a, b, elem) = self.unify(a, b, name, origin)?;
        if !elem.is_signed() && elem != Elem::Bool {
            return self.binary(op, StaticValue::Scalar(a, elem), StaticValue::Scalar(b, elem), origin);
        }
        let a = self.hold("dividend", StaticValue::Scalar(a, elem), origin);
        let b = self.hold("divisor", StaticValue::Scalar(b, elem), origin);
        let rest = self.binary(BinaryOp::Rem, a.clone(), b.clone(), origin)?;
        let rest = self.hold("rest", rest, origin);
        let zero =
            if elem.is_float() { StaticValue::Float(0.0) } else { StaticValue::Index(Index::constant(0)) };
        let one =
            if elem.is_float() { StaticValue::Float(1.0) } else { StaticValue::Index(Index::constant(1)) };
        let below = self.binary(BinaryOp::Lt, rest.clone(), zero.clone(), origin)?;
        if !quotient {
            let size = self.elementwise(Math::Abs, vec![b], false, origin)?;
            let raised = self.binary(BinaryOp::Add, rest.clone(), size, origin)?;
            return self.choice(below, raised, rest, name, origin);
        }
        let mut whole = self.binary(BinaryOp::Div, a, b.clone(), origin)?;
        if elem.is_float() {
            whole = self.elementwise(Math::Trunc, vec![whole], false, origin)?;
        }
        let whole = self.hold("quotient", whole, origin);
        let positive = self.binary(BinaryOp::Gt, b, zero, origin)?;
        let (less, more) = (
            self.binary(BinaryOp::Sub, whole.clone(), one.clone(), origin)?,
            self.binary(BinaryOp::Add, whole.clone(), one, origin)?,
        );
        let moved = self.choice(positive, less, more, name, origin)?;
        self.choice(below, moved, whole, name, origin)
    }

    /// `condition ? then : otherwise`
    pub(super) fn choice(
        &mut self,
        condition: StaticValue,
        then: StaticValue,
        otherwise: StaticValue,
        name: &str,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let condition = match condition {
            StaticValue::Bool(known) => return Ok(if known { then } else { otherwise }),
            StaticValue::Scalar(value, Elem::Bool) => value,
            other => {
                return self.fail(origin, format!("the condition of `{name}` is {}", other.kind()));
            }
        };
        if let (StaticValue::Index(a), StaticValue::Index(b)) = (&then, &otherwise) {
            let (a, b) = (Value::Index(a.clone(), Elem::I64), Value::Index(b.clone(), Elem::I64));
            let value = Value::Select(Box::new(condition), Box::new(a), Box::new(b));
            return Ok(StaticValue::Index(self.index_from_value(value, Elem::I64, origin)));
        }
        let (a, b, elem) = self.unify(then, otherwise, name, origin)?;
        Ok(StaticValue::Scalar(Value::Select(Box::new(condition), Box::new(a), Box::new(b)), elem))
    }
}

/// A word of integers known now.
fn folded(function: Math, elem: Elem, parts: &[Value<TileAccess>]) -> Option<StaticValue> {
    if !elem.is_integer() {
        return None;
    }
    let mut operands = [0; 3];
    for (operand, part) in operands.iter_mut().zip(parts) {
        let Value::Constant(constant) = part else { return None };
        *operand = constant.elem.wrap(constant.bits as i64);
    }
    let found = meaning::integer(function, elem, operands)?;
    let result = function.result().of(elem);
    Some(match result {
        Elem::Bool => StaticValue::Bool(found != 0),
        _ => {
            let bits = found as u64 & (u64::MAX >> (64 - result.bits()));
            StaticValue::Scalar(Value::Constant(Constant { elem: result, bits }), result)
        }
    })
}
