// A product in tiles of your own: c = a b, at every size. Choose the parameters, the block and the grid.
#[tiled_kernel(block = [256], grid = [1])]
fn own_product<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    // Hole: everything.
}
