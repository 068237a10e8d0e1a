//! Global memory and what nobody wrote: what `memcheck` and `initcheck` look for, and races that `racecheck` does not.
//!
//! Law: an access that is out of bounds touches nothing, for it is masked; the mistake is there all the same.

use crate::planted;
use layout_cuda::tiled_kernel;

planted! {
    past_the_end: "memcheck", OutOfBounds, false, "the last thread reads past the end";
    before_the_start: "memcheck", OutOfBounds, false, "the first thread writes before the start";
    a_grid_too_large: "memcheck", OutOfBounds, false, "one block more than there are elements for";
    past_the_shared_line: "memcheck", OutOfBounds, false, "a thread reads past its line in shared memory";
    unwritten_line: "initcheck", Uninitialised, false, "one element of a line in shared memory is read and written by no one";
    unwritten_register: "initcheck", Uninitialised, false, "one register of two is read and never written";
    blocks_write_one: "racecheck", WriteWriteRace, false, "every block writes one element of global memory";
    blocks_read_their_neighbours: "racecheck", ReadWriteRace, false, "each block reads what the one before writes";
    a_flag_that_orders_nothing: "racecheck", ReadWriteRace, false, "a block waits for another one's flag with relaxed accesses";
    adds_without_atomics: "racecheck", ReadWriteRace, false, "blocks add to one element without atomics";
}

/// The last thread reads past the end.
#[tiled_kernel(block = [128], grid = [8])]
fn past_the_end(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let i = block_idx.x * 128 + thread_idx.x;
    y[[i]] = x[[i + 1]];
}

/// The first thread writes before the start.
#[tiled_kernel(block = [128], grid = [8])]
fn before_the_start(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let i = block_idx.x * 128 + thread_idx.x;
    y[[i as isize - 1]] = x[[i]];
}

/// One block more than there are elements for.
#[tiled_kernel(block = [128], grid = [9])]
fn a_grid_too_large(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let i = block_idx.x * 128 + thread_idx.x;
    y[[i]] = 2.0 * x[[i]];
}

/// A thread reads past its line in shared memory.
#[tiled_kernel(block = [128], grid = [8])]
fn past_the_shared_line(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let mut line = shared::<f32>(row_major([128]));
    let t = thread_idx.x;
    line[[t]] = x[[block_idx.x * 128 + t]];
    barrier();
    y[[block_idx.x * 128 + t]] = line[[t + 1]];
}

/// One element of a line in shared memory is read and written by no one.
#[tiled_kernel(block = [128], grid = [8])]
fn unwritten_line(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let mut line = shared::<f32>(row_major([128]));
    let t = thread_idx.x;
    if t > 0 {
        line[[t]] = x[[block_idx.x * 128 + t]];
    }
    barrier();
    y[[block_idx.x * 128 + t]] = line[[127 - t]];
}

/// One register of two is read and never written.
#[tiled_kernel(block = [128], grid = [8])]
fn unwritten_register(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let mut own = local::<f32>(row_major([2]));
    let i = block_idx.x * 128 + thread_idx.x;
    own[[0]] = x[[i]];
    y[[i]] = own[[0]] + own[[1]];
}

/// Every block writes one element of global memory.
#[tiled_kernel(block = [128], grid = [8])]
fn blocks_write_one(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    if thread_idx.x == 0 {
        y[[0]] = x[[block_idx.x]];
    }
}

/// Each block reads what the one before writes.
#[tiled_kernel(block = [128], grid = [8])]
fn blocks_read_their_neighbours(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let i = block_idx.x * 128 + thread_idx.x;
    y[[i]] = x[[i]];
    if i >= 128 {
        flags.atomic_add([i % 64], y[[i - 128]] as u32);
    }
}

/// A block waits for another one's flag with relaxed accesses.
#[tiled_kernel(block = [32], grid = [2])]
fn a_flag_that_orders_nothing(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let lane = lane_id();
    if block_idx.x == 0 {
        y[[lane]] = x[[lane]];
        sync_warp();
        if lane == 0 {
            flags.store_relaxed([0], 1);
        }
    } else {
        while flags.load_relaxed([0]) == 0 {}
        y[[32 + lane]] = y[[31 - lane]];
    }
}

/// Blocks add to one element without atomics.
#[tiled_kernel(block = [128], grid = [8])]
fn adds_without_atomics(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    if thread_idx.x == 0 {
        y[[0]] += x[[block_idx.x]];
    }
}
