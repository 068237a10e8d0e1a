//! Attraction between bodies, beside what the device's multiply-add units give at most.

use super::contest::{Bench, Found, Work};
use super::ledger::Ledger;
use super::noise::noise;
use super::options::Common;
use super::{Result, parallel};
use layout_cuda::Device;
use layout_examples::kernels::attraction;

/// Operations a pair, as Nyland, Harris and Prins count them.
const OPERATIONS: f64 = 20.0;
/// Bodies whose pull is checked.
const CHECKED: usize = 64;
/// What keeps a body from pulling itself.
const SOFTENING: f32 = 1e-3;

/// Measures it, for as many bodies as a GPU does in some 50 ms.
///
/// # Errors
/// A device without memory, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common) -> Result<()> {
    let (device, stream) = (device.clone(), device.stream());
    let small = device.is_simulator();
    let mut bench = Bench { device, stream, samples: common.samples.max(1), ledger };
    for n in if small { vec![300, 1024] } else { vec![1 << 18, (1 << 18) - 1] } {
        println!("{n} bodies");
        bench.ledger.head("TFLOP/s");
        bodies(&mut bench, n)?;
        bench.ledger.foot();
    }
    Ok(())
}

/// All pairs of `n` bodies.
fn bodies(bench: &mut Bench<'_>, n: usize) -> Result<()> {
    let stream = bench.stream.clone();
    let values: Vec<f32> =
        (0..4 * n).map(|at| if at % 4 == 3 { noise(at, 61).abs() } else { noise(at, 61) }).collect();
    let bodies = stream.upload(&values, [n, 4])?;
    let mut pull = stream.zeros::<f32, 2>([n, 3])?;
    pull.poison()?;
    attraction::launch(&stream, SOFTENING, &bodies, &mut pull)?;
    let pulled = pull.download()?;
    let body = |j: usize| [0, 1, 2, 3].map(|axis| f64::from(values[4 * j + axis]));
    let found = parallel(CHECKED, |range| {
        let mut found = Found::default();
        for i in range.map(|which| which * (n - 1) / (CHECKED - 1)) {
            let own = body(i);
            let (mut sum, mut size) = ([0.0; 3], [f64::MIN_POSITIVE; 3]);
            for j in 0..n {
                let other = body(j);
                let d = [0, 1, 2].map(|axis| other[axis] - own[axis]);
                let near = d.iter().map(|d| d * d).sum::<f64>() + f64::from(SOFTENING);
                for axis in 0..3 {
                    let term = other[3] * d[axis] / (near * near.sqrt());
                    sum[axis] += term;
                    size[axis] += term.abs();
                }
            }
            for axis in 0..3 {
                // A term's own error, and a sum of n numbers one after the other, each below the sum of the sizes.
                let bound = 2f64.powi(-20) + (n as f64).sqrt() * 2f64.powi(-24);
                let error = (f64::from(pulled[3 * i + axis]) - sum[axis]).abs() / size[axis];
                found.add(3 * i + axis, error, bound);
            }
        }
        found
    });
    let found = found.into_iter().fold(Found::default(), Found::and);
    let work = Work::new("bodies", "f32", &[n], 28.0, OPERATIONS * n as f64);
    bench
        .under_roof(&work, found, "attraction", || attraction::launch(&stream, SOFTENING, &bodies, &mut pull))
}
