//! Bytecode: the instructions of one warp, over registers of 32 lanes.
//!
//! Invariant: an instruction writes the active lanes of its destination only. A scalar register holds a value that is
//! uniform over the active lanes. Jumps stay in the program; frames nest as the statements do.
//!
//! ```text
//! LoopBegin ─► test: LoopTest ──(no lane left)──────────────┐
//!                    body .. Break, Continue                │
//!                    Rejoin                                 │
//!                    Jump test                    LoopEnd ◄─┘
//! ```

pub(crate) use crate::register::{Bank, FULL, LANES, Register, Sum};

use crate::async_op::AsyncOps;
use layout_compiler::elem::Elem;
use layout_compiler::index::VarId;
use layout_compiler::ir::{BinaryOp, Spec};
use layout_compiler::math::Math;
use layout_compiler::program::{AtomicChange, Collective, Participants, Scope, Selector, TensorCore};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexOp {
    Add,
    Sub,
    Mul,
    /// Truncating.
    Div,
    /// With the sign of the dividend.
    Rem,
    Xor,
    And,
    Or,
    Min,
    Max,
    /// For `u64`.
    DivNatural,
    /// For `u64`.
    RemNatural,
    /// For `u64`.
    MinNatural,
    /// For `u64`.
    MaxNatural,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatOp {
    Copy,
    Neg,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    /// `a * b + c`, rounded twice.
    MulThenAdd,
}

impl FloatOp {
    /// The number of floating-point operations in one lane.
    pub(crate) fn flops(self) -> u64 {
        match self {
            FloatOp::Copy => 0,
            FloatOp::MulThenAdd => 2,
            FloatOp::Neg | FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Div | FloatOp::Rem => 1,
        }
    }
}

/// An integer function that may overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerFunction {
    Sum,
    PrefixSum,
    Power,
    Logarithm,
}

/// The dependence of an atomic store on an atomic load of the same tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    Own,
    /// Its value depends on the load.
    Made,
    /// Its condition depends on the load.
    Guarded,
}

/// The scales of a product, each in consecutive registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scales {
    pub left: u32,
    pub right: u32,
    pub elem: Elem,
    pub selector: Selector,
}

/// The values that a comparison compares; `natural` if they are `u64`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    pub left: Register,
    pub op: BinaryOp,
    pub right: Register,
    pub natural: bool,
}

/// An instruction; findings name its `site`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Scalar registers; neither operand has a vector.
    Scalar { dst: u32, op: IndexOp, a: Sum, b: Sum, site: u32 },
    /// Integer registers, modulo 2⁶⁴.
    Vector { dst: u32, op: IndexOp, a: Sum, b: Sum, site: u32 },
    /// Integer registers, in the arithmetic of an element type.
    Int { dst: u32, op: BinaryOp, a: Sum, b: Sum, elem: Elem, site: u32 },
    /// `dst = function(operands)`; `elem` is the type of the first operand, and missing operands repeat it.
    Math { dst: u32, function: Math, operands: [Register; 3], elem: Elem },
    /// `dst = a`, wrapped to an integer type.
    Wrap { dst: u32, a: Sum, elem: Elem },
    /// A constant in every lane.
    ConstantF32 { dst: u32, value: f32 },
    /// A constant in every lane.
    ConstantF64 { dst: u32, value: f64 },
    /// A constant mask.
    ConstantMask { dst: u32, value: u32 },
    /// Single precision.
    F32 { dst: u32, op: FloatOp, a: u32, b: u32, c: u32 },
    /// `dst = dst`, rounded to a float of 16 or 8 bits.
    Round { dst: u32, elem: Elem },
    /// Double precision.
    F64 { dst: u32, op: FloatOp, a: u32, b: u32, c: u32 },
    /// `dst = a op b`; `op` is `BitAnd`, `BitOr` or `BitXor`.
    MaskBinary { dst: u32, op: BinaryOp, a: u32, b: u32 },
    /// `dst = !a`
    MaskNot { dst: u32, a: u32 },
    /// `dst = a op b`
    CompareInt { dst: u32, op: BinaryOp, a: Sum, b: Sum },
    /// `dst = a op b`
    CompareF32 { dst: u32, op: BinaryOp, a: u32, b: u32 },
    /// `dst = a op b`
    CompareF64 { dst: u32, op: BinaryOp, a: u32, b: u32 },
    /// `dst = condition ? then : otherwise`, in one bank.
    Select { dst: u32, condition: u32, then: Register, otherwise: Register },
    /// `dst = from as elem`; `natural` if the source is a `u64`.
    Cast { dst: u32, from: Register, natural: bool, elem: Elem },
    /// An uninitialised variable: NaN, -1 or true.
    Poison { bank: Bank, dst: u32 },
    /// Loads `width` elements of each lane into consecutive registers.
    Load { dst: u32, address: Sum, mask: Option<u32>, site: u32 },
    /// Stores `width` elements of each lane from consecutive registers.
    Store { src: u32, address: Sum, mask: Option<u32>, site: u32 },
    /// Reads a local array at a dynamic index.
    LocalLoad { dst: u32, index: Sum, mask: Option<u32>, site: u32 },
    /// Writes a local array at a dynamic index.
    LocalStore { src: u32, index: Sum, mask: Option<u32>, site: u32 },
    /// `cp.async`; masked lanes copy zeros.
    CopyAsync { destination: Sum, source: Sum, mask: Option<u32>, destination_site: u32, source_site: u32 },
    /// Commits the copy group of each active lane.
    Commit,
    /// Waits until at most `groups` groups of each active lane are in flight.
    Wait { groups: u32 },
    /// A collective of the warp; `lane` is the operand of a shuffle.
    Collective { dst: Register, function: Collective, from: Register, lane: Sum, elem: Elem, site: u32 },
    /// `d += a b`, of consecutive registers.
    Mma { d: u32, a: u32, b: u32, core: TensorCore, scales: Option<Scales>, site: u32 },
    /// `ldmatrix`; the first `8 count` lanes give the addresses.
    LoadMatrix { dst: u32, address: Sum, count: u32, transposed: bool, site: u32 },
    /// An atomic operation in lane order; `dst` gets the old value. `expected` is the operand of
    /// [`AtomicChange::CompareExchange`].
    Atomic {
        dst: Option<u32>,
        expected: u32,
        src: u32,
        change: AtomicChange,
        scope: Scope,
        update: Update,
        address: Sum,
        mask: Option<u32>,
        site: u32,
    },
    /// A barrier.
    Barrier { participants: Participants, site: u32 },
    /// A statement begins, in the program of a watched run.
    Statement,
    /// An instruction of the asynchronous proxy, by its number in the program's list.
    Asynchronous { work: u32 },
    /// Reports lanes in which a tracked register is uninitialised.
    CheckInitialised { slot: u32, site: u32 },
    /// Reports lanes in which a coordinate of a view is not in `0..end`.
    CheckView { at: Sum, end: Sum, site: u32 },
    /// Reports lanes in which an assumption does not hold; `sides` if it compares two values.
    CheckAssumption { mask: u32, sides: Option<Sides>, site: u32 },
    /// Reports lanes in which `a op b` overflows, or the count of a shift is out of range.
    CheckInteger { op: BinaryOp, a: Sum, b: Sum, elem: Elem, site: u32 },
    /// Reports lanes in which an integer function overflows.
    CheckIntegerFunction { function: IntegerFunction, a: Sum, b: Sum, elem: Elem, site: u32 },
    /// Reports lanes in which a conversion to an integer type loses the value; `natural` if the source is a `u64`.
    CheckCast { from: Register, natural: bool, elem: Elem, site: u32 },
    /// Records the origin of a float that is not finite; `together` if any lane of an operand may be its source.
    TrackOrigin { dst: Register, from: [Register; 3], together: bool, site: u32 },
    /// Reports lanes in which an index, by its number in the program's list, overflows 64 bits.
    CheckIndex { number: u32, site: u32 },
    /// Prints a text, by its number in the program's list.
    Print { number: u32, site: u32 },
    /// Reports the active lanes, for which an assertion fails, with a text.
    Fail { number: u32, site: u32 },
    /// Marks a tracked register as initialised or not in the active lanes.
    MarkInitialised { slot: u32, holds: bool },
    /// Activates the lanes in which the mask holds; jumps to `otherwise` (an `Else` or `EndIf`) if there is none.
    If { mask: u32, otherwise: u32 },
    /// Activates the other lanes; jumps to `end` (an `EndIf`) if there is none.
    Else { end: u32 },
    /// Activates the lanes of both branches.
    EndIf,
    /// Enters a loop.
    LoopBegin,
    /// Lanes in which the mask does not hold leave the loop; jumps to `exit` (a `LoopEnd`) if none is left.
    LoopTest { mask: u32, exit: u32 },
    /// Leaves the loop unless `a op b`.
    LoopTestScalar { a: Sum, op: BinaryOp, b: Sum, exit: u32 },
    /// Reactivates the lanes that executed `Continue`.
    Rejoin,
    /// The back edge to `to`; `still` if the loop changes registers only.
    Jump { to: u32, still: bool, site: u32 },
    /// The back edge of a loop whose condition is invariant.
    Endless { site: u32 },
    /// Reactivates the lanes that entered the loop.
    LoopEnd,
    /// The active lanes leave the innermost loop.
    Break,
    /// The active lanes are inactive until the end of the iteration.
    Continue,
    /// The warp ends.
    End,
}

impl Op {
    /// Whether other threads, or another iteration, can observe it.
    pub(crate) fn has_side_effect(self) -> bool {
        matches!(
            self,
            Op::Store { .. }
                | Op::Atomic { .. }
                | Op::CopyAsync { .. }
                | Op::Commit
                | Op::Wait { .. }
                | Op::Barrier { .. }
                | Op::Asynchronous { .. }
                | Op::Jump { still: false, .. }
        )
    }

    /// Whether it only emits an event for analyses.
    #[inline]
    pub(crate) fn is_check(&self) -> bool {
        matches!(
            self,
            Op::CheckInitialised { .. }
                | Op::MarkInitialised { .. }
                | Op::CheckView { .. }
                | Op::CheckAssumption { .. }
                | Op::CheckInteger { .. }
                | Op::CheckIntegerFunction { .. }
                | Op::CheckCast { .. }
                | Op::TrackOrigin { .. }
                | Op::CheckIndex { .. }
                | Op::Print { .. }
                | Op::Fail { .. }
        )
    }

    /// Whether it is not counted as work of the kernel.
    pub(crate) fn is_instrumentation(&self) -> bool {
        self.is_check() || matches!(self, Op::Poison { .. } | Op::Endless { .. } | Op::End | Op::Statement)
    }
}

/// A part of a text that a thread prints.
#[derive(Clone, Debug)]
pub(crate) enum MessagePiece {
    Text(String),
    Value(Register, Elem, Spec),
}

/// An index as sums of products of registers, for its exact value.
#[derive(Clone, Debug)]
pub(crate) struct Polynomial {
    /// Coefficient and factors; `true` if the register holds a `u64`.
    pub terms: Vec<(i64, Vec<(Sum, bool)>)>,
    pub constant: i64,
    pub signed: bool,
}

/// The properties of an access, or of another operation that a finding names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    /// The number of the place, if it is an access.
    pub place: u32,
    pub elem: Elem,
    /// Bytes of an element.
    pub bytes: u32,
    /// Elements of a lane's vector.
    pub width: u32,
    pub target: Target,
    /// The block of a remote access.
    pub rank: Option<Sum>,
    /// Elements of the place.
    pub len: i64,
    /// Elements of the argument's shadow in one element: 1, but where the argument is also accessed as another type.
    pub cells: u32,
    /// The value of a masked load.
    pub pad: u64,
    /// Whether a false mask is a finding.
    pub direct: bool,
    /// The alignment of the place's first element.
    pub align: u32,
    /// The alignment of a lane's vector: its bytes, of an unaligned one an element's.
    pub vector_align: u32,
    /// The line in the kernel's Rust file.
    pub line: u32,
}

impl Site {
    /// The elements of the argument's shadow in the vector of a lane.
    pub(crate) fn cells(&self, index: i64) -> std::ops::Range<i64> {
        let cells = i64::from(self.cells);
        index * cells..(index + i64::from(self.width)) * cells
    }
}

/// The memory of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// An operation that is not an access.
    None,
    /// The argument.
    Global(u32),
    /// The first byte in shared memory.
    Shared(u32),
    /// The first register, and the first slot that tracks them.
    Local { register: u32, slot: u32 },
}

/// What a watched run shows of the kernel's text.
#[derive(Clone, Debug, Default)]
pub(crate) struct DebugInfo {
    pub variables: Vec<ScopedVariable>,
    /// For each place its first register, if it is local.
    pub locals: Vec<Option<u32>>,
}

/// A variable of the kernel, and the instructions in its scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScopedVariable {
    pub id: VarId,
    pub register: Register,
    pub from: u32,
    pub to: u32,
}

/// The program of a launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub code: Vec<Op>,
    /// The Rust line of each instruction.
    pub lines: Vec<u32>,
    /// What a watched run shows.
    pub debug: DebugInfo,
    pub sites: Vec<Site>,
    /// Registers of floats.
    pub f32: u32,
    /// Registers of doubles.
    pub f64: u32,
    /// Registers of integers; the first three hold `thread_idx`.
    pub int: u32,
    /// Mask registers.
    pub mask: u32,
    /// Scalar registers; the first three hold `block_idx`.
    pub scalars: u32,
    /// Tracked registers.
    pub slots: u32,
    /// The registers of local arrays: bank, first, number; poisoned at the start of a block.
    pub arrays: Vec<(Bank, u32, u32)>,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Bytes of the smallest shared element.
    pub granule: u32,
    /// For each argument the elements of its shadow in one of its elements.
    pub parts: Vec<u32>,
    /// Whether the code is instrumented.
    pub findings: bool,
    /// Whether arithmetic is instrumented.
    pub arithmetic: bool,
    /// Indices that may overflow 64 bits.
    pub polynomials: Vec<Polynomial>,
    /// Whether results may depend on the order of blocks: atomic sums of floats, and results of atomic operations.
    pub ordered: bool,
    /// Whether an atomic store depends on an atomic load of its tensor.
    pub updates: bool,
    /// Whether there are atomic sums of floats.
    pub sums: bool,
    /// Asynchronous work.
    pub async_ops: AsyncOps,
    /// Whether threads may wait for other blocks: there are atomic loads, fences or barriers of the grid.
    pub waits: bool,
    /// Texts that threads print or report.
    pub messages: Vec<Vec<MessagePiece>>,
    /// The names of the places.
    pub names: Vec<String>,
}

/// The number of registers of `thread_idx`, and of scalars of `block_idx`.
pub(crate) const AXES: u32 = 3;
