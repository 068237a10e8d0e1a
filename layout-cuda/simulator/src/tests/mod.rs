//! The simulator on programs built by hand: results, each finding provoked once and absent once, counts, determinism;
//! and on random programs against a reference of one thread.

mod anything;
mod asynchronous;
mod build;
mod clocks;
mod control;
mod findings;
mod matmul;
mod random;
mod reference;
