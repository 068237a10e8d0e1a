//! What the examples share: the kernels, the float64 reference, the records.

pub mod kernels;
pub mod record;
pub mod reference;
