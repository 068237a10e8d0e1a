//! Global memory that the threads and TMA use one after the other, with the fences and waits between.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{Operand, floats, untouched};
use layout_cuda::{Error, tiled_kernel};

/// The threads write `y = 2 x`, TMA brings it back and takes it to `z`, the threads read that: `w = z + 1`.
#[tiled_kernel(arch = "sm_90a", block = [64], grid = [M.div_ceil(8)])]
pub fn through_memory<const M: usize>(
    x: &LayoutTensor<f32, RowMajor<M, 32>>,
    y: &mut LayoutTensor<f32, RowMajor<M, 32>>,
    z: &mut LayoutTensor<f32, RowMajor<M, 32>>,
    w: &mut LayoutTensor<f32, RowMajor<M, 32>>,
) {
    let mut tile = shared::<f32>(row_major([8, 32]));
    let full = mbarriers(1, 1).at(0);
    let threads = row_major([2, 32]);
    let mut own = x.tile([8, 32], [block_idx.x, 0]).distribute(threads, thread_idx.x).to_local();
    for i in unroll(0..4) {
        own[[i, 0]] += own[[i, 0]];
    }
    y.tile([8, 32], [block_idx.x, 0]).distribute(threads, thread_idx.x).copy_from(&own);
    fence_async_proxy_global();
    barrier();
    if thread_idx.x == 0 {
        full.arrive_expect(tile.bytes());
        tma_load(&mut tile, &y.tile([8, 32], [block_idx.x, 0]), full);
        full.wait(0);
        tma_store(&mut z.tile([8, 32], [block_idx.x, 0]), &tile);
        bulk_commit_group();
        bulk_wait_group(0);
    }
    barrier();
    let mut own = z.tile([8, 32], [block_idx.x, 0]).distribute(threads, thread_idx.x).to_local();
    for i in unroll(0..4) {
        own[[i, 0]] += 1.0;
    }
    w.tile([8, 32], [block_idx.x, 0]).distribute(threads, thread_idx.x).copy_from(&own);
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![Case::new(&through_memory::DEFINITION, [1, 7, 8, 9, 40].map(|m| [m, 1, 1]).to_vec(), run_through)]
}

fn run_through(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, ..] = run.size;
    let x = floats(m * 32, 4);
    // TMA wants addresses of 16 bytes.
    let tensor = |values: &[f32]| Operand::new(run.device, values, 4 * run.skew, [m, 32], [32, 1]);
    let empty = vec![untouched(); m * 32];
    let (on_x, mut y, mut z, mut w) = (tensor(&x)?, tensor(&empty)?, tensor(&empty)?, tensor(&empty)?);
    let (mut to_y, mut to_z, mut to_w) = (y.view_mut()?, z.view_mut()?, w.view_mut()?);
    through_memory::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut to_y, &mut to_z, &mut to_w)?;
    let twice = x.iter().map(|x| 2.0 * x);
    let both = Outcome::exact(y.read()?, twice.clone()).and(Outcome::exact(z.read()?, twice.clone()));
    Ok(both.and(Outcome::exact(w.read()?, twice.map(|x| x + 1.0))))
}
