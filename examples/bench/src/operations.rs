//! The operations of layout-kernels that have a table, in float64.
//!
//! Law: a function is its definition, but where a quotient would be of two infinities: there its limit.

use layout_kernels::kernels::reductions::*;

/// `Φ(x)` by Simpson's rule over twelve units below.
fn normal(x: f64) -> f64 {
    if x > 0.0 {
        return 1.0 - normal(-x);
    }
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let (steps, from) = (2000, x - 12.0);
    let h = (x - from) / f64::from(steps);
    let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + i % 2 * 2) };
    (0..=steps).map(|i| weight(i) * density(from + f64::from(i) * h)).sum::<f64>() * h / 3.0
}

/// A function of one element by the kernel's name for it, with its numbers.
pub fn unary(name: &str, x: f64, a: f64, b: f64) -> f64 {
    let gated = |u: f64| if x < -200.0 || u < -700.0 { 0.0 } else { x / (1.0 + (-u).exp()) };
    match name {
        "identity" => x,
        "affine" => a * x + b,
        "exp" => x.exp(),
        "log" => x.ln(),
        "sqrt" => x.sqrt(),
        "sigmoid" => 1.0 / (1.0 + (-x).exp()),
        "relu" if x < 0.0 => 0.0,
        "relu" => x,
        "clamp" => x.clamp(a, b),
        "silu" => gated(x),
        "gelu" if x < -20.0 => 0.0,
        "gelu" if x > 20.0 => x,
        "gelu" => x * normal(x),
        "gelu_tanh" => gated(x * (8.0 / std::f64::consts::PI).sqrt() * (1.0 + 0.044715 * x * x)),
        other => panic!("no function {other}"),
    }
}

/// A function of two elements by the kernel's name for it.
pub fn binary(name: &str, x: f64, y: f64) -> f64 {
    match name {
        "add" => x + y,
        "sub" => x - y,
        "mul" => x * y,
        "div" => x / y,
        "maximum" | "minimum" if x.is_nan() || y.is_nan() => f64::NAN,
        "maximum" => x.max(y),
        "minimum" => x.min(y),
        "swiglu" => unary("silu", x, 0.0, 0.0) * y,
        other => panic!("no function {other}"),
    }
}

/// A reduction by its number, and how far off it one in float32 may be.
pub fn reduced(op: usize, correction: f64, x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let size: f64 = x.iter().map(|x| x.abs()).sum();
    let sum: f64 = x.iter().sum();
    let most = x.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let least = x.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    let nan = x.iter().position(|x| x.is_nan());
    let place =
        |of: f64| nan.or_else(|| x.iter().position(|x| *x == of)).map_or(f64::from(u32::MAX), |at| at as f64);
    match op {
        SUM => (sum, 40.0 * 6e-8 * size),
        MEAN => (sum / n, 40.0 * 6e-8 * size / n),
        VARIANCE if n <= correction => (f64::NAN, 0.0),
        VARIANCE => {
            let squares: f64 = x.iter().map(|x| (x - sum / n) * (x - sum / n)).sum();
            let count = n - correction;
            (squares / count, 4e-6 * squares / count + (size / n * 1e-6).powi(2) * n / count)
        }
        MAX | MIN if nan.is_some() => (f64::NAN, 0.0),
        MAX => (most, 0.0),
        MIN => (least, 0.0),
        ARGMAX => (place(most), 0.0),
        ARGMIN => (place(least), 0.0),
        ANY => (f64::from(u8::from(x.iter().any(|x| *x != 0.0))), 0.0),
        ALL => (f64::from(u8::from(x.iter().all(|x| *x != 0.0))), 0.0),
        LOGSUMEXP => {
            let weight = |x: &f64| if *x == most { 1.0 } else { (x - most).exp() };
            let exact = most + x.iter().map(weight).sum::<f64>().ln();
            (exact, 2e-5 + 1.2e-7 * exact.abs())
        }
        PRODUCT => {
            let product: f64 = x.iter().product();
            (product, product.abs() * n * 6e-8)
        }
        other => panic!("no reduction {other}"),
    }
}

/// The four words of Philox4x32-10.
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [a, b, c, d] = counter;
        let (p, q) = (u64::from(a) * 0xd251_1f53, u64::from(c) * 0xcd9e_8d57);
        counter = [(q >> 32) as u32 ^ b ^ key[0], q as u32, (p >> 32) as u32 ^ d ^ key[1], p as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

/// The largest of a row, and the logarithm of its sum of powers relative to it.
pub fn log_parts(row: &[f64]) -> (f64, f64) {
    let most = row.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    (most, row.iter().map(|x| (x - most).exp()).sum::<f64>().ln())
}

/// What goes back to `x` through layer norm, or RMS norm; then its mean, or 0, and its factor.
pub fn through_norm(is_rms: bool, epsilon: f64, [x, scale, dy]: [&[f64]; 3]) -> (Vec<f64>, [f64; 2]) {
    let n = x.len() as f64;
    let mean = if is_rms { 0.0 } else { x.iter().sum::<f64>() / n };
    let factor = 1.0 / (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n + epsilon).sqrt();
    let slope: Vec<f64> = dy.iter().zip(scale).map(|(dy, scale)| dy * scale).collect();
    let level = if is_rms { 0.0 } else { slope.iter().sum::<f64>() / n };
    let along = slope.iter().zip(x).map(|(slope, x)| slope * (x - mean) * factor).sum::<f64>() / n;
    let back = |(slope, x): (&f64, &f64)| factor * (slope - level - (x - mean) * factor * along);
    (slope.iter().zip(x).map(back).collect(), [mean, factor])
}
