use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [256])]
fn kernel<const N: usize>(a: &LayoutTensor<f32, RowMajor<N>>, c: &mut LayoutTensor<f32, RowMajor<N>>) {
    let tile = a.tile([256], [block_idx.x]);
    a[[thread_idx.x]] = 1.0;
    tile.fill(0.0);
    c[[thread_idx.x]] = a[[thread_idx.x]];
}

fn main() {}
