//! Functions of floats, each with its precision.
//!
//! Rust's own types have most of these methods, and rustc takes those. The methods here say the precision on a GPU, and
//! serve the float types that Rust lacks.
//!
//! An ulp is the distance of neighbouring floats; an error in ulps is counted from the nearest float to the exact value.
//! Sources: CUDA C++ Programming Guide 13.0, Tables 17 and 18, over the full range; for the approximations PTX ISA 9.1,
//! section 9.7.3. The table is `layout_compiler::precision`, and a test holds every word against it at a million points on
//! a GPU. Floats of 16 bits are computed as `f32` and rounded once more. The simulator uses Rust's standard library. More:
//! [`super::numbers`].

use super::device_only;
use super::number::Element;
use super::small_float::{bf16, f16};

/// The documentation's example: a kernel that replaces `x` by a value made of it.
macro_rules! example {
    ($call:literal, $ty:literal, $given:literal, $expected:literal) => {
        concat!(
            "```\n# use layout_cuda::{Device, tiled_kernel};\n",
            "#[tiled_kernel(block = [1], grid = [1])]\n",
            "fn value(y: &mut LayoutTensor<",
            $ty,
            ", RowMajor<1>>) {\n    let x = y[[0]];\n    y[[0]] = ",
            $call,
            ";\n}\n# let device = Device::simulator();\n",
            "let mut y = device.upload::<",
            $ty,
            ", 1>(&[",
            $given,
            "], [1])?;\nvalue::launch(&device.stream(), &mut y)?;\n",
            "assert_eq!(y.download()?, [",
            $expected,
            "]);\n# Ok::<(), layout_cuda::Error>(())\n```"
        )
    };
}

pub(super) use example;

/// Functions of floats: of `f64`, `f32`, [`struct@f16`] and [`bf16`].
///
#[doc = example!("x.hypot(4.0).recip()", "f32", "3.0", "0.2")]
pub trait Float: Element {
    /// The unsigned integer of as many bits.
    type Bits: Element;

    /// Sine. Error at most 2 ulp.
    ///
    #[doc = example!("x.sin()", "f32", "0.5", "0.5f32.sin()")]
    fn sin(self) -> Self {
        device_only()
    }

    /// Cosine. Error at most 2 ulp.
    ///
    #[doc = example!("x.cos()", "f32", "0.5", "0.5f32.cos()")]
    fn cos(self) -> Self {
        device_only()
    }

    /// Tangent. Error at most 4 ulp as `f32`, 2 ulp as `f64`.
    ///
    #[doc = example!("x.tan()", "f32", "0.5", "0.5f32.tan()")]
    fn tan(self) -> Self {
        device_only()
    }

    /// Arcsine, of -1 to 1. Error at most 2 ulp.
    ///
    #[doc = example!("x.asin()", "f32", "0.5", "0.5f32.asin()")]
    fn asin(self) -> Self {
        device_only()
    }

    /// Arccosine, of -1 to 1. Error at most 2 ulp.
    ///
    #[doc = example!("x.acos()", "f32", "0.5", "0.5f32.acos()")]
    fn acos(self) -> Self {
        device_only()
    }

    /// Arctangent. Error at most 2 ulp.
    ///
    #[doc = example!("x.atan()", "f32", "0.5", "0.5f32.atan()")]
    fn atan(self) -> Self {
        device_only()
    }

    /// The angle of the point (`other`, `self`), from -π to π. Error at most 3 ulp as `f32`, 2 ulp as `f64`.
    ///
    #[doc = example!("x.atan2(2.0)", "f32", "0.5", "0.5f32.atan2(2.0)")]
    fn atan2(self, _other: Self) -> Self {
        device_only()
    }

    /// Hyperbolic sine. Error at most 3 ulp as `f32`, 2 ulp as `f64`.
    ///
    #[doc = example!("x.sinh()", "f32", "0.5", "0.5f32.sinh()")]
    fn sinh(self) -> Self {
        device_only()
    }

    /// Hyperbolic cosine. Error at most 2 ulp as `f32`, 1 ulp as `f64`.
    ///
    #[doc = example!("x.cosh()", "f32", "0.5", "0.5f32.cosh()")]
    fn cosh(self) -> Self {
        device_only()
    }

    /// Hyperbolic tangent. Error at most 2 ulp as `f32`, 1 ulp as `f64`.
    ///
    #[doc = example!("x.tanh()", "f32", "0.5", "0.5f32.tanh()")]
    fn tanh(self) -> Self {
        device_only()
    }

    /// The error function: GELU is `0.5 * x * (1.0 + (x * FRAC_1_SQRT_2).erf())`. Error at most 2 ulp.
    ///
    #[doc = example!("x.erf()", "f32", "0.5", "0.520_499_9")]
    fn erf(self) -> Self {
        device_only()
    }

    /// e to the power `self`. Error at most 2 ulp as `f32`, 1 ulp as `f64`.
    ///
    #[doc = example!("x.exp()", "f32", "0.5", "0.5f32.exp()")]
    fn exp(self) -> Self {
        device_only()
    }

    /// 2 to the power `self`. Error at most 2 ulp as `f32`, 1 ulp as `f64`.
    ///
    #[doc = example!("x.exp2()", "f32", "0.5", "0.5f32.exp2()")]
    fn exp2(self) -> Self {
        device_only()
    }

    /// e to the power `self`, minus 1, without cancellation. Error at most 1 ulp.
    ///
    #[doc = example!("x.exp_m1()", "f32", "0.5", "0.5f32.exp_m1()")]
    fn exp_m1(self) -> Self {
        device_only()
    }

    /// Natural logarithm. Error at most 1 ulp.
    ///
    #[doc = example!("x.ln()", "f32", "0.5", "0.5f32.ln()")]
    fn ln(self) -> Self {
        device_only()
    }

    /// Natural logarithm of 1 + `self`, without cancellation. Error at most 1 ulp.
    ///
    #[doc = example!("x.ln_1p()", "f32", "0.5", "0.5f32.ln_1p()")]
    fn ln_1p(self) -> Self {
        device_only()
    }

    /// Logarithm to base 2. Error at most 1 ulp.
    ///
    #[doc = example!("x.log2()", "f32", "0.5", "-1.0")]
    fn log2(self) -> Self {
        device_only()
    }

    /// Logarithm to base 10. Error at most 2 ulp as `f32`, 1 ulp as `f64`.
    ///
    #[doc = example!("x.log10()", "f32", "0.5", "0.5f32.log10()")]
    fn log10(self) -> Self {
        device_only()
    }

    /// `self` to the power `other`. Error at most 4 ulp as `f32`, 2 ulp as `f64`.
    ///
    #[doc = example!("x.powf(2.0)", "f32", "0.5", "0.25")]
    fn powf(self, _other: Self) -> Self {
        device_only()
    }

    /// Square root, correctly rounded.
    ///
    #[doc = example!("x.sqrt()", "f32", "0.25", "0.5")]
    fn sqrt(self) -> Self {
        device_only()
    }

    /// 1 / √`self`. Error at most 2 ulp as `f32`, 1 ulp as `f64`.
    ///
    #[doc = example!("x.rsqrt()", "f32", "0.25", "2.0")]
    fn rsqrt(self) -> Self {
        device_only()
    }

    /// 1 / `self`, correctly rounded.
    ///
    #[doc = example!("x.recip()", "f32", "0.5", "2.0")]
    fn recip(self) -> Self {
        device_only()
    }

    /// Cube root. Error at most 1 ulp.
    ///
    #[doc = example!("x.cbrt()", "f32", "8.0", "2.0")]
    fn cbrt(self) -> Self {
        device_only()
    }

    /// √(`self`² + `other`²), without overflow in between. Error at most 3 ulp as `f32`, 2 ulp as `f64`.
    ///
    #[doc = example!("x.hypot(4.0)", "f32", "3.0", "5.0")]
    fn hypot(self, _other: Self) -> Self {
        device_only()
    }

    /// The largest integer that is not above.
    ///
    #[doc = example!("x.floor()", "f32", "-1.5", "-2.0")]
    fn floor(self) -> Self {
        device_only()
    }

    /// The least integer that is not below.
    ///
    #[doc = example!("x.ceil()", "f32", "-1.5", "-1.0")]
    fn ceil(self) -> Self {
        device_only()
    }

    /// The nearest integer, halves away from zero.
    ///
    #[doc = example!("x.round()", "f32", "2.5", "3.0")]
    fn round(self) -> Self {
        device_only()
    }

    /// The nearest integer, halves to the even one.
    ///
    #[doc = example!("x.round_ties_even()", "f32", "2.5", "2.0")]
    fn round_ties_even(self) -> Self {
        device_only()
    }

    /// The integer toward zero.
    ///
    #[doc = example!("x.trunc()", "f32", "-1.5", "-1.0")]
    fn trunc(self) -> Self {
        device_only()
    }

    /// What `trunc` leaves, with the sign of `self`.
    ///
    #[doc = example!("x.fract()", "f32", "-1.5", "-0.5")]
    fn fract(self) -> Self {
        device_only()
    }

    /// The absolute value.
    ///
    #[doc = example!("x.abs()", "f32", "-1.5", "1.5")]
    fn abs(self) -> Self {
        device_only()
    }

    /// 1 with the sign of `self`, zeros too; NaN of NaN.
    ///
    #[doc = example!("x.signum()", "f32", "-1.5", "-1.0")]
    fn signum(self) -> Self {
        device_only()
    }

    /// `self` with the sign of `other`.
    ///
    #[doc = example!("x.copysign(-0.0)", "f32", "1.5", "-1.5")]
    fn copysign(self, _other: Self) -> Self {
        device_only()
    }

    /// The smaller: the number where the other is NaN; -0 is below 0, as PTX's `min` has it and Rust leaves open.
    ///
    #[doc = example!("x.min(-0.0)", "f32", "1.5", "-0.0")]
    fn min(self, _other: Self) -> Self {
        device_only()
    }

    /// The larger, likewise.
    ///
    #[doc = example!("x.max(-0.0)", "f32", "1.5", "1.5")]
    fn max(self, _other: Self) -> Self {
        device_only()
    }

    /// `self` to the power `n` by products of squares, in the same order on a GPU and on the simulator. Error at most `|n|` ulp,
    /// where no power on the way is subnormal or infinite.
    ///
    #[doc = example!("x.powi(-2)", "f32", "0.5", "4.0")]
    fn powi(self, _n: i32) -> Self {
        device_only()
    }

    /// `self * b + c`, rounded once; of 16-bit floats once more.
    ///
    #[doc = example!("x.mul_add(2.0, 1.0)", "f32", "0.5", "2.0")]
    fn mul_add(self, _b: Self, _c: Self) -> Self {
        device_only()
    }

    /// Between two bounds; NaN stays NaN. Where `low` is above `high` the result is open.
    ///
    #[doc = example!("x.clamp(0.0, 1.0)", "f32", "1.5", "1.0")]
    fn clamp(self, _low: Self, _high: Self) -> Self {
        device_only()
    }

    /// The quotient whose remainder is not negative.
    ///
    #[doc = example!("x.div_euclid(4.0)", "f32", "-7.0", "-2.0")]
    fn div_euclid(self, _other: Self) -> Self {
        device_only()
    }

    /// The remainder that is not negative.
    ///
    #[doc = example!("x.rem_euclid(4.0)", "f32", "-7.0", "1.0")]
    fn rem_euclid(self, _other: Self) -> Self {
        device_only()
    }

    /// Whether it is NaN.
    ///
    #[doc = example!("select(x.is_nan(), 1.0, 2.0)", "f32", "f32::NAN", "1.0")]
    fn is_nan(self) -> bool {
        device_only()
    }

    /// Whether it is neither NaN nor infinite.
    ///
    #[doc = example!("select(x.is_finite(), 1.0, 2.0)", "f32", "f32::NAN", "2.0")]
    fn is_finite(self) -> bool {
        device_only()
    }

    /// Whether it is infinite.
    ///
    #[doc = example!("select(x.is_infinite(), 1.0, 2.0)", "f32", "f32::NEG_INFINITY", "1.0")]
    fn is_infinite(self) -> bool {
        device_only()
    }

    /// The bits. Which NaN an operation gives is open.
    ///
    #[doc = example!("f32::from_bits(x.to_bits() ^ 0x8000_0000)", "f32", "1.5", "-1.5")]
    fn to_bits(self) -> Self::Bits {
        device_only()
    }

    /// The float of these bits.
    ///
    #[doc = example!("x + f32::from_bits(0x3f80_0000)", "f32", "1.5", "2.5")]
    fn from_bits(_bits: Self::Bits) -> Self {
        device_only()
    }
}

macro_rules! floats {
    ($($ty:ident: $bits:ident,)*) => { $(impl Float for $ty { type Bits = $bits; })* };
}
floats! { f64: u64, f32: u32, f16: u16, bf16: u16, }

/// The hardware's approximations, one instruction each: of `f32`, and by way of it of [`struct@f16`] and [`bf16`]. Numbers below
/// 2⁻¹²⁶ count as zero, but for `tanh_approx`. The simulator gives the nearest float.
///
#[doc = example!("x.exp2_approx()", "f32", "3.0", "8.0")]
pub trait Approximate: Element {
    /// 2 to the power `self`: `ex2.approx.ftz.f32`. Error at most 2 ulp.
    ///
    #[doc = example!("x.exp2_approx()", "f32", "3.0", "8.0")]
    fn exp2_approx(self) -> Self {
        device_only()
    }

    /// Logarithm to base 2: `lg2.approx.ftz.f32`. Error at most 2⁻²² between 0.5 and 2, relative outside.
    ///
    #[doc = example!("x.log2_approx()", "f32", "8.0", "3.0")]
    fn log2_approx(self) -> Self {
        device_only()
    }

    /// Sine: `sin.approx.ftz.f32`. Error at most 2⁻²⁰·⁴ between -2π and 2π, 2⁻¹⁴·⁷ between -100π and 100π.
    ///
    #[doc = example!("x.sin_approx()", "f32", "0.5", "0.5f32.sin()")]
    fn sin_approx(self) -> Self {
        device_only()
    }

    /// Cosine: `cos.approx.ftz.f32`. Error at most 2⁻²⁰·⁴ between -2π and 2π, 2⁻¹⁴·⁷ between -100π and 100π.
    ///
    #[doc = example!("x.cos_approx()", "f32", "0.5", "0.5f32.cos()")]
    fn cos_approx(self) -> Self {
        device_only()
    }

    /// Hyperbolic tangent: `tanh.approx.f32`. Error at most 2⁻¹¹ relative.
    ///
    #[doc = example!("x.tanh_approx()", "f32", "0.5", "0.5f32.tanh()")]
    fn tanh_approx(self) -> Self {
        device_only()
    }

    /// 1 / √`self`: `rsqrt.approx.ftz.f32`. Error at most 2⁻²²·⁹ relative.
    ///
    #[doc = example!("x.rsqrt_approx()", "f32", "0.25", "2.0")]
    fn rsqrt_approx(self) -> Self {
        device_only()
    }

    /// Square root: `sqrt.approx.ftz.f32`. Error at most 2⁻²³ relative.
    ///
    #[doc = example!("x.sqrt_approx()", "f32", "0.25", "0.5")]
    fn sqrt_approx(self) -> Self {
        device_only()
    }

    /// 1 / `self`: `rcp.approx.ftz.f32`. Error at most 1 ulp.
    ///
    #[doc = example!("x.recip_approx()", "f32", "0.25", "4.0")]
    fn recip_approx(self) -> Self {
        device_only()
    }

    /// `self` / `other`: `div.approx.ftz.f32`. Error at most 2 ulp where `other` is between 2⁻¹²⁶ and 2¹²⁶ in size.
    ///
    #[doc = example!("x.div_approx(4.0)", "f32", "1.0", "0.25")]
    fn div_approx(self, _other: Self) -> Self {
        device_only()
    }
}

impl Approximate for f32 {}
impl Approximate for f16 {}
impl Approximate for bf16 {}
