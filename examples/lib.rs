//! The kernels of the examples, in rooms: the kernels, the host's side of them, what measures them, and what programs share.

#[cfg(feature = "programs")]
pub mod benchmarks;
pub mod host;
pub mod kernels;
#[cfg(feature = "programs")]
pub mod programs;
