//! Random numbers against the published answers of Philox and plain Rust, on the simulator; sampling against its definition.
//!
//! Law: every function and type is run here; every row of sampling is drawn from at numbers all over [0, 1).

mod support;

use layout_cuda::{Device, Error, bf16, f16};
use layout_kernels::random::{Sampling, Source, dropout, normal, sample, uniform};
use support::Wide;

/// Philox4x32-10, as its paper has it.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [a, b, c, d] = counter;
        let (p, q) = (u64::from(a) * 0xd251_1f53, u64::from(c) * 0xcd9e_8d57);
        counter = [(q >> 32) as u32 ^ b ^ key[0], q as u32, (p >> 32) as u32 ^ d ^ key[1], p as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

#[test]
fn the_published_answers() {
    let all = u32::MAX;
    assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    assert_eq!(philox([all; 4], [all; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    let (counter, key) = ([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]);
    assert_eq!(philox(counter, key), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
}

/// The words of an element's four.
fn words(Source { seed, stream }: Source, four: usize) -> [u32; 4] {
    philox([four as u32, 0, stream as u32, (stream >> 32) as u32], [seed as u32, (seed >> 32) as u32])
}

fn unit(word: u32) -> f64 {
    f64::from(word >> 8) / f64::from(1 << 24)
}

const SOURCES: [Source; 3] = [
    Source { seed: 0, stream: 0 },
    Source { seed: u64::MAX, stream: u64::MAX },
    Source { seed: 0x299f_31d0_a409_3822, stream: 0x0370_7344_1319_8a2e },
];

fn numbers<T: Wide>(n: usize) -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    for source in SOURCES {
        let mut out = device.upload(&vec![T::near(99.0); n], [n])?;
        uniform(&stream, source, 0.0, 1.0, &mut out)?;
        let units: Vec<f64> = (0..n).map(|i| unit(words(source, i / 4)[i % 4])).collect();
        // The same bits everywhere.
        assert!(
            out.download()?.iter().zip(&units).all(|(found, unit)| *found == T::near(*unit)),
            "{source:?} of {n}"
        );
        normal(&stream, source, 2.0, 3.0, &mut out)?;
        for (i, found) in out.download()?.iter().enumerate() {
            let of = words(source, i / 4);
            let radius = 3.0 * (-2.0 * (1.0 - unit(of[i % 4 / 2 * 2])).ln()).sqrt();
            let angle = unit(of[i % 4 / 2 * 2 + 1]) * 2.0 * std::f64::consts::PI;
            let exact = 2.0 + radius * if i % 2 == 0 { angle.cos() } else { angle.sin() };
            let room = 3.0 * 4e-6 + T::ROUNDING * exact.abs();
            assert!((found.wide() - exact).abs() <= room, "{source:?}, {i} of {n}: {found:?}, not {exact}");
        }
        let x: Vec<T> = (0..n).map(|i| T::near(i as f64 * 0.5 - 3.0)).collect();
        dropout(&stream, source, 0.25, &device.upload(&x, [n])?, &mut out)?;
        for (i, found) in out.download()?.iter().enumerate() {
            let exact = if units[i] >= 0.25 { x[i].wide() / 0.75 } else { 0.0 };
            let room = (T::ROUNDING + 1e-7) * exact.abs();
            assert!((found.wide() - exact).abs() <= room, "{source:?}, {i} of {n}: {found:?}, not {exact}");
        }
    }
    Ok(())
}

#[test]
fn numbers_of_every_type() -> Result<(), Error> {
    for n in [0, 1, 3, 4, 5, 1023, 1024, 2051] {
        numbers::<f32>(n)?;
        numbers::<bf16>(n)?;
        numbers::<f16>(n)?;
    }
    Ok(())
}

#[test]
fn numbers_are_spread() -> Result<(), Error> {
    let device = Device::simulator();
    let mut out = device.zeros::<f32, 1>([1 << 14])?;
    normal(&device.stream(), Source { seed: 1, stream: 2 }, 0.0, 1.0, &mut out)?;
    let found = out.download()?;
    let mean = found.iter().sum::<f32>() / found.len() as f32;
    let variance = found.iter().map(|x| x * x).sum::<f32>() / found.len() as f32;
    let beyond = found.iter().filter(|x| x.abs() > 2.0).count() as f32 / found.len() as f32;
    assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05 && (beyond - 0.0455).abs() < 0.01);
    Ok(())
}

/// The weights of a row, 0 of what is out.
fn weights(logits: &[f64], Sampling { temperature, k, p }: Sampling) -> Vec<f64> {
    let most = logits.iter().fold(f64::MIN, |a, b| a.max(*b));
    let weight = |x: f64| if x.is_nan() { 0.0 } else { ((x - most) / f64::from(temperature)).exp() };
    let mut sorted: Vec<f64> = logits.iter().copied().filter(|x| *x > f64::NEG_INFINITY).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let least = sorted.get(k as usize - 1).copied().unwrap_or(f64::NEG_INFINITY);
    let inside: Vec<f64> = sorted.iter().copied().filter(|x| *x >= least).collect();
    let total: f64 = inside.iter().map(|x| weight(*x)).sum();
    let mut sum = 0.0;
    let mut last = f64::NEG_INFINITY;
    for x in &inside {
        sum += weight(*x);
        last = *x;
        if p < 1.0 && sum >= total * f64::from(p) {
            break;
        }
    }
    let out = |x: &f64| if *x >= least.max(last) && *x > f64::NEG_INFINITY { weight(*x) } else { 0.0 };
    logits.iter().map(out).collect()
}

fn drawn<T: Wide>(n: usize, sampling: Sampling) -> Result<(), Error> {
    let device = Device::simulator();
    let m = 9;
    let logits: Vec<T> = (0..m * n)
        .map(|at| match (at / n, at % n) {
            // A NaN, a mask, equal ones, one far above.
            (1, 0) => T::near(f64::NAN),
            (2, j) if j % 3 != 1 => T::near(f64::NEG_INFINITY),
            (3, _) => T::near(1.0),
            (4, j) if j == n / 2 => T::near(50.0),
            (row, j) => T::near(((j * 37 + row * 11) % 41) as f64 * 0.125 - 3.0),
        })
        .collect();
    let numbers: Vec<f32> = (0..m).map(|row| (row as f32 * 0.618_034).fract()).collect();
    let mut out = device.upload(&vec![77u32; m], [m])?;
    let (on_logits, on_numbers) = (device.upload(&logits, [m, n])?, device.upload(&numbers, [m])?);
    sample(&device.stream(), sampling, &on_logits, &on_numbers, &mut out)?;
    for (row, found) in out.download()?.into_iter().enumerate() {
        let line: Vec<f64> = logits[row * n..(row + 1) * n].iter().map(|x| x.wide()).collect();
        let weights = weights(&line, sampling);
        let total: f64 = weights.iter().sum();
        let before: f64 = weights[..(found as usize).min(n)].iter().sum();
        let what = format!("row {row} of {n}, {sampling:?}: {found}");
        let wanted = f64::from(numbers[row]) * total;
        match weights.get(found as usize) {
            Some(0.0) => assert!(total == 0.0 && found == 0, "{what} has no weight"),
            Some(weight) => {
                let room = 1e-5 * total;
                assert!(
                    before - room <= wanted && wanted <= before + weight + room,
                    "{what}: {before}, {wanted}"
                );
            }
            None => panic!("{what} is no column"),
        }
    }
    Ok(())
}

#[test]
fn columns_are_drawn_by_their_weights() -> Result<(), Error> {
    let all = Sampling::default();
    for n in [1, 7, 256, 257, 700] {
        for sampling in [
            all,
            Sampling { temperature: 0.5, ..all },
            Sampling { k: 1, ..all },
            Sampling { k: 5, ..all },
            Sampling { p: 0.8, ..all },
            Sampling { temperature: 2.0, k: 20, p: 0.5 },
            Sampling { p: 0.0, ..all },
        ] {
            drawn::<f32>(n, sampling)?;
            drawn::<bf16>(n, sampling)?;
        }
    }
    drawn::<f16>(300, Sampling { temperature: 1.5, k: 50, p: 0.9 })
}

#[test]
fn a_logit_of_infinity_is_drawn() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    for (logits, k) in
        [([f32::NEG_INFINITY, 1.0, f32::INFINITY], 3), ([f32::NAN, f32::NEG_INFINITY, f32::INFINITY], 1)]
    {
        let x = device.upload(&logits, [1, 3])?;
        let numbers = device.upload(&[0.3f32], [1])?;
        let mut out = device.zeros::<u32, 1>([1])?;
        let sampling = Sampling { temperature: 1.0, k, p: 1.0 };
        sample(&stream, sampling, &x, &numbers, &mut out)?;
        assert_eq!(out.download()?, [2], "{logits:?}");
    }
    Ok(())
}
