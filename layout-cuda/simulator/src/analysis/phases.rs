//! Phases of mbarriers: waits that pass in a phase that the warp has waited for before.
//!
//! Law: a warp may pass a wait repeatedly in one phase. In a deadlock such a wait is reported as the cause.

use crate::event::{Event, OTHERS};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::report::FindingKind;
use std::collections::BTreeMap;

pub(crate) struct Phases;

impl Analysis for Phases {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Waited::default())
    }
}

#[derive(Default)]
struct Waited(BTreeMap<(u32, usize), Passed>);

/// The waits of a warp for an mbarrier.
#[derive(Clone, Copy, Default)]
struct Passed {
    /// The phase of the last wait.
    phase: u32,
    /// The site of the first wait that passed in the same phase as the one before it.
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
                    "{accessor} passes this wait for {name} more than once in one phase, last in phase {phase}: \
                    its parity or its stage does not advance, and other warps wait for its next step"
                )
            });
        }
    }
}
