//! Rings of stages in shared memory, between the threads that fill them and those that read them.
//!
//! These are structs of the kernel language, written in it. A kernel that names one gets its text in front of its body (see
//! `kernel::library`).
//!
//! Law: round `n` of a ring of `STAGES` stages uses stage `n % STAGES`. The stage is filled after every reader has given it
//! back, and read after everything that fills it has arrived.

use super::{
    Mbarrier, Mbarriers, PipelineState, async_copy_commit_group, async_copy_wait_group, barrier, mbarriers,
    pipeline_state,
};

/// A code block: a warp hands rows on through a ring that TMA fills; one thread goes through a ring; a warp adds up rows that come
/// by asynchronous copies.
macro_rules! example {
    (tma $first:literal, $last:literal) => {
        concat!(
            "```\n# use layout_cuda::{Device, tiled_kernel};\n",
            "# #[tiled_kernel(arch = \"sm_90a\", block = [32], grid = [1])]\n",
            "# fn through<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 32>>, y: &mut LayoutTensor<f32, RowMajor<M, 32>>) {\n",
            "let stages = shared::<f32>(row_major([2, 1, 32]));\n",
            "let mut ring = Pipeline::<2>::new(32);\nbarrier();\n",
            "for row in 0..M {\n    if thread_idx.x == 0 {\n        ring.acquire();\n        ",
            $first,
            "\n        tma_load(&mut stages.slice(ring.stage()), &x.tile([1, 32], [row, 0]), full);\n    }\n",
            "    ring.wait();\n    y[[row, lane_id()]] = stages[[ring.stage(), 0, lane_id()]];\n    ",
            $last,
            "\n    ring.advance();\n}\n# }\n# let device = Device::simulator();\n",
            "# let x = device.upload(&(0..160).map(|i| i as f32).collect::<Vec<_>>(), [5, 32])?;\n",
            "# let mut y = device.zeros::<f32, 2>([5, 32])?;\n",
            "# through::launch(&device.stream(), &x, &mut y)?;\n",
            "# assert_eq!(y.download()?, x.download()?);\n",
            "# Ok::<(), layout_cuda::Error>(())\n```"
        )
    };
    (walk $body:literal, $expected:literal) => {
        concat!(
            "```\n# use layout_cuda::{Device, tiled_kernel};\n",
            "#[tiled_kernel(arch = \"sm_90a\", block = [1], grid = [1])]\n",
            "fn walk(y: &mut LayoutTensor<i32, RowMajor<5>>) {\n    ",
            $body,
            "\n}\n# let device = Device::simulator();\n",
            "let mut y = device.zeros::<i32, 1>([5])?;\nwalk::launch(&device.stream(), &mut y)?;\n",
            "assert_eq!(y.download()?, [",
            $expected,
            "]);\n# Ok::<(), layout_cuda::Error>(())\n```"
        )
    };
    (copies $ready:literal) => {
        concat!(
            "```\n# use layout_cuda::{Device, tiled_kernel};\n# #[tiled_kernel(block = [32], grid = [1])]\n",
            "# fn sum<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 128>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {\n",
            "let (stages, threads) = (shared::<f32>(row_major([2, 1, 128])), row_major([1, 32]));\n",
            "let mut ring = CopyPipeline::<2>::begin();\n",
            "copy_dram_to_sram_async(&mut stages.slice(0), &x.tile([1, 128], [0, 0]), threads);\nring.commit();\n",
            "let mut total = 0.0;\nfor row in 0..M {\n    ",
            $ready,
            "\n    copy_dram_to_sram_async(&mut stages.slice(ring.free()), &x.tile([1, 128], [row + 1, 0]), threads);\n",
            "    ring.commit();\n    total += stages[[ring.stage(), 0, 127 - thread_idx.x]];\n    ring.advance();\n}\n",
            "y[[thread_idx.x]] = total;\n# }\n# let device = Device::simulator();\n",
            "# let x = device.upload(&(0..640).map(|i| (i % 128) as f32).collect::<Vec<_>>(), [5, 128])?;\n",
            "# let mut y = device.zeros::<f32, 1>([32])?;\n# sum::launch(&device.stream(), &x, &mut y)?;\n",
            "# assert_eq!(y.download()?[..3], [635.0, 630.0, 625.0]);\n",
            "# Ok::<(), layout_cuda::Error>(())\n```"
        )
    };
}

/// A ring of stages that TMA fills, and a thread's place in it. Who fills goes round by [`acquire`](Pipeline::acquire),
/// [`expect`](Pipeline::expect), loads, [`advance`](Pipeline::advance); who reads by [`wait`](Pipeline::wait), reads,
/// [`release`](Pipeline::release), `advance`.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // One thread loads rows into three stages, a warp adds them up.
/// #[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
/// fn sum<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let stages = shared::<f32>(row_major([3, 1, 32]));
///     let mut ring = Pipeline::<3>::new(32);
///     barrier();
///     if thread_idx.x == 32 {
///         for row in 0..M {
///             ring.acquire();
///             let full = ring.expect(128);
///             tma_load(&mut stages.slice(ring.stage()), &x.tile([1, 32], [row, 0]), full);
///             ring.advance();
///         }
///     } else if warp_id() == 0 {
///         let mut total = 0.0;
///         for _ in 0..M {
///             ring.wait();
///             total += stages[[ring.stage(), 0, lane_id()]];
///             ring.release();
///             ring.advance();
///         }
///         y[[lane_id()]] = total;
///     }
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..160).map(|i| (i % 32) as f32).collect::<Vec<_>>(), [5, 32])?;
/// let mut y = device.zeros::<f32, 1>([32])?;
/// sum::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?[..3], [0.0, 5.0, 10.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Debug)]
pub struct Pipeline<const STAGES: usize> {
    full: Mbarriers,
    empty: Mbarriers,
    place: PipelineState,
}

impl<const STAGES: usize> Pipeline<STAGES> {
    /// A ring of which `readers` arrivals give a stage back. A [`barrier`] must be between this and its use.
    ///
    #[doc = example!(tma "let full = ring.expect(128);", "ring.release();")]
    pub fn new(readers: usize) -> Self {
        // Under these names in the text.
        let full = mbarriers(STAGES, 1);
        let empty = mbarriers(STAGES, readers);
        Self { full, empty, place: pipeline_state(STAGES) }
    }

    /// The same ring from its first stage on: a second place in it, of a reader that gives a stage back after it has begun the next.
    ///
    #[doc = example!(walk "let mut ring = Pipeline::<3>::new(1);\n    let mut behind = ring.begin();\n    for i in 0..5 {\n        y[[i]] = (10 * ring.stage() + behind.stage()) as i32;\n        ring.advance();\n        if i > 0 {\n            behind.advance();\n        }\n    }", "0, 10, 21, 2, 10")]
    pub fn begin(&self) -> Self {
        Self { full: self.full, empty: self.empty, place: pipeline_state(STAGES) }
    }

    /// The stage, from 0.
    ///
    #[doc = example!(walk "let mut ring = Pipeline::<2>::new(1);\n    for i in 0..5 {\n        y[[i]] = ring.stage() as i32;\n        ring.advance();\n    }", "0, 1, 0, 1, 0")]
    pub fn stage(&self) -> usize {
        self.place.stage()
    }

    /// Waits until every reader has given the stage back; a fresh one is free.
    ///
    #[doc = example!(tma "let full = ring.expect(128);", "ring.release();")]
    pub fn acquire(&self) {
        self.empty.at(self.place.stage()).wait(1 - self.place.phase());
    }

    /// Says how many bytes fill the stage. Gives the barrier that the loads complete.
    ///
    #[doc = example!(tma "// 32 floats come.\n        let full = ring.expect(128);", "ring.release();")]
    pub fn expect(&self, bytes: usize) -> Mbarrier {
        let full = self.full.at(self.place.stage());
        full.arrive_expect(bytes);
        full
    }

    /// Waits until the stage is full.
    ///
    #[doc = example!(tma "let full = ring.expect(128);", "ring.release();")]
    pub fn wait(&self) {
        self.full.at(self.place.stage()).wait(self.place.phase());
    }

    /// Gives the stage back, as one of its readers.
    ///
    #[doc = example!(tma "let full = ring.expect(128);", "// The thread has read it.\n    ring.release();")]
    pub fn release(&self) {
        self.empty.at(self.place.stage()).arrive();
    }

    /// Goes to the next stage.
    ///
    #[doc = example!(walk "let mut ring = Pipeline::<2>::new(1);\n    for i in 0..5 {\n        y[[i]] = ring.stage() as i32;\n        ring.advance();\n    }", "0, 1, 0, 1, 0")]
    pub fn advance(&mut self) {
        self.place.advance();
    }
}

/// A ring of stages that the threads fill by asynchronous copies and read themselves, and the place in it. `STAGES - 1` stages are
/// filled ahead, each closed by [`commit`](CopyPipeline::commit); then each round is [`wait`](CopyPipeline::wait), the copies of
/// stage [`free`](CopyPipeline::free), `commit`, the use of [`stage`](CopyPipeline::stage), [`advance`](CopyPipeline::advance).
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Rows come two ahead of the one that is added.
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn sum<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 128>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let stages = shared::<f32>(row_major([3, 1, 128]));
///     let mut ring = CopyPipeline::<3>::begin();
///     for row in 0..2 {
///         copy_dram_to_sram_async(&mut stages.slice(row), &x.tile([1, 128], [row, 0]), row_major([1, 32]));
///         ring.commit();
///     }
///     let mut total = 0.0;
///     for row in 0..M {
///         ring.wait();
///         copy_dram_to_sram_async(&mut stages.slice(ring.free()), &x.tile([1, 128], [row + 2, 0]), row_major([1, 32]));
///         ring.commit();
///         total += stages[[ring.stage(), 0, 127 - thread_idx.x]];
///         ring.advance();
///     }
///     y[[thread_idx.x]] = total;
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&(0..5 * 128).map(|i| (i % 128) as f32).collect::<Vec<_>>(), [5, 128])?;
/// let mut y = device.zeros::<f32, 1>([32])?;
/// sum::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?[..3], [635.0, 630.0, 625.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Debug)]
pub struct CopyPipeline<const STAGES: usize> {
    place: PipelineState,
}

impl<const STAGES: usize> CopyPipeline<STAGES> {
    /// A ring at its first stage.
    ///
    #[doc = example!(copies "ring.wait();")]
    pub fn begin() -> Self {
        Self { place: pipeline_state(STAGES) }
    }

    /// The stage that is used, from 0.
    ///
    #[doc = example!(copies "ring.wait();")]
    pub fn stage(&self) -> usize {
        self.place.stage()
    }

    /// The stage that is filled meanwhile: the one that was used last.
    ///
    #[doc = example!(copies "ring.wait();")]
    pub fn free(&self) -> usize {
        (self.place.stage() + STAGES - 1) % STAGES
    }

    /// Closes the copies of a stage.
    ///
    #[doc = example!(copies "ring.wait();")]
    pub fn commit(&self) {
        async_copy_commit_group();
    }

    /// Waits until the stage has come, for every thread of the block; everyone has used the last one then.
    ///
    #[doc = example!(copies "// The row is there, and the one before it is used.\n    ring.wait();")]
    pub fn wait(&self) {
        async_copy_wait_group(STAGES - 2);
        barrier();
    }

    /// Goes to the next stage.
    ///
    #[doc = example!(copies "ring.wait();")]
    pub fn advance(&mut self) {
        self.place.advance();
    }
}
