//! CUDA C from a checked kernel: include-free, deterministic, written to be read.

/// The text of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaSource {
    /// The name of the function in it.
    pub entry: String,
    /// The text.
    pub text: String,
    /// For each line of the text the line of the kernel's Rust file, 0 for none.
    pub lines: Vec<u32>,
}
