//! Accesses of threads to shared memory and tensors, checked against earlier accesses.

use super::{Hazard, RaceState};
use crate::bytecode::{LANES, Target};
use crate::event::Access;
use crate::machine::Machine;
use crate::memory::lane_clocks::LaneClocks;
use crate::state::lanes::{Direction, LaneElements};
use crate::state::warp::{PendingCopy, Warp, each_lane};
use layout_compiler::program::Scope;

/// The way in which an access writes.
#[derive(Clone, Copy)]
pub(super) enum Write {
    Plain,
    /// `cp.async`: it completes later.
    InFlight,
    /// An atomic read-modify-write.
    Atomic(Scope),
    AtomicStore(Scope),
    /// An atomic load: it conflicts with plain writes.
    AtomicRead(Scope),
}

/// Lanes with the same element and equal clocks.
enum Groups {
    /// Each lane separately.
    Each(u32),
    All(u32),
    Listed(std::vec::IntoIter<u32>),
}

impl Iterator for Groups {
    type Item = u32;
    fn next(&mut self) -> Option<u32> {
        match self {
            Groups::Each(lanes) => {
                let lowest = *lanes & lanes.wrapping_neg();
                *lanes &= !lowest;
                (lowest != 0).then_some(lowest)
            }
            Groups::All(lanes) => Some(std::mem::take(lanes)).filter(|lanes| *lanes != 0),
            Groups::Listed(list) => list.next(),
        }
    }
}

/// The lanes of an access in groups with the same element and equal clocks.
fn groups(lane_clocks: &LaneClocks, elements: &LaneElements) -> Groups {
    if elements.uniform && lane_clocks.is_converged() {
        return Groups::All(elements.active);
    }
    // Fast path: consecutive lanes have different elements.
    let twice =
        |lane: usize| elements.active >> lane & 3 == 3 && elements.index[lane] == elements.index[lane + 1];
    if !(0..LANES - 1).any(twice) {
        return Groups::Each(elements.active);
    }
    let (mut list, mut open) = (Vec::new(), elements.active);
    while open != 0 {
        let first = elements.index[open.trailing_zeros() as usize];
        let same = each_lane(open).filter(|lane| elements.index[*lane] == first);
        let same = same.fold(0, |same, lane| same | 1 << lane);
        open &= !same;
        list.extend(lane_clocks.groups(same));
    }
    Groups::Listed(list.into_iter())
}

impl RaceState<'_> {
    /// Checks a read; `in_flight` for a `cp.async`.
    pub(super) fn reads(&mut self, access: &Access<'_>, in_flight: bool, machine: &Machine<'_>) {
        let Access { warp, site, number, elements, .. } = *access;
        let mut found: Vec<(u32, i64, Hazard)> = Vec::new();
        let lane_clocks = &machine.clocks.warps[warp.number as usize];
        match site.target {
            Target::Shared(base) => {
                let accessor = machine.clocks.accessor(warp.number, elements.active);
                let base = base + warp.shared;
                let shift = machine.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                let first = |lane: usize| {
                    (i64::from(base) + elements.index[lane] * i64::from(site.bytes)) as usize >> shift
                };
                // A cell combines the lanes of one instruction.
                let groups = match elements.uniform {
                    true => groups(lane_clocks, elements),
                    false if lane_clocks.is_converged() => {
                        Groups::Each(self.shared.read_lanes(accessor, cells, first))
                    }
                    false => Groups::Each(elements.active),
                };
                for lanes in groups {
                    let (lane, accessor) = (lanes.trailing_zeros() as usize, accessor.lanes(lanes));
                    let index = elements.index[lane];
                    for cell in first(lane)..first(lane) + cells {
                        if let Some(hazard) = self.shared.read(cell, accessor) {
                            found.push((lanes, index, hazard));
                        }
                    }
                }
            }
            Target::Global(argument) => {
                let Some(shadow) = self.tensor(argument) else { return };
                let accessor = machine.clocks.accessor(warp.number, elements.active);
                for lanes in groups(lane_clocks, elements) {
                    let (index, accessor) =
                        (elements.index[lanes.trailing_zeros() as usize], accessor.lanes(lanes));
                    for cell in site.cells(index) {
                        let hazard = match in_flight {
                            true => shadow.read_in_flight(cell as usize, accessor),
                            false => shadow.read(cell as usize, accessor),
                        };
                        if let Some(hazard) = hazard {
                            found.push((lanes, cell / i64::from(site.cells), hazard));
                        }
                    }
                }
            }
            Target::Local { .. } | Target::None => {}
        }
        for (lanes, index, hazard) in found {
            self.report_hazard((warp, number), (lanes, index), hazard, (Direction::Read, false), machine);
        }
    }

    /// Checks a write; `equal` are the lanes that write the value that was there.
    pub(super) fn writes(&mut self, access: &Access<'_>, equal: u32, write: Write, machine: &Machine<'_>) {
        let Access { warp, site, number, elements, .. } = *access;
        let accessor = machine.clocks.accessor(warp.number, elements.active);
        let mut found: Vec<(u32, i64, Hazard)> = Vec::new();
        // Plain writes of several lanes to one element race with each other.
        let mut groups = match write {
            Write::Plain | Write::InFlight => Groups::Each(elements.active),
            Write::Atomic(_) | Write::AtomicStore(_) | Write::AtomicRead(_) => {
                groups(&machine.clocks.warps[warp.number as usize], elements)
            }
        };
        match site.target {
            Target::Shared(base) => {
                let base = base + warp.shared;
                let shadow = &mut self.shared;
                let shift = machine.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                let first = |lane: usize| {
                    (i64::from(base) + elements.index[lane] * i64::from(site.bytes)) as usize >> shift
                };
                let is_converged = machine.clocks.warps[warp.number as usize].is_converged();
                if let (Groups::Each(_), Write::Plain | Write::InFlight, true) =
                    (&groups, write, is_converged)
                {
                    let in_flight = matches!(write, Write::InFlight);
                    groups = Groups::Each(shadow.write_lanes(accessor, cells, first, (number, in_flight)));
                }
                for lanes in groups {
                    let (lane, accessor) = (lanes.trailing_zeros() as usize, accessor.lanes(lanes));
                    let index = elements.index[lane];
                    for cell in first(lane)..first(lane) + cells {
                        let hazard = match write {
                            Write::Atomic(_) => shadow.atomic(cell, accessor, number),
                            Write::AtomicStore(_) => shadow
                                .atomic(cell, accessor, number)
                                .filter(|found| *found != Hazard::Uninitialised),
                            Write::AtomicRead(_) => shadow.atomic_read(cell, accessor),
                            Write::Plain => shadow.write(cell, accessor, number, false),
                            Write::InFlight => shadow.write(cell, accessor, number, true),
                        };
                        found.extend(hazard.map(|hazard| (lanes, index, hazard)));
                    }
                }
            }
            Target::Global(argument) => {
                let Some(shadow) = self.tensor(argument) else { return };
                for lanes in groups {
                    let (index, accessor) =
                        (elements.index[lanes.trailing_zeros() as usize], accessor.lanes(lanes));
                    for cell in site.cells(index) {
                        let element = cell as usize;
                        let hazard = match write {
                            Write::Atomic(scope) | Write::AtomicStore(scope) => {
                                shadow.atomic(element, accessor, scope)
                            }
                            Write::AtomicRead(scope) => shadow.atomic_read(element, accessor, scope),
                            Write::Plain | Write::InFlight => shadow.write(element, accessor),
                        };
                        found.extend(hazard.map(|hazard| (lanes, cell / i64::from(site.cells), hazard)));
                    }
                }
            }
            Target::Local { .. } | Target::None => {}
        }
        for (lanes, index, hazard) in found {
            let direction =
                if matches!(write, Write::AtomicRead(_)) { Direction::Read } else { Direction::Write };
            self.report_hazard(
                (warp, number),
                (lanes, index),
                hazard,
                (direction, equal & lanes == lanes),
                machine,
            );
        }
    }

    /// Lanes have waited for their `cp.async`.
    pub(super) fn copy_completed(
        &mut self,
        warp: &Warp,
        lanes: u32,
        copy: &PendingCopy,
        machine: &Machine<'_>,
    ) {
        let shift = machine.launch.program.granule.trailing_zeros();
        let (accessor, source) = (machine.clocks.accessor(warp.number, warp.active), &copy.source);
        for lane in each_lane(lanes) {
            if let Some(shadow) = self.tensor(source.argument)
                && source.active >> lane & 1 != 0
            {
                let first = source.index[lane] as usize;
                let elements = first..first + source.width as usize;
                elements.for_each(|element| shadow.complete_read(element, accessor.lane(lane)));
            }
            let (offset, bytes) = (copy.offsets[lane] as usize, copy.bytes as usize);
            let first = offset >> shift;
            for cell in first..first + (bytes >> shift).max(1) {
                self.shared.complete(cell, accessor.lane(lane), copy.site);
            }
        }
    }
}
