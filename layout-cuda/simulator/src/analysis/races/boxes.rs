//! Accesses of TMA and wgmma to shared memory and tensors, and their mbarriers.
//!
//! Law: an element of a tensor is in flight from the issue of a store to the wait of the issuing thread. Its hazards
//! are reported when it is written.

use super::{Hazard, RaceState};
use crate::async_op::MatrixOperand;
use crate::bytecode::Target;
use crate::event::BoxCopy;
use crate::machine::Machine;
use crate::memory::bytes;
use crate::memory::tensor_map::PIECE;
use crate::state::cluster;
use crate::state::lanes::{Direction, LaneElements};
use crate::state::proxy::{Chunk, SharedCopy};
use crate::state::warp::{Warp, each_lane};

impl RaceState<'_> {
    /// Checks that the initialisation of an mbarrier happens-before its use.
    pub(super) fn barrier_access(
        &mut self,
        warp: &Warp,
        number: u32,
        elements: &LaneElements,
        rank: usize,
        machine: &Machine<'_>,
    ) {
        let program = machine.launch.program;
        let accessor = machine.clocks.accessor(warp.number, elements.active);
        let site = &program.sites[number as usize];
        let Target::Shared(base) = site.target else { return };
        let hazard = each_lane(elements.active).find_map(|lane| {
            let base = base + rank as u32 * cluster::stride(program);
            let address = u64::from(base) + elements.index[lane] as u64 * u64::from(site.bytes);
            let cell = machine.cells(address, 1).start;
            self.shared
                .last_write_hazard(cell, accessor.lane(lane))
                .map(|hazard| (lane, elements.index[lane], hazard))
        });
        if let Some((lane, index, hazard)) = hazard {
            self.report_hazard((warp, number), (1 << lane, index), hazard, (Direction::Read, false), machine);
        }
    }

    pub(super) fn box_read(
        &mut self,
        warp: &Warp,
        copy: &BoxCopy<'_>,
        engine: Option<(usize, u32)>,
        machine: &Machine<'_>,
    ) {
        let plan = &machine.launch.program.async_ops.boxes[copy.plan as usize];
        let Some(shadow) = self.tensor(plan.argument) else { return };
        let accessor = machine.clocks.accessor(warp.number, 1 << copy.lane);
        let mut found: Vec<(i64, Hazard)> = Vec::new();
        plan.each(copy.shared, copy.coordinates, |piece| {
            for element in piece.start..piece.end {
                let at = piece.global / i64::from(plan.size) + i64::from(element);
                let hazard =
                    shadow.read_by_proxy(at as usize, accessor, &machine.proxy.global_fences, engine);
                keep(&mut found, at, hazard);
            }
        });
        for (element, hazard) in found {
            let at = (1 << copy.lane, element);
            self.report_hazard((warp, copy.sites.1), at, hazard, (Direction::Read, false), machine);
        }
    }

    pub(super) fn load_issued(
        &mut self,
        (warp, lane): (&Warp, usize),
        copy: &SharedCopy,
        (engine, time): (usize, u32),
        pieces: &[Chunk],
        machine: &Machine<'_>,
    ) {
        let mut hazards: Vec<(u64, Hazard)> = Vec::new();
        let accessor = machine.clocks.accessor(warp.number, 1 << lane);
        for (address, _) in pieces {
            for cell in machine.cells(u64::from(*address), copy.size as u64) {
                let hazard =
                    self.shared.write_by_proxy(cell, accessor, &machine.proxy, engine, time, copy.site);
                // Stores by threads need no proxy fence.
                let of_proxy =
                    |found: &Hazard| matches!(found, Hazard::Unfenced { .. } | Hazard::Unread { .. });
                let hazard = hazard.filter(|found| !copy.by_threads || !of_proxy(found));
                keep(&mut hazards, u64::from(*address), hazard);
            }
        }
        for (address, hazard) in hazards {
            self.report_proxy_hazard(warp, copy.site, (address, true), hazard, copy.what, machine);
        }
    }

    pub(super) fn box_store_issued(
        &mut self,
        warp: &Warp,
        copy: &BoxCopy<'_>,
        (engine, time): (usize, u32),
        machine: &Machine<'_>,
    ) {
        let plan = &machine.launch.program.async_ops.boxes[copy.plan as usize];
        let accessor = machine.clocks.accessor(warp.number, 1 << copy.lane);
        let mut hazards: Vec<(u64, Hazard)> = Vec::new();
        plan.each(copy.shared, copy.coordinates, |piece| {
            for cell in machine.cells(piece.address, PIECE as u64) {
                let hazard = self.shared.read_by_proxy(cell, accessor, &machine.proxy.fences, engine, time);
                keep(&mut hazards, piece.address, hazard);
            }
        });
        for (address, hazard) in hazards {
            self.report_proxy_hazard(warp, copy.sites.0, (address, false), hazard, "a tensor store", machine);
        }
        let Some(shadow) = self.tensor(plan.argument) else { return };
        let mut found: Vec<(i64, Hazard)> = Vec::new();
        plan.each(copy.shared, copy.coordinates, |piece| {
            for element in piece.start..piece.end {
                let at = piece.global / i64::from(plan.size) + i64::from(element);
                let hazard = match copy.adds {
                    true => shadow.add_by_proxy(at as usize, accessor, &machine.proxy),
                    false => shadow.write_by_proxy(at as usize, accessor, &machine.proxy),
                };
                keep(&mut found, at, hazard);
            }
        });
        if !found.is_empty() {
            self.found.insert((warp.number, time), found);
        }
    }

    pub(super) fn box_store_completed(
        &mut self,
        warp: &Warp,
        copy: &BoxCopy<'_>,
        number: u32,
        data: &[[u8; PIECE]],
        machine: &Machine<'_>,
    ) {
        let plan = &machine.launch.program.async_ops.boxes[copy.plan as usize];
        let Some(shadow) = self.tensor(plan.argument) else { return };
        let global = &machine.launch.globals[plan.argument as usize];
        let accessor = machine.clocks.accessor(warp.number, 1 << copy.lane);
        let known = self.found.get(&(warp.number, number));
        let mut found: Vec<(i64, Hazard)> = Vec::new();
        // An addition of zero is not an equal write.
        let mut equal = !copy.adds;
        let mut data = data.iter();
        plan.each(copy.shared, copy.coordinates, |piece| {
            let Some(bytes) = data.next() else { return };
            for element in piece.start..piece.end {
                let byte = (piece.global + i64::from(element * plan.size)) as usize;
                let index = byte / plan.size as usize;
                match copy.adds {
                    true => shadow.complete_added(index, accessor),
                    false => shadow.complete_by_proxy(index, accessor),
                }
                let value = bytes::read(bytes, (element * plan.size) as usize, plan.size);
                equal &= global.read(byte, plan.size) == value;
                let hazards = known.into_iter().flatten().filter(|(at, _)| *at == index as i64);
                found.extend(hazards.map(|(at, hazard)| (*at, *hazard)));
            }
        });
        for (element, hazard) in found {
            let at = (1 << copy.lane, element);
            self.report_hazard((warp, copy.sites.1), at, hazard, (Direction::Write, equal), machine);
        }
    }

    pub(super) fn operand(
        &mut self,
        (warp, lanes): (&Warp, u32),
        matrix: &MatrixOperand,
        (engine, group): (usize, u32),
        pieces: &[u64],
        machine: &Machine<'_>,
    ) {
        let mut hazard: Option<(u64, Hazard)> = None;
        // A warp that reads as a whole: its common clock counts, and no lane is the writer.
        let accessor = machine.clocks.accessor(warp.number, lanes);
        let what = if lanes == 0 { "a product (wgmma)" } else { "a product (tcgen05_mma)" };
        for address in pieces {
            for cell in machine.cells(*address, PIECE as u64) {
                let found = self.shared.read_by_proxy(cell, accessor, &machine.proxy.fences, engine, group);
                hazard = hazard.or(found.map(|hazard| (*address, hazard)));
            }
        }
        if let Some((address, hazard)) = hazard {
            self.report_proxy_hazard(warp, matrix.site, (address, false), hazard, what, machine);
        }
    }
}

/// Keeps the first hazard of each kind.
fn keep<T>(hazards: &mut Vec<(T, Hazard)>, at: T, hazard: Option<Hazard>) {
    let Some(hazard) = hazard else { return };
    let same = |known: &(T, Hazard)| std::mem::discriminant(&known.1) == std::mem::discriminant(&hazard);
    if !hazards.iter().any(same) {
        hazards.push((at, hazard));
    }
}
