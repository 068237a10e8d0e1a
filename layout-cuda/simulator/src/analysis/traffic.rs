//! Memory traffic: sectors of global memory, wavefronts of shared memory.
//!
//! Global memory moves in sectors of 32 bytes; a request costs its number of distinct sectors. Shared memory has 32
//! banks of 4 bytes; one wavefront serves one word of each bank, for any number of lanes. Accesses of 8 bytes are
//! served by half warps, of 16 bytes by quarter warps, so that a wavefront moves at most 128 bytes.
//!
//! Source: CUDA C++ Programming Guide, compute capability 5.x and later, global and shared memory.

use crate::async_op::WgmmaOperands;
use crate::async_op::{DEPTH, ROWS};
use crate::bytecode::{LANES, Target};
use crate::event::{ACCESSES, Access, AccessKind, BoxCopy, Event, OTHERS};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::memory::tensor_map::{BoxPlan, PIECE, Piece};
use crate::state::lanes::Direction;
use layout_compiler::program::AtomicChange;

/// The analysis; it has no state.
pub(crate) struct Traffic;

impl Analysis for Traffic {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Traffic)
    }
}

impl Observer for Traffic {
    fn interests(&self) -> u8 {
        ACCESSES | OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Access(access) => accessed(access, machine),
            Event::BoxRead { copy, .. } => boxed(copy, Direction::Read, machine),
            Event::BoxStoreIssued { copy, .. } => boxed(copy, Direction::Write, machine),
            Event::WgmmaIssued { product, .. } => multiplied(product, machine),
            Event::OperandRead { matrix, pieces, .. } => {
                let counts = &mut machine.diagnostics.borrow_mut().counts[matrix.site as usize];
                let bytes = (pieces.len() * PIECE) as u64;
                counts.shared_requests += 1;
                counts.shared_bytes_read += bytes;
                counts.shared_wavefronts += bytes.div_ceil(128);
            }
            _ => {}
        }
    }
}

fn accessed(access: &Access<'_>, machine: &Machine<'_>) {
    let Access { site, number, elements, .. } = *access;
    let direction = match access.kind {
        AccessKind::Load(_) | AccessKind::AsyncRead => Direction::Read,
        AccessKind::Atomic(atomic) if matches!(atomic.change, AtomicChange::Load(_)) => Direction::Read,
        AccessKind::Store(..) | AccessKind::AsyncWrite | AccessKind::RemoteWrite | AccessKind::Atomic(_) => {
            Direction::Write
        }
        // An mbarrier is not counted.
        AccessKind::BarrierInit => return,
    };
    if elements.active == 0 {
        return;
    }
    let bytes = u64::from(site.width * site.bytes);
    let moved = bytes * u64::from(elements.active.count_ones());
    let counts = &mut machine.diagnostics.borrow_mut().counts[number as usize];
    match site.target {
        Target::Global(_) => {
            counts.global_requests += 1;
            match direction {
                Direction::Read => counts.global_bytes_read += moved,
                Direction::Write => counts.global_bytes_written += moved,
            }
            let offsets = elements.index.map(|index| (index as u64).wrapping_mul(site.bytes.into()));
            counts.global_sectors +=
                if elements.uniform { 1 } else { sectors(&offsets, elements.active, bytes) };
        }
        Target::Shared(base) => {
            counts.shared_requests += 1;
            match direction {
                Direction::Read => counts.shared_bytes_read += moved,
                Direction::Write => counts.shared_bytes_written += moved,
            }
            let offsets = elements
                .index
                .map(|index| u64::from(base).wrapping_add((index as u64).wrapping_mul(site.bytes.into())));
            let (passes, ideal) = wavefronts(&offsets, elements.active, bytes);
            counts.shared_wavefronts += passes;
            counts.bank_conflicts += passes - ideal;
        }
        Target::Local { .. } | Target::None => {}
    }
}

fn multiplied(product: &WgmmaOperands, machine: &Machine<'_>) {
    let depth = DEPTH / product.elem.bytes() as usize;
    let flops = 2 * (ROWS * product.n as usize * depth) as u64;
    machine.diagnostics.borrow_mut().counts[product.site as usize].flops += flops;
}

fn boxed(copy: &BoxCopy<'_>, direction: Direction, machine: &Machine<'_>) {
    let plan = &machine.launch.program.async_ops.boxes[copy.plan as usize];
    let mut moved = Moved::default();
    plan.each(copy.shared, copy.coordinates, |piece| moved.piece(plan, &piece));
    let diagnostics = &mut *machine.diagnostics.borrow_mut();
    let global = &mut diagnostics.counts[copy.sites.1 as usize];
    global.global_requests += 1;
    global.global_sectors += moved.sectors;
    match direction {
        Direction::Read => global.global_bytes_read += moved.bytes,
        Direction::Write => global.global_bytes_written += moved.bytes,
    }
    let shared = &mut diagnostics.counts[copy.sites.0 as usize];
    shared.shared_requests += 1;
    // TMA moves 128 bytes in a wavefront, without conflicts.
    shared.shared_wavefronts += plan.bytes().div_ceil(128);
    match direction {
        Direction::Read => shared.shared_bytes_written += plan.bytes(),
        Direction::Write => shared.shared_bytes_read += plan.bytes(),
    }
}

/// The bytes and sectors of a box inside the tensor.
#[derive(Default)]
struct Moved {
    bytes: u64,
    sectors: u64,
    last: Option<i64>,
}

impl Moved {
    fn piece(&mut self, plan: &BoxPlan, piece: &Piece) {
        let Piece { global, start, end, first_of_row, .. } = *piece;
        if first_of_row {
            self.last = None;
        }
        if start == end {
            return;
        }
        self.bytes += u64::from((end - start) * plan.size);
        let low = (global + i64::from(start * plan.size)) / 32;
        let high = (global + i64::from(end * plan.size) - 1) / 32;
        let from = self.last.map_or(low, |last| low.max(last + 1));
        self.sectors += u64::try_from(high - from + 1).unwrap_or(0);
        self.last = Some(high);
    }
}

/// Bytes of a sector.
const SECTOR: u64 = 32;
/// Banks of shared memory, 4 bytes each.
const BANKS: usize = 32;

/// The number of sectors of the lanes' accesses of `bytes`.
fn sectors(offsets: &[u64; LANES], open: u32, bytes: u64) -> u64 {
    /// Up to this span the sectors are a bit set.
    const NEAR: u64 = 4096;
    let ends = offsets.map(|offset| (offset / SECTOR, offset.saturating_add(bytes - 1) / SECTOR));
    let (mut least, mut most) = (u64::MAX, 0);
    for (lane, (first, last)) in ends.iter().enumerate() {
        let here = open >> lane & 1 != 0;
        least = least.min(if here { *first } else { u64::MAX });
        most = most.max(if here { *last } else { 0 });
    }
    let each = (0..LANES).filter(|lane| open >> lane & 1 != 0).map(|lane| ends[lane]);
    if most.saturating_sub(least) < 64 {
        let touched = each.fold(0u64, |all, (first, last)| all | 1 << (first - least) | 1 << (last - least));
        return touched.count_ones().into();
    }
    if most - least < NEAR {
        let mut touched = [0u64; (NEAR / 64) as usize];
        for (first, last) in each {
            touched[((first - least) / 64) as usize] |= 1 << ((first - least) % 64);
            touched[((last - least) / 64) as usize] |= 1 << ((last - least) % 64);
        }
        return touched.iter().map(|word| u64::from(word.count_ones())).sum();
    }
    let mut touched: Vec<u64> = each.flat_map(|(first, last)| [first, last]).collect();
    touched.sort_unstable();
    touched.dedup();
    touched.len() as u64
}

/// The wavefronts of the lanes' accesses of `bytes`, and their number without conflicts.
fn wavefronts(offsets: &[u64; LANES], open: u32, bytes: u64) -> (u64, u64) {
    let group = match bytes {
        0..=4 => LANES,
        5..=8 => LANES / 2,
        _ => LANES / 4,
    };
    let words = bytes.div_ceil(4);
    let (mut passes, mut ideal) = (0, 0);
    for start in (0..LANES).step_by(group) {
        let lanes = start..start + group;
        let mine = (open >> start) & ((1u64 << group) - 1) as u32;
        if mine == 0 {
            continue;
        }
        ideal += 1;
        if contiguous(&offsets[lanes.clone()], mine, group, bytes) {
            passes += 1;
            continue;
        }
        passes += depth(&offsets[lanes], mine, words);
    }
    (passes, ideal)
}

/// The maximum number of distinct words in one bank.
fn depth(offsets: &[u64], open: u32, words: u64) -> u64 {
    // The first word of each bank; more words are in a list. An offset in a block of lower rank is negative, so it is
    // modulo 2^64: words are below 2^62.
    let mut first = [u64::MAX; BANKS];
    let mut others = [(0usize, 0u64); BANKS];
    let mut count = 0;
    for (lane, offset) in offsets.iter().enumerate() {
        if open >> lane & 1 == 0 {
            continue;
        }
        let start = offset / 4;
        for word in start..start + words {
            let bank = (word % BANKS as u64) as usize;
            let known = &mut first[bank];
            if *known == u64::MAX {
                *known = word;
            } else if *known != word {
                let other = (bank, word);
                if count < BANKS && !others[..count].contains(&other) {
                    others[count] = other;
                    count += 1;
                }
            }
        }
    }
    let mut depth = [1u64; BANKS];
    for (bank, _) in &others[..count] {
        depth[*bank] += 1;
    }
    depth.into_iter().fold(0, u64::max)
}

/// Whether all lanes of the group read one word, or consecutive words.
fn contiguous(offsets: &[u64], open: u32, group: usize, bytes: u64) -> bool {
    if open.count_ones() as usize != group || !offsets[0].is_multiple_of(bytes.max(1)) {
        return false;
    }
    let (first, step) = (offsets[0], offsets[1].wrapping_sub(offsets[0]));
    (step == 0 || step == bytes)
        && offsets.iter().enumerate().all(|(lane, offset)| *offset == first.wrapping_add(step * lane as u64))
}
