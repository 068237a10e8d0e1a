//! The host's side of the kernels: functions that check shapes, pick kernels and parameter sets, and launch them.

pub mod attention;
pub mod backward;
pub mod decode;
pub mod memory;
pub mod mesh;
pub mod product;
