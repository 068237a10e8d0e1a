use layout_cuda::tiled_kernel;

#[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
fn reads_before(x: &LayoutTensor<f32, RowMajor<64>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let own = x[[thread_idx.x]];
    grid_dependency_wait();
    y[[thread_idx.x]] = own;
}

#[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
fn some_wait(y: &mut LayoutTensor<f32, RowMajor<64>>) {
    if thread_idx.x == 0 {
        grid_dependency_wait();
    }
    y[[thread_idx.x]] = 0.0;
}

fn main() {}
