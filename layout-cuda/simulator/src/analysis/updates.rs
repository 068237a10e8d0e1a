//! Lost updates: a thread loads an element, another one changes it, and the first stores a value computed from the old
//! one.
//!
//! Law: an atomic store that depends on an atomic load of the same tensor, by its value or by its condition, is
//! reported if the element has changed since that load. If only the condition depends and it writes the value that is
//! there, nothing is lost. An exchange with an unused result is a store, and so is a compare-and-exchange, which fails
//! instead.

use crate::bytecode::{LANES, Target, Update};
use crate::event::{ACCESSES, Access, AccessKind, Atomic, Event};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::memory::bytes;
use crate::report::FindingKind;
use crate::state::warp::each_lane;
use layout_compiler::program::AtomicChange;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The number of changes of an element, now and at each thread's last load.
#[derive(Debug, Default)]
struct Element {
    changes: u32,
    loaded: HashMap<(u64, u32), u32>,
}

/// The analysis: the atomically accessed elements, in a launch on one host thread.
#[derive(Default)]
pub(crate) struct Updates(Mutex<HashMap<(u64, i64), Element>>);

impl Analysis for Updates {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(UpdateObserver(self))
    }
}

struct UpdateObserver<'j>(&'j Updates);

impl Observer for UpdateObserver<'_> {
    fn interests(&self) -> u8 {
        ACCESSES
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        if let Event::Access(access) = event
            && let AccessKind::Atomic(atomic) = access.kind
        {
            self.0.check(access, atomic, machine);
        }
    }
}

impl Updates {
    /// Checks an atomic operation before it is done, in lane order.
    fn check(&self, access: &Access<'_>, atomic: &Atomic<'_>, machine: &Machine<'_>) {
        let Access { warp, site, number, elements, .. } = *access;
        let Atomic { change, update, .. } = *atomic;
        let space = match site.target {
            Target::Global(argument) => u64::from(argument),
            Target::Shared(base) => 1 << 63 | warp.block << 24 | u64::from(base),
            Target::Local { .. } | Target::None => return,
        };
        // A panic of another host thread leaves a consistent table.
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let compares = change == AtomicChange::CompareExchange;
        let mut lost = 0u32;
        for lane in each_lane(elements.active) {
            let thread = (warp.block, (machine.inside(warp.number as usize) * LANES + lane) as u32);
            let changes = update == Update::Made && !compares || changes(access, atomic, lane, machine);
            let element = table.entry((space, elements.index[lane])).or_default();
            if let AtomicChange::Load(_) = change {
                element.loaded.insert(thread, element.changes);
                continue;
            }
            let old = element.loaded.get(&thread).is_some_and(|then| *then != element.changes);
            lost |= u32::from(old && update != Update::Own && (changes || compares)) << lane;
            element.changes = element.changes.wrapping_add(u32::from(changes));
            element.loaded.insert(thread, element.changes);
        }
        if lost == 0 {
            return;
        }
        let index = elements.index[lost.trailing_zeros() as usize];
        let name = machine.launch.program.names.get(site.place as usize).cloned().unwrap_or_default();
        machine.report(FindingKind::LostUpdate, number, warp.number, lost, Some(index), |_| {
            format!(
                "element {index} of `{name}` has changed since this thread loaded it to compute the new value: {} \
                is lost. One `atomic_*` does both at once",
                if compares { "its own change" } else { "the other thread's change" }
            )
        });
    }
}

/// Whether a lane's operation changes the element.
fn changes(access: &Access<'_>, atomic: &Atomic<'_>, lane: usize, machine: &Machine<'_>) -> bool {
    let Access { warp, site, elements, .. } = *access;
    let compares = atomic.change == AtomicChange::CompareExchange;
    // In lane order.
    let before = each_lane(elements.active & ((1 << lane) - 1))
        .filter(|other| elements.index[*other] == elements.index[lane]);
    if let Some(last) = before.last() {
        return !compares && atomic.values[last] != atomic.values[lane];
    }
    let byte = elements.index[lane] as usize * site.bytes as usize;
    let old = match site.target {
        Target::Shared(base) => {
            bytes::read(&machine.shared, (warp.shared + base) as usize + byte, site.bytes)
        }
        Target::Global(argument) => machine.launch.globals[argument as usize].read(byte, site.bytes),
        Target::Local { .. } | Target::None => 0,
    };
    old != atomic.values[lane] && (!compares || old == atomic.wanted[lane])
}
