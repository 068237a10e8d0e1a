//! Numbers against plain Rust: every type's arithmetic over whole domains, conversions, annotations, indices of values.

use layout_compiler::{ParamSet, Promises, compile, emit};
use layout_cuda::{Definition, Device, Element, Error, tiled_kernel};
use layout_tests::support::cubin::Cost;

/// Each operator, and each compound assignment: a column for each.
#[tiled_kernel(
    T = [u8, i8, u16, i16, u32, i32, u64, i64],
    block = [256], grid = [N.div_ceil(256)],
)]
fn arithmetic<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &LayoutTensor<T, RowMajor<N>>,
    z: &mut LayoutTensor<T, RowMajor<N, 14>>,
    truth: &mut LayoutTensor<u8, RowMajor<N, 6>>,
) {
    let i = block_idx.x * 256 + thread_idx.x;
    if i < N {
        let (a, b) = (x[[i]], y[[i]]);
        z[[i, 0]] = a + b;
        z[[i, 1]] = a - b;
        z[[i, 2]] = a * b;
        z[[i, 3]] = a & b;
        z[[i, 4]] = a | b;
        z[[i, 5]] = a ^ b;
        z[[i, 6]] = a << b;
        z[[i, 7]] = a >> b;
        z[[i, 8]] = a.min(b);
        z[[i, 9]] = a.max(b);
        z[[i, 10]] = !(a + b) / T::MAX;
        if b != T::ZERO {
            z[[i, 11]] = a / b;
            z[[i, 12]] = a % b;
        }
        let mut v = a;
        v += b;
        v *= v;
        v -= T::ONE;
        v <<= T::ONE;
        v |= T::ONE;
        z[[i, 13]] = (v >> T::ONE) + T::MIN;
        truth[[i, 0]] = (a < b) as u8;
        truth[[i, 1]] = (a <= b) as u8;
        truth[[i, 2]] = (a + b > a) as u8;
        truth[[i, 3]] = (a >= b) as u8;
        truth[[i, 4]] = (a - b == b) as u8;
        truth[[i, 5]] = (a * b != b) as u8;
    }
}

/// The integers of one type in Rust.
trait Int: Element + PartialOrd {
    fn arithmetic(self, other: Self) -> ([Self; 14], [u8; 6]);
    /// Every value of 8 bits, else those around the ends and the powers of two.
    fn domain() -> Vec<Self>;
    fn wide(self) -> i128;
}

macro_rules! int {
    ($($ty:ty),*) => {$(
        impl Int for $ty {
            fn arithmetic(self, b: $ty) -> ([$ty; 14], [u8; 6]) {
                let a = self;
                let v = a.wrapping_add(b);
                let v = v.wrapping_mul(v).wrapping_sub(1).wrapping_shl(1) | 1;
                let safe = b != 0;
                let z = [
                    a.wrapping_add(b),
                    a.wrapping_sub(b),
                    a.wrapping_mul(b),
                    a & b,
                    a | b,
                    a ^ b,
                    a.wrapping_shl(b as u32),
                    a.wrapping_shr(b as u32),
                    a.min(b),
                    a.max(b),
                    !a.wrapping_add(b) / <$ty>::MAX,
                    if safe { a.wrapping_div(b) } else { 0 },
                    if safe { a.wrapping_rem(b) } else { 0 },
                    (v >> 1).wrapping_add(<$ty>::MIN),
                ];
                let truth = [
                    a < b,
                    a <= b,
                    a.wrapping_add(b) > a,
                    a >= b,
                    a.wrapping_sub(b) == b,
                    a.wrapping_mul(b) != b,
                ];
                (z, truth.map(u8::from))
            }
            fn domain() -> Vec<$ty> {
                if <$ty>::BITS == 8 {
                    return (<$ty>::MIN..=<$ty>::MAX).collect();
                }
                let powers = (0..<$ty>::BITS).step_by(5).map(|n| (1 as $ty) << n);
                let around = powers.flat_map(|p| [p, p.wrapping_sub(1), p.wrapping_neg()]);
                let ends = [<$ty>::MIN, <$ty>::MIN + 1, <$ty>::MAX, <$ty>::MAX - 1, 0, 3, (0 as $ty).wrapping_sub(7)];
                around.chain(ends).collect()
            }
            fn wide(self) -> i128 {
                self as i128
            }
        }
    )*};
}
int!(u8, i8, u16, i16, u32, i32, u64, i64);

fn arithmetic_of<T: Int>() -> Result<(), Error> {
    let domain = T::domain();
    let pairs: Vec<(T, T)> = domain.iter().flat_map(|a| domain.iter().map(|b| (*a, *b))).collect();
    let n = pairs.len();
    let device = Device::simulator();
    let x = device.upload(&pairs.iter().map(|(a, _)| *a).collect::<Vec<T>>(), [n])?;
    let y = device.upload(&pairs.iter().map(|(_, b)| *b).collect::<Vec<T>>(), [n])?;
    let mut z = device.zeros::<T, 2>([n, 14])?;
    let mut truth = device.zeros::<u8, 2>([n, 6])?;
    arithmetic::launch(&device.stream(), &x, &y, &mut z, &mut truth)?;
    let (z, truth) = (z.download()?, truth.download()?);
    for (i, (a, b)) in pairs.into_iter().enumerate() {
        let (wanted, truths) = a.arithmetic(b);
        let found = &z[14 * i..14 * i + 14];
        assert!(
            found.iter().zip(&wanted).all(|(a, b)| a.to_bits() == b.to_bits()),
            "{a:?} {b:?}: {found:?} {wanted:?}"
        );
        assert_eq!(truth[6 * i..6 * i + 6], truths, "{a:?} {b:?}");
    }
    Ok(())
}

#[test]
fn integers_of_every_type_compute_as_rust_does() -> Result<(), Error> {
    arithmetic_of::<u8>()?;
    arithmetic_of::<i8>()?;
    arithmetic_of::<u16>()?;
    arithmetic_of::<i16>()?;
    arithmetic_of::<u32>()?;
    arithmetic_of::<i32>()?;
    arithmetic_of::<u64>()?;
    arithmetic_of::<i64>()
}

/// Whole parts of unsigned values.
#[tiled_kernel(T = [u8, u16, u32, u64], block = [256], grid = [N.div_ceil(256)])]
fn parts<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &LayoutTensor<T, RowMajor<N>>,
    z: &mut LayoutTensor<T, RowMajor<N>>,
) {
    let i = block_idx.x * 256 + thread_idx.x;
    if i < N && y[[i]] != T::ZERO {
        z[[i]] = x[[i]].div_ceil(y[[i]]);
    }
}

#[test]
fn values_divide_up_as_rusts() -> Result<(), Error> {
    macro_rules! agree {
        ($($ty:ident)*) => {$({
            let domain = $ty::domain();
            let pairs: Vec<($ty, $ty)> = domain.iter().flat_map(|a| domain.iter().map(|b| (*a, *b))).collect();
            let (device, n) = (Device::simulator(), pairs.len());
            let x = device.upload(&pairs.iter().map(|(a, _)| *a).collect::<Vec<$ty>>(), [n])?;
            let y = device.upload(&pairs.iter().map(|(_, b)| *b).collect::<Vec<$ty>>(), [n])?;
            let mut z = device.zeros::<$ty, 1>([n])?;
            parts::launch(&device.stream(), &x, &y, &mut z)?;
            let wanted: Vec<$ty> = pairs.iter().map(|(a, b)| if *b == 0 { 0 } else { a.div_ceil(*b) }).collect();
            assert_eq!(z.download()?, wanted);
        })*};
    }
    agree!(u8 u16 u32 u64);
    Ok(())
}

/// A value as every other type.
#[tiled_kernel(
    T = [u8, i8, u16, i16, u32, i32, u64, i64, f32, f64],
    block = [64], grid = [N.div_ceil(64)],
)]
fn casts<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    bytes: &mut LayoutTensor<u8, RowMajor<N>>,
    signed_bytes: &mut LayoutTensor<i8, RowMajor<N>>,
    shorts: &mut LayoutTensor<u16, RowMajor<N>>,
    signed_shorts: &mut LayoutTensor<i16, RowMajor<N>>,
    words: &mut LayoutTensor<u32, RowMajor<N>>,
    ints: &mut LayoutTensor<i32, RowMajor<N>>,
    longs: &mut LayoutTensor<u64, RowMajor<N>>,
    signed_longs: &mut LayoutTensor<i64, RowMajor<N>>,
    floats: &mut LayoutTensor<f32, RowMajor<N>>,
    doubles: &mut LayoutTensor<f64, RowMajor<N>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let v = x[[i]];
        bytes[[i]] = v as u8;
        signed_bytes[[i]] = v as i8;
        shorts[[i]] = v as u16;
        signed_shorts[[i]] = v as i16;
        words[[i]] = v as u32;
        ints[[i]] = v as i32;
        longs[[i]] = v as u64;
        signed_longs[[i]] = v as i64;
        floats[[i]] = v as f32;
        doubles[[i]] = v as f64;
    }
}

macro_rules! casts_of {
    ($ty:ty, $domain:expr) => {{
        let domain: Vec<$ty> = $domain;
        let n = domain.len();
        let device = Device::simulator();
        let x = device.upload(&domain, [n])?;
        let (mut a, mut b) = (device.zeros::<u8, 1>([n])?, device.zeros::<i8, 1>([n])?);
        let (mut c, mut d) = (device.zeros::<u16, 1>([n])?, device.zeros::<i16, 1>([n])?);
        let (mut e, mut f) = (device.zeros::<u32, 1>([n])?, device.zeros::<i32, 1>([n])?);
        let (mut g, mut h) = (device.zeros::<u64, 1>([n])?, device.zeros::<i64, 1>([n])?);
        let (mut k, mut l) = (device.zeros::<f32, 1>([n])?, device.zeros::<f64, 1>([n])?);
        casts::launch(
            &device.stream(),
            &x,
            &mut a,
            &mut b,
            &mut c,
            &mut d,
            &mut e,
            &mut f,
            &mut g,
            &mut h,
            &mut k,
            &mut l,
        )?;
        assert_eq!(a.download()?, domain.iter().map(|v| *v as u8).collect::<Vec<_>>());
        assert_eq!(b.download()?, domain.iter().map(|v| *v as i8).collect::<Vec<_>>());
        assert_eq!(c.download()?, domain.iter().map(|v| *v as u16).collect::<Vec<_>>());
        assert_eq!(d.download()?, domain.iter().map(|v| *v as i16).collect::<Vec<_>>());
        assert_eq!(e.download()?, domain.iter().map(|v| *v as u32).collect::<Vec<_>>());
        assert_eq!(f.download()?, domain.iter().map(|v| *v as i32).collect::<Vec<_>>());
        assert_eq!(g.download()?, domain.iter().map(|v| *v as u64).collect::<Vec<_>>());
        assert_eq!(h.download()?, domain.iter().map(|v| *v as i64).collect::<Vec<_>>());
        let bits = |v: Vec<f32>| v.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(k.download()?), domain.iter().map(|v| (*v as f32).to_bits()).collect::<Vec<_>>());
        let bits = |v: Vec<f64>| v.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(l.download()?), domain.iter().map(|v| (*v as f64).to_bits()).collect::<Vec<_>>());
    }};
}

#[test]
#[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "one text for every type")]
fn casts_are_rusts() -> Result<(), Error> {
    casts_of!(u8, u8::domain());
    casts_of!(i8, i8::domain());
    casts_of!(u16, u16::domain());
    casts_of!(i16, i16::domain());
    casts_of!(u32, u32::domain());
    casts_of!(i32, i32::domain());
    casts_of!(u64, u64::domain());
    casts_of!(i64, i64::domain());
    let mut floats: Vec<f64> = i64::domain().into_iter().map(|v| v as f64).collect();
    floats.extend(u64::domain().into_iter().map(|v| v as f64 + 0.5));
    floats.extend([0.5, -0.5, -0.0, 1e30, -1e30, f64::INFINITY, f64::NEG_INFINITY, 254.99, 127.5, -128.5]);
    casts_of!(f32, floats.iter().map(|v| *v as f32).collect());
    casts_of!(f64, floats);
    Ok(())
}

/// Numbers that an `f32` does not hold, as floats of 16 bits.
#[tiled_kernel(T = [f64, i64, u64, i32, u32], block = [64], grid = [N.div_ceil(64)])]
fn narrowed<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    halves: &mut LayoutTensor<f16, RowMajor<N>>,
    uppers: &mut LayoutTensor<bf16, RowMajor<N, 2>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        halves[[i]] = x[[i]].cast::<f16>();
        uppers[[i, 0]] = x[[i]].cast::<bf16>();
        // By way of an index.
        uppers[[i, 1]] = (x[[i]] as i64 as isize).cast::<bf16>();
    }
}

/// The nearest bf16 to a whole number, ties to even: by hand, on its 8 leading bits.
fn nearest(value: i128) -> layout_cuda::bf16 {
    let size = value.unsigned_abs();
    let cut = (128 - size.leading_zeros()).saturating_sub(8);
    let (kept, rest, half) = (size >> cut, size & ((1 << cut) - 1), (1u128 << cut) / 2);
    let up = rest > half || rest == half && cut > 0 && kept & 1 == 1;
    // Exact: 9 bits.
    let size = ((kept + u128::from(up)) << cut) as f64;
    layout_cuda::bf16::from_f64(if value < 0 { -size } else { size })
}

/// An f64 rounded to so many digits, ties to even.
fn rounded(value: f64, digits: u32) -> f64 {
    let cut = f64::MANTISSA_DIGITS - digits;
    let (bits, half) = (value.to_bits(), 1u64 << (cut - 1));
    f64::from_bits((bits + half - 1 + (bits >> cut & 1)) & !(2 * half - 1))
}

macro_rules! narrowed_of {
    ($ty:ty, $domain:expr, $half:expr, $upper:expr) => {{
        let domain: Vec<$ty> = $domain;
        let n = domain.len();
        let device = Device::simulator();
        let (mut halves, mut uppers) = (device.zeros([n])?, device.zeros([n, 2])?);
        narrowed::launch(&device.stream(), &device.upload(&domain, [n])?, &mut halves, &mut uppers)?;
        let (halves, uppers) = (halves.download()?, uppers.download()?);
        for (value, (half, upper)) in domain.iter().zip(halves.iter().zip(uppers.chunks(2))) {
            assert_eq!(*half, layout_cuda::f16::from_f64($half(*value)), "{value} as f16");
            assert_eq!(upper, [$upper(*value), nearest(*value as i64 as i128)], "{value} as bf16");
        }
    }};
}

#[test]
#[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "one text for every type")]
fn a_conversion_rounds_once() -> Result<(), Error> {
    // Beside the middle between two bf16, nearer than an `f32` resolves.
    let ties = |bits: u32| {
        (9..bits - 1).flat_map(|p| {
            let (one, half) = (1i128 << p, 1i128 << (p - 8));
            [
                one + half - 1,
                one + half,
                one + half + 1,
                one + 3 * half - 1,
                one + 3 * half,
                one + 3 * half + 1,
            ]
        })
    };
    // Whole numbers that a f16 has are exact in an f64.
    let signed = |bits| ties(bits).flat_map(|v| [v, -v]);
    narrowed_of!(i64, signed(64).map(|v| v as i64).collect(), |v| v as f64, |v: i64| nearest(v.into()));
    narrowed_of!(u64, ties(64).map(|v| v as u64).collect(), |v| v as f64, |v: u64| nearest(v.into()));
    narrowed_of!(i32, signed(32).map(|v| v as i32).collect(), |v| v as f64, |v: i32| nearest(v.into()));
    narrowed_of!(u32, ties(32).map(|v| v as u32).collect(), |v| v as f64, |v: u32| nearest(v.into()));
    let middles = [1.0 + 2f64.powi(-8), 1.0 + 3.0 * 2f64.powi(-8), 1.0 + 2f64.powi(-11), 65520.0, 3e-4];
    let beside = middles.into_iter().flat_map(|v: f64| [v.next_down(), v, v.next_up()]);
    let upper = |v| layout_cuda::bf16::from_f64(rounded(v, 8));
    narrowed_of!(f64, beside.flat_map(|v| [v, -v]).collect(), |v| rounded(v, 11), upper);
    Ok(())
}

/// What a `let`, an argument and a result are written as, they are; literals of every size.
#[tiled_kernel(block = [1], grid = [1])]
fn annotated(
    x: &LayoutTensor<i32, RowMajor<1>>,
    shorts: &mut LayoutTensor<u16, RowMajor<4>>,
    longs: &mut LayoutTensor<u64, RowMajor<6>>,
    signed: &mut LayoutTensor<i64, RowMajor<4>>,
    floats: &mut LayoutTensor<f64, RowMajor<2>>,
) {
    fn above(v: u16) -> u16 {
        v + 1
    }
    fn third(v: f64) -> f64 {
        v / 3.0
    }
    fn hash() -> u64 {
        14695981039346656037
    }
    // rustc refuses a sum that it sees to overflow; it does not see what is in memory.
    let zero = x[[0]] + 7;
    let mut v: u16 = 65535;
    if zero == 0 {
        v -= 1;
    }
    v += 2;
    shorts[[0]] = v;
    shorts[[1]] = above(65535);
    let (mut a, b): (u16, u64) = (65535, 1);
    a += x[[0]] as u16 + 9;
    shorts[[2]] = a;
    const HIGH: u16 = 0x8000;
    shorts[[3]] = (HIGH + zero as u16) + HIGH;
    let w: u64 = x[[0]] as u64;
    longs[[0]] = w;
    let mut h: u64 = 0xcbf29ce484222325;
    h = (h ^ (zero as u64 + 97)) * 0x100000001b3;
    longs[[1]] = h;
    longs[[2]] = hash();
    longs[[3]] = u64::MAX - b;
    longs[[4]] = (x[[0]] as u32 as u64) << 40;
    longs[[5]] = 18446744073709551615u64 >> (x[[0]] as u32 & 7u32);
    signed[[0]] = -9223372036854775808;
    signed[[1]] = i64::MIN + (zero as i8 + -128) as i64;
    let least: i64 = -2147483648i32 as i64;
    signed[[2]] = least;
    signed[[3]] = (x[[0]] as usize + 5) as i64;
    floats[[0]] = third(1.0);
    floats[[1]] = std::f64::consts::PI;
}

#[test]
fn a_written_type_is_the_values_type() -> Result<(), Error> {
    let device = Device::simulator();
    let mut shorts = device.zeros::<u16, 1>([4])?;
    let mut longs = device.zeros::<u64, 1>([6])?;
    let mut signed = device.zeros::<i64, 1>([4])?;
    let mut floats = device.zeros::<f64, 1>([2])?;
    let x = device.upload(&[-7i32], [1])?;
    annotated::launch(&device.stream(), &x, &mut shorts, &mut longs, &mut signed, &mut floats)?;
    assert_eq!(shorts.download()?, [0, 0, 1, 0]);
    let hash = (0xcbf29ce484222325u64 ^ 97).wrapping_mul(0x100000001b3);
    let high = u64::from(-7i32 as u32) << 40;
    let wanted =
        [-7i32 as u64, hash, 14695981039346656037, u64::MAX - 1, high, u64::MAX >> (-7i32 as u32 & 7)];
    assert_eq!(longs.download()?, wanted);
    assert_eq!(signed.download()?, [i64::MIN, i64::MIN.wrapping_add(-128), -2147483648, -2]);
    assert_eq!(floats.download()?, [1.0 / 3.0, std::f64::consts::PI]);
    Ok(())
}

/// Values as indices, where the text must choose between `int` and `long long`.
#[tiled_kernel(T = [u32, i64, u8, i16, u64, i32], block = [1], grid = [1])]
fn bounded<T>(x: &LayoutTensor<T, RowMajor<2>>, y: &mut LayoutTensor<i32, RowMajor<64>>) {
    let i = (x[[0]] as usize).min(63);
    y[[i]] = 1;
    let j = (x[[1]] as isize).max(0).min(63);
    y[[j]] += 2;
    for k in (x[[1]] as isize).max(60)..(x[[0]] as isize).min(64) {
        y[[k]] += 4;
    }
    for k in 0..(x[[1]] as usize % 8).max(1) {
        y[[k]] += 8;
    }
}

fn bounded_of<T: Int>(values: [T; 2]) -> Result<(), Error> {
    let device = Device::simulator();
    let mut y = device.zeros::<i32, 1>([64])?;
    bounded::launch(&device.stream(), &device.upload(&values, [2])?, &mut y)?;
    let [a, b] = values.map(Int::wide);
    let mut wanted = [0; 64];
    wanted[(a as usize).min(63)] = 1;
    wanted[b.clamp(0, 63) as usize] += 2;
    (b.max(60)..a.min(64)).for_each(|k| wanted[k as usize] += 4);
    (0..(b as usize % 8).max(1)).for_each(|k| wanted[k] += 8);
    assert_eq!(y.download()?, wanted);
    Ok(())
}

#[test]
fn a_value_as_an_index_has_its_bounds() -> Result<(), Error> {
    bounded_of([70u32, 61])?;
    bounded_of([70i64, 59])?;
    bounded_of([200u8, 5])?;
    bounded_of([300i16, 63])?;
    bounded_of([-1i16, 61])?;
    bounded_of([-7i32, -3])?;
    bounded_of([i64::MIN, i64::MAX])?;
    bounded_of([u64::from(u32::MAX) + 7, 1])
}

/// Elements in shared memory and registers, atomics of 64 bits, shuffles of every size.
#[tiled_kernel(T = [u8, i16, u16, u64, f16], block = [32], grid = [1])]
fn moved<T>(
    x: &LayoutTensor<T, RowMajor<32>>,
    y: &mut LayoutTensor<T, RowMajor<32>>,
    sums: &mut LayoutTensor<u64, RowMajor<3>>,
    signed: &mut LayoutTensor<i64, RowMajor<3>>,
) {
    let lane = lane_id();
    let mut held = shared::<T>(row_major([32]));
    held[[lane]] = x[[lane]];
    barrier();
    let mut own = local::<T>(row_major([1])).fill(T::ZERO);
    own[[0]] = held[[31 - lane]];
    y[[lane]] = own[[0]].shuffle_xor(1);
    let number = lane as u64 * 0x1_0000_0000;
    sums.atomic_add([0], number);
    sums.atomic_max([1], number);
    sums.atomic_min([2], u64::MAX - number);
    signed.atomic_add([0], -(lane as i64) * 0x1_0000_0000);
    signed.atomic_max([1], -(lane as i64) - 5);
    signed.atomic_min([2], -(lane as i64));
}

fn moved_of<T: Element + PartialEq>(values: Vec<T>) -> Result<(), Error> {
    let device = Device::simulator();
    let mut y = device.upload(&values, [32])?;
    let mut sums = device.upload(&[u64::MAX, 0, u64::MAX], [3])?;
    let mut signed = device.upload(&[1i64, i64::MIN, 0], [3])?;
    moved::launch(&device.stream(), &device.upload(&values, [32])?, &mut y, &mut sums, &mut signed)?;
    let wanted: Vec<T> = (0..32usize).map(|lane| values[31 - (lane ^ 1)]).collect();
    assert_eq!(y.download()?, wanted);
    assert_eq!(sums.download()?, [(496u64 << 32) - 1, 31 << 32, u64::MAX - (31 << 32)]);
    assert_eq!(signed.download()?, [1 - (496i64 << 32), -5, -31]);
    Ok(())
}

#[test]
fn elements_of_every_size_move_between_threads() -> Result<(), Error> {
    moved_of((0..32).map(|i| 255 - i as u8).collect())?;
    moved_of((0..32).map(|i| -300 * i as i16).collect())?;
    moved_of((0..32).map(|i| 2000 * i as u16).collect())?;
    moved_of((0..32).map(|i| u64::MAX - i).collect())?;
    moved_of((0..32).map(|i| layout_cuda::f16::from_f32(i as f32 - 7.5)).collect())
}

#[test]
fn nvrtc_takes_the_texts_of_this_file() {
    let definitions: [&Definition; 6] = [
        &narrowed::DEFINITION,
        &arithmetic::DEFINITION,
        &casts::DEFINITION,
        &annotated::DEFINITION,
        &bounded::DEFINITION,
        &moved::DEFINITION,
    ];
    for definition in definitions {
        let kernel = definition.kernel().expect("bytes of this version");
        let sets: Vec<ParamSet> = kernel.parameter_sets();
        for set in sets {
            for narrow in [true, false] {
                let promises = Promises { narrow, aligned: narrow, variant_if: None };
                let checked = compile(&kernel, &set, promises).expect("a kernel that the macro compiled");
                let source = emit(&checked);
                Cost::of(&source.entry, &source.text, "sm_80", source.flags);
            }
        }
    }
}
