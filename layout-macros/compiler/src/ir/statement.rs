//! Statements of a kernel, and what a `let` binds.
//!
//! Invariant: as in [`super`], every id is in range of its table.

use super::super::origin::Origin;
use super::super::wire::wire;
use super::{AssertKind, BinaryOp, ExprId, Format, LocalId, TypeRef};

wire! {
    /// `{ statements; value }`.
    #[derive(Clone, Debug, PartialEq, Default)]
    pub struct Block {
        /// In order.
        pub statements: Vec<Statement>,
        /// The value, where the last expression has no semicolon.
        pub value: Option<ExprId>,
    }
}
wire! {
    /// A statement.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Statement {
        /// What it does.
        pub kind: StatementKind,
        /// Where.
        pub origin: Origin,
    }
}
wire! {
    /// What a statement does.
    #[derive(Clone, Debug, PartialEq)]
    pub enum StatementKind {
        /// `let pattern: ty = value;`, or `const NAME: ty = value;`, whose value must be known at compile time.
        Let {
            /// What is bound.
            pattern: Pattern,
            /// What is written of its type.
            ty: Annotation,
            /// The value.
            value: ExprId,
            /// Whether it is a `const` item.
            constant: bool,
        },
        /// `let local: ty;`: the value comes later, and the type with it where none is written.
        Declare {
            /// The name.
            local: LocalId,
            /// What is written of its type.
            ty: Annotation,
        },
        /// `place = value;`, `place += value;`.
        Assign {
            /// A local, a part of a tuple that is a local, or an indexed view.
            place: ExprId,
            /// The operator of a compound assignment.
            op: Option<BinaryOp>,
            /// The value.
            value: ExprId,
        },
        /// `value;`
        Expr(value: ExprId),
        /// `for local in range { .. }`
        For {
            /// The loop's variable.
            local: LocalId,
            /// First value.
            start: ExprId,
            /// The bound.
            end: ExprId,
            /// Whether the bound is reached: `a..=b`.
            closed: bool,
            /// `.step_by(step)`.
            step: Option<ExprId>,
            /// Whether the range is in `unroll(..)`.
            unroll: bool,
            /// Whether the range is `.rev()`.
            reversed: bool,
            /// The body.
            body: Block,
        },
        /// `while condition { .. }`; `loop` is `while true`.
        While {
            /// The condition.
            condition: ExprId,
            /// The body.
            body: Block,
        },
        /// `break;`
        Break,
        /// `continue;`
        Continue,
        /// `println!("..", ..)`, `print!`.
        Print(format: Format),
        /// `assert!(condition, "..", ..)` and the like.
        Assert {
            /// Where it is in force.
            kind: AssertKind,
            /// The condition.
            condition: ExprId,
            /// The message, or the condition's own text.
            message: Format,
        },
    }
}
wire! {
    /// What is written of a value's type, as far as it decides anything: the value has it, or the kernel is refused.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Annotation {
        /// Nothing, or a type that is rustc's to check: of a view, of a layout.
        Any,
        /// An element type, or an index.
        Type(ty: TypeRef),
        /// A tuple of them.
        Tuple(parts: Vec<Annotation>),
        /// An array.
        Array(of: Box<Annotation>),
        /// `&mut T`: a place of another's.
        Mutable(of: Box<Annotation>),
    }
}
wire! {
    /// What a `let` binds.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Pattern {
        /// A name.
        Local(local: LocalId),
        /// A tuple of patterns.
        Tuple(parts: Vec<Pattern>),
        /// `_`
        Wildcard,
    }
}
