//! A tile that hangs over the end: masked, masked away by a promise, and guarded by hand. And an index that is in memory.

use layout_cuda::tiled_kernel;

/// A tile by vectors; the last one may hang over the end.
#[tiled_kernel(block = [32], grid = [N.div_ceil(128)])]
pub fn scaled<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut own = x.tile([128], [block_idx.x]);
    for i in unroll(0..4) {
        own[[i * 32 + thread_idx.x]] *= 2.0;
    }
}

/// The same, and a launch that breaks the promise is refused.
#[tiled_kernel(block = [32], grid = [N / 128], require(N % 128 == 0))]
pub fn scaled_whole<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut own = x.tile([128], [block_idx.x]);
    for i in unroll(0..4) {
        own[[i * 32 + thread_idx.x]] *= 2.0;
    }
}

/// The same with a bound by hand, which is proof enough.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
pub fn guarded<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        x[[i]] *= 2.0;
    }
}

/// Elements of a table by keys that are known to be below 8.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)], deny(masked))]
pub fn gathered<const N: usize>(
    keys: &LayoutTensor<u32, RowMajor<N>>,
    table: &LayoutTensor<f32, RowMajor<8>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        let key = keys[[i]];
        assume(key < 8);
        y[[i]] = table[[key as usize]];
    }
}
