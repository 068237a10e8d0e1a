//! Values of element types as C expressions, with Rust's meaning.
//!
//! Where C++ leaves open what Rust defines, a function of `device/` fills in: overflow of signed integers
//! (`wrapping_add`), casts of floats to integers (`saturate_i32`). What is narrower than `int` is computed in `int` and
//! cast back; shifts take their count modulo the width. Arithmetic on 16- and 8-bit floats is done in `float` and
//! rounded back.

use super::cuda_c::Emitter;
use super::expression::Expression;
use super::index::Steps;
use super::names::Name;
use super::types;
use crate::kernel::elem::{Constant, Elem};
use crate::kernel::index::{Index, VarId};
use crate::kernel::ir::{BinaryOp, UnaryOp};
use crate::kernel::program::{Access, Comparison, Math, Value, VariableKind};

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

    /// The type of a value.
    pub(super) fn elem(&self, value: &Value<Access>) -> Elem {
        match value {
            Value::Constant(constant) => constant.elem,
            Value::Argument(_, elem) | Value::Index(_, elem) | Value::Cast(elem, _) => *elem,
            Value::Variable(variable) => self.variable_elem(*variable),
            Value::Compare(_) => Elem::Bool,
            Value::Load(access) => self.tables.place(access.place).elem,
            Value::Unary(_, operand) => self.elem(operand),
            Value::Binary(op, left, _) => {
                if is_condition(*op) {
                    Elem::Bool
                } else {
                    self.elem(left)
                }
            }
            Value::Math(_, arguments) => arguments.first().map_or(Elem::F32, |first| self.elem(first)),
            Value::Select(_, then, _) => self.elem(then),
        }
    }

    pub(super) fn variable_elem(&self, variable: VarId) -> Elem {
        match self.tables.variable(variable).kind {
            VariableKind::Elem(elem) => elem,
            VariableKind::Index { wide: true } => Elem::I64,
            VariableKind::Index { wide: false } => Elem::I32,
            VariableKind::Pointer(place) => self.tables.place(place).elem,
        }
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

    fn base(&self, access: &Access) -> Expression {
        match access.pointer {
            Some(pointer) => self.name(Name::Variable(pointer)),
            None => self.place(access.place),
        }
    }

    fn offset(&self, access: &Access) -> Expression {
        let steps = if access.wide { Steps::Proved } else { Steps::Promised };
        self.scope().index(&access.index, steps).expression
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
            Some(mask) => Expression::conditional(mask, element, types::literal(access.pad)),
            None => element,
        }
    }

    /// An index as an element.
    fn converted(&mut self, index: &Index, elem: Elem) -> Expression {
        if is_small_float(elem) {
            let value = self.converted(index, Elem::F32);
            return self.lowered(elem, value);
        }
        if let Some(number) = index.as_constant() {
            let bits = match elem {
                Elem::F64 => Some((number as f64).to_bits()),
                Elem::F32 => Some(u64::from((number as f32).to_bits())),
                Elem::I64 => Some(number as u64),
                Elem::I32 | Elem::U32 => Some(u64::from(number as u32)),
                Elem::I8 | Elem::U8 => Some(u64::from(number as u8)),
                Elem::Bool => Some(u64::from(number != 0)),
                Elem::F16 | Elem::Bf16 | Elem::E4m3 | Elem::E5m2 => None,
            };
            if let Some(bits) = bits {
                return types::literal(Constant { elem, bits });
            }
        }
        let typed = self.scope().index(index, Steps::Proved);
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
            (UnaryOp::Neg, _) if is_small_float(elem) => {
                let operand = self.lifted(elem, operand);
                self.lowered(elem, Expression::prefix("-", operand))
            }
            (UnaryOp::Neg, Elem::I32 | Elem::I64) => self.call("wrapping_neg", elem, vec![operand]),
            (UnaryOp::Neg, _) => narrowed(elem, Expression::prefix("-", operand)),
            (UnaryOp::Not, Elem::Bool) => Expression::prefix("!", operand),
            (UnaryOp::Not, _) => narrowed(elem, Expression::prefix("~", operand)),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Value<Access>, right: &Value<Access>) -> Expression {
        let elem = self.elem(left);
        // Only -1 makes a quotient that overflows; a divisor that is another number needs no care.
        let divisor_is_safe = match right {
            Value::Constant(constant) => constant.as_i128() != -1,
            _ => false,
        };
        let count = match right {
            Value::Constant(constant) => Some(constant.bits & u64::from(elem.bytes() * 8 - 1)),
            _ => None,
        };
        if is_small_float(elem) {
            let (left, right) = (self.float(left), self.float(right));
            return match op {
                _ if is_condition(op) => Expression::infix(op, left, right),
                BinaryOp::Rem => self.lowered(elem, Expression::call("fmodf", vec![left, right])),
                _ => self.lowered(elem, Expression::infix(op, left, right)),
            };
        }
        let (left, right) = (self.value(left), self.value(right));
        let wrapping = match op {
            BinaryOp::Add => Some("wrapping_add"),
            BinaryOp::Sub => Some("wrapping_sub"),
            BinaryOp::Mul => Some("wrapping_mul"),
            BinaryOp::Div if !divisor_is_safe => Some("wrapping_div"),
            BinaryOp::Rem if !divisor_is_safe => Some("wrapping_rem"),
            BinaryOp::Shl => Some("wrapping_shl"),
            _ => None,
        };
        let right = match op {
            BinaryOp::Shl | BinaryOp::Shr => match count {
                Some(count) => Expression::leaf(count.to_string()),
                None => {
                    let most = Expression::leaf((elem.bytes() * 8 - 1).to_string());
                    Expression::infix(BinaryOp::BitAnd, right, most)
                }
            },
            _ => right,
        };
        match (wrapping, elem) {
            _ if is_condition(op) => Expression::infix(op, left, right),
            (Some(function), Elem::I32 | Elem::I64) => self.call(function, elem, vec![left, right]),
            (Some("wrapping_shl"), Elem::I8) => {
                let shifted = self.call("wrapping_shl", Elem::I32, vec![left, right]);
                narrowed(elem, shifted)
            }
            (_, Elem::F32) if op == BinaryOp::Rem => Expression::call("fmodf", vec![left, right]),
            (_, Elem::F64) if op == BinaryOp::Rem => Expression::call("fmod", vec![left, right]),
            (Some(_), _) => narrowed(elem, Expression::infix(op, left, right)),
            (None, _) if op == BinaryOp::Div => narrowed(elem, Expression::infix(op, left, right)),
            (None, _) => Expression::infix(op, left, right),
        }
    }

    /// Whether C's `left op= right` has Rust's meaning.
    pub(super) fn has_compound(&self, op: BinaryOp, elem: Elem) -> bool {
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => {
                matches!(elem, Elem::F32 | Elem::F64 | Elem::U32)
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                matches!(elem, Elem::U32 | Elem::I32 | Elem::I64)
            }
            _ => false,
        }
    }

    fn cast(&mut self, from: Elem, to: Elem, operand: Expression) -> Expression {
        if from == to {
            return operand;
        }
        if is_small_float(from) {
            let operand = self.lifted(from, operand);
            return self.cast(Elem::F32, to, operand);
        }
        if is_small_float(to) {
            let operand = self.cast(from, Elem::F32, operand);
            return self.lowered(to, operand);
        }
        let saturate = match to {
            _ if !from.is_float() => None,
            Elem::I8 => Some("saturate_i8"),
            Elem::U8 => Some("saturate_u8"),
            Elem::I32 => Some("saturate_i32"),
            Elem::U32 => Some("saturate_u32"),
            Elem::I64 => Some("saturate_i64"),
            _ => None,
        };
        match (saturate, to) {
            (Some(function), _) => self.call(function, from, vec![operand]),
            (None, Elem::Bool) => {
                Expression::infix(BinaryOp::Ne, operand, types::literal(Constant::zero(from)))
            }
            (None, _) => Expression::cast(types::scalar(to), operand),
        }
    }

    fn math(&mut self, function: Math, arguments: &[Value<Access>]) -> Expression {
        let elem = arguments.first().map_or(Elem::F32, |first| self.elem(first));
        if is_small_float(elem) {
            let values = arguments.iter().map(|argument| self.float(argument)).collect();
            let value = self.function(function, Elem::F32, values);
            return self.lowered(elem, value);
        }
        let values: Vec<Expression> = arguments.iter().map(|argument| self.value(argument)).collect();
        self.function(function, elem, values)
    }

    fn function(&mut self, function: Math, elem: Elem, mut values: Vec<Expression>) -> Expression {
        let name = match function {
            Math::Min if elem.is_float() => "fmin",
            Math::Max if elem.is_float() => "fmax",
            Math::Min => return Expression::call("min", values),
            Math::Max => return Expression::call("max", values),
            Math::Abs if elem.is_float() => "fabs",
            Math::Abs => match (elem, values.pop()) {
                (Elem::I32 | Elem::I64, Some(value)) => return self.call("wrapping_abs", elem, vec![value]),
                (Elem::I8, Some(value)) => {
                    let absolute = self.call("wrapping_abs", Elem::I32, vec![value]);
                    return narrowed(elem, absolute);
                }
                (_, Some(value)) => return value,
                (_, None) => "fabs",
            },
            Math::Sqrt => "sqrt",
            Math::Exp => "exp",
            Math::Exp2 => "exp2",
            Math::Ln => "log",
            Math::Tanh => "tanh",
            Math::MulAdd => "fma",
            Math::RoundTf32 => return self.call("round_tf32", Elem::F32, values),
        };
        let suffix = if elem == Elem::F64 { "" } else { "f" };
        Expression::call(format!("{name}{suffix}"), values)
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

/// The value of C's `int` arithmetic, brought back to a type narrower than that.
fn narrowed(elem: Elem, value: Expression) -> Expression {
    match elem {
        Elem::I8 | Elem::U8 => Expression::cast(types::scalar(elem), value),
        _ => value,
    }
}

fn is_small_float(elem: Elem) -> bool {
    elem.is_float() && elem.bytes() < 4
}

fn is_condition(op: BinaryOp) -> bool {
    match op {
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => true,
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::Shl
        | BinaryOp::Shr => false,
    }
}
