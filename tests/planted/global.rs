//! Global memory and what nobody wrote: what `memcheck` and `initcheck` look for, and races that `racecheck` does not.
//!
//! Law: an access that is out of bounds touches nothing, for it is masked; the mistake is there all the same.

use crate::planted;
use layout_cuda::tiled_kernel;

planted! {
    /// The last thread reads past the end.
    #[found("memcheck", OutOfBounds)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn past_the_end(x, y, flags) {
        let i = block_idx.x * 128 + thread_idx.x;
        y[[i]] = x[[i + 1]];
    }

    /// The first thread writes before the start.
    #[found("memcheck", OutOfBounds)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn before_the_start(x, y, flags) {
        let i = block_idx.x * 128 + thread_idx.x;
        y[[i as isize - 1]] = x[[i]];
    }

    /// One block more than there are elements for.
    #[found("memcheck", OutOfBounds)]
    #[tiled_kernel(block = [128], grid = [9])]
    fn a_grid_too_large(x, y, flags) {
        let i = block_idx.x * 128 + thread_idx.x;
        y[[i]] = 2.0 * x[[i]];
    }

    /// A thread reads past its line in shared memory.
    #[found("memcheck", OutOfBounds)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn past_the_shared_line(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        let t = thread_idx.x;
        line[[t]] = x[[block_idx.x * 128 + t]];
        barrier();
        y[[block_idx.x * 128 + t]] = line[[t + 1]];
    }

    /// One element of a line in shared memory is read and written by no one.
    #[found("initcheck", Uninitialised)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn unwritten_line(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        let t = thread_idx.x;
        if t > 0 {
            line[[t]] = x[[block_idx.x * 128 + t]];
        }
        barrier();
        y[[block_idx.x * 128 + t]] = line[[127 - t]];
    }

    /// One register of two is read and never written.
    #[found("initcheck", Uninitialised)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn unwritten_register(x, y, flags) {
        let mut own = local::<f32>(row_major([2]));
        let i = block_idx.x * 128 + thread_idx.x;
        own[[0]] = x[[i]];
        y[[i]] = own[[0]] + own[[1]];
    }

    /// Every block writes one element of global memory.
    #[found("racecheck", WriteWriteRace)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn blocks_write_one(x, y, flags) {
        if thread_idx.x == 0 {
            y[[0]] = x[[block_idx.x]];
        }
    }

    /// Each block reads what the one before writes.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn blocks_read_their_neighbours(x, y, flags) {
        let i = block_idx.x * 128 + thread_idx.x;
        y[[i]] = x[[i]];
        if i >= 128 {
            flags.atomic_add([i % 64], y[[i - 128]] as u32);
        }
    }

    /// A block waits for another one's flag with relaxed accesses.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [32], grid = [2])]
    fn a_flag_that_orders_nothing(x, y, flags) {
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
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn adds_without_atomics(x, y, flags) {
        if thread_idx.x == 0 {
            y[[0]] += x[[block_idx.x]];
        }
    }
}
