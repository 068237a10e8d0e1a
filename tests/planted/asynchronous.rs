//! Copies in flight and mbarriers: races that other units take part in.
//!
//! Law: each lacks one wait, fence or barrier.

use crate::planted;
use layout_cuda::tiled_kernel;

planted! {
    /// An asynchronous copy is read without a wait.
    #[found("racecheck", MissingWait)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn copy_without_wait(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        copy_dram_to_sram_async(&mut line, &x.tile([128], [block_idx.x]), row_major([128]));
        async_copy_commit_group();
        barrier();
        y[[block_idx.x * 128 + thread_idx.x]] = line[[127 - thread_idx.x]];
    }

    /// A thread waits for its own copies and reads those of others.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(block = [128], grid = [8])]
    fn wait_without_barrier(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        copy_dram_to_sram_async(&mut line, &x.tile([128], [block_idx.x]), row_major([128]));
        async_copy_wait_all();
        y[[block_idx.x * 128 + thread_idx.x]] = line[[127 - thread_idx.x]];
    }

    /// Two groups of copies are in flight, the wait leaves one.
    #[found("racecheck", MissingWait)]
    #[tiled_kernel(block = [128], grid = [4])]
    fn wait_for_too_few(x, y, flags) {
        let mut lines = shared::<f32>(row_major([256]));
        for half in unroll(0..2) {
            copy_dram_to_sram_async(
                lines.tile([128], [half]),
                &x.tile([128], [2 * block_idx.x + half]),
                row_major([128]),
            );
            async_copy_commit_group();
        }
        async_copy_wait_group(1);
        barrier();
        y[[block_idx.x * 128 + thread_idx.x]] = lines[[255 - thread_idx.x]];
    }

    /// What TMA brings is read without a wait.
    #[found("racecheck", MissingWait)]
    #[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
    fn tma_without_wait(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        let full = mbarriers(1, 1);
        barrier();
        if thread_idx.x == 0 {
            full.at(0).arrive_expect(512);
            tma_load(&mut line, &x.tile([128], [0]), full.at(0));
        }
        barrier();
        y[[thread_idx.x]] = line[[127 - thread_idx.x]];
        full.at(0).wait(0);
    }

    /// TMA takes what threads wrote, without a fence of the proxy.
    #[found("racecheck", MissingFence)]
    #[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
    fn tma_without_fence(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        line[[thread_idx.x]] = x[[thread_idx.x]];
        barrier();
        if thread_idx.x == 0 {
            tma_store(&mut y.tile([128], [0]), &line);
            bulk_commit_group();
            bulk_wait_group(0);
        }
    }

    /// A line is written again while TMA still takes it.
    #[found("racecheck", MissingWait)]
    #[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
    fn overwritten_in_flight(x, y, flags) {
        let mut line = shared::<f32>(row_major([128]));
        line[[thread_idx.x]] = x[[thread_idx.x]];
        fence_async_proxy();
        barrier();
        if thread_idx.x == 0 {
            tma_store(&mut y.tile([128], [0]), &line);
            bulk_commit_group();
        }
        line[[thread_idx.x]] = 7.0;
        if thread_idx.x == 0 {
            bulk_wait_group(0);
        }
        barrier();
        y[[128 + thread_idx.x]] = line[[thread_idx.x]];
    }

    /// A warp arrives at an mbarrier, the other reads without waiting for it.
    #[found("racecheck", ReadWriteRace)]
    #[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
    fn arrival_without_wait(x, y, flags) {
        let mut line = shared::<f32>(row_major([32]));
        let ready = mbarriers(1, 32);
        barrier();
        if warp_id() == 0 {
            line[[lane_id()]] = x[[lane_id()]];
            ready.at(0).arrive();
        } else {
            y[[lane_id()]] = line[[31 - lane_id()]];
        }
    }
}
