//! Operators, casts and the agreement of types.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Failed, Outcome, TileStatement};
use super::expression::leaves;
use super::numbers::NOT_ZERO;
use super::tile::TileAccess;
use crate::elem::{Constant, Elem};
use crate::index::{Index, Range, VarId};
use crate::ir::{BinaryOp, ExprId, ExprKind, TypeRef, UnaryOp};
use crate::origin::Origin;
use crate::program::{Comparison, Statement, StatementKind, Value, VariableKind};
use std::collections::HashMap;

impl Evaluator<'_> {
    pub(super) fn unary(
        &mut self,
        op: UnaryOp,
        operand: StaticValue,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        match (op, operand) {
            (_, StaticValue::Unknown) => Err(Failed),
            (UnaryOp::Neg, StaticValue::Index(index)) => {
                let negated = self.tables.atoms.sum(&Index::constant(0), &index, -1);
                Ok(StaticValue::Index(self.index(origin, negated)?))
            }
            (UnaryOp::Neg, StaticValue::Float(value)) => Ok(StaticValue::Float(-value)),
            (UnaryOp::Not, StaticValue::Bool(value)) => Ok(StaticValue::Bool(!value)),
            (UnaryOp::Neg, StaticValue::Scalar(value, elem)) if elem.is_signed() => {
                Ok(StaticValue::Scalar(Value::Unary(op, Box::new(value)), elem))
            }
            (UnaryOp::Not, StaticValue::Scalar(value, elem)) if elem == Elem::Bool || elem.is_integer() => {
                Ok(StaticValue::Scalar(Value::Unary(op, Box::new(value)), elem))
            }
            (UnaryOp::Neg, other) => self.fail_help(
                origin,
                format!("`-` does not apply to {}", other.kind()),
                "of an unsigned number write `x.wrapping_neg()`, or convert it first: `-(x as i32)`",
            ),
            (UnaryOp::Not, other) => self.fail_help(
                origin,
                format!("`!` does not apply to {}", other.kind()),
                match other {
                    StaticValue::Index(_) => "a truth value is a comparison, `x == 0`; of bits write `x & !3`, or take a number with a type, `!3u32`, `!(x as u64)`",
                    _ => "it is of truth values and of the bits of integers: compare, `x == 0.0`, or take `x.to_bits()`",
                },
            ),
        }
    }

    /// `a & !b`; of indices `a - (a & b)`.
    pub(super) fn and_not(&mut self, a: StaticValue, b: StaticValue, origin: Origin) -> Outcome<StaticValue> {
        match (&a, b) {
            (StaticValue::Index(_), b @ StaticValue::Index(_)) => {
                let both = self.binary(BinaryOp::BitAnd, a.clone(), b, origin)?;
                self.binary(BinaryOp::Sub, a, both, origin)
            }
            (StaticValue::Scalar(_, elem), b @ StaticValue::Index(_)) if elem.is_integer() => {
                let (elem, b) = (*elem, self.coerce(b, *elem, origin)?);
                let b = self.unary(UnaryOp::Not, StaticValue::Scalar(b, elem), origin)?;
                self.binary(BinaryOp::BitAnd, a, b, origin)
            }
            (_, b) => {
                let b = self.unary(UnaryOp::Not, b, origin)?;
                self.binary(BinaryOp::BitAnd, a, b, origin)
            }
        }
    }

    /// What `!` is of in the operand of an `&`.
    pub(super) fn complemented(&self, op: BinaryOp, operand: ExprId) -> Option<ExprId> {
        match &self.kernel.expr(operand).kind {
            ExprKind::Unary(UnaryOp::Not, of) if op == BinaryOp::BitAnd => Some(*of),
            _ => None,
        }
    }

    pub(super) fn binary_expr(
        &mut self,
        op: BinaryOp,
        left: ExprId,
        right: ExprId,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let (start, operands) = (self.out.len(), [self.origin(left), self.origin(right)]);
        let mut left = self.expr(left);
        if self.out.len() > start && leaves(&self.out) {
            // The right side is never reached.
            return Err(Failed);
        }
        if let (BinaryOp::And, Ok(StaticValue::Bool(false))) | (BinaryOp::Or, Ok(StaticValue::Bool(true))) =
            (op, &left)
        {
            return left;
        }
        // Both sides are evaluated before either failure is returned, so that both errors are reported.
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            left = left.and_then(|left| self.truth(op, left, operands[0]));
        }
        let before = self.out.len();
        let versions = self.versions.clone();
        let decides = matches!(op, BinaryOp::And | BinaryOp::Or) && !matches!(left, Ok(StaticValue::Bool(_)));
        let complemented = self.complemented(op, right);
        let right = complemented.unwrap_or(right);
        let right = if decides { self.sometimes(|this| this.expr(right)) } else { self.expr(right) };
        if !matches!(op, BinaryOp::And | BinaryOp::Or) {
            self.keep(std::slice::from_mut(&mut left), before);
            if complemented.is_some() {
                return self.and_not(left?, right?, origin);
            }
            return self.binary(op, left?, right?, origin);
        }
        let right = right.and_then(|right| self.truth(op, right, operands[1]));
        let together = |statement: &TileStatement| {
            use StatementKind::{Barrier, Collective};
            matches!(statement.kind, Collective(..) | Barrier(_))
        };
        // Where the left side is known, the right one is all there is.
        if decides && self.out[before..].iter().any(together) {
            return self.fail_help(
                origin,
                format!("the right side of `{}` works together with other threads", op.symbol()),
                "put it into a `let` before, or into an `if`",
            );
        }
        if self.out.len() > before && matches!(left, Ok(StaticValue::Scalar(_, Elem::Bool))) {
            return self.guarded(op, left?, right, (before, versions), origin);
        }
        self.binary(op, left?, right?, origin)
    }

    /// An operand of `&&` or `||`.
    fn truth(&mut self, op: BinaryOp, operand: StaticValue, origin: Origin) -> Outcome<StaticValue> {
        let help = match operand {
            StaticValue::Bool(_) | StaticValue::Scalar(_, Elem::Bool) | StaticValue::Unknown => {
                return Ok(operand);
            }
            StaticValue::Float(_) => "compare it: `x != 0.0`",
            StaticValue::Scalar(_, elem) if elem.is_float() => "compare it: `x != 0.0`",
            StaticValue::Index(_) | StaticValue::Scalar(..) => {
                "compare it: `x != 0`; of bits it is `&` and `|`"
            }
            _ => "its operands are comparisons: `a < b`",
        };
        self.fail_help(origin, format!("`{}` of {}, which is no bool", op.symbol(), operand.kind()), help)
    }

    /// `left && right` where the right side has statements of its own, the last ones of the list. They run only if `left`
    /// holds: `right = false; if (left) { ..; right = ..; }`.
    fn guarded(
        &mut self,
        op: BinaryOp,
        left: StaticValue,
        right: Outcome<StaticValue>,
        (before, versions): (usize, HashMap<VarId, u32>),
        origin: Origin,
    ) -> Outcome<StaticValue> {
        // A right side that leaves has no value: behind it the left one alone decided.
        let left_there = right.is_err() && leaves(&self.out);
        let right = if left_there { None } else { Some(self.coerce(right?, Elem::Bool, origin)?) };
        let count = self.out.len() - before;
        let mut left = [Ok(left)];
        // A name for what is changed comes in front of them.
        self.keep(&mut left, before);
        let [left] = left;
        let left = self.coerce(left?, Elem::Bool, origin)?;
        let mut inside = self.out.split_off(self.out.len() - count);
        let now = &self.versions;
        let assigned: Vec<VarId> =
            now.iter().filter(|(var, now)| versions.get(var) != Some(now)).map(|(var, _)| *var).collect();
        assigned.into_iter().for_each(|var| self.forget(var));
        let both = op == BinaryOp::And;
        let condition = if both { left.clone() } else { Value::Unary(UnaryOp::Not, Box::new(left.clone())) };
        let Some(right) = right else {
            self.push(origin, StatementKind::If(condition, inside, Vec::new()));
            return Ok(StaticValue::Bool(!both));
        };
        let var =
            self.unnamed(if both { "both" } else { "either" }, VariableKind::Elem(Elem::Bool), true, origin);
        self.push(origin, StatementKind::Let(var, Some(Value::Constant(Constant::bool(!both)))));
        inside.push(Statement { kind: StatementKind::Assign(var, right), origin });
        self.push(origin, StatementKind::If(condition, inside, Vec::new()));
        Ok(StaticValue::Scalar(Value::Binary(op, Box::new(left), Box::new(Value::Variable(var))), Elem::Bool))
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: StaticValue,
        right: StaticValue,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        if matches!(left, StaticValue::Unknown) || matches!(right, StaticValue::Unknown) {
            return Err(Failed);
        }
        match (&left, &right) {
            (StaticValue::Index(a), StaticValue::Index(b)) => self.index_binary(op, a, b, origin),
            (StaticValue::Index(a), StaticValue::Scalar(_, elem))
                if matches!(op, BinaryOp::Shl | BinaryOp::Shr) && elem.is_integer() =>
            {
                let a = a.clone();
                match self.known_count(&right) {
                    Some(count) => self.index_binary(op, &a, &count, origin),
                    None => self.shifted(op, &a, right, origin),
                }
            }
            // The count may be of any integer type: its low bits are what counts, and those are the same in every type.
            (StaticValue::Scalar(_, elem), StaticValue::Index(_) | StaticValue::Scalar(..))
                if matches!(op, BinaryOp::Shl | BinaryOp::Shr)
                    && elem.is_integer()
                    && self.known_elem(&right) != Some(*elem) =>
            {
                let elem = *elem;
                let right = self.cast(right, TypeRef::Elem(elem), origin)?;
                self.binary(op, left, right, origin)
            }
            // A float is no operand of these, whatever the other one is.
            (a, b)
                if matches!(
                    op,
                    BinaryOp::Shl | BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor
                ) && (is_float(a) || is_float(b)) =>
            {
                let float = if is_float(a) { a } else { b };
                self.fail_help(
                    origin,
                    format!("`{}` does not apply to {}", op.symbol(), float.kind()),
                    BITS_OF_FLOAT,
                )
            }
            (StaticValue::Float(a), StaticValue::Float(b)) => match op {
                BinaryOp::Add => Ok(StaticValue::Float(a + b)),
                BinaryOp::Sub => Ok(StaticValue::Float(a - b)),
                BinaryOp::Mul => Ok(StaticValue::Float(a * b)),
                BinaryOp::Div => Ok(StaticValue::Float(a / b)),
                BinaryOp::Rem => Ok(StaticValue::Float(a % b)),
                BinaryOp::Lt => Ok(StaticValue::Bool(a < b)),
                BinaryOp::Gt => Ok(StaticValue::Bool(a > b)),
                _ => self.fail(origin, format!("`{}` of two float literals is not supported", op.symbol())),
            },
            (StaticValue::Bool(a), StaticValue::Bool(b)) => match op {
                BinaryOp::And | BinaryOp::BitAnd => Ok(StaticValue::Bool(a & b)),
                BinaryOp::Or | BinaryOp::BitOr => Ok(StaticValue::Bool(a | b)),
                BinaryOp::Ne | BinaryOp::BitXor => Ok(StaticValue::Bool(a != b)),
                BinaryOp::Eq => Ok(StaticValue::Bool(a == b)),
                _ => {
                    let message = format!("`{}` does not apply to bool", op.symbol());
                    self.fail_help(origin, message, NUMBER_OF_BOOL)
                }
            },
            (StaticValue::Scalar(value, elem), _)
                if matches!(op, BinaryOp::Shl | BinaryOp::Shr) && elem.is_integer() =>
            {
                let (value, elem) = (value.clone(), *elem);
                let count = self.shift_count(right, elem, origin)?;
                self.scalar_binary(op, value, count, elem, origin)
            }
            (StaticValue::Bool(true), StaticValue::Scalar(_, Elem::Bool)) if op == BinaryOp::And => Ok(right),
            (StaticValue::Scalar(_, Elem::Bool), StaticValue::Bool(true)) if op == BinaryOp::And => Ok(left),
            (StaticValue::Bool(false), StaticValue::Scalar(_, Elem::Bool)) if op == BinaryOp::Or => Ok(right),
            (StaticValue::Scalar(_, Elem::Bool), StaticValue::Bool(false)) if op == BinaryOp::Or => Ok(left),
            _ => {
                let (left, right, elem) = self.unify(left, right, op.symbol(), origin)?;
                self.scalar_binary(op, left, right, elem, origin)
            }
        }
    }

    fn scalar_binary(
        &mut self,
        op: BinaryOp,
        left: Value<TileAccess>,
        right: Value<TileAccess>,
        elem: Elem,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        use BinaryOp as B;
        let fits = match op {
            B::Add | B::Sub | B::Mul | B::Div | B::Rem => elem != Elem::Bool,
            B::BitAnd | B::BitOr | B::BitXor => !elem.is_float(),
            B::Shl | B::Shr => elem.is_integer(),
            B::And | B::Or => elem == Elem::Bool,
            B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => true,
        };
        if !fits {
            let message = format!("`{}` does not apply to {elem}", op.symbol());
            let help = match elem {
                Elem::Bool => NUMBER_OF_BOOL,
                _ => BITS_OF_FLOAT,
            };
            return self.fail_help(origin, message, help);
        }
        let result = if op.is_comparison() { Elem::Bool } else { elem };
        if let (Value::Constant(a), Value::Constant(b)) = (&left, &right)
            && let Some(known) = folded(op, *a, *b)
        {
            return Ok(known);
        }
        Ok(StaticValue::Scalar(Value::Binary(op, Box::new(left), Box::new(right)), result))
    }

    /// Two values of one element type: literals take the other side's.
    pub(super) fn unify(
        &mut self,
        left: StaticValue,
        right: StaticValue,
        what: &str,
        origin: Origin,
    ) -> Outcome<(Value<TileAccess>, Value<TileAccess>, Elem)> {
        // The other errors say more of the other kinds.
        let takes = |literal: &StaticValue, elem: Elem| match literal {
            StaticValue::Index(index) => index.as_constant().is_some() && elem.is_integer(),
            StaticValue::Float(_) => elem != Elem::Bool,
            _ => true,
        };
        let left_elem = self.known_elem(&left);
        let right_elem = self.known_elem(&right);
        let elem = match (left_elem, right_elem) {
            (Some(a), Some(b)) if a == b => a,
            (Some(a), None) if takes(&right, a) => a,
            (None, Some(b)) if takes(&left, b) => b,
            (None, None) if self.open_float(&left) && self.open_float(&right) => Elem::F32,
            _ => {
                let message = format!("`{what}` of {} and {}", left.kind(), right.kind());
                let help = match (&left, &right) {
                    (StaticValue::Unit, _) | (_, StaticValue::Unit) if what == "if" => {
                        "an `if` that is a value has an `else`, and both end in a value without `;`"
                            .to_owned()
                    }
                    _ => self.agreement(&left, &right),
                };
                return self.fail_help(origin, message, help);
            }
        };
        Ok((self.coerce(left, elem, origin)?, self.coerce(right, elem, origin)?, elem))
    }

    pub(super) fn does_not_fit<T>(&mut self, value: i128, elem: Elem, origin: Origin) -> Outcome<T> {
        let (least, most) = elem.limits();
        let message = format!("{value} does not fit {elem}");
        self.fail_help(origin, message, format!("its numbers are {least} to {most}: take a wider type"))
    }

    /// How one of two datums takes the type of the other.
    fn agreement(&self, left: &StaticValue, right: &StaticValue) -> String {
        // Rust's `as` knows no floats of 16 bits and less.
        let small = |elem: Elem| elem.is_float() && elem.bytes() < 4;
        let cast = [self.known_elem(left), self.known_elem(right)].into_iter().flatten().any(small);
        let conversion =
            |elem: Elem| if cast { format!("`x.cast::<{elem}>()`") } else { format!("`x as {elem}`") };
        let integer = |datum: &StaticValue| matches!(datum, StaticValue::Index(_));
        match (left, right) {
            (StaticValue::View(_), _) | (_, StaticValue::View(_)) => {
                "name an element: `x[[i, j]]`; the extents of a tensor are `x.dim(0)`".to_owned()
            }
            (StaticValue::Array(_), _) | (_, StaticValue::Array(_)) => {
                "name elements, `a[0] == b[0]`; of all of them a loop: `for k in 0..n { same = same && a[k] == b[k]; }`".to_owned()
            }
            (StaticValue::Tuple(_), _) | (_, StaticValue::Tuple(_)) => {
                "name parts: `a.0 == b.0 && a.1 == b.1`".to_owned()
            }
            (StaticValue::Float(_), other) | (other, StaticValue::Float(_)) if integer(other) => {
                "convert the index, `i as f32`, or write the number without a point".to_owned()
            }
            (StaticValue::Scalar(_, Elem::Bool) | StaticValue::Bool(_), _)
            | (_, StaticValue::Scalar(_, Elem::Bool) | StaticValue::Bool(_)) => NUMBER_OF_BOOL.to_owned(),
            (StaticValue::Scalar(_, elem), other) | (other, StaticValue::Scalar(_, elem))
                if integer(other) && elem.is_float() =>
            {
                format!("convert the index: {}", conversion(*elem).replace('x', "i"))
            }
            (StaticValue::Scalar(_, elem), other) | (other, StaticValue::Scalar(_, elem))
                if integer(other) =>
            {
                format!(
                    "convert one side: `x as usize` where it names an element, else {}",
                    conversion(*elem)
                )
            }
            _ => match (self.known_elem(left), self.known_elem(right)) {
                // The one that holds more comes first.
                (Some(a), Some(b)) if (b.is_float(), b.bytes()) > (a.is_float(), a.bytes()) => {
                    format!("convert one side: {}, {}", conversion(b), conversion(a))
                }
                (Some(a), Some(b)) => format!("convert one side: {}, {}", conversion(a), conversion(b)),
                _ => "convert one side: `x as f32`, `x.cast::<f32>()`".to_owned(),
            },
        }
    }

    fn open_float(&self, datum: &StaticValue) -> bool {
        match datum {
            StaticValue::Float(_) => true,
            StaticValue::Scalar(Value::Variable(var), _) => self.undecided.contains_key(var),
            _ => false,
        }
    }

    /// The element type, where it is settled.
    fn known_elem(&self, datum: &StaticValue) -> Option<Elem> {
        match datum {
            StaticValue::Bool(_) => Some(Elem::Bool),
            StaticValue::Scalar(..) if self.open_float(datum) => None,
            StaticValue::Scalar(_, elem) => Some(*elem),
            _ => None,
        }
    }

    /// The datum as a value of `elem`; only literals and open floats change.
    pub(super) fn coerce(
        &mut self,
        datum: StaticValue,
        elem: Elem,
        origin: Origin,
    ) -> Outcome<Value<TileAccess>> {
        match datum {
            StaticValue::Unknown => Err(Failed),
            StaticValue::Scalar(Value::Variable(var), _)
                if self.undecided.contains_key(&var) && elem.is_float() =>
            {
                self.decide(var, elem);
                Ok(Value::Variable(var))
            }
            StaticValue::Scalar(value, found) if found == elem => Ok(value),
            StaticValue::Bool(value) if elem == Elem::Bool => Ok(Value::Constant(Constant::bool(value))),
            StaticValue::Float(value) if elem.is_float() => match Constant::float(elem, value) {
                Some(constant) => Ok(Value::Constant(constant)),
                None => self.fail(origin, format!("{value} is no {elem}")),
            },
            StaticValue::Index(index) if elem.is_integer() && index.as_constant().is_some() => {
                let value = i128::from(index.offset());
                match Constant::integer(elem, value) {
                    Some(constant) => Ok(Value::Constant(constant)),
                    None => self.does_not_fit(value, elem, origin),
                }
            }
            other => {
                let message = format!("expected a value of type {elem}, found {}", other.kind());
                if matches!(other, StaticValue::Float(_)) && elem.is_integer() {
                    let help = format!("write an integer, without a point, or convert it: `x as {elem}`");
                    return self.fail_help(origin, message, help);
                }
                // Rust's `as` knows no floats of 16 bits and less.
                let small = |elem: Elem| elem.is_float() && elem.bytes() < 4;
                let rust_has_it = !small(elem) && !self.known_elem(&other).is_some_and(small);
                let way = match rust_has_it {
                    true => other.way_to(elem.name()),
                    false => format!("convert it: `x.cast::<{elem}>()`"),
                };
                let index = matches!(other, StaticValue::Index(_)) && elem.is_integer();
                let kept =
                    if index { "; what names an element stays a `usize`: leave its type out" } else { "" };
                self.fail_help(origin, message, format!("{way}{kept}"))
            }
        }
    }

    /// `a op b` of indices: a polynomial, an atom, or a comparison.
    pub(super) fn index_binary(
        &mut self,
        op: BinaryOp,
        a: &Index,
        b: &Index,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        use BinaryOp as B;
        if matches!(op, B::Div | B::Rem) && b.as_constant() == Some(0) {
            return self.fail_help(origin, format!("`{}` by zero", op.symbol()), NOT_ZERO);
        }
        if op == B::Rem
            && let Some(rest) = self.reduced(a, b, origin)?
        {
            return Ok(StaticValue::Index(rest));
        }
        let shown = match op {
            B::Div | B::Rem | B::Shr | B::BitAnd => self.shown_natural(a, origin),
            _ => a.clone(),
        };
        let a = &shown;
        let atoms = &mut self.tables.atoms;
        let result = match op {
            B::Add => atoms.sum(a, b, 1),
            B::Sub => atoms.sum(a, b, -1),
            B::Mul => atoms.product(a, b),
            B::Div => atoms.div(a, b),
            B::Rem => atoms.rem(a, b),
            B::BitAnd => atoms.and(a, b),
            B::BitOr => atoms.or(a, b, false),
            B::BitXor => atoms.or(a, b, true),
            B::Shl | B::Shr => match b.as_constant() {
                Some(count @ 0..=62) if op == B::Shl => atoms.product(a, &Index::constant(1 << count)),
                Some(count @ 0..=62) => atoms.shift_right(a, count as u32),
                None if self.ask(&[b]) => return Err(Failed),
                None => {
                    let count = StaticValue::Index(b.clone());
                    return self.shifted(op, a, count, origin);
                }
                _ => {
                    return self.fail_help(
                        origin,
                        "the shift count of an index must be a number from 0 to 62",
                        "shift a value of an element type: `1u32 << k`",
                    );
                }
            },
            B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => {
                return Ok(self.compare(op, a, b));
            }
            B::And | B::Or => {
                return self.fail(origin, format!("`{}` does not apply to indices", op.symbol()));
            }
        };
        let result = self.index(origin, result)?;
        Ok(StaticValue::Index(self.tables.atoms.wrapped(result)))
    }

    /// A number that may be beyond `i64` is compared with one that may be negative as what they are: no 64 bits hold both, so
    /// there are two comparisons. `None` where one will do.
    fn compare_far(&mut self, op: BinaryOp, a: &Index, b: &Index) -> Option<StaticValue> {
        use BinaryOp as B;
        let (left, right) = (self.tables.atoms.range(a), self.tables.atoms.range(b));
        if left.low < 0 && right.beyond_i64() {
            let mirrored = match op {
                B::Lt => B::Gt,
                B::Le => B::Ge,
                B::Gt => B::Lt,
                B::Ge => B::Le,
                same => same,
            };
            return self.compare_far(mirrored, b, a);
        }
        if !left.beyond_i64() || right.low >= 0 || right.high < 0 {
            return None;
        }
        // The far one is the larger where the other is negative.
        let all = matches!(op, B::Lt | B::Le | B::Eq);
        let (sign, joined) = if all { (B::Ge, B::And) } else { (B::Lt, B::Or) };
        let first = self.compare(sign, b, &Index::constant(0));
        let natural = self.tables.atoms.natural(b);
        let second = self.compare(op, a, &natural);
        Some(match (first, second) {
            (StaticValue::Scalar(first, _), StaticValue::Scalar(second, _)) => {
                StaticValue::Scalar(Value::Binary(joined, Box::new(first), Box::new(second)), Elem::Bool)
            }
            (StaticValue::Bool(known), other) | (other, StaticValue::Bool(known)) => {
                if known == all {
                    other
                } else {
                    StaticValue::Bool(known)
                }
            }
            (_, second) => second,
        })
    }

    fn compare(&mut self, op: BinaryOp, a: &Index, b: &Index) -> StaticValue {
        use BinaryOp as B;
        if let Some(found) = self.compare_far(op, a, b) {
            return found;
        }
        let (a, b) = &self.tables.atoms.alike(a, b);
        let atoms = &self.tables.atoms;
        let difference = a.sub(b).ok();
        let range = match &difference {
            Some(difference) => atoms.range(difference),
            None => atoms.range(a).add(atoms.range(b).mul(Range::of(-1))),
        };
        let equal = difference.as_ref().and_then(Index::as_constant) == Some(0);
        let never = range.low > 0 || range.high < 0;
        let known = match op {
            B::Lt => known(range.high < 0, range.low >= 0),
            B::Le => known(range.high <= 0, range.low > 0),
            B::Gt => known(range.low > 0, range.high <= 0),
            B::Ge => known(range.low >= 0, range.high < 0),
            B::Eq => known(equal, never),
            _ => known(never, equal),
        };
        match known {
            Some(value) => {
                let number = difference.is_some_and(|difference| difference.as_constant().is_some());
                self.decided_by_range |= !number && !self.host;
                StaticValue::Bool(value)
            }
            None => {
                let mut left = a.clone();
                if matches!(op, B::Lt | B::Ge)
                    && let Some(rest) =
                        difference.as_ref().and_then(|difference| self.below_divisor(difference))
                    && let Ok(whole) = left.sub(&rest)
                    && self.tables.atoms.range(&whole).fits_i64()
                {
                    left = whole;
                }
                let comparison = Comparison { op, left, right: b.clone() };
                StaticValue::Scalar(Value::Compare(comparison), Elem::Bool)
            }
        }
    }

    /// The part `r` of a difference `d x + r`, `0 <= r < d`: `d x + r < 0` is `d x < 0`. So the elements of a vector that
    /// cannot cross an edge share one comparison.
    fn below_divisor(&self, difference: &Index) -> Option<Index> {
        let large = difference.terms().iter().filter(|(_, c)| c.unsigned_abs() > 1);
        let divisor = large.fold(0, |all, (_, c)| crate::arith::gcd(all, *c));
        let (mut rest, _) = difference.partition(|_, c| divisor > 1 && c % divisor != 0);
        if rest.as_constant().is_some() {
            return None;
        }
        rest = rest.plus(difference.offset().checked_rem_euclid(divisor)?).ok()?;
        let range = self.tables.atoms.range(&rest);
        (range.low >= 0 && range.high < i128::from(divisor)).then_some(rest)
    }

    /// `operand as ty`
    pub(super) fn cast(&mut self, operand: StaticValue, ty: TypeRef, origin: Origin) -> Outcome<StaticValue> {
        let elem = self.elem(ty, origin)?;
        match (operand, elem) {
            (StaticValue::Unknown, _) => Err(Failed),
            (StaticValue::Index(index), None)
                if ty == TypeRef::Usize && index.as_constant().is_some_and(|n| n < 0) =>
            {
                self.no_usize(index.offset().into(), origin)
            }
            (StaticValue::Index(index), None) => Ok(StaticValue::Index(self.as_index(index, ty))),
            (StaticValue::Index(index), Some(elem)) if elem != Elem::Bool => {
                if let Some(value) = index.as_constant()
                    && let Some(constant) = Constant::nearest(elem, i128::from(value))
                {
                    return Ok(StaticValue::Scalar(Value::Constant(constant), elem));
                }
                Ok(StaticValue::Scalar(Value::Index(index, elem), elem))
            }
            (StaticValue::Float(value), Some(elem)) if elem.is_float() => {
                Ok(StaticValue::Scalar(self.coerce(StaticValue::Float(value), elem, origin)?, elem))
            }
            (StaticValue::Float(value), None) if ty == TypeRef::Usize => {
                Ok(StaticValue::Index(Index::constant((value as i64).max(0))))
            }
            (StaticValue::Float(value), None) => Ok(StaticValue::Index(Index::constant(value as i64))),
            (StaticValue::Float(value), Some(elem)) if elem.is_integer() => {
                // Toward zero, cut at the ends of the type.
                let (least, most) = elem.limits();
                self.integer((value as i128).clamp(least, most), Some(TypeRef::Elem(elem)), origin)
            }
            (StaticValue::Bool(value), Some(elem)) if elem.is_integer() => {
                let constant = Constant { elem, bits: u64::from(value) };
                Ok(StaticValue::Scalar(Value::Constant(constant), elem))
            }
            (StaticValue::Bool(value), None) => Ok(StaticValue::Index(Index::constant(i64::from(value)))),
            (StaticValue::Scalar(value, Elem::Bool), None) => {
                let one =
                    |value: i64| Box::new(Value::Constant(Constant { elem: Elem::I32, bits: value as u64 }));
                let value = Value::Select(Box::new(value), one(1), one(0));
                Ok(StaticValue::Index(self.index_from_value(value, Elem::I32, origin)))
            }
            (StaticValue::Scalar(Value::Constant(constant), from), None) if from.is_integer() => {
                let value = constant.as_i128();
                match i64::try_from(value) {
                    Ok(known) if known >= 0 || ty != TypeRef::Usize => {
                        Ok(StaticValue::Index(Index::constant(known)))
                    }
                    // Modulo 2⁶⁴, as Rust's `as`.
                    _ if ty == TypeRef::Isize => Ok(StaticValue::Index(Index::constant(value as i64))),
                    _ => self.no_usize(value, origin),
                }
            }
            (StaticValue::Scalar(value, from), None) if from.is_integer() => {
                let index = self.index_from_value(value, from, origin);
                Ok(StaticValue::Index(self.as_index(index, ty)))
            }
            // As in Rust: toward zero, cut at the ends of the type.
            (StaticValue::Scalar(value, from), None) if from.is_float() => {
                let whole = if ty == TypeRef::Usize { Elem::U64 } else { Elem::I64 };
                let value = Value::Cast(whole, Box::new(value));
                let index = self.index_from_value(value, whole, origin);
                Ok(StaticValue::Index(self.as_index(index, ty)))
            }
            (StaticValue::Scalar(value, from), Some(elem)) if from == elem => {
                Ok(StaticValue::Scalar(value, elem))
            }
            (StaticValue::Scalar(value, from), Some(elem))
                if elem != Elem::Bool && (from != Elem::Bool || !elem.is_float()) =>
            {
                Ok(StaticValue::Scalar(Value::Cast(elem, Box::new(value)), elem))
            }
            (StaticValue::View(view), Some(elem))
                if elem != Elem::Bool || self.tables.place(view.place).elem == Elem::Bool =>
            {
                let from = self.tables.place(view.place).elem;
                match from != Elem::Bool || !elem.is_float() {
                    true => self.copy_to_local(view, Some(elem), origin),
                    false => self.fail(origin, format!("a tensor of {from} cannot be converted to {elem}")),
                }
            }
            (operand, elem) => {
                let target = elem.map_or("usize", Elem::name);
                let message = format!("{} cannot be converted to {target}", operand.kind());
                match target {
                    "bool" => self.fail_help(origin, message, "compare it: `x != 0`"),
                    _ => self.fail_help(origin, message, "numbers are converted, and `bool` to integers"),
                }
            }
        }
    }
}

/// `a op b` of integers known now; none for a division by zero.
fn folded(op: BinaryOp, a: Constant, b: Constant) -> Option<StaticValue> {
    use BinaryOp as B;
    let elem = a.elem;
    let (x, y) = (a.as_i128(), b.as_i128());
    let count = (b.bits & u64::from(elem.bits() - 1)) as u32;
    let exact = match op {
        _ if !elem.is_integer() => return None,
        B::Add => x + y,
        B::Sub => x - y,
        // The lower 128 bits of the product hold those of the type.
        B::Mul => x.wrapping_mul(y),
        B::Div => x.checked_div(y)?,
        B::Rem => x.checked_rem(y)?,
        B::BitAnd => x & y,
        B::BitOr => x | y,
        B::BitXor => x ^ y,
        B::Shl => x.wrapping_shl(count),
        B::Shr => x.wrapping_shr(count),
        B::Eq => return Some(StaticValue::Bool(x == y)),
        B::Ne => return Some(StaticValue::Bool(x != y)),
        B::Lt => return Some(StaticValue::Bool(x < y)),
        B::Le => return Some(StaticValue::Bool(x <= y)),
        B::Gt => return Some(StaticValue::Bool(x > y)),
        B::Ge => return Some(StaticValue::Bool(x >= y)),
        B::And | B::Or => return None,
    };
    let bits = exact as u64 & (u64::MAX >> (64 - elem.bits()));
    Some(StaticValue::Scalar(Value::Constant(Constant { elem, bits }), elem))
}

impl Evaluator<'_> {
    /// The index as the type: a negative one is 2⁶⁴ more as a `usize`.
    pub(super) fn as_index(&mut self, index: Index, ty: TypeRef) -> Index {
        // What is shown not to be negative is the same number as a `usize`.
        let is_natural = ty == TypeRef::Usize && self.facts.prove(&self.tables.atoms, &index);
        let atoms = &mut self.tables.atoms;
        match ty {
            TypeRef::Usize if !is_natural && atoms.range(&index).low < 0 => atoms.natural(&index),
            TypeRef::Isize => atoms.signed(&index),
            TypeRef::Usize | TypeRef::Elem(_) | TypeRef::Parameter(_) => index,
        }
    }

    /// What an expression of `isize` gives: an index that may leave 64 bits wraps as one.
    pub(super) fn signed_index(&mut self, id: ExprId, datum: StaticValue) -> StaticValue {
        match datum {
            StaticValue::Index(index) if self.kernel.signed.binary_search(&id).is_ok() => {
                StaticValue::Index(self.as_index(index, TypeRef::Isize))
            }
            other => other,
        }
    }

    fn no_usize<T>(&mut self, value: i128, origin: Origin) -> Outcome<T> {
        self.fail_help(
            origin,
            format!("{value} as an index: a `usize` of the kernel language is a number of 63 bits"),
            "compute with `isize`, or with an element type such as `u64`",
        )
    }
}

/// The way out of arithmetic on truth values.
const NUMBER_OF_BOOL: &str = "a truth value as a number is `if x { 1.0 } else { 0.0 }`, `x as u32`";

/// The way out of bits and shifts of floats.
const BITS_OF_FLOAT: &str =
    "bits are of integers, `x.to_bits()`, `x as u32`; four times is `x * 4.0`, a power `x.powi(2)`";

fn is_float(value: &StaticValue) -> bool {
    matches!(value, StaticValue::Float(_)) || matches!(value, StaticValue::Scalar(_, elem) if elem.is_float())
}

fn known(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}
