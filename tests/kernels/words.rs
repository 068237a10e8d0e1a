//! The elementwise words, on every type that they apply to: a column for each.

use crate::support::case::{Case, Outcome, around, output_of};
use crate::support::data::{integers, noise};
use layout_compiler::Elem;
use layout_cuda::{bf16, f16, tiled_kernel};

#[path = "../differential/plain/packed.rs"]
#[allow(missing_docs, reason = "a part of the text of random kernels")]
mod packed;

/// Functions of floats.
#[tiled_kernel(T = [f32, f64, f16, bf16], block = [64], grid = [N.div_ceil(64)])]
pub fn functions<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &LayoutTensor<T, RowMajor<N>>,
    z: &mut LayoutTensor<T, RowMajor<N, 42>>,
    truth: &mut LayoutTensor<u8, RowMajor<N, 3>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let (a, b) = (x[[i]], y[[i]]);
        z[[i, 0]] = a.sin();
        z[[i, 1]] = a.cos();
        z[[i, 2]] = a.tan();
        z[[i, 3]] = a.asin();
        z[[i, 4]] = a.acos();
        z[[i, 5]] = b.atan();
        z[[i, 6]] = a.atan2(b);
        z[[i, 7]] = b.sinh();
        z[[i, 8]] = b.cosh();
        z[[i, 9]] = b.tanh();
        z[[i, 10]] = b.exp();
        z[[i, 11]] = b.exp2();
        z[[i, 12]] = a.exp_m1();
        z[[i, 13]] = a.abs().ln();
        z[[i, 14]] = a.abs().ln_1p();
        z[[i, 15]] = a.abs().log2();
        z[[i, 16]] = a.abs().log10();
        z[[i, 17]] = a.abs().powf(b);
        z[[i, 18]] = a.powi(3) + b.powi(-2);
        z[[i, 19]] = a.abs().sqrt();
        z[[i, 20]] = a.abs().rsqrt();
        z[[i, 21]] = a.recip();
        z[[i, 22]] = b.cbrt();
        z[[i, 23]] = a.hypot(b);
        z[[i, 24]] = b.floor();
        z[[i, 25]] = b.ceil();
        z[[i, 26]] = b.round();
        z[[i, 27]] = b.round_ties_even();
        z[[i, 28]] = b.trunc();
        z[[i, 29]] = b.fract();
        z[[i, 30]] = b % a;
        z[[i, 31]] = b.rem_euclid(a);
        z[[i, 32]] = b.div_euclid(a);
        z[[i, 33]] = b.clamp(-T::ONE, T::ONE);
        z[[i, 34]] = a.min(b);
        z[[i, 35]] = a.max(b);
        z[[i, 36]] = b.signum();
        z[[i, 37]] = a.copysign(b);
        z[[i, 38]] = a.mul_add(b, a);
        z[[i, 39]] = T::from_bits(a.to_bits() ^ b.to_bits() ^ a.to_bits());
        z[[i, 40]] = T::max(a, b) - T::MAX;
        z[[i, 41]] = b.erf();
        truth[[i, 0]] = a.is_nan() as u8;
        truth[[i, 1]] = (b / (a - a)).is_finite() as u8;
        truth[[i, 2]] = (b * T::INFINITY).is_infinite() as u8;
    }
}

/// The hardware's approximations.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn approximations<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, 9>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let v = x[[i]];
        y[[i, 0]] = v.exp2_approx();
        y[[i, 1]] = v.abs().log2_approx() + 8.0;
        y[[i, 2]] = v.sin_approx() + 2.0;
        y[[i, 3]] = v.cos_approx() + 2.0;
        y[[i, 4]] = v.tanh_approx();
        y[[i, 5]] = v.abs().rsqrt_approx();
        y[[i, 6]] = v.recip_approx();
        y[[i, 7]] = v.div_approx(3.0);
        y[[i, 8]] = v.abs().sqrt_approx();
    }
}

/// Functions of integers.
#[tiled_kernel(T = [i8, u8, i16, u16, i32, u32, i64, u64], block = [64], grid = [N.div_ceil(64)])]
pub fn whole<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &LayoutTensor<T, RowMajor<N>>,
    z: &mut LayoutTensor<T, RowMajor<N, 20>>,
    counts: &mut LayoutTensor<u32, RowMajor<N, 4>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let (a, b) = (x[[i]], y[[i]]);
        let n = b as u32 % 70;
        z[[i, 0]] = a.rotate_left(n);
        z[[i, 1]] = a.rotate_right(n);
        z[[i, 2]] = a.reverse_bits();
        z[[i, 3]] = a.swap_bytes();
        z[[i, 4]] = a.pow(n);
        z[[i, 5]] = a.abs_diff(b) as T;
        z[[i, 6]] = a.saturating_add(b);
        z[[i, 7]] = a.saturating_sub(b);
        z[[i, 8]] = a.saturating_mul(b);
        z[[i, 9]] = a.wrapping_add(b).wrapping_sub(T::ONE).wrapping_mul(b);
        z[[i, 10]] = a.wrapping_shl(n).wrapping_shr(n).wrapping_neg();
        z[[i, 11]] = a.clamp(T::ONE, T::MAX);
        if b != T::ZERO {
            z[[i, 12]] = a.wrapping_div(b);
            z[[i, 13]] = a.wrapping_rem(b);
            z[[i, 14]] = a.wrapping_div(b).rem_euclid(b);
            z[[i, 15]] = a.rem_euclid(T::MAX);
            z[[i, 16]] = a.div_euclid(T::MAX - T::ONE);
        }
        z[[i, 17]] = (a & b).rotate_left(3) >> T::ONE;
        z[[i, 18]] = (a + b).reverse_bits() / T::MAX;
        z[[i, 19]] = T::min(a, b).max(T::ONE);
        counts[[i, 0]] = a.count_ones();
        counts[[i, 1]] = a.leading_zeros();
        counts[[i, 2]] = (a - b).trailing_zeros();
        counts[[i, 3]] = a.ilog2();
    }
}

/// Words of one type, and of those with a sign or without.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn bytes_of_words<const N: usize>(
    x: &LayoutTensor<u32, RowMajor<N>>,
    y: &mut LayoutTensor<u32, RowMajor<N, 6>>,
    z: &mut LayoutTensor<i32, RowMajor<N, 4>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let a = x[[i]];
        let b = a * 2654435761;
        y[[i, 0]] = byte_perm(a, b, a >> 7);
        y[[i, 1]] = funnel_shift_left(a, b, i as u32);
        y[[i, 2]] = funnel_shift_right(a, b, i as u32);
        y[[i, 3]] = dot4(a, b, 7);
        y[[i, 4]] = (a & 7).is_power_of_two() as u32;
        y[[i, 5]] = i.pow(2).count_ones() + 100usize.ilog2();
        let (c, d) = (a as i32, b as i32);
        z[[i, 0]] = dot4(c, d, -7);
        z[[i, 1]] = c.abs() + d.wrapping_abs();
        z[[i, 2]] = c.signum();
        z[[i, 3]] = ((i as isize - 5).rem_euclid(7) * 10 + (i as isize - 5).div_euclid(7)) as i32;
    }
}

/// Words of bytes and of 16-bit halves.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn packed_words<const N: usize>(
    x: &LayoutTensor<u32, RowMajor<N>>,
    y: &mut LayoutTensor<u32, RowMajor<N, 18>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let a = x[[i]];
        let b = a * 2654435761;
        y[[i, 0]] = min_u8x4(a, b);
        y[[i, 1]] = min_i8x4(a, b);
        y[[i, 2]] = min_u16x2(a, b);
        y[[i, 3]] = min_i16x2(a, b);
        y[[i, 4]] = max_u8x4(a, b);
        y[[i, 5]] = max_i8x4(a, b);
        y[[i, 6]] = max_u16x2(a, b);
        y[[i, 7]] = max_i16x2(a, b);
        y[[i, 8]] = add_u8x4(a, b);
        y[[i, 9]] = add_u16x2(a, b);
        y[[i, 10]] = sub_u8x4(a, b);
        y[[i, 11]] = sub_u16x2(a, b);
        y[[i, 12]] = gt_u8x4(a, b);
        y[[i, 13]] = gt_i8x4(a, b);
        y[[i, 14]] = gt_u16x2(a, b);
        y[[i, 15]] = gt_i16x2(a, b);
        y[[i, 16]] = eq_u8x4(a, b);
        y[[i, 17]] = eq_u16x2(a, b);
    }
}

/// Values from 0.02 to 0.98, of either sign, and halves from -4 to 4 but 0.
fn values(n: usize) -> (Vec<f64>, Vec<f64>) {
    let small = |bits: u64| f64::from((bits >> 40) as u32 % 49 + 1) / 51.0;
    let x = noise(n, 1).map(|bits| small(bits) * if bits & 1 == 0 { 1.0 } else { -1.0 });
    let y = integers(n, 2, 7).into_iter().map(|v| (v as f64).mul_add(0.5, 0.25));
    (x.collect(), y.collect())
}

macro_rules! narrow {
    (F16, $v:expr) => {
        f16::from_f32($v)
    };
    (Bf16, $v:expr) => {
        bf16::from_f32($v)
    };
    ($elem:ident, $v:expr) => {
        $v
    };
}
macro_rules! widen {
    (F16, $v:expr) => {
        $v.to_f32()
    };
    (Bf16, $v:expr) => {
        $v.to_f32()
    };
    ($elem:ident, $v:expr) => {
        $v
    };
}
macro_rules! widest {
    (F16) => {
        f16::MAX
    };
    (Bf16) => {
        bf16::MAX
    };
    (F32) => {
        f32::MAX
    };
    (F64) => {
        f64::MAX
    };
}

macro_rules! functions {
    ($elem:ident, $ty:ty, $wide:ty, $bound:literal) => {
        Case::new(&functions::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let (x, y) = values(n);
            let to = |v: $wide| -> $ty { narrow!($elem, v) };
            let from = |v: $ty| -> $wide { widen!($elem, v) };
            let x: Vec<$ty> = x.into_iter().map(|v| to(v as $wide)).collect();
            let y: Vec<$ty> = y.into_iter().map(|v| to(v as $wide)).collect();
            let (on_x, on_y) = (run.tensor(&x, [n])?, run.tensor(&y, [n])?);
            let (mut z, mut truth) = (run.output([n, 42])?, run.output([n, 3])?);
            functions::launch_with(
                run.config(),
                &run.stream(),
                &on_x.view()?,
                &on_y.view()?,
                &mut z.view_mut()?,
                &mut truth.view_mut()?,
            )?;
            let most = from(widest!($elem));
            let row = |(a, b): (&$ty, &$ty)| {
                let (a, b) = (from(*a), from(*b));
                let round = |v: $wide| from(to(v));
                let whole = round(b / a);
                let rest = b % a;
                let wanted: [$wide; 42] = [
                    a.sin(),
                    a.cos(),
                    a.tan(),
                    a.asin(),
                    a.acos(),
                    b.atan(),
                    a.atan2(b),
                    b.sinh(),
                    b.cosh(),
                    b.tanh(),
                    b.exp(),
                    b.exp2(),
                    a.exp_m1(),
                    a.abs().ln(),
                    a.abs().ln_1p(),
                    a.abs().log2(),
                    a.abs().log10(),
                    a.abs().powf(b),
                    round(a * a * a) + round(1.0 / (b * b)),
                    a.abs().sqrt(),
                    1.0 / a.abs().sqrt(),
                    1.0 / a,
                    b.cbrt(),
                    a.hypot(b),
                    b.floor(),
                    b.ceil(),
                    b.round(),
                    b.round_ties_even(),
                    b.trunc(),
                    b.fract(),
                    rest,
                    if rest < 0.0 { rest + a.abs() } else { rest },
                    if rest < 0.0 { whole.trunc() - a.signum() } else { whole.trunc() },
                    b.clamp(-1.0, 1.0),
                    a.min(b),
                    a.max(b),
                    b.signum(),
                    a.copysign(b),
                    a.mul_add(b, a),
                    b,
                    a.max(b) - most,
                    libm::erf(b.into()) as $wide,
                ];
                wanted.map(|wanted| f64::from(round(wanted)))
            };
            let rows = x.iter().zip(&y).flat_map(row);
            let found = Outcome::within($bound, z.read()?, rows);
            Ok(found.and(Outcome::exact(truth.read()?, (0..n).flat_map(|_| [0, 0, 1]))))
        })
        .of(Elem::$elem)
    };
}

macro_rules! whole {
    ($elem:ident, $ty:ty) => {
        Case::new(&whole::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let some = |seed| {
                let bits = noise(n, seed)
                    .map(|bits| if bits & 6 == 0 { (bits >> 61) as $ty } else { (bits >> 3) as $ty });
                bits.collect::<Vec<$ty>>()
            };
            let (x, y) = (some(1), some(2));
            let (on_x, on_y) = (run.tensor(&x, [n])?, run.tensor(&y, [n])?);
            let mut z = run.tensor(&vec![0 as $ty; 20 * n], [n, 20])?;
            let mut counts = run.output([n, 4])?;
            whole::launch_with(
                run.config(),
                &run.stream(),
                &on_x.view()?,
                &on_y.view()?,
                &mut z.view_mut()?,
                &mut counts.view_mut()?,
            )?;
            let row = |(a, b): (&$ty, &$ty)| {
                let (a, b) = (*a, *b);
                let n = b as u32 % 70;
                let divided = b != 0;
                let or = |value: Option<$ty>| value.filter(|_| divided).unwrap_or(0);
                [
                    a.rotate_left(n),
                    a.rotate_right(n),
                    a.reverse_bits(),
                    a.swap_bytes(),
                    a.wrapping_pow(n),
                    a.abs_diff(b) as $ty,
                    a.saturating_add(b),
                    a.saturating_sub(b),
                    a.saturating_mul(b),
                    a.wrapping_add(b).wrapping_sub(1).wrapping_mul(b),
                    a.wrapping_shl(n).wrapping_shr(n).wrapping_neg(),
                    a.clamp(1, <$ty>::MAX),
                    or(divided.then(|| a.wrapping_div(b))),
                    or(divided.then(|| a.wrapping_rem(b))),
                    or(divided.then(|| a.wrapping_div(b).wrapping_rem_euclid(b))),
                    or(Some(a.rem_euclid(<$ty>::MAX))),
                    or(Some(a.div_euclid(<$ty>::MAX - 1))),
                    (a & b).rotate_left(3) >> 1,
                    a.wrapping_add(b).reverse_bits() / <$ty>::MAX,
                    a.min(b).max(1),
                ]
            };
            let wanted = x.iter().zip(&y).flat_map(row);
            let found = Outcome::exact(z.read()?, wanted);
            let row = |(a, b): (&$ty, &$ty)| {
                let log = (<$ty>::BITS - 1).wrapping_sub(a.leading_zeros());
                [a.count_ones(), a.leading_zeros(), a.wrapping_sub(*b).trailing_zeros(), log]
            };
            let wanted = x.iter().zip(&y).flat_map(row);
            Ok(found.and(Outcome::exact(counts.read()?, wanted)))
        })
        .of(Elem::$elem)
    };
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        functions!(F32, f32, f32, 1e-6),
        functions!(F64, f64, f64, 1e-14),
        functions!(F16, f16, f32, 1e-3),
        functions!(Bf16, bf16, f32, 1e-2),
        whole!(I8, i8),
        whole!(U8, u8),
        whole!(I16, i16),
        whole!(U16, u16),
        whole!(I32, i32),
        whole!(U32, u32),
        whole!(I64, i64),
        whole!(U64, u64),
        Case::new(&approximations::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<f32> = values(n).0.into_iter().map(|v| v as f32).collect();
            let y = output_of!(run, approximations(x: [n]) -> [n, 9]);
            let row = |v: &f32| {
                let v = f64::from(*v);
                let size = v.abs();
                [
                    v.exp2(),
                    size.log2() + 8.0,
                    v.sin() + 2.0,
                    v.cos() + 2.0,
                    v.tanh(),
                    1.0 / size.sqrt(),
                    1.0 / v,
                    v / 3.0,
                    size.sqrt(),
                ]
            };
            Ok(Outcome::within(6e-4, y, x.iter().flat_map(row)))
        }),
        Case::new(&packed_words::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<u32> = noise(n, 3).map(|bits| (bits >> 20) as u32).collect();
            let y = output_of!(run, packed_words(x: [n]) -> [n, 18]);
            let words = [
                "min_u8x4",
                "min_i8x4",
                "min_u16x2",
                "min_i16x2",
                "max_u8x4",
                "max_i8x4",
                "max_u16x2",
                "max_i16x2",
                "add_u8x4",
                "add_u16x2",
                "sub_u8x4",
                "sub_u16x2",
                "gt_u8x4",
                "gt_i8x4",
                "gt_u16x2",
                "gt_i16x2",
                "eq_u8x4",
                "eq_u16x2",
            ];
            let row = |a: &u32| {
                let (a, b) = (*a, a.wrapping_mul(2654435761));
                words.map(|name| packed::packed(name).map_or(0, |word| word(a, b)))
            };
            Ok(Outcome::exact(y, x.iter().flat_map(row)))
        }),
        Case::new(&bytes_of_words::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<u32> = noise(n, 3).map(|bits| (bits >> 20) as u32).collect();
            let on_x = run.tensor(&x, [n])?;
            let (mut y, mut z) = (run.output([n, 6])?, run.output([n, 4])?);
            let (x_view, mut y_view, mut z_view) = (on_x.view()?, y.view_mut()?, z.view_mut()?);
            bytes_of_words::launch_with(run.config(), &run.stream(), &x_view, &mut y_view, &mut z_view)?;
            let row = |(i, a): (usize, &u32)| {
                let a = *a;
                let b = a.wrapping_mul(2654435761);
                let source = [a.to_le_bytes(), b.to_le_bytes()].concat();
                let byte = |place: u32| {
                    let digit = (a >> 7) >> (4 * place) & 7;
                    source[digit as usize]
                };
                let both = u64::from(a) << 32 | u64::from(b);
                let dot = a
                    .to_le_bytes()
                    .into_iter()
                    .zip(b.to_le_bytes())
                    .map(|(a, b)| u32::from(a) * u32::from(b));
                [
                    u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]),
                    ((both << (i % 32)) >> 32) as u32,
                    (both >> (i % 32)) as u32,
                    dot.sum::<u32>() + 7,
                    u32::from((a & 7).is_power_of_two()),
                    (i * i).count_ones() + 6,
                ]
            };
            let found = Outcome::exact(y.read()?, x.iter().enumerate().flat_map(|(i, a)| row((i, a))));
            let row = |(i, a): (usize, &u32)| {
                let (c, d) = (*a as i32, a.wrapping_mul(2654435761) as i32);
                let dot = c.to_le_bytes().into_iter().zip(d.to_le_bytes());
                let dot = dot.map(|(a, b)| i32::from(a as i8) * i32::from(b as i8)).sum::<i32>();
                let j = i as i32 - 5;
                [
                    dot - 7,
                    c.wrapping_abs().wrapping_add(d.wrapping_abs()),
                    c.signum(),
                    j.rem_euclid(7) * 10 + j.div_euclid(7),
                ]
            };
            Ok(found.and(Outcome::exact(z.read()?, x.iter().enumerate().flat_map(|(i, a)| row((i, a))))))
        }),
    ]
}
