//! Addresses in a cluster. A kernel without a cluster size has clusters of one block.
//!
//! Warps, mbarriers and bytes of shared memory are numbered through the cluster, block after block.
//!
//! Law: an access to another block's shared memory is an access to the cluster's shared memory at another offset.

use crate::bytecode::{Site, Sum};
use crate::event::Event;
use crate::machine::Machine;
use crate::report::FindingKind;
use crate::state::cluster::stride;
use crate::state::lanes::LaneElements;
use crate::state::warp::{Warp, each_lane};
use std::ops::Range;

impl Machine<'_> {
    /// The number of blocks in the cluster.
    pub(crate) fn ranks(&self) -> usize {
        self.clocks.blocks.len().max(1)
    }

    /// The number of warps in a block.
    pub(crate) fn warps_of_block(&self) -> usize {
        self.count / self.ranks()
    }

    /// The rank of a warp's block.
    pub(crate) fn rank(&self, warp: usize) -> usize {
        warp / self.warps_of_block().max(1)
    }

    pub(crate) fn warps_of(&self, rank: usize) -> Range<usize> {
        let each = self.warps_of_block();
        rank * each..(rank + 1) * each
    }

    /// The number of a warp in its block.
    pub(crate) fn inside(&self, warp: usize) -> usize {
        warp % self.warps_of_block().max(1)
    }

    /// The name of a warp in findings.
    pub(crate) fn warp_name(&self, warp: usize) -> String {
        match self.ranks() {
            1 => format!("warp {warp}"),
            _ => format!("warp {} of rank {}", self.inside(warp), self.rank(warp)),
        }
    }

    /// Lanes of a warp access another block's shared memory.
    pub(crate) fn reach(&mut self, warp: &Warp, lanes: u32, rank: usize, site: u32) {
        if rank != self.rank(warp.number as usize) && lanes != 0 {
            self.notify(&Event::RemoteAccess { warp, lanes, rank, site });
        }
    }

    /// Turns the own block's addresses into those of the lanes' target blocks.
    pub(crate) fn in_other_blocks(
        &mut self,
        warp: &Warp,
        site: &Site,
        number: u32,
        rank: Sum,
        elements: &mut LaneElements,
    ) {
        let (ranks, own) = (self.ranks() as i64, self.rank(warp.number as usize));
        let block_elements = i64::from(stride(self.launch.program) / site.bytes);
        elements.uniform &= rank.uniform();
        let ranks_of_lanes = warp.lanes(rank);
        let mut seen = 0u64;
        for lane in each_lane(elements.active) {
            let rank = ranks_of_lanes[lane];
            if !(0..ranks).contains(&rank) {
                elements.active &= !(1 << lane);
                self.report(FindingKind::OutOfBounds, number, warp.number, 1 << lane, None, |_| {
                    format!("shared memory of rank {rank} of a cluster of {ranks}")
                });
                continue;
            }
            elements.index[lane] += (rank - own as i64) * block_elements;
            if seen >> rank & 1 == 0 && rank as usize != own {
                seen |= 1 << rank;
                let known = &self.clocks.warps[warp.number as usize].of(lane).clock;
                if !known.has_advanced(self.warps_of(rank as usize)) {
                    self.report(FindingKind::NotBegun, number, warp.number, 1 << lane, None, |_| {
                        format!("shared memory of rank {rank}, which may not have started: no `cluster_barrier()` before")
                    });
                }
            }
        }
    }

    /// Emits one event for each target block. The analysis checks that the block is alive at the access.
    pub(crate) fn reach_lanes(&mut self, warp: &Warp, site: &Site, number: u32, elements: &LaneElements) {
        let own = self.rank(warp.number as usize) as i64;
        let block_elements = i64::from(stride(self.launch.program) / site.bytes);
        let mut open = elements.active;
        while open != 0 {
            let block = |lane: usize| elements.index[lane].div_euclid(block_elements);
            let first = block(open.trailing_zeros() as usize);
            let lanes = each_lane(open).filter(|lane| block(*lane) == first);
            let lanes = lanes.fold(0, |lanes, lane| lanes | 1 << lane);
            open &= !lanes;
            self.reach(warp, lanes, (own + first) as usize, number);
        }
    }
}
