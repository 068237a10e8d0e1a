//! The ladder: the float32 products from a naive kernel to tensor cores and TMA.

use crate::kernels::{
    block_tiled, block_tiled_vectorized, coalescing, naive, scheduled, tiled, tiled_register,
};
use layout_kernels::product::Kernel;

/// The rungs, from the simplest on; the last ones are the library's.
pub const LADDER: [Kernel; 11] = [
    Kernel::Own(&naive::DEFINITION),
    Kernel::Own(&coalescing::DEFINITION),
    Kernel::Own(&tiled::DEFINITION),
    Kernel::Own(&tiled_register::DEFINITION),
    Kernel::Own(&block_tiled::DEFINITION),
    Kernel::Own(&block_tiled_vectorized::DEFINITION),
    Kernel::TensorCore,
    Kernel::Sgemm,
    Kernel::SgemmSliced,
    Kernel::SgemmFed,
    Kernel::SgemmSlicedFed,
];

/// The kernel of this name: of the ladder, the one whose schedule is tuned, or another one of the library.
///
/// # Errors
/// The names that there are.
///
/// ```
/// use layout_examples::programs::ladder::find;
/// assert_eq!(find("tiled").map(|kernel| kernel.name()), Ok("tiled"));
/// assert_eq!(find("scheduled").map(|kernel| kernel.name()), Ok("scheduled"));
/// assert!(find("tile").is_err());
/// ```
pub fn find(name: &str) -> Result<Kernel, String> {
    let others = Kernel::ALL.iter().filter(|kernel| !LADDER.contains(kernel));
    let scheduled = [Kernel::Own(&scheduled::DEFINITION)];
    let all: Vec<Kernel> = LADDER.iter().chain(&scheduled).chain(others).copied().collect();
    all.iter().find(|kernel| kernel.name() == name).copied().ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|kernel| kernel.name()).collect();
        format!("there is no kernel `{name}`; there are {}", names.join(", "))
    })
}
