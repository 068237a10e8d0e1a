//! A function as a parameter: what is done to an element before it is stored.

pub use kernels::{biased, chosen, relu};

use layout_cuda::tiled_kernels;

#[tiled_kernels]
mod kernels {
    fn identity(x: f32) -> f32 {
        x
    }

    fn rectified(x: f32) -> f32 {
        x.max(0.0)
    }

    fn finish(x: f32, bias: f32, with: impl Fn(f32) -> f32) -> f32 {
        with(x + bias)
    }

    /// `x + bias`.
    #[tiled_kernel(block = [64], grid = [M])]
    pub fn biased<const M: usize>(
        x: &mut LayoutTensor<f32, RowMajor<M, 64>>,
        bias: &LayoutTensor<f32, RowMajor<64>>,
    ) {
        let (row, col) = (block_idx.x, thread_idx.x);
        x[[row, col]] = finish(x[[row, col]], bias[[col]], |x| x);
    }

    /// `max(x + bias, 0)`.
    #[tiled_kernel(block = [64], grid = [M])]
    pub fn relu<const M: usize>(
        x: &mut LayoutTensor<f32, RowMajor<M, 64>>,
        bias: &LayoutTensor<f32, RowMajor<64>>,
    ) {
        let (row, col) = (block_idx.x, thread_idx.x);
        x[[row, col]] = finish(x[[row, col]], bias[[col]], rectified);
    }

    /// `EPILOGUE(x + bias)`: a launch chooses the function by its name.
    #[tiled_kernel(EPILOGUE = [identity, rectified], block = [64], grid = [M])]
    pub fn chosen<const M: usize>(
        x: &mut LayoutTensor<f32, RowMajor<M, 64>>,
        bias: &LayoutTensor<f32, RowMajor<64>>,
    ) {
        let (row, col) = (block_idx.x, thread_idx.x);
        x[[row, col]] = finish(x[[row, col]], bias[[col]], EPILOGUE);
    }
}
