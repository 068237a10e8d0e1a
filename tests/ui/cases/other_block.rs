use layout_cuda::tiled_kernel;

#[tiled_kernel(arch = "sm_90a", block = [64], grid = [1])]
fn alone(y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut row = shared::<f32>(row_major([64]));
    row[[thread_idx.x]] = 1.0;
    y[[thread_idx.x]] = row.map_shared_rank(1)[[thread_idx.x]];
}

#[tiled_kernel(arch = "sm_90a", block = [64], cluster = [2], grid = [2])]
fn of_global(y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut there = y.map_shared_rank(1);
    there[[thread_idx.x]] = 1.0;
}

#[tiled_kernel(arch = "sm_90a", block = [64], cluster = [2], grid = [2])]
fn sent_from_memory(y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut row = shared::<f32>(row_major([64]));
    let arrived = mbarriers(1, 1);
    store_async(&mut row.map_shared_rank(1), &row, arrived.at(0));
    y[[thread_idx.x]] = row[[thread_idx.x]];
}

#[tiled_kernel(arch = "sm_90a", block = [64], cluster = [2], grid = [2])]
fn counted_there(y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let mut row = shared::<f32>(row_major([64]));
    let mut there = row.map_shared_rank(1);
    there.atomic_add([thread_idx.x], 1.0);
    y[[thread_idx.x]] = row[[thread_idx.x]];
}

fn main() {}
