//! Loads and stores of a warp: range, alignment, events, and the bytes.
//!
//! Law: an element outside its tensor is not accessed; a load of it returns the pad.

use crate::bytecode::{Bank, FULL, LANES, Site, Sum, Target};
use crate::event::{Access, AccessKind, Event};
use crate::machine::Machine;
use crate::memory::bytes::{self, Global};
use crate::report::FindingKind;
use crate::state::lanes::{Direction, LaneElements};
use crate::state::warp::{Warp, each_lane, put};
use layout_compiler::elem::Elem;
use layout_compiler::small_float;

impl Machine<'_> {
    /// The lanes that access memory, after the checks of range and alignment.
    pub(crate) fn ready(
        &mut self,
        warp: &Warp,
        address: Sum,
        mask: Option<u32>,
        number: u32,
        direction: Direction,
    ) -> LaneElements {
        let elements = self.placed(warp, address, mask, number, direction);
        let site = &self.launch.program.sites[number as usize];
        if site.rank.is_some() {
            self.reach_lanes(warp, site, number, &elements);
        }
        elements
    }

    /// The same without the event for other blocks' shared memory.
    pub(crate) fn placed(
        &mut self,
        warp: &Warp,
        address: Sum,
        mask: Option<u32>,
        number: u32,
        direction: Direction,
    ) -> LaneElements {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let index = warp.lanes(address);
        let mut open = warp.open(mask);
        let width = i64::from(site.width);
        let masked = warp.active & !open;
        if site.direct && masked != 0 {
            self.out_of_bounds(warp, site, number, masked, &index, direction);
        }
        let last = site.len - width;
        // One unsigned comparison for all lanes: a negative index is larger than any length.
        let highest = index.iter().fold(0, |highest, index| highest.max(*index as u64));
        if last < 0 || highest > last as u64 {
            let mut outside = 0;
            for lane in each_lane(open) {
                outside |= u32::from(index[lane] < 0 || index[lane] > last) << lane;
            }
            if outside != 0 {
                self.out_of_bounds(warp, site, number, outside, &index, direction);
                open &= !outside;
            }
        }
        if site.width > 1 && open != 0 {
            self.aligned(warp, site, number, open, &index);
        }
        let mut elements = LaneElements { index, active: open, uniform: address.uniform() };
        if let Some(rank) = site.rank {
            self.in_other_blocks(warp, site, number, rank, &mut elements);
        }
        elements
    }

    fn out_of_bounds(
        &mut self,
        warp: &Warp,
        site: &Site,
        number: u32,
        lanes: u32,
        index: &[i64; LANES],
        direction: Direction,
    ) {
        let first = index[lanes.trailing_zeros() as usize];
        let name = self.launch.program.names.get(site.place as usize);
        self.report(FindingKind::OutOfBounds, number, warp.number, lanes, Some(first), |_| {
            let name = name.map_or("", String::as_str);
            let what = if direction == Direction::Read { "read" } else { "write" };
            let (len, last) = (site.len, first.saturating_add(i64::from(site.width) - 1));
            if first >= 0 && last < len {
                format!("{what} of `{name}` outside its extents (it would be element {first} in memory)")
            } else {
                format!("{what} of element {first} of `{name}`, which has {len} elements")
            }
        });
    }

    /// Reports lanes whose vector is misaligned.
    fn aligned(&mut self, warp: &Warp, site: &Site, number: u32, open: u32, index: &[i64; LANES]) {
        let bytes = i64::from(site.vector_align);
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

    pub(crate) fn load(&mut self, warp: &mut Warp, dst: u32, address: Sum, mask: Option<u32>, number: u32) {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let elements = self.ready(warp, address, mask, number, Direction::Read);
        let kind = AccessKind::Load(Some(Bank::of(site.elem).register(dst)));
        self.notify(&Event::Access(Access { warp, site, number, elements: &elements, kind }));
        for part in 0..site.width {
            let mut raw = [site.pad; LANES];
            match site.target {
                Target::Shared(base) => {
                    let byte = |lane: usize| {
                        shared_byte(warp, base, elements.index[lane] + i64::from(part), site.bytes)
                    };
                    let shared = &self.shared[..];
                    match site.bytes {
                        4 => gather(&mut raw, &elements, |lane| bytes::read(shared, byte(lane), 4)),
                        size => gather(&mut raw, &elements, |lane| bytes::read(shared, byte(lane), size)),
                    }
                }
                Target::Global(argument) => {
                    let global = &self.launch.globals[argument as usize];
                    let byte =
                        |lane: usize| (elements.index[lane] as usize + part as usize) * site.bytes as usize;
                    match (global, site.bytes) {
                        (Global::Read(all), 4) => {
                            gather(&mut raw, &elements, |lane| bytes::read(all, byte(lane), 4));
                        }
                        (global, size) => gather(&mut raw, &elements, |lane| global.read(byte(lane), size)),
                    }
                }
                Target::Local { .. } | Target::None => {}
            }
            let register = (dst + part) as usize;
            match Bank::of(site.elem) {
                Bank::F32 => {
                    let value = match site.elem {
                        Elem::F32 => raw.map(|bits| f32::from_bits(bits as u32)),
                        small => raw.map(|bits| small_float::decode(bits as u32, small)),
                    };
                    put(&mut warp.f32[register], &value, warp.active);
                }
                Bank::F64 => put(&mut warp.f64[register], &raw.map(f64::from_bits), warp.active),
                Bank::Int => {
                    let value = raw.map(|bits| site.elem.wrap(bits as i64));
                    put(&mut warp.int[register], &value, warp.active);
                }
                Bank::Mask => {
                    let bits = (0..LANES).fold(0, |bits, lane| bits | u32::from(raw[lane] != 0) << lane);
                    warp.put_mask(register as u32, bits);
                }
            }
        }
    }

    pub(crate) fn store(&mut self, warp: &mut Warp, src: u32, address: Sum, mask: Option<u32>, number: u32) {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let elements = self.ready(warp, address, mask, number, Direction::Write);
        let (mut equal, observed) = (u32::MAX, self.observed());
        self.progress |= elements.active != 0;
        for part in 0..site.width {
            let register = (src + part) as usize;
            let raw: [u64; LANES] = match Bank::of(site.elem) {
                Bank::F32 if site.elem == Elem::F32 => {
                    warp.f32[register].map(|value| u64::from(value.to_bits()))
                }
                Bank::F32 => warp.f32[register].map(|value| u64::from(small_float::held(value, site.elem))),
                Bank::F64 => warp.f64[register].map(f64::to_bits),
                Bank::Int => warp.int[register].map(|value| value as u64),
                Bank::Mask => std::array::from_fn(|lane| u64::from(warp.mask[register] >> lane & 1)),
            };
            let size = site.bytes;
            let low = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
            for lane in each_lane(elements.active) {
                let index = elements.index[lane] + i64::from(part);
                match site.target {
                    Target::Shared(base) => {
                        let byte = shared_byte(warp, base, index, size);
                        if observed {
                            let old = bytes::read(&self.shared, byte, size);
                            equal &= !(u32::from(old != raw[lane] & low) << lane);
                        }
                        bytes::write(&mut self.shared, byte, size, raw[lane]);
                    }
                    Target::Global(argument) => {
                        let byte = index as usize * size as usize;
                        let global = &self.launch.globals[argument as usize];
                        if observed {
                            equal &= !(u32::from(global.read(byte, size) != raw[lane] & low) << lane);
                        }
                        global.write(byte, size, raw[lane]);
                    }
                    Target::Local { .. } | Target::None => {}
                }
            }
        }
        let kind = AccessKind::Store(Bank::of(site.elem).register(src), equal);
        self.notify(&Event::Access(Access { warp, site, number, elements: &elements, kind }));
    }
}

/// The byte of an element in the cluster's shared memory.
#[inline]
pub(crate) fn shared_byte(warp: &Warp, base: u32, index: i64, bytes: u32) -> usize {
    (i64::from(warp.shared + base) + index * i64::from(bytes)) as usize
}

/// Reads the active lanes.
#[inline]
pub(crate) fn gather(raw: &mut [u64; LANES], elements: &LaneElements, read: impl Fn(usize) -> u64) {
    if elements.uniform && elements.active != 0 {
        let value = read(elements.active.trailing_zeros() as usize);
        put(raw, &[value; LANES], elements.active);
    } else if elements.active == FULL {
        *raw = std::array::from_fn(read);
    } else {
        for lane in each_lane(elements.active) {
            raw[lane] = read(lane);
        }
    }
}
