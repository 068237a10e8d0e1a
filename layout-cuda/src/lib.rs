//! Compiles tiled kernels with NVRTC and launches them, on a GPU or on the simulator.

pub mod cache;
pub mod compile;
pub mod driver;
pub mod nvrtc;
#[cfg(test)]
mod test_folder;
