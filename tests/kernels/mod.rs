//! The corpus: small kernels that use every member of the language between them, each with a reference in plain Rust.
//!
//! Law: `cases()` names every kernel of this folder and of the examples; `definitions()` has each once.

mod chain;
mod clusters;
mod control;
mod elementwise;
mod examples;
mod fences;
mod gemm;
mod hints;
mod indices;
mod layouts;
mod matrix;
mod memory;
mod movement;
mod orders;
mod pitch;
mod puzzles;
mod reduce;
mod sharing;
mod stencil;
mod together;
mod types;
mod warpgroups;
mod warps;
mod words;

pub use elementwise::{grid_of_the_launch, horner};
pub use layouts::{copy_rows, scale_pitched};

use crate::support::case::Case;
use layout_cuda::Definition;

/// Every kernel with its reference, one case for each element type.
pub fn cases() -> Vec<Case> {
    let parts = [
        examples::cases(),
        elementwise::cases(),
        types::cases(),
        control::cases(),
        chain::cases(),
        clusters::cases(),
        hints::cases(),
        indices::cases(),
        layouts::cases(),
        matrix::cases(),
        stencil::cases(),
        movement::cases(),
        orders::cases(),
        pitch::cases(),
        reduce::cases(),
        sharing::cases(),
        together::cases(),
        puzzles::cases(),
        memory::cases(),
        fences::cases(),
        gemm::cases(),
        warpgroups::cases(),
        warps::cases(),
        words::cases(),
    ];
    parts.into_iter().flatten().collect()
}

/// Every kernel, once.
pub fn definitions() -> Vec<&'static Definition> {
    let mut list: Vec<&'static Definition> = Vec::new();
    for case in cases() {
        if !list.iter().any(|known| std::ptr::eq(*known, case.definition)) {
            list.push(case.definition);
        }
    }
    list
}
