//! The listings of the book that no exercise runs: launched on the simulator, held against plain Rust.

use layout_book::*;
use layout_cuda::{Device, Error, LaunchConfig, Options, Tensor, bf16};

/// Small whole numbers, of which every sum is exact.
fn small(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i * 7 % 11) as f32 - 5.0).collect()
}

fn device() -> Device {
    Device::simulator()
}

#[test]
fn tiles_that_hang_over_the_end() -> Result<(), Error> {
    for n in [128, 100, 1, 256, 300] {
        let twice: Vec<f32> = small(n).iter().map(|x| 2.0 * x).collect();
        let (mut x, mut y) = (device().upload(&small(n), [n])?, device().upload(&small(n), [n])?);
        scaled::launch(&device().stream(), &mut x)?;
        guarded::launch(&device().stream(), &mut y)?;
        assert_eq!((x.download()?, y.download()?), (twice.clone(), twice.clone()));
        let mut z = device().upload(&small(n), [n])?;
        let whole = scaled_whole::launch(&device().stream(), &mut z);
        assert_eq!(whole.is_ok(), n % 128 == 0, "{n}");
        if n % 128 == 0 {
            assert_eq!(z.download()?, twice);
        }
    }
    Ok(())
}

#[test]
fn epilogues() -> Result<(), Error> {
    let bias = device().upload(&small(64), [64])?;
    let sums = || (0..192).map(|i| small(192)[i] + small(64)[i % 64]);
    let (mut x, mut y) = (device().upload(&small(192), [3, 64])?, device().upload(&small(192), [3, 64])?);
    biased::launch(&device().stream(), &mut x, &bias)?;
    relu::launch(&device().stream(), &mut y, &bias)?;
    assert_eq!(x.download()?, sums().collect::<Vec<f32>>());
    assert_eq!(y.download()?, sums().map(|sum| sum.max(0.0)).collect::<Vec<f32>>());
    Ok(())
}

#[test]
fn softmax() -> Result<(), Error> {
    let (m, n) = (3, 200);
    let x = device().upload(&small(m * n), [m, n])?;
    let mut out = device().zeros([m, n])?;
    softmax_simple::launch(&device().stream(), &x, &mut out)?;
    for (row, found) in small(m * n).chunks(n).zip(out.download()?.chunks(n)) {
        let sum: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
        for (x, found) in row.iter().zip(found) {
            let wanted = f64::from(*x).exp() / sum;
            assert!((f64::from(*found) - wanted).abs() <= 1e-5 * wanted, "{found} and not {wanted}");
        }
    }
    Ok(())
}

#[test]
fn products_of_a_warpgroup() -> Result<(), Error> {
    for [m, n, k] in [[64, 64, 64], [72, 136, 200]] {
        let (a, b) = (small(m * k), small(k * n));
        let rounded = |values: &[f32]| values.iter().map(|x| bf16::from_f32(*x)).collect::<Vec<bf16>>();
        let (x, y) = (device().upload(&rounded(&a), [m, k])?, device().upload(&rounded(&b), [k, n])?);
        let mut c: Tensor<f32, 2> = device().zeros([m, n])?;
        let report =
            wgmma_simple::simulate_with(LaunchConfig::default(), &Options::default(), &x, &y, &mut c)?;
        assert!(report.clean(), "{report}");
        let wanted = |at: usize| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum::<f32>();
        assert_eq!(c.download()?, (0..m * n).map(wanted).collect::<Vec<f32>>());
    }
    Ok(())
}
