//! Events: what happens in a launch, as judges learn of it.
//!
//! ```text
//! execution ──tell(Event)──► each hearing of the cluster that runs ──► Told: findings, counts
//! ```
//! Law: execution reports and asks nothing. A judge changes no value, no clock and no order, so the same happens without
//! judges. A judge sees the machine at the moment of the event, and cannot change it.

use super::bytecode::{LANES, Op, Program, Register, Site, Update};
use super::findings::Findings;
use super::machine::Machine;
use super::report::Counts;
use super::work::{BoxUse, MatrixUse, ProductUse};
use crate::actors::touch::{Kind, Touch};
use crate::actors::transfer::Copied;
use crate::actors::warp::{Pending, Warp};
use crate::memory::tensor_map::PIECE;
use layout_compiler::program::{AtomicChange, Scope};

/// A judge of a launch: what it keeps of all clusters, of which several host threads may run some.
pub(crate) trait Judge: Send + Sync {
    /// What it keeps of one cluster at a time.
    fn hearing(&self) -> Box<dyn Hearing + '_>;

    /// The launch has ended.
    fn close(&self, _program: &Program, _findings: &mut Findings) {}
}

/// A judge, and what it keeps of the cluster that runs.
pub(crate) trait Hearing {
    /// Which events it observes: [`ACCESSES`], [`LOOKS`], [`NUMBERS`], [`OTHERS`].
    fn hears(&self) -> u8;

    /// Something happens.
    fn see(&mut self, event: &Event<'_>, scene: &Machine<'_>);
}

/// Accesses to memory that others see: by far most events.
pub(crate) const ACCESSES: u8 = 1;
/// Instructions that only look, and accesses to local arrays.
pub(crate) const LOOKS: u8 = 2;
/// Instructions that only look at numbers.
pub(crate) const NUMBERS: u8 = 4;
/// All others.
pub(crate) const OTHERS: u8 = 8;

/// The hearings of a cluster, each with what it hears.
pub(crate) type Hearings<'a> = Vec<(u8, Box<dyn Hearing + 'a>)>;

/// The hearings of a launch's judges.
pub(crate) fn hearings<'a>(judges: &'a [Box<dyn Judge>]) -> Hearings<'a> {
    let hearings = judges.iter().map(|judge| judge.hearing());
    hearings.map(|hearing| (hearing.hears(), hearing)).collect()
}

/// What judges and execution tell of a launch, of one host thread.
#[derive(Default)]
pub(crate) struct Told {
    /// What is wrong.
    pub findings: Findings,
    /// For each site.
    pub counts: Vec<Counts>,
    /// Whether a block touched an element that another block writes.
    pub crossed: bool,
    /// What was told of the event that judges look at.
    pub of_event: u32,
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
    pub touch: &'e Touch,
    /// How.
    pub how: How<'e>,
}

/// How lanes touch elements.
#[derive(Clone, Copy)]
pub(crate) enum How<'e> {
    /// They are loaded; into registers from this one on, where no other instruction changes those.
    Load(Option<Register>),
    /// They are stored from registers from the first on, after this; these lanes write what was there.
    Store(Register, u32),
    /// An asynchronous copy of the thread begins to read them.
    Fetch,
    /// An asynchronous copy of the thread begins to write them.
    Issue,
    /// An asynchronous store to another block begins.
    Send,
    /// They become mbarriers.
    Make,
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
pub(crate) struct Boxed<'e> {
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

impl<'e> Boxed<'e> {
    /// A lane's box.
    pub(crate) fn of(copy: &BoxUse, shared: u64, coordinates: &'e [i64], lane: usize) -> Boxed<'e> {
        Boxed {
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
    Stuck,
    /// Lanes do something to the shared memory of another block of the cluster.
    Reached { warp: &'e Warp, lanes: u32, rank: usize, site: u32 },
    /// Lanes have waited for an mbarrier, and go on in this phase of it.
    Passed { warp: &'e Warp, barrier: usize, phase: u32, site: u32 },
    /// Warps that wait at a named barrier of a block go on, after this.
    Met { rank: usize, barrier: i64, warps: &'e [usize] },
    /// Lanes touch elements.
    Access(Access<'e>),
    /// Lanes have changed elements atomically; the old values.
    Changed(Access<'e>, &'e [u64; LANES]),
    /// Lanes touch a local array at places known at run time only: of a register that holds the value.
    Local { warp: &'e Warp, number: u32, touch: &'e Touch, value: u32, kind: Kind },
    /// An instruction that only looks.
    Look(&'e Warp, &'e Op),
    /// Lanes have waited for this copy of theirs: it is there.
    Landed { warp: &'e Warp, lanes: u32, copy: &'e Pending },
    /// Lanes use an mbarrier of a block of the cluster.
    Barrier { warp: &'e Warp, site: u32, touch: &'e Touch, rank: usize },
    /// TMA reads a box of a tensor, for the mbarrier of an engine and its time.
    BoxRead { warp: &'e Warp, copy: Boxed<'e>, engine: Option<(usize, u32)> },
    /// A copy to shared memory of the cluster begins, of an engine and its time.
    Departed { warp: &'e Warp, lane: usize, copy: &'e Copied, engine: (usize, u32), pieces: &'e [Chunk] },
    /// It is there: at a site, in pieces of so many bytes.
    Arrived { site: u32, engine: (usize, u32), pieces: &'e [Chunk], size: usize },
    /// TMA begins to store a box, as the work of this number of its engine.
    BoxSent { warp: &'e Warp, copy: Boxed<'e>, engine: (usize, u32) },
    /// It writes the tensor, after this: the warp's box of this number.
    BoxWritten { warp: &'e Warp, copy: Boxed<'e>, number: u32, data: &'e [[u8; PIECE]] },
    /// A product begins; these lanes add to the accumulator, which another product may have in flight.
    Product { warp: &'e Warp, product: &'e ProductUse, adds: u32, in_flight: bool },
    /// It reads an operand at these addresses, as the work of this time of its engine.
    Operand { warp: &'e Warp, matrix: &'e MatrixUse, engine: (usize, u32), pieces: &'e [u64] },
}

impl Event<'_> {
    fn kind(&self) -> u8 {
        match self {
            Event::Access(_) | Event::Changed(..) => ACCESSES,
            Event::Look(
                _,
                Op::Exact { .. } | Op::Whole { .. } | Op::Fits { .. } | Op::Leaves { .. } | Op::Born { .. },
            ) => NUMBERS,
            Event::Look(..) | Event::Local { .. } => LOOKS,
            _ => OTHERS,
        }
    }
}

/// Where a piece of a copy lies in shared memory, and what it holds.
pub(crate) type Chunk = (u32, [u8; PIECE]);

impl Machine<'_> {
    /// Whether anybody looks.
    #[inline]
    pub(crate) fn judged(&self) -> bool {
        !self.hearings.is_empty()
    }

    /// Tells the judges.
    #[inline]
    pub(crate) fn tell(&mut self, event: &Event<'_>) {
        if self.judged() {
            // Moved out, so that they look at the machine without themselves.
            let mut hearings = std::mem::take(&mut self.hearings);
            self.told.borrow_mut().of_event = 0;
            let kind = event.kind();
            for (hears, hearing) in &mut hearings {
                if *hears & kind != 0 {
                    hearing.see(event, self);
                }
            }
            self.hearings = hearings;
        }
    }
}
