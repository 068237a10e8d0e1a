// Transposition by TMA: one thread asks for the tile, all transpose it in shared memory, one thread sends it off.
#[tiled_kernel(arch = "sm_90a", block = [1024], grid = [N.div_ceil(32), M.div_ceil(32)])]
fn transpose_tma<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, M>>,
) {
    let mut held = shared::<f32>(row_major([32, 32]));
    let mut turned = shared::<f32>(row_major([32, 32]));
    let loaded = mbarriers(1, 1).at(0);
    let (row, col) = (thread_idx.x / 32, thread_idx.x % 32);
    barrier();
    if thread_idx.x == 0 {
        loaded.arrive_expect(held.bytes());
        tma_load(&mut held, &x.tile([32, 32], [block_idx.y, block_idx.x]), loaded);
    }
    // Hole: nobody may read `held` before TMA has filled it.
    turned[[col, row]] = held[[row, col]];
    // Hole: TMA reads `turned` by another way than the threads wrote it. What orders the two?
    barrier();
    if thread_idx.x == 0 {
        tma_store(&mut y.tile([32, 32], [block_idx.x, block_idx.y]), &turned);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}
