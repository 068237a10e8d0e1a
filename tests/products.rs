//! Products of any shape by the host functions of the examples, on the simulator.
//!
//! Law: the kernels and tiles that a function picks by the shape give the same product: the exact one, rounded.

use layout_cuda::{Device, Element, Error, LaunchConfig, bf16};
use layout_examples::gemm::{Workspace, gemm, gemm_by_columns};
use layout_tests::support::data::integers;

/// Pairs of blocks; clusters that share k; tiles of 64 and of 128 columns; a last column by itself, in rows that begin at
/// odd places.
const SHAPES: [[usize; 3]; 6] =
    [[3, 5, 7], [130, 72, 100], [200, 137, 2100], [1200, 700, 40], [2000, 1000, 24], [16896, 257, 8]];

/// Small integers, so that sums are exact whatever their order.
fn matrix<T>(count: usize, seed: u64, round: fn(f32) -> T) -> Vec<T> {
    integers(count, seed, 3).into_iter().map(|value| round(value as f32)).collect()
}

/// `a b`, `b` by the strides of its rows and columns.
fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3], strides: [usize; 2]) -> Vec<f32> {
    let element = |at: usize| {
        let (row, col) = (at / n, at % n);
        (0..k).map(|i| a[row * k + i] * b[i * strides[0] + col * strides[1]]).sum()
    };
    (0..m * n).map(element).collect()
}

#[test]
fn sixteen_bits_by_rows() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    for shape @ [m, n, k] in SHAPES {
        let (a, b) = (matrix(m * k, 1, bf16::from_f32), matrix(k * n, 2, bf16::from_f32));
        let (on_a, on_b) = (device.upload(&a, [m, k])?, device.upload(&b, [k, n])?);
        let mut c = device.zeros::<bf16, 2>([m, n])?;
        let mut workspace = Workspace::operands(&stream, shape)?;
        gemm(&stream, LaunchConfig::default(), &mut workspace, &on_a, &on_b, &mut c)?;
        let (a, b) = (matrix(m * k, 1, |x| x), matrix(k * n, 2, |x| x));
        let wanted = product(&a, &b, shape, [n, 1]).into_iter().map(bf16::from_f32);
        assert!(c.download()?.into_iter().eq(wanted), "{shape:?}");
    }
    Ok(())
}

#[test]
fn by_columns() -> Result<(), Error> {
    fn of<T: Element>(round: fn(f32) -> T) -> Result<(), Error> {
        let device = Device::simulator();
        let stream = device.stream();
        for shape @ [m, n, k] in SHAPES {
            let (on_a, on_b) = (
                device.upload(&matrix(m * k, 1, round), [m, k])?,
                device.upload(&matrix(n * k, 2, round), [n, k])?,
            );
            let mut c = device.zeros::<f32, 2>([m, n])?;
            let mut workspace = Workspace::columns(&stream, shape)?;
            gemm_by_columns(&stream, LaunchConfig::default(), &mut workspace, &on_a, &on_b, &mut c)?;
            let (a, b) = (matrix(m * k, 1, |x| x), matrix(n * k, 2, |x| x));
            assert!(c.download()? == product(&a, &b, shape, [1, k]), "{shape:?}");
        }
        Ok(())
    }
    of::<bf16>(bf16::from_f32)?;
    of::<f32>(|value| value)
}
