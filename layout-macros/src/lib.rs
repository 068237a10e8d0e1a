//! The attribute `#[tiled_kernel]`.
#![forbid(unsafe_code)]
