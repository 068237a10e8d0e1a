//! Pictures of layouts: text for terminals and snapshots, SVG for people.

mod ascii;
mod grid;
mod mesh;
mod svg;

pub use ascii::{format_layout, layout_table, print_layout, swizzle_table};
pub use mesh::{mesh_svg, mesh_table};
pub use svg::{layout_svg, mma_svg, swizzle_svg, thread_value_svg};
