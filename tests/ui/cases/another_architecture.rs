use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [32], grid = [1])]
fn for_every_architecture(y: &mut LayoutTensor<f32, RowMajor<32>>) {
    if elect_one() {
        y[[0]] = 1.0;
    }
}

#[tiled_kernel(arch = "sm_90", block = [128], grid = [1])]
fn for_a_later_one_too(y: &mut LayoutTensor<f32, RowMajor<64, 64>>) {
    let a = shared::<f32>(row_major([64, 32]).swizzle_bytes(128));
    let mut acc = accumulator([64, 64]).fill(0.0);
    wgmma(&mut acc, &a, &a.transpose(), false);
    y[[0, 0]] = 1.0;
}

#[tiled_kernel(arch = "sm_80", block = [32], cluster = [2], grid = [2])]
fn clusters(y: &mut LayoutTensor<f32, RowMajor<32>>) {
    y[[thread_idx.x]] = 1.0;
}

fn main() {}
