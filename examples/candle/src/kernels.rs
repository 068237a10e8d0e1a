//! The kernels that the other examples have not as a library: the norm is the Python package's, the rotation our own.

use layout_cuda::tiled_kernels;

pub(crate) use rotation::rope;

#[path = "../../python/src/kernels.rs"]
#[allow(unused_imports)]
pub(crate) mod norm;

#[tiled_kernels]
mod rotation {
    /// `V` elements of a row, in float32.
    fn own(matrix: impl Tensor<Elem = T>, row: usize, vector: usize) -> View<f32, Write> {
        matrix.tile([1, V], [row, vector]).vectorize([1, V]).to_local().cast::<f32>()
    }

    /// `V` elements of a row, rounded.
    fn put(mut matrix: View<T, Write>, row: usize, vector: usize, values: View<f32, Write>) {
        matrix.tile([1, V], [row, vector]).vectorize([1, V]).copy_from(&values.cast::<T>().vectorize([1, V]));
    }

    /// Turns the pairs `(x[i], x[i + HALF])` of each head by the angle of its place and of the pair. A thread has `V` of them.
    #[tiled_kernel(
        T = [f32, bf16, f16], HALF = 64, V = [4, 8], THREADS = 128, filter(V * size_of::<T>() == 16),
        block = [THREADS], grid = [(B * H * M * (HALF / V)).div_ceil(THREADS)],
        require(L >= M),
    )]
    pub fn rope<T, const B: usize, const H: usize, const M: usize, const L: usize>(
        x: &LayoutTensor<T, Pitched<B, H, M, { 2 * HALF }>>,
        cos: &LayoutTensor<T, Pitched<L, HALF>>,
        sin: &LayoutTensor<T, Pitched<L, HALF>>,
        out: &mut LayoutTensor<T, RowMajor<B, H, M, { 2 * HALF }>>,
    ) {
        let index = block_idx.x * THREADS + thread_idx.x;
        let (line, vector) = (index / (HALF / V), index % (HALF / V));
        let (row, head, batch) = (line % M, line / M % H, line / M / H);
        if batch < B {
            let (from, to) = (x.slice(batch).slice(head), out.slice(batch).slice(head));
            let (mut low, mut high) = (own(from, row, vector), own(from, row, HALF / V + vector));
            let (cos, sin) = (own(cos, row, vector), own(sin, row, vector));
            for i in unroll(0..V) {
                let (a, b) = (low[[0, i]], high[[0, i]]);
                low[[0, i]] = a * cos[[0, i]] - b * sin[[0, i]];
                high[[0, i]] = a * sin[[0, i]] + b * cos[[0, i]];
            }
            put(to, row, vector, low);
            put(to, row, HALF / V + vector, high);
        }
    }
}
