use layout_cuda::tiled_kernel;

#[tiled_kernel(BLOCK = 64)]
fn kernel<const M: usize, const N: usize>(
    c: &mut LayoutTensor<f32, RowMajor<N>>,
    d: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    let i = block_idx.x * BLOCK + thread_idx.x;
    if i < N {
        c[[i]] = 1.0;
    }
    if i < M {
        d[[i]] = 2.0;
    }
}

fn main() {}
