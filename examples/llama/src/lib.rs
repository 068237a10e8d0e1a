//! Llama from safetensors to tokens: weights, a paged cache, sequences that come and go, a step as one CUDA graph.
//!
//! Law: an error's text names the file, the key, the tensor or the number, and the way out.

mod bench;
mod config;
mod engine;
pub mod kernels;
mod model;
mod weights;

pub use bench::{SPARE, bench, explain};
pub use config::Config;
pub use engine::{Engine, Room};
pub use weights::Weights;

/// A result of this crate: the device's errors and the files', and words of its own.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
