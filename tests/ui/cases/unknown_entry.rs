use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [256], grids = [N.div_ceil(256)])]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    c[[thread_idx.x]] = 0.0;
}

fn main() {}
