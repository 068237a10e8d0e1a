//! The elementwise functions of floats against their stubs, and the errors in their docs against the table.

use crate::Elem;
use crate::math::Math;
use crate::precision::MaxError;
use layout_core::lang::*;

/// The doc of a method of this file, on one line.
fn doc(name: &str) -> String {
    let text = include_str!("../../../../layout-core/src/lang/float.rs");
    let head = text.find(&format!("    fn {name}(")).unwrap_or_else(|| panic!("`{name}` has no stub"));
    let lines = text[..head].lines().rev();
    let own = lines.take_while(|line| line.trim_start().starts_with(['/', '#']));
    let said = own.filter_map(|line| line.trim_start().strip_prefix("/// "));
    said.collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" ")
}

#[test]
fn docs_promise_what_the_table_says() {
    let mut promised = 0;
    for word in Math::ALL.into_iter().filter(|word| word.domain().holds(Elem::F32)) {
        let (single, double) = (word.error(Elem::F32), word.error(Elem::F64));
        let sentence = match single == double {
            _ if single == MaxError::Exact => continue,
            true => format!("Error at most {single}"),
            false => format!("Error at most {single} as `f32`, {double} as `f64`."),
        };
        promised += 1;
        assert!(doc(word.name()).contains(&sentence), "{}: {sentence}", word.name());
    }
    assert!(promised >= 30, "{promised}");
    assert!(doc("sqrt").contains("correctly rounded") && !doc("floor").contains("Error at most"));
}

/// Whether the word has its stub here.
// Rust's own `erf` is unstable.
#[allow(unstable_name_collisions)]
pub(super) fn stub(word: Math, x: f32, n: u32, i: i32) -> bool {
    fn exists<T>(_: impl Fn() -> T) -> bool {
        true
    }
    match word {
        Math::Min => exists(|| (x.min(x), n.min(n), f16::ONE.min(f16::ONE))),
        Math::Max => exists(|| (x.max(x), n.max(n))),
        Math::Clamp => exists(|| (x.clamp(x, x), n.clamp(n, n))),
        Math::Abs => exists(|| (x.abs(), i.abs())),
        Math::Signum => exists(|| (x.signum(), i.signum())),
        Math::Copysign => exists(|| x.copysign(x)),
        Math::IsNan => exists(|| x.is_nan()),
        Math::IsFinite => exists(|| x.is_finite()),
        Math::IsInfinite => exists(|| x.is_infinite()),
        Math::ToBits => exists(|| x.to_bits()),
        Math::FromBits => exists(|| f32::from_bits(n)),
        Math::MulAdd => exists(|| x.mul_add(x, x)),
        Math::Floor => exists(|| x.floor()),
        Math::Ceil => exists(|| x.ceil()),
        Math::Round => exists(|| x.round()),
        Math::RoundTiesEven => exists(|| x.round_ties_even()),
        Math::Trunc => exists(|| x.trunc()),
        Math::Fract => exists(|| x.fract()),
        Math::Sqrt => exists(|| x.sqrt()),
        Math::Rsqrt => exists(|| x.rsqrt()),
        Math::Recip => exists(|| x.recip()),
        Math::Cbrt => exists(|| x.cbrt()),
        Math::Hypot => exists(|| x.hypot(x)),
        Math::Exp => exists(|| x.exp()),
        Math::Exp2 => exists(|| x.exp2()),
        Math::ExpM1 => exists(|| x.exp_m1()),
        Math::Ln => exists(|| x.ln()),
        Math::Ln1p => exists(|| x.ln_1p()),
        Math::Log2 => exists(|| x.log2()),
        Math::Log10 => exists(|| x.log10()),
        Math::Powf => exists(|| x.powf(x)),
        Math::Powi => exists(|| x.powi(i)),
        Math::Sin => exists(|| x.sin()),
        Math::Cos => exists(|| x.cos()),
        Math::Tan => exists(|| x.tan()),
        Math::Asin => exists(|| x.asin()),
        Math::Acos => exists(|| x.acos()),
        Math::Atan => exists(|| x.atan()),
        Math::Atan2 => exists(|| x.atan2(x)),
        Math::Sinh => exists(|| x.sinh()),
        Math::Cosh => exists(|| x.cosh()),
        Math::Tanh => exists(|| x.tanh()),
        Math::Erf => exists(|| x.erf()),
        Math::Exp2Approx => exists(|| x.exp2_approx()),
        Math::Log2Approx => exists(|| x.log2_approx()),
        Math::SinApprox => exists(|| x.sin_approx()),
        Math::CosApprox => exists(|| x.cos_approx()),
        Math::TanhApprox => exists(|| x.tanh_approx()),
        Math::RsqrtApprox => exists(|| x.rsqrt_approx()),
        Math::SqrtApprox => exists(|| x.sqrt_approx()),
        Math::RecipApprox => exists(|| x.recip_approx()),
        Math::DivApprox => exists(|| x.div_approx(x)),
        // No kernel can name it.
        Math::RoundTf32 => true,
        _ => false,
    }
}
