//! A random kernel as a tree of its own: what the generator makes, the printers print and the interpreter runs.
//!
//! Law: a variable has one type and is declared once; a function is called only by what is after it.

use crate::types::Type;
use crate::value::Value;
use crate::words::WORDS;

pub type Var = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    Xor,
    Shl,
    Shr,
    And,
    Or,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl BinaryOp {
    pub fn symbol(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            Rem => "%",
            BitAnd => "&",
            BitOr => "|",
            Xor => "^",
            Shl => "<<",
            Shr => ">>",
            And => "&&",
            Or => "||",
            Eq => "==",
            Ne => "!=",
            Lt => "<",
            Le => "<=",
            Gt => ">",
            Ge => ">=",
        }
    }

    pub fn compares(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }
}

/// A function of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Math {
    Min,
    Max,
    Abs,
    Sqrt,
    MulAdd,
    DivCeil,
}

impl Math {
    pub fn name(self) -> &'static str {
        match self {
            Math::Min => "min",
            Math::Max => "max",
            Math::Abs => "abs",
            Math::Sqrt => "sqrt",
            Math::MulAdd => "mul_add",
            Math::DivCeil => "div_ceil",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    Add,
    Max,
    Min,
    And,
    Or,
    Xor,
}

macro_rules! together {
    ($($variant:ident = $name:literal,)*) => {
        /// What the threads of a warp or a block do together.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Together {
            $($variant,)*
        }

        impl Together {
            /// Everything.
            pub const ALL: &[Together] = &[$(Together::$variant,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Together::$variant => $name,)*
                }
            }
        }
    };
}

together! {
    Shuffle = "shuffle",
    ShuffleUp = "shuffle_up",
    ShuffleDown = "shuffle_down",
    ShuffleXor = "shuffle_xor",
    WarpMin = "warp_min",
    WarpMax = "warp_max",
    WarpSum = "warp_sum",
    WarpPrefixSum = "warp_prefix_sum",
    WarpAnd = "warp_and",
    WarpOr = "warp_or",
    WarpXor = "warp_xor",
    MatchAny = "match_any",
    MatchAll = "match_all",
    BlockMin = "block_min",
    BlockMax = "block_max",
    BlockSum = "block_sum",
    BlockPrefixSum = "block_prefix_sum",
    Ballot = "ballot",
    Any = "any",
    All = "all",
}

impl Together {
    /// Whether it takes a lane or a distance.
    pub fn takes_number(self) -> bool {
        matches!(self, Together::Shuffle | Together::ShuffleUp | Together::ShuffleDown | Together::ShuffleXor)
    }

    /// Whether it takes a condition.
    pub fn votes(self) -> bool {
        matches!(self, Together::Ballot | Together::Any | Together::All)
    }

    /// Whether it compares bits of whatever type.
    pub fn matches(self) -> bool {
        matches!(self, Together::MatchAny | Together::MatchAll)
    }
}

#[derive(Clone, Debug)]
pub enum Expr {
    /// A literal; `bare` without its type, where what is around it says which.
    Literal {
        ty: Type,
        value: Value,
        bare: bool,
    },
    Var(Var),
    /// Part of a variable that is a pair.
    Field(Var, usize),
    /// A scalar argument.
    Argument(usize),
    /// `thread_idx.x`
    Thread,
    /// `block_idx.x`
    Block,
    /// `cluster_rank()`
    Rank,
    /// A dimension.
    Dim(usize),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<[Expr; 2]>),
    Cast(Type, Box<Expr>),
    Math(Math, Vec<Expr>),
    /// A word of the table, by its number, of a type.
    Word(usize, Type, Vec<Expr>),
    /// `match x { 1 | 2 => a, n if n > 3 => b, _ => c }`
    Match(Box<Expr>, Vec<(Arm, Body)>, Box<Body>),
    /// A part of a variable that is a whole: `v[i].0[j]`.
    Part(Target),
    /// `&mut v[i].0`, an argument.
    Reference(Target),
    /// A jump where a value of the type is asked: a `break`, a `continue`, a `return`.
    Jump(Type, Box<Stmt>),
    /// `'b1: { .. }`, left with a value by [`Stmt::Leave`].
    Labelled(usize, Box<Body>),
    /// `'b1: loop { .. }`, left with a value of the type by [`Stmt::Leave`] alone.
    Loop(usize, Type, Vec<Stmt>),
    /// A call of a closure.
    Invoke(Var, Vec<Expr>),
    /// An element of an array of the thread.
    Element(Var, Box<Expr>),
    Select(Box<[Expr; 3]>),
    If(Box<Expr>, Box<Body>, Box<Body>),
    Body(Box<Body>),
    Load(Place, Vec<Expr>),
    /// Adds or compares and gives what was there.
    Atomic(AtomicOp, Place, Vec<Expr>, Box<Expr>),
    Call(usize, Vec<Expr>),
}

/// What a value must be for an arm of a `match`: one of the patterns, or anything, under a guard or none.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Ranges, both ends in them; none is `_`.
    pub patterns: Vec<(Value, Value)>,
    /// The variable that the value gets.
    pub bound: Option<Var>,
    pub guard: Option<Box<Expr>>,
}

/// What arrays and tuples are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    One(Type),
    Array(Box<Shape>, usize),
    Tuple(Vec<Shape>),
}

impl Shape {
    /// The types of its values, in order.
    pub fn leaves(&self) -> Vec<Type> {
        match self {
            Shape::One(ty) => vec![*ty],
            Shape::Array(of, count) => of.leaves().repeat(*count),
            Shape::Tuple(parts) => parts.iter().flat_map(Shape::leaves).collect(),
        }
    }

    /// Its type as text.
    pub fn name(&self) -> String {
        match self {
            Shape::One(ty) => ty.name().to_owned(),
            Shape::Array(of, count) => format!("[{}; {count}]", of.name()),
            Shape::Tuple(parts) => {
                format!("({})", parts.iter().map(Shape::name).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A step into a whole.
#[derive(Clone, Debug)]
pub enum Part {
    At(Expr),
    Field(usize),
}

/// A variable, or a part of it.
#[derive(Clone, Debug)]
pub struct Target {
    pub var: Var,
    pub parts: Vec<Part>,
}

/// What makes a whole.
#[derive(Clone, Debug)]
pub enum Whole {
    One(Expr),
    List(Vec<Whole>),
    /// `[x; n]`
    Filled(Box<Whole>, usize),
    Tuple(Vec<Whole>),
    /// Another one, or a part of it.
    Copy(Target),
}

/// `{ statements; value }`
#[derive(Clone, Debug)]
pub struct Body {
    pub statements: Vec<Stmt>,
    pub value: Expr,
}

/// A tensor or a view, and views of it.
#[derive(Clone, Debug)]
pub struct Place {
    pub base: Base,
    pub steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Tensor(usize),
    /// A variable that holds a view.
    View(Var),
}

/// Who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meet {
    /// The block.
    Block,
    /// The block, at the barrier of this number.
    Named(u32),
    /// The cluster.
    Cluster,
}

/// A view of a view.
#[derive(Clone, Debug)]
pub enum Step {
    Tile(Vec<i64>, Vec<Expr>),
    Window(Vec<i64>, Vec<Expr>),
    Slice(Expr),
    /// The same tensor of the block of this rank; the first step.
    Rank(Expr),
    Transpose,
    Vectorize(Vec<i64>),
    /// Threads laid over it, by rows or by columns.
    Distribute {
        threads: Vec<i64>,
        columns: bool,
        thread: Expr,
    },
    Pad(Value),
}

/// The layout of a shared or local tensor.
#[derive(Clone, Debug)]
pub struct AllocationLayout {
    pub extents: Vec<i64>,
    pub columns: bool,
    /// `.swizzle(bits, base, shift)`
    pub swizzle: Option<[u32; 3]>,
}

#[derive(Clone, Debug)]
pub enum Stmt {
    Let {
        var: Var,
        mutable: bool,
        written: bool,
        value: Expr,
    },
    /// `let (a, b) = (x, y);`
    LetParts(Vec<Var>, Vec<Expr>),
    /// `let p = (x, y);`
    LetPair(Var, Vec<Expr>),
    Assign(Var, Option<BinaryOp>, Expr),
    Store(Place, Vec<Expr>, Option<BinaryOp>, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    For {
        var: Var,
        start: Expr,
        end: Expr,
        step: Option<i64>,
        reversed: bool,
        unroll: bool,
        body: Vec<Stmt>,
    },
    While(Expr, Vec<Stmt>),
    /// Out of so many loops: 1 is the innermost. A loop around has a label where its number is named.
    Break(usize),
    Continue(usize),
    /// Out of the kernel; the thread does no more.
    Return,
    /// `match x { 1 | 2 => { .. } _ => { .. } }`
    Match(Expr, Vec<(Arm, Vec<Stmt>)>, Vec<Stmt>),
    /// `break 'b1 x;`, out of a block or a `loop` with a value.
    Leave(usize, Expr),
    /// `return x;`, out of a function or a closure.
    Give(Expr),
    /// `let mut v = [[x; 2]; 3];`
    LetWhole(Var, Whole),
    /// `v[i] = [x, y];`
    SetWhole(Target, Whole),
    /// `v[i].0 += x;`
    SetPart(Target, Option<BinaryOp>, Expr),
    /// `(a, b[i]) = (x, y);`
    SetParts(Vec<Target>, Vec<Expr>),
    /// `v.swap(i, j);`
    Swap(Target, Expr, Expr),
    /// `for x in v`, `for (k, x) in v.iter().enumerate()`, `for x in &mut v`.
    ForEach {
        var: Var,
        number: Option<Var>,
        of: Var,
        changed: bool,
        body: Vec<Stmt>,
    },
    /// `let mut f = |x: i32| -> i32 { .. };`
    LetClosure {
        var: Var,
        parameters: Vec<Var>,
        body: Body,
    },
    /// `let mut a = [x, y, z];` or, of one value, `[x; n]`.
    LetArray {
        var: Var,
        count: usize,
        values: Vec<Expr>,
    },
    /// `a[i] = x`
    SetElement(Var, Expr, Option<BinaryOp>, Expr),
    Expr(Expr),
    LetView {
        var: Var,
        place: Place,
        local: bool,
    },
    /// `shared::<T>(..)`, for the block, or `local::<T>(..)`, with each thread.
    LetTensor {
        var: Var,
        elem: Type,
        layout: AllocationLayout,
        shared: bool,
    },
    Fill(Place, Expr),
    Copy {
        to: Place,
        from: Place,
    },
    Barrier(Meet),
    Together {
        var: Var,
        what: Together,
        value: Expr,
        number: Option<Expr>,
    },
    Product(Box<Product>),
}

/// A product of two tensors on the matrix units: each warp makes the tile of its number of the result's rows.
#[derive(Clone, Debug)]
pub struct Product {
    /// Names what the text declares.
    pub var: Var,
    /// Rows, columns and depth of the instruction.
    pub atom: [i64; 3],
    /// Instructions down and across in a warp's tile.
    pub tiles: [i64; 2],
    /// Of a round.
    pub depth: i64,
    pub rounds: i64,
    pub factors: [Place; 2],
    pub to: Place,
    /// Whether the rows of the left factor pass through shared memory, and by how many elements its rows are apart more than
    /// they are long.
    pub staged: Option<i64>,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub parameters: Vec<Var>,
    pub result: Type,
    pub body: Body,
}

/// The type of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VarType {
    Scalar(Type),
    Pair(Vec<Type>),
    View(Type),
    /// So many elements, each with the thread.
    Array(Type, usize),
    /// Arrays and tuples within each other.
    Whole(Shape),
    /// What it gives.
    Closure(Type),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Dim(usize),
    Static(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorLayout {
    RowMajor,
    ColMajor,
    /// Rows with a gap of so many elements behind them.
    Pitched(i64),
    /// Every stride times this.
    Strided(i64),
}

#[derive(Clone, Debug)]
pub struct Tensor {
    pub elem: Type,
    pub extents: Vec<Extent>,
    pub layout: TensorLayout,
    pub mutable: bool,
    /// The elements before the launch, the last coordinate fastest.
    pub data: Vec<Value>,
    /// Whether its first element is at a multiple of 16 bytes.
    pub aligned: bool,
}

#[derive(Clone, Debug)]
pub struct Kernel {
    pub seed: u64,
    pub vars: Vec<VarType>,
    pub tensors: Vec<Tensor>,
    /// Scalar arguments: type and value.
    pub scalars: Vec<(Type, Value)>,
    /// Dimensions: the extent, and whether the attribute binds it.
    pub dims: Vec<(i64, bool)>,
    pub functions: Vec<Function>,
    pub block: u32,
    pub grid: u32,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// A condition of the attribute over a dimension: `variant_if(D0 % 4 == 0)`.
    pub variant_if: Option<(usize, i64)>,
    pub body: Vec<Stmt>,
    /// Whether the last two scalars are -0.0 of f32 and f64, and a product `a * b` of these types is printed as
    /// `a.mul_add(b, z)` with them. It is the same number, and no compiler may contract it with a sum that follows: a GPU's
    /// `a * b + c` is rounded once, the simulator's twice.
    pub opaque: bool,
    /// Variables that are `&mut`: parameters, and elements in a loop over them.
    pub references: Vec<Var>,
    /// Indices that are written as `usize`: they are never negative.
    pub naturals: Vec<Var>,
    /// Whether the threads work together, so that no other machine than a GPU runs its text.
    pub together: bool,
}

impl Kernel {
    pub fn scalar_type(&self, var: Var) -> Type {
        match &self.vars[var] {
            VarType::Scalar(ty) | VarType::View(ty) => *ty,
            VarType::Pair(parts) => parts[0],
            VarType::Array(ty, _) | VarType::Closure(ty) => *ty,
            VarType::Whole(shape) => shape.leaves()[0],
        }
    }

    /// What a target is.
    pub fn shape_of(&self, target: &Target) -> Option<Shape> {
        let mut shape = match &self.vars[target.var] {
            VarType::Scalar(ty) => Shape::One(*ty),
            VarType::Pair(types) => Shape::Tuple(types.iter().map(|ty| Shape::One(*ty)).collect()),
            VarType::Array(ty, count) => Shape::Array(Box::new(Shape::One(*ty)), *count),
            VarType::Whole(shape) => shape.clone(),
            VarType::View(_) | VarType::Closure(_) => return None,
        };
        for part in &target.parts {
            shape = match (shape, part) {
                (Shape::Array(of, _), Part::At(_)) => *of,
                (Shape::Tuple(parts), Part::Field(number)) => parts.get(*number)?.clone(),
                _ => return None,
            };
        }
        Some(shape)
    }

    /// The type of a target that is one value.
    pub fn part_type(&self, target: &Target) -> Type {
        match self.shape_of(target) {
            Some(Shape::One(ty)) => ty,
            _ => self.scalar_type(target.var),
        }
    }

    /// The type of a place's elements.
    pub fn elem(&self, place: &Place) -> Type {
        match place.base {
            Base::Tensor(number) => self.tensors[number].elem,
            Base::View(var) => self.scalar_type(var),
        }
    }

    pub fn extent(&self, extent: Extent) -> i64 {
        match extent {
            Extent::Dim(number) => self.dims[number].0,
            Extent::Static(extent) => extent,
        }
    }

    /// The extents of a tensor argument.
    pub fn shape(&self, tensor: usize) -> Vec<i64> {
        self.tensors[tensor].extents.iter().map(|extent| self.extent(*extent)).collect()
    }

    /// The type of an expression.
    pub fn type_of(&self, expr: &Expr) -> Type {
        match expr {
            Expr::Literal { ty, .. } | Expr::Cast(ty, _) => *ty,
            Expr::Var(var) => self.scalar_type(*var),
            Expr::Field(var, part) => match &self.vars[*var] {
                VarType::Pair(parts) => parts[*part],
                _ => self.scalar_type(*var),
            },
            Expr::Argument(number) => self.scalars[*number].0,
            Expr::Thread | Expr::Block | Expr::Rank | Expr::Dim(_) => Type::Index,
            Expr::Unary(_, operand) => self.type_of(operand),
            Expr::Binary(op, _) if op.compares() => Type::Bool,
            Expr::Binary(_, sides) => self.type_of(&sides[0]),
            Expr::Math(_, arguments) => self.type_of(&arguments[0]),
            Expr::Word(word, ty, _) => WORDS[*word].result.of(*ty),
            Expr::Match(_, _, otherwise) => self.type_of(&otherwise.value),
            Expr::Element(var, _) | Expr::Invoke(var, _) => self.scalar_type(*var),
            Expr::Part(target) | Expr::Reference(target) => self.part_type(target),
            Expr::Jump(ty, _) | Expr::Loop(_, ty, _) => *ty,
            Expr::Labelled(_, body) => self.type_of(&body.value),
            Expr::Select(parts) => self.type_of(&parts[1]),
            Expr::If(_, then, _) => self.type_of(&then.value),
            Expr::Body(body) => self.type_of(&body.value),
            Expr::Load(place, _) | Expr::Atomic(_, place, ..) => self.elem(place),
            Expr::Call(function, _) => self.functions[*function].result,
        }
    }
}
