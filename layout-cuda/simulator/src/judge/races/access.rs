//! Accesses of a warp's lanes to shared memory and to tensors, compared with the accesses before them.

use super::super::super::bytecode::{LANES, Target};
use super::super::super::event::Access;
use super::super::super::machine::Machine;
use super::{Case, Hazard};
use crate::actors::touch::{Kind, Touch};
use crate::actors::warp::{Pending, Warp, each_lane};
use crate::memory::strands::Strands;
use layout_compiler::program::Scope;

/// How an access writes.
#[derive(Clone, Copy)]
pub(super) enum Write {
    /// At once.
    Plain,
    /// It lands later.
    InFlight,
    /// Undivided, with what it reads.
    Atomic(Scope),
    /// Undivided, whatever was there.
    AtomicStore(Scope),
    /// Not at all: an atomic load, which may race with atomic stores.
    AtomicRead(Scope),
}

/// Lanes that access one element, and know the same.
enum Groups {
    /// Each lane on its own.
    Each(u32),
    /// All together.
    All(u32),
    /// These.
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

/// The lanes of an access, those together that go to one element and know the same.
fn together(strands: &Strands, touch: &Touch) -> Groups {
    if touch.uniform && strands.as_one() {
        return Groups::All(touch.open);
    }
    // Most accesses are to elements one after another: only where a lane's element is its neighbour's too it is worth a look.
    let twice = |lane: usize| touch.open >> lane & 3 == 3 && touch.index[lane] == touch.index[lane + 1];
    if !(0..LANES - 1).any(twice) {
        return Groups::Each(touch.open);
    }
    let (mut list, mut open) = (Vec::new(), touch.open);
    while open != 0 {
        let first = touch.index[open.trailing_zeros() as usize];
        let same = each_lane(open).filter(|lane| touch.index[*lane] == first);
        let same = same.fold(0, |same, lane| same | 1 << lane);
        open &= !same;
        list.extend(strands.groups(same));
    }
    Groups::Listed(list.into_iter())
}

impl Case<'_> {
    /// Looks for hazards of a read, of one that is done later where it is `in_flight`.
    pub(super) fn reads(&mut self, access: &Access<'_>, in_flight: bool, scene: &Machine<'_>) {
        let Access { warp, site, number, touch, .. } = *access;
        let mut found: Vec<(u32, i64, Hazard)> = Vec::new();
        let strands = &scene.clocks.warps[warp.number as usize];
        match site.target {
            Target::Shared(base) => {
                let who = scene.clocks.who(warp.number, touch.open);
                let base = base + warp.shared;
                let shift = scene.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                let first = |lane: usize| {
                    (i64::from(base) + touch.index[lane] * i64::from(site.bytes)) as usize >> shift
                };
                // A cell takes lanes one by one as well.
                let groups = match touch.uniform {
                    true => together(strands, touch),
                    false if strands.as_one() => Groups::Each(self.shared.read_lanes(who, cells, first)),
                    false => Groups::Each(touch.open),
                };
                for lanes in groups {
                    let (lane, who) = (lanes.trailing_zeros() as usize, who.lanes(lanes));
                    let index = touch.index[lane];
                    for cell in first(lane)..first(lane) + cells {
                        if let Some(hazard) = self.shared.read(cell, who) {
                            found.push((lanes, index, hazard));
                        }
                    }
                }
            }
            Target::Global(argument) => {
                let Some(shadow) = self.tensor(argument) else { return };
                let who = scene.clocks.who(warp.number, touch.open);
                for lanes in together(strands, touch) {
                    let (index, who) = (touch.index[lanes.trailing_zeros() as usize], who.lanes(lanes));
                    for element in index as usize..index as usize + site.width as usize {
                        let hazard = match in_flight {
                            true => shadow.read_in_flight(element, who),
                            false => shadow.read(element, who),
                        };
                        if let Some(hazard) = hazard {
                            found.push((lanes, element as i64, hazard));
                        }
                    }
                }
            }
            Target::Local { .. } | Target::None => {}
        }
        for (lanes, index, hazard) in found {
            self.tell((warp, number), (lanes, index), hazard, (Kind::Read, false), scene);
        }
    }

    /// Looks for hazards of a write; `equal` holds the lanes that write what was there before.
    pub(super) fn writes(&mut self, access: &Access<'_>, equal: u32, how: Write, scene: &Machine<'_>) {
        let Access { warp, site, number, touch, .. } = *access;
        let who = scene.clocks.who(warp.number, touch.open);
        let mut found: Vec<(u32, i64, Hazard)> = Vec::new();
        // Plain writes of several lanes to one element are a race among them.
        let mut groups = match how {
            Write::Plain | Write::InFlight => Groups::Each(touch.open),
            Write::Atomic(_) | Write::AtomicStore(_) | Write::AtomicRead(_) => {
                together(&scene.clocks.warps[warp.number as usize], touch)
            }
        };
        match site.target {
            Target::Shared(base) => {
                let base = base + warp.shared;
                let shadow = &mut self.shared;
                let shift = scene.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                let first = |lane: usize| {
                    (i64::from(base) + touch.index[lane] * i64::from(site.bytes)) as usize >> shift
                };
                let as_one = scene.clocks.warps[warp.number as usize].as_one();
                if let (Groups::Each(_), Write::Plain | Write::InFlight, true) = (&groups, how, as_one) {
                    let in_flight = matches!(how, Write::InFlight);
                    groups = Groups::Each(shadow.write_lanes(who, cells, first, (number, in_flight)));
                }
                for lanes in groups {
                    let (lane, who) = (lanes.trailing_zeros() as usize, who.lanes(lanes));
                    let index = touch.index[lane];
                    for cell in first(lane)..first(lane) + cells {
                        let hazard = match how {
                            Write::Atomic(_) => shadow.atomic(cell, who, number),
                            Write::AtomicStore(_) => shadow
                                .atomic(cell, who, number)
                                .filter(|found| *found != Hazard::Uninitialised),
                            Write::AtomicRead(_) => shadow.atomic_read(cell, who),
                            Write::Plain => shadow.write(cell, who, number, false),
                            Write::InFlight => shadow.write(cell, who, number, true),
                        };
                        found.extend(hazard.map(|hazard| (lanes, index, hazard)));
                    }
                }
            }
            Target::Global(argument) => {
                let Some(shadow) = self.tensor(argument) else { return };
                for lanes in groups {
                    let (index, who) = (touch.index[lanes.trailing_zeros() as usize], who.lanes(lanes));
                    for element in index as usize..index as usize + site.width as usize {
                        let hazard = match how {
                            Write::Atomic(scope) | Write::AtomicStore(scope) => {
                                shadow.atomic(element, who, scope)
                            }
                            Write::AtomicRead(scope) => shadow.atomic_read(element, who, scope),
                            Write::Plain | Write::InFlight => shadow.write(element, who),
                        };
                        found.extend(hazard.map(|hazard| (lanes, element as i64, hazard)));
                    }
                }
            }
            Target::Local { .. } | Target::None => {}
        }
        for (lanes, index, hazard) in found {
            let kind = if matches!(how, Write::AtomicRead(_)) { Kind::Read } else { Kind::Write };
            self.tell((warp, number), (lanes, index), hazard, (kind, equal & lanes == lanes), scene);
        }
    }

    /// Lanes have waited for their asynchronous copies.
    pub(super) fn landed(&mut self, warp: &Warp, lanes: u32, copy: &Pending, scene: &Machine<'_>) {
        let shift = scene.launch.program.granule.trailing_zeros();
        let (who, source) = (scene.clocks.who(warp.number, warp.active), &copy.source);
        for lane in each_lane(lanes) {
            if let Some(shadow) = self.tensor(source.argument)
                && source.open >> lane & 1 != 0
            {
                let first = source.index[lane] as usize;
                let elements = first..first + source.width as usize;
                elements.for_each(|element| shadow.land_read(element, who.lane(lane)));
            }
            let (offset, bytes) = (copy.offsets[lane] as usize, copy.bytes as usize);
            let first = offset >> shift;
            for cell in first..first + (bytes >> shift).max(1) {
                self.shared.land(cell, who.lane(lane), copy.site);
            }
        }
    }
}
