//! Operators over indices, and what comparisons say of the threads under them.

use super::interpreter::{Guard, Interpreter, Value};
use super::polynomial::{Kind, Polynomial};
use crate::ir::{BinaryOp, UnaryOp};

pub(super) fn unary(op: UnaryOp, operand: Value) -> Value {
    match (op, operand) {
        (UnaryOp::Neg, Value::Number(number)) => {
            Polynomial::default().add(&number, -1).map_or(Value::Unknown("is too long"), Value::Number)
        }
        (UnaryOp::Not, Value::Condition(guard)) => {
            Value::Condition(Guard { zero: [false; 3], edge: [guard.edge[1], guard.edge[0]] })
        }
        (_, other) => match other {
            Value::Unknown(why) => Value::Unknown(why),
            _ => Value::Unknown("is no sum of products"),
        },
    }
}

impl Interpreter<'_> {
    pub(super) fn binary(&mut self, op: BinaryOp, left: Value, right: Value) -> Value {
        match (left, right) {
            (Value::Number(left), Value::Number(right)) if op.is_comparison() => {
                Value::Condition(self.compared(op, &left, &right))
            }
            (Value::Number(left), Value::Number(right)) => self.arithmetic(op, &left, &right),
            (Value::Condition(left), Value::Condition(right)) => {
                let both = |side: usize| left.edge[side] && right.edge[side];
                match op {
                    BinaryOp::And | BinaryOp::BitAnd => Value::Condition(Guard {
                        zero: [0, 1, 2].map(|axis| left.zero[axis] || right.zero[axis]),
                        edge: [both(0), both(0) && both(1)],
                    }),
                    BinaryOp::Or | BinaryOp::BitOr => {
                        Value::Condition(Guard { zero: [false; 3], edge: [both(0) && both(1), both(1)] })
                    }
                    _ => Value::Condition(Guard { zero: [false; 3], edge: [both(0) && both(1); 2] }),
                }
            }
            (Value::Condition(one), _) | (_, Value::Condition(one)) if op == BinaryOp::And => {
                Value::Condition(Guard { zero: one.zero, edge: [false; 2] })
            }
            (Value::Unknown(why), _) | (_, Value::Unknown(why)) => Value::Unknown(why),
            _ => Value::Unknown("is no sum of products"),
        }
    }

    /// A comparison of threads with an extent of the launch leaves out what is beyond that; one of blocks or of symbols leaves out no
    /// thread.
    fn compared(&mut self, op: BinaryOp, left: &Polynomial, right: &Polynomial) -> Guard {
        let mut guard = Guard::default();
        if op == BinaryOp::Eq
            && right.as_constant() == Some(0)
            && let Some(Kind::Block(axis)) = left.as_atom().map(|atom| self.atoms.kind(atom))
        {
            guard.zero[(*axis).min(2) as usize] = true;
        }
        let threads = |of: &Polynomial| {
            of.atoms()
                .any(|atom| !self.atoms.is_symbol(atom) && !matches!(self.atoms.kind(atom), Kind::Block(_)))
        };
        let run_time = |of: &Polynomial| self.atoms.is_symbolic(of) && !self.atoms.is_static(of);
        let (op, right_is_bound) = match (threads(left), threads(right)) {
            (false, false) => return Guard { edge: [true; 2], ..guard },
            (true, false) => (op, run_time(right)),
            (false, true) => (mirrored(op), run_time(left)),
            (true, true) => return guard,
        };
        guard.edge = [
            right_is_bound && matches!(op, BinaryOp::Lt | BinaryOp::Le),
            right_is_bound && matches!(op, BinaryOp::Ge | BinaryOp::Gt),
        ];
        guard
    }

    fn arithmetic(&mut self, op: BinaryOp, left: &Polynomial, right: &Polynomial) -> Value {
        let power = |number: Option<i128>| {
            number.filter(|bits| (0..=62).contains(bits)).map(|bits| Polynomial::constant(1 << bits))
        };
        let result = match op {
            BinaryOp::Add => left.add(right, 1),
            BinaryOp::Sub => left.add(right, -1),
            BinaryOp::Mul => left.mul(right),
            BinaryOp::Shl => power(right.as_constant()).and_then(|by| left.mul(&by)),
            BinaryOp::Div => return self.divided(left, right, false),
            BinaryOp::Rem => return self.divided(left, right, true),
            BinaryOp::Shr => match power(right.as_constant()) {
                Some(by) => return self.divided(left, &by, false),
                None => None,
            },
            BinaryOp::BitAnd => {
                match right
                    .as_constant()
                    .filter(|mask| (1..1 << 62).contains(mask) && (mask + 1).count_ones() == 1)
                {
                    Some(mask) => return self.divided(left, &Polynomial::constant(mask + 1), true),
                    None => None,
                }
            }
            _ => None,
        };
        result.map_or(Value::Unknown("is no sum of products"), Value::Number)
    }

    /// A quotient of symbols, or of one variable that is not the block's.
    fn divided(&mut self, left: &Polynomial, right: &Polynomial, remainder: bool) -> Value {
        if self.atoms.of_block(left) {
            return Value::Unknown("is a quotient or a remainder of `block_idx`");
        }
        if !self.atoms.is_symbolic(right) || *right == Polynomial::default() {
            return Value::Unknown("is a quotient by no constant");
        }
        if self.atoms.is_symbolic(left) {
            let result = if remainder { self.atoms.rem(left, right) } else { self.atoms.div(left, right) };
            return Value::Number(result);
        }
        match left.as_atom() {
            Some(atom) if remainder => Value::Number(self.atoms.of(Kind::Remainder(atom, right.clone()))),
            Some(atom) if right.as_constant() == Some(1) => Value::Number(Polynomial::atom(atom)),
            Some(atom) => Value::Number(self.atoms.of(Kind::Quotient(atom, right.clone()))),
            None => Value::Unknown("is a quotient of a sum"),
        }
    }
}

fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}
