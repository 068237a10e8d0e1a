use layout_cuda::tiled_kernel;

#[tiled_kernel(BM = 64, BM = 32, block = [BM], block = [128])]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    c[[thread_idx.x]] = 0.0;
}

fn main() {}
