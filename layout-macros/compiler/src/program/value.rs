//! The expressions of a thread.
//!
//! A [`Value`] is evaluated where it occurs, each load once; it has no side effect. `&&` and `||` evaluate their
//! right side only if the left side does not decide, and [`Value::Select`] evaluates only the chosen side.
//! Arithmetic: integers wrap at their width; shifts take their count modulo the width; integer division by zero gives
//! some number of the type and the simulator reports it; floats are IEEE, except that a GPU may contract `a * b + c` to
//! one rounding.

use crate::elem::{Constant, Elem};
use crate::index::{Index, VarId};
use crate::ir::{BinaryOp, UnaryOp};
use crate::math::Math;

/// A value of an element type, of one thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<A> {
    /// A number.
    Constant(Constant),
    /// The scalar argument of this number, of an element type.
    Argument(u32, Elem),
    /// A variable.
    Variable(VarId),
    /// An index, converted to an element type (`as`: truncated to an integer's width, rounded to a float).
    Index(Index, Elem),
    /// Compares two indices; gives `bool`.
    Compare(Comparison),
    /// Reads an element.
    Load(Box<A>),
    /// A prefix operator.
    Unary(UnaryOp, Box<Value<A>>),
    /// An infix operator on two values of one type; comparisons give `bool`.
    Binary(BinaryOp, Box<Value<A>>, Box<Value<A>>),
    /// Rust's `as`: floats saturate to integers (NaN gives 0), integers wrap. Of an operator's integer to its own type it
    /// changes nothing and says that the operator may wrap: `wrapping_*`.
    Cast(Elem, Box<Value<A>>),
    /// An elementwise word of one, two or three values.
    Math(Math, Vec<Value<A>>),
    /// `condition ? then : otherwise`; the other one is not evaluated.
    Select(Box<Value<A>>, Box<Value<A>>, Box<Value<A>>),
}

/// `left op right`, of mathematical integers; `op` is a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    /// `Eq`, `Ne`, `Lt`, `Le`, `Gt` or `Ge`.
    pub op: BinaryOp,
    /// The left side.
    pub left: Index,
    /// The right side.
    pub right: Index,
}

/// All of them; the empty one always holds.
pub type Mask = Vec<Comparison>;
