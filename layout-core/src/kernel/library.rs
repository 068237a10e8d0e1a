//! Functions of the kernel language that are written in it, as the macro reads them.
//!
//! Law: the text is the one that rustc compiles in [`crate::lang`]: a kernel's call means what the program's own does.

/// The Rust text of the functions: [`hilbert`](crate::lang::hilbert), [`grouped`](crate::lang::grouped).
///
/// ```
/// assert!(layout_core::kernel::LIBRARY.contains("pub fn hilbert("));
/// ```
pub const LIBRARY: &str = include_str!("../lang/order.rs");
