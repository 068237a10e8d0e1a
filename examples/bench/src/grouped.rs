//! Products of groups of rows, checked at places evenly spread, and timed beside a product for each group. `breadth.py grouped` is
//! the same by PyTorch.

use super::Result;
use super::breadth::{Measured, judge, values};
use super::contest::{Bench, Work};
use super::ledger::Ledger;
use super::options::Common;
use super::race::Candidate;
use layout_cuda::{Device, bf16};
use layout_kernels::grouped_matmul;
use layout_kernels::product::{Options, Workspace, multiply};

/// The ends of so many groups of `m` rows, of which the first has one part and the last as many parts as there are groups.
fn uneven(groups: usize, m: usize) -> Vec<i32> {
    let parts = groups * (groups + 1) / 2;
    (1..=groups).map(|group| (m * (group * (group + 1) / 2) / parts) as i32).collect()
}

/// Groups that share rows of K elements; matrices of B by rows, or by columns.
fn one(bench: &mut Bench<'_>, [m, n, k, groups]: [usize; 4], by_columns: bool) -> Result<()> {
    let (stream, ends) = (bench.stream.clone(), uneven(groups, m));
    let (a, b) = (values::<bf16>(m * k, 1), values::<bf16>(groups * k * n, 2));
    let strides = if by_columns { [k * n, 1, k] } else { [k * n, n, 1] };
    let on_a = bench.device.upload(&a, [m, k])?;
    let on_b = bench.device.upload_strided(&b, [groups, k, n], strides)?;
    let on_ends = bench.device.upload(&ends, [groups])?;
    let mut c = bench.device.zeros::<bf16, 2>([m, n])?;
    grouped_matmul(&stream, &on_a, &on_b, &on_ends, &mut c)?;
    let found = c.download()?;
    let exact = |at: usize| {
        let (row, column) = (at / n, at % n);
        let group = ends.partition_point(|end| *end as usize <= row);
        let place = |l: usize| group * strides[0] + l * strides[1] + column * strides[2];
        let terms = (0..k).map(|l| a[row * k + l].wide() * b[place(l)].wide());
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), x: f64| (sum + x, size + x.abs()));
        (sum, 1e-6 * size + bf16::ROUNDING * sum.abs())
    };
    let found = judge(m * n, |i| found[i].wide(), exact);
    let bytes = 2.0 * (m * k + groups * k * n + m * n) as f64 / (m * n * k) as f64;
    let name = if by_columns { "grouped, B by columns" } else { "grouped, B by rows" };
    let work = Work::new(name, bf16::NAME, &[m, n, k, groups], bytes / groups as f64, 2.0 / groups as f64);
    let (mut other, mut workspace) = (bench.device.zeros::<bf16, 2>([m, n])?, Workspace::default());
    let ours = Candidate::new("grouped_matmul", || grouped_matmul(&stream, &on_a, &on_b, &on_ends, &mut c));
    let each = Candidate::new("a product for each group", || {
        let mut first = 0;
        for (group, end) in ends.iter().map(|end| *end as usize).enumerate() {
            let own = on_a.part(first * k, [end - first, k], [k, 1])?;
            let by = on_b.part(group * strides[0], [k, n], [strides[1], strides[2]])?;
            let mut to = other.part_mut(first * n, [end - first, n], [n, 1])?;
            if end > first {
                multiply(&stream, Options::default(), &mut workspace, &own, &by, &mut to)?;
            }
            first = end;
        }
        Ok::<(), layout_cuda::Error>(())
    });
    bench.beside(&work, found, [ours, each])
}

/// Checks and measures every one.
///
/// # Errors
/// A device without memory, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common) -> Result<()> {
    let small = device.is_simulator();
    let (device, stream) = (device.clone(), device.stream());
    let mut bench = Bench { device, stream, samples: common.samples.max(1), ledger };
    bench.ledger.head("TFLOP/s");
    let shapes = if small {
        [[40, 16, 24, 3], [9, 8, 16, 4], [130, 72, 40, 2]]
    } else {
        [[16384, 4096, 4096, 8], [16384, 1536, 2048, 128], [4096, 1536, 2048, 128]]
    };
    for shape in shapes {
        for by_columns in [false, true] {
            one(&mut bench, shape, by_columns)?;
        }
    }
    bench.ledger.foot();
    Ok(())
}
