//! Hazards of a warp's accesses, from the shadows to findings.

use super::bytecode::{LANES, Site, Target};
use super::machine::Machine;
use super::report::FindingKind;
use super::shadow::{Hazard, Who};
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

impl Machine<'_> {
    /// Looks for hazards of a read.
    pub(super) fn watch_reads(&mut self, warp: &Warp, site: &Site, number: u32, touch: &Touch) {
        let count = self.count;
        let clocks = &self.clocks[warp.number as usize * count..(warp.number as usize + 1) * count];
        let who = Who::new(warp.number, clocks).seeing(self.proxy.row(warp.number as usize), &self.blocks);
        let who = who.knowing(self.known.get(warp.number as usize));
        let mut found: Vec<(usize, i64, Hazard)> = Vec::new();
        match site.target {
            Target::Shared(base) => {
                let base = base + warp.shared;
                let Some(shadow) = &mut self.shadow else { return };
                let shift = self.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                let cell = |index: i64| (i64::from(base) + index * i64::from(site.bytes)) as usize >> shift;
                if touch.uniform && touch.open.count_ones() > 1 {
                    let lane = touch.open.trailing_zeros();
                    let index = touch.index[lane as usize];
                    for part in 0..cells {
                        if let Some(hazard) =
                            shadow.read_by_all(cell(index) + part, touch.open, who.lane(lane as usize))
                        {
                            found.push((lane as usize, index, hazard));
                        }
                    }
                } else {
                    for lane in each_lane(touch.open) {
                        let index = touch.index[lane];
                        for part in 0..cells {
                            if let Some(hazard) = shadow.read(cell(index) + part, who.lane(lane)) {
                                found.push((lane, index, hazard));
                            }
                        }
                    }
                }
            }
            Target::Global(argument) => {
                let Some(shadow) = self.launch.shadows.get(argument as usize).and_then(Option::as_ref) else {
                    return;
                };
                for lane in each_lane(touch.open) {
                    for part in 0..site.width as usize {
                        let element = touch.index[lane] as usize + part;
                        if let Some(hazard) = shadow.read(element, warp.block, who.lane(lane)) {
                            found.push((lane, element as i64, hazard));
                        }
                    }
                }
            }
            Target::Local { .. } | Target::None => {}
        }
        for (lane, index, hazard) in found {
            self.hazard(warp, number, lane, index, hazard, Kind::Read, false);
        }
    }

    /// Looks for hazards of a write; `equal` holds the lanes that write what was there before.
    pub(super) fn watch_writes(
        &mut self,
        warp: &Warp,
        site: &Site,
        number: u32,
        touch: &Touch,
        equal: u32,
        how: Write,
    ) {
        let count = self.count;
        let clocks = &self.clocks[warp.number as usize * count..(warp.number as usize + 1) * count];
        let who = Who::new(warp.number, clocks).seeing(self.proxy.row(warp.number as usize), &self.blocks);
        let who = who.knowing(self.known.get(warp.number as usize));
        let mut found: Vec<(usize, i64, Hazard)> = Vec::new();
        match site.target {
            Target::Shared(base) => {
                let base = base + warp.shared;
                let Some(shadow) = &mut self.shadow else { return };
                let shift = self.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                for lane in each_lane(touch.open) {
                    let index = touch.index[lane];
                    let first = (i64::from(base) + index * i64::from(site.bytes)) as usize >> shift;
                    for cell in first..first + cells {
                        let who = who.lane(lane);
                        let hazard = match how {
                            Write::Atomic(_) => shadow.atomic(cell, who, number),
                            Write::AtomicStore(_) => shadow
                                .atomic(cell, who, number)
                                .filter(|found| *found != Hazard::Uninitialised),
                            Write::AtomicRead(_) => shadow.atomic_read(cell, who),
                            Write::Plain => shadow.write(cell, who, number, false),
                            Write::InFlight => shadow.write(cell, who, number, true),
                        };
                        found.extend(hazard.map(|hazard| (lane, index, hazard)));
                    }
                }
            }
            Target::Global(argument) => {
                let Some(shadow) = self.launch.shadows.get(argument as usize).and_then(Option::as_ref) else {
                    return;
                };
                for lane in each_lane(touch.open) {
                    for part in 0..site.width as usize {
                        let element = touch.index[lane] as usize + part;
                        let who = who.lane(lane);
                        let hazard = match how {
                            Write::Atomic(scope) | Write::AtomicStore(scope) => {
                                shadow.atomic(element, warp.block, who, scope)
                            }
                            Write::AtomicRead(scope) => shadow.atomic_read(element, warp.block, who, scope),
                            Write::Plain | Write::InFlight => shadow.write(element, warp.block, who),
                        };
                        found.extend(hazard.map(|hazard| (lane, element as i64, hazard)));
                    }
                }
            }
            Target::Local { .. } | Target::None => {}
        }
        for (lane, index, hazard) in found {
            let kind = if matches!(how, Write::AtomicRead(_)) { Kind::Read } else { Kind::Write };
            self.hazard(warp, number, lane, index, hazard, kind, equal >> lane & 1 != 0);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a record of one call would be read once")]
    pub(super) fn hazard(
        &mut self,
        warp: &Warp,
        number: u32,
        lane: usize,
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
                    "{what} of element {index} of `{name}` by the copy engine, which a thread of {who} writes without \
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
        self.report(found, number, warp.number, 1 << lane, Some(index), |_| message);
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
