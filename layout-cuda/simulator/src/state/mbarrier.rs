//! An mbarrier: arrivals and bytes of the current phase, and the clocks of the last phases.

use crate::memory::vector_clock::VectorClock;

/// An mbarrier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mbarrier {
    /// Arrivals of a phase; 0 before its making.
    pub arrivals: u32,
    /// Arrivals that the phase waits for.
    pub pending: u32,
    /// Bytes that the phase was announced.
    pub expected: i64,
    /// Bytes that have landed in the phase.
    pub landed: i64,
    /// The phase, from 0.
    pub phase: u32,
    /// Whether the asynchronous proxy sees it.
    pub fenced: bool,
    /// Who made it.
    pub initialiser: u32,
    /// Where it was made.
    pub site: u32,
    /// Where bytes were last announced to its phase.
    pub expect_site: u32,
    /// Where the copy that landed last in its phase was started.
    pub copy_site: u32,
    /// What those who arrived know, and those who arrived in earlier phases.
    pub arrived: VectorClock,
    /// What they knew at the ends of the last phases, the last one first.
    pub completed: [VectorClock; 3],
}

impl Mbarrier {
    /// Whether the phase of this parity has ended.
    pub(crate) fn passes(&self, parity: i64) -> bool {
        self.arrivals > 0 && i64::from(self.phase & 1) != parity & 1
    }
}
