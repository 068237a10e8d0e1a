//! The native half of the package: each kernel is a function of the module. `layout_kernels/operators.py` makes torch operators of
//! them. Attention and its gradients are those of `layout-kernels`.

mod kernels;

use layout_kernels::kernels::{attention, backward};
use layout_python::Kernel;
use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("attention", Kernel::new(&attention::attention::DEFINITION)?)?;
    module.add("attention_prepare", Kernel::new(&backward::prepare::DEFINITION)?)?;
    module.add("attention_of_keys", Kernel::new(&backward::of_keys::DEFINITION)?)?;
    module.add("attention_of_queries", Kernel::new(&backward::of_queries::DEFINITION)?)?;
    module.add("rms_norm", Kernel::new(&kernels::rms_norm::DEFINITION)?)?;
    module.add("rms_norm_dx", Kernel::new(&kernels::rms_norm_dx::DEFINITION)?)?;
    module.add("rms_norm_dweight", Kernel::new(&kernels::rms_norm_dweight::DEFINITION)?)
}
