//! Attention in one pass over the keys: no row of scores is ever held as a whole.

use layout_cuda::tiled_kernel;

/// `o = softmax(scale q kᵀ) v` for each head; where `CAUSAL`, query `i` sees the keys `0..=i`. A warp has 16 queries.
#[tiled_kernel(
    CAUSAL = [false, true], BM = 64, BN = 32,
    require(N > 0),
    block = [BM / 16 * 32],
    grid = [M.div_ceil(BM), H],
)]
pub fn attention_simple<const H: usize, const M: usize, const N: usize>(
    q: &LayoutTensor<bf16, RowMajor<H, M, 64>>,
    k: &LayoutTensor<bf16, RowMajor<H, N, 64>>,
    v: &LayoutTensor<bf16, RowMajor<H, N, 64>>,
    o: &mut LayoutTensor<f32, RowMajor<H, M, 64>>,
    scale: f32,
) {
    const D: usize = 64;
    let mma = mma_atom::<bf16>([16, 8, 16]);
    let head = block_idx.y;
    let rows = block_idx.x * (BM / 16) + warp_id();
    let (row, col) = (lane_id() / 4, lane_id() % 4 * 2);

    let mut k_smem = shared::<bf16>(layout([BN, D], [D + 8, 1]));
    let mut v_smem = shared::<bf16>(layout([BN, D], [D + 8, 1]));
    let q_reg = mma.load_a(&q.slice(head).tile([16, D], [rows, 0]));
    let mut out = local::<f32>(row_major([1, D / 8 * 4])).fill(0.0);
    // Of this thread's two rows: the largest score so far, and this thread's part of the sum.
    let mut most = local::<f32>(row_major([2])).fill(f32::NEG_INFINITY);
    let mut sum = local::<f32>(row_major([2])).fill(0.0);

    let keys = if CAUSAL { N.min((block_idx.x + 1) * BM) } else { N };
    for step in 0..keys.div_ceil(BN) {
        let k_tile = k.slice(head).tile([BN, D], [step, 0]).vectorize([1, 8]);
        let v_tile = v.slice(head).tile([BN, D], [step, 0]).vectorize([1, 8]);
        copy_dram_to_sram_async(&mut k_smem.vectorize([1, 8]), &k_tile, row_major([16, 8]));
        copy_dram_to_sram_async(&mut v_smem.vectorize([1, 8]), &v_tile, row_major([16, 8]));
        async_copy_wait_all();
        barrier();

        let mut scores = local::<f32>(row_major([1, BN / 8 * 4])).fill(0.0);
        mma.mma(&mut scores, &q_reg, &mma.load_b(&k_smem.transpose()));
        for half in unroll(0..2) {
            let query = rows * 16 + row + 8 * half;
            let mut next = most[[half]];
            for j in unroll(0..BN / 8) {
                for e in unroll(0..2) {
                    let key = step * BN + 8 * j + col + e;
                    let seen = key < N && (!CAUSAL || key <= query);
                    let own = 4 * j + 2 * half + e;
                    scores[[0, own]] = if seen { scale * scores[[0, own]] } else { f32::NEG_INFINITY };
                    next = next.max(scores[[0, own]]);
                }
            }
            let next = group_max(next, 4);
            // What was summed up relative to the largest score before is now relative to this one.
            let kept = (most[[half]] - next).exp();
            most[[half]] = next;
            sum[[half]] *= kept;
            for j in unroll(0..D / 8) {
                for e in unroll(0..2) {
                    out[[0, 4 * j + 2 * half + e]] *= kept;
                }
            }
            for j in unroll(0..BN / 8) {
                for e in unroll(0..2) {
                    let own = 4 * j + 2 * half + e;
                    scores[[0, own]] = (scores[[0, own]] - next).exp();
                    sum[[half]] += scores[[0, own]];
                }
            }
        }
        // The accumulator of one product is as the left operand of the next one.
        mma.mma(&mut out, &scores.cast::<bf16>(), &mma.load_b(&v_smem));
        barrier();
    }

    for half in unroll(0..2) {
        let sum = group_sum(sum[[half]], 4);
        for j in unroll(0..D / 8) {
            for e in unroll(0..2) {
                out[[0, 4 * j + 2 * half + e]] /= sum;
            }
        }
    }
    mma.store_d(&mut o.slice(head).tile([16, D], [rows, 0]), &out);
}
