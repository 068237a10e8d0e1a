//! Kernels as a new user writes them, from the documentation alone: Rust as rustc takes it, at odd sizes.

mod keys;
mod models;
mod spectral;

use crate::support::case::Case;

pub fn cases() -> Vec<Case> {
    [keys::cases(), models::cases(), spectral::cases()].into_iter().flatten().collect()
}
