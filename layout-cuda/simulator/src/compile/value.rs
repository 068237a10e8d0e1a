//! Values in registers.
//!
//! Law: an instruction of a value writes registers that only this value reads, except for indices and their
//! comparisons, which the cache shares.

use super::{ArgumentValue, Compiler, Result, malformed};
use crate::arithmetic::ordered;
use crate::bytecode::{Bank, FloatOp, IntegerFunction, Op, Register, Sum};
use layout_compiler::elem::{Constant, Elem};
use layout_compiler::ir::{BinaryOp, UnaryOp};
use layout_compiler::math::Math;
use layout_compiler::program::{Access, Value, VariableKind};
use layout_compiler::small_float;

impl Compiler<'_> {
    pub(super) fn value(&mut self, value: &Value<Access>) -> Result<(Register, Elem)> {
        match value {
            Value::Constant(constant) => self.constant(*constant),
            Value::Argument(number, elem) => match self.arguments.get(*number as usize) {
                Some(ArgumentValue::Scalar(constant)) if constant.elem == *elem => self.constant(*constant),
                _ => Err(malformed(format!("argument {number} is no scalar of type {elem}"))),
            },
            Value::Variable(id) => {
                let binding = self.variable(*id)?;
                self.check_initialised(binding.slot, self.site);
                let elem = match self.tables.variable(*id).kind {
                    VariableKind::Elem(elem) => elem,
                    VariableKind::Index(_) | VariableKind::Pointer(_) => Elem::I64,
                };
                Ok((binding.register, elem))
            }
            Value::Index(index, elem) => {
                let sum = self.index(index)?;
                if *elem == Elem::I64 {
                    return Ok((Register::Int(sum), Elem::I64));
                }
                // An index beyond `i64` is unsigned: the register holds its bits.
                let natural = self.tables.atoms.range(index).beyond_i64();
                self.cast(Register::Int(sum), if natural { Elem::U64 } else { Elem::I64 }, *elem)
            }
            Value::Compare(comparison) => {
                let mask = match self.comparison(comparison)? {
                    Ok(mask) => mask,
                    Err(known) => self.constant_mask(known),
                };
                Ok((Register::Mask(mask), Elem::Bool))
            }
            Value::Load(access) => self.load(access),
            Value::Unary(op, a) => {
                let a = self.value(a)?;
                if let (UnaryOp::Neg, (Register::Int(b), elem)) = (op, a) {
                    self.check_integer(BinaryOp::Sub, Sum::default(), b, elem);
                }
                self.prefix(*op, a)
            }
            Value::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => self.lazy(*op, a, b),
            Value::Binary(BinaryOp::Add, a, b) => match (&**a, &**b) {
                (Value::Binary(BinaryOp::Mul, x, y), _) => {
                    let (x, y, sum) = (self.value(x)?, self.value(y)?, self.value(b)?);
                    self.multiply_then_add(x, y, sum, true)
                }
                (_, Value::Binary(BinaryOp::Mul, x, y)) => {
                    let (sum, x, y) = (self.value(a)?, self.value(x)?, self.value(y)?);
                    self.multiply_then_add(x, y, sum, false)
                }
                _ => {
                    let (a, b) = (self.value(a)?, self.value(b)?);
                    self.binary_value(BinaryOp::Add, a, b)
                }
            },
            Value::Binary(op, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.binary_value(*op, a, b)
            }
            Value::Cast(elem, a) => {
                let (from, known) = match &**a {
                    // A cast of an operation makes it wrap: see [`Value::Cast`].
                    Value::Binary(op, x, y) if elem.is_integer() && self.elem_of(a) == Some(*elem) => {
                        let (x, y) = (self.value(x)?, self.value(y)?);
                        self.operator(*op, x, y)?
                    }
                    Value::Unary(op, x) if elem.is_integer() && self.elem_of(a) == Some(*elem) => {
                        let x = self.value(x)?;
                        self.prefix(*op, x)?
                    }
                    other => self.value(other)?,
                };
                if known == *elem { Ok((from, known)) } else { self.cast(from, known, *elem) }
            }
            Value::Math(math, values) => self.math(*math, values),
            Value::Select(condition, then, otherwise) => {
                let condition = self.condition(condition)?;
                let ((then, elem), (otherwise, _)) = if self.has_effect(then) || self.has_effect(otherwise) {
                    self.either(condition, then, otherwise)?
                } else {
                    (self.value(then)?, self.value(otherwise)?)
                };
                let bank = Bank::of(elem);
                let dst = self.take(bank, 1);
                self.emit(Op::Select { dst, condition, then, otherwise });
                self.track_origin(bank.register(dst), &[then, otherwise]);
                Ok((bank.register(dst), elem))
            }
        }
    }

    pub(super) fn condition(&mut self, value: &Value<Access>) -> Result<u32> {
        match self.value(value)? {
            (Register::Mask(mask), _) => Ok(mask),
            (_, elem) => Err(malformed(format!("a condition of type {elem}"))),
        }
    }

    /// The value of a condition that is constant here.
    pub(super) fn known(&mut self, value: &Value<Access>) -> Result<Option<bool>> {
        Ok(match value {
            Value::Constant(constant) if constant.elem == Elem::Bool => Some(constant.bits != 0),
            Value::Compare(comparison) => self.fixed_comparison(comparison),
            Value::Unary(UnaryOp::Not, a) => self.known(a)?.map(|known| !known),
            Value::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let ends = *op == BinaryOp::Or;
                match self.known(a)? {
                    Some(left) if left == ends => Some(left),
                    Some(_) => self.known(b)?,
                    None => None,
                }
            }
            _ => None,
        })
    }

    fn constant(&mut self, constant: Constant) -> Result<(Register, Elem)> {
        let bank = Bank::of(constant.elem);
        let register = match bank {
            Bank::Int => Register::Int(Sum::constant(constant.as_i128() as i64)),
            Bank::Mask => Register::Mask(self.constant_mask(constant.bits != 0)),
            Bank::F32 => {
                let dst = self.take(Bank::F32, 1);
                let value = small_float::decode(constant.bits as u32, constant.elem);
                self.emit(Op::ConstantF32 { dst, value });
                Register::F32(dst)
            }
            Bank::F64 => {
                let dst = self.take(Bank::F64, 1);
                self.emit(Op::ConstantF64 { dst, value: f64::from_bits(constant.bits) });
                Register::F64(dst)
            }
        };
        Ok((register, constant.elem))
    }

    fn constant_mask(&mut self, value: bool) -> u32 {
        let dst = self.take(Bank::Mask, 1);
        self.emit(Op::ConstantMask { dst, value: if value { u32::MAX } else { 0 } });
        dst
    }

    fn cast(&mut self, from: Register, known: Elem, elem: Elem) -> Result<(Register, Elem)> {
        let bank = Bank::of(elem);
        let dst = self.take(bank, 1);
        self.check_cast(from, known, elem);
        self.emit(Op::Cast { dst, from, natural: known == Elem::U64, elem });
        self.round(dst, elem);
        self.track_origin(bank.register(dst), &[from]);
        Ok((bank.register(dst), elem))
    }

    /// Rounds an `f32` to a smaller float.
    fn round(&mut self, dst: u32, elem: Elem) {
        if elem.is_small_float() {
            self.emit(Op::Round { dst, elem });
        }
    }

    fn prefix(&mut self, op: UnaryOp, (a, elem): (Register, Elem)) -> Result<(Register, Elem)> {
        let bank = Bank::of(elem);
        let dst = self.take(bank, 1);
        let site = self.site;
        let from = a;
        self.emit(match (op, a) {
            (UnaryOp::Neg, Register::F32(a)) => Op::F32 { dst, op: FloatOp::Neg, a, b: a, c: a },
            (UnaryOp::Neg, Register::F64(a)) => Op::F64 { dst, op: FloatOp::Neg, a, b: a, c: a },
            (UnaryOp::Neg, Register::Int(b)) => {
                Op::Int { dst, op: BinaryOp::Sub, a: Sum::default(), b, elem, site }
            }
            (UnaryOp::Not, Register::Int(a)) => {
                Op::Int { dst, op: BinaryOp::BitXor, a, b: Sum::constant(-1), elem, site }
            }
            (UnaryOp::Not, Register::Mask(a)) => Op::MaskNot { dst, a },
            (UnaryOp::Neg, Register::Mask(_)) | (UnaryOp::Not, Register::F32(_) | Register::F64(_)) => {
                return Err(mismatch("a prefix operator", elem, elem));
            }
        });
        self.track_origin(bank.register(dst), &[from]);
        Ok((bank.register(dst), elem))
    }

    /// `a * b + c`, rounded twice; `product_first` is the order of the source text.
    fn multiply_then_add(
        &mut self,
        x: (Register, Elem),
        y: (Register, Elem),
        sum: (Register, Elem),
        product_first: bool,
    ) -> Result<(Register, Elem)> {
        let bank = Bank::of(sum.1);
        match (x.0, y.0, sum.0) {
            (Register::F32(a), Register::F32(b), Register::F32(c)) if sum.1 == Elem::F32 => {
                let dst = self.take(bank, 1);
                self.emit(Op::F32 { dst, op: FloatOp::MulThenAdd, a, b, c });
                self.track_origin(Register::F32(dst), &[x.0, y.0, sum.0]);
                Ok((Register::F32(dst), sum.1))
            }
            (Register::F64(a), Register::F64(b), Register::F64(c)) => {
                let dst = self.take(bank, 1);
                self.emit(Op::F64 { dst, op: FloatOp::MulThenAdd, a, b, c });
                self.track_origin(Register::F64(dst), &[x.0, y.0, sum.0]);
                Ok((Register::F64(dst), sum.1))
            }
            _ => {
                let product = self.binary_value(BinaryOp::Mul, x, y)?;
                let (a, b) = if product_first { (product, sum) } else { (sum, product) };
                self.binary_value(BinaryOp::Add, a, b)
            }
        }
    }

    /// An instrumented operator.
    fn binary_value(
        &mut self,
        op: BinaryOp,
        a: (Register, Elem),
        b: (Register, Elem),
    ) -> Result<(Register, Elem)> {
        if let ((Register::Int(x), elem), (Register::Int(y), _)) = (a, b) {
            self.check_integer(op, x, y, elem);
        }
        self.operator(op, a, b)
    }

    fn operator(
        &mut self,
        op: BinaryOp,
        (a, elem): (Register, Elem),
        (b, other): (Register, Elem),
    ) -> Result<(Register, Elem)> {
        let float = match op {
            BinaryOp::Add => Some(FloatOp::Add),
            BinaryOp::Sub => Some(FloatOp::Sub),
            BinaryOp::Mul => Some(FloatOp::Mul),
            BinaryOp::Div => Some(FloatOp::Div),
            BinaryOp::Rem => Some(FloatOp::Rem),
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::Shl | BinaryOp::Shr => None,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let dst = self.compared(op, (a, elem), (b, other))?;
                return Ok((Register::Mask(dst), Elem::Bool));
            }
            BinaryOp::And | BinaryOp::Or => None,
        };
        let bank = Bank::of(elem);
        let site = self.site;
        let dst = self.take(bank, 1);
        self.emit(match (a, b, float) {
            (Register::F32(a), Register::F32(b), Some(op)) => Op::F32 { dst, op, a, b, c: a },
            (Register::F64(a), Register::F64(b), Some(op)) => Op::F64 { dst, op, a, b, c: a },
            (Register::Int(a), Register::Int(b), _) => Op::Int { dst, op, a, b, elem, site },
            (Register::Mask(a), Register::Mask(b), None) => Op::MaskBinary { dst, op, a, b },
            _ => return Err(mismatch("an operator", elem, other)),
        });
        self.round(dst, elem);
        self.track_origin(bank.register(dst), &[a, b]);
        Ok((bank.register(dst), elem))
    }

    pub(super) fn compared(
        &mut self,
        op: BinaryOp,
        (a, elem): (Register, Elem),
        (b, other): (Register, Elem),
    ) -> Result<u32> {
        if let (Register::Int(a), Register::Int(b)) = (a, b)
            && let (Some(a), Some(b)) = (a.as_constant(), b.as_constant())
        {
            return Ok(self.constant_mask(op.compare(&ordered(a, elem), &ordered(b, elem))));
        }
        let dst = self.take(Bank::Mask, 1);
        match (a, b) {
            (Register::Int(mut a), Register::Int(mut b)) => {
                // A flipped sign bit turns the unsigned order into the signed one.
                (a.constant, b.constant) = (ordered(a.constant, elem), ordered(b.constant, elem));
                self.emit(Op::CompareInt { dst, op, a, b })
            }
            (Register::F32(a), Register::F32(b)) => self.emit(Op::CompareF32 { dst, op, a, b }),
            (Register::F64(a), Register::F64(b)) => self.emit(Op::CompareF64 { dst, op, a, b }),
            (Register::Mask(_), Register::Mask(_)) => {
                let (x, _) = self.cast(a, elem, Elem::U8)?;
                let (y, _) = self.cast(b, elem, Elem::U8)?;
                let (Register::Int(a), Register::Int(b)) = (x, y) else {
                    return Err(mismatch("a comparison", elem, other));
                };
                self.emit(Op::CompareInt { dst, op, a, b })
            }
            _ => return Err(mismatch("a comparison", elem, other)),
        };
        Ok(dst)
    }

    /// Both values of a `select`, each in its lanes.
    fn either(
        &mut self,
        mask: u32,
        then: &Value<Access>,
        otherwise: &Value<Access>,
    ) -> Result<((Register, Elem), (Register, Elem))> {
        let test = self.emit(Op::If { mask, otherwise: 0 });
        let mark = self.cache.mark();
        let then = self.value(then)?;
        self.cache.rewind(mark);
        let turn = self.emit(Op::Else { end: 0 });
        self.program.code[test] = Op::If { mask, otherwise: turn as u32 };
        let mark = self.cache.mark();
        let otherwise = self.value(otherwise)?;
        self.cache.rewind(mark);
        let end = self.here();
        self.program.code[turn] = Op::Else { end };
        self.emit(Op::EndIf);
        Ok((then, otherwise))
    }

    /// `a && b`, `a || b`: an operand with an effect is evaluated only in the lanes that need it.
    fn lazy(&mut self, op: BinaryOp, a: &Value<Access>, b: &Value<Access>) -> Result<(Register, Elem)> {
        let left = self.condition(a)?;
        let dst = self.take(Bank::Mask, 1);
        if !self.has_effect(b) {
            let right = self.condition(b)?;
            let op = if op == BinaryOp::And { BinaryOp::BitAnd } else { BinaryOp::BitOr };
            self.emit(Op::MaskBinary { dst, op, a: left, b: right });
            return Ok((Register::Mask(dst), Elem::Bool));
        }
        self.emit(Op::MaskBinary { dst, op: BinaryOp::BitAnd, a: left, b: left });
        let mask = if op == BinaryOp::And {
            left
        } else {
            let open = self.take(Bank::Mask, 1);
            self.emit(Op::MaskNot { dst: open, a: left });
            open
        };
        let test = self.emit(Op::If { mask, otherwise: 0 });
        let mark = self.cache.mark();
        let right = self.condition(b)?;
        self.emit(Op::MaskBinary { dst, op: BinaryOp::BitAnd, a: right, b: right });
        self.cache.rewind(mark);
        let otherwise = self.here();
        self.program.code[test] = Op::If { mask, otherwise };
        self.emit(Op::EndIf);
        Ok((Register::Mask(dst), Elem::Bool))
    }

    fn math(&mut self, math: Math, values: &[Value<Access>]) -> Result<(Register, Elem)> {
        let mut operands = Vec::with_capacity(3);
        for value in values {
            operands.push(self.value(value)?);
        }
        let needed = math.arity();
        let Some(&(first, elem)) = operands.first().filter(|_| operands.len() == needed) else {
            return Err(malformed(format!("{math:?} takes {needed} values, {} given", operands.len())));
        };
        let wanted = |n: usize| math.operands()[n - 1].of(elem);
        if let Some(n) = (1..needed).find(|n| operands[*n].1 != wanted(*n)) {
            return Err(mismatch("a function", elem, operands[n].1));
        }
        let result = math.result().of(elem);
        let bank = Bank::of(result);
        let dst = self.take(bank, 1);
        let operand = |n: usize| operands.get(n).map_or(first, |(register, _)| *register);
        let from = [first, operand(1), operand(2)];
        if let (Math::Abs, Register::Int(a)) = (math, first) {
            self.check_integer(BinaryOp::Sub, Sum::default(), a, elem);
        }
        match math {
            Math::Pow => self.check_integer_function(IntegerFunction::Power, first, operand(1), elem),
            Math::Ilog2 => self.check_integer_function(IntegerFunction::Logarithm, first, first, elem),
            _ => {}
        }
        self.emit(Op::Math { dst, function: math, operands: from, elem });
        self.round(dst, result);
        self.track_origin(bank.register(dst), &from);
        Ok((bank.register(dst), result))
    }

    /// `dst = value`; the last instruction of the value writes `dst` directly if it can.
    pub(super) fn assign(&mut self, dst: Register, value: &Value<Access>) -> Result {
        let (before, start) = (self.taken, self.program.code.len());
        let (from, elem) = self.value(value)?;
        let fresh = match from {
            Register::F32(register) => register >= before.f32,
            Register::F64(register) => register >= before.f64,
            Register::Int(sum) => sum.vector.is_some_and(|register| register >= before.int),
            Register::Mask(register) => register >= before.mask,
        };
        if fresh
            && self.program.code.len() > start
            && let Some(last) = self.program.code.last_mut()
            && retarget(last, from, dst)
        {
            return Ok(());
        }
        self.copy(dst, from, elem)
    }

    pub(super) fn copy(&mut self, dst: Register, from: Register, elem: Elem) -> Result {
        self.emit(match (dst, from) {
            (Register::F32(dst), Register::F32(a)) => Op::F32 { dst, op: FloatOp::Copy, a, b: a, c: a },
            (Register::F64(dst), Register::F64(a)) => Op::F64 { dst, op: FloatOp::Copy, a, b: a, c: a },
            (Register::Mask(dst), Register::Mask(a)) => Op::MaskBinary { dst, op: BinaryOp::BitAnd, a, b: a },
            (Register::Int(Sum { vector: Some(dst), scalar: None, constant: 0 }), Register::Int(a)) => {
                Op::Wrap { dst, a, elem: Elem::I64 }
            }
            _ => return Err(mismatch("an assignment", elem, elem)),
        });
        self.track_origin(dst, &[from]);
        Ok(())
    }
}

fn mismatch(what: &str, a: Elem, b: Elem) -> crate::error::SimulateError {
    malformed(format!("{what} on {a} and {b}"))
}

/// Redirects an instruction from one destination to another; shared indices and comparisons are not redirected.
fn retarget(op: &mut Op, from: Register, to: Register) -> bool {
    let (dst, register): (&mut u32, fn(u32) -> Register) = match op {
        Op::F32 { dst, .. } | Op::ConstantF32 { dst, .. } => (dst, Register::F32),
        Op::F64 { dst, .. } | Op::ConstantF64 { dst, .. } => (dst, Register::F64),
        Op::Int { dst, .. } => (dst, |n| Register::Int(Sum::vector(n))),
        Op::MaskNot { dst, .. } | Op::CompareF32 { dst, .. } | Op::CompareF64 { dst, .. } => {
            (dst, Register::Mask)
        }
        Op::Load { dst, .. } | Op::Math { dst, .. } => match from {
            Register::F32(_) => (dst, Register::F32),
            Register::F64(_) => (dst, Register::F64),
            Register::Int(_) => (dst, |n| Register::Int(Sum::vector(n))),
            Register::Mask(_) => (dst, Register::Mask),
        },
        _ => return false,
    };
    let number = match (from, to) {
        (Register::F32(_), Register::F32(number))
        | (Register::F64(_), Register::F64(number))
        | (Register::Mask(_), Register::Mask(number)) => number,
        (Register::Int(_), Register::Int(Sum { vector: Some(number), scalar: None, constant: 0 })) => number,
        _ => return false,
    };
    if register(*dst) != from {
        return false;
    }
    *dst = number;
    true
}
