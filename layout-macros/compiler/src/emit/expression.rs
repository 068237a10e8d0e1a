//! C expressions and their text: parentheses occur only where C's precedence, or a reader, needs them.
//!
//! Law: C parses the text to the tree that it was printed from.

use crate::ir::BinaryOp;
use std::fmt;

/// An expression of CUDA C.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    /// A name or a literal without a sign.
    Leaf(String),
    /// `-a`, `!a`, `~a`, `&a`, `*a`
    Prefix(&'static str, Box<Expression>),
    /// `a + b`
    Infix(BinaryOp, Box<Expression>, Box<Expression>),
    /// `(type)a`
    Cast(&'static str, Box<Expression>),
    /// `name(a, b)`
    Call(String, Vec<Expression>),
    /// `a[b]`
    Subscript(Box<Expression>, Box<Expression>),
    /// `a ? b : c`
    Conditional(Box<Expression>, Box<Expression>, Box<Expression>),
}

impl Expression {
    pub(super) fn leaf(text: impl Into<String>) -> Expression {
        Expression::Leaf(text.into())
    }

    pub(super) fn prefix(symbol: &'static str, operand: Expression) -> Expression {
        Expression::Prefix(symbol, Box::new(operand))
    }

    pub(super) fn infix(op: BinaryOp, left: Expression, right: Expression) -> Expression {
        Expression::Infix(op, Box::new(left), Box::new(right))
    }

    pub(super) fn cast(to: &'static str, operand: Expression) -> Expression {
        Expression::Cast(to, Box::new(operand))
    }

    pub(super) fn call(name: impl Into<String>, arguments: Vec<Expression>) -> Expression {
        Expression::Call(name.into(), arguments)
    }

    pub(super) fn subscript(base: Expression, index: Expression) -> Expression {
        Expression::Subscript(Box::new(base), Box::new(index))
    }

    pub(super) fn conditional(condition: Expression, then: Expression, otherwise: Expression) -> Expression {
        Expression::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise))
    }

    /// C's precedence; a higher one binds tighter.
    fn precedence(&self) -> u8 {
        match self {
            Expression::Leaf(_) | Expression::Call(..) | Expression::Subscript(..) => 16,
            Expression::Prefix(..) | Expression::Cast(..) => 15,
            Expression::Infix(op, ..) => precedence(*op),
            Expression::Conditional(..) => 3,
        }
    }

    /// Whether an operand of `op` needs parentheses, on its right side or its left one.
    fn needs_parentheses(&self, op: BinaryOp, right: bool) -> bool {
        if let Expression::Infix(inner, ..) = self {
            let (mine, outer) = (precedence(*inner), precedence(op));
            // `(a / b) * c`, `(a & b) == c`, `(a && b) || c`: right in C without them, but not at first sight.
            let quotient = matches!(inner, BinaryOp::Div | BinaryOp::Rem) && mine == outer;
            let mixed = mine != outer && (is_bitwise(*inner) || (is_bitwise(op) && mine > 10));
            let logical = *inner == BinaryOp::And && op == BinaryOp::Or;
            let compared = matches!(mine, 9 | 10) && matches!(outer, 9 | 10);
            return quotient || mixed || logical || compared || mine < outer || (right && mine == outer);
        }
        if right && matches!(op, BinaryOp::Add | BinaryOp::Sub) && matches!(self, Expression::Prefix("-", _))
        {
            return true; // `a - (-b)`
        }
        self.precedence() < precedence(op)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, parentheses: bool) -> fmt::Result {
        if parentheses { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Leaf(text) => f.write_str(text),
            Expression::Prefix(symbol, operand) => {
                f.write_str(symbol)?;
                // `- -a` without a parenthesis would be a decrement, `& &a` a logical and.
                let doubled = matches!(&**operand, Expression::Prefix(inner, _) if inner == symbol);
                operand.write(f, doubled || operand.precedence() < 15)
            }
            Expression::Infix(op, left, right) => {
                left.write(f, left.needs_parentheses(*op, false))?;
                write!(f, " {} ", op.symbol())?;
                right.write(f, right.needs_parentheses(*op, true))
            }
            Expression::Cast(to, operand) => {
                write!(f, "({to})")?;
                operand.write(f, operand.precedence() < 15)
            }
            Expression::Call(name, arguments) => {
                write!(f, "{name}(")?;
                for (i, argument) in arguments.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{argument}")?;
                }
                f.write_str(")")
            }
            Expression::Subscript(base, index) => {
                base.write(f, base.precedence() < 16)?;
                write!(f, "[{index}]")
            }
            Expression::Conditional(condition, then, otherwise) => {
                condition.write(f, condition.precedence() <= 3)?;
                f.write_str(" ? ")?;
                then.write(f, then.precedence() <= 3)?;
                f.write_str(" : ")?;
                otherwise.write(f, otherwise.precedence() <= 3)
            }
        }
    }
}

fn precedence(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 13,
        BinaryOp::Add | BinaryOp::Sub => 12,
        BinaryOp::Shl | BinaryOp::Shr => 11,
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 10,
        BinaryOp::Eq | BinaryOp::Ne => 9,
        BinaryOp::BitAnd => 8,
        BinaryOp::BitXor => 7,
        BinaryOp::BitOr => 6,
        BinaryOp::And => 5,
        BinaryOp::Or => 4,
    }
}

fn is_bitwise(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitXor | BinaryOp::BitOr)
}

#[cfg(test)]
mod tests {
    use super::BinaryOp::*;
    use super::Expression as E;

    fn name(text: &str) -> E {
        E::leaf(text)
    }

    #[test]
    fn parentheses_are_written_where_they_are_needed() {
        let (a, b, c) = (|| name("a"), || name("b"), || name("c"));
        let rows = [
            (E::infix(Add, E::infix(Mul, a(), b()), c()), "a * b + c"),
            (E::infix(Mul, E::infix(Add, a(), b()), c()), "(a + b) * c"),
            (E::infix(Sub, E::infix(Sub, a(), b()), c()), "a - b - c"),
            (E::infix(Sub, a(), E::infix(Sub, b(), c())), "a - (b - c)"),
            (E::infix(Add, a(), E::infix(Add, b(), c())), "a + (b + c)"),
            (E::infix(Mul, E::infix(Div, a(), b()), c()), "(a / b) * c"),
            (E::infix(Add, E::infix(Rem, a(), b()), c()), "a % b + c"),
            (E::infix(Eq, E::infix(BitAnd, a(), b()), c()), "(a & b) == c"),
            (E::infix(Shl, a(), E::infix(Add, b(), c())), "a << (b + c)"),
            (E::infix(BitAnd, E::infix(BitAnd, a(), b()), c()), "a & b & c"),
            (E::infix(BitOr, E::infix(BitAnd, a(), b()), c()), "(a & b) | c"),
            (E::infix(Or, E::infix(And, a(), b()), c()), "(a && b) || c"),
            (E::infix(And, E::infix(Lt, a(), b()), c()), "a < b && c"),
            (E::infix(Eq, E::infix(Lt, a(), b()), c()), "(a < b) == c"),
            (E::infix(Sub, a(), E::prefix("-", b())), "a - (-b)"),
            (E::infix(Mul, a(), E::prefix("-", b())), "a * -b"),
            (E::prefix("-", E::prefix("-", a())), "-(-a)"),
            (E::prefix("-", E::infix(Add, a(), b())), "-(a + b)"),
            (E::prefix("&", E::subscript(a(), E::infix(Add, b(), c()))), "&a[b + c]"),
            (E::prefix("*", E::call("f", vec![a(), b()])), "*f(a, b)"),
            (E::cast("int", E::infix(Add, a(), b())), "(int)(a + b)"),
            (E::infix(Mul, E::cast("int", a()), b()), "(int)a * b"),
            (E::infix(Add, E::conditional(a(), b(), c()), a()), "(a ? b : c) + a"),
            (E::conditional(E::infix(Lt, a(), b()), E::infix(Add, a(), b()), c()), "a < b ? a + b : c"),
        ];
        for (expression, text) in rows {
            assert_eq!(expression.to_string(), text);
        }
    }
}
