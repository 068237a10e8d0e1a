//! Tensor maps: the mapping of a box from global to shared memory.
//!
//! Law: a box is dense in shared memory, the contiguous mode first. The swizzle permutes pieces of 16 bytes by their
//! address: address bits 4 and up, `log2(swizzle / 16)` of them, are xored with the bits 3 positions above them.

use layout_compiler::bind::BoundMap;
use layout_compiler::program::TensorMap;

/// Bytes that a swizzle keeps contiguous.
pub(crate) const PIECE: usize = 16;

/// A swizzled address of shared memory.
pub(crate) fn swizzled(address: u64, swizzle_bytes: u32) -> u64 {
    let bits = u64::from(swizzle_bytes / PIECE as u32).saturating_sub(1) << 4;
    address ^ (address >> 3 & bits)
}

/// An f32 rounded to TF32, which has 10 bits of fraction; ties to even.
pub(crate) fn tf32(value: u64) -> u64 {
    if !f32::from_bits(value as u32).is_finite() {
        return value;
    }
    // The carry may reach the exponent: the next power of two, or infinity.
    (value + 0xfff + (value >> 13 & 1)) & !0x1fff
}

/// A tensor and the extents of its boxes.
#[derive(Clone, Debug)]
pub(crate) struct BoxPlan {
    /// The tensor argument.
    pub argument: u32,
    /// Bytes of an element.
    pub size: u32,
    /// Bytes of the swizzle.
    pub swizzle_bytes: u32,
    /// Whether f32 is rounded to TF32 on load.
    pub round_tf32: bool,
    /// The extents of a box, the contiguous mode first.
    extents: Vec<i64>,
    /// The extents of the tensor, in the same order.
    tensor: Vec<i64>,
    /// Bytes from one element to the next along each mode.
    strides: Vec<i64>,
}

/// 16 bytes of a box.
pub(crate) struct Piece {
    /// The address in shared memory, for a box at 0.
    pub address: u64,
    /// The byte of its first element in the tensor.
    pub global: i64,
    /// The elements `start..end` are inside the tensor.
    pub start: u32,
    pub end: u32,
    /// Whether it is the first of a row.
    pub first_of_row: bool,
}

impl BoxPlan {
    /// The error names the violated constraint.
    pub(crate) fn new(map: &TensorMap, bound: &BoundMap) -> Result<BoxPlan, String> {
        let size = map.elem.bytes();
        let rank = map.extents.len();
        if rank == 0 || bound.extents.len() != rank || bound.strides.len() + 1 != rank {
            return Err(format!("a tensor map of {rank} modes of a tensor of {}", bound.extents.len()));
        }
        let row = map.extents[0].saturating_mul(size);
        if row == 0 || !row.is_multiple_of(PIECE as u32) || map.extents.iter().any(|e| !(1..=256).contains(e))
        {
            return Err(format!("a box of extents {:?} of {size} bytes", map.extents));
        }
        if !matches!(map.swizzle_bytes, 0 | 32 | 64 | 128) {
            return Err(format!("a swizzle over {} bytes", map.swizzle_bytes));
        }
        let wide = |value: &u64| i64::try_from(*value).unwrap_or(i64::MAX);
        Ok(BoxPlan {
            argument: map.argument,
            size,
            swizzle_bytes: map.swizzle_bytes,
            round_tf32: map.round_tf32,
            extents: map.extents.iter().map(|extent| i64::from(*extent)).collect(),
            tensor: bound.extents.iter().map(wide).collect(),
            strides: std::iter::once(i64::from(size)).chain(bound.strides.iter().map(wide)).collect(),
        })
    }

    pub(crate) fn rank(&self) -> usize {
        self.extents.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.extents.iter().product::<i64>() as u64 * u64::from(self.size)
    }

    /// The alignment of a box in shared memory.
    pub(crate) fn alignment(&self) -> u64 {
        if self.swizzle_bytes > 0 { 8 * u64::from(self.swizzle_bytes) } else { 128 }
    }

    /// Visits every piece of the box at these coordinates and this byte of shared memory.
    pub(crate) fn each(&self, first: u64, coordinates: &[i64], mut visit: impl FnMut(Piece)) {
        let lanes = PIECE as i64 / i64::from(self.size);
        let pieces = self.extents[0] / lanes;
        let rows = self.extents[1..].iter().product::<i64>();
        for row in 0..rows {
            let (mut rest, mut inside, mut base) = (row, true, 0i64);
            for (mode, first) in coordinates.iter().enumerate().skip(1) {
                let at = first.saturating_add(rest % self.extents[mode]);
                rest /= self.extents[mode];
                inside &= (0..self.tensor[mode]).contains(&at);
                base = base.saturating_add(at.saturating_mul(self.strides[mode]));
            }
            for piece in 0..pieces {
                let x = coordinates[0].saturating_add(piece * lanes);
                let (low, high) = if inside {
                    let high = self.tensor[0].saturating_sub(x).clamp(0, lanes);
                    (x.saturating_neg().clamp(0, high), high)
                } else {
                    (0, 0)
                };
                let offset = ((row * pieces + piece) as u64).wrapping_mul(PIECE as u64);
                visit(Piece {
                    address: swizzled(first.wrapping_add(offset), self.swizzle_bytes),
                    global: base.saturating_add(x.saturating_mul(self.size.into())),
                    start: low as u32,
                    end: high as u32,
                    first_of_row: piece == 0,
                });
            }
        }
    }
}
