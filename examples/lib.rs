//! What the examples share.

pub mod kernels;
