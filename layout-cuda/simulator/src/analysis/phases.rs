//! Phases of mbarriers: waits that pass because of a phase that was waited for before.
//!
//! Law: a warp may pass a wait more than once in one phase, where that is meant. Where nobody can go on, such a wait is
//! reported as the cause.

use crate::event::{Event, OTHERS};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::report::FindingKind;
use std::collections::BTreeMap;

/// The judge.
pub(crate) struct Phases;

impl Analysis for Phases {
    fn observer(&self) -> Box<dyn Observer + '_> {
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

impl Observer for Waited {
    fn interests(&self) -> u8 {
        OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Start => self.0.clear(),
            Event::PhaseAcquired { warp, barrier, phase, site } => {
                let passed = self.0.entry((warp.number, *barrier)).or_default();
                if passed.phase == *phase && *phase > 0 {
                    passed.again = passed.again.or(Some(*site));
                }
                passed.phase = *phase;
            }
            Event::Deadlock if machine.waits_for_phases() => self.stale(machine),
            _ => {}
        }
    }
}

impl Waited {
    fn stale(&self, machine: &Machine<'_>) {
        for ((warp, barrier), Passed { phase, again }) in &self.0 {
            let Some(site) = *again else { continue };
            let (name, accessor) = (machine.barrier_name(*barrier), machine.warp_name(*warp as usize));
            machine.report(FindingKind::Deadlock, site, *warp, 1, None, |_| {
                format!(
                    "{accessor} passes this wait for {name} more than once in one phase, {phase} at last: its parity or its stage does not \
                     go on, and others wait for what it does then"
                )
            });
        }
    }
}
