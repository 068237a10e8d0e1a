//! The kernels at the speed of memory: each checked in float64 and timed beside the best peer in the same process.

use super::contest::Bench;
use super::ledger::Ledger;
use super::options::Common;
use super::{Result, anywhere, reduce, rows, scan, stencil, transpose};
use layout_cuda::Device;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Subcommand)]
pub enum Work {
    /// Sum, dot, maximum and its place, sums of rows and columns, beside cuBLAS's dot product
    Reduce,
    /// Counts of random and of constant bytes, beside the same
    Histogram,
    /// Softmax and layer norm of rows from 16 to 524288 long, beside the best device copy
    Softmax,
    /// Rows that begin anywhere, of 4, 2 and 1 bytes an element, beside the same
    Anywhere,
    /// Prefix sums, beside the same
    Scan,
    /// Convolutions and poolings with small windows, beside the same
    Stencil,
    /// Transpositions, beside the same
    Transpose,
    /// Vectors of 2^31 + 1 elements; 40 GB of a GPU
    Large,
}

/// Measures one kind of work.
///
/// # Errors
/// A device without memory, no cuBLAS on a GPU, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common, work: Work) -> Result<()> {
    let small = device.is_simulator();
    let (device, stream) = (device.clone(), device.stream());
    let mut bench = Bench { device, stream, samples: common.samples.max(1), ledger };
    bench.ledger.head("GB/s");
    let peer = if small { 1 << 12 } else { 1 << 28 };
    if work == Work::Reduce {
        let (n, side) = if small { (10_007, 129) } else { (1 << 28, 16_384) };
        reduce::vectors(&mut bench, n, peer)?;
        reduce::axes(&mut bench, [side, side], peer)?;
    }
    if work == Work::Histogram {
        reduce::histogram(&mut bench, if small { 10_007 } else { 1 << 28 }, peer)?;
    }
    if work == Work::Softmax {
        let shapes: &[[usize; 2]] = if small {
            &[
                [300, 16],
                [3, 1000],
                [5, 8189],
                [2, 16_384],
                [2, 32_768],
                [2, 100_000],
                [1, 131_072],
                [2, 90_003],
                [1, 160_000],
                [1, 270_001],
            ]
        } else {
            &[
                [16_384, 131_072],
                [4096, 65_536],
                [4096, 65_524],
                [4096, 65_521],
                [512, 524_288],
                [8192, 32_768],
                [16_384, 16_384],
                [1 << 15, 8192],
                [1 << 18, 1024],
                [1 << 24, 16],
            ]
        };
        for shape in shapes {
            rows::softmax(&mut bench, *shape)?;
            rows::layer_norm(&mut bench, *shape)?;
        }
    }
    if work == Work::Anywhere {
        let shapes = match small {
            true => [
                [[67, 1001], [68, 1000]],
                [[9, 501], [9, 504]],
                [[3, 16_001], [3, 16_000]],
                [[5, 1153], [5, 1152]],
            ],
            false => [
                [[16_381, 16_383], [16_384, 16_384]],
                [[8191, 5001], [8192, 5000]],
                [[1024, 128_001], [1024, 128_000]],
                [[16_384, 3 * 3841], [16_384, 3 * 3840]],
            ],
        };
        let [products, norms, entropies, images] = shapes;
        products.into_iter().try_for_each(|shape| anywhere::product(&mut bench, shape))?;
        norms.into_iter().try_for_each(|shape| anywhere::rms_norm(&mut bench, shape))?;
        entropies.into_iter().try_for_each(|shape| anywhere::entropy(&mut bench, shape))?;
        images.into_iter().try_for_each(|shape| anywhere::image(&mut bench, shape))?;
    }
    if work == Work::Scan {
        scan::scan(&mut bench, if small { 10_007 } else { 1 << 28 })?;
    }
    if work == Work::Large {
        let n = if small { 1 << 20 } else { (1 << 31) + 1 };
        reduce::vectors(&mut bench, n, peer)?;
        scan::scan(&mut bench, n)?;
        stencil::vectors(&mut bench, n)?;
        reduce::histogram(&mut bench, n, peer)?;
    }
    if work == Work::Stencil {
        for n in if small { vec![10_007, 10_008] } else { vec![1 << 26, 1 << 28] } {
            stencil::vectors(&mut bench, n)?;
        }
        for side in if small { vec![129, 132] } else { vec![16_384] } {
            stencil::matrices(&mut bench, [side, side])?;
        }
    }
    if work == Work::Transpose {
        let sides: &[usize] = if small { &[129, 132] } else { &[16_384, 32_768, 16_381] };
        for side in sides {
            transpose::floats(&mut bench, [*side, *side], side % 4 == 0)?;
        }
        for side in if small { [136, 131] } else { [32_768, 16_381] } {
            transpose::halves(&mut bench, [side, side])?;
        }
    }
    bench.ledger.foot();
    Ok(())
}
