// The ladder, step 3: a block copies BM x BK of a and BK x BN of b to shared memory, and every thread reads from there.
#[tiled_kernel(BM = 32, BN = 32, BK = 64, block = [BM * BN], grid = [N.div_ceil(BN), M.div_ceil(BM)])]
fn tiled<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN;
    let (row, col) = (thread_idx.x / BN, thread_idx.x % BN);
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]);

    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut sum = 0.0;

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        // Hole: two copies, a wait, two barriers, BK products.
    }
    dst[[row, col]] = sum;
}
