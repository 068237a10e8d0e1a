//! The kernels: those of the other examples.

#[path = "../../python/src/kernels.rs"]
#[allow(unused_imports)]
pub(crate) mod norm;
