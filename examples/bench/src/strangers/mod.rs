//! Kernels as a new user writes them, from README and book alone, where the compiler has to find what an expert would write by hand:
//! plain loops, `usize` for every index. Each beside the best device copy of as many bytes.
//!
//! Law: what is slow here is the compiler's to mend, not the kernel's.

mod align;
mod bins;
mod flow;
mod images;
mod rows;
mod segments;

use super::Result;
use super::contest::Bench;
use super::ledger::Ledger;
use super::options::Common;
use layout_cuda::{Definition, Device};

/// All of them.
pub fn definitions() -> Vec<&'static Definition> {
    vec![
        &flow::lattice_step::DEFINITION,
        &segments::segments_by_threads::DEFINITION,
        &segments::segments_by_warps::DEFINITION,
        &segments::segments_by_merge::DEFINITION,
        &bins::binned::DEFINITION,
        &bins::binned_exactly::DEFINITION,
        &images::median::DEFINITION,
        &images::median_by_four::DEFINITION,
        &images::median_of_words::DEFINITION,
        &rows::quantised::DEFINITION,
        &rows::quantised_by_eight::DEFINITION,
        &rows::convolved::DEFINITION,
        &rows::convolved_by_eight::DEFINITION,
        &align::best_alignment::DEFINITION,
    ]
}

/// Checks every one at odd sizes, and on a GPU measures it at large ones too.
///
/// # Errors
/// A device without memory, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common) -> Result<()> {
    let (device, stream) = (device.clone(), device.stream());
    let large = !device.is_simulator();
    let mut bench = Bench { device, stream, samples: common.samples.max(1), ledger };
    bench.ledger.head("GB/s");
    let sizes =
        |odd: &[[usize; 3]], real: &[[usize; 3]]| if large { [odd, real].concat() } else { odd.to_vec() };
    for extents in sizes(&[[3, 5, 131], [2, 1, 7]], &[[128, 256, 256], [127, 255, 257]]) {
        flow::run(&mut bench, extents)?;
    }
    const N: usize = 1 << 26;
    for [s, n, _] in sizes(&[[67, 1003, 0], [301, 150, 0]], &[[N / 64, N, 0], [N / 16, N, 0], [2 * N, N, 0]])
    {
        segments::run(&mut bench, [s, n])?;
    }
    for [n, skewed, _] in sizes(&[[5003, 0, 0], [5003, 1, 0]], &[[N, 0, 0], [N, 1, 0]]) {
        bins::run(&mut bench, n, skewed == 1)?;
    }
    for [h, w, _] in sizes(&[[19, 133, 0], [1, 1, 0]], &[[16_384, 16_384, 0], [16_383, 16_381, 0]]) {
        images::run(&mut bench, [h, w])?;
    }
    for [m, n, _] in sizes(&[[3, 2051, 0], [2, 16, 0]], &[[16_384, 8192, 0], [16_384, 8191, 0]]) {
        rows::quantise(&mut bench, [m, n])?;
    }
    for shape in sizes(&[[2, 19, 133], [1, 8, 1024]], &[[8, 4096, 4096], [8, 4095, 4097]]) {
        rows::convolve(&mut bench, shape)?;
    }
    for shape in sizes(&[[5, 67, 101], [1, 1, 1]], &[[16_384, 512, 512], [16_383, 509, 511]]) {
        align::run(&mut bench, shape)?;
    }
    bench.ledger.foot();
    Ok(())
}
