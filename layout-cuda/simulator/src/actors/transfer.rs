//! TMA boxes between tensors and shared memory: issued, in flight, complete.
//!
//! A load reads the tensor at the issue and writes shared memory at completion; in between the shadow marks it as in
//! flight. A store reads shared memory when its thread waits for that read. It writes the tensor when its thread waits
//! for the group, or at the end of the block. Until then shared memory is in use, and the tensor's elements are in
//! flight.
//!
//! Law: a box that is not inside its shared array is not copied.

use super::collectives::changed;
use crate::async_op::{BarrierOperand, BoxOperand};
use crate::bytecode::Target;
use crate::event::{BoxCopy, Event};
use crate::machine::Machine;
use crate::memory::bytes;
use crate::memory::tensor_map::{PIECE, tf32};
use crate::report::FindingKind;
use crate::state::lanes::Direction;
use crate::state::proxy::{Chunk, PendingLoad, PendingStore, SharedCopy};
use crate::state::warp::{State, Warp, each_lane};
use layout_compiler::program::AtomicChange;

impl Machine<'_> {
    /// The address of a lane's box in shared memory, if it is inside its array.
    fn place_box(
        &mut self,
        warp: &Warp,
        copy: &BoxOperand,
        lane: usize,
        direction: Direction,
    ) -> Option<u64> {
        let program = self.launch.program;
        let (site, plan) =
            (&program.sites[copy.shared_site as usize], &program.async_ops.boxes[copy.plan as usize]);
        let Target::Shared(base) = site.target else { return None };
        let index = warp.lanes(copy.shared)[lane];
        let (size, bytes) = (i64::from(site.bytes), plan.bytes() as i64);
        let name = program.names.get(site.place as usize).cloned().unwrap_or_default();
        let end = index.saturating_mul(size).saturating_add(bytes);
        if index < 0 || end > site.len.saturating_mul(size) {
            let what = if direction == Direction::Write { "load" } else { "store" };
            let (len, count) = (site.len, bytes / size);
            self.report(FindingKind::OutOfBounds, copy.shared_site, warp.number, 1 << lane, Some(index), |_| {
                format!("a tensor {what} of {count} elements from element {index} on of `{name}`, which has {len} \
                elements")
            });
            return None;
        }
        let first = (i64::from(base) + index * size) as u64;
        let (alignment, swizzle) = (plan.alignment(), plan.swizzle_bytes);
        if !first.is_multiple_of(alignment) {
            self.report(FindingKind::Misaligned, copy.shared_site, warp.number, 1 << lane, Some(index), |_| {
                format!(
                    "a box with a swizzle over {swizzle} bytes at byte {first} of shared memory, element {index} of \
                     `{name}`; it must be a multiple of {alignment}"
                )
            });
        }
        Some(u64::from(warp.shared) + first)
    }

    /// Reads a box of a tensor.
    fn fetch(
        &mut self,
        warp: &Warp,
        lane: usize,
        copy: &BoxOperand,
        first: u64,
        engine: Option<(usize, u32)>,
    ) -> Vec<Chunk> {
        let program = self.launch.program;
        let plan = &program.async_ops.boxes[copy.plan as usize];
        let coordinates: Vec<i64> = copy.coordinates.iter().map(|at| warp.lanes(*at)[lane]).collect();
        let global = &self.launch.globals[plan.argument as usize];
        let mut pieces = Vec::with_capacity(plan.bytes() as usize / PIECE);
        plan.each(first, &coordinates, |piece| {
            let mut data = [0; PIECE];
            let size = plan.size as usize;
            for element in piece.start..piece.end {
                let byte = piece.global + i64::from(element * plan.size);
                let value = global.read(byte as usize, plan.size);
                let value = if plan.round_tf32 { tf32(value) } else { value };
                bytes::write(&mut data, element as usize * size, plan.size, value);
            }
            pieces.push((piece.address as u32, data));
        });
        self.notify(&Event::BoxRead { warp, copy: BoxCopy::of(copy, first, &coordinates, lane), engine });
        pieces
    }

    /// `tma_load` of each lane.
    pub(crate) fn tensor_load(
        &mut self,
        warp: &mut Warp,
        copy: &BoxOperand,
        barrier: &BarrierOperand,
        multicast: Option<u32>,
    ) {
        let barriers = self.ready(warp, barrier.index, None, barrier.site, Direction::Write);
        let (own, ranks) = (self.rank(warp.number as usize), self.ranks());
        let mask = multicast.unwrap_or(1 << own);
        if u64::from(mask) >> ranks != 0 {
            self.report(FindingKind::OutOfBounds, copy.shared_site, warp.number, warp.active, None, |_| {
                format!("a tensor load to the blocks {mask:#b} of a cluster of {ranks}")
            });
        }
        for rank in (0..ranks).filter(|rank| mask >> rank & 1 != 0) {
            self.notify(&Event::BarrierAccess { warp, site: barrier.site, elements: &barriers, rank });
        }
        for lane in each_lane(barriers.active) {
            let Some(first) = self.place_box(warp, copy, lane, Direction::Write) else { continue };
            // A multicast signals the own block's mbarrier, or the first destination's.
            let signalled = if mask >> own & 1 != 0 { own } else { mask.trailing_zeros() as usize };
            let at = self.barrier_at(signalled, barrier, barriers.index[lane]);
            let engine = self.proxy.barriers.get(at).filter(|known| known.arrivals > 0);
            let engine = engine.map(|known| (self.proxy.barrier_engine(at), known.phase + 1));
            let pieces = self.fetch(warp, lane, copy, first, engine);
            for rank in (0..ranks).filter(|rank| mask >> rank & 1 != 0) {
                let at = self.barrier_at(rank, barrier, barriers.index[lane]);
                let moved = rank as u32 * crate::state::cluster::stride(self.launch.program);
                let shift = |address: u32| address - warp.shared + moved;
                let pieces = pieces.iter().map(|(address, data)| (shift(*address), *data)).collect();
                let bytes = self.launch.program.async_ops.boxes[copy.plan as usize].bytes();
                let copied = SharedCopy {
                    site: copy.shared_site,
                    bytes,
                    size: PIECE,
                    by_threads: false,
                    what: "a tensor load",
                };
                self.issue_load(warp, lane, &copied, (at, barrier.site), pieces);
            }
        }
        // Later work of the warp comes after the issue.
        self.clocks.of(warp.number).tick();
    }

    /// Issues a copy to one block.
    pub(crate) fn issue_load(
        &mut self,
        warp: &Warp,
        lane: usize,
        copy: &SharedCopy,
        (at, barrier_site): (usize, u32),
        pieces: Vec<Chunk>,
    ) {
        let Some(known) = self.proxy.barriers.get(at) else { return };
        let (phase, fenced, made) = (known.phase, known.fenced, known.arrivals > 0);
        // The use of an uninitialised mbarrier is a finding of its own.
        let by_threads = copy.by_threads;
        if made && !fenced && !by_threads {
            let name = self.barrier_name(at);
            self.report(FindingKind::MissingFence, barrier_site, warp.number, 1 << lane, None, |_| {
                format!("a tensor load signals {name}, whose initialisation is not visible to TMA: no fence after it")
            });
        }
        let (engine, time) = (self.proxy.barrier_engine(at), phase + 1);
        self.notify(&Event::LoadIssued { warp, lane, copy, engine: (engine, time), pieces: &pieces });
        self.proxy.pending_loads.push(PendingLoad {
            barrier: made.then_some((at, phase)),
            engine: (engine, time),
            bytes: copy.bytes,
            what: copy.what,
            pieces,
            size: copy.size,
            site: copy.site,
            thread: warp.number * 32 + lane as u32,
            arrival: None,
        });
    }

    /// Completes a load that a warp waits for, or any where it is `eager`; false if there is none. The oldest `skip`
    /// loads stay in flight.
    pub(crate) fn complete_load(&mut self, skip: usize, eager: bool) -> bool {
        let awaited = |at: usize| {
            self.warps
                .iter()
                .any(|warp| matches!(warp.state, State::Phase { barrier, .. } if barrier as usize == at))
        };
        let chosen = |load: &PendingLoad| load.barrier.is_some_and(|(barrier, _)| eager || awaited(barrier));
        let mut loads = self.proxy.pending_loads.iter().enumerate().filter(|(_, load)| chosen(load));
        let next = loads.nth(skip).map(|(at, _)| at);
        let Some(next) = next else { return false };
        let load = self.proxy.pending_loads.remove(next);
        for (address, data) in &load.pieces {
            let at = *address as usize;
            if let Some(part) = self.shared.get_mut(at..at + load.size) {
                part.copy_from_slice(&data[..load.size]);
            }
        }
        let (site, engine, size) = (load.site, load.engine, load.size);
        self.notify(&Event::LoadCompleted { site, engine, pieces: &load.pieces, size });
        match (load.barrier, &load.arrival) {
            (Some((barrier, _)), None) => self.complete_bytes(barrier, load.bytes, load.site),
            (Some((barrier, _)), Some(arrival)) => self.complete_arrival(barrier, arrival),
            (None, _) => {}
        }
        true
    }

    /// `tma_store` of each lane.
    pub(crate) fn tensor_store(&mut self, warp: &mut Warp, copy: &BoxOperand) {
        let number = warp.number as usize;
        for lane in each_lane(warp.active) {
            let Some(shared) = self.place_box(warp, copy, lane, Direction::Read) else { continue };
            let coordinates: Vec<i64> = copy.coordinates.iter().map(|at| warp.lanes(*at)[lane]).collect();
            let engine = self.proxy.store_engine(number);
            self.proxy.issued[number] += 1;
            let time = self.proxy.issued[number];
            let copied = BoxCopy::of(copy, shared, &coordinates, lane);
            self.notify(&Event::BoxStoreIssued { warp, copy: copied, engine: (engine, time) });
            self.proxy.pending_stores.push(PendingStore {
                by: (warp.number, lane as u32),
                group: warp.bulk_committed[lane],
                number: time,
                plan: copy.plan,
                shared,
                coordinates,
                adds: copy.adds,
                data: None,
                sites: (copy.shared_site, copy.global_site),
            });
        }
    }

    /// Completes the stores of each active lane except those of the last `groups` groups.
    pub(crate) fn bulk_wait(&mut self, warp: &mut Warp, groups: u32, read: bool) {
        let mut pending_stores = std::mem::take(&mut self.proxy.pending_stores);
        pending_stores.retain_mut(|store| {
            let (number, lane) = store.by;
            let mine = number == warp.number && warp.active >> lane & 1 != 0;
            let open =
                u64::from(store.group) + u64::from(groups) >= u64::from(warp.bulk_committed[lane as usize]);
            if !mine || open {
                return true;
            }
            self.read_box(store);
            if !read {
                self.write_box(warp, store);
            }
            read
        });
        self.proxy.pending_stores = pending_stores;
        // The lanes acquire the work before the oldest store that has not read shared memory.
        let number = warp.number as usize;
        let unread = |store: &&PendingStore| store.by.0 == warp.number && store.data.is_none();
        let oldest = self.proxy.pending_stores.iter().filter(unread).map(|store| store.number).min();
        let time = oldest.unwrap_or_else(|| self.proxy.issued[number] + 1);
        let engine = self.proxy.store_engine(number) - self.count;
        self.clocks.of(warp.number).acquire(warp.active, |known| known.acquire_engine(engine, time));
    }

    /// Every issued store reads shared memory.
    pub(crate) fn read_boxes(&mut self) {
        let mut pending_stores = std::mem::take(&mut self.proxy.pending_stores);
        pending_stores.iter_mut().for_each(|store| self.read_box(store));
        self.proxy.pending_stores = pending_stores;
    }

    fn read_box(&self, store: &mut PendingStore) {
        if store.data.is_some() {
            return;
        }
        let plan = &self.launch.program.async_ops.boxes[store.plan as usize];
        let mut data = Vec::with_capacity(plan.bytes() as usize / PIECE);
        plan.each(store.shared, &store.coordinates, |piece| {
            let at = piece.address as usize;
            let bytes = self.shared.get(at..at + PIECE).and_then(|bytes| bytes.try_into().ok());
            data.push(bytes.unwrap_or_default());
        });
        store.data = Some(data);
    }

    /// A store writes the tensor; `warp` waits for it.
    fn write_box(&mut self, warp: &Warp, store: &PendingStore) {
        let program = self.launch.program;
        let plan = &program.async_ops.boxes[store.plan as usize];
        let global = &self.launch.globals[plan.argument as usize];
        let data = store.data.as_deref().unwrap_or_default();
        let copy = BoxCopy {
            plan: store.plan,
            sites: store.sites,
            shared: store.shared,
            coordinates: &store.coordinates,
            lane: store.by.1 as usize,
            adds: store.adds.is_some(),
        };
        self.notify(&Event::BoxStoreCompleted { warp, copy, number: store.number, data });
        let mut pieces = data.iter();
        plan.each(store.shared, &store.coordinates, |piece| {
            let Some(bytes) = pieces.next() else { return };
            for element in piece.start..piece.end {
                let byte = (piece.global + i64::from(element * plan.size)) as usize;
                let value = bytes::read(bytes, (element * plan.size) as usize, plan.size);
                match store.adds {
                    None => global.write(byte, plan.size, value),
                    Some(elem) => {
                        global.update(byte, plan.size, |old| changed(AtomicChange::Add, elem, old, value));
                    }
                }
            }
        });
        self.progress = true;
    }

    /// Reports copies in flight at the end of a block.
    pub(crate) fn finish_transfers(&mut self) {
        for load in std::mem::take(&mut self.proxy.pending_loads) {
            // What is in tensor memory by then is reported where that is freed.
            if let Some(arrival) = load.arrival {
                load.barrier.into_iter().for_each(|(barrier, _)| self.complete_arrival(barrier, &arrival));
                continue;
            }
            let (warp, lane) = (load.thread / 32, load.thread % 32);
            let PendingLoad { bytes, what, .. } = load;
            self.report(FindingKind::InFlightAtEnd, load.site, warp, 1 << lane, None, |_| {
                format!("the block ends with {what} of {bytes} bytes in flight")
            });
        }
        let warps = std::mem::take(&mut self.warps);
        for mut store in std::mem::take(&mut self.proxy.pending_stores) {
            let (warp, lane) = store.by;
            if store.data.is_none() {
                self.report(FindingKind::InFlightAtEnd, store.sites.0, warp, 1 << lane, None, |_| {
                    "the block ends with a tensor store in flight, which may not have read shared memory yet: no \
                    `bulk_wait_group_read(0)` after it"
                        .to_owned()
                });
                self.read_box(&mut store);
            }
            if let Some(warp) = warps.get(warp as usize) {
                self.write_box(warp, &store);
            }
        }
        self.warps = warps;
    }
}
