//! A kernel as the user wrote it: names resolved, nothing evaluated, every parameter still open.
//!
//! [`Kernel`] is data: expressions in one arena addressed by [`ExprId`], so that it can be embedded in a program
//! ([`super::wire`]) and specialised there for parameter sets that the macro never saw. Its meaning is given by
//! [`super::specialise()`]; the macro only resolves names and refuses what the language does not have.
//!
//! Invariant: every id in a kernel is in range of its table, and no expression holds itself; `super::valid` tests it
//! for bytes from outside.

use super::elem::Elem;
use super::intrinsic::Intrinsic;
use super::origin::{Origin, Position};
use super::params::{ParamSet, ParamValue};
use super::wire::wire;

wire! {
    /// An expression, by its place in [`Kernel::exprs`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct ExprId(pub u32);
}
wire! {
    /// A local name (`let`, `const`, loop variable, parameter of a nested function), by its place in [`Kernel::locals`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct LocalId(pub u32);
}
wire! {
    /// A function as the user wrote it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Kernel {
        /// The function's name.
        pub name: String,
        /// The attribute's upper-case entries, in order.
        pub parameters: Vec<Parameter>,
        /// The const generics of the function, in order. One with a parameter of the same name is static.
        pub dims: Vec<String>,
        /// The type parameters of the function, in order; each has a parameter of the same name.
        pub types: Vec<String>,
        /// The function's arguments, in order.
        pub arguments: Vec<Argument>,
        /// `block = [x, y, z]`: threads of a block, 1 to 3 entries.
        pub block: Vec<ExprId>,
        /// `grid = [x, y, z]`: blocks of the grid, over parameters and dimensions.
        pub grid: Option<Vec<ExprId>>,
        /// `cluster = [x, y, z]`: blocks of a cluster; empty for none.
        pub cluster: Vec<ExprId>,
        /// `arch = "sm_90a"`: the only architecture the kernel is for.
        pub arch: Option<String>,
        /// `min_blocks = n`: blocks that an SM must be able to hold.
        pub min_blocks: Option<ExprId>,
        /// `require(c, ..)`: launch refuses where one is false.
        pub require: Vec<ExprId>,
        /// Each `variant_if(c, ..)`: a second variant that relies on all of its conditions.
        pub variant_if: Vec<Vec<ExprId>>,
        /// The nested functions.
        pub functions: Vec<Function>,
        /// The function's body.
        pub body: Block,
        /// Every local name of the body and of the nested functions.
        pub locals: Vec<Local>,
        /// The arena.
        pub exprs: Vec<Expr>,
        /// Line and column of each [`Origin`].
        pub positions: Vec<Position>,
    }
}
wire! {
    /// `NAME = value` or `NAME = [v, ..]` of the attribute.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Parameter {
        /// The name.
        pub name: String,
        /// Its values: one, or one for each variant.
        pub values: Vec<ParamValue>,
        /// Where it is written.
        pub origin: Origin,
    }
}
wire! {
    /// An element type, or a type parameter that stands for one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TypeRef {
        /// An element type.
        Elem(elem: Elem),
        /// The type parameter of this number in [`Kernel::types`].
        Parameter(number: u32),
        /// `usize`: an index, a natural number.
        Usize,
        /// `isize`: an index that may be negative.
        Isize,
    }
}
wire! {
    /// An argument of the kernel.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Argument {
        /// The name.
        pub name: String,
        /// What it is.
        pub kind: ArgumentKind,
        /// Where it is written.
        pub origin: Origin,
    }
}
wire! {
    /// What an argument is.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ArgumentKind {
        /// `a: &LayoutTensor<f32, RowMajor<M, K>>`, or `&mut`.
        Tensor {
            /// The element type.
            elem: TypeRef,
            /// How it lies in memory.
            layout: ArgumentLayout,
            /// The extent of each dimension: a dimension, a parameter or a number.
            extents: Vec<ExprId>,
            /// Whether it is `&mut`.
            mutable: bool,
        },
        /// `alpha: f32`, `n: usize`.
        Scalar(ty: TypeRef),
    }
}
wire! {
    /// How a tensor argument lies in memory. Extents of rank 1 to 5.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ArgumentLayout {
        /// `RowMajor<..>`: compact, the last dimension contiguous.
        RowMajor,
        /// `ColMajor<..>`: compact, the first dimension contiguous.
        ColMajor,
        /// `Pitched<..>`: the last dimension contiguous, every other stride known at launch.
        Pitched,
        /// `Strided<..>`: every stride known at launch.
        Strided,
    }
}
wire! {
    /// A nested function: inlined where it is called.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Function {
        /// The name.
        pub name: String,
        /// The parameters.
        pub parameters: Vec<LocalId>,
        /// The body.
        pub body: Block,
    }
}
wire! {
    /// A local name.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Local {
        /// The name.
        pub name: String,
        /// Whether it is `let mut`.
        pub mutable: bool,
        /// Where it is bound.
        pub origin: Origin,
    }
}
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
            /// The type, where it is written and is an element type or `usize`/`isize`.
            ty: Option<TypeRef>,
            /// The value.
            value: ExprId,
            /// Whether it is a `const` item.
            constant: bool,
        },
        /// `place = value;`, `place += value;`.
        Assign {
            /// A local or an indexed view.
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
            /// The bound, not reached.
            end: ExprId,
            /// `.step_by(step)`.
            step: Option<ExprId>,
            /// Whether the range stands in `unroll(..)`.
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
        /// `assert!(condition, "message")`, a condition on parameters.
        Assert {
            /// The condition.
            condition: ExprId,
            /// The message, or the condition's own text.
            message: String,
        },
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
        Int(value: i64, suffix: Option<TypeRef>),
        /// A float literal: the bits of the nearest double, with the type of its suffix.
        Float(bits: u64, suffix: Option<TypeRef>),
        /// `true`, `false`
        Bool(value: bool),
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
        /// `a.0` of a tuple.
        Field(operand: ExprId, number: u32),
        /// `view[[i, j]]`
        Index(view: ExprId, coordinates: Vec<ExprId>),
        /// A member of the vocabulary; the receiver of a method is the first argument.
        Intrinsic(intrinsic: Intrinsic, types: Vec<TypeRef>, arguments: Vec<ExprId>),
        /// A call of the nested function of this number.
        Call(function: u32, arguments: Vec<ExprId>),
        /// `{ .. }`
        Block(block: Block),
        /// `if condition { .. } else { .. }`; `otherwise` is empty where there is no `else`.
        If(condition: ExprId, then: Block, otherwise: Block),
    }
}
wire! {
    /// Where a thread stands.
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

impl Kernel {
    /// The parameter sets of the attribute: every combination of the listed values, the last parameter fastest.
    pub fn parameter_sets(&self) -> Vec<ParamSet> {
        let mut sets = vec![ParamSet::default()];
        for parameter in &self.parameters {
            sets = sets
                .into_iter()
                .flat_map(|set| {
                    parameter.values.iter().map(move |value| set.clone().with(&parameter.name, *value))
                })
                .collect();
        }
        sets
    }

    /// The expression of an id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// Line and column of an origin.
    pub fn position(&self, origin: Origin) -> Position {
        self.positions.get(origin.0 as usize).copied().unwrap_or_default()
    }
}
