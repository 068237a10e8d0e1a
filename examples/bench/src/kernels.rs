//! Peak rates of a multiprocessor's units: nothing is loaded that the rate does not need.
//!
//! Law: each kernel does the same work in every thread (or warpgroup), and its output depends on all of it, so that the compiler
//! leaves none out.

use layout_cuda::{Definition, tiled_kernel};
use layout_examples::kernels::read_shared;

/// Every kernel but those that measure a device and those of a mesh.
pub fn every_definition() -> Vec<&'static Definition> {
    [layout_examples::kernels::definitions(), layout_kernels::kernels::definitions()].concat()
}

/// Kernels that measure a device; their results mean nothing.
pub fn measuring() -> [&'static Definition; 5] {
    [
        &read_shared::DEFINITION,
        &multiply_adds::DEFINITION,
        &matrix_products::DEFINITION,
        &reads::DEFINITION,
        &shared_reads::DEFINITION,
    ]
}

/// `out[i]` is the sum of eight numbers that were multiplied and added to `ROUNDS` times each: `16 * ROUNDS` operations an element.
/// The next number is `number * factor + factor`, which stays small where the factor does.
#[tiled_kernel(
    T = [f32, f64], ROUNDS = 4096, THREADS = 256,
    block = [THREADS], grid = [N.div_ceil(THREADS)],
)]
pub fn multiply_adds<T, const N: usize>(
    factors: &LayoutTensor<T, RowMajor<8>>,
    out: &mut LayoutTensor<T, RowMajor<N>>,
) {
    let mut numbers = factors.to_local();
    let factors = factors.to_local();
    for _ in 0..ROUNDS / 16 {
        for _ in unroll(0..16) {
            for i in unroll(0..8) {
                numbers[[i]] = numbers[[i]].mul_add(factors[[i]], factors[[i]]);
            }
        }
    }
    let mut sum = T::ZERO;
    for i in unroll(0..8) {
        sum += numbers[[i]];
    }
    out[[block_idx.x * THREADS + thread_idx.x]] = sum;
}

/// Each warpgroup multiplies a tile of 64 rows by one of 256 columns, both 128 bytes deep, `ROUNDS` times and adds the products up.
/// Both tiles hold `value`; each thread stores two elements of its sum.
#[tiled_kernel(
    T = [bf16, f32, e4m3], ROUNDS = 1024, GROUPS = 2,
    arch = "sm_90a", block = [128 * GROUPS], grid = [BLOCKS],
)]
pub fn matrix_products<T, const BLOCKS: usize>(
    value: f32,
    out: &mut LayoutTensor<f32, RowMajor<BLOCKS, { GROUPS * 128 }, 2>>,
) {
    const K: usize = 128 / size_of::<T>();
    let mut a = shared::<T>(row_major([64, K]).swizzle_bytes(128));
    let mut b = shared::<T>(row_major([256, K]).swizzle_bytes(128));
    let thread = thread_idx.x;
    for i in 0..64 * K / (128 * GROUPS) {
        let at = 128 * GROUPS * i + thread;
        a[[at / K, at % K]] = value.cast::<T>();
    }
    for i in 0..256 * K / (128 * GROUPS) {
        let at = 128 * GROUPS * i + thread;
        b[[at / K, at % K]] = value.cast::<T>();
    }
    fence_async_proxy();
    barrier();
    let mut acc = accumulator([64, 256]).fill(0.0);
    for _ in 0..ROUNDS {
        wgmma(&mut acc, &a, &b.transpose(), true);
        wgmma_commit_group();
        wgmma_wait_group(0);
    }
    let mut own = out.slice(block_idx.x).tile([1, 2], [thread, 0]).vectorize([1, 2]);
    own.copy_from(&acc.tile([1, 1], [0, 0]));
}

/// Each block reads `ROUNDS` tiles of a vector that fits the L2 cache, other ones at the same time than its neighbours; each thread
/// stores the sum of what it read.
#[tiled_kernel(
    ROUNDS = 256, THREADS = 256, LOADS = 4,
    block = [THREADS], grid = [BLOCKS], require(N % (THREADS * LOADS * 4) == 0, N > 0),
)]
pub fn reads<const N: usize, const BLOCKS: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    out: &mut LayoutTensor<f32, RowMajor<BLOCKS, THREADS>>,
) {
    const TILE: usize = THREADS * LOADS * 4;
    let mut sum = 0.0;
    for round in 0..ROUNDS {
        let tile = x.tile([TILE], [(block_idx.x * 7 + round) % (N / TILE)]).vectorize([4]);
        let own = tile.distribute(row_major([THREADS]), thread_idx.x).to_local();
        for i in unroll(0..LOADS) {
            for j in unroll(0..4) {
                sum += own[[4 * i + j]];
            }
        }
    }
    out[[block_idx.x, thread_idx.x]] = sum;
}

/// Each thread reads 16 bytes of shared memory `16 * ROUNDS` times, at other places each time, and stores their sum.
#[tiled_kernel(ROUNDS = 256, THREADS = 256, block = [THREADS], grid = [BLOCKS])]
pub fn shared_reads<const BLOCKS: usize>(value: f32, out: &mut LayoutTensor<f32, RowMajor<BLOCKS, THREADS>>) {
    const WORDS: usize = 16 * THREADS;
    let mut words = shared::<f32>(row_major([WORDS]));
    for i in unroll(0..16) {
        words[[THREADS * i + thread_idx.x]] = value;
    }
    barrier();
    let mut sum = 0.0;
    for round in 0..ROUNDS {
        for i in unroll(0..16) {
            let at = (thread_idx.x + 32 * i + round) % (WORDS / 4);
            let four = words.tile([4], [at]).vectorize([4]).to_local();
            sum += (four[[0]] + four[[1]]) + (four[[2]] + four[[3]]);
        }
    }
    out[[block_idx.x, thread_idx.x]] = sum;
}
