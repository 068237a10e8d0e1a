//! Phases of mbarriers: waits that pass because of a phase that was waited for before.
//!
//! Law: a warp may pass a wait more than once in one phase, where that is meant. Where nobody can go on, such a wait is
//! reported as the cause.

use super::super::event::{Event, Hearing, Judge, OTHERS};
use super::super::machine::Machine;
use super::super::report::FindingKind;
use std::collections::BTreeMap;

/// The judge.
pub(crate) struct Phases;

impl Judge for Phases {
    fn hearing(&self) -> Box<dyn Hearing + '_> {
        Box::new(Waited::default())
    }
}

/// What each warp has waited for at each mbarrier.
#[derive(Default)]
struct Waited(BTreeMap<(u32, usize), Passed>);

/// What a warp has waited for at an mbarrier.
#[derive(Clone, Copy, Default)]
struct Passed {
    /// The phase in which it passed last.
    phase: u32,
    /// The first wait that passed in the phase of the one before.
    again: Option<u32>,
}

impl Hearing for Waited {
    fn hears(&self) -> u8 {
        OTHERS
    }

    fn see(&mut self, event: &Event<'_>, scene: &Machine<'_>) {
        match event {
            Event::Start => self.0.clear(),
            Event::Passed { warp, barrier, phase, site } => {
                let passed = self.0.entry((warp.number, *barrier)).or_default();
                if passed.phase == *phase && *phase > 0 {
                    passed.again = passed.again.or(Some(*site));
                }
                passed.phase = *phase;
            }
            Event::Stuck if scene.waits_for_phases() => self.stale(scene),
            _ => {}
        }
    }
}

impl Waited {
    fn stale(&self, scene: &Machine<'_>) {
        for ((warp, barrier), Passed { phase, again }) in &self.0 {
            let Some(site) = *again else { continue };
            let (name, who) = (scene.barrier_name(*barrier), scene.warp_name(*warp as usize));
            scene.report(FindingKind::Deadlock, site, *warp, 1, None, |_| {
                format!(
                    "{who} passes this wait for {name} more than once in one phase, {phase} at last: its parity or its stage does not \
                     go on, and others wait for what it does then"
                )
            });
        }
    }
}
