use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [32])]
fn kernel<const N: usize>(flags: &mut LayoutTensor<u32, RowMajor<N>>, c: &mut LayoutTensor<u32, RowMajor<N>>) {
    c[[0]] = flags.block_scope()[[thread_idx.x]];
    c.system_scope().copy_from(flags);
}

fn main() {}
