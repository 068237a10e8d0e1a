//! Barriers in shared memory that count arrivals and bytes, and a thread's place in a ring of stages.
//!
//! The protocol of a ring of stages. A producer waits until a stage is `empty`, announces to its `full` barrier how many
//! bytes will come, and starts the loads. A consumer waits until the stage is `full`, uses it, and arrives at `empty`.
//! Round `n` of a ring of `S` stages uses stage `n % S`; consumers wait for parity `n / S % 2`, producers for `(n / S + 1)
//! % 2` (a fresh barrier lets them pass).
//!
//! Source: PTX ISA, "mbarrier".

use super::device_only;

/// Barriers in shared memory: see [`mbarriers`].
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // A ring of two stages: one thread loads, all use.
/// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
/// fn through<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 32>>, y: &mut LayoutTensor<f32, RowMajor<M, 32>>) {
///     let stages = shared::<f32>(row_major([2, 1, 32]));
///     let (full, empty) = (mbarriers(2, 1), mbarriers(2, 32));
///     barrier();
///     for row in 0..M {
///         if thread_idx.x == 0 {
///             empty.at(row % 2).wait((row / 2 + 1) % 2);
///             full.at(row % 2).arrive_expect(128);
///             tma_load(&mut stages.slice(row % 2), &x.tile([1, 32], [row, 0]), full.at(row % 2));
///         }
///         full.at(row % 2).wait(row / 2 % 2);
///         y[[row, lane_id()]] = stages[[row % 2, 0, lane_id()]];
///         empty.at(row % 2).arrive();
///     }
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..160).map(|i| i as f32).collect::<Vec<_>>(), [5, 32])?;
/// let mut y = device.zeros::<f32, 2>([5, 32])?;
/// through::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, x.download()?);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mbarriers(());

/// One of them.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
/// fn meet(y: &mut LayoutTensor<i32, RowMajor<64>>) {
///     let mut held = shared::<i32>(row_major([64]));
///     let all = mbarriers(1, 64).at(0);
///     barrier();
///     held[[thread_idx.x]] = thread_idx.x as i32;
///     all.arrive();
///     all.wait(0);
///     y[[thread_idx.x]] = held[[63 - thread_idx.x]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([64])?;
/// meet::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[..3], [63, 62, 61]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mbarrier(());

/// `count` barriers in shared memory, initialised by the block's first threads. A phase of one ends after `arrivals`
/// arrivals, and after the bytes that it was announced. A [`barrier`](super::barrier) must be between this and their
/// use; without one the kernel is refused. Zero barriers are none: `mbarriers(if TMA { 2 } else { 0 }, 1)` is for a kernel that uses
/// them under `if TMA`.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Warp 1 goes on once warp 0's threads have arrived.
/// #[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
/// fn hand_over(y: &mut LayoutTensor<i32, RowMajor<32>>) {
///     let mut held = shared::<i32>(row_major([32]));
///     let ready = mbarriers(1, 32);
///     barrier();
///     if warp_id() == 0 {
///         held[[lane_id()]] = lane_id() as i32;
///         ready.at(0).arrive();
///     } else {
///         ready.at(0).wait(0);
///         y[[lane_id()]] = held[[31 - lane_id()]];
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([32])?;
/// hand_over::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?[..3], [31, 30, 29]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn mbarriers(_count: usize, _arrivals: usize) -> Mbarriers {
    device_only()
}

impl Mbarriers {
    /// Barrier number `index`, which must be provably below the count: `n % STAGES`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Two warps, a barrier each.
    /// #[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
    /// fn meet(y: &mut LayoutTensor<i32, RowMajor<64>>) {
    ///     let mut held = shared::<i32>(row_major([2, 32]));
    ///     let own = mbarriers(2, 32).at(warp_id() % 2);
    ///     barrier();
    ///     held[[warp_id(), lane_id()]] = thread_idx.x as i32;
    ///     own.arrive();
    ///     own.wait(0);
    ///     y[[thread_idx.x]] = held[[warp_id(), 31 - lane_id()]];
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([64])?;
    /// meet::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?[31..33], [0, 63]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn at(self, _index: usize) -> Mbarrier {
        device_only()
    }
}

impl Mbarrier {
    /// Arrives: whoever waits for the phase sees what this thread wrote before.
    ///
    /// ```
    /// # use layout_cuda::{Device, FindingKind, LaunchConfig, Options, ParamSet, ParamValue, tiled_kernel};
    /// // One arrival too few, and nobody who waits goes on: the simulator finds it.
    /// #[tiled_kernel(ARRIVALS = [32, 33], arch = "sm_90a", block = [32], grid = [1])]
    /// fn meet(y: &mut LayoutTensor<i32, RowMajor<32>>) {
    ///     let all = mbarriers(1, ARRIVALS);
    ///     barrier();
    ///     all.at(0).arrive();
    ///     all.at(0).wait(0);
    ///     y[[lane_id()]] = 1;
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([32])?;
    /// meet::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [1; 32]);
    /// let more = ParamSet::default().with("ARRIVALS", ParamValue::Int(33));
    /// let config = LaunchConfig { set: Some(&more), ..LaunchConfig::default() };
    /// let report = meet::simulate_with(config, &Options::default(), &mut y)?;
    /// assert!(report.find(FindingKind::Deadlock).is_some());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn arrive(self) {
        device_only()
    }

    /// Arrives, and announces `bytes` of [`tma_load`](super::tma_load)s that the phase waits for; the number is known at
    /// compile time.
    ///
    /// ```
    /// # use layout_cuda::{Device, FindingKind, LaunchConfig, Options, ParamSet, ParamValue, tiled_kernel};
    /// // A box of 32 floats is 128 bytes; with another number the phase would not end rightly.
    /// #[tiled_kernel(BYTES = [128, 64], arch = "sm_90a", block = [32], grid = [1])]
    /// fn load(x: &LayoutTensor<f32, RowMajor<1, 32>>, y: &mut LayoutTensor<f32, RowMajor<1, 32>>) {
    ///     let mut tile = shared::<f32>(row_major([1, 32]));
    ///     let full = mbarriers(1, 1);
    ///     barrier();
    ///     if thread_idx.x == 0 {
    ///         full.at(0).arrive_expect(BYTES);
    ///         tma_load(&mut tile, &x.tile([1, 32], [0, 0]), full.at(0));
    ///     }
    ///     full.at(0).wait(0);
    ///     y[[0, lane_id()]] = tile[[0, lane_id()]];
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1.5f32; 32], [1, 32])?;
    /// let mut y = device.zeros::<f32, 2>([1, 32])?;
    /// load::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [1.5; 32]);
    /// let wrong = ParamSet::default().with("BYTES", ParamValue::Int(64));
    /// let config = LaunchConfig { set: Some(&wrong), ..LaunchConfig::default() };
    /// let report = load::simulate_with(config, &Options::default(), &x, &mut y)?;
    /// assert!(report.find(FindingKind::TransactionBytes).is_some());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn arrive_expect(self, _bytes: usize) {
        device_only()
    }

    /// Arrives at the same barrier of block `rank` of the cluster.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Block 0 waits until block 1 of its cluster has arrived at its barrier.
    /// #[tiled_kernel(arch = "sm_90a", block = [1], cluster = [2], grid = [2])]
    /// fn signal(y: &mut LayoutTensor<i32, RowMajor<2>>) {
    ///     let arrived = mbarriers(1, 1);
    ///     cluster_barrier();
    ///     if cluster_rank() == 1 {
    ///         y[[1]] = 1;
    ///         arrived.at(0).arrive_remote(0);
    ///     } else {
    ///         arrived.at(0).wait(0);
    ///         y[[0]] = 1;
    ///     }
    ///     cluster_barrier();
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([2])?;
    /// signal::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [1, 1]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn arrive_remote(self, _rank: usize) {
        device_only()
    }

    /// Waits until the phase of this parity has ended: 0 for the first phase, then 1, then 0. Parity 1 of a fresh barrier
    /// counts as ended. The number of a round will do: its lowest bit counts.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // Three rounds at one barrier: parity 0, 1, 0.
    /// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
    /// fn turns(y: &mut LayoutTensor<i32, RowMajor<32>>) {
    ///     let mut held = shared::<i32>(row_major([32]));
    ///     let all = mbarriers(1, 32).at(0);
    ///     barrier();
    ///     let mut own = lane_id() as i32;
    ///     for round in 0..3 {
    ///         held[[lane_id()]] = own;
    ///         all.arrive();
    ///         all.wait(round % 2);
    ///         own = held[[(lane_id() + 1) % 32]];
    ///         barrier();
    ///     }
    ///     y[[lane_id()]] = own;
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([32])?;
    /// turns::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?[..3], [3, 4, 5]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn wait(self, _parity: usize) {
        device_only()
    }
}

/// A thread's position in a ring of stages: see [`pipeline_state`].
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(arch = "sm_90a", block = [1], grid = [1])]
/// fn walk(y: &mut LayoutTensor<i32, RowMajor<5>>) {
///     let mut state = pipeline_state(2);
///     for i in 0..5 {
///         y[[i]] = (10 * state.phase() + state.stage()) as i32;
///         state.advance();
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([5])?;
/// walk::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 1, 10, 11, 0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Debug)]
pub struct PipelineState(());

/// Stage 0, phase 0 of a ring of `stages` stages. A consumer waits for `full.at(state.stage()).wait(state.phase())`, a
/// producer for `empty.at(state.stage()).wait(1 - state.phase())`; both then advance. Unlike other values it changes:
/// bind it by `let mut`.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // One warp hands numbers to another through a ring of two stages.
/// #[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
/// fn hand_on(y: &mut LayoutTensor<i32, RowMajor<5, 32>>) {
///     let mut ring = shared::<i32>(row_major([2, 32]));
///     let (full, empty) = (mbarriers(2, 32), mbarriers(2, 32));
///     barrier();
///     let mut state = pipeline_state(2);
///     for i in 0..5 {
///         if warp_id() == 0 {
///             empty.at(state.stage()).wait(1 - state.phase());
///             ring[[state.stage(), lane_id()]] = i as i32;
///             full.at(state.stage()).arrive();
///         } else {
///             full.at(state.stage()).wait(state.phase());
///             y[[i, lane_id()]] = ring[[state.stage(), 31 - lane_id()]];
///             empty.at(state.stage()).arrive();
///         }
///         state.advance();
///     }
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 2>([5, 32])?;
/// hand_on::launch(&device.stream(), &mut y)?;
/// assert_eq!((y.download()?[0], y.download()?[159]), (0, 4));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn pipeline_state(_stages: usize) -> PipelineState {
    device_only()
}

impl PipelineState {
    /// The stage, from 0.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(arch = "sm_90a", block = [1], grid = [1])]
    /// fn stages(y: &mut LayoutTensor<i32, RowMajor<5>>) {
    ///     let mut state = pipeline_state(3);
    ///     for i in 0..5 {
    ///         y[[i]] = state.stage() as i32;
    ///         state.advance();
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([5])?;
    /// stages::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [0, 1, 2, 0, 1]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn stage(&self) -> usize {
        device_only()
    }

    /// 0 in the first round of the ring, then 1, then 0.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(arch = "sm_90a", block = [1], grid = [1])]
    /// fn phases(y: &mut LayoutTensor<i32, RowMajor<5>>) {
    ///     let mut state = pipeline_state(2);
    ///     for i in 0..5 {
    ///         y[[i]] = state.phase() as i32;
    ///         state.advance();
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([5])?;
    /// phases::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [0, 0, 1, 1, 0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn phase(&self) -> usize {
        device_only()
    }

    /// Goes to the next stage.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(arch = "sm_90a", block = [1], grid = [1])]
    /// fn twice(y: &mut LayoutTensor<i32, RowMajor<1>>) {
    ///     let mut state = pipeline_state(4);
    ///     state.advance();
    ///     state.advance();
    ///     y[[0]] = state.stage() as i32;
    /// }
    /// # let device = Device::simulator();
    /// let mut y = device.zeros::<i32, 1>([1])?;
    /// twice::launch(&device.stream(), &mut y)?;
    /// assert_eq!(y.download()?, [2]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn advance(&mut self) {
        device_only()
    }
}
