//! The order of work on several streams, without a GPU: each test runs in a process of its own that has the stub in the driver's
//! place.
//!
//! Law: no use of memory is left unordered, none comes after the memory's end, nothing leaks, and a use waits for no more than
//! those that concern it.

mod allocations;
mod cases;
mod memory;
mod random;
mod stub;
