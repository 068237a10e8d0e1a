//! Collectives of a warp, and atomic operations.
//!
//! Law: sums and prefix sums of floats are bit-identical to a GPU's, since they round in the same order. The lanes of a
//! warp do an atomic operation in lane order, and warps in the order of the schedule.

use crate::arithmetic::{larger, smaller};
use crate::bytecode::{Bank, LANES, Register, Sum, Target, Update};
use crate::event::{Access, AccessKind, Atomic, Event};
use crate::machine::Machine;
use crate::memory::bytes;
use crate::state::lanes::Direction;
use crate::state::warp::{Warp, each_lane, put};
use layout_compiler::elem::Elem;
use layout_compiler::meaning::Float;
use layout_compiler::program::{AtomicChange, Collective, Scope};
use layout_compiler::small_float;

pub(crate) fn collective(
    warp: &mut Warp,
    dst: Register,
    function: Collective,
    from: Register,
    lane: Sum,
    elem: Elem,
) {
    let (active, lane) = (warp.active, warp.lanes(lane));
    if matches!(function, Collective::MatchAny | Collective::MatchAll) {
        return matches(warp, dst, from, elem);
    }
    if let (Register::Int(Sum { vector: Some(dst), .. }), Register::Int(from), true) =
        (dst, from, function.of_bits())
    {
        let value = warp.lanes(from);
        let combined = each_lane(active).map(|lane| value[lane]).reduce(|a, b| match function {
            Collective::And => a & b,
            Collective::Or => a | b,
            _ => a ^ b,
        });
        put(&mut warp.int[dst as usize], &[combined.unwrap_or(0); LANES], active);
        return;
    }
    let sources = sources(function, &lane);
    match (dst, from) {
        (Register::F32(dst), Register::F32(from)) => {
            let of = Operations { sum: |a, b| a + b, max: f32::larger, min: f32::smaller };
            let value = together(function, &warp.f32[from as usize], &sources, &of);
            put(&mut warp.f32[dst as usize], &value, active);
        }
        (Register::F64(dst), Register::F64(from)) => {
            let of = Operations { sum: |a, b| a + b, max: f64::larger, min: f64::smaller };
            let value = together(function, &warp.f64[from as usize], &sources, &of);
            put(&mut warp.f64[dst as usize], &value, active);
        }
        (Register::Int(Sum { vector: Some(dst), .. }), Register::Int(from)) => {
            let naturals = Operations {
                sum: i64::wrapping_add,
                max: |a, b| larger(a, b, Elem::U64),
                min: |a, b| smaller(a, b, Elem::U64),
            };
            let integers = Operations { sum: i64::wrapping_add, max: i64::max, min: i64::min };
            let of = if elem == Elem::U64 { naturals } else { integers };
            // Sums modulo 2^64, wrapped once at the end, are equal to sums that wrap in each step.
            let value = together(function, &warp.lanes(from), &sources, &of);
            put(&mut warp.int[dst as usize], &value.map(|value| elem.wrap(value)), active);
        }
        (Register::Int(Sum { vector: Some(dst), .. }), Register::Mask(from)) => {
            let votes = i64::from(warp.mask[from as usize] & active);
            put(&mut warp.int[dst as usize], &[votes; LANES], active);
        }
        (Register::Mask(dst), Register::Mask(from)) => {
            let mask = warp.mask[from as usize];
            let votes = mask & active;
            let everywhere = |holds: bool| if holds { u32::MAX } else { 0 };
            let lanes = match function {
                // The last one: the hardware chooses, so a kernel must not rely on the first.
                Collective::ElectOne => 1 << (31 - active.leading_zeros().min(31)),
                Collective::All => everywhere(votes == active),
                Collective::Any => everywhere(votes != 0),
                Collective::Shuffle
                | Collective::ShuffleUp
                | Collective::ShuffleDown
                | Collective::ShuffleXor => {
                    sources.iter().enumerate().fold(0, |all, (lane, from)| all | (mask >> from & 1) << lane)
                }
                // Not defined for `bool`, or of another result type.
                Collective::Sum
                | Collective::Max
                | Collective::Min
                | Collective::And
                | Collective::Or
                | Collective::Xor
                | Collective::PrefixSum
                | Collective::Ballot
                | Collective::MatchAny
                | Collective::MatchAll => 0,
            };
            warp.put_mask(dst, lanes);
        }
        // The compiler emits no other pair.
        (Register::F32(_) | Register::F64(_) | Register::Int(_) | Register::Mask(_), _) => {}
    }
}

/// The lanes with equal bits: a mask, or whether all are equal.
fn matches(warp: &mut Warp, dst: Register, from: Register, elem: Elem) {
    let active = warp.active;
    let bits: [u64; LANES] = match from {
        Register::F32(from) => warp.f32[from as usize].map(|value| u64::from(small_float::held(value, elem))),
        Register::F64(from) => warp.f64[from as usize].map(f64::to_bits),
        Register::Int(from) => warp.lanes(from).map(|value| value as u64),
        Register::Mask(from) => {
            let mask = warp.mask[from as usize];
            std::array::from_fn(|lane| u64::from(mask >> lane & 1))
        }
    };
    let same =
        |own: u64| each_lane(active).filter(|lane| bits[*lane] == own).fold(0, |all, lane| all | 1 << lane);
    match dst {
        Register::Int(Sum { vector: Some(dst), .. }) => {
            let lanes: [u32; LANES] = bits.map(same);
            put(&mut warp.int[dst as usize], &lanes.map(i64::from), active);
        }
        Register::Mask(dst) => {
            let all = same(bits[active.trailing_zeros() as usize % LANES]) == active;
            warp.put_mask(dst, if all { u32::MAX } else { 0 });
        }
        // The compiler emits no other pair.
        Register::F32(_) | Register::F64(_) | Register::Int(_) => {}
    }
}

/// The source lane of each lane of a shuffle; out of range it is the own lane.
fn sources(function: Collective, counts: &[i64; LANES]) -> [usize; LANES] {
    let mut sources = [0; LANES];
    for (own, source) in sources.iter_mut().enumerate() {
        let count = (counts[own] & 31) as u8;
        let lane = own as u8;
        let read = match function {
            Collective::Shuffle => count,
            Collective::ShuffleUp if lane >= count => lane - count,
            Collective::ShuffleDown if lane + count < LANES as u8 => lane + count,
            Collective::ShuffleXor => lane ^ count,
            Collective::ShuffleUp
            | Collective::ShuffleDown
            | Collective::Sum
            | Collective::Max
            | Collective::Min
            | Collective::And
            | Collective::Or
            | Collective::Xor
            | Collective::MatchAny
            | Collective::MatchAll
            | Collective::PrefixSum
            | Collective::Ballot
            | Collective::Any
            | Collective::All
            | Collective::ElectOne => lane,
        };
        *source = usize::from(read);
    }
    sources
}

struct Operations<T> {
    sum: fn(T, T) -> T,
    max: fn(T, T) -> T,
    min: fn(T, T) -> T,
}

fn together<T: Copy>(
    function: Collective,
    value: &[T; LANES],
    sources: &[usize; LANES],
    of: &Operations<T>,
) -> [T; LANES] {
    let butterfly = |op: fn(T, T) -> T| {
        [16, 8, 4, 2, 1].into_iter().fold(*value, |value, distance| {
            std::array::from_fn(|lane| op(value[lane], value[lane ^ distance]))
        })
    };
    match function {
        Collective::Sum => butterfly(of.sum),
        Collective::Max => butterfly(of.max),
        Collective::Min => butterfly(of.min),
        Collective::PrefixSum => [1, 2, 4, 8, 16].into_iter().fold(*value, |value, distance| {
            std::array::from_fn(|lane: usize| match lane.checked_sub(distance) {
                Some(before) => (of.sum)(value[lane], value[before]),
                None => value[lane],
            })
        }),
        // Integers only: see `collective`.
        Collective::And | Collective::Or | Collective::Xor => *value,
        Collective::MatchAny | Collective::MatchAll => *value,
        Collective::Shuffle
        | Collective::ShuffleUp
        | Collective::ShuffleDown
        | Collective::ShuffleXor
        | Collective::Ballot
        | Collective::Any
        | Collective::All
        | Collective::ElectOne => sources.map(|lane| value[lane]),
    }
}

impl Machine<'_> {
    /// Updates one element of each active lane, in lane order; `dst` gets the old values.
    pub(crate) fn atomic(
        &mut self,
        warp: &mut Warp,
        dst: Option<u32>,
        [expected, src]: [u32; 2],
        (change, scope, update): (AtomicChange, Scope, Update),
        (address, mask): (Sum, Option<u32>),
        number: u32,
    ) {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let elements = self.ready(warp, address, mask, number, Direction::Write);
        let reads = matches!(change, AtomicChange::Load(_));
        // A store releases work before it, so it synchronises first. A load acquires for later work and not for itself:
        // a plain write that only the load orders before the load may come after it.
        let at_once = matches!(change, AtomicChange::Store(_));
        if at_once {
            self.synchronise(warp, site, &elements, (change, scope), elements.active);
        }
        let (bank, size) = (Bank::of(site.elem), site.bytes);
        let mut before = [site.pad; LANES];
        let bits = |register: u32| -> [u64; LANES] {
            std::array::from_fn(|lane| match bank {
                Bank::F32 => u64::from(small_float::held(warp.f32[register as usize][lane], site.elem)),
                Bank::F64 => warp.f64[register as usize][lane].to_bits(),
                Bank::Int => warp.int[register as usize][lane] as u64 & u64::MAX >> (64 - site.elem.bits()),
                Bank::Mask => 0,
            })
        };
        let (wanted, values) = (bits(expected), bits(src));
        let atomic =
            Atomic { change, scope, update, src: bank.register(src), values: &values, wanted: &wanted };
        let kind = AccessKind::Atomic(&atomic);
        self.notify(&Event::Access(Access { warp, site, number, elements: &elements, kind }));
        let mut stored = if reads { 0 } else { elements.active };
        for lane in each_lane(elements.active) {
            let byte = elements.index[lane] as usize * size as usize;
            let (expected, value) = (wanted[lane], values[lane]);
            let changed = |old: u64| match change {
                AtomicChange::CompareExchange if old != expected => old,
                AtomicChange::Add if site.elem == Elem::F32 && matches!(site.target, Target::Global(_)) => {
                    added_in_global_memory(old, value)
                }
                _ => changed(change, site.elem, old, value),
            };
            before[lane] = match site.target {
                Target::Shared(base) if reads => {
                    bytes::read(&self.shared, (warp.shared + base) as usize + byte, size)
                }
                Target::Global(argument) if reads => self.launch.globals[argument as usize].read(byte, size),
                Target::Shared(base) => {
                    let byte = (warp.shared + base) as usize + byte;
                    let old = bytes::read(&self.shared, byte, size);
                    bytes::write(&mut self.shared, byte, size, changed(old));
                    old
                }
                Target::Global(argument) => {
                    self.launch.globals[argument as usize].update(byte, size, changed)
                }
                Target::Local { .. } | Target::None => site.pad,
            };
            if change == AtomicChange::CompareExchange && before[lane] != expected {
                stored &= !(1 << lane);
            }
        }
        self.notify(&Event::AtomicDone(Access { warp, site, number, elements: &elements, kind }, &before));
        self.progress |= stored != 0;
        self.wrote_atomically |= stored != 0 && program.waits;
        if !at_once {
            self.synchronise(warp, site, &elements, (change, scope), stored);
        }
        let Some(dst) = dst.map(|dst| dst as usize) else { return };
        match bank {
            Bank::F32 => {
                let value = before.map(|bits| small_float::decode(bits as u32, site.elem));
                put(&mut warp.f32[dst], &value, warp.active);
            }
            Bank::F64 => put(&mut warp.f64[dst], &before.map(f64::from_bits), warp.active),
            Bank::Int => {
                put(&mut warp.int[dst], &before.map(|bits| site.elem.wrap(bits as i64)), warp.active);
            }
            Bank::Mask => {}
        }
    }
}

/// `atom.add.f32` of global memory: a subnormal operand or sum is a zero of its sign (PTX ISA 9.1, `atom`); of shared memory it
/// stays.
fn added_in_global_memory(old: u64, value: u64) -> u64 {
    let flushed = |value: f32| if value.is_subnormal() { 0f32.copysign(value) } else { value };
    let [old, value] = [old, value].map(|bits| flushed(f32::from_bits(bits as u32)));
    u64::from(flushed(old + value).to_bits())
}

/// The bits of an element after an update.
pub(super) fn changed(change: AtomicChange, elem: Elem, old: u64, value: u64) -> u64 {
    match elem {
        // These types are only exchanged.
        Elem::F16 | Elem::Bf16 => value,
        Elem::F32 => {
            let (old, value) = (f32::from_bits(old as u32), f32::from_bits(value as u32));
            u64::from(
                match change {
                    AtomicChange::Add => old + value,
                    AtomicChange::Max => f32::larger(old, value),
                    AtomicChange::Min => f32::smaller(old, value),
                    // Of integers.
                    AtomicChange::And | AtomicChange::Or | AtomicChange::Xor | AtomicChange::Load(_) => old,
                    AtomicChange::Store(_) | AtomicChange::Exchange | AtomicChange::CompareExchange => value,
                }
                .to_bits(),
            )
        }
        Elem::F64 => {
            let (old, value) = (f64::from_bits(old), f64::from_bits(value));
            match change {
                AtomicChange::Add => old + value,
                AtomicChange::Max => f64::larger(old, value),
                AtomicChange::Min => f64::smaller(old, value),
                AtomicChange::And | AtomicChange::Or | AtomicChange::Xor | AtomicChange::Load(_) => old,
                AtomicChange::Store(_) | AtomicChange::Exchange | AtomicChange::CompareExchange => value,
            }
            .to_bits()
        }
        integer => {
            let (old, value) = (integer.wrap(old as i64), integer.wrap(value as i64));
            (match change {
                AtomicChange::Add => integer.wrap(old.wrapping_add(value)),
                AtomicChange::Max => larger(old, value, integer),
                AtomicChange::Min => smaller(old, value, integer),
                AtomicChange::And => old & value,
                AtomicChange::Or => old | value,
                AtomicChange::Xor => old ^ value,
                AtomicChange::Load(_) => old,
                AtomicChange::Store(_) | AtomicChange::Exchange | AtomicChange::CompareExchange => value,
            }) as u64
        }
    }
}
