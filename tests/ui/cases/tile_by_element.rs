use layout_cuda::tiled_kernel;

#[tiled_kernel(BM = 64, BK = 16, block = [BM], grid = [M.div_ceil(BM)])]
fn sums<const M: usize, const K: usize>(x: &LayoutTensor<f32, RowMajor<M, K>>, y: &mut LayoutTensor<f32, RowMajor<M>>) {
    let row = block_idx.x * BM;
    let mut sum = 0.0;
    for k in (0..K).step_by(BK) {
        let part = x.tile([BM, BK], [block_idx.x, k]);
        for i in 0..BK {
            sum += part[[thread_idx.x, i]];
        }
    }
    y.tile([BM], [row])[[thread_idx.x]] = sum;
}

fn main() {}
