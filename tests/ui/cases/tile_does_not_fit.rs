use layout_cuda::tiled_kernel;

#[tiled_kernel(BM = 64, BK = 12, block = [64])]
fn kernel<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {
    let smem = shared::<f32>(row_major([BM, BK]));
    let tile = smem.tile([8, 8], [0, 1]);
    let registers = local::<f32>(row_major([4, 4])).fill(0.0);
    let part = registers.tile([4, 4], [1, 0]);
    c[[thread_idx.x]] = tile[[0, 0]] + part[[0, 0]];
}

fn main() {}
