//! One kernel as a Python module. Another kernel is another function here and another line below.

use layout_cuda::tiled_kernel;
use layout_python::Kernel;
use pyo3::prelude::*;

/// `y += alpha * x`
#[tiled_kernel(T = [f32, f16, bf16], block = [256], grid = [N.div_ceil(256)])]
fn axpy<T, const N: usize>(
    alpha: f32,
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &mut LayoutTensor<T, RowMajor<N>>,
) {
    let i = block_idx.x * 256 + thread_idx.x;
    if i < N {
        y[[i]] = (alpha * x[[i]].cast::<f32>() + y[[i]].cast::<f32>()).cast::<T>();
    }
}

#[pymodule]
fn my_kernels(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("axpy", Kernel::new(&axpy::DEFINITION)?)
}
