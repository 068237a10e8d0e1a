//! How a kernel is run beside its reference, and the data for it.

pub mod case;
pub mod cubin;
pub mod data;
pub mod gpu;
pub mod guarded;
pub mod lock;
pub mod parallel;
pub mod sass;
pub mod special;
pub mod tested;
