//! Products of groups of rows, beside a product for each group, and products with scales of blocks, beside one without scales. Each is
//! checked at places evenly spread. `breadth.py grouped` and `breadth.py block` are the same by PyTorch.

use super::Result;
use super::breadth::{Measured, judge, values};
use super::contest::{Bench, Work};
use super::ledger::Ledger;
use super::options::Common;
use super::race::Candidate;
use layout_cuda::{Device, E4m3, bf16};
use layout_kernels::grouped_matmul;
use layout_kernels::product::{Options, Scaled, Workspace, multiply, multiply_block_scaled};

/// Products with scales of blocks: large, of a short K, of few rows.
const SCALED: [[usize; 3]; 3] = [[4096, 7168, 16384], [4096, 32768, 512], [64, 7168, 16384]];

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

/// `e4m3` with scales of 1 x 128 of A and 128 x 128 of B.
fn scaled(bench: &mut Bench<'_>, [m, n, k]: [usize; 3]) -> Result<()> {
    let stream = bench.stream.clone();
    let (blocks, wide) = (k.div_ceil(128), n.div_ceil(128));
    let eight = |count, seed| values::<f32>(count, seed).into_iter().map(E4m3::from_f32).collect::<Vec<_>>();
    let (a, b) = (eight(m * k, 1), eight(k * n, 2));
    let of = |count, seed| values::<f32>(count, seed).into_iter().map(f32::abs).collect::<Vec<_>>();
    let (of_a, of_b) = (of(m * blocks, 3), of(blocks * wide, 4));
    let on_a = bench.device.upload(&a, [m, k])?;
    let on_b = bench.device.upload_strided(&b, [k, n], [1, k])?;
    // A block's scales of neighbouring rows are neighbours.
    let a_scales = bench.device.upload_strided(&of_a, [m, blocks], [1, m])?;
    let b_scales = bench.device.upload(&of_b, [blocks, wide])?;
    let (mut c, mut workspace) = (bench.device.zeros::<bf16, 2>([m, n])?, Workspace::default());
    let scaled_a = Scaled { matrix: &on_a, scales: &a_scales };
    let scaled_b = Scaled { matrix: &on_b, scales: &b_scales };
    multiply_block_scaled(&stream, &mut workspace, scaled_a, scaled_b, &mut c)?;
    let found = c.download()?;
    let exact = |at: usize| {
        let (i, j) = (at / n, at % n);
        let terms = (0..k).map(|l| {
            let scale = f64::from(of_a[l / 128 * m + i]) * f64::from(of_b[l / 128 * wide + j / 128]);
            scale * f64::from(a[i * k + l].to_f32()) * f64::from(b[j * k + l].to_f32())
        });
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), x: f64| (sum + x, size + x.abs()));
        // The matrix units keep 13 bits of a block's sum.
        (sum, 2e-4 * size + bf16::ROUNDING * sum.abs())
    };
    let found = judge(m * n, |i| found[i].wide(), exact);
    let bytes = ((m + n) * k + 2 * m * n + 4 * (m + wide) * blocks) as f64 / (m * n * k) as f64;
    let work = Work::new("block scales", "e4m3", &[m, n, k], bytes, 2.0);
    let (mut other, mut room) = (bench.device.zeros::<bf16, 2>([m, n])?, Workspace::default());
    let ours = Candidate::new("multiply_block_scaled", || {
        multiply_block_scaled(&stream, &mut workspace, scaled_a, scaled_b, &mut c)
    });
    let without = Candidate::new("multiply, no scales", || {
        multiply(&stream, Options::default(), &mut room, &on_a, &on_b, &mut other)
    });
    bench.beside(&work, found, [ours, without])
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
    let shapes = if small { [[40, 24, 144], [9, 8, 16], [130, 136, 272]] } else { SCALED };
    for shape in shapes {
        scaled(&mut bench, shape)?;
    }
    bench.ledger.foot();
    Ok(())
}
