use layout_cuda::tiled_kernel;

#[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
fn kernel(x: &LayoutTensor<f32, RowMajor<8, 32>>) {
    let mut tile = shared::<f32>(row_major([4, 32]).swizzle_bytes(128));
    let full = mbarriers(2, 1);
    if thread_idx.x == 0 {
        full.at(1).arrive_expect(tile.bytes());
        tma_load(&mut tile, &x.tile([4, 32], [1, 0]), full.at(1));
    }
    barrier();
    full.at(1).wait(0);
}

fn main() {}
