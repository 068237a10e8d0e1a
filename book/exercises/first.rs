// A first kernel: y[i] = x[i] * x[i] + 1, a thread for each element. Four threads make a block.
#[tiled_kernel(block = [4], grid = [N.div_ceil(4)])]
fn squares<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    // Hole: which element is this thread's? Its block comes after `block_idx.x` others.
    let i = thread_idx.x;
    // Hole: the last block may have more threads than elements are left.
    y[[i]] = x[[i]];
}
