//! Hints to the caches on everything that moves elements of an argument. They change no result.

use crate::support::case::{Case, Outcome, Run, around};
use crate::support::data::{Operand, floats, untouched};
use layout_compiler::Elem;
use layout_cuda::{Element, Error, bf16, tiled_kernel};

/// Element by element, of 1, 2, 4 and 8 bytes.
#[tiled_kernel(T = [u8, bf16, f32, f64], block = [64], grid = [N.div_ceil(64)])]
pub fn hinted_elements<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &mut LayoutTensor<T, RowMajor<N>>,
    z: &mut LayoutTensor<T, RowMajor<N>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let mut once = y.evict_first();
        once[[i]] = x.evict_last()[[i]];
        once[[i]] += x.no_allocate()[[i]];
    }
    let mut tile = z.tile([64], [block_idx.x]).no_allocate();
    tile[[thread_idx.x]] = x.evict_first().tile([64], [block_idx.x])[[thread_idx.x]];
}

/// By vectors of 16 and 8 bytes: through registers to shared memory, and to registers.
#[tiled_kernel(WIDTH = [4, 2], block = [128 / WIDTH], grid = [M])]
pub fn hinted_vectors<const M: usize>(
    x: &LayoutTensor<f32, RowMajor<M, 128>>,
    y: &mut LayoutTensor<f32, RowMajor<M, 128>>,
    z: &mut LayoutTensor<f32, RowMajor<M, 128>>,
) {
    let threads = row_major([1, 128 / WIDTH]);
    let mut held = shared::<f32>(row_major([2, 1, 128]));
    let from = x.tile([1, 128], [block_idx.x, 0]).vectorize([1, WIDTH]);
    copy_dram_to_sram(&mut held.slice(0).vectorize([1, WIDTH]), &from.evict_first(), threads);
    copy_dram_to_sram(&mut held.slice(1), &x.evict_last().tile([1, 128], [block_idx.x, 0]), threads);
    let own = from.no_allocate().distribute(threads, thread_idx.x).to_local();
    barrier();
    let to = y.evict_last().tile([1, 128], [block_idx.x, 0]).vectorize([1, WIDTH]);
    to.distribute(threads, thread_idx.x).copy_from(&own.vectorize([1, WIDTH]));
    let mut sums = local::<f32>(row_major([1, WIDTH]));
    for i in unroll(0..WIDTH) {
        let at = thread_idx.x * WIDTH + i;
        sums[[0, i]] = held[[0, 0, 127 - at]] + held[[1, 0, at]];
    }
    let to = z.tile([1, 128], [block_idx.x, 0]).vectorize([1, WIDTH]).no_allocate();
    to.distribute(threads, thread_idx.x).copy_from(&sums.vectorize([1, WIDTH]));
}

/// Boxes of one, two and three modes, and one for both blocks of a cluster.
#[tiled_kernel(arch = "sm_90a", block = [32], cluster = [2], grid = [2 * M.div_ceil(8)])]
pub fn hinted_boxes<const M: usize>(
    line: &LayoutTensor<f32, RowMajor<64>>,
    x: &LayoutTensor<f32, RowMajor<M, 64>>,
    deep: &LayoutTensor<f32, RowMajor<2, M, 32>>,
    y: &mut LayoutTensor<f32, RowMajor<64>>,
    z: &mut LayoutTensor<f32, RowMajor<M, 64>>,
    depths: &mut LayoutTensor<f32, RowMajor<2, M, 32>>,
) {
    let (rank, tile) = (cluster_rank(), block_idx.x / 2);
    let mut one = shared::<f32>(row_major([64]));
    let mut two = shared::<f32>(row_major([8, 64]));
    let mut three = shared::<f32>(row_major([1, 8, 32]));
    let full = mbarriers(1, 1).at(0);
    cluster_barrier();
    if thread_idx.x == 0 {
        full.arrive_expect(one.bytes() + two.bytes() + three.bytes());
        tma_load(&mut one, &line.evict_last().tile([64], [0]), full);
        tma_load(&mut three, &deep.evict_first().tile([1, 8, 32], [rank, tile, 0]), full);
    }
    cluster_barrier();
    if thread_idx.x == 0 {
        let half = x.tile([8, 64], [tile, 0]).tile([4, 64], [rank, 0]).evict_first();
        tma_load_multicast(&mut two.tile([4, 64], [rank, 0]), &half, full, 0b11);
    }
    full.wait(0);
    if thread_idx.x == 0 {
        if block_idx.x == 0 {
            tma_store(&mut y.tile([64], [0]).evict_first(), &one);
        }
        if rank == 0 {
            tma_store(&mut z.evict_first().tile([8, 64], [tile, 0]), &two);
        }
        tma_store(&mut depths.evict_last().tile([1, 8, 32], [rank, tile, 0]), &three);
        bulk_commit_group();
        bulk_wait_group_read(0);
    }
    cluster_barrier();
}

/// The cases, one for each element type.
pub fn cases() -> Vec<Case> {
    let elements = |run| Case::new(&hinted_elements::DEFINITION, around(64), run);
    vec![
        elements(|run| doubled(run, |value| (4.0 * value + 8.0) as u8)).of(Elem::U8),
        elements(|run| doubled(run, bf16::from_f32)).of(Elem::Bf16),
        elements(|run| doubled(run, |value| value)).of(Elem::F32),
        elements(|run| doubled(run, f64::from)).of(Elem::F64),
        Case::new(&hinted_vectors::DEFINITION, [0, 1, 2, 5].map(|m| [m, 1, 1]).to_vec(), |run| {
            let [m, ..] = run.size;
            let x = floats(m * 128, 5);
            let on_x = run.tensor(&x, [m, 128])?;
            let (mut y, mut z) = (run.output([m, 128])?, run.output([m, 128])?);
            let (mut to_y, mut to_z) = (y.view_mut()?, z.view_mut()?);
            hinted_vectors::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut to_y, &mut to_z)?;
            let sums = (0..x.len()).map(|i| x[i] + x[i / 128 * 128 + 127 - i % 128]);
            Ok(Outcome::exact(y.read()?, x.clone()).and(Outcome::exact(z.read()?, sums)))
        }),
        Case::new(&hinted_boxes::DEFINITION, [1, 7, 8, 9, 20].map(|m| [m, 1, 1]).to_vec(), boxes),
    ]
}

fn doubled<T: Element>(run: &Run<'_>, of: fn(f32) -> T) -> Result<Outcome, Error> {
    let [n, ..] = run.size;
    let x: Vec<T> = floats(n, 3).into_iter().map(of).collect();
    let on_x = run.tensor(&x, [n])?;
    let (mut y, mut z) = (run.output([n])?, run.output([n])?);
    let (mut to_y, mut to_z) = (y.view_mut()?, z.view_mut()?);
    hinted_elements::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut to_y, &mut to_z)?;
    let twice = x.iter().map(|value| 2.0 * value.constant().as_f64());
    Ok(Outcome::within(0.0, y.read()?, twice).and(Outcome::exact(z.read()?, x.clone())))
}

fn boxes(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, ..] = run.size;
    let (line, x, deep) = (floats(64, 1), floats(m * 64, 2), floats(2 * m * 32, 3));
    // TMA wants addresses of 16 bytes.
    let tensor = |values: &[f32], shape| Operand::new(run.device, values, 4 * run.skew, shape, [64, 1]);
    let flat = |values: &[f32]| Operand::new(run.device, values, 4 * run.skew, [64], [1]);
    let cube = |values: &[f32]| Operand::new(run.device, values, 4 * run.skew, [2, m, 32], [32 * m, 32, 1]);
    let (on_line, on_x, on_deep) = (flat(&line)?, tensor(&x, [m, 64])?, cube(&deep)?);
    let mut y = flat(&[untouched(); 64])?;
    let mut z = tensor(&vec![untouched(); m * 64], [m, 64])?;
    let mut depths = cube(&vec![untouched(); 2 * m * 32])?;
    hinted_boxes::launch_with(
        run.config(),
        &run.stream(),
        &on_line.view()?,
        &on_x.view()?,
        &on_deep.view()?,
        &mut y.view_mut()?,
        &mut z.view_mut()?,
        &mut depths.view_mut()?,
    )?;
    let lines = Outcome::exact(y.read()?, line).and(Outcome::exact(z.read()?, x));
    Ok(lines.and(Outcome::exact(depths.read()?, deep)))
}
