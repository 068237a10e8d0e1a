use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [256])]
fn kernel<const N: usize>(a: &LayoutTensor<i32, RowMajor<N>>, c: &mut LayoutTensor<f32, RowMajor<N>>) {
    c[[thread_idx.x]] = a[[thread_idx.x]];
    let smem = shared::<f64>(row_major([256]));
    smem.copy_from(a);
}

fn main() {}
