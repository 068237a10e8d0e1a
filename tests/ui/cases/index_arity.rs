use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [256])]
fn kernel<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, RowMajor<M, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let tile = a.tile([8, 8, 8], [0, 0, 0]);
    c[[thread_idx.x]] = a[[thread_idx.x, 0, 0]];
}

fn main() {}
