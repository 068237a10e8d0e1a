//! An mbarrier: arrivals and bytes of the current phase, and the clocks of the last phases.

use crate::memory::vector_clock::VectorClock;

#[derive(Clone, Debug, Default)]
pub(crate) struct Mbarrier {
    /// Arrivals that complete a phase; 0 before the initialisation.
    pub arrivals: u32,
    /// Pending arrivals of the phase.
    pub pending: u32,
    /// Bytes that the phase expects.
    pub expected: i64,
    /// Bytes that have arrived in the phase.
    pub landed: i64,
    /// The number of the phase, from 0.
    pub phase: u32,
    /// Whether the initialisation is visible to the asynchronous proxy.
    pub fenced: bool,
    /// The thread that initialised it.
    pub initialiser: u32,
    /// The site of the initialisation.
    pub site: u32,
    /// The site of the last `arrive_expect` of the phase.
    pub expect_site: u32,
    /// The site of the last completed copy of the phase.
    pub copy_site: u32,
    /// The joined clocks of all arrivals so far.
    pub arrived: VectorClock,
    /// The clocks at the end of the last three phases, the latest first.
    pub completed: [VectorClock; 3],
}

impl Mbarrier {
    /// Whether the phase of this parity is complete.
    pub(crate) fn passes(&self, parity: i64) -> bool {
        self.arrivals > 0 && i64::from(self.phase & 1) != parity & 1
    }
}
