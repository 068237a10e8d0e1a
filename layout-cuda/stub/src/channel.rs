//! What a test calls in addition to CUDA's own functions.
//!
//! Law: a test that calls none of these sees an ordinary driver.

use crate::world::{FIRST_CONTEXT, world};
use std::ffi::{CStr, c_char};

/// Announces what kernels whose names begin so do with their first parameters: `r` reads what it points to, `w` writes it, any
/// other letter is no pointer.
///
/// # Safety
/// - Both are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stub_kernel(name: *const c_char, letters: *const c_char) {
    // SAFETY: as the caller promises.
    let text = |text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    world().kernels.push((text(name), text(letters)));
}

/// Lets the call after so many more fail with `CUDA_ERROR_OUT_OF_MEMORY`.
#[unsafe(no_mangle)]
pub extern "C" fn stub_fail(after: u64) {
    let mut world = world();
    world.failing = Some(world.calls + after + 1);
    world.failed = None;
}

/// Lets no call fail any more, and returns whether one did.
#[unsafe(no_mangle)]
pub extern "C" fn stub_heal() -> bool {
    let mut world = world();
    world.failing = None;
    world.failed.take().is_some()
}

/// From now on the driver answers by chance where it may answer either way.
#[unsafe(no_mangle)]
pub extern "C" fn stub_chance(seed: u64) {
    world().bits = seed | 1;
}

/// Writes the findings since the last call, and gives their length.
///
/// # Safety
/// - There is room for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stub_findings(room: *mut u8, bytes: usize) -> usize {
    let text = std::mem::take(&mut world().findings).join("\n");
    let len = text.len().min(bytes);
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), room, len) };
    len
}

/// Calls so far.
#[unsafe(no_mangle)]
pub extern "C" fn stub_calls() -> u64 {
    world().calls
}

/// Forgets all memory and all order, as if everything so far had ended.
#[unsafe(no_mangle)]
pub extern "C" fn stub_restart() {
    world().restart();
}

/// Allocations (0), events (1), streams (2), graphs (3) that have not ended.
#[unsafe(no_mangle)]
pub extern "C" fn stub_live(kind: u32) -> usize {
    let world = world();
    match kind {
        0 => world.allocated(),
        1 => world.events.len(),
        2 => world.streams.len(),
        _ => world.graphs.growing.len() + world.graphs.ready.len(),
    }
}

/// Whether what is given to the first stream from now on waits for all that was given to the second one. Null is the first GPU's
/// null stream.
#[unsafe(no_mangle)]
pub extern "C" fn stub_waits(stream: usize, other: usize) -> bool {
    let mut world = world();
    let Ok(other) = world.stream(other, FIRST_CONTEXT).map(|other| (other.number, other.clock.clone()))
    else {
        return false;
    };
    let host = world.host.clone();
    let Ok(stream) = world.stream(stream, FIRST_CONTEXT) else { return false };
    let last = other.1.of(other.0);
    stream.clock.of(other.0) >= last || host.of(other.0) >= last
}

/// The host writes page-locked memory at this address: a finding where a copy may still read it.
#[unsafe(no_mangle)]
pub extern "C" fn stub_host_writes(address: usize) {
    let mut world = world();
    let world = &mut *world;
    let found = world.locked.range(..=address).next_back();
    if found.is_some_and(|(_, locked)| locked.reads.iter().any(|read| !world.host.reaches(*read))) {
        world.findings.push("the host writes what a copy may still read".into());
    }
}

/// Copies bytes of a GPU's memory, as far as there are any, and gives their number.
///
/// # Safety
/// - There is room for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stub_bytes(address: u64, room: *mut u8, bytes: usize) -> usize {
    let mut world = world();
    let found = world.bytes(address);
    let len = found.len().min(bytes);
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), room, len) };
    len
}
