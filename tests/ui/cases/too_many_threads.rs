use layout_cuda::tiled_kernel;

#[tiled_kernel(BM = [32, 64], block = [BM, BM])]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    c[[thread_idx.x]] = 0.0;
}

fn main() {}
