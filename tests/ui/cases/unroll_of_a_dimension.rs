use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [256])]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    for i in unroll(0..N) {
        c[[i]] = 0.0;
    }
}

fn main() {}
