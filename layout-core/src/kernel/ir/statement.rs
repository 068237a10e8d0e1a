//! Statements of a kernel, and what a `let` binds.
//!
//! Invariant: as in [`super`], every id is in range of its table.

use super::super::origin::Origin;
use super::super::wire::wire;
use super::{BinaryOp, ExprId, LocalId, TypeRef};

wire! {
    /// `{ statements; value }`.
    ///
    /// ```
    /// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
    /// let body = double::DEFINITION.kernel()?.body;
    /// assert_eq!((body.statements.len(), body.value), (2, None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
    /// let kernel = double::DEFINITION.kernel()?;
    /// let lines = kernel.body.statements.iter().map(|statement| kernel.position(statement.origin).line);
    /// let lines: Vec<u32> = lines.collect();
    /// assert_eq!(lines[1] - lines[0], 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
    /// use layout_core::kernel::ir::StatementKind;
    /// let statements = double::DEFINITION.kernel()?.body.statements;
    /// assert!(matches!(statements[0].kind, StatementKind::Let { constant: false, .. }));
    /// assert!(matches!(statements[1].kind, StatementKind::Assign { op: None, .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// What is written of a value's type, as far as it decides anything: the value has it, or the kernel is refused.
    ///
    /// ```
    /// use layout_core::kernel::{Elem, ir::{Annotation, StatementKind, TypeRef}};
    /// # use layout_cuda::tiled_kernel;
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn first(x: &mut LayoutTensor<u16, RowMajor<1>>) {
    ///     let (value, _): (u16, _) = (1, 2.0f32);
    ///     x[[0]] = value;
    /// }
    /// let StatementKind::Let { ty, .. } = &first::DEFINITION.kernel()?.body.statements[0].kind else {
    ///     panic!("the kernel begins with a `let`");
    /// };
    /// let value = Annotation::Type(TypeRef::Elem(Elem::U16));
    /// assert_eq!(*ty, Annotation::Tuple(vec![value, Annotation::Any]));
    /// # Ok::<(), layout_core::kernel::wire::WireError>(())
    /// ```
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
    ///
    /// ```
    /// use layout_core::kernel::ir::{LocalId, Pattern, StatementKind};
    /// # use layout_cuda::tiled_kernel;
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn first(x: &mut LayoutTensor<f32, RowMajor<1>>) {
    ///     let (value, _) = (1.0f32, 2);
    ///     x[[0]] = value;
    /// }
    /// let StatementKind::Let { pattern, .. } = &first::DEFINITION.kernel()?.body.statements[0].kind else {
    ///     panic!("the kernel begins with a `let`");
    /// };
    /// assert_eq!(*pattern, Pattern::Tuple(vec![Pattern::Local(LocalId(0)), Pattern::Wildcard]));
    /// # Ok::<(), layout_core::kernel::wire::WireError>(())
    /// ```
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
