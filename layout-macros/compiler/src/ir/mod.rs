//! A kernel as the user wrote it: names are resolved, nothing is evaluated, and every parameter is open.
//!
//! [`Kernel`] is data: its expressions are in one arena addressed by [`ExprId`]. So it can be embedded in a program
//! ([`super::wire`]) and specialised there for parameter sets that the macro did not compile. [`super::specialise()`]
//! gives its meaning; the macro only resolves names and refuses what the language does not have.
//!
//! Invariant: every id in a kernel is in range of its table, and no expression contains itself; `super::valid` tests
//! it for bytes from outside.

mod deny;
mod expression;
mod format;
mod statement;
mod walk;

pub use walk::Seen;

pub use deny::{Allowed, RemarkKind};
pub use expression::{BinaryOp, Expr, ExprId, ExprKind, Special, TypeRef, UnaryOp};
pub use format::{Align, AssertKind, Format, Piece, Spec, Style};
pub use statement::{Annotation, Block, Pattern, Statement, StatementKind};

use super::arch::Arch;
use super::origin::{Origin, Position};
use super::params::ParamValue;
use super::wire::wire;

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
        /// `filter(c, ..)`: which combinations of the parameters' values are compiled; all must hold.
        pub filter: Vec<ExprId>,
        /// The const generics of the function, in order. One with a parameter of the same name is static.
        pub dims: Vec<String>,
        /// The type parameters of the function, in order; each has a parameter of the same name.
        pub types: Vec<String>,
        /// The type parameters of nested functions that represent element types, in order: `fn f<T: Element>(x: View<T, Read>)`. Their
        /// numbers go on behind those of `types`.
        pub own_types: Vec<String>,
        /// The function's arguments, in order.
        pub arguments: Vec<Argument>,
        /// `block = [x, y, z]`: threads of a block, 1 to 3 entries.
        pub block: Vec<ExprId>,
        /// `grid = [x, y, z]`: blocks of the grid, over parameters and dimensions.
        pub grid: Option<Vec<ExprId>>,
        /// Whether `grid` follows from the body of a kernel whose attribute has a block alone: a launch may give another, so nothing is
        /// assumed of it.
        pub open_grid: bool,
        /// `cluster = [x, y, z]`: blocks of a cluster; empty for none.
        pub cluster: Vec<ExprId>,
        /// `arch = "sm_90a"`: the architecture the kernel is for, by its [code](Arch::code).
        pub arch: Option<ExprId>,
        /// `min_blocks = n`: blocks that an SM must be able to hold.
        pub min_blocks: Option<ExprId>,
        /// `opt_level = n`: how hard ptxas optimises.
        pub opt_level: Option<ExprId>,
        /// `fast_math = true`: the compiler takes approximations of functions and quotients, and flushes subnormal numbers.
        pub fast_math: Option<ExprId>,
        /// `deny(narrowed, masked)`: what no access may lose in the variant whose promises all hold.
        pub deny: Vec<RemarkKind>,
        /// `cooperative = true`: all blocks of the grid run at the same time, and may wait for each other.
        pub cooperative: Option<ExprId>,
        /// `require(c, ..)`: launch refuses where one is false.
        pub require: Vec<ExprId>,
        /// `#[allow(narrowed)]` on statements: where `deny` does not refuse these.
        pub allow: Vec<Allowed>,
        /// Each `variant_if(c, .., deny(..))`: a second variant that relies on all of its conditions.
        pub variant_if: Vec<VariantIf>,
        /// The nested functions.
        pub functions: Vec<Function>,
        /// The function's body.
        pub body: Block,
        /// Every local name of the body and of the nested functions.
        pub locals: Vec<Local>,
        /// The arena.
        pub exprs: Vec<Expr>,
        /// The sums, differences, products and left shifts of `isize` among them, ascending: what leaves 64 bits there wraps, or
        /// saturates, as a signed number.
        pub signed: Vec<ExprId>,
        /// Line and column of each [`Origin`].
        pub positions: Vec<Position>,
    }
}
wire! {
    /// `variant_if(c, ..)` of the attribute.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct VariantIf {
        /// What a launch tests and the variant relies on.
        pub conditions: Vec<ExprId>,
        /// `deny(..)` among them: what no access of this variant may lose, in addition to what the kernel denies.
        pub deny: Vec<RemarkKind>,
    }
}
wire! {
    /// `NAME = value` or `NAME = [v, ..]` of the attribute.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Parameter {
        /// The name.
        pub name: String,
        /// Its values: one, or one for each variant; none where it is computed.
        pub values: Vec<ParamValue>,
        /// The expression over other parameters that it is: `BM = 64 * WGS`.
        pub computed: Option<ExprId>,
        /// Where it is written.
        pub origin: Origin,
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
            /// How it is in memory.
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
    /// How a tensor argument is in memory. Extents of rank 1 to 5.
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
        /// `Contiguous<MODE, ..>`: that dimension contiguous, every other stride known at launch.
        Contiguous(mode: ExprId),
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
        /// The type of each.
        pub types: Vec<Annotation>,
        /// The parameters that determine a type parameter of the function: the parameter's index, and the type's index in
        /// [`Kernel::own_types`].
        pub type_sources: Vec<(u32, u32)>,
        /// The type of the result.
        pub result: Annotation,
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
        /// Whether it represents the value of a block, a loop or a function that is left. Wherever it is read it has a
        /// value: a read without one is never reached.
        pub left: bool,
        /// Where it is bound.
        pub origin: Origin,
    }
}

impl Kernel {
    /// The expression of an id of a kernel that is [`valid`](super::valid).
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The architecture of the attribute, where all parameter sets have the same.
    pub fn arch(&self) -> Option<Arch> {
        match self.expr(self.arch?).kind {
            ExprKind::Int(code, _) => Arch::from_code(u64::try_from(code).ok()?),
            _ => None,
        }
    }

    /// The kernel for an architecture, where its attribute names none.
    #[must_use]
    pub fn for_arch(mut self, arch: Arch) -> Kernel {
        if self.arch.is_none() {
            self.arch = Some(ExprId(self.exprs.len() as u32));
            let kind = ExprKind::Int(i128::from(arch.code()), None);
            self.exprs.push(Expr { kind, origin: Origin(0) });
        }
        self
    }

    /// Line and column of an origin.
    pub fn position(&self, origin: Origin) -> Position {
        self.positions.get(origin.0 as usize).copied().unwrap_or_default()
    }
}
