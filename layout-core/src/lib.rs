//! The layout algebra, tensor views, and the kernel stages (IR, check, emit, simulate).
#![forbid(unsafe_code)]

pub mod kernel;
