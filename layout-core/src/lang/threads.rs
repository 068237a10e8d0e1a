//! Where a thread stands, and how the threads of a block wait for each other.

use super::device_only;

/// Three axes, as CUDA counts them: `x` runs fastest.
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    /// The first axis.
    pub x: usize,
    /// The second axis.
    pub y: usize,
    /// The third axis.
    pub z: usize,
}

macro_rules! special {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[allow(non_upper_case_globals, reason = "the name is the language's")]
        pub static $name: Axes = Axes { x: 0, y: 0, z: 0 };
    )*};
}

special! {
    /// The thread's place in its block.
    thread_idx;
    /// The block's place in the grid.
    block_idx;
    /// How many threads a block has.
    block_dim;
    /// How many blocks the grid has.
    grid_dim;
}

/// The thread's place in its warp, 0 to 31.
pub fn lane_id() -> usize {
    device_only()
}

/// The warp's place in its block, from 0.
pub fn warp_id() -> usize {
    device_only()
}

/// A number whose bit `i` tells whether the condition holds in lane `i`. Every thread of the warp takes part.
pub fn ballot(_condition: bool) -> u32 {
    device_only()
}

/// Whether the condition holds in a lane of the warp. Every thread of the warp takes part.
pub fn any(_condition: bool) -> bool {
    device_only()
}

/// Whether the condition holds in all lanes of the warp. Every thread of the warp takes part.
pub fn all(_condition: bool) -> bool {
    device_only()
}

/// Every thread of the block waits for every other; what was written to shared memory before is seen after.
pub fn barrier() {
    device_only()
}

/// The warpgroup's place in its block: four warps each, from 0.
pub fn warp_group() -> usize {
    device_only()
}

/// The block's place in its cluster, from 0.
pub fn cluster_rank() -> usize {
    device_only()
}

/// Every thread of the cluster waits for every other; shared memory written before is seen after.
pub fn cluster_barrier() {
    device_only()
}

/// Waits until the launches before this one on the stream have ended; what they wrote is seen after. A kernel that has it may
/// begin before they end, as soon as they let it ([`launch_dependents`]) or end one after the other: its start costs less
/// time. It touches no global memory before, and every thread waits: at the top level of the kernel. CUDA's programmatic
/// dependent launch, `griddepcontrol.wait`; a kernel with `arch = "sm_90a"`.
pub fn grid_dependency_wait() {
    device_only()
}

/// The next launch on the stream may begin where it has a [`grid_dependency_wait`], once every block of this one has come
/// here or ended. It is no more than a hint: what the next one reads is there after its wait.
pub fn launch_dependents() {
    device_only()
}

/// So many threads, whole warps, wait for each other at barrier `id`, 1 to 15; shared memory that they wrote before is
/// seen by them after.
pub fn named_barrier(_id: usize, _threads: usize) {
    device_only()
}

/// From here on each thread of this warpgroup has `registers` registers: 24 to 256, a multiple of 8. The first statement
/// of a warpgroup's role. The block's sum may not exceed 65536; one that asks for more waits for others to give.
pub fn set_max_registers(_registers: usize) {
    device_only()
}
