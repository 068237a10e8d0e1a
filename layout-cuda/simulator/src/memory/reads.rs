//! Which reads of shared and global memory have come back, as far as the warp that TMA overwrites them for has made sure of.
//!
//! Law: a warp issues a read and goes on; its own next instruction may start a copy of TMA, which stands in no queue with the
//! read and can overtake it. Neither program order nor `sync_warp` waits for the read. A proxy fence does, and so does whatever
//! leaves the warp: an arrival at an mbarrier, a barrier of several warps. An arrival that expects bytes is the copy's own and
//! is none: nobody waits for it between the read and the copy. (PTX ISA 8.5, section 8.9: accesses by different proxies are
//! ordered by a proxy fence. Seen on an H100: a warp's loads from shared memory that stood behind stores to global memory
//! gave what the copy that followed had brought.)

use super::lane_clocks::Accessor;
use crate::register::LANES;

/// For each warp and lane the time up to which its reads have come back.
#[derive(Debug, Default)]
pub(crate) struct Reads(Vec<[u32; LANES]>);

impl Reads {
    /// Nothing is read by so many warps.
    pub(crate) fn reset(&mut self, warps: usize) {
        self.0.clear();
        self.0.resize(warps, [0; LANES]);
    }

    /// What these lanes read until now has come back, and what the others did before the time `met`.
    pub(crate) fn settle(&mut self, warp: usize, lanes: u32, (now, met): (u32, u32)) {
        let Some(settled) = self.0.get_mut(warp) else { return };
        for (lane, settled) in settled.iter_mut().enumerate() {
            let until = if lanes >> lane & 1 != 0 { now } else { met.saturating_sub(1) };
            *settled = (*settled).max(until);
        }
    }

    /// Of these lanes of `who`'s own warp, those that may still be reading what they asked for at a time.
    pub(crate) fn open(&self, accessor: Accessor<'_>, lanes: u32, clock: u32) -> u32 {
        let Some(settled) = self.0.get(accessor.warp as usize) else { return 0 };
        let late = settled.iter().enumerate().filter(|(_, settled)| clock > **settled);
        lanes & late.fold(0, |late, (lane, _)| late | 1 << lane)
    }
}
