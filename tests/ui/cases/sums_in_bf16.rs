use layout_cuda::tiled_kernel;

#[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
fn sums(y: &mut LayoutTensor<bf16, RowMajor<8, 64>>) {
    let tile = shared::<bf16>(row_major([8, 64]));
    tile.fill(bf16::ZERO);
    fence_async_proxy();
    sync_warp();
    if elect_one() {
        tma_add(&mut y.tile([8, 64], [0, 0]), &tile);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

fn main() {}
