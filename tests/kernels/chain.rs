//! Products of a warpgroup whose left operand is in registers: read there from global memory, and made there by the product
//! before, as in attention.

use super::examples::product;
use super::gemm::matrix;
use crate::support::case::{Case, Outcome, Run};
use crate::support::data::doubles;
use layout_compiler::Elem;
use layout_cuda::{E4m3, E5m2, Element, Error, bf16, f16, tiled_kernel};

/// `D = T(A B) C`: an accumulator is in registers as the left operand of the next product wants it.
#[tiled_kernel(T = [bf16, f16], arch = "sm_90a", block = [128], grid = [M.div_ceil(64)])]
pub fn chain<T, const M: usize>(
    a: &LayoutTensor<T, RowMajor<M, 48>>,
    b: &LayoutTensor<T, RowMajor<48, 64>>,
    c: &LayoutTensor<T, RowMajor<64, 64>>,
    d: &mut LayoutTensor<f32, RowMajor<M, 64>>,
) {
    let mut b_smem = shared::<T>(row_major([48, 64]).swizzle_bytes(128));
    let mut c_smem = shared::<T>(row_major([64, 64]).swizzle_bytes(128));
    let full = mbarriers(1, 1).at(0);
    barrier();
    if thread_idx.x == 0 {
        full.arrive_expect(b_smem.bytes() + c_smem.bytes());
        tma_load(&mut b_smem, &b.tile([48, 64], [0, 0]), full);
        tma_load(&mut c_smem, &c.tile([64, 64], [0, 0]), full);
    }
    let rows = a.tile([64, 48], [block_idx.x, 0]).tile([16, 48], [warp_id(), 0]);
    let own = rows.vectorize([1, 2]).distribute(row_major([8, 4]), lane_id()).to_local();
    full.wait(0);
    let mut acc = accumulator([64, 64]).fill(0.0);
    wgmma(&mut acc, &own, &b_smem, false);
    wgmma_commit_group();
    wgmma_wait_group(0);
    let rounded = acc.cast::<T>();
    wgmma(&mut acc, &rounded, &c_smem, false);
    wgmma_commit_group();
    wgmma_wait_group(0);
    let dst = d.tile([64, 64], [block_idx.x, 0]).tile([16, 64], [warp_id(), 0]);
    dst.vectorize([1, 2]).distribute(row_major([8, 4]), lane_id()).copy_from(&acc);
}

/// `C = A B`, B by columns, of 8-bit floats: four of a row of A are one register.
#[tiled_kernel(T = [e4m3, e5m2], arch = "sm_90a", block = [128], grid = [M.div_ceil(64)])]
pub fn left_of_bytes<T, const M: usize>(
    a: &LayoutTensor<T, RowMajor<M, 64>>,
    b: &LayoutTensor<T, RowMajor<32, 64>>,
    c: &mut LayoutTensor<f32, RowMajor<M, 32>>,
) {
    let mut b_smem = shared::<T>(row_major([32, 64]).swizzle_bytes(64));
    let full = mbarriers(1, 1).at(0);
    barrier();
    if thread_idx.x == 0 {
        full.arrive_expect(b_smem.bytes());
        tma_load(&mut b_smem, &b.tile([32, 64], [0, 0]), full);
    }
    let rows = a.tile([64, 64], [block_idx.x, 0]).tile([16, 64], [warp_id(), 0]);
    let own = rows.vectorize([1, 4]).distribute(row_major([8, 4]), lane_id()).to_local();
    full.wait(0);
    let mut acc = accumulator([64, 32]).fill(0.0);
    wgmma(&mut acc, &own, &b_smem.transpose(), false);
    wgmma_commit_group();
    wgmma_wait_group(0);
    let dst = c.tile([64, 32], [block_idx.x, 0]).tile([16, 32], [warp_id(), 0]);
    dst.vectorize([1, 2]).distribute(row_major([8, 4]), lane_id()).copy_from(&acc);
}

/// Rows of the result: none, one, around a warp's, around a block's.
const SIZES: [[usize; 3]; 7] =
    [[0, 1, 1], [1, 1, 1], [15, 1, 1], [17, 1, 1], [64, 1, 1], [65, 1, 1], [150, 1, 1]];

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&chain::DEFINITION, SIZES.to_vec(), |run| chained(run, bf16::from_f64)).of(Elem::Bf16),
        Case::new(&chain::DEFINITION, SIZES.to_vec(), |run| chained(run, f16::from_f64)).of(Elem::F16),
        Case::new(&left_of_bytes::DEFINITION, SIZES.to_vec(), |run| bytes(run, E4m3::from_f32))
            .of(Elem::E4m3),
        Case::new(&left_of_bytes::DEFINITION, SIZES.to_vec(), |run| bytes(run, E5m2::from_f32))
            .of(Elem::E5m2),
    ]
}

fn chained<T: Element + Copy + Into<f64>>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let m = run.size[0];
    let rounded = |values: Vec<f64>| values.into_iter().map(round).collect::<Vec<T>>();
    let (a, b, c) = (rounded(doubles(m * 48, 1)), rounded(doubles(48 * 64, 2)), rounded(doubles(64 * 64, 3)));
    let (on_a, on_b, on_c) =
        (run.tensor(&a, [m, 48])?, matrix(run, &b, [48, 64])?, matrix(run, &c, [64, 64])?);
    let mut d = run.output([m, 64])?;
    let (a_view, b_view, c_view) = (on_a.view()?, on_b.view()?, on_c.view()?);
    chain::launch_with(run.config(), &run.stream(), &a_view, &b_view, &c_view, &mut d.view_mut()?)?;
    let wide = |values: &[T]| values.iter().map(|value| (*value).into()).collect::<Vec<f64>>();
    let between = rounded(product(&wide(&a), &wide(&b), [m, 64, 48]));
    Ok(Outcome::within::<f32>(1e-5, d.read()?, product(&wide(&between), &wide(&c), [m, 64, 64])))
}

fn bytes<T: Element>(run: &Run<'_>, round: fn(f32) -> T) -> Result<Outcome, Error> {
    let m = run.size[0];
    let small = |count: usize, seed: u64| {
        let exact: Vec<f64> = doubles(count, seed).iter().map(|value| value % 3.0).collect();
        (exact.iter().map(|value| round(*value as f32)).collect::<Vec<T>>(), exact)
    };
    let ((a, a_exact), (b, b_exact)) = (small(m * 64, 4), small(32 * 64, 5));
    let (on_a, on_b) = (run.tensor(&a, [m, 64])?, matrix(run, &b, [32, 64])?);
    let mut c = run.output([m, 32])?;
    left_of_bytes::launch_with(
        run.config(),
        &run.stream(),
        &on_a.view()?,
        &on_b.view()?,
        &mut c.view_mut()?,
    )?;
    let turned: Vec<f64> = (0..64 * 32).map(|at| b_exact[at % 32 * 64 + at / 32]).collect();
    Ok(Outcome::within::<f32>(0.0, c.read()?, product(&a_exact, &turned, [m, 32, 64])))
}
