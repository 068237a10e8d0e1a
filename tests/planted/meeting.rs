//! Threads that do not meet: what `synccheck` looks for.
//!
//! Law: of each meeting some threads are missing, or more are counted than there are.

use crate::planted;
use layout_cuda::tiled_kernel;

planted! {
    half_meets: "synccheck", DivergentBarrier, false, "half of each warp comes to the barrier";
    one_warp_stays_away: "synccheck", DivergentBarrier, false, "one warp of four ends without the barrier";
    barrier_by_data: "synccheck", DivergentBarrier, false, "whether a thread comes to the barrier depends on its element";
    barrier_in_a_loop: "synccheck", DivergentBarrier, false, "threads go round a loop with a barrier for different times";
    lanes_stay_away: "synccheck", DivergentBarrier, true, "half of a warp comes to sync_warp";
    shuffle_by_half: "synccheck", DivergentBarrier, true, "half of a warp shuffles";
    count_of_a_barrier: "synccheck", DivergentBarrier, true, "a named barrier waits for 96 threads, 64 come";
    arrivals_short: "synccheck", Deadlock, true, "an mbarrier waits for 33 arrivals, 32 come";
}

/// Half of each warp comes to the barrier.
#[tiled_kernel(block = [64], grid = [1])]
fn half_meets(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let t = thread_idx.x;
    if t % 2 == 0 {
        barrier();
    }
    y[[t]] = x[[t]];
}

/// One warp of four ends without the barrier.
#[tiled_kernel(block = [128], grid = [1])]
fn one_warp_stays_away(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let t = thread_idx.x;
    if t < 96 {
        barrier();
        y[[t]] = x[[t]];
    }
}

/// Whether a thread comes to the barrier depends on its element.
#[tiled_kernel(block = [64], grid = [1])]
fn barrier_by_data(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let t = thread_idx.x;
    if x[[t]] > 4.0 {
        barrier();
    }
    y[[t]] = x[[t]];
}

/// Threads go round a loop with a barrier for different times.
#[tiled_kernel(block = [64], grid = [1])]
fn barrier_in_a_loop(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let t = thread_idx.x;
    for _ in 0..1 + t / 32 {
        barrier();
    }
    y[[t]] = x[[t]];
}

/// Half of a warp comes to sync_warp.
#[tiled_kernel(block = [32], grid = [1])]
fn lanes_stay_away(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let lane = lane_id();
    if lane < 16 {
        sync_warp();
    }
    y[[lane]] = x[[lane]];
}

/// Half of a warp shuffles.
#[tiled_kernel(block = [32], grid = [1])]
fn shuffle_by_half(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let lane = lane_id();
    if lane < 16 {
        y[[lane]] = x[[lane]].shuffle_xor(8);
    }
}

/// A named barrier waits for 96 threads, 64 come.
#[tiled_kernel(block = [64], grid = [1])]
fn count_of_a_barrier(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let t = thread_idx.x;
    named_barrier(1, 96);
    y[[t]] = x[[t]];
}

/// An mbarrier waits for 33 arrivals, 32 come.
#[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
fn arrivals_short(
    x: &LayoutTensor<f32, RowMajor<1024>>,
    y: &mut LayoutTensor<f32, RowMajor<1024>>,
    flags: &mut LayoutTensor<u32, RowMajor<64>>,
) {
    let ready = mbarriers(1, 33);
    barrier();
    ready.at(0).arrive();
    ready.at(0).wait(0);
    y[[lane_id()]] = x[[lane_id()]];
}
