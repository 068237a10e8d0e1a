//! Blocks of a cluster that read and write each other's shared memory.

use crate::support::case::{Case, Outcome};
use crate::support::data::{Operand, floats};
use layout_cuda::tiled_kernel;

/// Row `r` of `y` is row `r - 1` of `x`, around: read from the block before, written to the one after, or sent there and
/// counted in bytes.
#[tiled_kernel(
    WAY = [0, 1, 2], THREADS = 64,
    arch = "sm_90a", block = [THREADS], cluster = [4], grid = [4, N.div_ceil(4 * THREADS)],
)]
fn rotated<const N: usize>(x: &LayoutTensor<f32, RowMajor<4, N>>, y: &mut LayoutTensor<f32, RowMajor<4, N>>) {
    let mut row = shared::<f32>(row_major([4 * THREADS]));
    let arrived = mbarriers(1, 1);
    let rank = cluster_rank();
    let threads = row_major([THREADS]);
    grid_dependency_wait();
    launch_dependents();
    let own =
        x.slice(rank).tile([4 * THREADS], [block_idx.y]).vectorize([4]).distribute(threads, thread_idx.x);
    let own = own.to_local();
    cluster_barrier();
    if WAY == 0 {
        row.vectorize([4]).distribute(threads, thread_idx.x).copy_from(&own.vectorize([4]));
        cluster_barrier();
    } else {
        let there = row.map_shared_rank((rank + 1) % 4).vectorize([4]);
        let mut there = there.distribute(threads, thread_idx.x);
        if WAY == 1 {
            there.copy_from(&own.vectorize([4]));
            cluster_barrier();
        } else {
            if thread_idx.x == 0 {
                arrived.at(0).arrive_expect(16 * THREADS);
            }
            store_async(&mut there, &own.vectorize([4]), arrived.at(0));
            arrived.at(0).wait(0);
        }
    }
    let mut to = y.slice(rank).tile([4 * THREADS], [block_idx.y]);
    for round in 0..4 {
        let at = round * THREADS + thread_idx.x;
        if WAY == 0 {
            to[[at]] = row.map_shared_rank((rank + 3) % 4)[[at]];
        } else {
            to[[at]] = row[[at]];
        }
    }
    cluster_barrier();
}

/// Boxes of one and of three modes for both blocks of a cluster, which load a half each: `y[i, rank] = line + x[i, rank]`.
#[tiled_kernel(HINT = [false, true], arch = "sm_90a", block = [32], cluster = [2], grid = [2 * M])]
fn loaded_for_both<const M: usize>(
    line: &LayoutTensor<f32, RowMajor<64>>,
    x: &LayoutTensor<f32, RowMajor<M, 2, 64>>,
    y: &mut LayoutTensor<f32, RowMajor<M, 2, 64>>,
) {
    let (rank, tile) = (cluster_rank(), block_idx.x / 2);
    let one = shared::<f32>(row_major([64]));
    let both = shared::<f32>(row_major([2, 1, 2, 32]));
    let full = mbarriers(1, 1).at(0);
    cluster_barrier();
    if thread_idx.x == 0 {
        full.arrive_expect(one.bytes() + both.bytes());
    }
    cluster_barrier();
    if thread_idx.x == 0 {
        let (part, slab) = (line.tile([32], [rank]), x.tile([1, 2, 32], [tile, 0, rank]));
        let part = if HINT { part.evict_last() } else { part };
        let slab = if HINT { slab.evict_first() } else { slab };
        tma_load_multicast(&mut one.tile([32], [rank]), &part, full, 0b11);
        tma_load_multicast(&mut both.slice(rank), &slab, full, 0b11);
    }
    full.wait(0);
    for half in unroll(0..2) {
        let at = 32 * half + lane_id();
        y[[tile, rank, at]] = one[[at]] + both[[half, 0, rank, lane_id()]];
    }
    cluster_barrier();
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let sizes = [0, 1, 63, 256, 257, 1000].map(|n| [n, 0, 0]);
    vec![
        Case::new(&rotated::DEFINITION, sizes.to_vec(), |run| {
            let n = run.size[0];
            let values = floats(4 * n, 6);
            let (x, mut y) = (run.tensor(&values, [4, n])?, run.output([4, n])?);
            rotated::launch_with(run.config(), &run.stream(), &x.view()?, &mut y.view_mut()?)?;
            Ok(Outcome::exact(y.read()?, (0..4 * n).map(|at| values[(at + 3 * n) % (4 * n)])))
        }),
        Case::new(&loaded_for_both::DEFINITION, [1, 2, 5].map(|m| [m, 0, 0]).to_vec(), |run| {
            let m = run.size[0];
            let (line, values) = (floats(64, 1), floats(m * 128, 2));
            // TMA wants addresses of 16 bytes.
            let on_line = Operand::new(run.device, &line, 4 * run.skew, [64], [1])?;
            let x = Operand::new(run.device, &values, 4 * run.skew, [m, 2, 64], [128, 64, 1])?;
            let mut y = run.output([m, 2, 64])?;
            let (line_view, x_view) = (on_line.view()?, x.view()?);
            loaded_for_both::launch_with(
                run.config(),
                &run.stream(),
                &line_view,
                &x_view,
                &mut y.view_mut()?,
            )?;
            Ok(Outcome::exact(y.read()?, (0..values.len()).map(|at| line[at % 64] + values[at])))
        }),
    ]
}
