//! Kernels as a new user writes them, from the documentation alone: Rust as rustc takes it, at odd sizes, every element against plain
//! Rust.

mod blocks;
mod keys;
mod models;
mod plane;
mod spectral;

use crate::support::case::Case;

/// Each of them with its reference.
pub fn cases() -> Vec<Case> {
    [blocks::cases(), keys::cases(), models::cases(), plane::cases(), spectral::cases()]
        .into_iter()
        .flatten()
        .collect()
}
