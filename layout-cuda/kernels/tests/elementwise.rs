//! The elementwise functions against plain Rust in float64, on the simulator: edges of tiles, broadcasting, strides, what is not finite.
//!
//! Law: every function, type and way of walking is run here, and what a function says of NaN, infinities and zeros holds.

mod support;

use layout_cuda::{Device, Error, LaunchError, bf16, f16};
use layout_kernels::elementwise::{Binary, Pairs, Unary, binary, choose, rope, unary};
use support::Wide;

/// Numbers of both signs, and after them what is at the ends of float32.
fn values<T: Wide>(n: usize, seed: usize) -> Vec<T> {
    const ENDS: [f64; 12] = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        f32::MAX as f64,
        f32::MIN as f64,
        1e-30,
        -1e-30,
        -13.0,
        88.0,
        -250.0,
    ];
    let of = |i: usize| match (i * 7 + seed) % 29 {
        end @ 0..12 => ENDS[end],
        small => (small as f64 - 20.0) * 0.37 + (i % 5) as f64 * 0.1,
    };
    (0..n).map(|i| T::near(of(i))).collect()
}

/// Is what was found the exact value, within the type's rounding and so much more of it?
fn check<T: Wide>(what: &str, found: &[T], exact: impl Fn(usize) -> f64, more: f64) {
    for (i, found) in found.iter().enumerate() {
        let (found, exact) = (found.wide(), exact(i));
        let nearest = T::near(exact).wide();
        let room = (T::ROUNDING + more) * exact.abs() + if T::ROUNDING > 1e-4 { 6e-8 } else { 1e-36 };
        let right = match nearest.is_finite() {
            true => (found - exact).abs() <= room,
            false => found == nearest || found.is_nan() && exact.is_nan(),
        };
        assert!(right, "{what}: element {i} is {found:e}, not {exact:e}");
    }
}

/// `Φ(x)` by its integral: Simpson's rule from far below, or its asymptotic series.
fn normal(x: f64) -> f64 {
    if x > 0.0 {
        return 1.0 - normal(-x);
    }
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let (steps, from) = (4000, x - 12.0);
    let h = (x - from) / f64::from(steps);
    let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + i % 2 * 2) };
    (0..=steps).map(|i| weight(i) * density(from + f64::from(i) * h)).sum::<f64>() * h / 3.0
}

/// What a function gives, in float64.
fn exact(f: Unary, x: f64) -> f64 {
    let silu = |x: f64, u: f64| if x < -200.0 || u < -700.0 { 0.0 } else { x / (1.0 + (-u).exp()) };
    match f {
        Unary::Cast => x,
        Unary::Affine(a, b) => f64::from(a) * x + f64::from(b),
        Unary::Exp => x.exp(),
        Unary::Log => x.ln(),
        Unary::Sqrt => x.sqrt(),
        Unary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Unary::Relu => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        Unary::Clamp(low, high) => x.clamp(f64::from(low), f64::from(high)),
        Unary::Silu => silu(x, x),
        Unary::Gelu if x < -20.0 => 0.0,
        Unary::Gelu if x > 20.0 => x,
        Unary::Gelu => x * normal(x),
        Unary::GeluTanh => {
            silu(x, x * (2.0 * (2.0 / std::f64::consts::PI).sqrt()) * (1.0 + 0.044715 * x * x))
        }
    }
}

const UNARY: [Unary; 11] = [
    Unary::Cast,
    Unary::Affine(0.5, -3.0),
    Unary::Exp,
    Unary::Log,
    Unary::Sqrt,
    Unary::Sigmoid,
    Unary::Relu,
    Unary::Clamp(-1.5, 2.0),
    Unary::Silu,
    Unary::Gelu,
    Unary::GeluTanh,
];
const BINARY: [Binary; 7] =
    [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Maximum, Binary::Minimum, Binary::Swiglu];

fn of_one<T: Wide, U: Wide>(f: Unary, n: usize) -> Result<(), Error> {
    let device = Device::simulator();
    let x = values::<T>(n, n);
    let mut out = device.upload(&vec![U::near(7.0); n], [n])?;
    unary(&device.stream(), f, &device.upload(&x, [n])?, &mut out)?;
    check(&format!("{f:?} of {n}"), &out.download()?, |i| exact(f, x[i].wide()), 2e-6);
    Ok(())
}

#[test]
fn functions_of_one_element() -> Result<(), Error> {
    for f in UNARY {
        for n in [0, 1, 29, 4097] {
            of_one::<f32, f32>(f, n)?;
        }
        of_one::<bf16, bf16>(f, 4095)?;
        of_one::<f16, f16>(f, 4096 + 15)?;
    }
    for n in [1, 4095, 4096, 8193] {
        of_one::<f32, bf16>(Unary::Cast, n)?;
        of_one::<f32, f16>(Unary::Cast, n)?;
        of_one::<bf16, f32>(Unary::Cast, n)?;
        of_one::<f16, f32>(Unary::Cast, n)?;
        of_one::<f16, bf16>(Unary::Silu, n)?;
    }
    Ok(())
}

fn both(f: Binary, x: f64, y: f64) -> f64 {
    match f {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::Maximum if x.is_nan() || y.is_nan() => f64::NAN,
        Binary::Maximum => x.max(y),
        Binary::Minimum if x.is_nan() || y.is_nan() => f64::NAN,
        Binary::Minimum => x.min(y),
        Binary::Swiglu => exact(Unary::Silu, x) * y,
    }
}

fn of_two<T: Wide>(f: Binary, n: usize) -> Result<(), Error> {
    let device = Device::simulator();
    let (x, y) = (values::<T>(n, 3), values::<T>(n, 11));
    let mut out = device.upload(&vec![T::near(7.0); n], [n])?;
    binary(&device.stream(), f, &device.upload(&x, [n])?, &device.upload(&y, [n])?, &mut out)?;
    let place = |i: usize| both(f, x[i].wide(), y[i].wide());
    check(&format!("{f:?} of {n}"), &out.download()?, place, 2e-6);
    Ok(())
}

#[test]
fn functions_of_two_elements() -> Result<(), Error> {
    for f in BINARY {
        for n in [0, 1, 4097] {
            of_two::<f32>(f, n)?;
        }
        of_two::<bf16>(f, 4095)?;
        of_two::<f16>(f, 8193)?;
    }
    Ok(())
}

#[test]
fn zeros_keep_their_signs() -> Result<(), Error> {
    let device = Device::simulator();
    let (x, y) = (device.upload(&[0.0f32, -0.0], [2])?, device.upload(&[-0.0f32, 0.0], [2])?);
    let mut out = device.zeros::<f32, 1>([2])?;
    binary(&device.stream(), Binary::Maximum, &x, &y, &mut out)?;
    assert_eq!(out.download()?.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [0, 0]);
    binary(&device.stream(), Binary::Minimum, &x, &y, &mut out)?;
    assert_eq!(out.download()?.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [1 << 31; 2]);
    Ok(())
}

/// Broadcasting, gaps, a transposed view, a tensor of five modes of which two are one.
fn strided<T: Wide>() -> Result<(), Error> {
    let (device, shape) = (Device::simulator(), [3, 5, 7, 11]);
    let stream = device.stream();
    let x = values::<T>(2000, 5);
    let on_x = device.upload(&x, [2000])?;
    let strides = [[400, 77, 11, 1], [1, 3, 15, 105], [0, 0, 11, 1], [0, 1, 0, 5], [385, 77, 11, 1]];
    for (of_x, of_y) in strides.iter().flat_map(|x| strides.iter().map(move |y| (*x, *y))) {
        let from = |strides: [usize; 4]| {
            let extent = |mode: usize| if strides[mode] == 0 { 1 } else { shape[mode] };
            on_x.part(0, std::array::from_fn(extent), strides)
        };
        let place = |i: usize, strides: [usize; 4]| {
            let at = [i / 385, i / 77 % 5, i / 11 % 7, i % 11];
            x[at.iter().zip(strides).map(|(at, stride)| at * stride).sum::<usize>()].wide()
        };
        let mut out = device.upload(&[T::near(9.0); 3 * 386], [3 * 386])?;
        binary(
            &stream,
            Binary::Mul,
            &from(of_x)?,
            &from(of_y)?,
            &mut out.part_mut(0, shape, [386, 77, 11, 1])?,
        )?;
        let found = out.download()?;
        let inside: Vec<T> = (0..1155).map(|i| found[i / 385 * 386 + i % 385]).collect();
        check(&format!("{of_x:?} by {of_y:?}"), &inside, |i| place(i, of_x) * place(i, of_y), 0.0);
        assert!((0..3).all(|row| found[row * 386 + 385] == T::near(9.0)), "a gap was written");
        let mut out = device.upload(&[T::near(9.0); 1155], shape)?;
        unary(&stream, Unary::Relu, &from(of_x)?, &mut out)?;
        check("relu", &out.download()?, |i| exact(Unary::Relu, place(i, of_x)), 0.0);
        let mask: Vec<bool> = (0..35).map(|i| i % 3 == 0).collect();
        let mask = device.upload(&mask, [1, 5, 7, 1])?;
        choose(&stream, &mask, &from(of_x)?, &from(of_y)?, &mut out)?;
        let of = |i: usize| if (i / 11 % 35).is_multiple_of(3) { place(i, of_x) } else { place(i, of_y) };
        check("choose", &out.download()?, of, 0.0);
    }
    Ok(())
}

#[test]
fn strides_and_broadcasting() -> Result<(), Error> {
    strided::<f32>()?;
    strided::<bf16>()?;
    strided::<f16>()
}

#[test]
fn a_mask_chooses_bits() -> Result<(), Error> {
    let device = Device::simulator();
    for n in [0, 1, 4095, 4096, 8193] {
        let (x, y) = (values::<bf16>(n, 1), values::<bf16>(n, 2));
        let mask: Vec<bool> = (0..n).map(|i| i % 7 < 3).collect();
        let mut out = device.zeros::<bf16, 1>([n])?;
        let (on_x, on_y) = (device.upload(&x, [n])?, device.upload(&y, [n])?);
        choose(&device.stream(), &device.upload(&mask, [n])?, &on_x, &on_y, &mut out)?;
        let wanted: Vec<u16> =
            (0..n).map(|i| if mask[i] { x[i].to_bits() } else { y[i].to_bits() }).collect();
        assert_eq!(out.download()?.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), wanted);
    }
    Ok(())
}

fn turned<T: Wide>(pairs: Pairs, [m, h, d]: [usize; 3]) -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<T> = (0..m * h * d).map(|i| T::near((i % 23) as f64 * 0.25 - 2.0)).collect();
    let angles: Vec<f32> = (0..m * (d / 2)).map(|i| i as f32 * 0.3).collect();
    let [cos, sin] = [f32::cos, f32::sin].map(|f| angles.iter().map(|x| f(*x)).collect::<Vec<_>>());
    let (on_cos, on_sin) = (device.upload(&cos, [m, d / 2])?, device.upload(&sin, [m, d / 2])?);
    let mut out = device.upload(&vec![T::near(99.0); x.len()], [m, h, d])?;
    rope(&device.stream(), pairs, &device.upload(&x, [m, h, d])?, &on_cos, &on_sin, &mut out)?;
    let element = |at: usize| {
        let (first, i) = (at / d * d, at % d);
        let half = d / 2;
        let (p, q, pair, is_second) = match pairs {
            Pairs::Halves => (first + i % half, first + half + i % half, i % half, i >= half),
            Pairs::Adjacent => (first + i / 2 * 2, first + i / 2 * 2 + 1, i / 2, i % 2 == 1),
        };
        let (re, im, angle) = (x[p].wide(), x[q].wide(), at / d / h * half + pair);
        let (cos, sin) = (f64::from(cos[angle]), f64::from(sin[angle]));
        if is_second { im * cos + re * sin } else { re * cos - im * sin }
    };
    for (at, found) in out.download()?.iter().enumerate() {
        let (found, exact) = (found.wide(), element(at));
        assert!(
            (found - exact).abs() <= 12.0 * T::ROUNDING,
            "{pairs:?} of {m} x {h} x {d}, {at}: {found}, not {exact}"
        );
    }
    Ok(())
}

#[test]
fn pairs_are_turned() -> Result<(), Error> {
    for pairs in [Pairs::Halves, Pairs::Adjacent] {
        for shape in [[0, 2, 64], [1, 1, 2], [3, 5, 64], [5, 3, 6], [33, 2, 128], [2, 3, 80]] {
            turned::<f32>(pairs, shape)?;
            turned::<bf16>(pairs, shape)?;
            turned::<f16>(pairs, shape)?;
        }
    }
    Ok(())
}

/// A launch that was refused for its arguments.
fn is_refused(outcome: &Result<(), Error>) -> bool {
    matches!(outcome, Err(Error::Launch(LaunchError::Arguments { .. })))
}

#[test]
fn shapes_that_disagree_are_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let (x, mut out) = (device.zeros::<f32, 2>([3, 5])?, device.zeros::<f32, 2>([3, 4])?);
    assert!(is_refused(&unary(&stream, Unary::Exp, &x, &mut out)));
    assert!(is_refused(&unary(&stream, Unary::Exp, &out, &mut device.zeros::<f32, 2>([3, 1])?)));
    let refused =
        binary(&stream, Binary::Add, &x, &x, &mut out).expect_err("extents that disagree").to_string();
    assert!(
        refused.contains("tensor `x` has extent 5 in mode 1, but `the extent` is 4 in tensor `out`"),
        "{refused}"
    );
    // Written twice.
    let mut twice = device.zeros::<f32, 1>([8])?;
    assert!(is_refused(&unary(&stream, Unary::Exp, &x, &mut twice.part_mut(0, [3, 5], [0, 1])?)));
    // Five modes, no two of which are one.
    let of_five = x.part(0, [2; 5], [0, 1, 0, 1, 0])?;
    assert!(is_refused(&unary(&stream, Unary::Exp, &of_five, &mut device.zeros::<f32, 5>([2; 5])?)));
    // An odd number of elements.
    let (head, half) = (device.zeros::<f32, 3>([1, 1, 5])?, device.zeros::<f32, 2>([1, 3])?);
    assert!(is_refused(&rope(&stream, Pairs::Halves, &head, &half, &half, &mut device.zeros([1, 1, 5])?)));
    Ok(())
}
