//! Statements and values of a specialised kernel, for both of its levels.
//!
//! [`super::specialise::Specialised`] and [`super::check::Checked`] share their control flow and arithmetic and differ in two things, which are
//! the parameters here: `A`, what a load and a store name (a coordinate of a view; or a place, an index, a mask), and
//! `O`, the operations on more than one element (tile copies, outer products; or vector moves and asynchronous copies).
//!
//! When things happen: statements run in order, once for each thread that reaches them. A [`Value`] is evaluated where
//! it stands, each load once; it has no effect. `&&` and `||` evaluate their right side only where it matters.
//! [`Value::Select`] evaluates both. A variable lives from its `Let` to the end of the statement list that holds it, and
//! a loop's body starts each round without its variables. Arithmetic: integers wrap at their width; shifts take
//! their count modulo the width; integer division by zero gives an unspecified value and the simulator reports it;
//! floats are IEEE, where `a * b + c` may be contracted to one rounding on a GPU.

use super::asynchronous::{RemoteStore, Signal, StoreMatrix, TensorLoad, TensorStore, Wgmma};
use super::elem::{Constant, Elem};
use super::index::{Atoms, Index, VarId};
use super::ir::{BinaryOp, UnaryOp};
use super::math::Math;
use super::matrix::{LoadMatrix, Mma};
use super::origin::{Origin, Position};

/// A place that holds elements, by its number in `places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PlaceId(pub u32);

/// A value of an element type, of one thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<A> {
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
    /// Rust's `as`: floats saturate to integers (NaN gives 0), integers wrap.
    Cast(Elem, Box<Value<A>>),
    /// An elementwise word of one, two or three values.
    Math(Math, Vec<Value<A>>),
    /// `condition ? then : otherwise`; both are evaluated.
    Select(Box<Value<A>>, Box<Value<A>>, Box<Value<A>>),
}

/// `left op right`, of mathematical integers; `op` is a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Comparison {
    /// `Eq`, `Ne`, `Lt`, `Le`, `Gt` or `Ge`.
    pub op: BinaryOp,
    /// The left side.
    pub left: Index,
    /// The right side.
    pub right: Index,
}

/// All of them; the empty one always holds.
pub(super) type Mask = Vec<Comparison>;

/// A statement and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement<A, O> {
    /// What it does.
    pub kind: StatementKind<A, O>,
    /// Where in the kernel's source.
    pub origin: Origin,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StatementKind<A, O> {
    /// Declares an element variable and sets it; without a value it is uninitialised.
    Let(VarId, Option<Value<A>>),
    /// Declares an index variable, or a pointer variable (the index is the element that it points to), and sets it.
    LetIndex(VarId, Index),
    /// Sets an element variable.
    Assign(VarId, Value<A>),
    /// Sets an index variable.
    AssignIndex(VarId, Index),
    /// Writes an element.
    Store(A, Value<A>),
    /// An operation on more than one element.
    Operation(O),
    /// `for (variable = start; variable < end; variable += step)`; `step` is positive. With `unroll` the number of
    /// rounds is a number. `reversed` runs the same rounds last to first.
    For {
        /// The loop's variable, an index.
        variable: VarId,
        /// First value.
        start: Index,
        /// The bound, not reached.
        end: Index,
        /// The step.
        step: i64,
        /// Whether every round becomes its own code.
        unroll: bool,
        /// Whether the rounds run last to first.
        reversed: bool,
        /// The body.
        body: Vec<Statement<A, O>>,
    },
    /// `while (condition)`
    While(Value<A>, Vec<Statement<A, O>>),
    /// `if (condition) .. else ..`
    If(Value<A>, Vec<Statement<A, O>>, Vec<Statement<A, O>>),
    /// Leaves the innermost loop.
    Break,
    /// Goes to the next round of the innermost loop.
    Continue,
    /// Every thread of the participants waits for every other; their writes before are seen after.
    Barrier(Participants),
    /// Declares an element variable and sets it to what the threads of a warp make of their values together. Every
    /// thread of the warp takes part, else the result is unspecified and the simulator reports it. It orders no
    /// accesses to memory.
    Collective(VarId, Collective, Vec<Value<A>>),
    /// Reads an element of a global or shared place, changes it and writes it, with no access of another thread in
    /// between; relaxed (it orders no other access) unless the change says otherwise. Declares the variable, where there
    /// is one, and sets it to what was read. Atomic operations of several threads on one element are no race; their
    /// order is unspecified.
    Atomic {
        /// What becomes of the element.
        change: AtomicChange,
        /// Between which threads.
        scope: Scope,
        /// The element.
        target: A,
        /// The second operand.
        value: Value<A>,
        /// What was there before; where the mask does not hold, the pad.
        old: Option<VarId>,
    },
    /// Closes the group of `cp.async` copies that this thread issued since the last one.
    AsyncCommit,
    /// Waits until at most this many of this thread's groups are in flight.
    AsyncWait(u32),
    /// What orders the work of the asynchronous proxy.
    Signal(Signal),
}

/// What the 32 threads of a warp make of their values: of one of a type of 4 or 8 bytes (a shuffle takes every type), or of a `bool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Collective {
    /// `(x, lane)`: the `x` of lane `lane` modulo 32; `lane` is an `i32`, also below.
    Shuffle,
    /// `(x, n)`: the `x` of the lane `n` modulo 32 before, the own where there is none.
    ShuffleUp,
    /// `(x, n)`: the `x` of the lane `n` modulo 32 after, the own where there is none.
    ShuffleDown,
    /// `(x, n)`: the `x` of lane `own ^ n` modulo 32.
    ShuffleXor,
    /// `(x)`: in five rounds each lane adds the sum of lane `own ^ d`, for `d` = 16, 8, 4, 2, 1.
    Sum,
    /// `(x)`: the largest; of floats the number where the other is NaN.
    Max,
    /// `(x)`: the smallest, likewise.
    Min,
    /// `(x)`: in five rounds each lane adds the sum of lane `own - d`, where there is one, for `d` = 1, 2, 4, 8, 16.
    PrefixSum,
    /// `(condition)`: a `u32`, bit `i` for lane `i`.
    Ballot,
    /// `(condition)`: a `bool`.
    Any,
    /// `(condition)`: a `bool`.
    All,
    /// `(true)`: a `bool`, true in one lane, and in the same one each time.
    ElectOne,
}

impl Collective {
    /// The name in the kernel language.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Collective::Shuffle => "shuffle",
            Collective::ShuffleUp => "shuffle_up",
            Collective::ShuffleDown => "shuffle_down",
            Collective::ShuffleXor => "shuffle_xor",
            Collective::Sum => "warp_sum",
            Collective::Max => "warp_max",
            Collective::Min => "warp_min",
            Collective::PrefixSum => "warp_prefix_sum",
            Collective::Ballot => "ballot",
            Collective::Any => "any",
            Collective::All => "all",
            Collective::ElectOne => "elect_one",
        }
    }
}

/// What an atomic operation makes of an element and its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AtomicChange {
    /// The sum; of `i32 u32 i64 u64 f32 f64`, integers wrap.
    Add,
    /// The larger; of `i32 u32 i64 u64 f32`, of floats the number where the other is NaN.
    Max,
    /// The smaller, likewise.
    Min,
    /// Itself: it is only read. Of `i32 u32 f32 i64 u64 f64`; the operand means nothing.
    Load(Ordering),
    /// The operand: it is only written, and what was there before is not known. Of the same types.
    Store(Ordering),
}

/// What an atomic load or store orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ordering {
    /// Nothing.
    Relaxed,
    /// A load acquires, a store releases: what a thread accessed before a release is ordered before what another one
    /// accesses after an acquire that reads the released value, where the scope of each holds the other thread.
    Synchronising,
}

/// Between which threads an atomic operation is undivided and orders. Operations of threads that are not in each
/// other's scopes are to each other as ordinary accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// Those of the block.
    Block,
    /// Those of the device.
    #[default]
    Device,
    /// Those of the device, the host's and those of other devices.
    System,
}

impl Scope {
    /// What is put behind the name of an operation; nothing for the device.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Scope::Block => "_block",
            Scope::Device => "",
            Scope::System => "_system",
        }
    }
}

/// How the caches are to keep what is moved from or to global memory. It changes no value and orders nothing, so the
/// simulator has no meaning for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Hint {
    /// L2 gives it up before what has no hint.
    EvictFirst,
    /// L2 gives it up after what has no hint.
    EvictLast,
    /// It gets no place in L1.
    NoAllocate,
}

impl Hint {
    /// The name in the kernel language.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Hint::EvictFirst => "evict_first",
            Hint::EvictLast => "evict_last",
            Hint::NoAllocate => "no_allocate",
        }
    }
}

/// Who takes part in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Participants {
    /// One thread, each for itself.
    Thread,
    /// The 32 threads of a warp.
    Warp,
    /// Four warps, the first a multiple of four.
    Warpgroup,
    /// Every thread of the block.
    Block,
    /// Every thread of the cluster's blocks.
    Cluster,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// The user's name for it, or one made of the user's names; not unique, and not yet legal in C.
    pub name: String,
    /// What it holds.
    pub kind: VariableKind,
    /// Whether it is assigned after its declaration.
    pub mutable: bool,
    /// Where it is bound.
    pub origin: Origin,
}

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum VariableKind {
    /// An element.
    Elem(Elem),
    /// An index; `wide` takes 64 bits.
    Index {
        /// Whether it takes 64 bits.
        wide: bool,
    },
    /// The element of a place from which a view's offsets count.
    Pointer(PlaceId),
}

/// Where elements live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    /// A tensor argument, by number.
    Global(u32),
    /// Shared memory of the block, at this byte offset.
    Shared {
        /// Bytes from the start of the block's shared memory.
        byte_offset: u32,
    },
    /// The shared memory of another block of the cluster.
    Remote {
        /// The same place in this block's.
        of: PlaceId,
        /// The index variable that holds the other block's rank.
        rank: VarId,
    },
    /// Registers of the thread: every index is a number once its loops are unrolled.
    Local,
}

/// An array of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The user's name for it.
    pub name: String,
    /// Where.
    pub space: Space,
    /// Of what.
    pub elem: Elem,
    /// How many elements; of an argument not known here (0).
    pub len: u64,
    /// The alignment of its first element that may be relied on, bytes.
    pub align: u32,
    /// Whether it may be written.
    pub mutable: bool,
    /// Where it is declared.
    pub origin: Origin,
}

/// What both levels hold besides statements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tables {
    /// Variables.
    pub variables: Vec<Variable>,
    /// Places; the tensor arguments first.
    pub places: Vec<Place>,
    /// Atoms of the indices.
    pub atoms: Atoms,
    /// Line and column of each origin.
    pub positions: Vec<Position>,
}

impl Tables {
    /// The variable of an id.
    pub(crate) fn variable(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }
    /// The place of an id.
    pub(crate) fn place(&self, id: PlaceId) -> &Place {
        &self.places[id.0 as usize]
    }
}

/// `0 <= at < end`: no mask, but what the simulator holds the kernel to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claim {
    /// A coordinate.
    pub at: Index,
    /// Its end.
    pub end: Index,
}

/// The scalar level's access: elements `index .. index + width` of a place, counted from a pointer where there is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Access {
    /// The place.
    pub place: PlaceId,
    /// The pointer variable that `index` counts from; the place's first element without one.
    pub pointer: Option<VarId>,
    /// The (first) element. A multiple of `width`, together with the pointer's.
    pub index: Index,
    /// Elements moved at once: 1, or a power of two of at most 16 bytes; above 1 only in [`Operation`]s. Of a fragment
    /// its elements, however many bytes.
    pub width: u32,
    /// Where it does not hold, a load gives `pad` and a store does nothing.
    pub mask: Mask,
    /// What a masked load gives.
    pub pad: Constant,
    /// Whether the user wrote this very element (`a[[i, j]]`): out of range is then a finding, where the tail of a
    /// tile, a vector or a copy is masked by meaning.
    pub direct: bool,
    /// What its view and its coordinates promise and what is not proved; no part of the text.
    pub claims: Vec<Claim>,
    /// Whether `index` takes 64-bit arithmetic.
    pub wide: bool,
    /// How the caches are to keep it, of an argument's elements.
    pub hint: Option<Hint>,
    /// Where in the kernel's source.
    pub origin: Origin,
}

/// The scalar level's operations on more than one element.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    /// `destination = source`, `width` elements at once; both widths are equal, neither has a mask.
    Move {
        /// Written.
        destination: Access,
        /// Read.
        source: Access,
    },
    /// `cp.async`: from global to shared memory, `width` elements (4, 8 or 16 bytes). Read and written at some time
    /// between here and the wait that completes it. Where the source's mask does not hold, nothing is read and zeros
    /// are written. The destination has no mask. Proxy: generic. Completed by: the thread's copy group.
    AsyncCopy {
        /// Written, in shared memory.
        destination: Access,
        /// Read, in global memory; its mask decides between data and zeros.
        source: Access,
    },
    /// A box of a tensor to shared memory. Proxy: asynchronous. Completed by: an mbarrier.
    TensorLoad(TensorLoad),
    /// A box of a tensor from shared memory. Proxy: asynchronous. Completed by: the thread's bulk group.
    TensorStore(TensorStore),
    /// Registers to shared memory of another block. Proxy: generic. Completed by: an mbarrier of that block.
    RemoteStore(Box<RemoteStore>),
    /// A product of matrices. Proxy: asynchronous. Completed by: the warpgroup's matrix group.
    Wgmma(Box<Wgmma>),
    /// Four matrices of 8 x 8 to shared memory. Proxy: generic. Completed at once.
    StoreMatrix(StoreMatrix),
    /// A product of matrices by a warp. Proxy: generic. Completed at once.
    Mma(Box<Mma>),
    /// Matrices from shared memory by a warp. Proxy: generic. Completed at once.
    LoadMatrix(LoadMatrix),
}
