//! Lost updates: a thread loads an element, another one changes it, and the first writes what it made of the old value.
//!
//! Law: an undivided store whose value, or whose being done, depends on an undivided load of the same tensor is told of where
//! the element has changed since that load; where only its being done depends, and it writes what is there, nothing is lost.
//! An exchange is a store where nobody looks at what was there; so is one that compares, which then does nothing.

use super::super::bytecode::{LANES, Site, Target, Update};
use super::super::machine::Machine;
use super::super::report::FindingKind;
use super::super::touch::Touch;
use super::super::warp::{Warp, each_lane};
use crate::kernel::program::AtomicChange;
use std::collections::HashMap;

/// How often an element has changed, and how often it had when a thread loaded it.
#[derive(Debug, Default)]
struct Element {
    changes: u32,
    loaded: HashMap<(u64, u32), u32>,
}

/// The elements that are loaded and stored undivided.
#[derive(Debug, Default)]
pub(in super::super) struct Updates(HashMap<(u64, i64), Element>);

impl Machine<'_> {
    /// Looks at an atomic operation of a warp before it is done, lane after lane; `changes` says whether a lane's value is
    /// another one than the element has.
    pub(in super::super) fn judge_update(
        &mut self,
        warp: &Warp,
        (site, number): (&Site, u32),
        touch: &Touch,
        (change, update): (AtomicChange, Update),
        changes: impl Fn(&Self, usize) -> bool,
    ) {
        if !self.launch.program.updates {
            return;
        }
        let space = match site.target {
            Target::Global(argument) => u64::from(argument),
            Target::Shared(base) => 1 << 63 | warp.block << 24 | u64::from(base),
            Target::Local { .. } | Target::None => return,
        };
        let compares = change == AtomicChange::CompareExchange;
        let mut lost = 0u32;
        for lane in each_lane(touch.open) {
            let thread = (warp.block, (self.inside(warp.number as usize) * LANES + lane) as u32);
            let changes = update == Update::Made && !compares || changes(self, lane);
            let element = self.updates.0.entry((space, touch.index[lane])).or_default();
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
        let index = touch.index[lost.trailing_zeros() as usize];
        let name = self.launch.program.names.get(site.place as usize).cloned().unwrap_or_default();
        self.report(FindingKind::LostUpdate, number, warp.number, lost, Some(index), |_| {
            format!(
                "element {index} of `{name}` has changed since this thread loaded what it makes its value of: {} is lost. One \
                 `atomic_*` does both at once",
                if compares { "its own change" } else { "the other thread's change" }
            )
        });
    }
}
