//! Functions and structs of the kernel language that are written in it, as the macro reads them.
//!
//! Law: the text is the one that rustc compiles in [`crate::lang`]: a kernel's call means what the program's own does.

/// The Rust texts of the functions: orders of tiles such as [`hilbert`](crate::lang::hilbert), places in accumulators such as
/// [`accumulator_column`](crate::lang::accumulator_column), sums such as
/// [`group_sum`](crate::lang::group_sum), conversions such as [`e2m1_bits`](crate::lang::e2m1_bits), rings of stages such as
/// [`Pipeline`](crate::lang::Pipeline).
///
/// ```
/// assert!(layout_core::library::LIBRARY.iter().any(|text| text.contains("pub fn hilbert(")));
/// ```
pub const LIBRARY: [&str; 5] = [
    include_str!("lang/order.rs"),
    include_str!("lang/sum.rs"),
    include_str!("lang/accumulator.rs"),
    include_str!("lang/block_scale.rs"),
    include_str!("lang/pipeline.rs"),
];
