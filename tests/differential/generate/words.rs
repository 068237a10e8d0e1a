//! Words, `match`, arrays.

use super::Generator;
use super::index::{binary, number};
use crate::tree::*;
use crate::types::{Kind, Type};
use crate::value::Value;
use crate::words::{Slot, WORDS, Word};

impl Generator {
    /// A word that gives a value of a type.
    pub fn word(&mut self, ty: Type, depth: usize) -> Expr {
        let all = Word::giving(ty, &self.types.clone());
        if all.is_empty() {
            return self.arithmetic(ty, depth);
        }
        let (number, of) = self.pick(&all);
        let word = &WORDS[number];
        let bounds = word.name == "clamp";
        let mut arguments: Vec<Expr> = word
            .operands
            .iter()
            .map(|slot| match slot {
                Slot::Divisor => {
                    let one = Expr::Literal { ty: of, value: Value::Int(1), bare: false };
                    binary(BinaryOp::BitOr, self.expr(of, depth), one)
                }
                // The sign of a NaN is open.
                Slot::Same if bounds || word.name == "copysign" => self.literal(of),
                slot => self.expr(slot.of(of), depth),
            })
            .collect();
        if word.name == "copysign" {
            arguments[0] = self.expr(of, depth);
        }
        if bounds {
            // Rust panics where the bounds are out of order.
            arguments[0] = self.expr(of, depth);
            let order = |expr: &Expr| match expr {
                Expr::Literal { value, .. } => value.int(),
                _ => 0,
            };
            arguments[1..].sort_by_key(order);
        }
        Expr::Word(number, of, arguments)
    }

    /// What a `match` looks at, and the arms: a number is in one of those without a guard.
    fn arms(&mut self, depth: usize) -> (Expr, Vec<Arm>) {
        let ty = loop {
            let ty = self.value_type();
            if !ty.is_float() && ty != Type::Bool {
                break ty;
            }
        };
        let value = match (self.chance(60), ty.kind()) {
            // So that some arm is taken.
            (true, Kind::Integer(..)) => {
                let five = Expr::Literal { ty, value: Value::Int(5), bare: true };
                binary(BinaryOp::Rem, self.expr(ty, depth), five)
            }
            (true, _) => binary(BinaryOp::Rem, self.natural(depth), number(5)),
            _ => self.expr(ty, depth),
        };
        let least = if ty.is_signed() { -3 } else { 0 };
        let mut numbers: Vec<i128> = (least..6).collect();
        let mut arms = vec![];
        for _ in 0..1 + self.below(3) {
            let count = 1 + self.below(2);
            let one = |number: i128| (Value::Int(number), Value::Int(number));
            let mut patterns: Vec<_> =
                (0..count).map(|_| one(numbers.swap_remove(self.below(numbers.len())))).collect();
            let mut bound = None;
            if self.chance(20) {
                let first = i128::from(self.between(least as i64, 6));
                patterns = vec![(Value::Int(first), Value::Int(first + i128::from(self.between(0, 60))))];
            }
            if patterns.len() == 1 && self.chance(40) {
                bound = Some(self.var(VarType::Scalar(ty)));
            }
            if self.chance(15) {
                // Under a guard that takes some.
                (patterns, bound) = (vec![], Some(self.var(VarType::Scalar(ty))));
            }
            arms.push(Arm { guard: None, patterns, bound });
        }
        (value, arms)
    }

    /// What is in an arm sees its variable; the guard has no effects.
    fn in_arm<T>(&mut self, arm: &mut Arm, depth: usize, make: impl FnOnce(&mut Generator) -> T) -> T {
        let mark = self.scope.mark();
        if let Some(bound) = arm.bound {
            self.scope.declare(bound, false);
        }
        if arm.patterns.is_empty() || self.chance(25) {
            let effects = std::mem::take(&mut self.effects);
            arm.guard = Some(Box::new(self.expr(Type::Bool, depth.min(1))));
            self.effects = effects;
        }
        let body = make(self);
        self.scope.leave(mark);
        body
    }

    /// `match x { 1 | 2 => a, n if n > 7 => b, _ => c }`
    pub fn match_value(&mut self, ty: Type, depth: usize) -> Expr {
        let (value, arms) = self.arms(depth);
        let each = |mut arm: Arm| {
            let body = self.in_arm(&mut arm, depth, |this| this.body_or_jump(ty, depth));
            (arm, body)
        };
        let arms = arms.into_iter().map(each).collect();
        let otherwise = self.body_of(ty, depth);
        Expr::Match(Box::new(value), arms, Box::new(otherwise))
    }

    pub fn match_statement(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let (value, arms) = self.arms(2);
        let each = |mut arm: Arm| {
            let body = self.in_arm(&mut arm, depth, |this| this.block(depth));
            (arm, body)
        };
        let arms = arms.into_iter().map(each).collect();
        let otherwise = self.block(depth);
        out.push(Stmt::Match(value, arms, otherwise));
    }

    /// `let mut a = [x, y, z];`
    pub fn array(&mut self, out: &mut Vec<Stmt>) {
        let (ty, count) = (self.element_type(), 2 + self.below(5));
        let values = if self.chance(40) { 1 } else { count };
        let values = (0..values).map(|_| self.expr(ty, 1)).collect();
        let var = self.var(VarType::Array(ty, count));
        self.scope.arrays.push((var, ty, count));
        out.push(Stmt::LetArray { var, count, values });
    }

    pub fn set_element(&mut self, out: &mut Vec<Stmt>) {
        if self.scope.arrays.is_empty() {
            return self.array(out);
        }
        let arrays = self.scope.arrays.clone();
        let (var, ty, count) = self.pick(&arrays);
        let op = if self.chance(40) { self.compound(ty) } else { None };
        let (at, value) = (self.place_in(count), self.expr(ty, 2));
        out.push(Stmt::SetElement(var, at, op, value));
    }

    /// An element of an array of a type.
    pub fn array_element(&mut self, ty: Type) -> Expr {
        let fitting: Vec<_> = self.scope.arrays.iter().filter(|array| array.1 == ty).copied().collect();
        if fitting.is_empty() {
            return self.leaf(ty);
        }
        let (var, _, count) = self.pick(&fitting);
        Expr::Element(var, Box::new(self.place_in(count)))
    }

    /// An index inside an array, known at compile time or not; it never leaves 64 bits on its way.
    pub fn place_in(&mut self, count: usize) -> Expr {
        if let Some(counter) = self.counter_below(count as i64) {
            return counter;
        }
        match self.below(3) {
            0 => binary(BinaryOp::Rem, self.natural(0), number(count as i64)),
            1 => self.register(&[count as i64]).swap_remove(0),
            _ => number(self.between(0, count as i64 - 1)),
        }
    }
}
