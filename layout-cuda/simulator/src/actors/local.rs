//! Local arrays with dynamic indices: each lane selects its register.

use super::load_store::gather;
use crate::bytecode::{Bank, LANES, Sum, Target};
use crate::event::Event;
use crate::machine::Machine;
use crate::state::lanes::Direction;
use crate::state::warp::{Warp, each_lane, put};
use layout_compiler::small_float;

impl Machine<'_> {
    pub(crate) fn local_load(
        &mut self,
        warp: &mut Warp,
        dst: u32,
        index: Sum,
        mask: Option<u32>,
        number: u32,
    ) {
        let site = &self.launch.program.sites[number as usize];
        let Target::Local { register, .. } = site.target else { return };
        let mut elements = self.ready(warp, index, mask, number, Direction::Read);
        // Lanes have separate elements even if the index is equal.
        elements.uniform = false;
        let element = |lane: usize| elements.index[lane] as usize;
        self.notify(&Event::Local {
            warp,
            number,
            elements: &elements,
            value: dst,
            direction: Direction::Read,
        });
        let (from, to) = (register as usize, dst as usize);
        let small = site.elem.is_float() && site.elem.bytes() < 4;
        let pad =
            if small { small_float::decode(site.pad as u32, site.elem).to_bits().into() } else { site.pad };
        let mut raw = [pad; LANES];
        match Bank::of(site.elem) {
            Bank::F32 => {
                gather(&mut raw, &elements, |lane| warp.f32[from + element(lane)][lane].to_bits().into());
                put(&mut warp.f32[to], &raw.map(|bits| f32::from_bits(bits as u32)), warp.active);
            }
            Bank::F64 => {
                gather(&mut raw, &elements, |lane| warp.f64[from + element(lane)][lane].to_bits());
                put(&mut warp.f64[to], &raw.map(f64::from_bits), warp.active);
            }
            Bank::Int => {
                gather(&mut raw, &elements, |lane| warp.int[from + element(lane)][lane] as u64);
                let value = raw.map(|bits| site.elem.wrap(bits as i64));
                put(&mut warp.int[to], &value, warp.active);
            }
            Bank::Mask => {
                gather(&mut raw, &elements, |lane| u64::from(warp.mask[from + element(lane)] >> lane & 1));
                let bits = (0..LANES).fold(0, |bits, lane| bits | u32::from(raw[lane] != 0) << lane);
                warp.put_mask(dst, bits);
            }
        }
    }

    pub(crate) fn local_store(
        &mut self,
        warp: &mut Warp,
        src: u32,
        index: Sum,
        mask: Option<u32>,
        number: u32,
    ) {
        let site = &self.launch.program.sites[number as usize];
        let Target::Local { register, .. } = site.target else { return };
        let elements = self.ready(warp, index, mask, number, Direction::Write);
        let (to, from) = (register as usize, src as usize);
        for lane in each_lane(elements.active) {
            let element = elements.index[lane] as usize;
            match Bank::of(site.elem) {
                Bank::F32 => warp.f32[to + element][lane] = warp.f32[from][lane],
                Bank::F64 => warp.f64[to + element][lane] = warp.f64[from][lane],
                Bank::Int => warp.int[to + element][lane] = warp.int[from][lane],
                Bank::Mask => {
                    let bit = warp.mask[from] & 1 << lane;
                    warp.mask[to + element] = warp.mask[to + element] & !(1 << lane) | bit;
                }
            }
        }
        self.notify(&Event::Local {
            warp,
            number,
            elements: &elements,
            value: src,
            direction: Direction::Write,
        });
    }
}
