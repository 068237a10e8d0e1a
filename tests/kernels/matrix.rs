//! The matrix instructions of a warp: every element type, operands from global memory, from padded and swizzled shared
//! memory, by rows and by columns, and products of several of the instruction's tiles along each mode.

use crate::kernels::examples::product;
use crate::support::case::{Case, Outcome, Run, around_tile};
use crate::support::data::floats;
use layout_compiler::Elem;
use layout_cuda::{E4m3, E5m2, Element, Error, bf16, f16, tiled_kernel};

/// Four warps, tiles in shared memory with rows that `ldmatrix` reads: A plain, B with its columns received.
#[tiled_kernel(
    T = [f16, bf16], BM = 32, BN = 32, BK = 32,
    block = [128],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
    variant_if(N % 8 == 0, K % 8 == 0),
)]
pub fn mma_by_rows<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, RowMajor<M, K>>,
    b: &LayoutTensor<T, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<T>([16, 8, 16]);
    let (warp_row, warp_col) = (warp_id() / 2, warp_id() % 2);
    let mut a_smem = shared::<T>(layout([BM, BK], [BK + 8, 1]));
    let mut b_smem = shared::<T>(row_major([BK, BN]).swizzle(2, 3, 3));
    let mut acc = local::<f32>(row_major([1, 8])).fill(0.0);
    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]).vectorize([1, 8]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]).vectorize([1, 8]);
        copy_dram_to_sram_async(&mut a_smem.vectorize([1, 8]), &a_tile, row_major([32, 4]));
        copy_dram_to_sram_async(&mut b_smem.vectorize([1, 8]), &b_tile, row_major([32, 4]));
        async_copy_wait_all();
        barrier();
        let a_reg = mma.load_a(&a_smem.tile([16, BK], [warp_row, 0]));
        let b_reg = mma.load_b(&b_smem.tile([BK, 16], [0, warp_col]));
        mma.mma(&mut acc, &a_reg, &b_reg);
        barrier();
    }
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([16, 16], [warp_row, warp_col]);
    mma.store_d(&mut dst, &acc);
}

/// One warp; B is by columns, so that both are read along K; the tile of C is 32 x 24.
#[tiled_kernel(
    T = [f16, bf16], BM = 32, BN = 24, BK = 16,
    block = [32],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
)]
pub fn mma_by_columns<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, RowMajor<M, K>>,
    b: &LayoutTensor<T, ColMajor<K, N>>,
    c: &mut LayoutTensor<f32, ColMajor<M, N>>,
) {
    let mma = mma_atom::<T>([16, 8, 16]);
    let mut a_smem = shared::<T>(row_major([BM, BK]));
    let mut b_smem = shared::<T>(col_major([BK, BN]));
    let mut acc = local::<f32>(row_major([BM / 16, BN / 8 * 4])).fill(0.0);
    for block in 0..K.div_ceil(BK) {
        copy_dram_to_sram(&mut a_smem, &a.tile([BM, BK], [block_idx.y, block]), row_major([2, 16]));
        copy_dram_to_sram(&mut b_smem, &b.tile([BK, BN], [block, block_idx.x]), col_major([16, 2]));
        barrier();
        let (a_reg, b_reg) = (mma.load_a(&a_smem), mma.load_b(&b_smem));
        mma.mma(&mut acc, &a_reg, &b_reg);
        barrier();
    }
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]);
    mma.store_d(&mut dst, &acc);
}

/// One warp, operands straight from global memory, masked where they end.
#[tiled_kernel(block = [32], grid = [N.div_ceil(8), M.div_ceil(16)])]
pub fn mma_from_global<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<f32>([16, 8, 8]);
    let mut acc = local::<f32>(row_major([1, 4])).fill(0.0);
    for block in 0..K.div_ceil(8) {
        let a_reg = mma.load_a(&a.tile([16, 8], [block_idx.y, block]));
        let b_reg = mma.load_b(&b.tile([8, 8], [block, block_idx.x]));
        mma.mma(&mut acc, &a_reg, &b_reg);
    }
    mma.store_d(&mut c.tile([16, 8], [block_idx.y, block_idx.x]), &acc);
}

/// 8-bit floats.
#[tiled_kernel(T = [e4m3, e5m2], arch = "sm_90a", block = [32], grid = [N.div_ceil(8), M.div_ceil(16)])]
pub fn mma_of_bytes<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, RowMajor<M, K>>,
    b: &LayoutTensor<T, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<T>([16, 8, 32]);
    let mut acc = local::<f32>(row_major([1, 4])).fill(0.0);
    for block in 0..K.div_ceil(32) {
        let a_reg = mma.load_a(&a.tile([16, 32], [block_idx.y, block]));
        let b_reg = mma.load_b(&b.tile([32, 8], [block, block_idx.x]));
        mma.mma(&mut acc, &a_reg, &b_reg);
    }
    mma.store_d(&mut c.tile([16, 8], [block_idx.y, block_idx.x]), &acc);
}

/// Bytes as integers.
#[tiled_kernel(T = [i8, u8], block = [32], grid = [N.div_ceil(16), M.div_ceil(16)])]
pub fn mma_of_integers<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, RowMajor<M, K>>,
    b: &LayoutTensor<T, RowMajor<K, N>>,
    c: &mut LayoutTensor<i32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<T>([16, 8, 32]);
    let mut acc = local::<i32>(row_major([1, 8])).fill(0);
    for block in 0..K.div_ceil(32) {
        let a_reg = mma.load_a(&a.tile([16, 32], [block_idx.y, block]));
        let b_reg = mma.load_b(&b.tile([32, 16], [block, block_idx.x]));
        mma.mma(&mut acc, &a_reg, &b_reg);
    }
    mma.store_d(&mut c.tile([16, 16], [block_idx.y, block_idx.x]), &acc);
}

/// Double precision: tiles of 16 x 16 are four of the instruction's.
#[tiled_kernel(block = [32], grid = [N.div_ceil(16), M.div_ceil(16)])]
pub fn mma_of_doubles<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f64, RowMajor<M, K>>,
    b: &LayoutTensor<f64, RowMajor<K, N>>,
    c: &mut LayoutTensor<f64, RowMajor<M, N>>,
) {
    let mma = mma_atom::<f64>([8, 8, 4]);
    let mut acc = local::<f64>(row_major([2, 4])).fill(0.0);
    for block in 0..K.div_ceil(8) {
        let a_reg = mma.load_a(&a.tile([16, 8], [block_idx.y, block]));
        let b_reg = mma.load_b(&b.tile([8, 16], [block, block_idx.x]));
        mma.mma(&mut acc, &a_reg, &b_reg);
    }
    mma.store_d(&mut c.tile([16, 16], [block_idx.y, block_idx.x]), &acc);
}

/// Double precision by each instruction of 16 rows: one of its tiles along K, and several, from shared memory.
#[tiled_kernel(
    D = [4, 8, 16], DEPTH = [1, 2], BK = D * DEPTH,
    arch = "sm_90",
    block = [64],
    grid = [N.div_ceil(16), M.div_ceil(32)],
)]
pub fn mma_of_tall_doubles<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f64, RowMajor<M, K>>,
    b: &LayoutTensor<f64, RowMajor<K, N>>,
    c: &mut LayoutTensor<f64, RowMajor<M, N>>,
) {
    let mma = mma_atom::<f64>([16, 8, D]);
    let mut a_smem = shared::<f64>(layout([32, BK], [BK + 4, 1]));
    let mut acc = local::<f64>(row_major([1, 8])).fill(0.0);
    for block in 0..K.div_ceil(BK) {
        copy_dram_to_sram(&mut a_smem, &a.tile([32, BK], [block_idx.y, block]), row_major([16, 4]));
        barrier();
        let a_reg = mma.load_a(&a_smem.tile([16, BK], [warp_id(), 0]));
        let b_reg = mma.load_b(&b.tile([BK, 16], [block, block_idx.x]));
        mma.mma(&mut acc, &a_reg, &b_reg);
        barrier();
    }
    mma.store_d(&mut c.tile([32, 16], [block_idx.y, block_idx.x]).tile([16, 16], [warp_id(), 0]), &acc);
}

/// Sums in 16 bits: small whole numbers, which they hold.
#[tiled_kernel(block = [32], grid = [N.div_ceil(16), M.div_ceil(16)])]
pub fn mma_in_halves<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f16, RowMajor<M, K>>,
    b: &LayoutTensor<f16, RowMajor<K, N>>,
    c: &mut LayoutTensor<f16, RowMajor<M, N>>,
) {
    let mma = mma_atom::<f16>([16, 8, 16]);
    let mut acc = local::<f16>(row_major([1, 8])).fill(0.0);
    for block in 0..K.div_ceil(16) {
        let a_reg = mma.load_a(&a.tile([16, 16], [block_idx.y, block]));
        let b_reg = mma.load_b(&b.tile([16, 16], [block, block_idx.x]));
        mma.mma(&mut acc, &a_reg, &b_reg);
    }
    mma.store_d(&mut c.tile([16, 16], [block_idx.y, block_idx.x]), &acc);
}

/// A launch of one of those with sums of another type than `f32`, on whole numbers: exact.
macro_rules! run_whole {
    ($kernel:ident, $T:ty, $C:ty, $from:expr, $sum:expr) => {
        |run: &Run<'_>| -> Result<Outcome, Error> {
            let [m, n, k] = run.size;
            let from: fn(i32) -> $T = $from;
            let values = |count: usize, seed: i32| -> Vec<$T> {
                (0..count as i32).map(|i| from((i * 37 + seed * i % 11) % 7 - 3)).collect()
            };
            let (a, b) = (values(m * k, 3), values(k * n, 5));
            let (on_a, on_b) = (run.tensor(&a, [m, k])?, run.tensor(&b, [k, n])?);
            let mut c = run.output::<$C, 2>([m, n])?;
            let stream = run.stream();
            $kernel::launch_with(run.config(), &stream, &on_a.view()?, &on_b.view()?, &mut c.view_mut()?)?;
            let wide: fn($T) -> i32 = $sum;
            let exact = |i: usize, j: usize| -> i32 {
                (0..k).map(|step| wide(a[i * k + step]) * wide(b[step * n + j])).sum()
            };
            let wanted = (0..m * n).map(|at| f64::from(exact(at / n, at % n)));
            Ok(Outcome::within(0.0, c.read()?, wanted))
        }
    };
}

/// A launch of one of them, with the strides of `b` and of `c`.
macro_rules! run {
    ($kernel:ident, $from:expr, $b_columns:expr, $c_columns:expr) => {
        |run: &Run<'_>| -> Result<Outcome, Error> {
            let [m, n, k] = run.size;
            let (a, b) = (operand(m * k, 3, $from), operand(k * n, 4, $from));
            let strides = |rows: usize, columns: usize, by_columns: bool| match by_columns {
                true => [1, rows],
                false => [columns, 1],
            };
            let on_a = run.tensor(&a, [m, k])?;
            let on_b = crate::support::data::Operand::new(
                run.device,
                &b,
                run.skew,
                [k, n],
                strides(k, n, $b_columns),
            )?;
            let untouched = vec![crate::support::data::untouched::<f32>(); m * n];
            let mut c = crate::support::data::Operand::new(
                run.device,
                &untouched,
                run.skew,
                [m, n],
                strides(m, n, $c_columns),
            )?;
            let (a_view, b_view) = (on_a.view()?, on_b.view()?);
            $kernel::launch_with(run.config(), &run.stream(), &a_view, &b_view, &mut c.view_mut()?)?;
            let wide = |count, seed| floats(count, seed).into_iter().map(f64::from).collect::<Vec<f64>>();
            Ok(Outcome::within(0.0, c.read()?, product(&wide(m * k, 3), &wide(k * n, 4), [m, n, k])))
        }
    };
}

/// Numbers that every float type holds.
fn operand<T: Element>(count: usize, seed: u64, from: fn(f32) -> T) -> Vec<T> {
    floats(count, seed).into_iter().map(from).collect()
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    let rows = || around_tile([32, 32, 32]);
    let columns = || around_tile([32, 24, 16]);
    vec![
        Case::new(&mma_by_rows::DEFINITION, rows(), run!(mma_by_rows, f16::from_f32, false, false))
            .of(Elem::F16),
        Case::new(&mma_by_rows::DEFINITION, rows(), run!(mma_by_rows, bf16::from_f32, false, false))
            .of(Elem::Bf16),
        Case::new(&mma_by_columns::DEFINITION, columns(), run!(mma_by_columns, f16::from_f32, true, true))
            .of(Elem::F16),
        Case::new(&mma_by_columns::DEFINITION, columns(), run!(mma_by_columns, bf16::from_f32, true, true))
            .of(Elem::Bf16),
        Case::new(
            &mma_from_global::DEFINITION,
            around_tile([16, 8, 8]),
            run!(mma_from_global, |value: f32| value, false, false),
        ),
        Case::new(
            &mma_of_bytes::DEFINITION,
            around_tile([16, 8, 32]),
            run!(mma_of_bytes, E4m3::from_f32, false, false),
        )
        .of(Elem::E4m3),
        Case::new(
            &mma_of_bytes::DEFINITION,
            around_tile([16, 8, 32]),
            run!(mma_of_bytes, E5m2::from_f32, false, false),
        )
        .of(Elem::E5m2),
        Case::new(
            &mma_of_integers::DEFINITION,
            around_tile([16, 16, 32]),
            run_whole!(mma_of_integers, i8, i32, |v| (40 * v) as i8, i32::from),
        )
        .of(Elem::I8),
        Case::new(
            &mma_of_integers::DEFINITION,
            around_tile([16, 16, 32]),
            run_whole!(mma_of_integers, u8, i32, |v| (v * 60) as u8, i32::from),
        )
        .of(Elem::U8),
        Case::new(
            &mma_of_doubles::DEFINITION,
            around_tile([16, 16, 8]),
            run_whole!(mma_of_doubles, f64, f64, f64::from, |v| v as i32),
        ),
        Case::new(
            &mma_of_tall_doubles::DEFINITION,
            [around_tile([32, 16, 16]), vec![[33, 17, 71]]].concat(),
            run_whole!(mma_of_tall_doubles, f64, f64, f64::from, |v| v as i32),
        ),
        Case::new(
            &mma_in_halves::DEFINITION,
            around_tile([16, 16, 16]),
            run_whole!(mma_in_halves, f16, f16, |v| f16::from_f32(v as f32), |v| v.to_f32() as i32),
        ),
    ]
}
