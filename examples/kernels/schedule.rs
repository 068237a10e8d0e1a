//! The matrix multiplication whose schedule is tuned: a tile for a block, one element of C for a thread, A and B in shared
//! memory.
//!
//! Source: the steps of a TVM tutorial on schedules (threads, tiles, shared memory, AutoTVM), written anew in the kernel language.

use layout_cuda::tiled_kernel;

/// C = A B by tiles of TX rows and TY columns, TK of K at a time; with VECTOR by loads of four elements.
#[tiled_kernel(
    TX = 16, TY = 16, TK = 8, VECTOR = false,
    block = [TX * TY], grid = [N.div_ceil(TY), M.div_ceil(TX)],
)]
pub fn scheduled<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let (row, col) = (thread_idx.x / TY, thread_idx.x % TY);
    let mut a_smem = shared::<f32>(row_major([TX, TK]));
    let mut b_smem = shared::<f32>(row_major([TK, TY]));
    let mut sum = 0.0;
    for block in 0..K.div_ceil(TK) {
        let a_tile = a.tile([TX, TK], [block_idx.y, block]);
        let b_tile = b.tile([TK, TY], [block, block_idx.x]);
        if VECTOR {
            // The first threads of the block take a vector each.
            let (a_vectors, b_vectors) = (row_major([TX, TK / 4]), row_major([TK, TY / 4]));
            if thread_idx.x < TX * TK / 4 {
                let mut to = a_smem.vectorize([1, 4]).distribute(a_vectors, thread_idx.x);
                to.copy_from(&a_tile.vectorize([1, 4]).distribute(a_vectors, thread_idx.x));
            }
            if thread_idx.x < TK * TY / 4 {
                let mut to = b_smem.vectorize([1, 4]).distribute(b_vectors, thread_idx.x);
                to.copy_from(&b_tile.vectorize([1, 4]).distribute(b_vectors, thread_idx.x));
            }
        } else {
            for i in (thread_idx.x..TX * TK).step_by(TX * TY) {
                a_smem[[i / TK, i % TK]] = a_tile[[i / TK, i % TK]];
            }
            for i in (thread_idx.x..TK * TY).step_by(TX * TY) {
                b_smem[[i / TY, i % TY]] = b_tile[[i / TY, i % TY]];
            }
        }
        barrier();
        for k in unroll(0..TK) {
            sum += a_smem[[row, k]] * b_smem[[k, col]];
        }
        barrier();
    }
    c.tile([TX, TY], [block_idx.y, block_idx.x])[[row, col]] = sum;
}
