//! Puzzles 10 and 13: the dot product of a block's length, and the sums of a matrix's rows or columns, by halving.
//!
//! ```text
//! partial[t] += partial[t + stride] for t < stride, for stride = TPB/2, TPB/4, .., 1; then partial[0] is the sum
//! ```

use layout_cuda::tiled_kernel;

/// `out[0] = sum of a[i] b[i]`, by one block: each thread first adds up every `TPB`th product.
///
/// The listing it follows leaves the shared elements of threads beyond the end unwritten and reads them, and every one
/// of its blocks writes `out[0]`.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [1])]
pub fn dot_product<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<1>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<N>>,
) {
    let mut partial = shared::<f32>(row_major([TPB]));
    let mut sum = 0.0;
    for i in (thread_idx.x..N).step_by(TPB) {
        sum += a[[i]] * b[[i]];
    }
    partial[[thread_idx.x]] = sum;
    barrier();
    let mut stride = TPB / 2;
    while stride > 0 {
        if thread_idx.x < stride {
            partial[[thread_idx.x]] += partial[[thread_idx.x + stride]];
        }
        barrier();
        stride /= 2;
    }
    if thread_idx.x == 0 {
        out[[0]] = partial[[0]];
    }
}

/// `out[row, 0] = sum of a[row, ..]`: a block for each row.
///
/// The listing it follows takes rows of at most one block's threads.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [1, M])]
pub fn row_sum<const M: usize, const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<M, 1>>,
    a: &LayoutTensor<f32, RowMajor<M, N>>,
) {
    let row = block_idx.y;
    let mut partial = shared::<f32>(row_major([TPB]));
    let mut sum = 0.0;
    for i in (thread_idx.x..N).step_by(TPB) {
        sum += a[[row, i]];
    }
    partial[[thread_idx.x]] = sum;
    barrier();
    let mut stride = TPB / 2;
    while stride > 0 {
        if thread_idx.x < stride {
            partial[[thread_idx.x]] += partial[[thread_idx.x + stride]];
        }
        barrier();
        stride /= 2;
    }
    if thread_idx.x == 0 {
        out[[row, 0]] = partial[[0]];
    }
}

/// `out[0, col] = sum of a[.., col]`: a block for each column.
///
/// The listing it follows only exchanges the indices and keeps the row's length as the bound, so that it reads beyond
/// the last row of a matrix that is not square.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [1, N])]
pub fn column_sum<const M: usize, const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<1, N>>,
    a: &LayoutTensor<f32, RowMajor<M, N>>,
) {
    let col = block_idx.y;
    let mut partial = shared::<f32>(row_major([TPB]));
    let mut sum = 0.0;
    for i in (thread_idx.x..M).step_by(TPB) {
        sum += a[[i, col]];
    }
    partial[[thread_idx.x]] = sum;
    barrier();
    let mut stride = TPB / 2;
    while stride > 0 {
        if thread_idx.x < stride {
            partial[[thread_idx.x]] += partial[[thread_idx.x + stride]];
        }
        barrier();
        stride /= 2;
    }
    if thread_idx.x == 0 {
        out[[0, col]] = partial[[0]];
    }
}
