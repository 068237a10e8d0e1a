//! Block-scaled numbers: blocks of small floats that share a scale, and the bits of both.
//!
//! | format | elements | scale |
//! |---|---|---|
//! | NVFP4 | e2m1, eight in a `u32` | `e4m3` without a sign (ue4m3) for 16, and one `f32` for a tensor |
//! | MXFP4 | e2m1, eight in a `u32` | ue8m0, a power of two in a `u8`, for 32 |
//! | MXFP8 | [`e4m3`](super::e4m3), [`e5m2`](super::e5m2) | ue8m0 for 32 |
//!
//! e2m1 is no element type: half a byte has no address, so no view, copy or tensor map could have one as its element. A word of
//! eight is what a register of a matrix instruction holds and what memory has; its lowest four bits are the first number.
//! ue8m0 is no element type either: it has no zero and no sign, and nothing is computed in it. The conversions are these functions,
//! exact on every architecture.
//!
//! These are functions of the kernel language, written in it; the host may call them as well.
//!
//! Laws: `e2m1_bits(e2m1_value(b)) == b` for each of the 16, `ue8m0_bits(ue8m0_value(b)) == b` for each of the 256. The bits are
//! those of PTX's `cvt.rn.satfinite.e2m1x2.f32` and `cvt.rp.satfinite.ue8m0x2.f32`.
//!
//! Source: Open Compute Project, Microscaling Formats (MX) Specification, version 1.0; PTX ISA 9.0, `cvt`.

/// The four bits of the e2m1 nearest to a number, ties to even: 0, 0.5, 1, 1.5, 2, 3, 4 or 6 with a sign. What is too large
/// becomes 6 with its sign; NaN becomes 6.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // A word of eight e2m1.
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn pack(x: &LayoutTensor<f32, RowMajor<8>>, y: &mut LayoutTensor<u32, RowMajor<1>>) {
///     let mut word = 0u32;
///     for i in unroll(0..8) {
///         word |= e2m1_bits(x[[i]]) << (4 * i as u32);
///     }
///     y[[0]] = word;
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[0.0f32, 0.5, 1.0, -1.5, 2.4, 3.0, -4.0, 1e9], [8])?;
/// let mut y = device.zeros::<u32, 1>([1])?;
/// pack::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [0x7e54_b210]);
/// assert_eq!(layout_core::lang::e2m1_bits(-1.5), 0xb); // on the host, too
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn e2m1_bits(x: f32) -> u32 {
    // Of a NaN and 6 the smaller is 6.
    let size = x.abs().min(6.0);
    // Below 2 the numbers are halves, below 4 integers, from there on even ones: each a code more than the one before.
    let mut code = (2.0 * size).round_ties_even();
    if size >= 2.0 {
        code = size.round_ties_even() + 2.0;
    }
    if size >= 4.0 {
        code = (0.5 * size).round_ties_even() + 4.0;
    }
    let mut sign = x.to_bits() >> 31 << 3;
    if x.is_nan() {
        sign = 0;
    }
    code as u32 | sign
}

/// The number that the lowest four bits are as e2m1; other bits are ignored.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // The eight numbers of a word.
/// #[tiled_kernel(block = [8], grid = [1])]
/// fn unpack(x: &LayoutTensor<u32, RowMajor<1>>, y: &mut LayoutTensor<f32, RowMajor<8>>) {
///     let i = thread_idx.x;
///     y[[i]] = e2m1_value(x[[0]] >> (4 * i as u32));
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[0x7e54_b210u32], [1])?;
/// let mut y = device.zeros::<f32, 1>([8])?;
/// unpack::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [0.0, 0.5, 1.0, -1.5, 2.0, 3.0, -4.0, 6.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn e2m1_value(bits: u32) -> f32 {
    let code = bits & 7;
    // From 1 on the code is exponent and fraction as an `f32` has them, whose exponent of 1 is 127.
    let mut size = f32::from_bits((code + 252) << 22);
    if code < 2 {
        size = code as f32 * 0.5;
    }
    if bits & 8 == 0 { size } else { -size }
}

/// The bits of the least ue8m0 that is not below the size of a number: 2^(bits - 127). Of a NaN they are 255, of what is too
/// large 254, of zero 0.
///
/// ```
/// use layout_core::lang::ue8m0_bits;
/// assert_eq!([0.75, 1.0, 1.25, -2.0].map(ue8m0_bits), [127, 127, 128, 128]);
/// assert_eq!([0.0, f32::INFINITY, f32::NAN].map(ue8m0_bits), [0, 254, 255]);
/// ```
pub fn ue8m0_bits(x: f32) -> u8 {
    let bits = x.to_bits() & 0x7fff_ffff;
    let mut exponent = ((bits + 0x7f_ffff) >> 23).min(254);
    // Up to 2^-127, a subnormal `f32`, the exponent is the least.
    if bits <= 0x40_0000 {
        exponent = 0;
    }
    if bits > 0x7f80_0000 {
        exponent = 255;
    }
    exponent as u8
}

/// The power of two that a byte is as ue8m0, 2^(bits - 127); 255 is NaN.
///
/// ```
/// use layout_core::lang::ue8m0_value;
/// assert_eq!([0, 126, 127, 130, 254].map(ue8m0_value), [2f32.powi(-127), 0.5, 1.0, 8.0, 2f32.powi(127)]);
/// assert!(ue8m0_value(255).is_nan());
/// ```
pub fn ue8m0_value(bits: u8) -> f32 {
    let mut pattern = (bits as u32) << 23;
    if bits == 0 {
        pattern = 0x40_0000;
    }
    if bits == 255 {
        pattern = 0x7fc0_0000;
    }
    f32::from_bits(pattern)
}

#[cfg(test)]
mod tests {
    use super::{e2m1_bits, e2m1_value, ue8m0_bits, ue8m0_value};

    const NUMBERS: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

    #[test]
    fn the_numbers_of_e2m1_are_those_of_the_specification() {
        for (code, number) in (0u32..).zip(NUMBERS) {
            assert_eq!((e2m1_value(code), e2m1_value(code | 0xff8)), (number, -number));
            assert!(e2m1_value(code | 8).is_sign_negative());
            assert_eq!((e2m1_bits(number), e2m1_bits(-number)), (code, code | 8));
        }
        for (x, code) in [(7.0, 7), (-1e30, 15), (f32::INFINITY, 7), (f32::NEG_INFINITY, 15), (-f32::NAN, 7)]
        {
            assert_eq!(e2m1_bits(x), code, "{x}");
        }
    }

    #[test]
    fn e2m1_rounds_to_the_nearest_ties_to_even() {
        for (code, pair) in (0u32..).zip(NUMBERS.windows(2)) {
            let tie = f32::midpoint(pair[0], pair[1]);
            let even = code + code % 2;
            let found = [tie.next_down(), tie, tie.next_up(), -tie.next_down()].map(e2m1_bits);
            assert_eq!(found, [code, even, code + 1, code | 8], "{tie}");
        }
        assert_eq!(e2m1_bits(f32::from_bits(1)), 0);
    }

    #[test]
    fn ue8m0_rounds_up_to_powers_of_two() {
        for bits in 0..=254u8 {
            let power = f64::from(bits) - 127.0;
            assert_eq!(f64::from(ue8m0_value(bits)), power.exp2(), "{bits}");
            assert_eq!(ue8m0_bits(ue8m0_value(bits)), bits);
            assert_eq!(ue8m0_bits(ue8m0_value(bits).next_up()), bits.saturating_add(1).min(254));
            assert_eq!(ue8m0_bits(-ue8m0_value(bits).next_down()), bits, "{bits}");
        }
        assert_eq!(ue8m0_bits(f32::from_bits(1)), 0);
        assert_eq!(ue8m0_bits(ue8m0_value(255)), 255);
    }
}
