//! Loads, stores and asynchronous copies of a warp: range, alignment, races, counts, and the bytes themselves.
//!
//! Law: an element outside of its place is never touched; it reads as the access's pad.

use super::bytecode::{Bank, FULL, LANES, Site, Sum, Target};
use super::machine::Machine;
use super::memory;
use super::report::FindingKind;
use super::shadow::{Hazard, Who};
use super::traffic;
use super::warp::{Pending, Warp, coordinates, each_lane, put};

/// One access of a warp, ready: where each lane goes.
struct Touch {
    /// The first element of each lane.
    index: [i64; LANES],
    /// The lanes that touch memory.
    open: u32,
    /// Whether all lanes go to the same element.
    uniform: bool,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

impl Machine<'_> {
    /// The lanes that touch memory, after range and alignment.
    fn ready(&mut self, warp: &Warp, address: Sum, mask: Option<u32>, number: u32, kind: Kind) -> Touch {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let index = warp.lanes(address);
        let mut open = warp.open(mask);
        let width = i64::from(site.width);
        let masked = warp.active & !open;
        if site.direct && masked != 0 {
            self.out_of_bounds(warp, site, number, masked, &index, kind);
        }
        let last = site.len - width;
        // One comparison for all lanes first: as an unsigned number a negative index is beyond any length.
        let highest = index.iter().fold(0, |highest, index| highest.max(*index as u64));
        if last < 0 || highest > last as u64 {
            let mut outside = 0;
            for lane in each_lane(open) {
                outside |= u32::from(index[lane] < 0 || index[lane] > last) << lane;
            }
            if outside != 0 {
                self.out_of_bounds(warp, site, number, outside, &index, kind);
                open &= !outside;
            }
        }
        if site.width > 1 && open != 0 {
            self.aligned(warp, site, number, open, &index);
        }
        Touch { index, open, uniform: address.uniform() }
    }

    fn out_of_bounds(
        &mut self,
        warp: &Warp,
        site: &Site,
        number: u32,
        lanes: u32,
        index: &[i64; LANES],
        kind: Kind,
    ) {
        let first = index[lanes.trailing_zeros() as usize];
        let name = self.launch.program.names.get(site.place as usize);
        self.report(FindingKind::OutOfBounds, number, warp.number, lanes, Some(first), |_| {
            let name = name.map_or("", String::as_str);
            let what = if kind == Kind::Read { "read" } else { "write" };
            let (len, last) = (site.len, first.saturating_add(i64::from(site.width) - 1));
            if first >= 0 && last < len {
                format!("{what} of `{name}` outside of its extents (it would be element {first} in memory)")
            } else {
                format!("{what} of element {first} of `{name}`, which has {len}")
            }
        });
    }

    /// Reports lanes whose vector does not lie at a multiple of its bytes.
    fn aligned(&mut self, warp: &Warp, site: &Site, number: u32, open: u32, index: &[i64; LANES]) {
        let bytes = i64::from(site.width * site.bytes);
        let base = match site.target {
            Target::Shared(offset) => i64::from(offset),
            Target::Global(_) | Target::Local { .. } | Target::None => 0,
        };
        let weak = matches!(site.target, Target::Global(_)) && i64::from(site.align) % bytes != 0;
        let mut wrong = 0;
        for (lane, index) in index.iter().enumerate() {
            wrong |= u32::from(weak || index.wrapping_mul(site.bytes.into()).wrapping_add(base) % bytes != 0)
                << lane;
        }
        wrong &= open;
        if wrong == 0 {
            return;
        }
        let first = index[wrong.trailing_zeros() as usize];
        let name = self.launch.program.names.get(site.place as usize);
        self.report(FindingKind::Misaligned, number, warp.number, wrong, Some(first), |_| {
            let name = name.map_or("", String::as_str);
            format!(
                "an access of {bytes} bytes at element {first} of `{name}`, whose first element is aligned to {} bytes",
                site.align
            )
        });
    }

    /// Loads `width` elements of each lane into consecutive registers.
    pub fn load(&mut self, warp: &mut Warp, dst: u32, address: Sum, mask: Option<u32>, number: u32) {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let touch = self.ready(warp, address, mask, number, Kind::Read);
        self.watch(warp, site, number, &touch, Kind::Read);
        self.count(site, number, &touch, Kind::Read);
        let bank = Bank::of(site.elem);
        for part in 0..site.width {
            let mut raw = [site.pad; LANES];
            match site.target {
                Target::Shared(base) => {
                    let byte = |lane: usize| {
                        base as usize + (touch.index[lane] as usize + part as usize) * site.bytes as usize
                    };
                    let shared = &self.shared[..];
                    match site.bytes {
                        4 => gather(&mut raw, &touch, |lane| memory::read(shared, byte(lane), 4)),
                        size => gather(&mut raw, &touch, |lane| memory::read(shared, byte(lane), size)),
                    }
                }
                Target::Global(argument) => {
                    let global = &self.launch.globals[argument as usize];
                    let byte =
                        |lane: usize| (touch.index[lane] as usize + part as usize) * site.bytes as usize;
                    match site.bytes {
                        4 => gather(&mut raw, &touch, |lane| global.read(byte(lane), 4)),
                        size => gather(&mut raw, &touch, |lane| global.read(byte(lane), size)),
                    }
                }
                Target::Local { .. } | Target::None => {}
            }
            let register = (dst + part) as usize;
            match bank {
                Some(Bank::F32) => {
                    put(&mut warp.f32[register], &raw.map(|bits| f32::from_bits(bits as u32)), warp.active);
                }
                Some(Bank::F64) => put(&mut warp.f64[register], &raw.map(f64::from_bits), warp.active),
                Some(Bank::Int) => {
                    let value = raw.map(|bits| super::arithmetic::wrap(bits as i64, site.elem));
                    put(&mut warp.int[register], &value, warp.active);
                }
                Some(Bank::Mask) => {
                    let bits = (0..LANES).fold(0, |bits, lane| bits | u32::from(raw[lane] != 0) << lane);
                    warp.put_mask(register as u32, bits);
                }
                None => {}
            }
        }
    }

    /// Stores `width` elements of each lane from consecutive registers.
    pub fn store(&mut self, warp: &mut Warp, src: u32, address: Sum, mask: Option<u32>, number: u32) {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let touch = self.ready(warp, address, mask, number, Kind::Write);
        let mut equal = u32::MAX;
        for part in 0..site.width {
            let register = (src + part) as usize;
            let raw: [u64; LANES] = match Bank::of(site.elem) {
                Some(Bank::F32) => warp.f32[register].map(|value| u64::from(value.to_bits())),
                Some(Bank::F64) => warp.f64[register].map(f64::to_bits),
                Some(Bank::Int) => warp.int[register].map(|value| value as u64),
                Some(Bank::Mask) => std::array::from_fn(|lane| u64::from(warp.mask[register] >> lane & 1)),
                None => [0; LANES],
            };
            let size = site.bytes;
            let low = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
            for lane in each_lane(touch.open) {
                let byte = (touch.index[lane] as usize + part as usize) * size as usize;
                match site.target {
                    Target::Shared(base) => {
                        let byte = base as usize + byte;
                        let old = memory::read(&self.shared, byte, size);
                        equal &= !(u32::from(old != raw[lane] & low) << lane);
                        memory::write(&mut self.shared, byte, size, raw[lane]);
                    }
                    Target::Global(argument) => {
                        let global = &self.launch.globals[argument as usize];
                        if program.findings {
                            equal &= !(u32::from(global.read(byte, size) != raw[lane] & low) << lane);
                        }
                        global.write(byte, size, raw[lane]);
                    }
                    Target::Local { .. } | Target::None => {}
                }
            }
        }
        self.watch_writes(warp, site, number, &touch, equal, false);
        self.count(site, number, &touch, Kind::Write);
    }

    /// Looks for hazards of a read, or of a write that no lane's value is known of.
    fn watch(&mut self, warp: &Warp, site: &Site, number: u32, touch: &Touch, kind: Kind) {
        if kind == Kind::Write {
            return self.watch_writes(warp, site, number, touch, 0, false);
        }
        let count = self.count;
        let clocks = &self.clocks[warp.number as usize * count..(warp.number as usize + 1) * count];
        let mut found: Vec<(usize, i64, Hazard)> = Vec::new();
        match site.target {
            Target::Shared(base) => {
                let Some(shadow) = &mut self.shadow else { return };
                let shift = self.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                let cell = |index: i64| (i64::from(base) + index * i64::from(site.bytes)) as usize >> shift;
                if touch.uniform && touch.open.count_ones() > 1 {
                    let lane = touch.open.trailing_zeros();
                    let who = Who { warp: warp.number, lane, clocks };
                    let index = touch.index[lane as usize];
                    for part in 0..cells {
                        if let Some(hazard) = shadow.read_by_all(cell(index) + part, touch.open, who) {
                            found.push((lane as usize, index, hazard));
                        }
                    }
                } else {
                    for lane in each_lane(touch.open) {
                        let who = Who { warp: warp.number, lane: lane as u32, clocks };
                        let index = touch.index[lane];
                        for part in 0..cells {
                            if let Some(hazard) = shadow.read(cell(index) + part, who) {
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
                    let who = Who { warp: warp.number, lane: lane as u32, clocks };
                    for part in 0..site.width as usize {
                        let element = touch.index[lane] as usize + part;
                        if let Some(hazard) = shadow.read(element, self.block, who) {
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
    fn watch_writes(
        &mut self,
        warp: &Warp,
        site: &Site,
        number: u32,
        touch: &Touch,
        equal: u32,
        in_flight: bool,
    ) {
        let count = self.count;
        let clocks = &self.clocks[warp.number as usize * count..(warp.number as usize + 1) * count];
        let mut found: Vec<(usize, i64, Hazard)> = Vec::new();
        match site.target {
            Target::Shared(base) => {
                let Some(shadow) = &mut self.shadow else { return };
                let shift = self.launch.program.granule.trailing_zeros();
                let cells = ((site.width * site.bytes) >> shift).max(1) as usize;
                for lane in each_lane(touch.open) {
                    let who = Who { warp: warp.number, lane: lane as u32, clocks };
                    let index = touch.index[lane];
                    let first = (i64::from(base) + index * i64::from(site.bytes)) as usize >> shift;
                    for cell in first..first + cells {
                        if let Some(hazard) = shadow.write(cell, who, number, in_flight) {
                            found.push((lane, index, hazard));
                        }
                    }
                }
            }
            Target::Global(argument) => {
                let Some(shadow) = self.launch.shadows.get(argument as usize).and_then(Option::as_ref) else {
                    return;
                };
                for lane in each_lane(touch.open) {
                    let who = Who { warp: warp.number, lane: lane as u32, clocks };
                    for part in 0..site.width as usize {
                        let element = touch.index[lane] as usize + part;
                        if let Some(hazard) = shadow.write(element, self.block, who) {
                            found.push((lane, element as i64, hazard));
                        }
                    }
                }
            }
            Target::Local { .. } | Target::None => {}
        }
        for (lane, index, hazard) in found {
            self.hazard(warp, number, lane, index, hazard, Kind::Write, equal >> lane & 1 != 0);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a record of one call would be read once")]
    fn hazard(
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
        let name = program.names.get(program.sites[number as usize].place as usize);
        let name = name.map_or("", String::as_str);
        let (grid, extents) = (self.launch.grid, self.launch.block);
        let thread = |number: u32| {
            let [x, y, z] = coordinates(u64::from(number), extents);
            format!("thread ({x}, {y}, {z})")
        };
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
                let who = block.map_or_else(
                    || "other blocks".to_owned(),
                    |block| {
                        let [x, y, z] = coordinates(block, grid);
                        format!("block ({x}, {y}, {z})")
                    },
                );
                let verb = if wrote { "write" } else { "read" };
                let ending = if block.is_some() { "s" } else { "" };
                let found = if wrote { race } else { FindingKind::ReadWriteRace };
                let message = format!(
                    "{what} of element {index} of `{name}`, which {who} {verb}{ending}; blocks are not ordered"
                );
                (found, message)
            }
        };
        self.report(found, number, warp.number, 1 << lane, Some(index), |_| message);
    }

    fn count(&mut self, site: &Site, number: u32, touch: &Touch, kind: Kind) {
        if !self.launch.counters || touch.open == 0 {
            return;
        }
        let bytes = u64::from(site.width * site.bytes);
        let moved = bytes * u64::from(touch.open.count_ones());
        let counts = &mut self.sites[number as usize];
        match site.target {
            Target::Global(_) => {
                counts.global_requests += 1;
                match kind {
                    Kind::Read => counts.global_bytes_read += moved,
                    Kind::Write => counts.global_bytes_written += moved,
                }
                let offsets = touch.index.map(|index| (index as u64).wrapping_mul(site.bytes.into()));
                counts.global_sectors +=
                    if touch.uniform { 1 } else { traffic::sectors(&offsets, touch.open, bytes) };
            }
            Target::Shared(base) => {
                counts.shared_requests += 1;
                match kind {
                    Kind::Read => counts.shared_bytes_read += moved,
                    Kind::Write => counts.shared_bytes_written += moved,
                }
                let offsets = touch.index.map(|index| {
                    u64::from(base).wrapping_add((index as u64).wrapping_mul(site.bytes.into()))
                });
                let (passes, ideal) = traffic::wavefronts(&offsets, touch.open, bytes);
                counts.shared_wavefronts += passes;
                counts.bank_conflicts += passes - ideal;
            }
            Target::Local { .. } | Target::None => {}
        }
    }

    /// Reads a local array at an index of each lane.
    pub fn local_load(&mut self, warp: &mut Warp, dst: u32, index: Sum, mask: Option<u32>, number: u32) {
        let site = &self.launch.program.sites[number as usize];
        let Target::Local { register, slot } = site.target else { return };
        let touch = self.ready(warp, index, mask, number, Kind::Read);
        let element = |lane: usize| touch.index[lane] as usize;
        let mut missing = 0;
        for lane in each_lane(touch.open) {
            missing |= (!warp.initialised[slot as usize + element(lane)] >> lane & 1) << lane;
        }
        if missing != 0 && self.launch.program.findings {
            let first = touch.index[missing.trailing_zeros() as usize];
            self.uninitialised(warp, slot + first as u32, number, missing);
        }
        let (from, to) = (register as usize, dst as usize);
        let mut raw = [site.pad; LANES];
        match Bank::of(site.elem) {
            Some(Bank::F32) => {
                gather(&mut raw, &touch, |lane| warp.f32[from + element(lane)][lane].to_bits().into());
                put(&mut warp.f32[to], &raw.map(|bits| f32::from_bits(bits as u32)), warp.active);
            }
            Some(Bank::F64) => {
                gather(&mut raw, &touch, |lane| warp.f64[from + element(lane)][lane].to_bits());
                put(&mut warp.f64[to], &raw.map(f64::from_bits), warp.active);
            }
            Some(Bank::Int) => {
                gather(&mut raw, &touch, |lane| warp.int[from + element(lane)][lane] as u64);
                let value = raw.map(|bits| super::arithmetic::wrap(bits as i64, site.elem));
                put(&mut warp.int[to], &value, warp.active);
            }
            Some(Bank::Mask) => {
                gather(&mut raw, &touch, |lane| u64::from(warp.mask[from + element(lane)] >> lane & 1));
                let bits = (0..LANES).fold(0, |bits, lane| bits | u32::from(raw[lane] != 0) << lane);
                warp.put_mask(dst, bits);
            }
            None => {}
        }
    }

    /// Writes a local array at an index of each lane.
    pub fn local_store(&mut self, warp: &mut Warp, src: u32, index: Sum, mask: Option<u32>, number: u32) {
        let site = &self.launch.program.sites[number as usize];
        let Target::Local { register, slot } = site.target else { return };
        let touch = self.ready(warp, index, mask, number, Kind::Write);
        let (to, from) = (register as usize, src as usize);
        for lane in each_lane(touch.open) {
            let element = touch.index[lane] as usize;
            match Bank::of(site.elem) {
                Some(Bank::F32) => warp.f32[to + element][lane] = warp.f32[from][lane],
                Some(Bank::F64) => warp.f64[to + element][lane] = warp.f64[from][lane],
                Some(Bank::Int) => warp.int[to + element][lane] = warp.int[from][lane],
                Some(Bank::Mask) => {
                    let bit = warp.mask[from] & 1 << lane;
                    warp.mask[to + element] = warp.mask[to + element] & !(1 << lane) | bit;
                }
                None => {}
            }
            warp.initialised[slot as usize + element] |= 1 << lane;
        }
    }

    /// A read of a tracked register that is not initialised in some lanes.
    pub fn uninitialised(&mut self, warp: &Warp, slot: u32, number: u32, lanes: u32) {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let (message, index) = match site.target {
            Target::Local { slot: first, .. } => {
                let index = i64::from(slot) - i64::from(first);
                let name = program.names.get(site.place as usize).map_or("", String::as_str);
                (
                    format!("read of element {index} of `{name}`, which the thread has not written"),
                    Some(index),
                )
            }
            Target::Global(_) | Target::Shared(_) | Target::None => {
                ("read of a variable that the thread has not set".to_owned(), None)
            }
        };
        self.report(FindingKind::Uninitialised, number, warp.number, lanes, index, |_| message);
    }

    /// Issues `cp.async`: the source is read now, the destination is in flight until the wait.
    pub fn copy_async(
        &mut self,
        warp: &mut Warp,
        (destination, destination_site): (Sum, u32),
        (source, source_site): (Sum, u32),
        mask: Option<u32>,
    ) {
        let program = self.launch.program;
        let (to, from) = (&program.sites[destination_site as usize], &program.sites[source_site as usize]);
        let (Target::Shared(base), Target::Global(argument)) = (to.target, from.target) else { return };
        let read = self.ready(warp, source, mask, source_site, Kind::Read);
        self.watch(warp, from, source_site, &read, Kind::Read);
        self.count(from, source_site, &read, Kind::Read);
        let written = self.ready(warp, destination, None, destination_site, Kind::Write);
        self.watch_writes(warp, to, destination_site, &written, 0, true);
        self.count(to, destination_site, &written, Kind::Write);
        let mut pending = Pending {
            lanes: written.open,
            groups: warp.committed,
            offsets: [0; LANES],
            data: [[0; 16]; LANES],
            bytes: to.width * to.bytes,
            site: destination_site,
        };
        let global = &self.launch.globals[argument as usize];
        for lane in each_lane(written.open) {
            pending.offsets[lane] = base + written.index[lane] as u32 * to.bytes;
            if read.open >> lane & 1 == 0 {
                continue;
            }
            for part in 0..from.width {
                let byte = (read.index[lane] as usize + part as usize) * from.bytes as usize;
                let bits = global.read(byte, from.bytes);
                memory::write(&mut pending.data[lane], (part * from.bytes) as usize, from.bytes, bits);
            }
        }
        warp.pending.push(pending);
    }

    /// Lands the copies of all but the last `groups` groups of each active lane.
    pub fn wait(&mut self, warp: &mut Warp, groups: u32) {
        let count = self.count;
        let clocks = &self.clocks[warp.number as usize * count..(warp.number as usize + 1) * count];
        let shift = self.launch.program.granule.trailing_zeros();
        let (active, committed, number) = (warp.active, warp.committed, warp.number);
        for pending in &mut warp.pending {
            for lane in each_lane(pending.lanes & active) {
                if u64::from(pending.groups[lane]) + u64::from(groups) >= u64::from(committed[lane]) {
                    continue;
                }
                pending.lanes &= !(1 << lane);
                let (offset, bytes) = (pending.offsets[lane] as usize, pending.bytes as usize);
                if let Some(part) = self.shared.get_mut(offset..offset + bytes) {
                    part.copy_from_slice(&pending.data[lane][..bytes]);
                }
                if let Some(shadow) = &mut self.shadow {
                    let who = Who { warp: number, lane: lane as u32, clocks };
                    let first = offset >> shift;
                    for cell in first..first + (bytes >> shift).max(1) {
                        shadow.land(cell, who, pending.site);
                    }
                }
            }
        }
        warp.pending.retain(|pending| pending.lanes != 0);
    }
}

/// Fills the open lanes.
#[inline]
fn gather(raw: &mut [u64; LANES], touch: &Touch, read: impl Fn(usize) -> u64) {
    if touch.uniform && touch.open != 0 {
        let value = read(touch.open.trailing_zeros() as usize);
        put(raw, &[value; LANES], touch.open);
    } else if touch.open == FULL {
        *raw = std::array::from_fn(read);
    } else {
        for lane in each_lane(touch.open) {
            raw[lane] = read(lane);
        }
    }
}
