//! Compiles tiled kernels with NVRTC and launches them, on a GPU or on the simulator.
