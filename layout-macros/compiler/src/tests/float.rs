//! The elementwise functions of floats against their stubs, and the errors that their docs promise against the table.

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
pub(super) fn stub(word: Math, x: f32, n: u32, i: i32) -> bool {
    fn stands<T>(_: impl Fn() -> T) -> bool {
        true
    }
    match word {
        Math::Min => stands(|| (x.min(x), n.min(n), f16::ONE.min(f16::ONE))),
        Math::Max => stands(|| (x.max(x), n.max(n))),
        Math::Clamp => stands(|| (x.clamp(x, x), n.clamp(n, n))),
        Math::Abs => stands(|| (x.abs(), i.abs())),
        Math::Signum => stands(|| (x.signum(), i.signum())),
        Math::Copysign => stands(|| x.copysign(x)),
        Math::IsNan => stands(|| x.is_nan()),
        Math::IsFinite => stands(|| x.is_finite()),
        Math::IsInfinite => stands(|| x.is_infinite()),
        Math::ToBits => stands(|| x.to_bits()),
        Math::FromBits => stands(|| f32::from_bits(n)),
        Math::MulAdd => stands(|| x.mul_add(x, x)),
        Math::Floor => stands(|| x.floor()),
        Math::Ceil => stands(|| x.ceil()),
        Math::Round => stands(|| x.round()),
        Math::RoundTiesEven => stands(|| x.round_ties_even()),
        Math::Trunc => stands(|| x.trunc()),
        Math::Fract => stands(|| x.fract()),
        Math::Sqrt => stands(|| x.sqrt()),
        Math::Rsqrt => stands(|| x.rsqrt()),
        Math::Recip => stands(|| x.recip()),
        Math::Cbrt => stands(|| x.cbrt()),
        Math::Hypot => stands(|| x.hypot(x)),
        Math::Exp => stands(|| x.exp()),
        Math::Exp2 => stands(|| x.exp2()),
        Math::ExpM1 => stands(|| x.exp_m1()),
        Math::Ln => stands(|| x.ln()),
        Math::Ln1p => stands(|| x.ln_1p()),
        Math::Log2 => stands(|| x.log2()),
        Math::Log10 => stands(|| x.log10()),
        Math::Powf => stands(|| x.powf(x)),
        Math::Powi => stands(|| x.powi(i)),
        Math::Sin => stands(|| x.sin()),
        Math::Cos => stands(|| x.cos()),
        Math::Tan => stands(|| x.tan()),
        Math::Asin => stands(|| x.asin()),
        Math::Acos => stands(|| x.acos()),
        Math::Atan => stands(|| x.atan()),
        Math::Atan2 => stands(|| x.atan2(x)),
        Math::Sinh => stands(|| x.sinh()),
        Math::Cosh => stands(|| x.cosh()),
        Math::Tanh => stands(|| x.tanh()),
        Math::Exp2Approx => stands(|| x.exp2_approx()),
        Math::Log2Approx => stands(|| x.log2_approx()),
        Math::SinApprox => stands(|| x.sin_approx()),
        Math::CosApprox => stands(|| x.cos_approx()),
        Math::TanhApprox => stands(|| x.tanh_approx()),
        Math::RsqrtApprox => stands(|| x.rsqrt_approx()),
        Math::SqrtApprox => stands(|| x.sqrt_approx()),
        Math::RecipApprox => stands(|| x.recip_approx()),
        Math::DivApprox => stands(|| x.div_approx(x)),
        // No kernel can name it.
        Math::RoundTf32 => true,
        _ => false,
    }
}
