//! Pictures of layouts: text here, for terminals and snapshots.

mod ascii;

pub use ascii::{format_layout, layout_table, print_layout};
