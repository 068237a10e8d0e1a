//! Expressions of a kernel, in one arena addressed by [`ExprId`]; types, operators, thread indices.
//!
//! Invariant: no expression contains itself.

use super::super::elem::{Elem, Known};
use super::super::intrinsic::Intrinsic;
use super::super::origin::Origin;
use super::super::wire::wire;
use super::{Block, LocalId};

wire! {
    /// An expression, by its place in [`Kernel::exprs`](super::Kernel::exprs).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct ExprId(pub u32);
}
wire! {
    /// An element type, or a type parameter that represents one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TypeRef {
        /// An element type.
        Elem(elem: Elem),
        /// The type parameter of this number in [`Kernel::types`](super::Kernel::types), or behind them in
        /// [`Kernel::own_types`](super::Kernel::own_types).
        Parameter(number: u32),
        /// `usize`: an index, a natural number.
        Usize,
        /// `isize`: an index that may be negative.
        Isize,
    }
}
wire! {
    /// An expression.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Expr {
        /// What it is.
        pub kind: ExprKind,
        /// Where.
        pub origin: Origin,
    }
}
wire! {
    /// What an expression is.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ExprKind {
        /// An integer literal, with the type of its suffix.
        Int(value: i128, suffix: Option<TypeRef>),
        /// A float literal: the bits of the nearest double, with the type of its suffix.
        Float(bits: u64, suffix: Option<TypeRef>),
        /// `true`, `false`
        Bool(value: bool),
        /// An element type, compared with a type parameter: `T == bf16`, in the attribute only.
        Type(elem: Elem),
        /// A function by its name, compared with a parameter: `KEEP == causal`, in the attribute only.
        Named(function: &'static str),
        /// `T::MAX`: a constant that belongs to a type.
        Known(constant: Known, ty: TypeRef),
        /// A local name.
        Local(local: LocalId),
        /// A parameter of the attribute, by number.
        Parameter(number: u32),
        /// A const generic, by number.
        Dim(number: u32),
        /// An argument of the kernel, by number.
        Argument(number: u32),
        /// `thread_idx.x` and the like: the axis is 0, 1 or 2.
        Special(special: Special, axis: u32),
        /// `-a`, `!a`
        Unary(op: UnaryOp, operand: ExprId),
        /// `a + b`
        Binary(op: BinaryOp, left: ExprId, right: ExprId),
        /// `a as ty`, `a.cast::<ty>()`
        Cast(operand: ExprId, ty: TypeRef),
        /// `(a, b)`
        Tuple(parts: Vec<ExprId>),
        /// `[a, b]`
        Array(parts: Vec<ExprId>),
        /// `[a; n]`
        Repeat(value: ExprId, count: ExprId),
        /// `array[i]`
        Element(array: ExprId, index: ExprId),
        /// `&mut place` of a local or of a part of one; of anything else the value.
        Borrow(place: ExprId),
        /// `array.len()`
        Len(array: ExprId),
        /// `a.0` of a tuple.
        Field(operand: ExprId, number: u32),
        /// `view[[i, j]]`
        Index(view: ExprId, coordinates: Vec<ExprId>),
        /// A member of the vocabulary; the receiver of a method is the first argument.
        Intrinsic(intrinsic: Intrinsic, types: Vec<TypeRef>, arguments: Vec<ExprId>),
        /// A call of the nested function of this number.
        Call(function: u32, arguments: Vec<ExprId>),
        /// A nested function, or a closure, as a value.
        Function(function: u32),
        /// A call of a value that is a function: a parameter of a nested function, or one of the attribute.
        CallValue(callee: ExprId, arguments: Vec<ExprId>),
        /// `{ .. }`
        Block(block: Block),
        /// `if condition { .. } else { .. }`; `otherwise` is empty where there is no `else`.
        If(condition: ExprId, then: Block, otherwise: Block),
    }
}
wire! {
    /// Where a thread is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Special {
        /// `thread_idx`
        ThreadIdx,
        /// `block_idx`
        BlockIdx,
        /// `block_dim`
        BlockDim,
        /// `grid_dim`
        GridDim,
    }
}
wire! {
    /// A prefix operator.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum UnaryOp {
        /// `-a`
        Neg,
        /// `!a`: logical of `bool`, bitwise of integers.
        Not,
    }
}
wire! {
    /// An infix operator. `And` and `Or` are the lazy ones of `bool`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum BinaryOp {
        /// `+`
        Add,
        /// `-`
        Sub,
        /// `*`
        Mul,
        /// `/`
        Div,
        /// `%`
        Rem,
        /// `&`
        BitAnd,
        /// `|`
        BitOr,
        /// `^`
        BitXor,
        /// `<<`
        Shl,
        /// `>>`
        Shr,
        /// `==`
        Eq,
        /// `!=`
        Ne,
        /// `<`
        Lt,
        /// `<=`
        Le,
        /// `>`
        Gt,
        /// `>=`
        Ge,
        /// `&&`
        And,
        /// `||`
        Or,
    }
}

impl BinaryOp {
    /// Whether the result is a truth value of two operands of one type.
    pub const fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
        )
    }

    /// `a op b` for a comparison; false for an operator that is none.
    pub fn compare<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            BinaryOp::Eq => a == b,
            BinaryOp::Ne => a != b,
            BinaryOp::Lt => a < b,
            BinaryOp::Le => a <= b,
            BinaryOp::Gt => a > b,
            BinaryOp::Ge => a >= b,
            _ => false,
        }
    }

    /// The comparison that holds where this one does not; of another operator itself.
    pub const fn negated(self) -> BinaryOp {
        match self {
            BinaryOp::Eq => BinaryOp::Ne,
            BinaryOp::Ne => BinaryOp::Eq,
            BinaryOp::Lt => BinaryOp::Ge,
            BinaryOp::Le => BinaryOp::Gt,
            BinaryOp::Gt => BinaryOp::Le,
            BinaryOp::Ge => BinaryOp::Lt,
            other => other,
        }
    }

    /// The operator in Rust and in C.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
        }
    }
}
