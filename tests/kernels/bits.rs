//! Products of bits: rows that a tensor holds, and fragments that a kernel makes itself, to count bytes.

use crate::support::case::{Case, Outcome, around_tile};
use crate::support::data::noise;
use layout_cuda::tiled_kernel;

/// `c[i, j]` is how many bits row `i` of `a` and column `j` of `b` have in common, in tiles of 16 x 16.
#[tiled_kernel(block = [32], grid = [N.div_ceil(16), M.div_ceil(16)])]
pub fn mma_of_bits<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<u32, RowMajor<M, K>>,
    b: &LayoutTensor<u32, RowMajor<K, N>>,
    c: &mut LayoutTensor<i32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<u32>([16, 8, 8]);
    let mut acc = local::<i32>(row_major([1, 8])).fill(0);
    for block in 0..K.div_ceil(8) {
        let a_reg = mma.load_a(&a.tile([16, 8], [block_idx.y, block]));
        let b_reg = mma.load_b(&b.tile([8, 16], [block, block_idx.x]));
        mma.mma(&mut acc, &a_reg, &b_reg);
    }
    mma.store_d(&mut c.tile([16, 16], [block_idx.y, block_idx.x]), &acc);
}

/// Adds to `counts[v]` how often byte `v` occurs in the words of `x`. A byte's upper half is a row, its lower half a column: row `h` of A
/// is the bytes whose upper half is `h`, column `l` of B those whose lower half is `l`, and their product counts those of both.
///
/// A lane makes bit planes of 32 bytes, and of the lower three bits of each half the eight masks. Rows 8 to 15 are those masks under the
/// half's top bit, and rows 0 to 7 the masks alone, so at the end one is subtracted from the other.
#[tiled_kernel(
    WARPS = 2, BLOCKS = 2,
    block = [WARPS * 32],
    grid = [BLOCKS],
    require(N % 256 == 0),
)]
pub fn counts_by_bits<const N: usize>(
    x: &LayoutTensor<u32, RowMajor<N>>,
    counts: &mut LayoutTensor<u32, RowMajor<256>>,
) {
    const ROW: usize = 36;
    /// The bits of `a` beyond `mask` and those of `b` under it change places, by so many bits.
    fn exchanged(a: u32, b: u32, by: u32, mask: u32) -> (u32, u32) {
        ((a & mask) | ((b << by) & !mask), ((a >> by) & mask) | (b & !mask))
    }
    let mut masks = shared::<u32>(layout([WARPS * 18, 32], [ROW, 1]));
    let mut masks = masks.tile([18, 32], [warp_id(), 0]);
    let mma = mma_atom::<u32>([16, 8, 8]);
    let (row, first) = (lane_id() / 4, lane_id() % 4 * 8);
    let mut sums = local::<i32>(row_major([1, 8])).fill(0);
    for tile in (block_idx.x * WARPS + warp_id()..N / 256).step_by(BLOCKS * WARPS) {
        let mut bits = x.tile([256], [tile]).vectorize([4]).distribute(row_major([32]), lane_id()).to_local();
        // Then `bits[[i]]` holds bit i of 32 bytes.
        for i in unroll(0..4) {
            (bits[[i]], bits[[i + 4]]) = exchanged(bits[[i]], bits[[i + 4]], 4, 0x0f0f_0f0f);
        }
        for i in unroll(0..4) {
            let i = i / 2 * 4 + i % 2;
            (bits[[i]], bits[[i + 2]]) = exchanged(bits[[i]], bits[[i + 2]], 2, 0x3333_3333);
        }
        for i in unroll(0..4) {
            (bits[[2 * i]], bits[[2 * i + 1]]) = exchanged(bits[[2 * i]], bits[[2 * i + 1]], 1, 0x5555_5555);
        }
        sync_warp();
        for half in unroll(0..2) {
            for k in unroll(0..8) {
                let mut mask: u32 = 0xffff_ffff;
                for bit in unroll(0..3) {
                    mask &=
                        if (k >> bit) % 2 == 1 { bits[[half * 4 + bit]] } else { !bits[[half * 4 + bit]] };
                }
                masks[[half * 8 + k, lane_id()]] = mask;
            }
            masks[[16 + half, lane_id()]] = bits[[half * 4 + 3]];
        }
        sync_warp();
        for part in unroll(0..2) {
            let of = |row: usize| masks.window([1, 4], [row, first + part * 4]).vectorize([1, 4]).to_local();
            let (lower, upper, lower_top, upper_top) = (of(row), of(row + 8), of(16), of(17));
            for i in unroll(0..2) {
                let mut a = local::<u32>(row_major([1, 4]));
                let mut b = local::<u32>(row_major([2, 2]));
                for j in unroll(0..2) {
                    a[[0, 2 * j]] = upper[[0, 2 * i + j]];
                    a[[0, 2 * j + 1]] = upper[[0, 2 * i + j]] & upper_top[[0, 2 * i + j]];
                    b[[0, j]] = lower[[0, 2 * i + j]];
                    b[[1, j]] = lower[[0, 2 * i + j]] & lower_top[[0, 2 * i + j]];
                }
                mma.mma(&mut sums, &a, &b);
            }
        }
    }
    let column = lane_id() % 4 * 2;
    for i in unroll(0..2) {
        let (all, upper, lower, both) = (sums[[0, i]], sums[[0, 2 + i]], sums[[0, 4 + i]], sums[[0, 6 + i]]);
        counts.atomic_add([row * 16 + column + i], (all - upper - lower + both) as u32);
        counts.atomic_add([row * 16 + 8 + column + i], (lower - both) as u32);
        counts.atomic_add([(row + 8) * 16 + column + i], (upper - both) as u32);
        counts.atomic_add([(row + 8) * 16 + 8 + column + i], both as u32);
    }
}

fn words(count: usize, seed: u64) -> Vec<u32> {
    noise(count, seed).map(|bits| (bits >> 7) as u32).collect()
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&mma_of_bits::DEFINITION, around_tile([16, 16, 8]), |run| {
            let [m, n, k] = run.size;
            let (a, b) = (words(m * k, 3), words(k * n, 5));
            let (on_a, on_b) = (run.tensor(&a, [m, k])?, run.tensor(&b, [k, n])?);
            let mut c = run.output::<i32, 2>([m, n])?;
            let stream = run.stream();
            mma_of_bits::launch_with(
                run.config(),
                &stream,
                &on_a.view()?,
                &on_b.view()?,
                &mut c.view_mut()?,
            )?;
            let in_common = |i: usize, j: usize| -> u32 {
                (0..k).map(|step| (a[i * k + step] & b[step * n + j]).count_ones()).sum()
            };
            Ok(Outcome::exact(c.read()?, (0..m * n).map(|at| in_common(at / n, at % n) as i32)))
        }),
        Case::new(&counts_by_bits::DEFINITION, [0, 256, 512, 1280].map(|n| [n, 1, 1]).to_vec(), |run| {
            let [n, ..] = run.size;
            let x = words(n, 1);
            let (on_x, mut counts) = (run.tensor(&x, [n])?, run.tensor(&[7u32; 256], [256])?);
            counts_by_bits::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut counts.view_mut()?)?;
            let mut wanted = [7u32; 256];
            x.iter().flat_map(|word| word.to_le_bytes()).for_each(|byte| wanted[usize::from(byte)] += 1);
            Ok(Outcome::exact(counts.read()?, wanted))
        }),
    ]
}
