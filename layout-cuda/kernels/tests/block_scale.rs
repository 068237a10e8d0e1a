//! NVFP4 and MXFP8 against plain Rust, on the simulator: odd shapes, every type, zeros, numbers at the ends of float32, what is not finite.
//!
//! Law: the bits of a quantised matrix are those of the format's definition, by a table of e2m1 in float64; a product is within rounding of
//! the sum in float64 of what the bits say.

mod support;

use layout_cuda::{Device, E4m3, E5m2, Error, bf16, f16};
use layout_kernels::block_scale::{Byte, Mxfp8, Nvfp4, matmul, matmul_mxfp8, quantize, quantize_mxfp8};
use support::Wide;

const NUMBERS: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// The code of the nearest number of e2m1; of two the even one.
fn nearest(x: f32) -> u32 {
    let size = f64::from(x.abs());
    let distance = |code: &usize| ((NUMBERS[*code] - size).abs(), code % 2);
    let code = (0..8).min_by(|a, b| distance(a).partial_cmp(&distance(b)).expect("numbers")).unwrap_or(0);
    code as u32 | u32::from(x.is_sign_negative()) << 3
}

/// What the bits of a matrix say, without the padding, which is zero.
fn numbers(x: &Nvfp4) -> Result<Vec<f64>, Error> {
    let ([rows, words], scale) = (x.words.shape(), f64::from(x.scale.download()?[0]));
    let (bits, scales) = (x.words.download()?, x.scales.download()?);
    let mut all = Vec::new();
    for row in 0..rows {
        for column in 0..8 * words {
            let code = bits[row * words + column / 8] >> (column % 8 * 4) & 15;
            let size =
                NUMBERS[(code & 7) as usize] * f64::from(scales[(row * words * 8 + column) / 16].to_f32());
            let value = scale * if code & 8 == 0 { size } else { -size };
            if column < x.columns {
                all.push(value);
            } else {
                assert_eq!(value, 0.0, "the padding of row {row} at {column}");
            }
        }
    }
    Ok(all)
}

/// Numbers of sizes that differ from block to block.
fn values<T: Wide>(rows: usize, columns: usize, seed: usize) -> Vec<T> {
    let one = |at: usize| {
        let block = at % columns.max(1) / 16 + at / columns.max(1);
        (((at * 7 + seed * 5) % 61) as f64 - 30.0) * f64::from(1 + (block * 5 + seed) as u32 % 9)
    };
    (0..rows * columns).map(|at| T::near(one(at) / 8.0)).collect()
}

fn quantised<T: Wide>(device: &Device, x: &[T], [m, n]: [usize; 2]) -> Result<Nvfp4, Error> {
    let stream = device.stream();
    let mut out = Nvfp4::zeros(&stream, m, n)?;
    quantize(&stream, &device.upload(x, [m, n])?, &mut out)?;
    Ok(out)
}

fn check_bits<T: Wide>(x: &[T], [m, n]: [usize; 2]) -> Result<(), Error> {
    let out = quantised(&Device::simulator(), x, [m, n])?;
    let x: Vec<f32> = x.iter().map(|x| x.wide() as f32).collect();
    let most = x.iter().fold(0f32, |most, x| most.max(x.abs()));
    let tensor = (most / (6.0 * 448.0)).max(f32::MIN_POSITIVE);
    if m * n > 0 {
        assert_eq!(out.scale.download()?, [tensor]);
    }
    let ([_, words], bits, scales) = (out.words.shape(), out.words.download()?, out.scales.download()?);
    let found = numbers(&out)?;
    for row in 0..m {
        for (block, own) in x[row * n..(row + 1) * n].chunks(16).enumerate() {
            let most = own.iter().fold(0f32, |most, x| most.max(x.abs()));
            let scale = layout_cuda::E4m3::from_f32(most / (6.0 * tensor));
            assert_eq!(scales[row * words / 2 + block], scale, "row {row}, block {block} of {m} x {n}");
            let unit = tensor * scale.to_f32();
            for (i, x) in own.iter().enumerate() {
                let column = 16 * block + i;
                let code = bits[row * words + column / 8] >> (column % 8 * 4) & 15;
                let wanted = if unit == 0.0 { 0 } else { nearest(x / unit) };
                assert_eq!(code, wanted, "{x} of a unit of {unit} at ({row}, {column}) of {m} x {n}");
                // Half of the largest step; below the least scale all of it.
                let room = f64::from(unit) + 6.0 * f64::from(tensor) * 2f64.powi(-10);
                assert!((found[row * n + column] - f64::from(*x)).abs() <= room, "({row}, {column})");
            }
        }
    }
    Ok(())
}

#[test]
fn bits_are_those_of_the_format() -> Result<(), Error> {
    for [m, n] in [[1, 1], [3, 15], [2, 16], [5, 17], [4, 127], [3, 128], [2, 129], [7, 24], [0, 5], [3, 0]] {
        check_bits(&values::<f32>(m, n, 1), [m, n])?;
        check_bits(&values::<bf16>(m, n, 2), [m, n])?;
        check_bits(&values::<f16>(m, n, 3), [m, n])?;
    }
    check_bits(&[0f32; 40], [2, 20])?;
    check_bits(&[f32::MAX, -f32::MAX, 1.0, f32::MIN_POSITIVE], [1, 4])?;
    check_bits(&[1e-45f32, -1e-39, 1e-38, 0.0], [2, 2])?;
    // A row of more than one part of the search for the largest.
    let mut long = vec![0.25f32; 5000];
    long[4999] = -100.0;
    check_bits(&long, [1, 5000])
}

fn check_product<T: Wide>([m, n, k]: [usize; 3]) -> Result<(), Error> {
    let device = Device::simulator();
    let (a, b) = (values::<bf16>(m, k, 4), values::<bf16>(n, k, 7));
    let (a, b) = (quantised(&device, &a, [m, k])?, quantised(&device, &b, [n, k])?);
    let mut c = device.upload(&vec![T::near(f64::NAN); m * n], [m, n])?;
    matmul(&device.stream(), &a, &b, &mut c)?;
    let (a, b) = (numbers(&a)?, numbers(&b)?);
    for (at, found) in c.download()?.into_iter().enumerate() {
        let pairs = (0..k).map(|l| a[at / n * k + l] * b[at % n * k + l]);
        let (exact, size) = (pairs.clone().sum::<f64>(), pairs.map(f64::abs).sum::<f64>());
        let room = 1e-6 * size + T::ROUNDING * exact.abs();
        let found = found.wide();
        assert!(
            (found - exact).abs() <= room,
            "({}, {}) of {m} x {n} x {k}: {found}, not {exact}",
            at / n,
            at % n
        );
    }
    Ok(())
}

#[test]
fn products_are_those_of_float64() -> Result<(), Error> {
    for shape in
        [[1, 1, 1], [127, 129, 128], [129, 127, 129], [128, 128, 127], [16, 8, 640], [5, 3, 0], [0, 4, 9]]
    {
        check_product::<f32>(shape)?;
    }
    check_product::<bf16>([17, 9, 200])?;
    check_product::<f16>([33, 130, 72])
}

#[test]
fn what_is_not_finite_makes_the_products_nan() -> Result<(), Error> {
    let device = Device::simulator();
    let ordinary = quantised(&device, &values::<f32>(3, 40, 1), [3, 40])?;
    for odd in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut x = values::<f32>(2, 40, 2);
        x[41] = odd;
        let own = quantised(&device, &x, [2, 40])?;
        assert!(!own.scale.download()?[0].is_finite(), "{odd}");
        let mut c = device.zeros::<f32, 2>([2, 3])?;
        matmul(&device.stream(), &own, &ordinary, &mut c)?;
        assert!(c.download()?.iter().all(|sum| sum.is_nan()), "{odd}: {:?}", c.download()?);
    }
    Ok(())
}

#[test]
fn arguments_that_do_not_fit_are_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let mut out = Nvfp4::zeros(&stream, 2, 8)?;
    for [m, n] in [[3, 8], [2, 7], [2, 9]] {
        assert!(quantize(&stream, &device.zeros::<f32, 2>([m, n])?, &mut out).is_err(), "{m} x {n}");
    }
    let (long, mut c) = (Nvfp4::zeros(&stream, 2, 9)?, device.zeros::<f32, 2>([2, 2])?);
    assert!(matmul(&stream, &out, &long, &mut c).is_err());
    assert!(matmul(&stream, &out, &out, &mut device.zeros::<f32, 2>([2, 3])?).is_err());
    matmul(&stream, &out, &out, &mut c)
}

/// A float of eight bits as float64.
trait Small: Byte {
    const LARGEST: f64;
    fn wide(self) -> f64;
    fn near(value: f32) -> Self;
}

macro_rules! small {
    ($ty:ident, $largest:literal) => {
        impl Small for $ty {
            const LARGEST: f64 = $largest;
            fn wide(self) -> f64 {
                f64::from(self.to_f32())
            }
            fn near(value: f32) -> $ty {
                $ty::from_f32(value)
            }
        }
    };
}
small!(E4m3, 448.0);
small!(E5m2, 57_344.0);

fn power(bits: u8) -> f64 {
    if bits == 255 { f64::NAN } else { (f64::from(bits) - 127.0).exp2() }
}

/// A matrix in MXFP8 after a look at each of its bits, and what they say.
fn of_bytes<T: Wide, U: Small>(x: &[T], [m, n]: [usize; 2]) -> Result<(Mxfp8<U>, Vec<f64>), Error> {
    let device = Device::simulator();
    let mut out = Mxfp8::<U>::zeros(&device.stream(), m, n)?;
    quantize_mxfp8(&device.stream(), &device.upload(x, [m, n])?, &mut out)?;
    let ([_, padded], bytes, scales) = (out.bytes.shape(), out.bytes.download()?, out.scales.download()?);
    let mut all = Vec::new();
    for row in 0..m {
        for (block, own) in x[row * n..(row + 1) * n].chunks(32).enumerate() {
            let scale = scales[row * padded / 32 + block];
            let most = own.iter().fold(0f64, |most, x| most.max(x.wide().abs()));
            // The least power that is enough, of those that there are.
            if own.iter().any(|x| !x.wide().is_finite()) {
                assert_eq!(scale, 255);
            } else {
                let wanted = (0..254).find(|bits| power(*bits) * U::LARGEST >= most);
                assert_eq!(Some(scale), wanted, "row {row}, block {block} of {m} x {n}: {most}");
            }
            for (i, x) in own.iter().enumerate() {
                let byte = bytes[row * padded + 32 * block + i];
                let wanted = U::near((x.wide() / power(scale)) as f32);
                assert_eq!(byte.to_bits(), wanted.to_bits(), "{} at ({row}, {block}, {i})", x.wide());
                all.push(byte.wide() * power(scale));
            }
        }
        assert!(
            bytes[row * padded + n..(row + 1) * padded]
                .iter()
                .all(|byte| byte.wide() == 0.0 || byte.wide().is_nan())
        );
    }
    Ok((out, all))
}

fn product_of_bytes<T: Small, U: Wide>([m, n, k]: [usize; 3]) -> Result<(), Error> {
    let device = Device::simulator();
    let (on_a, a) = of_bytes::<bf16, T>(&values(m, k, 4), [m, k])?;
    let (on_b, b) = of_bytes::<bf16, T>(&values(n, k, 7), [n, k])?;
    let mut c = device.upload(&vec![U::near(f64::NAN); m * n], [m, n])?;
    matmul_mxfp8(&device.stream(), &on_a, &on_b, &mut c)?;
    for (at, found) in c.download()?.into_iter().enumerate() {
        let pairs = (0..k).map(|l| a[at / n * k + l] * b[at % n * k + l]);
        let (exact, size) = (pairs.clone().sum::<f64>(), pairs.map(f64::abs).sum::<f64>());
        let room = 1e-6 * size + U::ROUNDING * exact.abs();
        let found = found.wide();
        assert!(
            (found - exact).abs() <= room,
            "({}, {}) of {m} x {n} x {k}: {found}, not {exact}",
            at / n,
            at % n
        );
    }
    Ok(())
}

#[test]
fn bytes_and_their_products_are_those_of_the_format() -> Result<(), Error> {
    for shape in [[1, 1], [3, 31], [2, 33], [2, 129], [0, 5], [3, 0]] {
        of_bytes::<f32, E4m3>(&values(shape[0], shape[1], 1), shape)?;
        of_bytes::<f16, E5m2>(&values(shape[0], shape[1], 2), shape)?;
    }
    let ends = [f32::MAX, -f32::MAX, 1.0, 1e-45, 0.0, -0.0];
    of_bytes::<f32, E4m3>(&ends, [1, 6])?;
    of_bytes::<f32, E5m2>(&ends[3..], [3, 1])?;
    of_bytes::<f32, E4m3>(&[f32::NAN, 1.0, f32::INFINITY, 2.0, -f32::NAN, f32::NEG_INFINITY], [6, 1])?;
    for shape in [[1, 1, 1], [127, 129, 128], [129, 65, 129], [16, 8, 640], [5, 3, 0], [0, 4, 9]] {
        product_of_bytes::<E4m3, f32>(shape)?;
    }
    product_of_bytes::<E5m2, bf16>([17, 9, 200])?;
    product_of_bytes::<E4m3, f16>([33, 130, 72])
}
