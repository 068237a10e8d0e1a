//! Pictures of layouts: text for terminals and snapshots, SVG for people.

mod ascii;
mod grid;
mod mesh;
mod shown;
mod svg;

pub use ascii::{format_layout, layout_table, print_layout, swizzle_table};
pub use grid::{Cell, Grid, grids_svg};
pub use mesh::{mesh_svg, mesh_table};
pub use shown::Shown;
pub use svg::{layout_svg, mma_svg, swizzle_svg, thread_value_svg};
