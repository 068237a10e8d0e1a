//! Copies: thread layouts that do not cover a tile evenly, stages with groups, distributed vectors, register tiles.

use super::examples::{matmul, product};
use crate::support::case::{Case, Outcome, around, around_tile, output_of};
use crate::support::data::{doubles, floats};
use layout_cuda::tiled_kernel;

/// Kernel 6 of the ladder as the design has it; a row-major `A` in vectors along its rows can only be gathered.
#[tiled_kernel(
    BM = 64, BN = 64, BK = 8, TM = 8, TN = 8,
    block = [BM * BN / (TM * TN)],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    variant_if(N % 4 == 0, K % 4 == 0),
)]
pub fn block_tiled_vectorized<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN / (TM * TN);
    let (row, col) = (thread_idx.x / (BN / TN), thread_idx.x % (BN / TN));
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([TM, TN], [row, col]);

    let mut a_smem = shared::<f32>(col_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut acc = local::<f32>(row_major([TM, TN])).fill(0.0);

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        copy_dram_to_sram_async(
            &mut a_smem.vectorize([4, 1]),
            &a_tile.vectorize([4, 1]),
            row_major([THREADS / BK, BK]),
        );
        copy_dram_to_sram_async(
            &mut b_smem.vectorize([1, 4]),
            &b_tile.vectorize([1, 4]),
            row_major([BK, THREADS / BK]),
        );
        async_copy_wait_all();
        barrier();
        for k in unroll(0..BK) {
            let a_reg = a_smem.tile([TM, 1], [row, k]).to_local();
            let b_reg = b_smem.tile([1, TN], [k, col]).to_local();
            outer_product_acc(&mut acc, &a_reg, &b_reg);
        }
        barrier();
    }
    dst.vectorize([1, 4]).copy_from(&acc.vectorize([1, 4]));
}

/// A product whose tiles are fetched some stages ahead.
#[tiled_kernel(
    STAGES = [2, 3], B = 16,
    block = [B, B], grid = [N.div_ceil(B), M.div_ceil(B)],
)]
pub fn pipelined<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mut a_smem = shared::<f32>(row_major([STAGES * B, B]));
    let mut b_smem = shared::<f32>(row_major([STAGES * B, B]));
    let blocks = K.div_ceil(B);
    let mut sum = 0.0;
    for ahead in unroll(0..STAGES - 1) {
        copy_dram_to_sram_async(
            a_smem.tile([B, B], [ahead, 0]),
            &a.tile([B, B], [block_idx.y, ahead]),
            row_major([B, B]),
        );
        copy_dram_to_sram_async(
            b_smem.tile([B, B], [ahead, 0]),
            &b.tile([B, B], [ahead, block_idx.x]),
            row_major([B, B]),
        );
        async_copy_commit_group();
    }
    for block in 0..blocks {
        let ahead = block + STAGES - 1;
        let stage = ahead % STAGES;
        copy_dram_to_sram_async(
            a_smem.tile([B, B], [stage, 0]),
            &a.tile([B, B], [block_idx.y, ahead]),
            row_major([B, B]),
        );
        copy_dram_to_sram_async(
            b_smem.tile([B, B], [stage, 0]),
            &b.tile([B, B], [ahead, block_idx.x]),
            row_major([B, B]),
        );
        async_copy_commit_group();
        async_copy_wait_group(STAGES - 1);
        barrier();
        let a_now = a_smem.tile([B, B], [block % STAGES, 0]);
        let b_now = b_smem.tile([B, B], [block % STAGES, 0]);
        for k in unroll(0..B) {
            sum += a_now[[thread_idx.y, k]] * b_now[[k, thread_idx.x]];
        }
        barrier();
    }
    async_copy_wait_all();
    let mut dst = c.tile([B, B], [block_idx.y, block_idx.x]);
    dst[[thread_idx.y, thread_idx.x]] = sum;
}

/// Thirty of 32 threads copy a tile of 12 by 20 in vectors of four, five columns of which meet six of threads.
#[tiled_kernel(block = [32], grid = [N.div_ceil(20), M.div_ceil(12)], variant_if(N % 4 == 0))]
pub fn uneven<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, RowMajor<M, N>>,
    b: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mut tile = shared::<f32>(row_major([12, 20]));
    let from = a.tile([12, 20], [block_idx.y, block_idx.x]);
    copy_dram_to_sram_async(tile.vectorize([1, 4]), &from.vectorize([1, 4]), row_major([5, 6]));
    async_copy_wait_all();
    barrier();
    let to = b.tile([12, 20], [block_idx.y, block_idx.x]).distribute(row_major([8, 4]), thread_idx.x);
    to.copy_from(&tile.distribute(row_major([8, 4]), thread_idx.x));
}

/// A tile in vectors, each thread its share of rows; the sum with a constant by way of registers.
#[tiled_kernel(V = [1, 2, 4], block = [32], grid = [N.div_ceil(32 * V)])]
pub fn distributed<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let from = x.tile([32 * V], [block_idx.x]).vectorize([V]).distribute(row_major([32]), thread_idx.x);
    let mut own = from.to_local();
    for i in unroll(0..V) {
        own[[i]] = own[[i]] + 1.0;
    }
    let to = y.tile([32 * V], [block_idx.x]).vectorize([V]).distribute(row_major([32]), thread_idx.x);
    to.copy_from(&own.vectorize([V]));
}

/// Bytes in vectors of sixteen.
#[tiled_kernel(block = [8], grid = [N.div_ceil(128)])]
pub fn copy_bytes<const N: usize>(x: &LayoutTensor<u8, RowMajor<N>>, y: &mut LayoutTensor<u8, RowMajor<N>>) {
    let own = block_idx.x * 8 + thread_idx.x;
    y.tile([16], [own]).vectorize([16]).copy_from(&x.tile([16], [own]).vectorize([16]));
}

/// Fills a tensor, tiles and tails.
#[tiled_kernel(block = [8, 4], grid = [N.div_ceil(16), M.div_ceil(4)])]
pub fn fill_all<const M: usize, const N: usize>(value: f64, y: &mut LayoutTensor<f64, RowMajor<M, N>>) {
    let tile = y.tile([4, 16], [block_idx.y, block_idx.x]).tile([1, 2], [thread_idx.y, thread_idx.x]);
    tile.fill(value);
}

/// A kernel of one architecture.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)], arch = "sm_90a")]
pub fn of_one_architecture<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let mut line = shared::<f32>(row_major([32]));
    copy_dram_to_sram_async(&mut line, &x.tile([32], [block_idx.x]), row_major([32]));
    async_copy_wait_all();
    barrier();
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        y[[i]] = line[[31 - thread_idx.x]];
    }
}

/// Each thread stages its own elements and waits for nobody else.
#[tiled_kernel(block = [64], grid = [N.div_ceil(256)])]
pub fn staged_by_each<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let mut stage = shared::<f32>(row_major([256]));
    let landing = stage.vectorize([4]).distribute(row_major([64]), thread_idx.x);
    let from = x.tile([256], [block_idx.x]).vectorize([4]);
    landing.copy_from_async(&from.distribute(row_major([64]), thread_idx.x));
    async_copy_wait_all();
    let to = y.tile([256], [block_idx.x]).vectorize([4]);
    to.distribute(row_major([64]), thread_idx.x).copy_from(&landing);
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&block_tiled_vectorized::DEFINITION, around_tile([64, 64, 8]), |run| {
            matmul(run, |config, stream, a, b, c| {
                block_tiled_vectorized::launch_with(config, stream, a, b, c)
            })
        }),
        Case::new(&pipelined::DEFINITION, around_tile([16, 16, 16]), |run| {
            matmul(run, |config, stream, a, b, c| pipelined::launch_with(config, stream, a, b, c))
        }),
        Case::new(&pipelined::DEFINITION, vec![[5, 7, 100], [16, 16, 128]], |run| {
            let [m, n, k] = run.size;
            let a = run.tensor(&floats(m * k, 5), [m, k])?;
            let b = run.tensor(&floats(k * n, 6), [k, n])?;
            let mut c = run.output([m, n])?;
            let (a_view, b_view) = (a.view()?, b.view()?);
            pipelined::launch_with(run.config(), &run.stream(), &a_view, &b_view, &mut c.view_mut()?)?;
            let wanted = product(&doubles(m * k, 5), &doubles(k * n, 6), run.size);
            Ok(Outcome::within::<f32>(0.0, c.read()?, wanted))
        }),
        Case::new(&uneven::DEFINITION, around_tile([12, 20, 1]), |run| {
            let [m, n, ..] = run.size;
            let values = floats(m * n, 1);
            let (a, mut b) = (run.tensor(&values, [m, n])?, run.output([m, n])?);
            uneven::launch_with(run.config(), &run.stream(), &a.view()?, &mut b.view_mut()?)?;
            Ok(Outcome::exact(b.read()?, values))
        }),
        Case::new(&distributed::DEFINITION, around(128), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 2);
            let y = output_of!(run, distributed(x: [n]) -> [n]);
            Ok(Outcome::exact(y, x.iter().map(|x| x + 1.0)))
        }),
        Case::new(&staged_by_each::DEFINITION, around(256), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 3);
            let y = output_of!(run, staged_by_each(x: [n]) -> [n]);
            Ok(Outcome::exact(y, x))
        }),
        Case::new(&copy_bytes::DEFINITION, around(128), |run| {
            let [n, ..] = run.size;
            let x: Vec<u8> = (0..n).map(|i| (i * 37 % 251) as u8).collect();
            let y = output_of!(run, copy_bytes(x: [n]) -> [n]);
            Ok(Outcome::exact(y, x))
        }),
        Case::new(&fill_all::DEFINITION, around_tile([4, 16, 1]), |run| {
            let [m, n, ..] = run.size;
            let mut y = run.output([m, n])?;
            fill_all::launch_with(run.config(), &run.stream(), 2.5, &mut y.view_mut()?)?;
            Ok(Outcome::exact(y.read()?, vec![2.5; m * n]))
        }),
        Case::new(&of_one_architecture::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 3);
            let y = output_of!(run, of_one_architecture(x: [n]) -> [n]);
            let value = |i: usize| x.get(i / 32 * 32 + 31 - i % 32).copied().unwrap_or(0.0);
            Ok(Outcome::exact(y, (0..n).map(value)))
        }),
    ]
}
