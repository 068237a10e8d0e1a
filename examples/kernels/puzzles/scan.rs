//! Puzzle 12: `out[i] = a[0] + .. + a[i]`, by Hillis and Steele's rounds, by Blelloch's two sweeps, and over blocks.

use layout_cuda::tiled_kernel;

/// Hillis and Steele: in round `d` every element adds the one `d` before it.
///
/// The listing it follows adds in place: a warp may overwrite what another has yet to read. Here each round reads,
/// waits, then writes.
#[tiled_kernel(TPB = 8, require(N <= TPB), block = [TPB], grid = [1])]
pub fn prefix_sum_simple<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
) {
    let (i, mut offset) = (thread_idx.x, 1);
    let mut sums = shared::<f32>(row_major([TPB]));
    let mut sum = a.tile([TPB], [0])[[i]];
    while offset < TPB {
        sums[[i]] = sum;
        barrier();
        sum += if i < offset { 0.0 } else { sums[[i - offset]] };
        barrier();
        offset *= 2;
    }
    out.tile([TPB], [0])[[i]] = sum;
}

/// Blelloch: up the tree the sums of subtrees, down the tree the sums before them.
///
/// The listing it follows takes a power of two of elements and says so nowhere; here the tree has `TPB` leaves, zeros
/// beyond the end.
#[tiled_kernel(TPB = 8, require(N <= TPB), block = [TPB], grid = [1])]
pub fn prefix_sum_blelloch<const N: usize>(
    out: &mut LayoutTensor<f32, RowMajor<N>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
) {
    let i = thread_idx.x;
    let mut tree = shared::<f32>(row_major([TPB]));
    tree[[i]] = if i < N { a[[i]] } else { 0.0 };
    barrier();
    let mut half = 1;
    while half < TPB {
        if i % (2 * half) == 2 * half - 1 {
            tree[[i]] += tree[[i - half]];
        }
        barrier();
        half *= 2;
    }
    if i == TPB - 1 {
        tree[[i]] = 0.0;
    }
    barrier();
    half = TPB / 2;
    while half > 0 {
        if i % (2 * half) == 2 * half - 1 {
            let left = tree[[i - half]];
            tree[[i - half]] = tree[[i]];
            tree[[i]] += left;
        }
        barrier();
        half /= 2;
    }
    if i < N {
        out[[i]] = tree[[i]] + a[[i]];
    }
}

/// First of two launches: each block scans its part and writes its total behind the sums.
///
/// The listing it follows adds in place as above, reads shared elements beyond the input's end that nobody wrote, and
/// adds its total to whatever memory held.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [N.div_ceil(TPB)])]
pub fn prefix_sum_local<const N: usize, const EXTENDED: usize>(
    out: &mut LayoutTensor<f32, RowMajor<EXTENDED>>,
    a: &LayoutTensor<f32, RowMajor<N>>,
) {
    let (i, local, mut offset) = (block_dim.x * block_idx.x + thread_idx.x, thread_idx.x, 1);
    let mut sums = shared::<f32>(row_major([TPB]));
    let mut sum = a.tile([TPB], [block_idx.x])[[local]];
    while offset < TPB {
        sums[[local]] = sum;
        barrier();
        sum += if local < offset { 0.0 } else { sums[[local - offset]] };
        barrier();
        offset *= 2;
    }
    if i < N {
        out[[i]] = sum;
    }
    if local == TPB - 1 {
        out[[N + block_idx.x]] = sum;
    }
}

/// Second of two launches: adds the totals of all blocks before.
///
/// The listing it follows adds the total of one block before, which is enough for two blocks only.
#[tiled_kernel(TPB = 8, block = [TPB], grid = [LEN.div_ceil(TPB)])]
pub fn prefix_sum_add_totals<const LEN: usize>(out: &mut LayoutTensor<f32, RowMajor<LEN>>, size: usize) {
    let i = block_dim.x * block_idx.x + thread_idx.x;
    if i < size {
        for block in 0..block_idx.x {
            out[[i]] += out[[size + block]];
        }
    }
}
