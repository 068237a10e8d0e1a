//! Named barriers: warps that may arrive in place of others.
//!
//! Law: a barrier counts threads and does not identify them (PTX ISA, `bar.sync`). So each warp that completes a
//! barrier again must have been a member of the last completion, or the departure of one of its members must
//! happen-before its arrival.

use crate::event::{Event, OTHERS};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::report::FindingKind;
use crate::state::warp::State;
use std::collections::HashMap;

pub(crate) struct BarrierMembership;

impl Analysis for BarrierMembership {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Members::default())
    }
}

/// The members of the last completion of each named barrier, and the time at which each continued.
#[derive(Default)]
struct Members(HashMap<(usize, i64), Vec<(usize, u32)>>);

impl Observer for Members {
    fn interests(&self) -> u8 {
        OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Start => self.0.clear(),
            Event::BarrierSynced { rank, barrier, warps } => {
                if let Some(before) = self.0.get(&(*rank, *barrier)) {
                    check_members(before, *barrier, warps, machine);
                }
                let next = |warp: &usize| (*warp, machine.clocks.warps[*warp].time() + 1);
                self.0.insert((*rank, *barrier), warps.iter().map(next).collect());
            }
            _ => {}
        }
    }
}

/// Reports a warp whose arrival is not ordered after the last completion.
fn check_members(before: &[(usize, u32)], barrier: i64, warps: &[usize], machine: &Machine<'_>) {
    let unordered = |warp: &&usize| {
        let known = &machine.clocks.warps[**warp].all().clock;
        let mut others = before.iter();
        others.all(|(other, time)| {
            other != *warp && known.unknown(*other, machine.warps[*other].live, *time) != 0
        })
    };
    let Some(unordered) = warps.iter().find(unordered).copied() else { return };
    let State::Named { site, .. } = machine.warps[unordered].state else { return };
    let names: Vec<String> = before.iter().map(|(warp, _)| machine.inside(*warp).to_string()).collect();
    let (names, warp) = (names.join(", "), machine.warp_name(unordered));
    let lanes = machine.warps[unordered].live;
    machine.report(FindingKind::DivergentBarrier, site, unordered as u32, lanes, None, |_| {
        format!(
            "{warp} arrives at barrier {barrier}, which warps {names} completed before; its arrival is not \
            ordered after that, so it may take the place of one of them: use another number, or a barrier in \
            between"
        )
    });
}
