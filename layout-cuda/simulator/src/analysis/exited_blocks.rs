//! Accesses to the shared memory of a block that may have ended.
//!
//! Law: the access must happen-before the end of the block: a warp of that block must have acquired it.

use crate::event::{Event, OTHERS};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::report::FindingKind;
use crate::state::warp::{Warp, each_lane};
use std::collections::BTreeMap;

pub(crate) struct ExitedBlocks;

impl Analysis for ExitedBlocks {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(RemoteAccesses::default())
    }
}

/// The last accesses of each warp to each other block.
#[derive(Default)]
struct RemoteAccesses(BTreeMap<(u32, usize), Vec<LastAccess>>);

#[derive(Clone, Copy)]
struct LastAccess {
    lanes: u32,
    /// The time of the warp.
    time: u32,
    site: u32,
}

impl Observer for RemoteAccesses {
    fn interests(&self) -> u8 {
        OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Start => self.0.clear(),
            Event::RemoteAccess { warp, lanes, rank, site } => {
                self.record(warp, *lanes, *rank, *site, machine)
            }
            Event::End => {
                for ((warp, rank), last) in std::mem::take(&mut self.0) {
                    last.into_iter().for_each(|remote| remote.check((warp, rank), machine));
                }
            }
            _ => {}
        }
    }
}

impl RemoteAccesses {
    fn record(&mut self, warp: &Warp, lanes: u32, rank: usize, site: u32, machine: &Machine<'_>) {
        let (warp, time) = (warp.number, machine.clocks.warps[warp.number as usize].time());
        // An acquire of a lane's last access covers its earlier ones.
        let last = self.0.entry((warp, rank)).or_default();
        last.retain_mut(|known| {
            known.lanes &= !lanes;
            known.lanes != 0
        });
        last.push(LastAccess { lanes, time, site });
    }
}

impl LastAccess {
    /// Reports the access if the block may have ended before.
    fn check(self, (warp, rank): (u32, usize), machine: &Machine<'_>) {
        let LastAccess { lanes, time, site } = self;
        let there = &machine.clocks.warps[machine.warps_of(rank)];
        let known =
            |lane: usize| there.iter().any(|other| other.any_acquired(warp as usize, lane as u32, time));
        if each_lane(lanes).all(known) {
            return;
        }
        let name = machine.warp_name(warp as usize);
        machine.report(FindingKind::EndedBlock, site, warp, lanes, None, |_| {
            format!(
                "{name} uses shared memory of rank {rank}, which may have ended by then: that block does not wait \
                for the access"
            )
        });
    }
}
