use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [256])]
fn kernel<const N: usize>(
    a: &LayoutTensor<i32, RowMajor<N>>,
    x: &LayoutTensor<f32, RowMajor<N>>,
    c: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * 256 + thread_idx.x;
    c[[a[[i]]]] = 1.0;
    c[[i]] = i;
    c[[i + a[[i]]]] = 1.0;
    c[[i]] = x[[i]] * i;
    c[[i]] = (x[[i]] > 0.0) * 2.0;
    for k in 0..2.0 {
        c[[k]] = 1.0;
    }
}

fn main() {}
