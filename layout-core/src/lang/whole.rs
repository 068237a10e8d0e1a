//! Functions of integers, and of the bytes of 32-bit words.
//!
//! Rust's own types have most of these methods, and rustc takes those. The methods here say what a GPU does where Rust
//! panics.

use super::device_only;
use super::float::example;
use super::number::Element;

/// Functions of integers of 8 to 64 bits, all exact. Most apply to an index, too, as to 64 bits. `min`, `max` and `clamp`
/// are those of Rust's `Ord`.
///
#[doc = example!("x.rotate_left(4).count_ones()", "u32", "0xf000_000f", "8")]
pub trait Whole: Copy {
    /// The unsigned integer of as many bits.
    type Unsigned: Copy;

    /// The bits that are one.
    ///
    #[doc = example!("x.count_ones()", "u32", "0xff", "8")]
    fn count_ones(self) -> u32 {
        device_only()
    }

    /// The zeros above the highest one; of 0 all bits.
    ///
    #[doc = example!("x.leading_zeros()", "u32", "1", "31")]
    fn leading_zeros(self) -> u32 {
        device_only()
    }

    /// The zeros below the lowest one; of 0 all bits.
    ///
    #[doc = example!("x.trailing_zeros()", "u32", "8", "3")]
    fn trailing_zeros(self) -> u32 {
        device_only()
    }

    /// The bits rotated left, by `n` modulo the width.
    ///
    #[doc = example!("x.rotate_left(4)", "u8", "0x12", "0x21")]
    fn rotate_left(self, _n: u32) -> Self {
        device_only()
    }

    /// The bits rotated right, by `n` modulo the width.
    ///
    #[doc = example!("x.rotate_right(4)", "u16", "0x1234", "0x4123")]
    fn rotate_right(self, _n: u32) -> Self {
        device_only()
    }

    /// The bits in reverse order.
    ///
    #[doc = example!("x.reverse_bits()", "u8", "1", "128")]
    fn reverse_bits(self) -> Self {
        device_only()
    }

    /// The bytes in reverse order.
    ///
    #[doc = example!("x.swap_bytes()", "u16", "0x1234", "0x3412")]
    fn swap_bytes(self) -> Self {
        device_only()
    }

    /// `self` to the power `n`, modulo the width.
    ///
    #[doc = example!("x.pow(3)", "u8", "7", "87")]
    fn pow(self, _n: u32) -> Self {
        device_only()
    }

    /// The position of the highest one, from 0; for 0 it is 2³² - 1. Rust panics where the number is not positive.
    ///
    #[doc = example!("x.ilog2()", "u32", "1000", "9")]
    fn ilog2(self) -> u32 {
        device_only()
    }

    /// The absolute difference, of the unsigned type.
    ///
    #[doc = example!("x.abs_diff(7)", "u8", "3", "4")]
    fn abs_diff(self, _other: Self) -> Self::Unsigned {
        device_only()
    }

    /// The sum modulo the width, as `+` gives it too.
    ///
    #[doc = example!("x.wrapping_add(7)", "u8", "255", "6")]
    fn wrapping_add(self, _other: Self) -> Self {
        device_only()
    }

    /// The difference modulo the width, as `-`.
    ///
    #[doc = example!("x.wrapping_sub(7)", "u8", "0", "249")]
    fn wrapping_sub(self, _other: Self) -> Self {
        device_only()
    }

    /// The product modulo the width, as `*`.
    ///
    #[doc = example!("x.wrapping_mul(7)", "u8", "100", "188")]
    fn wrapping_mul(self, _other: Self) -> Self {
        device_only()
    }

    /// The negative modulo the width.
    ///
    #[doc = example!("x.wrapping_neg()", "u8", "1", "255")]
    fn wrapping_neg(self) -> Self {
        device_only()
    }

    /// The quotient; of the least value and -1 the least value.
    ///
    #[doc = example!("x.wrapping_div(-1)", "i32", "i32::MIN", "i32::MIN")]
    fn wrapping_div(self, _other: Self) -> Self {
        device_only()
    }

    /// The remainder; of the least value and -1 zero.
    ///
    #[doc = example!("x.wrapping_rem(-1)", "i32", "i32::MIN", "0")]
    fn wrapping_rem(self, _other: Self) -> Self {
        device_only()
    }

    /// Shifted left, by `n` modulo the width.
    ///
    #[doc = example!("x.wrapping_shl(9)", "u8", "1", "2")]
    fn wrapping_shl(self, _n: u32) -> Self {
        device_only()
    }

    /// Shifted right, by `n` modulo the width.
    ///
    #[doc = example!("x.wrapping_shr(9)", "u8", "2", "1")]
    fn wrapping_shr(self, _n: u32) -> Self {
        device_only()
    }

    /// The sum, saturated at the ends of the type.
    ///
    #[doc = example!("x.saturating_add(7)", "u8", "250", "255")]
    fn saturating_add(self, _other: Self) -> Self {
        device_only()
    }

    /// The difference, saturated at the ends of the type.
    ///
    #[doc = example!("x.saturating_sub(7)", "u8", "3", "0")]
    fn saturating_sub(self, _other: Self) -> Self {
        device_only()
    }

    /// The product, saturated at the ends of the type.
    ///
    #[doc = example!("x.saturating_mul(7)", "i8", "-100", "-128")]
    fn saturating_mul(self, _other: Self) -> Self {
        device_only()
    }

    /// The quotient whose remainder is not negative.
    ///
    #[doc = example!("x.div_euclid(4)", "i32", "-7", "-2")]
    fn div_euclid(self, _other: Self) -> Self {
        device_only()
    }

    /// The remainder that is not negative.
    ///
    #[doc = example!("x.rem_euclid(4)", "i32", "-7", "1")]
    fn rem_euclid(self, _other: Self) -> Self {
        device_only()
    }
}

macro_rules! wholes {
    ($($ty:ident: $unsigned:ident,)*) => { $(impl Whole for $ty { type Unsigned = $unsigned; })* };
}
wholes! { i64: u64, i32: u32, i16: u16, i8: u8, u64: u64, u32: u32, u16: u16, u8: u8, isize: usize, usize: usize, }

/// Four of the eight bytes of `b` and `a`: digit `n` of the selector, from the lowest, names byte `n` of the result; 0 to 3 are
/// the bytes of `a` from the lowest, 4 to 7 those of `b`; the highest bit of a digit says nothing. CUDA's `__byte_perm`.
///
#[doc = example!("byte_perm(x, 0, 0x0123)", "u32", "0x11223344", "0x44332211")]
pub fn byte_perm(_a: u32, _b: u32, _selector: u32) -> u32 {
    device_only()
}

/// The upper 32 of the 64 bits `high:low`, shifted left by `n` modulo 32. CUDA's
/// `__funnelshift_l(low, high, n)`: the halves change places.
///
#[doc = example!("funnel_shift_left(x, 0xff00_0000, 8)", "u32", "0x1234_5678", "0x3456_78ff")]
pub fn funnel_shift_left(_high: u32, _low: u32, _n: u32) -> u32 {
    device_only()
}

/// The lower 32 of the 64 bits `high:low`, shifted right by `n` modulo 32. CUDA's
/// `__funnelshift_r(low, high, n)`: the halves change places.
///
#[doc = example!("funnel_shift_right(0xff, x, 8)", "u32", "0x1234_5678", "0xff12_3456")]
pub fn funnel_shift_right(_high: u32, _low: u32, _n: u32) -> u32 {
    device_only()
}

/// The operands of [`dot4`]: `i32` is four signed bytes, `u32` four unsigned ones.
///
#[doc = example!("dot4(x, 0x01010101, 5)", "i32", "0x000000ff", "4")]
pub trait Bytes: Element {}
impl Bytes for i32 {}
impl Bytes for u32 {}

/// The products of the four bytes of `a` and `b`, added to `c`, modulo 2³². CUDA's `__dp4a`.
///
#[doc = example!("dot4(x, 0x01010101, 5)", "u32", "0x01020304", "15")]
pub fn dot4<T: Bytes>(_a: T, _b: T, _c: T) -> T {
    device_only()
}

macro_rules! packed {
    ($($name:ident($call:literal, $given:literal, $expected:literal): $doc:literal;)*) => {$(
        #[doc = $doc]
        ///
        #[doc = example!($call, "u32", $given, $expected)]
        pub fn $name(_a: u32, _b: u32) -> u32 {
            device_only()
        }
    )*};
}

// Words of four bytes or of two halves.
packed! {
    min_u8x4("min_u8x4(x, 0x02fe_0304)", "0x01ff_0305", "0x01fe_0304"): "The smaller of each two unsigned bytes. CUDA's `__vminu4`.";
    min_i8x4("min_i8x4(x, 0x0201_0304)", "0x01ff_0305", "0x01ff_0304"): "The smaller of each two signed bytes. CUDA's `__vmins4`.";
    min_u16x2("min_u16x2(x, 0x0001_0007)", "0xffff_0005", "0x0001_0005"): "The smaller of each two unsigned 16-bit halves. CUDA's `__vminu2`.";
    min_i16x2("min_i16x2(x, 0x0001_0007)", "0xffff_0005", "0xffff_0005"): "The smaller of each two signed 16-bit halves. CUDA's `__vmins2`.";
    max_u8x4("max_u8x4(x, 0x0201_0304)", "0x01ff_0305", "0x02ff_0305"): "The larger of each two unsigned bytes. CUDA's `__vmaxu4`.";
    max_i8x4("max_i8x4(x, 0x0201_0304)", "0x01ff_0305", "0x0201_0305"): "The larger of each two signed bytes. CUDA's `__vmaxs4`.";
    max_u16x2("max_u16x2(x, 0x0001_0007)", "0xffff_0005", "0xffff_0007"): "The larger of each two unsigned 16-bit halves. CUDA's `__vmaxu2`.";
    max_i16x2("max_i16x2(x, 0x0001_0007)", "0xffff_0005", "0x0001_0007"): "The larger of each two signed 16-bit halves. CUDA's `__vmaxs2`.";
    add_u8x4("add_u8x4(x, 0x0201_0304)", "0x01ff_0305", "0x0300_0609"): "The sum of each two bytes, modulo 2⁸. CUDA's `__vadd4`.";
    add_u16x2("add_u16x2(x, 0x0001_0007)", "0xffff_0005", "0x0000_000c"): "The sum of each two 16-bit halves, modulo 2¹⁶. CUDA's `__vadd2`.";
    sub_u8x4("sub_u8x4(x, 0x0201_0304)", "0x01ff_0305", "0xfffe_0001"): "The difference of each two bytes, modulo 2⁸. CUDA's `__vsub4`.";
    sub_u16x2("sub_u16x2(x, 0x0001_0007)", "0xffff_0005", "0xfffe_fffe"): "The difference of each two 16-bit halves, modulo 2¹⁶. CUDA's `__vsub2`.";
    gt_u8x4("gt_u8x4(x, 0x0201_0304)", "0x01ff_0305", "0x00ff_00ff"): "0xff in each byte where the first one is greater, unsigned; else 0. CUDA's `__vcmpgtu4`.";
    gt_i8x4("gt_i8x4(x, 0x0201_0304)", "0x01ff_0305", "0x0000_00ff"): "0xff in each byte where the first one is greater, signed; else 0. CUDA's `__vcmpgts4`.";
    gt_u16x2("gt_u16x2(x, 0x0001_0007)", "0xffff_0005", "0xffff_0000"): "0xffff in each 16-bit half where the first one is greater, unsigned; else 0. CUDA's `__vcmpgtu2`.";
    gt_i16x2("gt_i16x2(x, 0x0001_0004)", "0xffff_0005", "0x0000_ffff"): "0xffff in each 16-bit half where the first one is greater, signed; else 0. CUDA's `__vcmpgts2`.";
    eq_u8x4("eq_u8x4(x, 0x0201_0304)", "0x01ff_0305", "0x0000_ff00"): "0xff in each byte where both are equal; else 0. CUDA's `__vcmpeq4`.";
    eq_u16x2("eq_u16x2(x, 0x0001_0005)", "0xffff_0005", "0x0000_ffff"): "0xffff in each 16-bit half where both are equal; else 0. CUDA's `__vcmpeq2`.";
}
