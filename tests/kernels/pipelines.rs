//! Rings of stages as structs of the language: a warp that fills them by TMA for two that read, and threads that fill them by
//! asynchronous copies and read themselves.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::Operand;
use layout_cuda::{Error, tiled_kernels};

pub use rings::{columns_by_copies, columns_by_tma};

#[tiled_kernels]
pub mod rings {
    /// Sums of columns, and how many rows they are of.
    struct Sums<T, const COLUMNS: usize> {
        sums: [T; COLUMNS],
        rows: usize,
    }

    impl<T: Number + Constants + std::ops::Add<Output = T>, const COLUMNS: usize> Sums<T, COLUMNS> {
        fn none() -> Self {
            Self { sums: [T::ZERO; COLUMNS], rows: 0 }
        }

        fn add(&mut self, row: View<T, Read>, first: usize) {
            for i in unroll(0..COLUMNS) {
                self.sums[i] = self.sums[i] + row[[0, first + i]];
            }
            self.rows += 1;
        }
    }

    /// `y[j] = sum over i of x[i, j]`, and how many rows a thread has added behind it: one warp loads for two.
    #[tiled_kernel(STAGES = [2, 5], arch = "sm_90a", block = [96], grid = [1], deny(synchronous))]
    pub fn columns_by_tma<const M: usize>(
        x: &LayoutTensor<i32, Pitched<M, 128>>,
        y: &mut LayoutTensor<i32, RowMajor<129>>,
    ) {
        let stages = shared::<i32>(row_major([STAGES, 1, 128]));
        let mut ring = Pipeline::<STAGES>::new(64);
        barrier();
        if warp_id() == 2 {
            if elect_one() {
                for row in 0..M {
                    ring.acquire();
                    let mut stage = stages.slice(ring.stage());
                    let full = ring.expect(stage.bytes());
                    tma_load(&mut stage, &x.tile([1, 128], [row, 0]), full);
                    ring.advance();
                }
            }
        } else {
            let mut own = Sums::<i32, 2>::none();
            for _ in 0..M {
                ring.wait();
                own.add(stages.slice(ring.stage()), 2 * thread_idx.x);
                ring.release();
                ring.advance();
            }
            for i in unroll(0..2) {
                y[[2 * thread_idx.x + i]] = own.sums[i];
            }
            if thread_idx.x == 0 {
                y[[128]] = own.rows as i32;
            }
        }
    }

    /// The same by asynchronous copies of the threads that add.
    #[tiled_kernel(STAGES = [2, 4], block = [32], grid = [1], deny(synchronous))]
    pub fn columns_by_copies<const M: usize>(
        x: &LayoutTensor<i32, Pitched<M, 128>>,
        y: &mut LayoutTensor<i32, RowMajor<129>>,
    ) {
        let (stages, threads) = (shared::<i32>(row_major([STAGES, 1, 128])), row_major([1, 32]));
        let mut ring = CopyPipeline::<STAGES>::begin();
        for ahead in unroll(0..STAGES - 1) {
            copy_dram_to_sram_async(&mut stages.slice(ahead), &x.tile([1, 128], [ahead, 0]), threads);
            ring.commit();
        }
        let mut own: Sums<i32, 4> = Sums::none();
        for row in 0..M {
            ring.wait();
            copy_dram_to_sram_async(
                &mut stages.slice(ring.free()),
                &x.tile([1, 128], [row + STAGES - 1, 0]),
                threads,
            );
            ring.commit();
            own.add(stages.slice(ring.stage()), 4 * thread_idx.x);
            ring.advance();
        }
        for i in unroll(0..4) {
            y[[4 * thread_idx.x + i]] = own.sums[i];
        }
        if thread_idx.x == 0 {
            y[[128]] = own.rows as i32;
        }
    }
}

macro_rules! case {
    ($kernel:ident) => {
        Case::new(&$kernel::DEFINITION, vec![[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [11, 0, 0]], |run| {
            let (rows, values) = rows_of(run)?;
            let mut y = run.output::<i32, 1>([129])?;
            $kernel::launch_with(run.config(), &run.stream(), &rows.view()?, &mut y.view_mut()?)?;
            let sum = |column: usize| values.iter().skip(column).step_by(128).sum::<i32>();
            Ok(Outcome::exact(y.read()?, (0..128).map(sum).chain([run.size[0] as i32])))
        })
    };
}

/// The matrix, and its values by rows.
fn rows_of(run: &Run<'_>) -> Result<(Operand<i32, 2>, Vec<i32>), Error> {
    let values: Vec<i32> = (0..run.size[0] * 128).map(|i| (i * i * 37 % 1009) as i32 - 500).collect();
    // TMA wants addresses and pitches of 16 bytes.
    Ok((Operand::new(run.device, &values, run.skew * 4, [run.size[0], 128], [132, 1])?, values))
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![case!(columns_by_tma), case!(columns_by_copies)]
}
