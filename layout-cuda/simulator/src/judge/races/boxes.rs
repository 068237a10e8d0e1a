//! Accesses of TMA and the matrix units to shared memory and to tensors, and the mbarriers that they count at.
//!
//! Law: a tensor's element is in flight from the issue of a store to the wait of the thread that issued it. A mistake about
//! it is reported when it is written.

use super::super::super::bytecode::Target;
use super::super::super::event::{Boxed, Chunk};
use super::super::super::machine::Machine;
use super::super::super::work::MatrixUse;
use super::{Case, Hazard};
use crate::actors::cluster;
use crate::actors::touch::{Kind, Touch};
use crate::actors::transfer::Copied;
use crate::actors::warp::{Warp, each_lane};
use crate::memory::bytes;
use crate::memory::tensor_map::PIECE;

impl Case<'_> {
    /// Lanes use mbarriers of a block of the cluster, which they must know of.
    pub(super) fn look(&mut self, warp: &Warp, number: u32, touch: &Touch, rank: usize, scene: &Machine<'_>) {
        let program = scene.launch.program;
        let who = scene.clocks.who(warp.number, touch.open);
        let site = &program.sites[number as usize];
        let Target::Shared(base) = site.target else { return };
        let hazard = each_lane(touch.open).find_map(|lane| {
            let base = base + rank as u32 * cluster::stride(program);
            let address = u64::from(base) + touch.index[lane] as u64 * u64::from(site.bytes);
            let cell = scene.cells(address, 1).start;
            self.shared.look(cell, who.lane(lane)).map(|hazard| (lane, touch.index[lane], hazard))
        });
        if let Some((lane, index, hazard)) = hazard {
            self.tell((warp, number), (1 << lane, index), hazard, (Kind::Read, false), scene);
        }
    }

    /// TMA reads a box of a tensor.
    pub(super) fn box_read(
        &mut self,
        warp: &Warp,
        copy: &Boxed<'_>,
        engine: Option<(usize, u32)>,
        scene: &Machine<'_>,
    ) {
        let plan = &scene.launch.program.works.boxes[copy.plan as usize];
        let Some(shadow) = self.tensor(plan.argument) else { return };
        let who = scene.clocks.who(warp.number, 1 << copy.lane);
        let mut found: Vec<(i64, Hazard)> = Vec::new();
        plan.each(copy.shared, copy.coordinates, |piece| {
            for element in piece.start..piece.end {
                let at = piece.global / i64::from(plan.size) + i64::from(element);
                let hazard = shadow.read_by_proxy(at as usize, who, &scene.proxy.global_fences, engine);
                keep(&mut found, at, hazard);
            }
        });
        for (element, hazard) in found {
            let at = (1 << copy.lane, element);
            self.tell((warp, copy.sites.1), at, hazard, (Kind::Read, false), scene);
        }
    }

    /// A copy to shared memory of the cluster begins.
    pub(super) fn departed(
        &mut self,
        (warp, lane): (&Warp, usize),
        copy: &Copied,
        (engine, time): (usize, u32),
        pieces: &[Chunk],
        scene: &Machine<'_>,
    ) {
        let mut hazards: Vec<(u64, Hazard)> = Vec::new();
        let who = scene.clocks.who(warp.number, 1 << lane);
        for (address, _) in pieces {
            for cell in scene.cells(u64::from(*address), copy.size as u64) {
                let hazard = self.shared.write_by_proxy(cell, who, &scene.proxy, engine, time, copy.site);
                // What threads store needs no fence.
                let of_proxy =
                    |found: &Hazard| matches!(found, Hazard::Unfenced { .. } | Hazard::Unread { .. });
                let hazard = hazard.filter(|found| !copy.by_threads || !of_proxy(found));
                keep(&mut hazards, u64::from(*address), hazard);
            }
        }
        for (address, hazard) in hazards {
            self.tell_of_proxy(warp, copy.site, (address, true), hazard, copy.what, scene);
        }
    }

    /// TMA begins to store a box.
    pub(super) fn box_sent(
        &mut self,
        warp: &Warp,
        copy: &Boxed<'_>,
        (engine, time): (usize, u32),
        scene: &Machine<'_>,
    ) {
        let plan = &scene.launch.program.works.boxes[copy.plan as usize];
        let who = scene.clocks.who(warp.number, 1 << copy.lane);
        let mut hazards: Vec<(u64, Hazard)> = Vec::new();
        plan.each(copy.shared, copy.coordinates, |piece| {
            for cell in scene.cells(piece.address, PIECE as u64) {
                let hazard = self.shared.read_by_proxy(cell, who, &scene.proxy.fences, engine, time);
                keep(&mut hazards, piece.address, hazard);
            }
        });
        for (address, hazard) in hazards {
            self.tell_of_proxy(warp, copy.sites.0, (address, false), hazard, "a tensor store", scene);
        }
        let Some(shadow) = self.tensor(plan.argument) else { return };
        let mut found: Vec<(i64, Hazard)> = Vec::new();
        plan.each(copy.shared, copy.coordinates, |piece| {
            for element in piece.start..piece.end {
                let at = piece.global / i64::from(plan.size) + i64::from(element);
                let hazard = match copy.adds {
                    true => shadow.add_by_proxy(at as usize, who, &scene.proxy),
                    false => shadow.write_by_proxy(at as usize, who, &scene.proxy),
                };
                keep(&mut found, at, hazard);
            }
        });
        if !found.is_empty() {
            self.found.insert((warp.number, time), found);
        }
    }

    /// It writes the tensor.
    pub(super) fn box_written(
        &mut self,
        warp: &Warp,
        copy: &Boxed<'_>,
        number: u32,
        data: &[[u8; PIECE]],
        scene: &Machine<'_>,
    ) {
        let plan = &scene.launch.program.works.boxes[copy.plan as usize];
        let Some(shadow) = self.tensor(plan.argument) else { return };
        let global = &scene.launch.globals[plan.argument as usize];
        let who = scene.clocks.who(warp.number, 1 << copy.lane);
        let known = self.found.get(&(warp.number, number));
        let mut found: Vec<(i64, Hazard)> = Vec::new();
        // An addition of zero is no write of what is there.
        let mut equal = !copy.adds;
        let mut data = data.iter();
        plan.each(copy.shared, copy.coordinates, |piece| {
            let Some(bytes) = data.next() else { return };
            for element in piece.start..piece.end {
                let byte = (piece.global + i64::from(element * plan.size)) as usize;
                let index = byte / plan.size as usize;
                match copy.adds {
                    true => shadow.land_added(index, who),
                    false => shadow.land_by_proxy(index, who),
                }
                let value = bytes::read(bytes, (element * plan.size) as usize, plan.size);
                equal &= global.read(byte, plan.size) == value;
                let hazards = known.into_iter().flatten().filter(|(at, _)| *at == index as i64);
                found.extend(hazards.map(|(at, hazard)| (*at, *hazard)));
            }
        });
        for (element, hazard) in found {
            let at = (1 << copy.lane, element);
            self.tell((warp, copy.sites.1), at, hazard, (Kind::Write, equal), scene);
        }
    }

    /// A product reads an operand.
    pub(super) fn operand(
        &mut self,
        warp: &Warp,
        matrix: &MatrixUse,
        (engine, group): (usize, u32),
        pieces: &[u64],
        scene: &Machine<'_>,
    ) {
        let mut hazard: Option<(u64, Hazard)> = None;
        // The warp's lanes take part together: it counts what all of them know, and none of them is the one that wrote.
        let who = scene.clocks.who(warp.number, 0);
        for address in pieces {
            for cell in scene.cells(*address, PIECE as u64) {
                let found = self.shared.read_by_proxy(cell, who, &scene.proxy.fences, engine, group);
                hazard = hazard.or(found.map(|hazard| (*address, hazard)));
            }
        }
        if let Some((address, hazard)) = hazard {
            self.tell_of_proxy(warp, matrix.site, (address, false), hazard, "a product (wgmma)", scene);
        }
    }
}

/// Keeps the first hazard of each kind, and where it is.
fn keep<T>(hazards: &mut Vec<(T, Hazard)>, at: T, hazard: Option<Hazard>) {
    let Some(hazard) = hazard else { return };
    let same = |known: &(T, Hazard)| std::mem::discriminant(&known.1) == std::mem::discriminant(&hazard);
    if !hazards.iter().any(same) {
        hazards.push((at, hazard));
    }
}
