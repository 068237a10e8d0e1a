//! The simulator on programs built by hand: results, findings (each in a program that has it and in one that does
//! not), counts, determinism; and on random programs against a reference of one thread.

mod anything;
mod asynchronous;
mod build;
mod clocks;
mod control;
mod findings;
mod matmul;
mod progress;
mod random;
mod reference;
