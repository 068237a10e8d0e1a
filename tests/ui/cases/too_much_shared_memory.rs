use layout_cuda::tiled_kernel;

#[tiled_kernel(BM = 256, block = [256], arch = "sm_90a")]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    let smem = shared::<f32>(row_major([BM, BM]));
    c[[thread_idx.x]] = smem[[0, 0]];
}

fn main() {}
