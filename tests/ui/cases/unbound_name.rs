use layout_cuda::tiled_kernel;

const OUTSIDE: usize = 4;

#[tiled_kernel(block = [BM])]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    let width = OUTSIDE;
    c[[thread_idx.x * widht + offset]] = 0.0;
}

fn main() {
    let _ = OUTSIDE;
}
