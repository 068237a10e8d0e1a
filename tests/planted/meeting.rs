//! Threads that do not meet: what `synccheck` looks for.
//!
//! Law: of each meeting some threads are missing, or more are counted than there are.

use crate::planted;
use layout_cuda::tiled_kernel;

planted! {
    /// Half of each warp comes to the barrier.
    #[found("synccheck", DivergentBarrier)]
    #[tiled_kernel(block = [64], grid = [1])]
    fn half_meets(x, y, flags) {
        let t = thread_idx.x;
        if t % 2 == 0 {
            barrier();
        }
        y[[t]] = x[[t]];
    }

    /// Whether a thread comes to the barrier depends on its element.
    #[found("synccheck", DivergentBarrier)]
    #[tiled_kernel(block = [64], grid = [1])]
    fn barrier_by_data(x, y, flags) {
        let t = thread_idx.x;
        if x[[t]] > 4.0 {
            barrier();
        }
        y[[t]] = x[[t]];
    }

    /// Half of a warp comes to sync_warp.
    #[found("synccheck", DivergentBarrier, hangs)]
    #[tiled_kernel(block = [32], grid = [1])]
    fn lanes_stay_away(x, y, flags) {
        let lane = lane_id();
        if lane < 16 {
            sync_warp();
        }
        y[[lane]] = x[[lane]];
    }

    /// Half of a warp shuffles.
    #[found("synccheck", DivergentBarrier, hangs)]
    #[tiled_kernel(block = [32], grid = [1])]
    fn shuffle_by_half(x, y, flags) {
        let lane = lane_id();
        if lane < 16 {
            y[[lane]] = x[[lane]].shuffle_xor(8);
        }
    }

    /// A named barrier waits for 96 threads, 64 come.
    #[found("synccheck", DivergentBarrier, hangs)]
    #[tiled_kernel(block = [64], grid = [1])]
    fn count_of_a_barrier(x, y, flags) {
        let t = thread_idx.x;
        named_barrier(1, 96);
        y[[t]] = x[[t]];
    }

    /// An mbarrier waits for 33 arrivals, 32 come.
    #[found("synccheck", Deadlock, hangs)]
    #[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
    fn arrivals_short(x, y, flags) {
        let ready = mbarriers(1, 33);
        barrier();
        ready.at(0).arrive();
        ready.at(0).wait(0);
        y[[lane_id()]] = x[[lane_id()]];
    }
}
