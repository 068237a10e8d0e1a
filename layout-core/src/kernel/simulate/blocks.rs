//! Blocks that run at the same time: those of a launch whose threads may wait for other blocks. The unit is a cluster,
//! a block where the kernel asks for none.
//!
//! ```text
//! a few clusters start
//! while there are clusters:
//!     each one, the last started first, gives each of its ready warps a turn, up to the warp's next atomic load
//!     nobody changed anything: one more cluster starts; none is left: deadlock
//! ```
//!
//! Law: every cluster gets its turns, whatever the others do. A GPU holds a limited number of them at once, so that
//! only [`MOST`] are held here: who waits for a later one has no right to.

use super::cluster::Remote;
use super::findings::Moment;
use super::machine::{Machine, Turn};
use super::proxy::Proxy;
use super::report::FindingKind;
use super::shadow::SharedShadow;
use super::strands::Clocks;
use super::warp::{State, Warp};

/// Blocks that start together, at least a cluster.
const FIRST: usize = 8;
/// Clusters that are held at once.
const MOST: usize = 64;
/// Rounds in which nobody changed anything, before another cluster starts.
const PATIENCE: u32 = 4;
/// Rounds in which nobody changed anything, before nobody ever will.
const IDLE: u32 = 1 << 12;

/// A cluster while another one runs.
pub(super) struct Resident {
    warps: Vec<Warp>,
    clocks: Clocks,
    shared: Vec<u8>,
    shadow: Option<SharedShadow>,
    proxy: Proxy,
    remote: Vec<Remote>,
    moment: Moment,
}

impl Machine<'_> {
    /// Runs all clusters, several at the same time; false where the launch must stop.
    pub(super) fn run_together(&mut self, clusters: u64) -> bool {
        let mut residents: Vec<Resident> = Vec::new();
        let (mut next, mut idle) = (0, 0);
        let first = FIRST.div_ceil(self.ranks());
        loop {
            let wanted = if idle > PATIENCE { residents.len() + 1 } else { first };
            while residents.len() < wanted.min(MOST) && next < clusters {
                residents.push(self.resident(next));
                next += 1;
                idle = 0;
            }
            if residents.is_empty() {
                return true;
            }
            self.progress = false;
            for at in (0..residents.len()).rev() {
                self.exchange(&mut residents[at]);
                let turn = self.turn();
                self.exchange(&mut residents[at]);
                match turn {
                    Turn::Ended => drop(residents.remove(at)),
                    Turn::Taken => {}
                    Turn::Stopped => return false,
                }
            }
            idle = if self.progress { 0 } else { idle + 1 };
            if idle > IDLE {
                if let Some(resident) = residents.first_mut() {
                    self.exchange(resident);
                    let stuck = self.warps.iter().position(|warp| warp.state == State::Ready);
                    let stuck = stuck.unwrap_or_default();
                    let site = self.warps[stuck].wait_site;
                    self.stop(stuck, FindingKind::Deadlock, site);
                }
                return false;
            }
        }
    }

    /// A cluster at its start.
    fn resident(&self, number: u64) -> Resident {
        let mut other = Machine::new(self.launch);
        other.start(number);
        Resident {
            warps: other.warps,
            clocks: other.clocks,
            shared: other.shared,
            shadow: other.shadow,
            proxy: other.proxy,
            remote: other.remote,
            moment: Moment { block: number, order: 0 },
        }
    }

    /// The cluster that runs and one that waits change places.
    fn exchange(&mut self, other: &mut Resident) {
        use std::mem::swap;
        swap(&mut self.warps, &mut other.warps);
        swap(&mut self.clocks, &mut other.clocks);
        swap(&mut self.shared, &mut other.shared);
        swap(&mut self.shadow, &mut other.shadow);
        swap(&mut self.proxy, &mut other.proxy);
        swap(&mut self.remote, &mut other.remote);
        self.findings.exchange(&mut other.moment);
    }
}
