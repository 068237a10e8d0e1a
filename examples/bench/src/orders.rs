//! Top-k and sort of rows. Each result is checked in full, or by rows evenly spread, and timed next to the best device copy of as
//! many bytes: `top_k` reads, the others read and write. `breadth.py order` is the same by PyTorch.

use super::breadth::{Measured, judge, values};
use super::contest::{Bench, Found, Work};
use super::ledger::Ledger;
use super::noise::noise;
use super::options::Common;
use super::{Result, parallel};
use layout_cuda::{Device, bf16};
use layout_kernels::orders::{Order, Ordered, Workspace, argsort, sort, top_k};

/// Rows that are looked at.
const ROWS: usize = 32;

/// Where the elements of a row are in descending order.
fn places<T: Measured>(row: &[T]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..row.len() as u32).collect();
    places.sort_by(|a, b| row[*b as usize].wide().total_cmp(&row[*a as usize].wide()));
    places
}

fn of_rows<T: Measured + Ordered>(bench: &mut Bench<'_>, [m, n]: [usize; 2]) -> Result<()> {
    let (stream, size, order) = (bench.stream.clone(), size_of::<T>() as f64, Order::Descending);
    let (x, mut workspace) = (values::<T>(m * n, 3), Workspace::default());
    let on_x = bench.device.upload(&x, [m, n])?;
    let step = m.div_ceil(ROWS);
    let looked_at: Vec<usize> = (0..m).step_by(step).collect();
    let wanted = parallel(looked_at.len(), |range| {
        range.map(|i| places(&x[looked_at[i] * n..(looked_at[i] + 1) * n])).collect::<Vec<_>>()
    })
    .concat();
    // Element `at` of the first `k` of the rows that are looked at: where it is found, and its place.
    let look = |k: usize, found: &[u32]| {
        let place = |at: usize| (looked_at[at / k] * k + at % k, f64::from(wanted[at / k][at % k]));
        judge(looked_at.len() * k, |at| f64::from(found[place(at).0]), |at| (place(at).1, 0.0))
    };
    for (name, k) in [("top_k 8", 8), ("top_k 64", 64)] {
        let (mut out, mut indices) =
            (bench.device.zeros::<T, 2>([m, k])?, bench.device.zeros::<u32, 2>([m, k])?);
        top_k(&stream, order, &on_x, &mut out, &mut indices, &mut workspace)?;
        let found = look(k, &indices.download()?);
        let work = Work::new(name, T::NAME, &[m, n], size, 1.0);
        bench.beside_copy(&work, found, "top_k", || {
            top_k(&stream, order, &on_x, &mut out, &mut indices, &mut workspace)
        })?;
    }
    let mut indices = bench.device.zeros::<u32, 2>([m, n])?;
    argsort(&stream, order, &on_x, &mut indices, &mut workspace)?;
    let found = look(n, &indices.download()?);
    let work = Work::new("argsort", T::NAME, &[m, n], size + 4.0, 1.0);
    bench.beside_copy(&work, found, "argsort", || {
        argsort(&stream, order, &on_x, &mut indices, &mut workspace)
    })?;
    let mut out = bench.device.zeros::<T, 2>([m, n])?;
    sort(&stream, order, &on_x, &mut out, &mut workspace)?;
    let found = out.download()?;
    let exact = |at: usize| {
        let row = looked_at[at / n] * n;
        (found[row + at % n].wide(), x[row + wanted[at / n][at % n] as usize].wide())
    };
    let found = judge(looked_at.len() * n, |at| exact(at).0, |at| (exact(at).1, 0.0));
    let work = Work::new("sort", T::NAME, &[m, n], 2.0 * size, 1.0);
    bench.beside_copy(&work, found, "sort", || sort(&stream, order, &on_x, &mut out, &mut workspace))?;
    // The worst: each element is before all that were.
    sort(&stream, Order::Ascending, &on_x, &mut out, &mut workspace)?;
    let (mut firsts, mut at) = (bench.device.zeros::<T, 2>([m, 8])?, bench.device.zeros::<u32, 2>([m, 8])?);
    top_k(&stream, order, &out, &mut firsts, &mut at, &mut workspace)?;
    let found = firsts.download()?;
    let exact = |at: usize| x[looked_at[at / 8] * n + wanted[at / 8][at % 8] as usize].wide();
    let place = |at: usize| looked_at[at / 8] * 8 + at % 8;
    let found = judge(looked_at.len() * 8, |at| found[place(at)].wide(), |at| (exact(at), 0.0));
    let work = Work::new("top_k 8, rising", T::NAME, &[m, n], size, 1.0);
    bench.beside_copy(&work, found, "top_k", || {
        top_k(&stream, order, &out, &mut firsts, &mut at, &mut workspace)
    })
}

/// One row of whole numbers: each result is checked in full.
fn of_numbers(bench: &mut Bench<'_>, n: usize) -> Result<()> {
    let (stream, order, mut workspace) = (bench.stream.clone(), Order::Ascending, Workspace::default());
    let number = |i: usize| noise(i, 1).to_bits().wrapping_mul(0x9e37_79b1) ^ noise(i, 2).to_bits();
    let x = parallel(n, |range| range.map(number).collect::<Vec<u32>>()).concat();
    let on_x = bench.device.upload(&x, [n])?;
    let (mut out, mut indices) = (bench.device.zeros::<u32, 1>([n])?, bench.device.zeros::<u32, 1>([n])?);
    sort(&stream, order, &on_x, &mut out, &mut workspace)?;
    let found = out.download()?;
    let mut wanted = x.clone();
    wanted.sort_unstable();
    let wrong = |wrong: usize| Found { wrong, ..Found::default() };
    let work = |name| Work::new(name, "u32", &[n], 8.0, 1.0);
    let off = (0..n).filter(|i| found[*i] != wanted[*i]).count();
    bench.beside_copy(&work("sort"), wrong(off), "sort", || {
        sort(&stream, order, &on_x, &mut out, &mut workspace)
    })?;
    argsort(&stream, order, &on_x, &mut indices, &mut workspace)?;
    let found = indices.download()?;
    // In the order by number and place, which has none twice: so each place is there once.
    let key = |i: usize| (x.get(found[i] as usize), found[i]);
    let off = (1..n).filter(|i| key(*i).0.is_none() || key(*i - 1) >= key(*i)).count();
    bench.beside_copy(&work("argsort"), wrong(off), "argsort", || {
        argsort(&stream, order, &on_x, &mut indices, &mut workspace)
    })
}

/// Checks and measures every one.
///
/// # Errors
/// A device without memory, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common) -> Result<()> {
    let small = device.is_simulator();
    let (device, stream) = (device.clone(), device.stream());
    let mut bench = Bench { device, stream, samples: common.samples.max(1), ledger };
    bench.ledger.head("GB/s");
    let shapes = if small {
        [[2, 5000], [3, 4097], [8, 100]]
    } else {
        [[1024, 131072], [1023, 131071], [65536, 1000]]
    };
    for shape in shapes {
        of_rows::<f32>(&mut bench, shape)?;
        of_rows::<bf16>(&mut bench, shape)?;
    }
    of_numbers(&mut bench, if small { 9000 } else { 1 << 27 })?;
    bench.ledger.foot();
    Ok(())
}
