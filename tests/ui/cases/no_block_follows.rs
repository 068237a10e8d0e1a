use layout_cuda::tiled_kernel;

#[tiled_kernel(BM = 64)]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * block_dim.x + thread_idx.x;
    if i < N {
        c[[i]] = BM as f32;
    }
}

fn main() {}
