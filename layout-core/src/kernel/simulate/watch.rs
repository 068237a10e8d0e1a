//! Hazards of a warp's accesses, from the shadows to findings.

use super::bytecode::{LANES, Site, Target};
use super::machine::Machine;
use super::report::FindingKind;
use super::shadow::Hazard;
use super::strands::Strands;
use super::touch::{Kind, Touch};
use super::warp::{Warp, coordinates, each_lane};
use crate::kernel::program::Scope;

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
    /// Not at all: an undivided read, which may meet undivided writes.
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

impl Machine<'_> {
    /// Looks for hazards of a read.
    pub(super) fn watch_reads(&mut self, warp: &Warp, site: &Site, number: u32, touch: &Touch) {
        self.watch_reads_of(warp, site, number, touch, false);
    }

    /// Likewise, of one that is done later where it is `in_flight`.
    pub(super) fn watch_reads_of(
        &mut self,
        warp: &Warp,
        site: &Site,
        number: u32,
        touch: &Touch,
        in_flight: bool,
    ) {
        if !self.launch.program.findings {
            return;
        }
        let who = self.clocks.who(warp.number, touch.open);
        let mut found: Vec<(u32, i64, Hazard)> = Vec::new();
        let strands = &self.clocks.warps[warp.number as usize];
        match site.target {
            Target::Shared(base) => {
                // A cell takes lanes one by one as well.
                let groups = match touch.uniform {
                    true => together(strands, touch),
                    false => Groups::Each(touch.open),
                };
                let base = base + warp.shared;
                let Some(shadow) = &mut self.shadow else { return };
                let shift = self.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                for lanes in groups {
                    let (index, who) = (touch.index[lanes.trailing_zeros() as usize], who.lanes(lanes));
                    let first = (i64::from(base) + index * i64::from(site.bytes)) as usize >> shift;
                    for cell in first..first + cells {
                        if let Some(hazard) = shadow.read(cell, who) {
                            found.push((lanes, index, hazard));
                        }
                    }
                }
            }
            Target::Global(argument) => {
                let Some(shadow) = self.launch.shadows.get(argument as usize).and_then(Option::as_ref) else {
                    return;
                };
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
            self.hazard(warp, number, lanes, index, hazard, Kind::Read, false);
        }
    }

    /// Looks for hazards of a write, and says whether there are any; `equal` holds the lanes that write what was there
    /// before.
    pub(super) fn watch_writes(
        &mut self,
        warp: &Warp,
        site: &Site,
        number: u32,
        touch: &Touch,
        equal: u32,
        how: Write,
    ) -> bool {
        if !self.launch.program.findings {
            return false;
        }
        let who = self.clocks.who(warp.number, touch.open);
        let mut found: Vec<(u32, i64, Hazard)> = Vec::new();
        // Plain writes of several lanes to one element are a race among them.
        let groups = match how {
            Write::Plain | Write::InFlight => Groups::Each(touch.open),
            Write::Atomic(_) | Write::AtomicStore(_) | Write::AtomicRead(_) => {
                together(&self.clocks.warps[warp.number as usize], touch)
            }
        };
        match site.target {
            Target::Shared(base) => {
                let base = base + warp.shared;
                let Some(shadow) = &mut self.shadow else { return false };
                let shift = self.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                for lanes in groups {
                    let (index, who) = (touch.index[lanes.trailing_zeros() as usize], who.lanes(lanes));
                    let first = (i64::from(base) + index * i64::from(site.bytes)) as usize >> shift;
                    for cell in first..first + cells {
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
                let Some(shadow) = self.launch.shadows.get(argument as usize).and_then(Option::as_ref) else {
                    return false;
                };
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
        let any = !found.is_empty();
        for (lanes, index, hazard) in found {
            let kind = if matches!(how, Write::AtomicRead(_)) { Kind::Read } else { Kind::Write };
            self.hazard(warp, number, lanes, index, hazard, kind, equal & lanes == lanes);
        }
        any
    }

    #[expect(clippy::too_many_arguments, reason = "a record of one call would be read once")]
    pub(super) fn hazard(
        &mut self,
        warp: &Warp,
        number: u32,
        lanes: u32,
        index: i64,
        hazard: Hazard,
        kind: Kind,
        equal: bool,
    ) {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        // Of another block's shared memory the index counts through the cluster.
        let index = match site.rank {
            Some(_) => index.rem_euclid(i64::from(super::cluster::stride(program) / site.bytes)),
            None => index,
        };
        let name = program.names.get(site.place as usize);
        let name = name.map_or("", String::as_str);
        // Of the lanes that access it together the one that wrote is not wrong.
        let lanes = match hazard {
            Hazard::Writer { thread, .. } | Hazard::Reader { thread: Some(thread) }
                if thread / LANES as u32 == warp.number && lanes & (lanes - 1) != 0 =>
            {
                lanes & !(1 << (thread % LANES as u32))
            }
            _ => lanes,
        };
        if matches!(site.target, Target::Shared(_)) {
            self.causes(warp, number, (lanes, index), hazard, kind);
        }
        let thread = |number: u32| self.actor(number);
        let engine = |number: u32| number as usize / LANES >= self.count;
        let what = if kind == Kind::Read { "read" } else { "write" };
        let written = if equal { FindingKind::EqualWrites } else { FindingKind::WriteWriteRace };
        let race = if kind == Kind::Read { FindingKind::ReadWriteRace } else { written };
        let (found, message) = match hazard {
            Hazard::Uninitialised => (
                FindingKind::Uninitialised,
                format!("read of element {index} of `{name}`, which no thread has written"),
            ),
            Hazard::InFlight => (
                FindingKind::MissingWait,
                format!(
                    "{what} of element {index} of `{name}` while an asynchronous copy to it is in flight"
                ),
            ),
            Hazard::Writer { thread: other, site } if engine(other) => {
                let line = program.sites.get(site as usize).map_or(0, |site| site.line);
                let message = format!(
                    "{what} of element {index} of `{name}`, which {} writes in line {line}; no wait for it stands between",
                    thread(other)
                );
                (FindingKind::MissingWait, message)
            }
            Hazard::Reader { thread: Some(other) } if engine(other) => {
                let message = format!(
                    "{what} of element {index} of `{name}`, which {} may have yet to read; no wait for it stands between",
                    thread(other)
                );
                (FindingKind::MissingWait, message)
            }
            Hazard::Copied { thread: other } => (
                FindingKind::MissingWait,
                format!(
                    "{what} of element {index} of `{name}`, which an asynchronous copy of {} may have yet to read; no wait of \
                     that thread stands between",
                    thread(other)
                ),
            ),
            Hazard::Narrow { block } => {
                self.crossed = true;
                let who = self.block_name(block);
                let message = format!(
                    "an atomic {what} of element {index} of `{name}`, which {who} accesses by one too; one of the two is of \
                     the block's scope, which is nothing between blocks: say the device's scope"
                );
                (race, message)
            }
            // Of shared memory, the asynchronous proxy's own.
            Hazard::Unfenced { .. } => return,
            Hazard::Hidden { block } => {
                let who = self.block_name(Some(block));
                let message = format!(
                    "{what} of element {index} of `{name}` by TMA, which a thread of {who} writes without \
                     `fence_async_proxy_global()` after it"
                );
                (FindingKind::MissingFence, message)
            }
            Hazard::Writer { thread: other, site } => {
                let line = program.sites.get(site as usize).map_or(0, |site| site.line);
                let place = if site != 0 { format!(" in line {line}") } else { String::new() };
                let message = format!(
                    "{what} of element {index} of `{name}`, which {} writes{place}; no barrier stands between",
                    thread(other)
                );
                (race, message)
            }
            Hazard::Reader { thread: other } => {
                let who = other.map_or_else(|| "several threads".to_owned(), thread);
                let verb = if other.is_some() { "reads" } else { "read" };
                let message = format!(
                    "{what} of element {index} of `{name}`, which {who} {verb}; no barrier stands between"
                );
                (FindingKind::ReadWriteRace, message)
            }
            Hazard::OtherBlock { block, wrote } => {
                self.crossed = true;
                let who = self.block_name(block);
                let verb = if wrote { "write" } else { "read" };
                let ending = if block.is_some() { "s" } else { "" };
                let found = if wrote { race } else { FindingKind::ReadWriteRace };
                let message = format!(
                    "{what} of element {index} of `{name}`, which {who} {verb}{ending}; nothing orders the blocks"
                );
                (found, message)
            }
        };
        self.report(found, number, warp.number, lanes, Some(index), |_| message);
    }

    /// Keeps a read in mind of what nobody has written; if a write comes that nothing orders with it, that is its cause: on a
    /// GPU the write may be first.
    fn causes(&mut self, warp: &Warp, number: u32, (lanes, index): (u32, i64), hazard: Hazard, kind: Kind) {
        /// Reads of a cluster that are kept.
        const MOST: usize = 4096;
        let program = self.launch.program;
        let known = &program.sites[number as usize];
        let key = (self.rank(warp.number as usize), known.place, index);
        match hazard {
            Hazard::Uninitialised if self.early.len() < MOST => {
                self.early.entry(key).or_insert(number);
            }
            Hazard::Reader { .. } if kind == Kind::Write => {
                let Some(read) = self.early.remove(&key) else { return };
                let name = program.names.get(known.place as usize).map_or("", String::as_str);
                let message = format!(
                    "read of element {index} of `{name}`, which {} writes in line {}; no barrier stands between",
                    self.actor(warp.number * LANES as u32 + lanes.trailing_zeros().min(31)),
                    known.line
                );
                self.findings.explain(
                    (FindingKind::Uninitialised, read),
                    FindingKind::ReadWriteRace,
                    message,
                );
            }
            _ => {}
        }
    }

    fn block_name(&self, block: Option<u64>) -> String {
        block.map_or_else(
            || "other blocks".to_owned(),
            |block| {
                let [x, y, z] = coordinates(block, self.launch.grid);
                format!("block ({x}, {y}, {z})")
            },
        )
    }
}
