//! The native half of the package: each kernel is a function of the module. `layout_kernels/__init__.py` makes torch operators of
//! them. Attention is the examples' own.

#[path = "../../kernels/scores.rs"]
#[macro_use]
mod scores;
#[path = "../../kernels/attention.rs"]
mod attention;
mod kernels;

use layout_python::Kernel;
use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("attention", Kernel::new(&attention::attention::DEFINITION)?)?;
    module.add("rms_norm", Kernel::new(&kernels::rms_norm::DEFINITION)?)?;
    module.add("rms_norm_dx", Kernel::new(&kernels::rms_norm_dx::DEFINITION)?)?;
    module.add("rms_norm_dweight", Kernel::new(&kernels::rms_norm_dweight::DEFINITION)?)
}
