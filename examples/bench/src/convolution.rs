//! Convolutions of 3 by 3 elements and padding 1 on images of 56 by 56, in bf16, some results checked in float64; `breadth.py convolution` is
//! the same by PyTorch, which is cuDNN.

use super::Result;
use super::breadth::{Measured, judge, values};
use super::contest::{Bench, Work};
use super::ledger::Ledger;
use super::options::Common;
use layout_cuda::{Device, bf16};
use layout_kernels::convolution::{Activation, Convolution, Kernel};

/// Images, pixels of a side, channels, filters, stride.
type Shape = [usize; 5];

const SHAPES: [Shape; 6] = [
    [32, 56, 256, 256, 1],
    [32, 56, 128, 256, 1],
    [32, 56, 64, 64, 1],
    [32, 56, 100, 100, 1],
    [32, 28, 512, 512, 1],
    [32, 56, 256, 256, 2],
];

fn one(bench: &mut Bench<'_>, [n, side, c, k, stride]: Shape, kernel: Kernel) -> Result<()> {
    let (stream, of_x, of_filters) = (bench.stream.clone(), [n, side, side, c], [k, 3, 3, c]);
    let (x, filters) = (values::<bf16>(n * side * side * c, 1), values::<bf16>(k * 9 * c, 2));
    let (on_x, on_filters) = (bench.device.upload(&x, of_x)?, bench.device.upload(&filters, of_filters)?);
    let bias_values = values::<bf16>(k, 3);
    let bias = bench.device.upload(&bias_values, [k])?;
    let plain =
        Convolution { stride: [stride; 2], padding: [1; 2], kernel: Some(kernel), ..Convolution::default() };
    let relu = Convolution { bias: Some(&bias), activation: Activation::Relu, ..plain };
    let shape @ [_, p, q, _] = plain.shape(of_x, of_filters);
    let mut out = bench.device.zeros::<bf16, 4>(shape)?;
    let exact = |at: usize, biased: bool| {
        let (image, i, j, filter) = (at / (p * q * k), at / (q * k) % p, at / k % q, at % k);
        let (mut sum, mut size) = (if biased { bias_values[filter].wide() } else { 0.0 }, 0.0);
        for element in 0..9 {
            let (row, column) = (i * stride + element / 3, j * stride + element % 3);
            if (1..=side).contains(&row) && (1..=side).contains(&column) {
                let pixel = &x[((image * side + row - 1) * side + column - 1) * c..][..c];
                let weights = &filters[(filter * 9 + element) * c..][..c];
                for (x, weight) in pixel.iter().zip(weights) {
                    sum += x.wide() * weight.wide();
                    size += (x.wide() * weight.wide()).abs();
                }
            }
        }
        (if biased { sum.max(0.0) } else { sum }, sum.abs() * bf16::ROUNDING + size * 2e-6)
    };
    let name = if kernel == Kernel::Warps { "convolution_mma" } else { "convolution" };
    for (workload, description) in [("convolution", plain), ("convolution, bias, ReLU", relu)] {
        out.poison()?;
        description.run(&stream, &on_x, &on_filters, &mut out)?;
        let found = out.download()?;
        let biased = description.bias.is_some();
        let found = judge(found.len(), |at| found[at].wide(), |at| exact(at, biased));
        let moved = (x.len() + filters.len() + n * p * q * k) * 2;
        let products = n * p * q * c * k;
        let work = Work::new(workload, bf16::NAME, &[n, p, q, c, k], moved as f64 / products as f64, 18.0);
        bench.under_roof(&work, found, name, || description.run(&stream, &on_x, &on_filters, &mut out))?;
    }
    Ok(())
}

/// Checks and measures every one, by each kernel.
///
/// # Errors
/// A device without memory, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common) -> Result<()> {
    let hopper = device.arch().includes(layout_cuda::Arch::SM_90A);
    let (device, stream, small) = (device.clone(), device.stream(), device.is_simulator());
    let mut bench = Bench { device, stream, samples: common.samples.max(1), ledger };
    bench.ledger.head("TFLOP/s");
    for shape @ [.., c, k, stride] in SHAPES {
        let shape = if small { [1, 9, c.min(72), k.min(72), stride] } else { shape };
        if hopper && stride == 1 {
            one(&mut bench, shape, Kernel::Warpgroups)?;
        }
        one(&mut bench, shape, Kernel::Warps)?;
    }
    bench.ledger.foot();
    Ok(())
}
