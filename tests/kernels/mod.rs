//! The corpus: small kernels that use every member of the language between them, each with a reference in plain Rust.
//!
//! Law: `cases()` and `tested()` name every kernel of this folder and of the examples; `definitions()` has each once.

mod absmax;
mod adding;
mod attention;
mod bits;
mod blockwise;
mod breadth;
mod chain;
mod clusters;
mod control;
mod convolution;
mod elementwise;
mod examples;
mod experts;
mod fences;
mod gemm;
mod grouped;
mod hints;
mod indices;
mod layouts;
mod linear;
mod lines;
mod matrix;
pub mod memory;
mod movement;
mod orders;
mod pipelines;
mod pitch;
mod pooling;
mod puzzles;
mod quantized;
mod reduce;
mod scaled;
mod selection;
mod sharing;
mod sorting;
mod stencil;
pub mod strangers;
mod tensor_memory;
mod together;
mod transforms;
mod types;
mod warpgroups;
mod warps;
mod words;

pub use elementwise::{grid_of_the_launch, horner};
pub use layouts::{copy_rows, scale_pitched};

use crate::support::case::Case;
use crate::support::tested::Tested;
use layout_cuda::Definition;

/// The kernels that `layout_cuda::testing` tests.
pub fn tested() -> Vec<Tested> {
    [elementwise::tests(), reduce::tests()].into_iter().flatten().collect()
}

/// Every other kernel with its reference, one case for each element type.
pub fn cases() -> Vec<Case> {
    let parts = [
        examples::cases(),
        experts::cases(),
        transforms::cases(),
        types::cases(),
        control::cases(),
        convolution::cases(),
        bits::cases(),
        blockwise::cases(),
        breadth::cases(),
        chain::cases(),
        clusters::cases(),
        hints::cases(),
        indices::cases(),
        layouts::cases(),
        linear::cases(),
        lines::cases(),
        matrix::cases(),
        stencil::cases(),
        movement::cases(),
        orders::cases(),
        quantized::cases(),
        scaled::cases(),
        selection::cases(),
        pitch::cases(),
        pipelines::cases(),
        pooling::cases(),
        sharing::cases(),
        sorting::cases(),
        absmax::cases(),
        adding::cases(),
        together::cases(),
        puzzles::cases(),
        memory::cases(),
        fences::cases(),
        gemm::cases(),
        grouped::cases(),
        tensor_memory::cases(),
        warpgroups::cases(),
        warps::cases(),
        words::cases(),
    ];
    parts.into_iter().flatten().collect()
}

/// The slowest kernels with parameters of their own, at the smallest sizes at which each barrier counts.
pub fn smallest() -> Vec<Case> {
    [
        gemm::smallest(),
        grouped::smallest(),
        blockwise::smallest(),
        attention::smallest(),
        convolution::smallest(),
        memory::smallest(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Every kernel, once.
pub fn definitions() -> Vec<&'static Definition> {
    let mut list: Vec<&'static Definition> = Vec::new();
    let cases = cases().into_iter().map(|case| case.definition);
    for definition in cases.chain(tested().into_iter().map(|test| test.definition)) {
        if !list.iter().any(|known| std::ptr::eq(*known, definition)) {
            list.push(definition);
        }
    }
    list
}

/// Whether a kernel is of the library or of the examples, not of the tests.
pub fn is_shipped(definition: &Definition) -> bool {
    ["layout-cuda/kernels/", "examples/kernels/", "examples/bench/"]
        .iter()
        .any(|folder| definition.file.contains(folder))
}
