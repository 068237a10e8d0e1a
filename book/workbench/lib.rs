//! A kernel that somebody typed: compiled at run time, run on the simulator, and held against what an exercise asks for.
//!
//! ```text
//! text ──layout_text──► Kernel ──variant for these arguments──► Checked ─┬─► CUDA C, line by line
//!                                                                        └─► results, findings, counts
//! ```
//!
//! Law: no text and no arguments make a panic; each mistake has its place in the text. The puzzles on the command line and
//! the page in the browser are two faces of it.
#![forbid(unsafe_code)]

pub mod data;
pub mod exercises;
pub mod listing;
pub mod program;
pub mod start;

pub use data::{Given, Tensor};
pub use program::{Mistake, Outcome, Prepared, prepare, prepare_knowing, read};
