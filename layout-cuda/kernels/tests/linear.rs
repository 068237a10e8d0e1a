//! Factors and systems of small matrices, on the simulator: their products are what was factored, their residuals small.
//!
//! Law: every number of rows up to a kernel's, and each triangle.

use layout_cuda::{Device, Error};
use layout_kernels::linear::{Scalar, Triangle, Workspace, cholesky, lu, lu_solve, qr, solve_triangular};

/// Numbers between -1 and 1.
fn value(at: usize) -> f64 {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed >> 32) % 2003) as f64 / 1001.0 - 1.0
}

/// Element `i`, `j` of the product of matrices of `n` columns and rows.
fn product(n: usize, a: impl Fn(usize) -> f64, b: impl Fn(usize) -> f64) -> f64 {
    (0..n).map(|k| a(k) * b(k)).sum()
}

fn near(found: f64, wanted: f64, room: f64, name: &str) {
    assert!((found - wanted).abs() <= room, "{name}: {found}, not {wanted}");
}

fn factored<T: Scalar + Into<f64>>(m: usize, n: usize, unit: f64, to: fn(f64) -> T) -> Result<(), Error> {
    let (device, len, name) = (Device::simulator(), m * n * n, format!("{m} of {n}"));
    let (stream, room) = (device.stream(), 20.0 * n as f64 * unit);
    let wide = |all: Vec<T>| -> Vec<f64> { all.into_iter().map(Into::into).collect() };
    let a: Vec<T> = (0..len).map(|at| to(value(at))).collect();
    let on_a = device.upload(&a, [m, n, n])?;
    let a = wide(a);
    let (mut factors, mut rows) = (device.zeros::<T, 3>([m, n, n])?, device.zeros::<u32, 2>([m, n])?);
    factors.poison()?;
    lu(&stream, &on_a, &mut factors, &mut rows)?;
    let (found, places) = (wide(factors.download()?), rows.download()?);
    for at in 0..len {
        let (of, i, j) = (at / (n * n) * n * n, at / n % n, at % n);
        let l = |k: usize| if k < i { found[of + i * n + k] } else { f64::from(u8::from(k == i)) };
        let u = |k: usize| if k <= j { found[of + k * n + j] } else { 0.0 };
        near(product(n, l, u), a[of + places[at / n] as usize * n + j], room, &format!("lu of {name}"));
        assert!(j >= i || found[at].abs() <= 1.0, "lu of {name}: a pivot was not the largest");
    }
    // Systems, of more right sides than a block has threads.
    let r = 70;
    let b: Vec<T> = (0..m * n * r).map(|at| to(value(at + 7))).collect();
    let (on_b, mut x) = (device.upload(&b, [m, n, r])?, device.zeros::<T, 3>([m, n, r])?);
    let b = wide(b);
    x.poison()?;
    lu_solve(&stream, &factors, &rows, &on_b, &mut x, &mut Workspace::default())?;
    let found = wide(x.download()?);
    for at in (0..m * n * r).step_by(3) {
        let (of, i, j) = (at / (n * r), at / r % n, at % r);
        let column = |k: usize| found[(of * n + k) * r + j];
        let size: f64 = (0..n).map(|k| column(k).abs()).sum();
        let sum = product(n, |k| a[(of * n + i) * n + k], column);
        near(sum, b[at], room * (1.0 + size), &format!("lu_solve of {name}"));
    }
    // A matrix times its transpose, and something on the diagonal.
    let square: Vec<T> = (0..len)
        .map(|at| {
            let (of, i, j) = (at / (n * n) * n, at / n % n, at % n);
            let sum = product(n, |k| a[(of + i) * n + k], |k| a[(of + j) * n + k]);
            // Above the diagonal is nothing.
            if j > i { f64::NAN } else { sum + f64::from(u8::from(i == j)) }
        })
        .map(to)
        .collect();
    let on_square = device.upload(&square, [m, n, n])?;
    let square = wide(square);
    factors.poison()?;
    cholesky(&stream, &on_square, &mut factors)?;
    let found = wide(factors.download()?);
    for at in 0..len {
        let (of, i, j) = (at / (n * n) * n, at / n % n, at % n);
        match j > i {
            true => assert_eq!(found[at], 0.0),
            false => {
                let sum = product(n, |k| found[(of + i) * n + k], |k| found[(of + j) * n + k]);
                near(sum, square[at], 4.0 * room, &format!("cholesky of {name}"));
            }
        }
    }
    Ok(())
}

#[test]
fn products_of_factors() -> Result<(), Error> {
    for (m, n) in
        [(1, 1), (9, 2), (3, 7), (17, 8), (3, 9), (4, 31), (2, 32), (1, 33), (2, 64), (0, 5), (3, 0)]
    {
        factored(m, n, 6e-8, |x| x as f32)?;
    }
    for (m, n) in [(3, 5), (1, 33)] {
        factored(m, n, 1.2e-16, |x| x)?;
    }
    Ok(())
}

/// Q R is the matrix, Q orthogonal, for numbers of every size.
fn reflected<T: Scalar + Into<f64>>(
    m: usize,
    n: usize,
    [unit, size]: [f64; 2],
    to: fn(f64) -> T,
) -> Result<(), Error> {
    let (device, len, name) = (Device::simulator(), m * n * n, format!("qr of {m} of {n}, {size}"));
    let room = 20.0 * n as f64 * unit;
    let wide = |all: Vec<T>| -> Vec<f64> { all.into_iter().map(Into::into).collect() };
    // A column of zeros, and one that is another one.
    let number = |at: usize| match at % n {
        3 => 0.0,
        5 => value(at - 1) * size,
        _ => value(at) * size,
    };
    let a: Vec<T> = (0..len).map(|at| to(number(at))).collect();
    let turned = device.upload(&a, [m, n, n])?;
    let (mut q, mut r) = (device.zeros::<T, 3>([m, n, n])?, device.zeros::<T, 3>([m, n, n])?);
    q.poison()?;
    r.poison()?;
    qr(&device.stream(), &turned, &mut q, &mut r)?;
    let (a, q, r) = (wide(a), wide(q.download()?), wide(r.download()?));
    for at in 0..len {
        let (of, i, j) = (at / (n * n) * n, at / n % n, at % n);
        let sum = product(n, |k| q[(of + i) * n + k], |k| r[(of + k) * n + j]);
        near(sum / size, a[at] / size, room, &name);
        let sum = product(n, |k| q[(of + k) * n + i], |k| q[(of + k) * n + j]);
        near(sum, f64::from(u8::from(i == j)), room, &name);
        assert!(j >= i || r[at] == 0.0, "{name}: {} below the diagonal", r[at]);
    }
    Ok(())
}

#[test]
fn reflections() -> Result<(), Error> {
    for (m, n) in
        [(1, 1), (9, 2), (3, 7), (17, 8), (3, 9), (4, 31), (2, 32), (1, 33), (2, 63), (1, 64), (0, 5), (3, 0)]
    {
        reflected(m, n, [6e-8, 1.0], |x| x as f32)?;
    }
    for size in [1e-30, 1e36] {
        reflected(2, 12, [6e-8, size], |x| x as f32)?;
    }
    for (m, n) in [(3, 5), (1, 33)] {
        reflected(m, n, [1.2e-16, 1e-200], |x| x)?;
    }
    let device = Device::simulator();
    let a = [f32::NAN, 1.0, 0.0, 1.0, f32::INFINITY, 0.0, 1.0, 1.0, f32::from_bits(1), 0.0, 0.0, 2.0];
    let (mut q, mut r) = (device.zeros([3, 2, 2])?, device.zeros([3, 2, 2])?);
    qr(&device.stream(), &device.upload(&a, [3, 2, 2])?, &mut q, &mut r)?;
    let found = r.download()?;
    assert!(found[0].is_nan() && found[4].is_nan());
    assert_eq!(found[8..], [f32::from_bits(1), 0.0, 0.0, -2.0]);
    let wide = device.zeros::<f32, 3>([1, 2, 3])?;
    let refused = qr(&device.stream(), &wide, &mut device.zeros([1, 2, 3])?, &mut device.zeros([1, 2, 3])?);
    assert!(refused.is_err_and(|error| error.to_string().contains("`a` has extent 3 in mode 2")));
    Ok(())
}

#[test]
fn each_triangle() -> Result<(), Error> {
    let (device, [m, n, r]) = (Device::simulator(), [2, 11, 5]);
    // A diagonal that is large, and a transpose by strides.
    let a: Vec<f32> =
        (0..m * n * n).map(|at| value(at) as f32 + if at / n % n == at % n { 4.0 } else { 0.0 }).collect();
    let b: Vec<f32> = (0..m * n * r).map(|at| value(at + 3) as f32).collect();
    let (on_a, on_b) = (device.upload(&a, [m, n, n])?, device.upload(&b, [m, n, r])?);
    for triangle in [Triangle::Lower, Triangle::UnitLower, Triangle::Upper, Triangle::UnitUpper] {
        for is_turned in [false, true] {
            let mut x = device.zeros::<f32, 3>([m, n, r])?;
            let view = on_a.part(0, [m, n, n], if is_turned { [n * n, 1, n] } else { [n * n, n, 1] })?;
            solve_triangular(&device.stream(), triangle, &view, &on_b, &mut x)?;
            let found = x.download()?;
            let element = |of: usize, i: usize, k: usize| {
                let own = a[of * n * n + if is_turned { k * n + i } else { i * n + k }];
                let is_upper = matches!(triangle, Triangle::Upper | Triangle::UnitUpper);
                let is_unit = matches!(triangle, Triangle::UnitLower | Triangle::UnitUpper);
                match i == k {
                    true if is_unit => 1.0,
                    true => f64::from(own),
                    false if (k > i) == is_upper => f64::from(own),
                    false => 0.0,
                }
            };
            for (at, b) in b.iter().enumerate() {
                let (of, i, j) = (at / (n * r), at / r % n, at % r);
                let sum = product(n, |k| element(of, i, k), |k| f64::from(found[(of * n + k) * r + j]));
                near(sum, f64::from(*b), 1e-4, &format!("{triangle:?}, {is_turned}"));
            }
        }
    }
    Ok(())
}

#[test]
fn singular_matrices() -> Result<(), Error> {
    let device = Device::simulator();
    let a = device.upload(&[0.0f32, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 4.0], [2, 2, 2])?;
    let (mut out, mut rows) = (device.zeros([2, 2, 2])?, device.zeros([2, 2])?);
    lu(&device.stream(), &a, &mut out, &mut rows)?;
    assert_eq!(out.download()?, [0.0, 0.0, 0.0, 0.0, 2.0, 4.0, 0.5, 0.0]);
    assert_eq!(rows.download()?, [0, 1, 1, 0]);
    let negative = device.upload(&[-1.0f32, 0.0, 0.0, 1.0], [1, 2, 2])?;
    let mut factor = device.zeros([1, 2, 2])?;
    cholesky(&device.stream(), &negative, &mut factor)?;
    assert!(factor.download()?[0].is_nan());
    let large = device.zeros::<f32, 3>([1, 65, 65])?;
    let refused = cholesky(&device.stream(), &large, &mut device.zeros([1, 65, 65])?);
    assert!(refused.is_err_and(|error| error.to_string().contains("has extent 65 in mode 1")));
    Ok(())
}
