//! Reads of shared and global memory that have completed, as far as the reading warp has waited for them.
//!
//! Law: a warp issues a read and continues. Its next instruction may issue a TMA copy that overtakes the read. Neither
//! program order nor `sync_warp` waits for the read. A proxy fence waits for it, and so does synchronisation that
//! leaves the warp: an arrival at an mbarrier, or a barrier of several warps. An arrival that expects bytes does not
//! count: it belongs to the copy, and no thread waits for it before the copy. (PTX ISA 8.5, section 8.9: a proxy fence
//! orders accesses by different proxies. Observed on an H100: loads from shared memory, issued after stores to global
//! memory, returned the bytes of the copy that followed them.)

use super::lane_clocks::Accessor;
use crate::register::LANES;

/// For each warp and lane the time before which its reads have completed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads(Vec<[u32; LANES]>);

impl Reads {
    pub(crate) fn reset(&mut self, warps: usize) {
        self.0.clear();
        self.0.resize(warps, [0; LANES]);
    }

    /// The reads of these lanes until now have completed, and those of the other lanes before the time `met`.
    pub(crate) fn settle(&mut self, warp: usize, lanes: u32, (now, met): (u32, u32)) {
        let Some(settled) = self.0.get_mut(warp) else { return };
        for (lane, settled) in settled.iter_mut().enumerate() {
            let until = if lanes >> lane & 1 != 0 { now } else { met.saturating_sub(1) };
            *settled = (*settled).max(until);
        }
    }

    /// The subset of the accessor's own warp whose reads at a time may be outstanding.
    pub(crate) fn open(&self, accessor: Accessor<'_>, lanes: u32, clock: u32) -> u32 {
        let Some(settled) = self.0.get(accessor.warp as usize) else { return 0 };
        let late = settled.iter().enumerate().filter(|(_, settled)| clock > **settled);
        lanes & late.fold(0, |late, (lane, _)| late | 1 << lane)
    }
}
