//! What the tests share: the corpus of kernels, each with its reference, and the data that they run on.

pub mod kernels;
pub mod support;
