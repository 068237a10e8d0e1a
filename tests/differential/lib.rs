//! Random kernels, held against plain Rust: a differential test of the whole way of a kernel.
//!
//! ```text
//! seed ─► generate ─► tree::Kernel ─┬─► print: kernel text ─► layout_text ─► Checked ─┬─► simulator ─────────┐
//!                                   │                                               ├─► CUDA C ─► C++ (host)├─► the same bits
//!                                   │                                               └─► CUDA C ─► GPU ──────┤
//!                                   ├─► interpret: a small interpreter with Rust's semantics ───────────────┤
//!                                   └─► rust: the same as plain Rust, compiled by rustc ────────────────────┘
//! ```
//!
//! Law: whatever the generator makes, all ways give the same bits (NaN is NaN), nothing is found, and nothing outside of a
//! tensor is touched. `reduce` makes a failing kernel small by itself.
#![forbid(unsafe_code)]

mod device;
mod generate;
mod host;
mod interpret;
mod plain;
mod print;
mod reduce;
mod run;
mod tree;
mod types;
mod value;
mod walk;
mod words;

pub use generate::{Family, generate};
pub use host::compiler;
pub use run::{Failure, Trial, Verdict, on_host, on_rustc};

/// A number of the environment, or the usual one.
///
/// # Panics
/// Where the variable holds something else.
pub fn number_of_the_environment(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, which is no number")),
        Err(_) => usual,
    }
}
