//! The simulator's instructions: what one warp does at once, over registers of 32 lanes.
//!
//! Invariant: every instruction writes the active lanes of its destination and no others; scalar registers hold what is
//! equal in all active lanes. A jump goes to a place in the same code; frames nest as the statements did.
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
use layout_compiler::ir::BinaryOp;
use layout_compiler::math::Math;
use layout_compiler::program::{AtomicChange, Collective, Participants, Scope, TensorCore};

/// An operation on indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Truncated quotient.
    Div,
    /// Remainder with the dividend's sign.
    Rem,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Quotient of natural numbers of 64 bits.
    DivNatural,
    /// Remainder of natural numbers of 64 bits.
    RemNatural,
    /// The smaller of natural numbers of 64 bits.
    MinNatural,
    /// The larger of natural numbers of 64 bits.
    MaxNatural,
}

/// An operation on floats of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatOp {
    /// `a`
    Copy,
    /// `-a`
    Neg,
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `a % b`
    Rem,
    /// `a * b + c`, rounded twice.
    MulThenAdd,
}

impl FloatOp {
    /// Floating-point operations of one lane.
    pub(crate) fn flops(self) -> u64 {
        match self {
            FloatOp::Copy => 0,
            FloatOp::MulThenAdd => 2,
            FloatOp::Neg | FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Div | FloatOp::Rem => 1,
        }
    }
}

/// A function of integers that may leave their type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerFunction {
    /// The sum of a warp's lanes.
    Sum,
    /// The sum of the lanes up to each.
    PrefixSum,
    /// `a` to the power of `b`.
    Power,
    /// The logarithm of `a` to base 2.
    Logarithm,
}

/// How an atomic store depends on an atomic load of the same tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// Nothing.
    Own,
    /// Its value is made of what the load gave.
    Made,
    /// Whether it is done depends on it.
    Guarded,
}

/// An instruction. `site` is the place in the kernel that a finding names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Scalar registers: `dst = a op b`; neither has a vector.
    Scalar { dst: u32, op: IndexOp, a: Sum, b: Sum, site: u32 },
    /// Integer registers, as mathematical integers: `dst = a op b`.
    Vector { dst: u32, op: IndexOp, a: Sum, b: Sum, site: u32 },
    /// Integer registers, in the arithmetic of an element type: `dst = a op b`.
    Int { dst: u32, op: BinaryOp, a: Sum, b: Sum, elem: Elem, site: u32 },
    /// `dst = function(operands)`, of a first operand of type `elem`; operands that it does not have are the first one.
    Math { dst: u32, function: Math, operands: [Register; 3], elem: Elem },
    /// `dst = a`, cut to the width of an integer type; of 64 bits it is a copy.
    Wrap { dst: u32, a: Sum, elem: Elem },
    /// A number in every lane.
    ConstantF32 { dst: u32, value: f32 },
    /// A number in every lane.
    ConstantF64 { dst: u32, value: f64 },
    /// The bits of a mask.
    ConstantMask { dst: u32, value: u32 },
    /// Floats.
    F32 { dst: u32, op: FloatOp, a: u32, b: u32, c: u32 },
    /// `dst = dst`, rounded to a float of 16 or 8 bits.
    Round { dst: u32, elem: Elem },
    /// Doubles.
    F64 { dst: u32, op: FloatOp, a: u32, b: u32, c: u32 },
    /// `dst = a op b`; `op` is `BitAnd`, `BitOr` or `BitXor`.
    MaskBinary { dst: u32, op: BinaryOp, a: u32, b: u32 },
    /// `dst = !a`
    MaskNot { dst: u32, a: u32 },
    /// `dst = a op b`, a comparison of integers.
    CompareInt { dst: u32, op: BinaryOp, a: Sum, b: Sum },
    /// `dst = a op b`, a comparison of floats.
    CompareF32 { dst: u32, op: BinaryOp, a: u32, b: u32 },
    /// `dst = a op b`, a comparison of doubles.
    CompareF64 { dst: u32, op: BinaryOp, a: u32, b: u32 },
    /// `dst = condition ? then : otherwise`, within one bank.
    Select { dst: u32, condition: u32, then: Register, otherwise: Register },
    /// `dst = from as elem`; `natural` says that the integers are `u64`.
    Cast { dst: u32, from: Register, natural: bool, elem: Elem },
    /// An uninitialised variable: NaN, -1 or true in the active lanes.
    Poison { bank: Bank, dst: u32 },
    /// Loads `width` elements of each lane into consecutive registers.
    Load { dst: u32, address: Sum, mask: Option<u32>, site: u32 },
    /// Stores `width` elements of each lane from consecutive registers.
    Store { src: u32, address: Sum, mask: Option<u32>, site: u32 },
    /// Reads a local array at an index of each lane.
    LocalLoad { dst: u32, index: Sum, mask: Option<u32>, site: u32 },
    /// Writes a local array at an index of each lane.
    LocalStore { src: u32, index: Sum, mask: Option<u32>, site: u32 },
    /// `cp.async`; the mask decides between data and zeros.
    CopyAsync { destination: Sum, source: Sum, mask: Option<u32>, destination_site: u32, source_site: u32 },
    /// Closes the copy group of each active lane.
    Commit,
    /// Waits until at most `groups` groups of each active lane are in flight.
    Wait { groups: u32 },
    /// `dst = function(from)` of the warp's lanes together; `lane` is the count of a shuffle.
    Collective { dst: Register, function: Collective, from: Register, lane: Sum, elem: Elem, site: u32 },
    /// `d += a b`, of consecutive registers of floats.
    Mma { d: u32, a: u32, b: u32, core: TensorCore, site: u32 },
    /// Matrices from shared memory: the addresses are of the first `8 count` lanes.
    LoadMatrix { dst: u32, address: Sum, count: u32, transposed: bool, site: u32 },
    /// Changes one element of each lane, lane after lane; `dst` takes what was there before. `expected` is a
    /// [`AtomicChange::CompareExchange`]'s.
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
    /// Work of the asynchronous proxy, or what orders it; of this number in the program's list.
    Asynchronous { work: u32 },
    /// Reports lanes in which the tracked register is uninitialised.
    CheckInitialised { slot: u32, site: u32 },
    /// Reports lanes where `0 <= at < end` does not hold of a coordinate of a view.
    CheckView { at: Sum, end: Sum, site: u32 },
    /// Reports lanes in which `a op b` leaves its type, or a shift's count its width.
    CheckInteger { op: BinaryOp, a: Sum, b: Sum, elem: Elem, site: u32 },
    /// Reports lanes in which a function of integers leaves its type.
    CheckIntegerFunction { function: IntegerFunction, a: Sum, b: Sum, elem: Elem, site: u32 },
    /// Reports lanes in which a conversion to an integer type loses the value; `natural` says that the integers are `u64`.
    CheckCast { from: Register, natural: bool, elem: Elem, site: u32 },
    /// Keeps in mind where a float that is not finite comes from; of a warp's lanes together the operand's of any lane.
    TrackOrigin { dst: Register, from: [Register; 3], together: bool, site: u32 },
    /// Reports lanes in which an index of this number in the program's list leaves 64 bits.
    CheckIndex { number: u32, site: u32 },
    /// The tracked register is initialised in the active lanes, or is not.
    MarkInitialised { slot: u32, holds: bool },
    /// Lanes where the mask holds go on; to `otherwise` (an `Else` or `EndIf`) if there is none.
    If { mask: u32, otherwise: u32 },
    /// The other lanes go on; to `end` (an `EndIf`) if there is none.
    Else { end: u32 },
    /// Both go on.
    EndIf,
    /// Enters a loop.
    LoopBegin,
    /// Lanes where the mask does not hold leave the loop; to `exit` (a `LoopEnd`) if none is left.
    LoopTest { mask: u32, exit: u32 },
    /// All lanes leave the loop unless `a op b`.
    LoopTestScalar { a: Sum, op: BinaryOp, b: Sum, exit: u32 },
    /// The lanes that met `Continue` come back.
    Rejoin,
    /// Goes back to `to`; of a loop that changes nothing but registers where it is `still`.
    Jump { to: u32, still: bool, site: u32 },
    /// A round of a loop ends whose condition never changes.
    Endless { site: u32 },
    /// Leaves a loop: the lanes that entered go on.
    LoopEnd,
    /// The active lanes leave the innermost loop.
    Break,
    /// The active lanes wait for the end of the round.
    Continue,
    /// The warp has ended.
    End,
}

impl Op {
    /// Whether it does something that others, or the warp itself in another round, may see.
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

    /// Whether it only observes, for judges alone.
    #[inline]
    pub(crate) fn is_check(&self) -> bool {
        matches!(
            self,
            Op::CheckInitialised { .. }
                | Op::MarkInitialised { .. }
                | Op::CheckView { .. }
                | Op::CheckInteger { .. }
                | Op::CheckIntegerFunction { .. }
                | Op::CheckCast { .. }
                | Op::TrackOrigin { .. }
                | Op::CheckIndex { .. }
        )
    }

    /// Whether it is no work of the kernel's.
    pub(crate) fn is_instrumentation(&self) -> bool {
        self.is_check() || matches!(self, Op::Poison { .. } | Op::Endless { .. } | Op::End)
    }
}

/// An index as sums of products of registers, before anything wraps.
#[derive(Clone, Debug)]
pub(crate) struct Polynomial {
    /// A coefficient and factors, each with whether its register holds the bits of a natural number.
    pub terms: Vec<(i64, Vec<(Sum, bool)>)>,
    /// What is added.
    pub constant: i64,
    /// Whether it may be negative.
    pub signed: bool,
}

/// What an instruction touches, for memory and for findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    /// The place, where it is an access.
    pub place: u32,
    /// The element type.
    pub elem: Elem,
    /// Bytes of an element.
    pub bytes: u32,
    /// Elements at once.
    pub width: u32,
    /// Where the elements are.
    pub target: Target,
    /// The block of the cluster whose shared memory it is; the own where there is none.
    pub rank: Option<Sum>,
    /// Elements of the place.
    pub len: i64,
    /// What a masked load gives.
    pub pad: u64,
    /// Whether a false mask is a finding.
    pub direct: bool,
    /// The alignment of the place's first element.
    pub align: u32,
    /// The line in the kernel's Rust file.
    pub line: u32,
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// Nowhere: the site of an operation that is no access.
    None,
    /// The tensor of this number.
    Global(u32),
    /// Shared memory, from this byte on.
    Shared(u32),
    /// Registers from `register` on, tracked in slots from `slot` on.
    Local { register: u32, slot: u32 },
}

/// The code of a launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// The instructions.
    pub code: Vec<Op>,
    /// The Rust line of each instruction.
    pub lines: Vec<u32>,
    /// The sites.
    pub sites: Vec<Site>,
    /// Registers of floats.
    pub f32: u32,
    /// Registers of doubles.
    pub f64: u32,
    /// Registers of integers; the first three hold `thread_idx`.
    pub int: u32,
    /// Registers of truth values.
    pub mask: u32,
    /// Scalar registers; the first three hold `block_idx`.
    pub scalars: u32,
    /// Tracked registers.
    pub slots: u32,
    /// The registers of local arrays: bank, first, how many; poisoned at the start of a block.
    pub arrays: Vec<(Bank, u32, u32)>,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Bytes of the smallest shared element.
    pub granule: u32,
    /// Whether instructions that only find mistakes are in the code.
    pub findings: bool,
    /// Whether those that look at numbers are.
    pub arithmetic: bool,
    /// Indices that may leave 64 bits.
    pub polynomials: Vec<Polynomial>,
    /// Whether results depend on the order in which blocks run: sums of floats by atomics, and what they give back.
    pub ordered: bool,
    /// Whether an atomic store depends on what an atomic load of its tensor gave.
    pub updates: bool,
    /// Whether floats are added by atomic operations.
    pub sums: bool,
    /// Asynchronous work.
    pub async_ops: AsyncOps,
    /// Whether threads read what others of the same launch write, so that they may wait for each other.
    pub waits: bool,
    /// The names of the places.
    pub names: Vec<String>,
}

/// How many registers `thread_idx` takes, and how many scalars `block_idx`.
pub(crate) const AXES: u32 = 3;
