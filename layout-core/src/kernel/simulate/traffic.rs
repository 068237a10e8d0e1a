//! What a warp's access costs: sectors of global memory, passes through the banks of shared memory.
//!
//! Global memory moves in sectors of 32 bytes; the cost of a request is the number of different sectors. Shared memory
//! has 32 banks of 4 bytes; one pass serves one word of each bank, to any number of lanes. Accesses of 8 bytes are
//! served by half warps, of 16 bytes by quarter warps, so that a pass never moves more than 128 bytes.
//!
//! Source: CUDA C++ Programming Guide, compute capability 5.x and later, global and shared memory.

use super::bytecode::LANES;

/// Bytes of a sector.
const SECTOR: u64 = 32;
/// Banks of shared memory, of 4 bytes each.
const BANKS: usize = 32;

/// How many sectors the lanes touch, each reading `bytes` from its byte offset on.
pub(super) fn sectors(offsets: &[u64; LANES], open: u32, bytes: u64) -> u64 {
    let mut touched = [0u64; 2 * LANES];
    let (mut count, mut sorted) = (0, true);
    for (lane, offset) in offsets.iter().enumerate() {
        if open >> lane & 1 == 0 {
            continue;
        }
        let (first, last) = (offset / SECTOR, offset.saturating_add(bytes - 1) / SECTOR);
        for sector in if first == last { first..=first } else { first..=last.min(first + 1) } {
            if count > 0 && touched[count - 1] == sector {
                continue;
            }
            sorted &= count == 0 || touched[count - 1] < sector;
            touched[count] = sector;
            count += 1;
        }
    }
    if !sorted {
        touched[..count].sort_unstable();
        return 1 + touched[..count].windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    }
    count as u64
}

/// How many passes the lanes' accesses of `bytes` take, and how many they would take without conflicts.
pub(super) fn wavefronts(offsets: &[u64; LANES], open: u32, bytes: u64) -> (u64, u64) {
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

/// The most different words that the lanes want of one bank.
fn depth(offsets: &[u64], open: u32, words: u64) -> u64 {
    // The first word of each bank; a second one goes to the list. Words are below 2^32: 0 is none.
    let mut first = [0u32; BANKS];
    let mut others = [(0usize, 0u32); BANKS];
    let mut count = 0;
    for (lane, offset) in offsets.iter().enumerate() {
        if open >> lane & 1 == 0 {
            continue;
        }
        let start = (offset / 4) as u32;
        for word in start..start + words as u32 {
            let known = &mut first[word as usize % BANKS];
            if *known == 0 {
                *known = word + 1;
            } else if *known != word + 1 {
                let other = (word as usize % BANKS, word);
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

/// Whether the open lanes (all of the group) read one word, or words one after the other.
fn contiguous(offsets: &[u64], open: u32, group: usize, bytes: u64) -> bool {
    if open.count_ones() as usize != group || !offsets[0].is_multiple_of(bytes.max(1)) {
        return false;
    }
    let (first, step) = (offsets[0], offsets[1].wrapping_sub(offsets[0]));
    (step == 0 || step == bytes)
        && offsets.iter().enumerate().all(|(lane, offset)| *offset == first.wrapping_add(step * lane as u64))
}
