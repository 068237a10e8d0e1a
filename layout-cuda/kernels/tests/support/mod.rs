//! What the tests of operations share.

use layout_cuda::{bf16, f16};
use layout_kernels::Real;

/// A type of elements as float64.
pub trait Wide: Real + PartialEq {
    /// Half a unit in the last place, of 1.
    const ROUNDING: f64;
    /// The value.
    fn wide(self) -> f64;
    /// The nearest one.
    fn near(value: f64) -> Self;
}

macro_rules! wide {
    ($($ty:ty, $rounding:expr, $near:expr;)*) => {$(
        impl Wide for $ty {
            const ROUNDING: f64 = $rounding;
            fn wide(self) -> f64 { f64::from(self) }
            fn near(value: f64) -> Self { ($near)(value) }
        }
    )*};
}
wide! {
    f32, 6e-8, |value| value as f32;
    bf16, 3.91e-3, bf16::from_f64;
    f16, 4.9e-4, f16::from_f64;
}
