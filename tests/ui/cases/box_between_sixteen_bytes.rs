//! TMA begins a row at a multiple of 16 bytes.
use layout_cuda::tiled_kernel;

#[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
fn begins_anywhere<const N: usize>(x: &LayoutTensor<f32, RowMajor<N, N>>, first: usize) {
    let mut tile = shared::<f32>(row_major([4, 32]));
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(tile.bytes());
        tma_load(&mut tile, &x.window([4, 32], [first, first / 2 * 2]), full.at(0));
    }
    full.at(0).wait(0);
}

fn main() {}
