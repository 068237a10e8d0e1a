//! Convolutions of 3 by 3 elements and padding 1 on images of 56 by 56, in bf16, some results checked in float64; `breadth.py convolution` is
//! the same by PyTorch, which is cuDNN. Those with a filter for each channel and pooling are next to a copy: `breadth.py depthwise`, `breadth.py pool`.

use super::Result;
use super::breadth::{Measured, judge, values};
use super::contest::{Bench, Work};
use super::ledger::Ledger;
use super::options::Common;
use layout_cuda::{Device, bf16};
use layout_kernels::convolution::{Activation, Convolution, Kernel};
use layout_kernels::pooling::Pool;

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

/// Images, pixels of a side, channels, rows of a filter, stride.
const DEPTHWISE: [Shape; 5] = [
    [128, 56, 256, 3, 1],
    [128, 112, 64, 3, 2],
    [128, 28, 512, 3, 1],
    [128, 56, 96, 7, 1],
    [128, 14, 576, 5, 1],
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

/// A filter for each channel, next to the best device copy.
fn by_channels(bench: &mut Bench<'_>, [n, side, c, r, stride]: Shape) -> Result<()> {
    let (stream, of_x, of_filters) = (bench.stream.clone(), [n, side, side, c], [c, r, r, 1]);
    let (x, filters) = (values::<bf16>(n * side * side * c, 1), values::<bf16>(c * r * r, 2));
    let (on_x, on_filters) = (bench.device.upload(&x, of_x)?, bench.device.upload(&filters, of_filters)?);
    let of = Convolution { stride: [stride; 2], padding: [r / 2; 2], groups: c, ..Convolution::default() };
    let shape @ [_, p, q, _] = of.shape(of_x, of_filters);
    let mut out = bench.device.zeros::<bf16, 4>(shape)?;
    out.poison()?;
    of.run(&stream, &on_x, &on_filters, &mut out)?;
    let found = out.download()?;
    let exact = |at: usize| {
        let (image, i, j, channel) = (at / (p * q * c), at / (q * c) % p, at / c % q, at % c);
        let (mut sum, mut size) = (0.0, 0.0);
        for tap in 0..r * r {
            let (row, column) = (i * stride + tap / r, j * stride + tap % r);
            let inside = r / 2..side + r / 2;
            if inside.contains(&row) && inside.contains(&column) {
                let pixel = (image * side + row - r / 2) * side + column - r / 2;
                let term = x[pixel * c + channel].wide() * filters[channel * r * r + tap].wide();
                (sum, size) = (sum + term, size + term.abs());
            }
        }
        (sum, sum.abs() * bf16::ROUNDING + size * 2e-6)
    };
    let found = judge(found.len(), |at| found[at].wide(), exact);
    let moved = (x.len() + filters.len() + n * p * q * c) * 2;
    let bytes = moved as f64 / (n * p * q * c * r) as f64;
    let work = Work::new("depthwise", bf16::NAME, &[n, p, q, c, r], bytes, 2.0 * r as f64);
    bench.beside_copy(&work, found, "depthwise", || of.run(&stream, &on_x, &on_filters, &mut out))
}

/// The largest numbers of windows with their places, and means.
fn pooled(bench: &mut Bench<'_>, [n, side, c, window, stride]: Shape) -> Result<()> {
    let (stream_of, of_x) = (bench.stream.clone(), [n, side, side, c]);
    let pool = Pool { window: [window; 2], stride: [stride; 2], padding: [(window - 1) / 2; 2] };
    let x = values::<bf16>(n * side * side * c, 1);
    let (on_x, shape @ [_, p, q, _]) = (bench.device.upload(&x, of_x)?, pool.shape(of_x));
    let (mut out, mut indices) =
        (bench.device.zeros::<bf16, 4>(shape)?, bench.device.zeros::<u32, 4>(shape)?);
    let elements = |at: usize| {
        let (image, i, j, channel) = (at / (p * q * c), at / (q * c) % p, at / c % q, at % c);
        let (x, before) = (&x, (window - 1) / 2);
        (0..window * window).filter_map(move |tap| {
            let row = (i * stride + tap / window).checked_sub(before).filter(|row| *row < side)?;
            let column = (j * stride + tap % window).checked_sub(before).filter(|column| *column < side)?;
            Some(x[((image * side + row) * side + column) * c + channel].wide())
        })
    };
    let work = |name, results: f64| {
        let bytes = (2 * x.len()) as f64 / (n * p * q * c) as f64 + results;
        Work::new(name, bf16::NAME, &[n, p, q, c], bytes, (window * window) as f64)
    };
    pool.maximum(&stream_of, &on_x, &mut out, Some(&mut indices))?;
    let found = out.download()?;
    let most = |at| (elements(at).fold(f64::NEG_INFINITY, f64::max), 0.0);
    let found = judge(found.len(), |at| found[at].wide(), most);
    bench.beside_copy(&work("max pool", 6.0), found, "pool", || {
        pool.maximum(&stream_of, &on_x, &mut out, Some(&mut indices))
    })?;
    pool.average(&stream_of, false, &on_x, &mut out)?;
    let found = out.download()?;
    let mean = |at| {
        let mean = elements(at).sum::<f64>() / elements(at).count() as f64;
        (mean, mean.abs() * bf16::ROUNDING + 1e-5)
    };
    let found = judge(found.len(), |at| found[at].wide(), mean);
    bench.beside_copy(&work("average pool", 2.0), found, "pool", || {
        pool.average(&stream_of, false, &on_x, &mut out)
    })
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
    bench.ledger.head("GB/s");
    for shape @ [.., c, r, stride] in DEPTHWISE {
        by_channels(&mut bench, if small { [1, 9, c.min(72), r, stride] } else { shape })?;
    }
    for shape @ [_, _, c, r, stride] in [[128, 112, 64, 3, 2], [128, 56, 256, 2, 2]] {
        pooled(&mut bench, if small { [1, 9, c.min(72), r, stride] } else { shape })?;
    }
    bench.ledger.foot();
    Ok(())
}
