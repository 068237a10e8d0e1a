//! What the examples share: the kernels, the float64 reference, the records, the rows of the layout command.

pub mod algorithm;
pub mod gemm;
mod kept;
pub mod kernels;
pub mod lines;
pub mod memory;
pub mod noise;
pub mod padded;
pub mod record;
pub mod reference;
pub mod rows;
