use layout_cuda::tiled_kernel;

#[tiled_kernel(arch = "sm_90a", block = [32])]
fn kernel<const N: usize>(x: &LayoutTensor<f32, RowMajor<1, 32>>, y: &mut LayoutTensor<u32, RowMajor<N>>) {
    let mut tile = shared::<f32>(row_major([1, 32]));
    let full = mbarriers(1, 1).at(0);
    tile.evict_first().fill(0.0);
    barrier();
    copy_dram_to_sram_async(&mut tile, &x.evict_first(), row_major([1, 32]));
    tma_load(&mut tile, &x.no_allocate().tile([1, 32], [0, 0]), full);
    y.evict_last().atomic_add([0], 1);
}

fn main() {}
