use layout_cuda::tiled_kernel;

#[tiled_kernel(BM = [64, 65], block = [BM])]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    assert!(BM % 8 == 0, "BM is a multiple of 8");
    assert!(BM <= 64);
    c[[thread_idx.x]] = 0.0;
}

fn main() {}
