//! Values of element types as C expressions, with Rust's meaning.
//!
//! Where C++ leaves undefined what Rust defines, a function of `device/` defines it: overflow of signed integers
//! (`wrapping_add`), casts of floats to integers (`saturate_i32`). Types narrower than `int` are computed in `int`
//! and cast back; shifts take their count modulo the width. Arithmetic on 16- and 8-bit floats is done in `float` and
//! rounded back.

use super::cuda_c::Emitter;
use super::expression::Expression;
use super::index::Steps;
use super::names::Name;
use super::types;
use crate::elem::{Constant, Elem, Format};
use crate::index::{Index, VarId};
use crate::ir::{BinaryOp, UnaryOp};
use crate::math::{Math, Spelling, Type};
use crate::program::{Access, Comparison, Value};

impl Emitter<'_> {
    /// A value.
    pub(super) fn value(&mut self, value: &Value<Access>) -> Expression {
        match value {
            Value::Constant(constant) => types::literal(*constant),
            Value::Argument(number, _) => self.name(Name::Argument(*number)),
            Value::Variable(variable) => self.name(Name::Variable(*variable)),
            Value::Index(index, elem) => self.converted(index, *elem),
            Value::Compare(comparison) => self.comparison(comparison),
            Value::Load(access) => self.load(access),
            Value::Unary(op, operand) => self.unary(*op, operand),
            Value::Binary(op, left, right) => self.binary(*op, left, right),
            Value::Cast(to, operand) => {
                let from = self.elem(operand);
                let operand = self.value(operand);
                self.cast(from, *to, operand)
            }
            Value::Math(function, arguments) => self.math(*function, arguments),
            Value::Select(condition, then, otherwise) => {
                Expression::conditional(self.value(condition), self.value(then), self.value(otherwise))
            }
        }
    }

    /// A value, converted to this type.
    pub(super) fn converted_to(&mut self, value: &Value<Access>, to: Elem) -> Expression {
        let from = self.elem(value);
        let operand = self.value(value);
        self.cast(from, to, operand)
    }

    /// The type of a value.
    pub(super) fn elem(&self, value: &Value<Access>) -> Elem {
        self.tables.elem(value)
    }

    pub(super) fn variable_elem(&self, variable: VarId) -> Elem {
        self.tables.variable_elem(variable)
    }

    /// A comparison of indices.
    pub(super) fn comparison(&self, comparison: &Comparison) -> Expression {
        self.scope().comparison(comparison.op, &comparison.left, &comparison.right)
    }

    /// The comparisons of a mask that are not known to hold; `None` where there are none.
    pub(super) fn mask(&self, mask: &[Comparison]) -> Option<Expression> {
        mask.iter()
            .filter(|comparison| !self.guards.contains(comparison))
            .map(|comparison| self.comparison(comparison))
            .reduce(|all, next| Expression::infix(BinaryOp::And, all, next))
    }

    /// `place[index]`, without regard to the mask.
    pub(super) fn element(&self, access: &Access) -> Expression {
        Expression::subscript(self.base(access), self.offset(access))
    }

    /// The address of an access.
    pub(super) fn address(&self, access: &Access) -> Expression {
        match access.index.as_constant() {
            Some(0) => self.base(access),
            _ => Expression::prefix("&", self.element(access)),
        }
    }

    /// The address of an access to the block's shared memory, as instructions take it.
    pub(super) fn shared_address(&mut self, access: &Access) -> Expression {
        let base = self.base(access);
        match access.index.as_constant() {
            Some(0) => self.shared_element(base, None),
            _ => self.shared_element(base, Some(self.offset(access))),
        }
    }

    /// `shared_address(array, index)`
    pub(super) fn shared_element(&mut self, array: Expression, index: Option<Expression>) -> Expression {
        self.device.call("shared_address(");
        Expression::call("shared_address", [Some(array), index].into_iter().flatten().collect())
    }

    fn base(&self, access: &Access) -> Expression {
        match access.pointer {
            Some(pointer) => self.name(Name::Variable(pointer)),
            None => self.place(access.place),
        }
    }

    /// The index of an access.
    pub(super) fn offset(&self, access: &Access) -> Expression {
        let steps = if access.wide { Steps::Proved } else { Steps::Promised };
        let scope = self.scope();
        // What is read is inside of its place, and so not negative.
        let index = scope.natural_of_int(&access.index).unwrap_or(&access.index);
        scope.index(index, steps).expression
    }

    fn load(&mut self, access: &Access) -> Expression {
        let element = match access.hint {
            Some(hint) => {
                let address = self.address(access);
                self.hinted_load(address, access, hint)
            }
            None => self.element(access),
        };
        match self.mask(&access.mask) {
            Some(mask) => {
                let pad = self.value(&access.pad.value());
                Expression::conditional(mask, element, pad)
            }
            None => element,
        }
    }

    /// An index as an element.
    fn converted(&mut self, index: &Index, elem: Elem) -> Expression {
        if let Some(number) = index.as_constant() {
            let known = Constant::nearest(elem, number.into());
            let wrapped = u64::MAX >> (64 - elem.bits()) & number as u64;
            return types::literal(known.unwrap_or(Constant { elem, bits: wrapped }));
        }
        let typed = self.scope().index(index, Steps::Proved);
        if elem.is_small_float() {
            let range = self.tables.atoms.range(index);
            let exact = range.low >= -(1 << f32::MANTISSA_DIGITS) && range.high <= 1 << f32::MANTISSA_DIGITS;
            let from = if exact { Elem::I16 } else { typed.width.elem() };
            let value = self.single(from, elem, typed.expression);
            return self.lowered(elem, value);
        }
        if types::scalar(elem) == typed.width.name() {
            typed.expression
        } else {
            Expression::cast(types::scalar(elem), typed.expression)
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &Value<Access>) -> Expression {
        let elem = self.elem(operand);
        let operand = self.value(operand);
        match (op, elem) {
            (UnaryOp::Neg, _) if elem.is_small_float() => {
                let operand = self.lifted(elem, operand);
                self.lowered(elem, Expression::prefix("-", operand))
            }
            (UnaryOp::Neg, _) if elem.is_integer() => self.negated(elem, operand),
            (UnaryOp::Neg, _) => Expression::prefix("-", operand),
            (UnaryOp::Not, Elem::Bool) => Expression::prefix("!", operand),
            (UnaryOp::Not, _) => narrowed(elem, Expression::prefix("~", operand)),
        }
    }

    /// The negative of a signed integer.
    fn negated(&mut self, elem: Elem, operand: Expression) -> Expression {
        let promoted = if elem.bits() < 32 { Elem::I32 } else { elem };
        let value = self.call("wrapping_neg", promoted, vec![operand]);
        narrowed(elem, value)
    }

    fn binary(&mut self, op: BinaryOp, left: &Value<Access>, right: &Value<Access>) -> Expression {
        let elem = self.elem(left);
        let is = |side: &Value<Access>, number: i128| matches!(side, Value::Constant(known) if known.as_i128() == number);
        // The other spellings of a negative, which is a function of its own (`wrapping.cuh`).
        let negative_of = match op {
            _ if elem.format() != Format::Signed => None,
            BinaryOp::Sub if is(left, 0) => Some(right),
            BinaryOp::Mul if is(left, -1) => Some(right),
            BinaryOp::Mul | BinaryOp::Div if is(right, -1) => Some(left),
            BinaryOp::Add if is(right, 1) => inverted(left),
            BinaryOp::Add if is(left, 1) => inverted(right),
            _ => None,
        };
        if let Some(operand) = negative_of {
            let operand = self.value(operand);
            return self.negated(elem, operand);
        }
        // Only -1 makes a quotient that overflows; a divisor that is another number needs no care.
        let divisor_is_safe = match right {
            Value::Constant(constant) => constant.as_i128() != -1,
            _ => false,
        };
        let may_be_zero = match right {
            Value::Constant(constant) => constant.as_i128() == 0,
            Value::Index(index, to) => {
                let range = self.tables.atoms.range(index);
                range.has_zero() || range.low < 0 || range.high > to.limits().1
            }
            Value::Math(Math::Max, sides) => {
                !sides.iter().any(|side| matches!(side, Value::Constant(known) if known.as_i128() > 0))
            }
            _ => true,
        };
        let count = match right {
            Value::Constant(constant) => Some(constant.bits & u64::from(elem.bits() - 1)),
            _ => None,
        };
        if elem.is_small_float() {
            let (left, right) = (self.float(left), self.float(right));
            return match op {
                _ if is_condition(op) => Expression::infix(op, left, right),
                BinaryOp::Rem => self.lowered(elem, Expression::call("fmodf", vec![left, right])),
                _ => self.lowered(elem, Expression::infix(op, left, right)),
            };
        }
        let (left, right) = (self.value(left), self.value(right));
        if op == BinaryOp::Shr && elem.format() == Format::Signed && count == Some(u64::from(elem.bits() - 1))
        {
            let promoted = if elem.bits() < 32 { Elem::I32 } else { elem };
            return self.call("sign_mask", promoted, vec![left]);
        }
        let right = match op {
            BinaryOp::Shl | BinaryOp::Shr => match count {
                Some(count) => Expression::leaf(count.to_string()),
                None => {
                    let most = Expression::leaf((elem.bits() - 1).to_string());
                    Expression::infix(BinaryOp::BitAnd, right, most)
                }
            },
            BinaryOp::Div | BinaryOp::Rem if elem.format() == Format::Unsigned && may_be_zero => {
                types::not_zero(elem, right)
            }
            _ => right,
        };
        if is_condition(op) {
            return Expression::infix(op, left, right);
        }
        let wrapping = match (op, elem.format()) {
            (_, Format::Unsigned | Format::Truth) => None,
            (BinaryOp::Rem, Format::Float) if elem == Elem::F64 => {
                return Expression::call("fmod", vec![left, right]);
            }
            (BinaryOp::Rem, Format::Float) => return Expression::call("fmodf", vec![left, right]),
            (_, Format::Float | Format::SmallFloat(_)) => None,
            // What is narrower than `int` does not leave it, but where bits are shifted out.
            (BinaryOp::Shl, _) => Some("wrapping_shl"),
            _ if elem.bits() < 32 => None,
            (BinaryOp::Add, _) => Some("wrapping_add"),
            (BinaryOp::Sub, _) => Some("wrapping_sub"),
            (BinaryOp::Mul, _) => Some("wrapping_mul"),
            (BinaryOp::Div, _) if !divisor_is_safe => Some("wrapping_div"),
            (BinaryOp::Rem, _) if !divisor_is_safe => Some("wrapping_rem"),
            _ => None,
        };
        let value = match wrapping {
            Some(function) if elem.bits() < 32 => self.call(function, Elem::I32, vec![left, right]),
            Some(function) => self.call(function, elem, vec![left, right]),
            // The product of two `unsigned short` is one of `int`, which may be too small for it.
            None if op == BinaryOp::Mul && elem == Elem::U16 => {
                Expression::infix(op, Expression::cast(types::scalar(Elem::U32), left), right)
            }
            None => Expression::infix(op, left, right),
        };
        match op {
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::Shr | BinaryOp::Rem => value,
            _ => narrowed(elem, value),
        }
    }

    /// Whether C's `left op= right` has Rust's meaning.
    pub(super) fn has_compound(&self, op: BinaryOp, elem: Elem) -> bool {
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => {
                matches!(elem, Elem::F32 | Elem::F64 | Elem::U32 | Elem::U64)
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                matches!(elem, Elem::U32 | Elem::U64 | Elem::I32 | Elem::I64)
            }
            _ => false,
        }
    }

    fn cast(&mut self, from: Elem, to: Elem, operand: Expression) -> Expression {
        if from == to {
            return operand;
        }
        if from.is_small_float() {
            let operand = self.lifted(from, operand);
            return self.cast(Elem::F32, to, operand);
        }
        if to.is_small_float() {
            let operand = self.single(from, to, operand);
            return self.lowered(to, operand);
        }
        if to == Elem::Bool {
            return Expression::infix(BinaryOp::Ne, operand, types::literal(Constant::zero(from)));
        }
        if from.is_float() && to.is_integer() {
            return self.call(format!("saturate_{to}"), from, vec![operand]);
        }
        Expression::cast(types::scalar(to), operand)
    }

    fn math(&mut self, function: Math, arguments: &[Value<Access>]) -> Expression {
        let elem = arguments.first().map_or(Elem::F32, |first| self.elem(first));
        let (floats, integers) = function.spelling();
        let spelling = if elem.is_float() { floats } else { integers };
        // Of the bits: a NaN that becomes a `float` keeps no sign.
        if let (true, Math::Copysign, [value, sign]) = (elem.is_small_float(), function, arguments) {
            let top = 1_i64 << (elem.bits() - 1);
            let (value, sign) = (self.value(value), self.value(sign));
            let part = |bits, mask| Expression::infix(BinaryOp::BitAnd, bits, types::integer(mask));
            let both = Expression::infix(BinaryOp::BitOr, part(value, top - 1), part(sign, top));
            return Expression::cast(types::scalar(elem), both);
        }
        // One instruction, of which a NaN or a zero is no other than in `float`.
        if let (Elem::F16 | Elem::Bf16, Math::Min | Math::Max) = (elem, function) {
            let values = arguments.iter().map(|argument| self.value(argument)).collect();
            return self.call(format!("{}_{elem}", function.name()), elem, values);
        }
        let small = elem.is_small_float() && !matches!(spelling, Spelling::ToBits | Spelling::FromBits);
        let of_elem = |n: usize| n == 0 || function.operands().get(n - 1) == Some(&Type::Same);
        let values: Vec<Expression> = arguments
            .iter()
            .enumerate()
            .map(
                |(n, argument)| if small && of_elem(n) { self.float(argument) } else { self.value(argument) },
            )
            .collect();
        if small {
            let value = self.spelled(function, spelling, Elem::F32, values);
            return if function.result() == Type::Same { self.lowered(elem, value) } else { value };
        }
        self.spelled(function, spelling, elem, values)
    }

    /// `function(values)` of a first operand of a type that C has, or of bits.
    fn spelled(
        &mut self,
        function: Math,
        spelling: Spelling,
        elem: Elem,
        mut values: Vec<Expression>,
    ) -> Expression {
        let result = function.result().of(elem);
        match spelling {
            Spelling::Libm(name) => {
                let suffix = if elem == Elem::F64 { "" } else { "f" };
                Expression::call(format!("{name}{suffix}"), values)
            }
            Spelling::Cuda(name) => Expression::call(name, values),
            // The specialiser refuses a type that the word is not of.
            Spelling::None => Expression::call(function.name(), values),
            Spelling::Device(name) if elem.is_integer() && elem.bits() < 32 => {
                let value = self.call(name, Elem::I32, values);
                narrowed(elem, value)
            }
            Spelling::Device(name) => self.call(name, elem, values),
            Spelling::Template(name) | Spelling::Bits(name) => {
                self.device.call(format!("{name}("));
                let bits = matches!(spelling, Spelling::Bits(_));
                let of = if bits { elem.unsigned() } else { elem };
                let call = match elem.is_float() {
                    true => Expression::call(name, values),
                    false => Expression::call(format!("{name}<{}>", types::scalar(of)), values),
                };
                // A result of another type than the template's own.
                let other = bits && function.result() == Type::Same && elem.is_signed();
                if other || function.result() == Type::Unsigned {
                    Expression::cast(types::scalar(result), call)
                } else {
                    call
                }
            }
            Spelling::ToBits => match (elem, values.pop()) {
                (Elem::F32, value) => Expression::call("__float_as_uint", value.into_iter().collect()),
                (Elem::F64, value) => {
                    let bits = Expression::call("__double_as_longlong", value.into_iter().collect());
                    Expression::cast(types::scalar(result), bits)
                }
                // What C has not is kept as its bits.
                (_, value) => value.unwrap_or(Expression::leaf("0")),
            },
            Spelling::FromBits => match (elem, values.pop()) {
                (Elem::F32, bits) => Expression::call("__uint_as_float", bits.into_iter().collect()),
                (Elem::F64, bits) => {
                    let bits = bits.map(|bits| Expression::cast(types::scalar(Elem::I64), bits));
                    Expression::call("__longlong_as_double", bits.into_iter().collect())
                }
                (_, bits) => bits.unwrap_or(Expression::leaf("0")),
            },
        }
    }

    /// A value of a 16- or 8-bit float type as a `float`.
    fn float(&mut self, value: &Value<Access>) -> Expression {
        if let Value::Constant(constant) = value
            && let Some(wide) = Constant::float(Elem::F32, constant.as_f64())
        {
            return types::literal(wide);
        }
        let elem = self.elem(value);
        let value = self.value(value);
        self.lifted(elem, value)
    }

    /// A number as a `float` that is rounded once more, to a smaller type: to odd, where that would be another value.
    fn single(&mut self, from: Elem, to: Elem, value: Expression) -> Expression {
        match from {
            Elem::F32 => value,
            Elem::F64 => self.call("to_odd", from, vec![value]),
            // The others are infinite or at their end before an `f32` of an integer is inexact.
            Elem::I64 | Elem::I32 | Elem::U64 | Elem::U32 if to == Elem::Bf16 => {
                self.call("to_odd", from, vec![value])
            }
            _ => Expression::cast(types::scalar(Elem::F32), value),
        }
    }

    /// A 16- or 8-bit float as a `float`.
    fn lifted(&mut self, elem: Elem, value: Expression) -> Expression {
        self.call(format!("{elem}_to_f32"), elem, vec![value])
    }

    /// A `float` as a 16- or 8-bit float.
    fn lowered(&mut self, elem: Elem, value: Expression) -> Expression {
        self.call(format!("f32_to_{elem}"), Elem::F32, vec![value])
    }

    /// A call of a function of `device/`, of the version for `elem`.
    fn call(&mut self, function: impl Into<String>, elem: Elem, arguments: Vec<Expression>) -> Expression {
        let function = function.into();
        self.device.call(format!("{function}({} ", types::scalar(elem)));
        Expression::call(function, arguments)
    }
}

/// `x` of `!x`.
fn inverted(value: &Value<Access>) -> Option<&Value<Access>> {
    match value {
        Value::Unary(UnaryOp::Not, operand) => Some(operand),
        _ => None,
    }
}

/// The value of C's `int` arithmetic, brought back to a type narrower than that.
fn narrowed(elem: Elem, value: Expression) -> Expression {
    if elem.is_integer() && elem.bits() < 32 { Expression::cast(types::scalar(elem), value) } else { value }
}

fn is_condition(op: BinaryOp) -> bool {
    op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or)
}
