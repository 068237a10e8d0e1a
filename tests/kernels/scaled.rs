//! The matrix instructions with block scales: each format, operands from global memory and from shared memory that `ldmatrix` reads, several
//! of the instruction's tiles along each mode, and each byte of a register of scales.

use crate::support::case::{Case, Outcome, Run, around_tile};
use crate::support::data::noise;
use layout_compiler::Elem;
use layout_cuda::{E4m3, E5m2, Element, Error, tiled_kernel};

/// NVFP4, one warp, straight from global memory; K counts words of eight numbers.
#[tiled_kernel(arch = "sm_120f", block = [32], grid = [N.div_ceil(16), M.div_ceil(32)])]
pub fn scaled_nvfp4<const M: usize, const N: usize, const K: usize, const V: usize>(
    a: &LayoutTensor<u32, RowMajor<M, K>>,
    b: &LayoutTensor<u32, RowMajor<N, K>>,
    a_scales: &LayoutTensor<e4m3, RowMajor<M, V>>,
    b_scales: &LayoutTensor<e4m3, RowMajor<N, V>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<u32>([16, 8, 64]);
    let mut acc = local::<f32>(row_major([2, 8])).fill(0.0);
    let (row, col) = (block_idx.y, block_idx.x);
    for block in 0..K.div_ceil(8) {
        let a_reg = mma.load_a(&a.tile([32, 8], [row, block]));
        let b_reg = mma.load_b(&b.tile([16, 8], [col, block]).transpose());
        let x_reg = mma.load_a_scales(&a_scales.tile([32, 4], [row, block]));
        let y_reg = mma.load_b_scales(&b_scales.tile([16, 4], [col, block]).transpose());
        mma.mma_scaled(&mut acc, &a_reg, &b_reg, &x_reg, &y_reg);
    }
    mma.store_d(&mut c.tile([32, 16], [row, col]), &acc);
}

/// MXFP4 from shared memory: a register of scales is for two steps.
#[tiled_kernel(arch = "sm_120f", block = [32], grid = [N.div_ceil(16), M.div_ceil(16)])]
pub fn scaled_mxfp4<const M: usize, const N: usize, const K: usize, const V: usize>(
    a: &LayoutTensor<u32, RowMajor<M, K>>,
    b: &LayoutTensor<u32, RowMajor<N, K>>,
    a_scales: &LayoutTensor<u8, RowMajor<M, V>>,
    b_scales: &LayoutTensor<u8, RowMajor<N, V>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<u32>([16, 8, 64]);
    let mut a_smem = shared::<u32>(layout([16, 16], [20, 1]));
    let mut b_smem = shared::<u32>(row_major([16, 16]).swizzle(2, 2, 3));
    let mut acc = local::<f32>(row_major([1, 8])).fill(0.0);
    let (row, col) = (block_idx.y, block_idx.x);
    for block in 0..K.div_ceil(16) {
        copy_dram_to_sram(&mut a_smem, &a.tile([16, 16], [row, block]), row_major([2, 16]));
        copy_dram_to_sram(&mut b_smem, &b.tile([16, 16], [col, block]), row_major([2, 16]));
        barrier();
        let x_reg = mma.load_a_scales(&a_scales.tile([16, 4], [row, block]));
        let y_reg = mma.load_b_scales(&b_scales.tile([16, 4], [col, block]).transpose());
        mma.mma_scaled(&mut acc, &mma.load_a(&a_smem), &mma.load_b(&b_smem.transpose()), &x_reg, &y_reg);
        barrier();
    }
    mma.store_d(&mut c.tile([16, 16], [row, col]), &acc);
}

/// MXFP8: a register of scales is for four steps, and two are for eight.
#[tiled_kernel(T = [e4m3, e5m2], arch = "sm_120f", block = [32], grid = [N.div_ceil(8), M.div_ceil(16)])]
pub fn scaled_mxfp8<T, const M: usize, const N: usize, const K: usize, const V: usize>(
    a: &LayoutTensor<T, RowMajor<M, K>>,
    b: &LayoutTensor<T, RowMajor<N, K>>,
    a_scales: &LayoutTensor<u8, RowMajor<M, V>>,
    b_scales: &LayoutTensor<u8, RowMajor<N, V>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<T>([16, 8, 32]);
    let mut acc = local::<f32>(row_major([1, 4])).fill(0.0);
    let (row, col) = (block_idx.y, block_idx.x);
    for block in 0..K.div_ceil(256) {
        let a_reg = mma.load_a(&a.tile([16, 256], [row, block]));
        let b_reg = mma.load_b(&b.tile([8, 256], [col, block]).transpose());
        let x_reg = mma.load_a_scales(&a_scales.tile([16, 8], [row, block]));
        let y_reg = mma.load_b_scales(&b_scales.tile([8, 8], [col, block]).transpose());
        mma.mma_scaled(&mut acc, &a_reg, &b_reg, &x_reg, &y_reg);
    }
    mma.store_d(&mut c.tile([16, 8], [row, col]), &acc);
}

/// Four-bit codes to the numbers of e2m1.
const NUMBERS: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// Rows of elements, and what numbers each of them is.
type Elements<T> = (Vec<T>, Vec<f64>);

fn words(count: usize, seed: u64) -> Elements<u32> {
    let words: Vec<u32> = noise(count, seed).map(|bits| (bits >> 16) as u32).collect();
    let number = |code: u32| if code & 8 == 0 { NUMBERS[code as usize] } else { -NUMBERS[code as usize & 7] };
    let numbers = words.iter().flat_map(|word| (0..8).map(move |at| number(word >> (4 * at) & 15))).collect();
    (words, numbers)
}

/// Numbers of three bits of fraction at most.
fn bytes<T: Element>(count: usize, seed: u64, from: fn(f32) -> T) -> Elements<T> {
    let quarters: Vec<f32> = noise(count, seed).map(|bits| (bits >> 20 & 15) as f32 / 4.0 - 1.75).collect();
    let bytes: Vec<T> = quarters.into_iter().map(from).collect();
    let numbers = bytes.iter().map(|byte| byte.constant().as_f64()).collect();
    (bytes, numbers)
}

/// Scales of ue4m3: multiples of 1/4 up to 2.
fn fractions(count: usize, seed: u64) -> Elements<E4m3> {
    let scales: Vec<f32> = noise(count, seed).map(|bits| (1 + (bits >> 20 & 7)) as f32 / 4.0).collect();
    (scales.iter().map(|scale| E4m3::from_f32(*scale)).collect(), scales.into_iter().map(f64::from).collect())
}

/// Scales of ue8m0: 1/4 to 2.
fn powers(count: usize, seed: u64) -> Elements<u8> {
    let bits: Vec<u8> = noise(count, seed).map(|bits| 125 + (bits >> 20 & 3) as u8).collect();
    let numbers = bits.iter().map(|bits| f64::from(i32::from(*bits) - 127).exp2()).collect();
    (bits, numbers)
}

/// A run of a kernel whose rows are so many elements of so many numbers each, with a scale for each block of numbers. Behind the end of
/// a row, of elements or of scales, a product is zero. Sums are exact in float32.
macro_rules! run {
    ($kernel:ident, $elements:expr, $scales:expr, $each:literal, $block:literal) => {
        |run: &Run<'_>| -> Result<Outcome, Error> {
            let [m, n, k] = run.size;
            let v = (k * $each).div_ceil($block);
            let (a, left) = $elements(m * k, 3);
            let (b, right) = $elements(n * k, 4);
            let (x, left_scales) = $scales(m * v, 5);
            let (y, right_scales) = $scales(n * v, 6);
            let (a, b) = (run.tensor(&a, [m, k])?, run.tensor(&b, [n, k])?);
            let (x, y) = (run.tensor(&x, [m, v])?, run.tensor(&y, [n, v])?);
            let mut c = run.output::<f32, 2>([m, n])?;
            let (a, b, x, y) = (a.view()?, b.view()?, x.view()?, y.view()?);
            $kernel::launch_with(run.config(), &run.stream(), &a, &b, &x, &y, &mut c.view_mut()?)?;
            let wanted = (0..m * n).map(|at| {
                let (row, column) = (at / n, at % n);
                let one = |l: usize| {
                    let scale = left_scales[row * v + l / $block] * right_scales[column * v + l / $block];
                    left[row * k * $each + l] * right[column * k * $each + l] * scale
                };
                (0..k * $each).map(one).sum::<f64>()
            });
            Ok(Outcome::within(0.0, c.read()?, wanted.collect::<Vec<_>>()))
        }
    };
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(
            &scaled_nvfp4::DEFINITION,
            around_tile([32, 16, 8]),
            run!(scaled_nvfp4, words, fractions, 8, 16),
        ),
        Case::new(
            &scaled_mxfp4::DEFINITION,
            around_tile([16, 16, 16]),
            run!(scaled_mxfp4, words, powers, 8, 32),
        ),
        Case::new(
            &scaled_mxfp8::DEFINITION,
            around_tile([16, 8, 256]),
            run!(scaled_mxfp8, |count, seed| bytes(count, seed, E4m3::from_f32), powers, 1, 32),
        )
        .of(Elem::E4m3),
        Case::new(
            &scaled_mxfp8::DEFINITION,
            around_tile([16, 8, 256]),
            run!(scaled_mxfp8, |count, seed| bytes(count, seed, E5m2::from_f32), powers, 1, 32),
        )
        .of(Elem::E5m2),
    ]
}
