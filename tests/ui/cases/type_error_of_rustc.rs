use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [256])]
fn kernel<const N: usize>(a: &LayoutTensor<f32, RowMajor<N>>, c: &mut LayoutTensor<f32, RowMajor<N>>) {
    let tile: View<f32, Write> = a.tile([256], [block_idx.x]);
    let before: isize = thread_idx.x - 1;
    c[[thread_idx.x]] = tile[[before]];
}

fn main() {}
