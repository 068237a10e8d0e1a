//! The indices of a thread, and barriers.

use super::device_only;
use super::number::Number;

/// Three axes, as CUDA counts them: `x` runs fastest.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [2, 2, 2], grid = [1])]
/// fn count(y: &mut LayoutTensor<i32, RowMajor<8>>) {
///     let i = thread_idx.x + 2 * thread_idx.y + 4 * thread_idx.z;
///     y[[i]] = i as i32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([8])?;
/// count::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 1, 2, 3, 4, 5, 6, 7]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    /// The first axis.
    pub x: usize,
    /// The second axis.
    pub y: usize,
    /// The third axis.
    pub z: usize,
}

/// What the statics hold, which nothing reads.
const SOMEWHERE: Axes = Axes { x: 0, y: 0, z: 0 };

/// The thread's index in its block.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [4, 2], grid = [1])]
/// fn places(y: &mut LayoutTensor<i32, RowMajor<2, 4>>) {
///     y[[thread_idx.y, thread_idx.x]] = (10 * thread_idx.y + thread_idx.x) as i32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 2>([2, 4])?;
/// places::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 1, 2, 3, 10, 11, 12, 13]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[allow(non_upper_case_globals, reason = "the name is the language's")]
pub static thread_idx: Axes = SOMEWHERE;

/// The block's index in the grid.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [2], grid = [3])]
/// fn blocks(y: &mut LayoutTensor<i32, RowMajor<6>>) {
///     y[[2 * block_idx.x + thread_idx.x]] = block_idx.x as i32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([6])?;
/// blocks::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 0, 1, 1, 2, 2]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[allow(non_upper_case_globals, reason = "the name is the language's")]
pub static block_idx: Axes = SOMEWHERE;

/// How many threads a block has.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(THREADS = 3, block = [THREADS], grid = [2])]
/// fn threads(y: &mut LayoutTensor<i32, RowMajor<6>>) {
///     y[[block_dim.x * block_idx.x + thread_idx.x]] = block_dim.x as i32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([6])?;
/// threads::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [3; 6]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[allow(non_upper_case_globals, reason = "the name is the language's")]
pub static block_dim: Axes = SOMEWHERE;

/// How many blocks the grid has.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Each block takes every `grid_dim.x`-th element.
/// #[tiled_kernel(block = [1], grid = [2])]
/// fn strided<const N: usize>(y: &mut LayoutTensor<i32, RowMajor<N>>) {
///     for i in (block_idx.x..N).step_by(grid_dim.x) {
///         y[[i]] = block_idx.x as i32;
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([5])?;
/// strided::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 1, 0, 1, 0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[allow(non_upper_case_globals, reason = "the name is the language's")]
pub static grid_dim: Axes = SOMEWHERE;

/// The thread's number in its warp, 0 to 31.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [64], grid = [1])]
/// fn lanes(y: &mut LayoutTensor<i32, RowMajor<64>>) {
///     y[[thread_idx.x]] = lane_id() as i32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([64])?;
/// lanes::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[30..34], [30, 31, 0, 1]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn lane_id() -> usize {
    device_only()
}

/// The warp's number in its block, from 0.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [64], grid = [1])]
/// fn warps(y: &mut LayoutTensor<i32, RowMajor<64>>) {
///     y[[thread_idx.x]] = warp_id() as i32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([64])?;
/// warps::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[30..34], [0, 0, 1, 1]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn warp_id() -> usize {
    device_only()
}

/// A number whose bit `i` says whether the condition holds in lane `i`. Every thread of the warp takes part.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn odd(x: &LayoutTensor<i32, RowMajor<32>>, y: &mut LayoutTensor<u32, RowMajor<32>>) {
///     y[[lane_id()]] = ballot(x[[lane_id()]] < 3);
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..32).collect::<Vec<i32>>(), [32])?;
/// let mut y = device.zeros::<u32, 1>([32])?;
/// odd::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [0b111; 32]); // lanes 0, 1 and 2
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn ballot(_condition: bool) -> u32 {
    device_only()
}

/// Whether the condition holds in a lane of the warp. Every thread of the warp takes part.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn some(x: &LayoutTensor<i32, RowMajor<32>>, y: &mut LayoutTensor<bool, RowMajor<32>>) {
///     y[[lane_id()]] = any(x[[lane_id()]] == 7);
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..32).collect::<Vec<i32>>(), [32])?;
/// let mut y = device.zeros::<bool, 1>([32])?;
/// some::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [true; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn any(_condition: bool) -> bool {
    device_only()
}

/// Whether the condition holds in all lanes of the warp. Every thread of the warp takes part.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn each(x: &LayoutTensor<i32, RowMajor<32>>, y: &mut LayoutTensor<bool, RowMajor<32>>) {
///     y[[lane_id()]] = all(x[[lane_id()]] < 31);
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..32).collect::<Vec<i32>>(), [32])?;
/// let mut y = device.zeros::<bool, 1>([32])?;
/// each::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [false; 32]); // lane 31 has 31
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn all(_condition: bool) -> bool {
    device_only()
}

/// A number whose bit `i` says whether lane `i` of the warp has the same bits as this one: `__match_any_sync`. It takes
/// every type, floats by their bits (NaN is NaN, and -0 is not 0). Every thread of the warp takes part.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // One atomic operation for each value that is in the warp: its first lane counts the others.
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn count(x: &LayoutTensor<u8, RowMajor<32>>, bins: &mut LayoutTensor<u32, RowMajor<256>>) {
///     let own = x[[lane_id()]];
///     let same = match_any(own);
///     if same.trailing_zeros() as usize == lane_id() {
///         bins.atomic_add([own as usize], same.count_ones());
///     }
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..32).map(|i| i / 20).collect::<Vec<u8>>(), [32])?;
/// let mut bins = device.zeros::<u32, 1>([256])?;
/// count::launch(&device.stream(), &x, &mut bins)?;
/// assert_eq!(bins.download()?[..3], [20, 12, 0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn match_any<T: Number>(_value: T) -> u32 {
    device_only()
}

/// Whether all lanes of the warp have the same bits: `__match_all_sync`. Types and threads as of [`match_any`].
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [64], grid = [1])]
/// fn equal(x: &LayoutTensor<f64, RowMajor<64>>, y: &mut LayoutTensor<bool, RowMajor<2>>) {
///     let all = match_all(x[[thread_idx.x]]);
///     if lane_id() == 0 {
///         y[[warp_id()]] = all;
///     }
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..64).map(|i| if i < 63 { 1.5 } else { 2.5 }).collect::<Vec<f64>>(), [64])?;
/// let mut y = device.zeros::<bool, 1>([2])?;
/// equal::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [true, false]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn match_all<T: Number>(_value: T) -> bool {
    device_only()
}

/// Whether this is the elected lane of its warp: always the same one, which the hardware chooses. Every thread of the warp
/// takes part. The compiler knows that one thread alone runs the code under it (`elect.sync`, sm_90 and later).
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
/// fn leaders(y: &mut LayoutTensor<i32, RowMajor<2>>) {
///     if elect_one() {
///         y[[warp_id()]] = 7;
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([2])?;
/// leaders::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [7, 7]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn elect_one() -> bool {
    device_only()
}

/// Every thread of the block waits for every other. Writes to shared memory before it are visible after it.
///
/// ```
/// # use layout_cuda::{Device, LaunchConfig, ParamSet, ParamValue, tiled_kernel};
/// // Without it the simulator finds that threads read what others write at the same time.
/// #[tiled_kernel(WAIT = [true, false], block = [64], grid = [1])]
/// fn reverse(x: &mut LayoutTensor<i32, RowMajor<64>>) {
///     let mut held = shared::<i32>(row_major([64]));
///     held[[thread_idx.x]] = x[[thread_idx.x]];
///     if WAIT {
///         barrier();
///     }
///     x[[thread_idx.x]] = held[[63 - thread_idx.x]];
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(0..64).collect::<Vec<i32>>(), [64])?;
/// reverse::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[..3], [63, 62, 61]);
/// let without = ParamSet::default().with("WAIT", ParamValue::Bool(false));
/// assert!(reverse::launch_with(LaunchConfig { set: Some(&without), ..LaunchConfig::default() }, &device.stream(), &mut x).is_err());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn barrier() {
    device_only()
}

/// Every thread of the grid waits for every other. Writes before it, those to global memory included, are visible after it.
/// It takes a kernel with `cooperative = true`: all its blocks run at the same time, and a launch of more blocks than the
/// device holds is refused. (The simulator's device has the multiprocessors of its `Options`, with `min_blocks` blocks
/// each.) A captured launch keeps its stream's counter of blocks: two graphs of one stream must not run at the same time.
/// CUDA's cooperative launch.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Rounds that each read what the round before has written, in one launch.
/// #[tiled_kernel(cooperative = true, block = [32], grid = [N.div_ceil(32)])]
/// fn smooth<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<2, N>>, rounds: usize) {
///     let i = block_idx.x * 32 + thread_idx.x;
///     for round in 0..rounds {
///         if i > 0 && i < N - 1 {
///             let from = round % 2;
///             x[[1 - from, i]] = 0.5 * (x[[from, i - 1]] + x[[from, i + 1]]);
///         }
///         grid_barrier();
///     }
/// }
/// # let device = Device::simulator();
/// let mut values = vec![0.0; 192];
/// (values[0], values[96]) = (1.0, 1.0); // the left end stays
/// let mut x = device.upload(&values, [2, 96])?;
/// smooth::launch(&device.stream(), &mut x, 2)?;
/// assert_eq!(x.download()?[..4], [1.0, 0.5, 0.25, 0.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn grid_barrier() {
    device_only()
}

/// Every thread of the warp waits for every other. What they wrote before it, and what one of them waited for, is visible
/// after it (`__syncwarp`). Every thread of the warp takes part.
///
/// ```
/// # use layout_cuda::{Device, LaunchConfig, ParamSet, ParamValue, tiled_kernel};
/// // Each warp turns its own 32 elements round. Without it the simulator finds the race.
/// #[tiled_kernel(WAIT = [true, false], block = [64], grid = [1])]
/// fn reverse(x: &mut LayoutTensor<i32, RowMajor<64>>) {
///     let mut held = shared::<i32>(row_major([2, 32]));
///     held[[warp_id(), lane_id()]] = x[[thread_idx.x]];
///     if WAIT {
///         sync_warp();
///     }
///     x[[thread_idx.x]] = held[[warp_id(), 31 - lane_id()]];
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(0..64).collect::<Vec<i32>>(), [64])?;
/// reverse::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[..3], [31, 30, 29]);
/// let without = ParamSet::default().with("WAIT", ParamValue::Bool(false));
/// assert!(reverse::launch_with(LaunchConfig { set: Some(&without), ..LaunchConfig::default() }, &device.stream(), &mut x).is_err());
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn sync_warp() {
    device_only()
}

/// The warpgroup's number in its block, from 0. A warpgroup is four warps.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_90a", block = [256], grid = [1])]
/// fn groups(y: &mut LayoutTensor<i32, RowMajor<256>>) {
///     y[[thread_idx.x]] = warp_group() as i32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([256])?;
/// groups::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[126..130], [0, 0, 1, 1]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn warp_group() -> usize {
    device_only()
}

/// The block's number in its cluster, from 0.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_90a", block = [1], cluster = [2], grid = [4])]
/// fn ranks(y: &mut LayoutTensor<i32, RowMajor<4>>) {
///     y[[block_idx.x]] = cluster_rank() as i32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([4])?;
/// ranks::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 1, 0, 1]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn cluster_rank() -> usize {
    device_only()
}

/// Every thread of the cluster waits for every other. Writes to shared memory before it are visible after it.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_90a", block = [1], cluster = [2], grid = [2])]
/// fn exchange(y: &mut LayoutTensor<i32, RowMajor<4>>) {
///     let rank = cluster_rank();
///     y[[rank]] = rank as i32 + 5;
///     cluster_barrier();
///     y[[2 + rank]] = y[[1 - rank]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([4])?;
/// exchange::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [5, 6, 6, 5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn cluster_barrier() {
    device_only()
}

/// Waits until the launches before this one on the stream have ended; what they wrote is visible after it. A kernel that
/// has this wait may begin before they end: as soon as they allow it ([`launch_dependents`]), or while their blocks end. So
/// its start costs less time. It touches no global memory before the wait, and every thread waits, at the top level of the
/// kernel. CUDA's programmatic dependent launch, `griddepcontrol.wait`; before sm_90 the launches before this one have ended, and nothing
/// is waited for.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [4], grid = [1])]
/// fn twice(y: &mut LayoutTensor<i32, RowMajor<4>>) {
///     let mut next = shared::<i32>(row_major([4]));
///     next[[thread_idx.x]] = 2;
///     grid_dependency_wait();
///     launch_dependents();
///     y[[thread_idx.x]] *= next[[thread_idx.x]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.upload(&[1, 2, 3, 4], [4])?;
/// twice::launch(&device.stream(), &mut y)?;
/// twice::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [4, 8, 12, 16]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn grid_dependency_wait() {
    device_only()
}

/// Allows the next launch on the stream to begin, if it has a [`grid_dependency_wait`], once every block of this launch has
/// come here or ended. It is a hint only: what the next launch reads is there after its wait.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [4], grid = [1])]
/// fn count(y: &mut LayoutTensor<i32, RowMajor<4>>) {
///     launch_dependents();
///     grid_dependency_wait();
///     y[[thread_idx.x]] += 1;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([4])?;
/// count::launch(&device.stream(), &mut y)?;
/// count::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [2; 4]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn launch_dependents() {
    device_only()
}

/// `threads` threads, whole warps, wait for each other at barrier `id`, 1 to 15. What they wrote to shared memory before it
/// is visible to them after it.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Two of three warps wait for each other; the third goes its own way.
/// #[tiled_kernel(arch = "sm_90a", block = [96], grid = [1])]
/// fn swap(x: &mut LayoutTensor<i32, RowMajor<64>>) {
///     let mut held = shared::<i32>(row_major([64]));
///     if thread_idx.x < 64 {
///         held[[thread_idx.x]] = x[[thread_idx.x]];
///         named_barrier(1, 64);
///         x[[thread_idx.x]] = held[[63 - thread_idx.x]];
///     }
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(0..64).collect::<Vec<i32>>(), [64])?;
/// swap::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[..3], [63, 62, 61]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn named_barrier(_id: usize, _threads: usize) {
    device_only()
}

/// This warp arrives at barrier `id` and goes on (`bar.arrive`). Of `threads` threads, whole warps, some arrive and the
/// others wait there ([`named_barrier`]); those that wait see what all of them wrote before. A warp must not arrive twice
/// before the barrier is complete.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // The first warp makes, the second takes; the first need not wait.
/// #[tiled_kernel(block = [64], grid = [1])]
/// fn pass(x: &mut LayoutTensor<i32, RowMajor<32>>) {
///     let mut held = shared::<i32>(row_major([32]));
///     if warp_id() == 0 {
///         held[[lane_id()]] = 10 * lane_id() as i32;
///         named_barrier_arrive(1, 64);
///     } else {
///         named_barrier(1, 64);
///         x[[lane_id()]] = held[[31 - lane_id()]];
///     }
/// }
/// # let device = Device::simulator();
/// let mut x = device.zeros::<i32, 1>([32])?;
/// pass::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[..3], [310, 300, 290]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn named_barrier_arrive(_id: usize, _threads: usize) {
    device_only()
}

/// From here on each thread of this warpgroup has `registers` registers: 24 to 256, a multiple of 8. It is the first
/// statement of a warpgroup's role. The block's sum may not exceed 65536; a warpgroup that asks for more waits until others
/// have given some up.
///
/// The attribute has `min_blocks = 1`: it bounds the registers at entry. Without a bound `ptxas` may ignore the instruction, which a
/// launch reports as a slow path.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // The first warpgroup gives registers, the second takes them.
/// #[tiled_kernel(arch = "sm_90a", block = [256], min_blocks = 1, grid = [1])]
/// fn roles(y: &mut LayoutTensor<i32, RowMajor<256>>) {
///     if warp_group() == 0 {
///         set_max_registers(40);
///         y[[thread_idx.x]] = 40;
///     } else {
///         set_max_registers(232);
///         y[[thread_idx.x]] = 232;
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([256])?;
/// roles::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[127..129], [40, 232]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn set_max_registers(_registers: usize) {
    device_only()
}

/// The sum of the warp, in every lane: [`Number::warp_sum`] as a function.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn all(x: &mut LayoutTensor<u32, RowMajor<32>>) {
///     x[[lane_id()]] = warp_sum(x[[lane_id()]]);
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(1..33).collect::<Vec<u32>>(), [32])?;
/// all::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [528; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn warp_sum<T: Number>(_value: T) -> T {
    device_only()
}

/// The smallest value of the warp, in every lane: [`Number::warp_min`] as a function.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn all(x: &mut LayoutTensor<u32, RowMajor<32>>) {
///     x[[lane_id()]] = warp_min(x[[lane_id()]]);
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(1..33).collect::<Vec<u32>>(), [32])?;
/// all::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [1; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn warp_min<T: Number>(_value: T) -> T {
    device_only()
}

/// The largest value of the warp, in every lane: [`Number::warp_max`] as a function.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn all(x: &mut LayoutTensor<u32, RowMajor<32>>) {
///     x[[lane_id()]] = warp_max(x[[lane_id()]]);
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(1..33).collect::<Vec<u32>>(), [32])?;
/// all::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [32; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn warp_max<T: Number>(_value: T) -> T {
    device_only()
}

/// The bits that are one in every lane of the warp, in every lane: [`Number::warp_and`] as a function.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn all(x: &mut LayoutTensor<u32, RowMajor<32>>) {
///     x[[lane_id()]] = warp_and(x[[lane_id()]]);
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(1..33).collect::<Vec<u32>>(), [32])?;
/// all::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [0; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn warp_and<T: Number>(_value: T) -> T {
    device_only()
}

/// The bits that are one in a lane of the warp, in every lane: [`Number::warp_or`] as a function.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn all(x: &mut LayoutTensor<u32, RowMajor<32>>) {
///     x[[lane_id()]] = warp_or(x[[lane_id()]]);
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(1..33).collect::<Vec<u32>>(), [32])?;
/// all::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [63; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn warp_or<T: Number>(_value: T) -> T {
    device_only()
}

/// The bits that are one in an odd number of lanes of the warp, in every lane: [`Number::warp_xor`] as a function.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn all(x: &mut LayoutTensor<u32, RowMajor<32>>) {
///     x[[lane_id()]] = warp_xor(x[[lane_id()]]);
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&(1..33).collect::<Vec<u32>>(), [32])?;
/// all::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [32; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn warp_xor<T: Number>(_value: T) -> T {
    device_only()
}
