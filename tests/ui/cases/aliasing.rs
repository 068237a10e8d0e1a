use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn double<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        y[[i]] = x[[i]] * 2.0;
    }
}

fn main() {
    let device = layout_cuda::Device::simulator();
    let mut x = device.zeros::<f32, 1>([8]).unwrap();
    let _ = double::launch(&device.stream(), &x, &mut x);
}
