//! Bytes of an image, scaled: 16 bytes at once, for rows that begin at any address.

use layout_cuda::tiled_kernel;

/// `out[i, j] = min(255, (x[i, j] * gain + 128) / 256)`: gain in parts of 256, any.
#[tiled_kernel(
    THREADS = 256, ROUNDS = 3,
    block = [THREADS],
    grid = [(N + 15).div_ceil(THREADS * ROUNDS * 16), M],
    deny(narrowed),
)]
pub fn scale_bytes<const M: usize, const N: usize>(
    x: &LayoutTensor<u8, RowMajor<M, N>>,
    out: &mut LayoutTensor<u8, RowMajor<M, N>>,
    gain: u32,
) {
    const PART: usize = THREADS * ROUNDS * 16;
    // From 256 times on only a zero stays below 255; a larger gain would leave 32 bits.
    let gain = gain.min(65536);
    let (part, row) = (block_idx.x, block_idx.y);
    let at = [row as isize, (part * PART) as isize - (row * N % 16) as isize];
    let from = x.window([1, PART], at).vectorize([1, 16]);
    let mut own = from.distribute(row_major([1, THREADS]), thread_idx.x).to_local();
    for i in unroll(0..ROUNDS * 16) {
        own[[0, i]] = ((own[[0, i]] as u32 * gain + 128) >> 8).min(255) as u8;
    }
    let to = out.window([1, PART], at).vectorize([1, 16]);
    to.distribute(row_major([1, THREADS]), thread_idx.x).copy_from(&own.vectorize([1, 16]));
}
