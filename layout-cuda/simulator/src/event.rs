//! Events of a launch, which analyses observe.
//!
//! ```text
//! execution ──notify(Event)──► each observer of the running cluster ──► Diagnostics: findings, counts
//! ```
//! Law: an analysis changes no value, no clock and no order, so execution is the same without analyses.

use crate::async_op::{BoxOperand, MatrixOperand, WgmmaOperands};
use crate::bytecode::{LANES, Op, Register, Site, Update};
use crate::findings::Findings;
use crate::memory::tensor_map::PIECE;
use crate::printed::Printing;
use crate::report::Counts;
use crate::state::lanes::{Direction, LaneElements};
use crate::state::proxy::{Chunk, SharedCopy};
use crate::state::warp::{PendingCopy, Warp};
use layout_compiler::elem::Elem;
use layout_compiler::program::{AtomicChange, Scope};
use std::collections::BTreeSet;

/// Accesses to memory that other threads share: most events.
pub(crate) const ACCESSES: u8 = 1;
/// Instrumentation, and accesses to local arrays.
pub(crate) const CHECKS: u8 = 2;
/// Instrumentation of arithmetic.
pub(crate) const ARITHMETIC: u8 = 4;
pub(crate) const OTHERS: u8 = 8;

/// The findings and counts of one host thread.
#[derive(Default)]
pub(crate) struct Diagnostics {
    pub findings: Findings,
    pub printing: Printing,
    /// For each site.
    pub counts: Vec<Counts>,
    /// Whether a block accessed an element that another block writes.
    pub crossed: bool,
    /// Places to which copies were not committed when their thread waited for all of its groups.
    pub uncommitted: BTreeSet<u32>,
    /// The number of findings so far about the current event.
    pub findings_of_event: u32,
}

/// Lanes of a warp access elements of a site.
pub(crate) struct Access<'e> {
    pub warp: &'e Warp,
    /// The site and its number.
    pub site: &'e Site,
    pub number: u32,
    pub elements: &'e LaneElements,
    pub kind: AccessKind<'e>,
}

#[derive(Clone, Copy)]
pub(crate) enum AccessKind<'e> {
    /// A load, into consecutive registers from this one on; `None` if other instructions write them.
    Load(Option<Register>),
    /// A store that follows, from consecutive registers; the mask holds the lanes that store the value that is there
    /// already.
    Store(Register, u32),
    /// `cp.async` is issued and reads them.
    AsyncRead,
    /// `cp.async` is issued and writes them.
    AsyncWrite,
    /// `store_async` is issued.
    RemoteWrite,
    /// They are initialised as mbarriers.
    BarrierInit,
    /// An atomic operation follows.
    Atomic(&'e Atomic<'e>),
}

pub(crate) struct Atomic<'e> {
    pub change: AtomicChange,
    pub scope: Scope,
    /// Its dependence on an earlier load.
    pub update: Update,
    /// The register of the operand.
    pub src: Register,
    /// The bits of the operand.
    pub values: &'e [u64; LANES],
    /// The expected bits of a compare-and-exchange.
    pub wanted: &'e [u64; LANES],
}

/// A box between a tensor and shared memory.
#[derive(Clone, Copy)]
pub(crate) struct BoxCopy<'e> {
    /// The number of the box in the program.
    pub plan: u32,
    /// The sites of shared memory and of the tensor.
    pub sites: (u32, u32),
    /// The address in shared memory.
    pub shared: u64,
    /// The first element in the tensor.
    pub coordinates: &'e [i64],
    /// The issuing lane.
    pub lane: usize,
    /// Whether it is a reduction (`tma_add`).
    pub adds: bool,
}

impl<'e> BoxCopy<'e> {
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

/// A use of tensor memory.
pub(crate) struct TensorAccess {
    pub site: u32,
    pub what: TensorUse,
    /// 32 lanes each.
    pub quarters: std::ops::Range<u32>,
    pub columns: std::ops::Range<u32>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum TensorUse {
    /// A product with these rows, columns and operands, by its engine and the engine's time; it may add.
    Product {
        engine: usize,
        time: u32,
        form: (u32, u32, Elem),
        adds: bool,
    },
    /// A product reads its left operand.
    Operand {
        engine: usize,
        time: u32,
    },
    Load,
    Store,
    Free,
}

/// What orders uses of tensor memory.
#[derive(Clone, Copy)]
pub(crate) enum TensorSync {
    /// By the warp, for its loads or its stores.
    Wait {
        stores: bool,
    },
    Fence {
        after: bool,
    },
}

pub(crate) enum Event<'e> {
    /// A cluster starts.
    Start,
    /// A cluster ends.
    End,
    /// No warp of the cluster can continue.
    Deadlock,
    /// Lanes access the shared memory of another block of the cluster.
    RemoteAccess { warp: &'e Warp, lanes: u32, rank: usize, site: u32 },
    /// Lanes pass a wait for an mbarrier in this phase.
    PhaseAcquired { warp: &'e Warp, barrier: usize, phase: u32, site: u32 },
    /// Warps complete a named barrier of a block; they continue after the event.
    BarrierSynced { rank: usize, barrier: i64, warps: &'e [usize] },
    /// Lanes access elements.
    Access(Access<'e>),
    /// An atomic operation is done; the old values.
    AtomicDone(Access<'e>, &'e [u64; LANES]),
    /// Lanes access a local array at a dynamic index; `value` is the register of the value.
    Local { warp: &'e Warp, number: u32, elements: &'e LaneElements, value: u32, direction: Direction },
    /// An instrumentation instruction.
    Check(&'e Warp, &'e Op),
    /// Lanes have waited for a `cp.async`.
    CopyCompleted { warp: &'e Warp, lanes: u32, copy: &'e PendingCopy },
    /// Lanes use an mbarrier of a block of the cluster.
    BarrierAccess { warp: &'e Warp, site: u32, elements: &'e LaneElements, rank: usize },
    /// TMA reads a box of a tensor; the engine is the mbarrier's.
    BoxRead { warp: &'e Warp, copy: BoxCopy<'e>, engine: Option<(usize, u32)> },
    /// A copy to shared memory is issued, with its engine and time.
    LoadIssued {
        warp: &'e Warp,
        lane: usize,
        copy: &'e SharedCopy,
        engine: (usize, u32),
        pieces: &'e [Chunk],
    },
    /// A copy to shared memory completes.
    LoadCompleted { site: u32, engine: (usize, u32), pieces: &'e [Chunk], size: usize },
    /// A tensor store is issued.
    BoxStoreIssued { warp: &'e Warp, copy: BoxCopy<'e>, engine: (usize, u32) },
    /// A tensor store writes the tensor after the event; `number` is its number among the warp's stores.
    BoxStoreCompleted { warp: &'e Warp, copy: BoxCopy<'e>, number: u32, data: &'e [[u8; PIECE]] },
    /// A wgmma is issued; `adds` are the lanes that read the accumulator, which may be `in_flight`.
    WgmmaIssued { warp: &'e Warp, product: &'e WgmmaOperands, adds: u32, in_flight: bool },
    /// A product reads an operand at these addresses; `lanes` issue it, of a whole warp 0.
    OperandRead {
        warp: &'e Warp,
        matrix: &'e MatrixOperand,
        engine: (usize, u32),
        lanes: u32,
        pieces: &'e [u64],
    },
    /// A warp, or a thread of it, uses tensor memory.
    TensorAccess { warp: &'e Warp, access: &'e TensorAccess },
    /// A warp waits for its moves of tensor memory, or lanes execute a fence; their time advances after the event.
    TensorSync { warp: &'e Warp, what: TensorSync },
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
