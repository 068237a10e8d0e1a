//! Words that a stranger missed, one row each: the same text is a kernel on the simulator and a function of the program.
//!
//! Law: the kernel's element is the function's of the same operands: exactly for integers and for what Rust rounds correctly, else
//! within the bound of the row, in parts of the value. What Rust has no word for is said in Rust beside it.

use super::run;
use packed::*;

use crate::precision::packed;

/// A type of operands and results: its name in a kernel, its bytes, and values of all kinds.
trait Cell: Copy + PartialEq + std::fmt::Debug {
    const NAME: &'static str;
    fn bytes(self) -> Vec<u8>;
    fn of(bytes: &[u8]) -> Self;
    fn sample(number: usize) -> Self;
    fn far(self, other: Self) -> f64;
}

macro_rules! cells {
    ($($ty:ident: $sample:expr, $far:expr;)*) => {$(
        impl Cell for $ty {
            const NAME: &'static str = stringify!($ty);
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn of(bytes: &[u8]) -> $ty {
                $ty::from_le_bytes(bytes.try_into().expect("as many bytes"))
            }
            fn sample(number: usize) -> $ty {
                let sample: fn(usize) -> $ty = $sample;
                sample(number)
            }
            fn far(self, other: $ty) -> f64 {
                let far: fn($ty, $ty) -> f64 = $far;
                far(self, other)
            }
        }
    )*};
}

/// Integers: small ones, and bits of all kinds.
fn bits(number: usize) -> u64 {
    let mixed = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    if number.is_multiple_of(3) { number as u64 } else { mixed ^ mixed >> 29 }
}

fn apart(a: f64, b: f64) -> f64 {
    if a == b || a.is_nan() && b.is_nan() { 0.0 } else { (a - b).abs() / b.abs().max(1e-30) }
}

cells! {
    u8: |n| bits(n) as u8, |a, b| f64::from(u8::from(a != b));
    u16: |n| bits(n) as u16, |a, b| f64::from(u8::from(a != b));
    u32: |n| bits(n) as u32, |a, b| f64::from(u8::from(a != b));
    u64: bits, |a, b| f64::from(u8::from(a != b));
    i8: |n| bits(n) as i8, |a, b| f64::from(u8::from(a != b));
    i16: |n| bits(n) as i16, |a, b| f64::from(u8::from(a != b));
    i32: |n| bits(n) as i32, |a, b| f64::from(u8::from(a != b));
    i64: |n| bits(n) as i64, |a, b| f64::from(u8::from(a != b));
    f32: |n| [0.3, -0.7, 1.0, 0.0, -2.5, 7.25, 0.9][n % 7] + (n / 7) as f32 * 0.125, |a, b| apart(a.into(), b.into());
    f64: |n| [0.3, -0.7, 1.0, 0.0, -2.5, 7.25, 0.9][n % 7] + (n / 7) as f64 * 0.125, apart;
}

/// How many elements a row has: those of a warp.
const COUNT: usize = 32;

/// A row as a kernel: `a`, `b` and `c` are the thread's operands.
fn found<T: Cell, U: Cell>(body: &str) -> Vec<U> {
    let (ty, to) = (T::NAME, U::NAME);
    let text = format!(
        "#[tiled_kernel(block = [{COUNT}], grid = [1])]
fn row(x: &LayoutTensor<{ty}, RowMajor<3, {COUNT}>>, y: &mut LayoutTensor<{to}, RowMajor<{COUNT}>>) {{
    let i = thread_idx.x;
    let (a, b, c) = (x[[0, i]], x[[1, i]], x[[2, i]]);
    y[[i]] = {body};
}}"
    );
    let x: Vec<u8> = (0..3).flat_map(operands::<T>).flat_map(Cell::bytes).collect();
    let size = U::sample(0).bytes().len();
    let mut y = vec![0; COUNT * size];
    run(&text, &[(T::NAME, &[3, COUNT], x)], (U::NAME, &[COUNT], &mut y));
    y.chunks(size).map(U::of).collect()
}

/// An operand of every thread.
fn operands<T: Cell>(operand: usize) -> Vec<T> {
    (0..COUNT).map(|i| T::sample(i * [1, 5, 11][operand] + operand)).collect()
}

fn held<T: Cell, U: Cell>(body: &str, bound: f64, host: impl Fn(T, T, T) -> U) -> Option<String> {
    let [a, b, c] = [0, 1, 2].map(operands::<T>);
    let found = found::<T, U>(body);
    let wrong = (0..COUNT).find(|i| found[*i].far(host(a[*i], b[*i], c[*i])) > bound)?;
    let wanted = host(a[wrong], b[wrong], c[wrong]);
    Some(format!(
        "{body} of {:?}, {:?}, {:?} is {:?}, not {wanted:?}",
        a[wrong], b[wrong], c[wrong], found[wrong]
    ))
}

macro_rules! rows {
    (|$a:ident, $b:ident, $c:ident| $($ty:ident => $to:ident $(within $bound:literal)?: $($body:expr),+;)*) => {{
        let mut wrong: Vec<String> = vec![];
        $({
            let bound = 0.0 $(+ $bound)?;
            $({
                #[allow(unused_variables, clippy::all)]
                let host = |$a: $ty, $b: $ty, $c: $ty| -> $to { $body };
                wrong.extend(held::<$ty, $to>(stringify!($body), bound, host));
            })+
        })*
        assert!(wrong.is_empty(), "{wrong:#?}");
    }};
}

/// What CUDA has and Rust has not, in Rust.
trait Device {
    fn rsqrt(self) -> f32;
    fn exp2_approx(self) -> f32;
    fn log2_approx(self) -> f32;
    fn tanh_approx(self) -> f32;
    fn rsqrt_approx(self) -> f32;
    fn sqrt_approx(self) -> f32;
    fn recip_approx(self) -> f32;
    fn div_approx(self, by: f32) -> f32;
}

impl Device for f32 {
    fn rsqrt(self) -> f32 {
        1.0 / self.sqrt()
    }
    fn exp2_approx(self) -> f32 {
        self.exp2()
    }
    fn log2_approx(self) -> f32 {
        self.log2()
    }
    fn tanh_approx(self) -> f32 {
        self.tanh()
    }
    fn rsqrt_approx(self) -> f32 {
        1.0 / self.sqrt()
    }
    fn sqrt_approx(self) -> f32 {
        self.sqrt()
    }
    fn recip_approx(self) -> f32 {
        1.0 / self
    }
    fn div_approx(self, by: f32) -> f32 {
        self / by
    }
}

fn byte_perm(a: u32, b: u32, selector: u32) -> u32 {
    let eight = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    u32::from_le_bytes(std::array::from_fn(|byte| eight[(selector >> (4 * byte) & 7) as usize]))
}

fn funnel_shift_left(high: u32, low: u32, n: u32) -> u32 {
    (((u64::from(high) << 32 | u64::from(low)) << (n % 32)) >> 32) as u32
}

fn funnel_shift_right(high: u32, low: u32, n: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> (n % 32)) as u32
}

fn dot4(a: i32, b: i32, c: i32) -> i32 {
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    products.fold(c, |sum, (a, b)| sum.wrapping_add(i32::from(a as i8) * i32::from(b as i8)))
}

#[test]
fn mathematics() {
    use std::f32::consts;
    rows! {
        |a, b, c|
        // `rsqrt`, `recip`, `sin`, `cos`, `tan`, `floor`, `ceil`, `round`, `trunc`, `fract`
        f32 => f32 within 4e-7: (a.abs() + 0.1).rsqrt(), a.sin(), a.cos(), a.tan();
        f32 => f32: (a + 0.01).recip(), a.floor(), a.ceil(), a.round(), a.trunc(), a.fract(), a.round_ties_even();
        // `log2`, `powf`, `powi`, `clamp`, `signum`, `is_nan`, `%` of floats, `to_bits`, `from_bits`
        f32 => f32 within 1e-6: (a.abs() + 1.5).log2(), (a.abs() + 0.5).powf(b), a.powi(3), a.powi(-2);
        f32 => f32: a.clamp(-0.5, 1.25), a.signum(), a % 0.75, a % (b + 0.01), f32::from_bits(a.to_bits() ^ 1);
        f32 => u32: a.to_bits(), (a / 0.0).is_nan() as u32, (a - a).is_nan() as u32;
        // Approximate forms, and `exp2` of a whole kernel.
        f32 => f32 within 1e-3: a.exp2_approx(), (a.abs() + 1.5).log2_approx(), (a.abs() + 0.1).rsqrt_approx(), a.abs().sqrt_approx(), (a + 0.01).recip_approx(), a.div_approx(b + 0.01), a.tanh_approx();
        // The rest of the list, and constants.
        f32 => f32 within 2e-6: (a / 9.0).asin(), (a / 9.0).acos(), a.atan(), a.atan2(b), a.sinh(), a.cosh(), a.tanh(), a.exp(), a.exp2(), a.exp_m1(), (a.abs() + 0.1).ln(), a.abs().ln_1p(), (a.abs() + 0.1).log10(), a.cbrt(), a.hypot(b);
        f32 => f32: a.copysign(b), a.mul_add(b, c), a.min(b), a.max(b), a.abs(), a.abs().sqrt(), a * consts::PI, a.min(f32::INFINITY);
        f64 => f64 within 1e-14: a.sin(), a.exp(), (a.abs() + 0.5).powf(b), a.tanh(), a.cbrt();
    }
}

#[test]
fn bits_and_integers() {
    rows! {
        |a, b, c|
        // `count_ones`, `leading_zeros`, `trailing_zeros`, `rotate_left`, `reverse_bits`
        u32 => u32: a.count_ones(), a.leading_zeros(), a.trailing_zeros(), a.rotate_left(b), a.rotate_right(7), a.reverse_bits(), a.swap_bytes();
        u64 => u64: a.count_ones() as u64, a.rotate_left(13), a.reverse_bits();
        // `wrapping_mul` and its kind, `pow`, `is_power_of_two`, `abs_diff`, `div_euclid`
        u32 => u32: a.wrapping_mul(b), a.wrapping_add(b).wrapping_sub(c), a.saturating_sub(b), a.saturating_add(b), a.pow(0), (a % 9).pow(3), a.is_power_of_two() as u32, a.abs_diff(b), (a | 1).ilog2();
        i32 => i32: a.wrapping_mul(b), a.wrapping_neg(), a.div_euclid(7), a.rem_euclid(-7), a.div_euclid(b | 1), a.saturating_mul(b), a.signum();
        i32 => u32: a.abs_diff(b);
        // `byte_perm`, funnel shifts, `dp4a`
        u32 => u32: byte_perm(a, b, 0x4735), byte_perm(a, b, 0x0123), funnel_shift_left(a, b, 9), funnel_shift_right(a, b, c);
        i32 => i32: dot4(a, b, c);
        // Bytes and halves of words.
        u32 => u32: min_u8x4(a, b), min_i8x4(a, b), min_u16x2(a, b), min_i16x2(a, b), max_u8x4(a, b), max_i8x4(a, b), max_u16x2(a, b), max_i16x2(a, b), add_u8x4(a, b), add_u16x2(a, b), sub_u8x4(a, b), sub_u16x2(a, b), gt_u8x4(a, b), gt_i8x4(a, b), gt_u16x2(a, b), gt_i16x2(a, b), eq_u8x4(a, b), eq_u16x2(a, b);
        // `u32::MAX`, `T::ZERO`
        u32 => u32: a.min(u32::MAX - 3), u32::BITS - a.leading_zeros();
        // `u16`, `i16`, `u64`, `i64` as values and elements with Rust's wrap-around
        u16 => u16: a.wrapping_mul(b), a.wrapping_add(b), a / (b | 1), a >> 3, (a as i16 >> 2) as u16, !a;
        i16 => i16: a.wrapping_mul(b), a.wrapping_sub(b), a.wrapping_shl(3), a >> 5, a ^ b;
        u64 => u64: a.wrapping_mul(b), a / (b | 1), a % (b | 1), a >> 40, (a as f64) as u64;
        i64 => i64: a.wrapping_mul(b), a / (b | 1), a % (b | 1), a >> 40, (a as i32) as i64;
        u8 => u8: a.wrapping_add(b), a.rotate_left(3);
        i8 => i8: a.wrapping_mul(b), a >> 2;
    }
}

/// What is beyond the edge is an infinity where the type has one; the bits of each type.
#[test]
fn a_pad_is_a_value_of_its_type() {
    let text = |ty: &str, pad: &str| {
        format!(
            "#[tiled_kernel(block = [4], grid = [1])]
fn padded(x: &LayoutTensor<{ty}, RowMajor<3>>, y: &mut LayoutTensor<{ty}, RowMajor<4>>) {{
    y[[thread_idx.x]] = x.pad({pad}).tile([4], [0])[[thread_idx.x]];
}}"
        )
    };
    for (ty, infinity, half) in [
        ("f64", f64::INFINITY.to_le_bytes().to_vec(), 0.5f64.to_le_bytes().to_vec()),
        ("f32", f32::INFINITY.to_le_bytes().to_vec(), 0.5f32.to_le_bytes().to_vec()),
        ("f16", vec![0x00, 0x7c], vec![0x00, 0x38]),
        ("bf16", vec![0x80, 0x7f], vec![0x00, 0x3f]),
        ("e5m2", vec![0x7c], vec![0x38]),
        ("e4m3", vec![], vec![0x30]),
    ] {
        let size = half.len();
        let minus = |mut bits: Vec<u8>| {
            bits.last_mut().into_iter().for_each(|last| *last |= 0x80);
            bits
        };
        for (pad, wanted) in [
            ("f32::INFINITY", infinity.clone()),
            ("f32::NEG_INFINITY", minus(infinity)),
            ("0.5f32", half.clone()),
            ("-0.5", minus(half)),
        ] {
            let text = text(ty, pad);
            if wanted.is_empty() {
                let found = super::wrong(&text);
                let sign = if pad.contains("NEG") { "-" } else { "" };
                let help = format!("the last number on that side is {sign}448.0");
                assert!(
                    found[0].contains("`pad` of e4m3, which has no infinity") && found[0].contains(&help),
                    "{found:?}"
                );
                continue;
            }
            let x: Vec<u8> = (0..3 * size as u8).collect();
            let mut y = vec![0xff; 4 * size];
            run(&text, &[(ty, &[3], x.clone())], (ty, &[4], &mut y));
            assert_eq!(y, [x, wanted].concat(), "{pad} of {ty}");
        }
    }
    // No value of the type.
    assert!(!super::wrong(&text("e5m2", "1e30f32")).is_empty());
}

/// A word of the threads that are together, and what it gives of all their values at a place.
type Row<T, U> = (&'static str, fn(&[T], usize) -> U);

/// What the lanes of a warp do together: every lane's value, of all lanes' operands.
fn together<T: Cell, U: Cell>(rows: &[Row<T, U>]) {
    let a = operands::<T>(0);
    for (body, host) in rows {
        let wanted: Vec<U> = (0..COUNT).map(|lane| host(&a, lane)).collect();
        assert_eq!(found::<T, U>(body), wanted, "{body}");
    }
}

#[test]
fn warps() {
    // `sync_warp`, `match_any`, sums of a warp in one instruction, shuffles of 16-bit elements
    together::<u32, u32>(&[
        ("{ sync_warp(); a }", |a, i| a[i]),
        ("match_any(a % 3)", |a, i| (0..32).map(|k| u32::from(a[k] % 3 == a[i] % 3) << k).sum()),
        ("a.warp_sum()", |a, _| a.iter().fold(0, |all, x| all.wrapping_add(*x))),
        ("a.warp_min()", |a, _| *a.iter().min().expect("a warp")),
        ("a.warp_xor()", |a, _| a.iter().fold(0, |all, x| all ^ x)),
        ("{ named_barrier(1, 32); a }", |a, i| a[i]),
    ]);
    together::<i16, i16>(&[
        ("a.shuffle(i + 1)", |a, i| a[(i + 1) % 32]),
        ("a.shuffle_xor(5)", |a, i| a[i ^ 5]),
        ("a.shuffle_up(3)", |a, i| a[if i < 3 { i } else { i - 3 }]),
    ]);
    together::<u8, u8>(&[("a.shuffle_down(2)", |a, i| a[if i > 29 { i } else { i + 2 }])]);
    together::<u64, u64>(&[("a.shuffle_xor(16)", |a, i| a[i ^ 16])]);
}
