//! Convolutions: a pixel reaches the pixels whose patches have it, and no other one.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_cuda::{Elem, Error, bf16, f16};
use layout_kernels::convolution::{Convolution, Kernel};
use layout_kernels::kernels::convolution as kernels;
use layout_tests::support::special::{Float, Kind};

/// Pixels, channels of each, filters.
const SHAPE: [usize; 3] = [9, 16, 5];

pub fn entries() -> Vec<Entry> {
    let both = |definition| [Elem::Bf16, Elem::F16].map(|elem| Covered::of(definition, elem));
    vec![
        Entry::new(&both(&kernels::convolution::DEFINITION), |bench| {
            rows::<bf16>(bench, Kernel::Warpgroups)?;
            rows::<f16>(bench, Kernel::Warpgroups)
        }),
        Entry::new(&both(&kernels::convolution_mma::DEFINITION), |bench| {
            rows::<bf16>(bench, Kernel::Warps)?;
            rows::<f16>(bench, Kernel::Warps)
        }),
        Entry::new(&both(&kernels::depthwise::DEFINITION), |bench| {
            channels::<bf16>(bench)?;
            channels::<f16>(bench)
        }),
    ]
}

/// Patches of three pixels of a row of every kind, the first and the last over the edge.
fn rows<T: Float>(bench: &Bench<'_>, kernel: Kernel) -> Result<(), Error> {
    let [w, c, k] = SHAPE;
    let weights: Vec<T> = (0..k * 3 * c).map(|at| T::rounded((at * 5 % 7) as f64 / 4.0 - 0.7)).collect();
    let filters = bench.device.upload(&weights, [k, 1, 3, c])?;
    let description = Convolution { padding: [0, 1], kernel: Some(kernel), ..Convolution::default() };
    for kind in Kind::ALL {
        let row: Vec<T> = bench.row(kind, w * c, 3);
        let x = bench.device.upload(&row, [1, 1, w, c])?;
        let mut out = bench.device.upload(&vec![T::rounded(f64::NAN); w * k], [1, 1, w, k])?;
        description.run(&bench.stream(), &x, &filters, &mut out)?;
        let wanted = (0..w * k).map(|at| {
            let terms = (0..3 * c).filter_map(|element| {
                let from = (at / k * c + element).checked_sub(c)?;
                Some(row.get(from)?.wide() * weights[at % k * 3 * c + element].wide())
            });
            let terms: Vec<f64> = terms.collect();
            let (sum, size) = (terms.iter().sum::<f64>(), terms.iter().map(|x| x.abs()).sum::<f64>());
            Want::of(sum, size, size * 2f64.powi(-19) + sum.abs() * 2f64.powi(-T::DIGITS) + T::TINY)
        });
        bench.check("convolution", &out.download()?, wanted, |at| format!("{kind:?} by {kernel:?}, {at}"));
    }
    Ok(())
}

/// The same by a filter for each channel.
fn channels<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    let [w, c, _] = SHAPE;
    let weights: Vec<T> = (0..3 * c).map(|at| T::rounded((at * 5 % 7) as f64 / 4.0 - 0.7)).collect();
    let filters = bench.device.upload(&weights, [c, 1, 3, 1])?;
    let description = Convolution { padding: [0, 1], groups: c, ..Convolution::default() };
    for kind in Kind::ALL {
        let row: Vec<T> = bench.row(kind, w * c, 3);
        let x = bench.device.upload(&row, [1, 1, w, c])?;
        let mut out = bench.device.upload(&vec![T::rounded(f64::NAN); w * c], [1, 1, w, c])?;
        description.run(&bench.stream(), &x, &filters, &mut out)?;
        let wanted = (0..w * c).map(|at| {
            let term = |s: usize| {
                Some(row.get((at + s * c).checked_sub(c)?)?.wide() * weights[at % c * 3 + s].wide())
            };
            let terms: Vec<f64> = (0..3).filter_map(term).collect();
            let (sum, size) = (terms.iter().sum::<f64>(), terms.iter().map(|x| x.abs()).sum::<f64>());
            Want::of(sum, size, size * 2f64.powi(-19) + sum.abs() * 2f64.powi(-T::DIGITS) + T::TINY)
        });
        bench.check("depthwise", &out.download()?, wanted, |at| format!("{kind:?}, {at}"));
    }
    Ok(())
}
