//! Blocks that may have ended: what one block does to another's shared memory.
//!
//! Law: such an access is right only if the other block ends after it, that is, if one of that block's warps knows of it at
//! its end.

use super::super::event::{Event, Hearing, Judge, OTHERS};
use super::super::machine::Machine;
use super::super::report::FindingKind;
use crate::kernel::simulate::actors::warp::{Warp, each_lane};

/// The judge.
pub(crate) struct Ended;

impl Judge for Ended {
    fn hearing(&self) -> Box<dyn Hearing + '_> {
        Box::new(Reached::default())
    }
}

/// What warps did last to other blocks' shared memory.
#[derive(Default)]
struct Reached(Vec<Remote>);

/// Something that a warp did to another block's shared memory.
#[derive(Clone, Copy)]
struct Remote {
    warp: u32,
    lanes: u32,
    /// The warp's time then.
    time: u32,
    /// The block.
    rank: usize,
    site: u32,
}

impl Hearing for Reached {
    fn hears(&self) -> u8 {
        OTHERS
    }

    fn see(&mut self, event: &Event<'_>, scene: &Machine<'_>) {
        match event {
            Event::Start => self.0.clear(),
            Event::Reached { warp, lanes, rank, site } => self.reached(warp, *lanes, *rank, *site, scene),
            Event::End => self.0.drain(..).for_each(|remote| remote.judge(scene)),
            _ => {}
        }
    }
}

impl Reached {
    fn reached(&mut self, warp: &Warp, lanes: u32, rank: usize, site: u32, scene: &Machine<'_>) {
        let (warp, time) = (warp.number, scene.clocks.warps[warp.number as usize].time());
        // A lane's last one stands for those before.
        self.0.retain_mut(|known| {
            let same = known.warp == warp && known.rank == rank;
            known.lanes &= if same { !lanes } else { u32::MAX };
            known.lanes != 0
        });
        self.0.push(Remote { warp, lanes, time, rank, site });
    }
}

impl Remote {
    /// Reports it where the block may have ended before.
    fn judge(self, scene: &Machine<'_>) {
        let Remote { warp, lanes, time, rank, site } = self;
        let there = &scene.clocks.warps[scene.warps_of(rank)];
        let known = |lane: usize| there.iter().any(|other| other.any_knows(warp as usize, lane as u32, time));
        if each_lane(lanes).all(known) {
            return;
        }
        let name = scene.warp_name(warp as usize);
        scene.report(FindingKind::EndedBlock, site, warp, lanes, None, |_| {
            format!(
                "{name} uses shared memory of rank {rank}, which may have ended by then: nothing there waits for it"
            )
        });
    }
}
