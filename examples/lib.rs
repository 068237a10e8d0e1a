//! What teaches, in rooms: kernels to learn from, and what programs around them share.

pub mod kernels;
pub mod programs;
