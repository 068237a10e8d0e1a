//! A CUDA driver without a GPU: it answers the calls that cudarc and `layout-cuda` make, runs no kernel, and judges the order of
//! what it is given.
//!
//! Law: a finding is reported exactly where the driver's rules leave two conflicting uses of memory unordered, or where a handle
//! is used after its end. Copies and fills are done when they are given, so that values come back.
//!
//! A process that finds it as `libcuda.so.1` in `LD_LIBRARY_PATH` gets it instead of the system's: see `tests/order`. What a
//! kernel reads and writes is given by `stub_kernel`.

mod calls;
mod channel;
mod clock;
mod graphs;
mod world;
