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

    /// What a `match` looks at, and its patterns: each number once.
    fn patterns(&mut self, depth: usize) -> (Expr, Vec<Vec<Value>>) {
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
        let mut numbers: Vec<i128> = (if ty.is_signed() { -3 } else { 0 }..6).collect();
        let mut arms = vec![];
        for _ in 0..1 + self.below(3) {
            let count = 1 + self.below(2);
            let arm = (0..count).map(|_| Value::Int(numbers.swap_remove(self.below(numbers.len()))));
            arms.push(arm.collect());
        }
        (value, arms)
    }

    /// `match x { 1 | 2 => a, _ => b }`
    pub fn match_value(&mut self, ty: Type, depth: usize) -> Expr {
        let (value, patterns) = self.patterns(depth);
        let arms = patterns.into_iter().map(|own| (own, self.body_of(ty, depth))).collect();
        let otherwise = self.body_of(ty, depth);
        Expr::Match(Box::new(value), arms, Box::new(otherwise))
    }

    pub fn match_statement(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let (value, patterns) = self.patterns(2);
        let arms = patterns.into_iter().map(|own| (own, self.block(depth))).collect();
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
    fn place_in(&mut self, count: usize) -> Expr {
        match self.below(3) {
            0 => binary(BinaryOp::Rem, self.natural(0), number(count as i64)),
            1 => self.register(&[count as i64]).swap_remove(0),
            _ => number(self.between(0, count as i64 - 1)),
        }
    }
}
