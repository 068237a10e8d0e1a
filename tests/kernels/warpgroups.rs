//! Products of a warpgroup whose left operand is by columns: the matrix units read 16-bit types so, too.

use super::examples::product;
use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{Operand, doubles, untouched};
use layout_compiler::Elem;
use layout_cuda::{Element, Error, bf16, f16, tiled_kernel};

/// `c = aᵀ b` in tiles of 64 by 64, one after the other stage by stage.
#[tiled_kernel(
    T = [bf16, f16], STAGES = 2,
    arch = "sm_90a", block = [128], grid = [N.div_ceil(64), M.div_ceil(64)],
)]
fn product_of_columns<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, Pitched<K, M>>,
    b: &LayoutTensor<T, Pitched<K, N>>,
    c: &mut LayoutTensor<T, Pitched<M, N>>,
) {
    let a_smem = shared::<T>(row_major([STAGES, 64, 64]).swizzle_bytes(128));
    let b_smem = shared::<T>(row_major([STAGES, 64, 64]).swizzle_bytes(128));
    let mut c_smem = shared::<T>(row_major([1, 64, 64]).swizzle_bytes(128));
    let full = mbarriers(STAGES, 1);
    barrier();
    let mut acc = accumulator([64, 64]).fill(0.0);
    let mut next = pipeline_state(STAGES);
    for block in 0..K.div_ceil(64) {
        let stage = next.stage();
        let (mut a_stage, mut b_stage) = (a_smem.slice(stage), b_smem.slice(stage));
        if thread_idx.x == 0 {
            full.at(stage).arrive_expect(a_stage.bytes() + b_stage.bytes());
            tma_load(&mut a_stage, &a.tile([64, 64], [block, block_idx.y]), full.at(stage));
            tma_load(&mut b_stage, &b.tile([64, 64], [block, block_idx.x]), full.at(stage));
        }
        full.at(stage).wait(next.phase());
        wgmma(&mut acc, &a_stage.transpose(), &b_stage, true);
        wgmma_commit_group();
        wgmma_wait_group(0);
        // The stage is filled again after the next one.
        barrier();
        next.advance();
    }
    store_matrix(&mut c_smem, &acc);
    barrier();
    let threads = row_major([2, 64]);
    let own = c_smem.slice(0).distribute(threads, thread_idx.x).to_local();
    c.tile([64, 64], [block_idx.y, block_idx.x]).distribute(threads, thread_idx.x).copy_from(&own);
}

/// `c = a bᵀ` of bytes as integers, in two groups of products: the second adds to the first.
#[tiled_kernel(T = [i8, u8], arch = "sm_90a", block = [128], grid = [M.div_ceil(64)])]
fn wgmma_of_integers<T, const M: usize>(
    a: &LayoutTensor<T, RowMajor<M, 128>>,
    b: &LayoutTensor<T, RowMajor<24, 128>>,
    c: &mut LayoutTensor<i32, RowMajor<M, 24>>,
) {
    let rows = a.tile([64, 128], [block_idx.x, 0]);
    let mut product = c.tile([64, 24], [block_idx.x, 0]);
    let mut left = shared::<T>(row_major([64, 128]).swizzle_bytes(128));
    let mut right = shared::<T>(row_major([24, 128]).swizzle_bytes(128));
    for i in 0..64 {
        left[[i, thread_idx.x]] = rows[[i, thread_idx.x]];
    }
    for i in 0..24 {
        right[[i, thread_idx.x]] = b[[i, thread_idx.x]];
    }
    fence_async_proxy();
    barrier();
    let mut acc = accumulator_of::<i32>([64, 24]);
    wgmma(&mut acc, &left, &right.transpose(), false);
    wgmma_commit_group();
    wgmma_wait_group(0);
    wgmma(&mut acc, &left, &right.transpose(), true);
    wgmma_commit_group();
    wgmma_wait_group(0);
    let (row, column) = (16 * warp_id() + lane_id() / 4, 2 * (lane_id() % 4));
    for h in unroll(0..2) {
        for j in unroll(0..3) {
            let mut own = product.tile([1, 2], [row + 8 * h, column / 2 + 4 * j]).vectorize([1, 2]);
            own.copy_from(&acc.tile([1, 1], [h, j]));
        }
    }
}

/// A case of it with one element type.
macro_rules! integers_of {
    ($T:ty, $elem:ident) => {
        Case::new(&wgmma_of_integers::DEFINITION, vec![[64, 24, 128], [65, 24, 128]], |run| {
            let m = run.size[0];
            let value = |i: usize| (i * i * 37 % 251) as u8 as $T;
            let a: Vec<$T> = (0..m * 128).map(value).collect();
            let b: Vec<$T> = (0..24 * 128).map(|i| value(i + 91)).collect();
            let (on_a, on_b) = (run.tensor(&a, [m, 128])?, run.tensor(&b, [24, 128])?);
            let mut c = run.output::<i32, 2>([m, 24])?;
            let (config, stream) = (run.config(), run.stream());
            wgmma_of_integers::launch_with(
                config,
                &stream,
                &on_a.view()?,
                &on_b.view()?,
                &mut c.view_mut()?,
            )?;
            let exact = |i: usize, j: usize| -> i32 {
                (0..128).map(|k| i32::from(a[i * 128 + k]) * i32::from(b[j * 128 + k])).sum()
            };
            Ok(Outcome::exact(c.read()?, (0..m * 24).map(|at| 2 * exact(at / 24, at % 24))))
        })
        .of(Elem::$elem)
    };
}

/// The cases, one for each element type.
pub fn cases() -> Vec<Case> {
    let sizes =
        vec![[0, 64, 64], [64, 0, 64], [64, 64, 0], [1, 1, 1], [64, 64, 64], [63, 65, 130], [130, 72, 200]];
    vec![
        Case::new(&product_of_columns::DEFINITION, sizes.clone(), |run| run_of(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&product_of_columns::DEFINITION, sizes, |run| run_of(run, f16::from_f64)).of(Elem::F16),
        integers_of!(i8, I8),
        integers_of!(u8, U8),
    ]
}

fn run_of<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let rounded = |values: Vec<f64>| values.into_iter().map(round).collect::<Vec<T>>();
    let (a_values, b_values) = (doubles(m * k, 3), doubles(k * n, 4));
    let by_columns = (0..k * m).map(|at| a_values[at % m * k + at / m]).collect();
    // TMA wants addresses and pitches of 16 bytes.
    let pitched = |values: &[T], shape: [usize; 2]| {
        let pitch = shape[1].next_multiple_of(8).max(8);
        Operand::new(run.device, values, run.skew * 8, shape, [pitch, 1])
    };
    let (a, b) = (pitched(&rounded(by_columns), [k, m])?, pitched(&rounded(b_values.clone()), [k, n])?);
    let mut c = run.tensor(&vec![untouched::<T>(); m * n], [m, n])?;
    product_of_columns::launch_with(run.config(), &run.stream(), &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    Ok(Outcome::exact(c.read()?, rounded(product(&a_values, &b_values, run.size))))
}
