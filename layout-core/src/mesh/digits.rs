//! A coordinate along one mode of a tensor, as digits of mixed radix, each of which an axis of the mesh or a device's
//! memory counts.
//!
//! Law: the coordinate is the sum of digit times step; a step is the product of the extents below it. So a split in blocks
//! is `memory, axis`, a cyclic one `axis, memory`, and a block-cyclic one `memory, axis, memory`.

/// Who counts a digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// This axis of the mesh.
    Axis(usize),
    /// A device's memory.
    Memory,
}

/// One digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digit {
    pub(super) holder: Holder,
    pub(super) extent: i64,
    /// What the coordinate grows by.
    pub(super) step: i64,
    /// What the offset in the device's memory grows by; 0 for an axis.
    pub(super) stride: i64,
}

impl Digit {
    /// A digit whose step and stride are yet to be counted.
    pub(super) fn new(holder: Holder, extent: i64) -> Self {
        Self { holder, extent, step: 0, stride: 0 }
    }
}

/// Counts the steps, and the strides where the mode's own coordinate in memory has this one. Nothing beyond 64 bits.
pub(super) fn count(digits: &mut [Digit], stride: i64) -> Option<()> {
    let (mut step, mut local) = (1_i64, stride);
    for digit in digits {
        digit.step = step;
        step = step.checked_mul(digit.extent)?;
        digit.stride = 0;
        if digit.holder == Holder::Memory {
            digit.stride = local;
            local = local.checked_mul(digit.extent)?;
        }
    }
    Some(())
}

/// How many coordinates of a mode a device's memory has.
pub(super) fn local(digits: &[Digit]) -> i64 {
    let own = digits.iter().filter(|digit| digit.holder == Holder::Memory);
    own.map(|digit| digit.extent).product()
}

/// How many coordinates the digits count, those past the tensor's end among them.
pub(super) fn padded(digits: &[Digit]) -> i64 {
    digits.iter().map(|digit| digit.extent).product()
}
