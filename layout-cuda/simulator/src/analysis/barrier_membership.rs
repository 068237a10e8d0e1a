//! Named barriers: which warps may meet there in place of others.
//!
//! Law: a barrier counts threads, not which ones (PTX ISA, `bar.sync`). So among warps that meet where others have met,
//! each must know that one of those has gone on, or be one of them.

use crate::event::{Event, OTHERS};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::report::FindingKind;
use crate::state::warp::State;
use std::collections::HashMap;

/// The judge.
pub(crate) struct BarrierMembership;

impl Analysis for BarrierMembership {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Met::default())
    }
}

/// Who met at each named barrier of a block last, and the time at which each went on.
#[derive(Default)]
struct Met(HashMap<(usize, i64), Vec<(usize, u32)>>);

impl Observer for Met {
    fn interests(&self) -> u8 {
        OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Start => self.0.clear(),
            Event::NamedBarrierCompleted { rank, barrier, warps } => {
                if let Some(before) = self.0.get(&(*rank, *barrier)) {
                    strangers(before, *barrier, warps, machine);
                }
                // They go on at their next time.
                let next = |warp: &usize| (*warp, machine.clocks.warps[*warp].time() + 1);
                self.0.insert((*rank, *barrier), warps.iter().map(next).collect());
            }
            _ => {}
        }
    }
}

/// Reports a warp that meets others where nothing orders its coming after those who met before went on.
fn strangers(before: &[(usize, u32)], barrier: i64, met: &[usize], machine: &Machine<'_>) {
    let stranger = |warp: &&usize| {
        let known = &machine.clocks.warps[**warp].all().clock;
        let mut others = before.iter();
        others.all(|(other, time)| {
            other != *warp && known.unknown(*other, machine.warps[*other].live, *time) != 0
        })
    };
    let Some(stranger) = met.iter().find(stranger).copied() else { return };
    let State::Named { site, .. } = machine.warps[stranger].state else { return };
    let names: Vec<String> = before.iter().map(|(warp, _)| machine.inside(*warp).to_string()).collect();
    let (names, warp) = (names.join(", "), machine.warp_name(stranger));
    let lanes = machine.warps[stranger].live;
    machine.report(FindingKind::DivergentBarrier, site, stranger as u32, lanes, None, |_| {
        format!(
            "{warp} meets others at barrier {barrier}, where warps {names} met before; nothing lets it come after \
             them, and it may meet there in the place of one of them: another number, or a barrier between"
        )
    });
}
