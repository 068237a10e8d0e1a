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
        Box::new(Waits::default())
    }
}

#[derive(Default)]
struct Waits(BTreeMap<(u32, usize), LastWait>);

/// The waits of a warp for an mbarrier.
#[derive(Clone, Copy, Default)]
struct LastWait {
    /// The phase of the last wait.
    phase: u32,
    /// The site of the first wait that passed in the same phase as the one before it.
    repeated: Option<u32>,
}

impl Observer for Waits {
    fn interests(&self) -> u8 {
        OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Start => self.0.clear(),
            Event::PhaseAcquired { warp, barrier, phase, site } => {
                let last = self.0.entry((warp.number, *barrier)).or_default();
                if last.phase == *phase && *phase > 0 {
                    last.repeated = last.repeated.or(Some(*site));
                }
                last.phase = *phase;
            }
            Event::Deadlock if machine.waits_for_phases() => self.stale(machine),
            _ => {}
        }
    }
}

impl Waits {
    fn stale(&self, machine: &Machine<'_>) {
        for ((warp, barrier), LastWait { phase, repeated }) in &self.0 {
            let Some(site) = *repeated else { continue };
            let (name, warp_name) = (machine.barrier_name(*barrier), machine.warp_name(*warp as usize));
            machine.report(FindingKind::Deadlock, site, *warp, 1, None, |_| {
                format!(
                    "{warp_name} passes this wait for {name} more than once in one phase, last in phase {phase}: \
                    its parity or its stage does not advance, and other warps wait for its next step"
                )
            });
        }
    }
}
