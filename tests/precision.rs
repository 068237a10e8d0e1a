//! Every elementwise word, on every type that it applies to, against the host's functions.
//!
//! Law: a result is as near to the exact value as the word's doc promises ([`Math::error`]), and integers are exact: at a
//! million points a word on a GPU, at some on the simulator. A kernel for each type is made of the table, so no word is
//! left out. The exact value of `f32` and narrower floats is that of the host's `f64` functions; those of `f64` are held against
//! the host's own, which err too ([`HOST`]).

use layout_compiler::math::Math;
use layout_compiler::precision::MaxError;
use layout_compiler::{Elem, intrinsic::Form, wire};
use layout_cuda::{Argument, Definition, Device, Element, Error, LaunchConfig, bf16, f16, launch};
use layout_tests::support::gpu::gpu;
use packed::packed;

#[path = "differential/plain/packed.rs"]
pub mod packed;

/// How far the host's own functions of `f64` are from the nearest value, ulps (glibc manual 2.42, "Known Maximum Errors
/// in Math Functions", x86_64; the cube root's is the largest).
const HOST: u32 = 4;

/// Points of one launch.
const CHUNK: usize = 1 << 17;

/// What a word of a point is given.
#[derive(Clone, Copy)]
struct Point<T> {
    a: T,
    b: T,
    c: T,
    n: i32,
}

/// An element type as the reference sees it.
trait Number: Element {
    /// Point `i`: each operand of one of four kinds.
    fn point(random: &mut Random, i: usize) -> Point<Self>;
    /// What is wrong with the bits that a word gave.
    fn wrong(word: Math, point: Point<Self>, bits: u64) -> Option<String>;
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From -1 to 1.
    fn unit(&mut self) -> f64 {
        self.next() as i64 as f64 / 2f64.powi(63)
    }
}

/// The call of a word in a kernel of the type `elem`.
fn call(word: Math, elem: Elem) -> String {
    let name = word.name();
    let value = match word {
        // Where the bounds are in the wrong order the result is open.
        Math::Clamp => "a.clamp(b.min(c), b.max(c))".to_owned(),
        Math::FromBits => format!("{elem}::from_bits(a.to_bits() ^ b.to_bits())"),
        Math::Powi => "a.powi(n)".to_owned(),
        Math::RotateLeft | Math::RotateRight | Math::Pow => format!("a.{name}(n as u32)"),
        Math::FunnelShiftLeft | Math::FunnelShiftRight => format!("{name}(a, b, n as u32)"),
        _ => {
            let others = ["b", "c"][..word.arity() - 1].join(", ");
            match word.form() {
                Form::Method => format!("a.{name}({others})"),
                _ => format!("{name}({})", ["a", "b", "c"][..word.arity()].join(", ")),
            }
        }
    };
    match elem.is_float() && word.follow_the_first().1 {
        true => format!("({value}).to_bits() as u64"),
        false => format!("({value}) as u64"),
    }
}

/// The words of a type.
fn words(elem: Elem) -> Vec<Math> {
    let named = |word: &Math| word.form() != Form::Internal && word.applies_to(elem);
    Math::ALL.into_iter().filter(named).collect()
}

/// A kernel that writes the bits of every word, a column each.
fn definition(elem: Elem, words: &[Math]) -> &'static Definition {
    let columns = words.len();
    let lines = words.iter().enumerate().map(|(k, word)| format!("out[[i, {k}]] = {};", call(*word, elem)));
    let text = format!(
        "#[tiled_kernel(block = [128], grid = [N.div_ceil(128)])]
        fn words<const N: usize>(
            x: &LayoutTensor<{elem}, RowMajor<N, 3>>,
            counts: &LayoutTensor<i32, RowMajor<N>>,
            out: &mut LayoutTensor<u64, RowMajor<N, {columns}>>,
        ) {{
            let i = block_idx.x * 128 + thread_idx.x;
            if i < N {{
                let (a, b, c) = (x[[i, 0]], x[[i, 1]], x[[i, 2]]);
                let n = counts[[i]];
                {}
            }}
        }}",
        lines.collect::<Vec<_>>().join("\n")
    );
    let kernel = layout_text::kernel(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let bytes = Vec::leak(wire::encode(&kernel));
    // It stays for good, as layout-cuda asks of a definition.
    Box::leak(Box::new(Definition { name: "words", file: "precision.rs", bytes, variants: &[] }))
}

/// All words of a type at so many points: how many results were compared.
fn hold<T: Number>(device: &Device, points: usize) -> Result<usize, Error> {
    let words = words(T::ELEM);
    let definition = definition(T::ELEM, &words);
    let (mut random, mut wrong, mut compared) = (Random(14), Vec::new(), 0);
    for start in (0..points).step_by(CHUNK) {
        let count = CHUNK.min(points - start);
        let given: Vec<Point<T>> = (0..count).map(|i| T::point(&mut random, start + i)).collect();
        let values: Vec<T> = given.iter().flat_map(|point| [point.a, point.b, point.c]).collect();
        let counts: Vec<i32> = given.iter().map(|point| point.n).collect();
        let (x, n) = (device.upload(&values, [count, 3])?, device.upload(&counts, [count])?);
        let mut out = device.zeros::<u64, 2>([count, words.len()])?;
        let (x, n, mut z) = (x.view(), n.view(), out.view_mut());
        let mut arguments = [Argument::read(&x), Argument::read(&n), Argument::write(&mut z)];
        launch(definition, &device.stream(), LaunchConfig::default(), &mut arguments)?;
        let found = out.download()?;
        for (point, row) in given.iter().zip(found.chunks(words.len())) {
            for (word, bits) in words.iter().zip(row) {
                compared += 1;
                wrong.extend(T::wrong(*word, *point, *bits).map(|what| format!("{}: {what}", word.name())));
            }
        }
    }
    wrong.sort();
    wrong.dedup_by_key(|line| line.split(':').next().map(str::to_owned));
    assert!(wrong.is_empty(), "{}, on {device:?}:\n  {}", T::ELEM, wrong.join("\n  "));
    Ok(compared)
}

/// Every type on a device.
fn hold_all(device: &Device, points: usize) -> Result<usize, Error> {
    Ok(hold::<f32>(device, points)?
        + hold::<f64>(device, points)?
        + hold::<f16>(device, points)?
        + hold::<bf16>(device, points)?
        + hold::<i8>(device, points)?
        + hold::<u8>(device, points)?
        + hold::<i16>(device, points)?
        + hold::<u16>(device, points)?
        + hold::<i32>(device, points)?
        + hold::<u32>(device, points)?
        + hold::<i64>(device, points)?
        + hold::<u64>(device, points)?)
}

#[test]
fn the_simulator_keeps_what_the_docs_promise() -> Result<(), Error> {
    let compared = hold_all(&Device::simulator(), 3000)?;
    assert!(compared > 3000 * 300, "{compared}");
    Ok(())
}

#[test]
fn a_gpu_keeps_what_the_docs_promise() -> Result<(), Error> {
    let Some(gpu) = gpu() else { return Ok(()) };
    let compared = hold_all(&gpu, 1 << 20)?;
    println!("{compared} results on {gpu:?}");
    Ok(())
}

#[test]
fn a_result_that_is_too_far_is_reported() {
    let point = Point { a: 0.5f32, b: 0.0, c: 0.0, n: 0 };
    let bits = u64::from(0.5f32.sin().to_bits());
    assert_eq!(f32::wrong(Math::Sin, point, bits + 2), None);
    assert!(f32::wrong(Math::Sin, point, bits + 3).is_some());
    assert!(f32::wrong(Math::Floor, point, 1 << 31).is_some());
    assert!(i8::wrong(Math::Abs, Point { a: -3i8, b: 0, c: 0, n: 0 }, 4).is_some());
}

/// The smaller, as PTX has it: the number beside NaN, and -0 below 0.
fn smaller(a: f64, b: f64) -> f64 {
    match () {
        () if a.is_nan() => b,
        () if b.is_nan() || a < b || (a == b && a.is_sign_negative()) => a,
        () => b,
    }
}

/// The words whose result is a value of the operands' or of this type, by functions that round once: `None` of others.
macro_rules! rounded_once {
    ($word:expr, $float:ty, $a:expr, $b:expr, $c:expr) => {{
        let (a, b, c): ($float, $float, $float) = ($a, $b, $c);
        let wide = |value: $float| f64::from(value);
        let least = |a, b| smaller(wide(a), wide(b)) as $float;
        let most = |a: $float, b: $float| -(smaller(-wide(a), -wide(b)) as $float);
        match $word {
            Math::Min => Some(least(a, b)),
            Math::Max => Some(most(a, b)),
            Math::Clamp => Some(match (least(b, c), most(b, c)) {
                (low, _) if a < low => low,
                (_, high) if a > high => high,
                _ => a,
            }),
            Math::Abs => Some(a.abs()),
            Math::Signum => Some(a.signum()),
            Math::Copysign => Some(a.copysign(b)),
            Math::MulAdd => Some(a.mul_add(b, c)),
            Math::Floor => Some(a.floor()),
            Math::Ceil => Some(a.ceil()),
            Math::Round => Some(a.round()),
            Math::RoundTiesEven => Some(a.round_ties_even()),
            Math::Trunc => Some(a.trunc()),
            Math::Fract => Some(a.fract()),
            Math::Sqrt => Some(a.sqrt()),
            Math::Recip => Some(a.recip()),
            _ => None,
        }
    }};
}

/// The other words, in `f64`.
fn exact(word: Math, a: f64, b: f64, n: i32) -> f64 {
    match word {
        Math::Rsqrt | Math::RsqrtApprox => 1.0 / a.sqrt(),
        Math::SqrtApprox => a.sqrt(),
        Math::Cbrt => a.cbrt(),
        Math::Hypot => a.hypot(b),
        Math::Exp => a.exp(),
        Math::Exp2 | Math::Exp2Approx => a.exp2(),
        Math::ExpM1 => a.exp_m1(),
        Math::Ln => a.ln(),
        Math::Ln1p => a.ln_1p(),
        Math::Log2 | Math::Log2Approx => a.log2(),
        Math::Log10 => a.log10(),
        Math::Powf => a.powf(b),
        Math::Powi => a.powi(n),
        Math::Sin | Math::SinApprox => a.sin(),
        Math::Cos | Math::CosApprox => a.cos(),
        Math::Tan => a.tan(),
        Math::Asin => a.asin(),
        Math::Acos => a.acos(),
        Math::Atan => a.atan(),
        Math::Atan2 => a.atan2(b),
        Math::Sinh => a.sinh(),
        Math::Cosh => a.cosh(),
        Math::Tanh | Math::TanhApprox => a.tanh(),
        Math::Erf => libm::erf(a),
        Math::RecipApprox => 1.0 / a,
        Math::DivApprox => a / b,
        other => panic!("`{}` has no reference here", other.name()),
    }
}

/// What is wrong with a float result that is promised to be near.
fn far(word: Math, elem: Elem, [a, b]: [f64; 2], n: i32, found: f64) -> Option<String> {
    let least = if elem == Elem::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
    let flushed = |value: f64| if word.flushes() && value.abs() < least { 0.0 * value } else { value };
    let (x, y) = (flushed(a), flushed(b));
    let exact = exact(word, x, y, n);
    let operands = if word == Math::Powi { [x, n.into()] } else { [x, y] };
    let error = match word.error(elem) {
        MaxError::Ulps(own) if elem == Elem::F64 => MaxError::Ulps(own + HOST),
        other => other,
    };
    let power = x.abs().powi(n.abs());
    let powers_leave = word == Math::Powi && (power < 2.0 * least || power * least * 2.0 > 1.0);
    let underflows = word.flushes() && found == 0.0 && exact.abs() < least * (1.0 + 1e-6);
    let near = powers_leave || underflows || error.allows(elem, &operands, exact, found);
    (!near).then(|| format!("of {a:e}, {b:e}, {n}: {found:e} for {exact:e}, promised: {error}"))
}

macro_rules! floats {
    ($($ty:ident: $wide:ident, $to_wide:expr, $from_wide:expr;)*) => {$(
        impl Number for $ty {
            fn point(random: &mut Random, i: usize) -> Point<$ty> {
                let from = |value: f64| ($from_wide)(value as $wide);
                let value = |random: &mut Random, kind: usize| -> $ty {
                    match kind % 4 {
                        0 => <$ty as Element>::from_bits(random.next()),
                        1 => from(10.0 * random.unit()),
                        2 => from(random.unit() * (30.0 * random.unit()).exp2()),
                        _ => from(random.unit()),
                    }
                };
                let (a, b, c) = (value(random, i), value(random, i / 4), value(random, i / 16));
                Point { a, b, c, n: (random.next() % 41) as i32 - 20 }
            }

            fn wrong(word: Math, point: Point<$ty>, bits: u64) -> Option<String> {
                let own = |value: $ty| -> $wide { ($to_wide)(value) };
                let (x, y, z) = (own(point.a), own(point.b), own(point.c));
                let found = own(<$ty as Element>::from_bits(bits));
                let raw = Element::to_bits(point.a);
                let wanted = match word {
                    Math::IsNan => u64::from(x.is_nan()),
                    Math::IsFinite => u64::from(x.is_finite()),
                    Math::IsInfinite => u64::from(x.is_infinite()),
                    // Which NaN it is, is open.
                    Math::ToBits | Math::FromBits if x.is_nan() || y.is_nan() => return None,
                    Math::ToBits => raw,
                    Math::FromBits => match raw ^ Element::to_bits(point.b) {
                        bits if own(<$ty as Element>::from_bits(bits)).is_nan() => return None,
                        bits => bits,
                    },
                    _ => match rounded_once!(word, $wide, x, y, z) {
                        Some(value) if value.is_nan() && found.is_nan() => return None,
                        Some(value) => Element::to_bits(($from_wide)(value)),
                        None => {
                            let operands = [x.into(), y.into()];
                            return far(word, Self::ELEM, operands, point.n, found.into());
                        }
                    },
                };
                (bits != wanted).then(|| format!("of {x:e}, {y:e}, {z:e}: {bits:#x} for {wanted:#x}"))
            }
        }
    )*};
}

floats! {
    f32: f32, |value| value, |value| value;
    f64: f64, |value| value, |value| value;
    f16: f32, f16::to_f32, f16::from_f32;
    bf16: f32, bf16::to_f32, bf16::from_f32;
}

/// The words of bytes and pairs, of 32 bits.
fn of_words(word: Math, signed: bool, [a, b, c]: [u32; 3], n: u32) -> u64 {
    let pair = u64::from(a) << 32 | u64::from(b);
    if let Some(word) = packed(word.name()) {
        return word(a, b).into();
    }
    match word {
        Math::FunnelShiftLeft => pair << (n % 32) >> 32,
        Math::FunnelShiftRight => u64::from((pair >> (n % 32)) as u32),
        Math::BytePerm => {
            let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
            let picked = [0, 4, 8, 12].map(|place| bytes[(c >> place) as usize % 8]);
            u32::from_le_bytes(picked).into()
        }
        // Dot4.
        _ => {
            let byte = |byte: u8| if signed { i32::from(byte as i8) } else { i32::from(byte) };
            let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
            let sum = products.fold(c as i32, |sum, (a, b)| sum.wrapping_add(byte(a) * byte(b)));
            if signed { sum as u64 } else { u64::from(sum as u32) }
        }
    }
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            fn point(random: &mut Random, i: usize) -> Point<$ty> {
                let value = |random: &mut Random, kind: usize| {
                    let any = random.next() as $ty;
                    match kind % 4 {
                        0 => any,
                        1 => any >> (random.next() % u64::from($ty::BITS)),
                        2 => [0, 1, 2, $ty::MAX, $ty::MIN, $ty::MAX - 1][any as usize % 6],
                        _ => any % 100,
                    }
                };
                let (a, b, c) = (value(random, i), value(random, i / 4), value(random, i / 16));
                Point { a, b, c, n: (random.next() % 141) as i32 - 70 }
            }

            #[allow(unused_comparisons, clippy::unnecessary_cast, reason = "one text for every type")]
            fn wrong(word: Math, Point { a, b, c, n }: Point<$ty>, bits: u64) -> Option<String> {
                let least = $ty::MIN;
                let n = n as u32;
                let wanted = match word {
                    Math::Min => a.min(b) as u64,
                    Math::Max => a.max(b) as u64,
                    Math::Clamp => a.clamp(b.min(c), b.max(c)) as u64,
                    Math::Abs | Math::WrappingAbs => (if a < 0 { (0 as $ty).wrapping_sub(a) } else { a }) as u64,
                    Math::Signum => (i64::from(a > 0) - i64::from(a < 0)) as u64,
                    Math::CountOnes => (0..$ty::BITS).filter(|bit| a >> bit & 1 != 0).count() as u64,
                    Math::LeadingZeros => a.leading_zeros().into(),
                    Math::TrailingZeros => a.trailing_zeros().into(),
                    Math::RotateLeft => a.rotate_left(n) as u64,
                    Math::RotateRight => a.rotate_right(n) as u64,
                    Math::ReverseBits => a.reverse_bits() as u64,
                    Math::SwapBytes => a.swap_bytes() as u64,
                    Math::Pow => a.wrapping_pow(n) as u64,
                    Math::Ilog2 => ($ty::BITS - 1).wrapping_sub(a.leading_zeros()).into(),
                    Math::IsPowerOfTwo => u64::from(a.count_ones() == 1),
                    Math::AbsDiff => a.abs_diff(b) as u64,
                    Math::SaturatingAdd => a.saturating_add(b) as u64,
                    Math::SaturatingSub => a.saturating_sub(b) as u64,
                    Math::SaturatingMul => a.saturating_mul(b) as u64,
                    _ => of_words(word, least < 0, [a as u32, b as u32, c as u32], n),
                };
                (bits != wanted).then(|| format!("of {a}, {b}, {c}, {n}: {bits:#x} for {wanted:#x}"))
            }
        }
    )*};
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);
