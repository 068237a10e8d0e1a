//! Events: what happens in a launch, as judges learn of it.
//!
//! ```text
//! execution ──tell(Event)──► each hearing of the cluster that runs ──► Told: findings, counts
//! ```
//! Law: execution reports and asks nothing. A judge changes no value, no clock and no order, so the same happens without
//! judges. A judge sees the machine at the moment of the event, and cannot change it.

use crate::async_op::{BoxOperand, MatrixOperand, WgmmaOperands};
use crate::bytecode::{LANES, Op, Register, Site, Update};
use crate::findings::Findings;
use crate::memory::tensor_map::PIECE;
use crate::report::Counts;
use crate::state::lanes::{Direction, LaneElements};
use crate::state::proxy::{Chunk, SharedCopy};
use crate::state::warp::{PendingCopy, Warp};
use layout_compiler::program::{AtomicChange, Scope};

/// Accesses to memory that others see: by far most events.
pub(crate) const ACCESSES: u8 = 1;
/// Instructions that only look, and accesses to local arrays.
pub(crate) const CHECKS: u8 = 2;
/// Instructions that only look at numbers.
pub(crate) const ARITHMETIC: u8 = 4;
/// All others.
pub(crate) const OTHERS: u8 = 8;

/// What judges and execution tell of a launch, of one host thread.
#[derive(Default)]
pub(crate) struct Diagnostics {
    /// What is wrong.
    pub findings: Findings,
    /// For each site.
    pub counts: Vec<Counts>,
    /// Whether a block touched an element that another block writes.
    pub crossed: bool,
    /// What was told of the event that judges look at.
    pub findings_of_event: u32,
}

/// Lanes of a warp touch elements of a site.
pub(crate) struct Access<'e> {
    /// Whose lanes.
    pub warp: &'e Warp,
    /// Where: the site, and its number.
    pub site: &'e Site,
    /// See `site`.
    pub number: u32,
    /// Which elements.
    pub elements: &'e LaneElements,
    /// How.
    pub kind: AccessKind<'e>,
}

/// How lanes touch elements.
#[derive(Clone, Copy)]
pub(crate) enum AccessKind<'e> {
    /// They are loaded; into registers from this one on, where no other instruction changes those.
    Load(Option<Register>),
    /// They are stored from registers from the first on, after this; these lanes write what was there.
    Store(Register, u32),
    /// An asynchronous copy of the thread begins to read them.
    AsyncRead,
    /// An asynchronous copy of the thread begins to write them.
    AsyncWrite,
    /// An asynchronous store to another block begins.
    RemoteWrite,
    /// They become mbarriers.
    BarrierInit,
    /// They are changed atomically, after this.
    Atomic(&'e Atomic<'e>),
}

/// An atomic operation of lanes.
pub(crate) struct Atomic<'e> {
    /// What it does.
    pub change: AtomicChange,
    /// The threads for which it is atomic.
    pub scope: Scope,
    /// What its value, or its being done, has to do with an earlier load.
    pub update: Update,
    /// The register of the value.
    pub src: Register,
    /// The bits of the value.
    pub values: &'e [u64; LANES],
    /// Those that it compares with.
    pub wanted: &'e [u64; LANES],
}

/// A box between a tensor and shared memory.
#[derive(Clone, Copy)]
pub(crate) struct BoxCopy<'e> {
    /// Which of the program's.
    pub plan: u32,
    /// The sites of shared memory and of the tensor.
    pub sites: (u32, u32),
    /// Where it begins in shared memory.
    pub shared: u64,
    /// Where it begins in the tensor.
    pub coordinates: &'e [i64],
    /// Which lane of the warp asks for it.
    pub lane: usize,
    /// Whether its elements are added to those of the tensor.
    pub adds: bool,
}

impl<'e> BoxCopy<'e> {
    /// A lane's box.
    pub(crate) fn of(copy: &BoxOperand, shared: u64, coordinates: &'e [i64], lane: usize) -> BoxCopy<'e> {
        BoxCopy {
            plan: copy.plan,
            sites: (copy.shared_site, copy.global_site),
            shared,
            coordinates,
            lane,
            adds: copy.adds.is_some(),
        }
    }
}

/// Something that happens.
pub(crate) enum Event<'e> {
    /// A cluster begins.
    Start,
    /// It ends.
    End,
    /// Nobody of it can go on.
    Deadlock,
    /// Lanes do something to the shared memory of another block of the cluster.
    RemoteAccess { warp: &'e Warp, lanes: u32, rank: usize, site: u32 },
    /// Lanes have waited for an mbarrier, and go on in this phase of it.
    PhaseAcquired { warp: &'e Warp, barrier: usize, phase: u32, site: u32 },
    /// Warps that wait at a named barrier of a block go on, after this.
    NamedBarrierCompleted { rank: usize, barrier: i64, warps: &'e [usize] },
    /// Lanes touch elements.
    Access(Access<'e>),
    /// Lanes have changed elements atomically; the old values.
    AtomicDone(Access<'e>, &'e [u64; LANES]),
    /// Lanes touch a local array at places known at run time only: of a register that holds the value.
    Local { warp: &'e Warp, number: u32, elements: &'e LaneElements, value: u32, direction: Direction },
    /// An instruction that only looks.
    Check(&'e Warp, &'e Op),
    /// Lanes have waited for this copy of theirs: it is there.
    CopyCompleted { warp: &'e Warp, lanes: u32, copy: &'e PendingCopy },
    /// Lanes use an mbarrier of a block of the cluster.
    BarrierAccess { warp: &'e Warp, site: u32, elements: &'e LaneElements, rank: usize },
    /// TMA reads a box of a tensor, for the mbarrier of an engine and its time.
    BoxRead { warp: &'e Warp, copy: BoxCopy<'e>, engine: Option<(usize, u32)> },
    /// A copy to shared memory of the cluster begins, of an engine and its time.
    LoadIssued {
        warp: &'e Warp,
        lane: usize,
        copy: &'e SharedCopy,
        engine: (usize, u32),
        pieces: &'e [Chunk],
    },
    /// It is there: at a site, in pieces of so many bytes.
    LoadCompleted { site: u32, engine: (usize, u32), pieces: &'e [Chunk], size: usize },
    /// TMA begins to store a box, as the work of this number of its engine.
    BoxStoreIssued { warp: &'e Warp, copy: BoxCopy<'e>, engine: (usize, u32) },
    /// It writes the tensor, after this: the warp's box of this number.
    BoxStoreCompleted { warp: &'e Warp, copy: BoxCopy<'e>, number: u32, data: &'e [[u8; PIECE]] },
    /// A product begins; these lanes add to the accumulator, which another product may have in flight.
    WgmmaIssued { warp: &'e Warp, product: &'e WgmmaOperands, adds: u32, in_flight: bool },
    /// It reads an operand at these addresses, as the work of this time of its engine.
    OperandRead { warp: &'e Warp, matrix: &'e MatrixOperand, engine: (usize, u32), pieces: &'e [u64] },
}

impl Event<'_> {
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Event::Access(_) | Event::AtomicDone(..) => ACCESSES,
            Event::Check(
                _,
                Op::CheckInteger { .. }
                | Op::CheckIntegerFunction { .. }
                | Op::CheckCast { .. }
                | Op::CheckIndex { .. }
                | Op::TrackOrigin { .. },
            ) => ARITHMETIC,
            Event::Check(..) | Event::Local { .. } => CHECKS,
            _ => OTHERS,
        }
    }
}
