//! The simulator on programs built by hand: results, each finding provoked once and absent once, counts, determinism.

mod build;
mod control;
mod findings;
mod matmul;
