//! Races in shared memory: what `racecheck` looks for.
//!
//! Law: each kernel is right but for one barrier, atomic operation or `sync_warp`.

use crate::planted;
use layout_cuda::tiled_kernel;

planted! {
    /// A block turns its line round without a barrier.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn no_barrier(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        let t = thread_idx.x;
        line[[t]] = x[[block_idx.x * 128 + t]];
        y[[block_idx.x * 128 + t]] = line[[127 - t]];
    }

    /// A tree of sums with a barrier before it and none in it.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn half_a_tree(x, y, flags) {
        let mut sums = shared::<f32>(row_major([128]));
        let t = thread_idx.x;
        sums[[t]] = x[[block_idx.x * 128 + t]];
        barrier();
        let mut half = 64;
        while half > 0 {
            if t < half {
                sums[[t]] = sums[[t]] + sums[[t + half]];
            }
            half /= 2;
        }
        barrier();
        if t == 0 {
            y[[block_idx.x]] = sums[[0]];
        }
    }

    /// A tile is filled anew while others still read it.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [1])]
    fn one_barrier_a_round(x, y, flags) {
        let mut tile = shared::<f32>(row_major([128]));
        let t = thread_idx.x;
        let mut sum = 0.0;
        for round in 0..8 {
            tile[[t]] = x[[round * 128 + t]];
            barrier();
            sum += tile[[127 - t]];
        }
        y[[t]] = sum;
    }

    /// Threads count into one place without atomics.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn counts_without_atomics(x, y, flags) {
        let mut counts = shared::<u32>(row_major([8]));
        let t = thread_idx.x;
        if t < 8 {
            counts[[t]] = 0;
        }
        barrier();
        counts[[t % 8]] = counts[[t % 8]] + 1;
        barrier();
        if t < 8 {
            y[[block_idx.x * 8 + t]] = counts[[t]] as f32;
        }
    }

    /// Every thread writes its number to one place.
    #[found("racecheck", WriteWriteRace)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn everyone_writes_one(x, y, flags) {
        let mut last = shared::<u32>(row_major([1]));
        last[[0]] = thread_idx.x as u32;
        barrier();
        y[[block_idx.x * 128 + thread_idx.x]] = last[[0]] as f32;
    }

    /// Thread 0 writes what all read, without a barrier between.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn leader_too_late(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        let t = thread_idx.x;
        line[[t]] = 0.0;
        barrier();
        if t == 0 {
            line[[5]] = x[[block_idx.x]];
        }
        y[[block_idx.x * 128 + t]] = line[[5]];
    }

    /// A scan in place with one barrier a step.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [1])]
    fn scan_in_place(x, y, flags) {
        let mut sums = shared::<f32>(row_major([128]));
        let t = thread_idx.x;
        sums[[t]] = x[[t]];
        barrier();
        let mut reach = 1;
        while reach < 128 {
            if t >= reach {
                sums[[t]] = sums[[t]] + sums[[t - reach]];
            }
            barrier();
            reach *= 2;
        }
        y[[t]] = sums[[t]];
    }

    /// Lanes of a warp exchange through shared memory without sync_warp.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [32], grid = [8])]
    fn warp_without_sync(x, y, flags) {
        let mut line = shared::<f32>(row_major([32]));
        let lane = lane_id();
        line[[lane]] = x[[block_idx.x * 32 + lane]];
        y[[block_idx.x * 32 + lane]] = line[[31 - lane]];
    }

    /// Two warps meet, four read.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [1])]
    fn barrier_of_half_the_readers(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        let t = thread_idx.x;
        line[[t]] = x[[t]];
        if t < 64 {
            named_barrier(1, 64);
        }
        y[[t]] = line[[127 - t]];
    }

    /// Two buffers by turns with a barrier in every second round.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [1])]
    fn two_halves_one_barrier_short(x, y, flags) {
        let mut halves = shared::<f32>(row_major([2, 128]));
        let t = thread_idx.x;
        let mut sum = 0.0;
        for round in 0..8 {
            halves[[round % 2, t]] = x[[round * 128 + t]];
            if round % 2 == 0 {
                barrier();
            }
            sum += halves[[round % 2, 127 - t]];
        }
        y[[t]] = sum;
    }
}
