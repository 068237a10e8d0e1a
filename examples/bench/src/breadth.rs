//! The operations of layout-kernels that are one pass over memory: elementwise functions, reductions, moves. Each is checked in float64 and
//! timed beside the best device copy of as many bytes, at an even, an odd and a small size. `breadth.py` is the same by PyTorch.

use super::contest::{Bench, Found, Work};
use super::ledger::Ledger;
use super::noise::noise;
use super::operations::{self, reduced};
use super::options::Common;
use super::{Result, parallel};
use layout_cuda::{Device, Tensor, bf16};
use layout_kernels::Real;
use layout_kernels::elementwise::{Binary, Pairs, Unary, binary, choose, rope, unary};
use layout_kernels::kernels::reductions::*;
use layout_kernels::movement::{concat, flip, gather, pad, permute, roll, scatter_add, select_rows};
use layout_kernels::reductions::{Extreme, Reduction, Test, index_of, reduce, test};

/// An element type of the measurements.
pub(super) trait Measured: Real {
    /// What records call it.
    const NAME: &'static str;
    /// Half a unit in the last place, of 1.
    const ROUNDING: f64;
    fn near(value: f32) -> Self;
    fn wide(self) -> f64;
}

impl Measured for f32 {
    const NAME: &'static str = "f32";
    const ROUNDING: f64 = 6e-8;
    fn near(value: f32) -> f32 {
        value
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Measured for bf16 {
    const NAME: &'static str = "bf16";
    const ROUNDING: f64 = 3.91e-3;
    fn near(value: f32) -> bf16 {
        bf16::from_f32(value)
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

/// Noise between -4 and 4.
pub(super) fn values<T: Measured>(n: usize, seed: u32) -> Vec<T> {
    parallel(n, |range| range.map(|i| T::near(4.0 * noise(i, seed))).collect::<Vec<T>>()).concat()
}

/// About so many results are looked at, evenly spread, the first and the last among them.
const LOOKED_AT: usize = 1 << 16;

/// What is found in an output: each of the elements looked at within its room of its exact value.
pub(super) fn judge(
    n: usize,
    found: impl Fn(usize) -> f64 + Sync,
    exact: impl Fn(usize) -> (f64, f64) + Sync,
) -> Found {
    let step = (n / LOOKED_AT).max(1);
    let parts = parallel(n.div_ceil(step), |range| {
        let mut all = Found::default();
        for k in range {
            let i = (k * step).min(n - 1);
            let ((exact, room), found) = (exact(i), found(i));
            let error =
                if exact.is_nan() && found.is_nan() || exact == found { 0.0 } else { (found - exact).abs() };
            all.add(i, error, room);
        }
        all
    });
    parts.into_iter().fold(Found::default(), Found::and)
}

/// The matrices of one size, and what they hold.
struct Matrices<T: Measured> {
    shape: [usize; 2],
    x: Vec<T>,
    y: Vec<T>,
    on_x: Tensor<T, 2>,
    on_y: Tensor<T, 2>,
}

impl<T: Measured> Matrices<T> {
    fn new(bench: &Bench<'_>, shape @ [m, n]: [usize; 2]) -> Result<Matrices<T>> {
        let (x, y) = (values::<T>(m * n, 1), values::<T>(m * n, 2));
        let (on_x, on_y) = (bench.device.upload(&x, shape)?, bench.device.upload(&y, shape)?);
        Ok(Matrices { shape, x, y, on_x, on_y })
    }

    /// Bytes an element of the matrix, so many read and written.
    fn work(&self, name: &'static str, bytes: f64) -> Work {
        Work::new(name, T::NAME, &self.shape, bytes, 1.0)
    }
}

/// Within some units of float32, rounded to the type.
fn near<T: Measured>(exact: f64) -> (f64, f64) {
    (exact, (3e-6 + T::ROUNDING) * exact.abs() + 1e-30)
}

fn unaries<T: Measured>(bench: &mut Bench<'_>, of: &Matrices<T>) -> Result<()> {
    let functions = [
        ("affine", Unary::Affine(0.5, 1.25)),
        ("exp", Unary::Exp),
        ("log", Unary::Log),
        ("sqrt", Unary::Sqrt),
        ("sigmoid", Unary::Sigmoid),
        ("relu", Unary::Relu),
        ("clamp", Unary::Clamp(-0.5, 1.25)),
        ("silu", Unary::Silu),
        ("gelu", Unary::Gelu),
        ("gelu_tanh", Unary::GeluTanh),
    ];
    let (stream, size) = (bench.stream.clone(), size_of::<T>() as f64);
    let mut out = bench.device.zeros::<T, 2>(of.shape)?;
    for (name, f) in functions {
        let (a, b) = if name == "affine" { (0.5, 1.25) } else { (-0.5, 1.25) };
        out.poison()?;
        unary(&stream, f, &of.on_x, &mut out)?;
        let found = out.download()?;
        let exact = |i: usize| near::<T>(operations::unary(name, of.x[i].wide(), a, b));
        // A sum of both signs cancels.
        let exact = |i: usize| (exact(i).0, exact(i).1 + if name == "affine" { 3e-7 } else { 0.0 });
        let found = judge(of.x.len(), |i| found[i].wide(), exact);
        bench.beside_copy(&of.work(name, 2.0 * size), found, "unary", || {
            unary(&stream, f, &of.on_x, &mut out)
        })?;
    }
    let mut halves = bench.device.zeros::<bf16, 2>(of.shape)?;
    unary(&stream, Unary::Cast, &of.on_x, &mut halves)?;
    let found = halves.download()?;
    let found = judge(of.x.len(), |i| found[i].wide(), |i| near::<bf16>(of.x[i].wide()));
    bench.beside_copy(&of.work("cast", size + 2.0), found, "unary", || {
        unary(&stream, Unary::Cast, &of.on_x, &mut halves)
    })
}

fn binaries<T: Measured>(bench: &mut Bench<'_>, of: &Matrices<T>) -> Result<()> {
    let functions = [
        ("add", Binary::Add),
        ("sub", Binary::Sub),
        ("mul", Binary::Mul),
        ("div", Binary::Div),
        ("maximum", Binary::Maximum),
        ("minimum", Binary::Minimum),
        ("swiglu", Binary::Swiglu),
    ];
    let (stream, size, [m, n]) = (bench.stream.clone(), size_of::<T>() as f64, of.shape);
    let mut out = bench.device.zeros::<T, 2>(of.shape)?;
    let wanted = |name: &str, x: T, y: T| near::<T>(operations::binary(name, x.wide(), y.wide()));
    for (name, f) in functions {
        out.poison()?;
        binary(&stream, f, &of.on_x, &of.on_y, &mut out)?;
        let found = out.download()?;
        let found = judge(m * n, |i| found[i].wide(), |i| wanted(name, of.x[i], of.y[i]));
        bench.beside_copy(&of.work(name, 3.0 * size), found, "binary", || {
            binary(&stream, f, &of.on_x, &of.on_y, &mut out)
        })?;
    }
    let once = of.on_y.part(0, [1, n], [n, 1])?;
    binary(&stream, Binary::Add, &of.on_x, &once, &mut out)?;
    let found = out.download()?;
    let found = judge(m * n, |i| found[i].wide(), |i| wanted("add", of.x[i], of.y[i % n]));
    bench.beside_copy(&of.work("add of a row", 2.0 * size), found, "binary_strided", || {
        binary(&stream, Binary::Add, &of.on_x, &once, &mut out)
    })?;
    let turned = of.on_y.part(0, [m, n], [1, m])?;
    binary(&stream, Binary::Add, &of.on_x, &turned, &mut out)?;
    let found = out.download()?;
    let found = judge(m * n, |i| found[i].wide(), |i| wanted("add", of.x[i], of.y[i / n + i % n * m]));
    bench.beside_copy(&of.work("add of a transposed", 3.0 * size), found, "binary_strided", || {
        binary(&stream, Binary::Add, &of.on_x, &turned, &mut out)
    })?;
    let mask: Vec<bool> = of.y.iter().map(|y| y.wide() > 0.0).collect();
    let on_mask = bench.device.upload(&mask, of.shape)?;
    choose(&stream, &on_mask, &of.on_x, &of.on_y, &mut out)?;
    let found = out.download()?;
    let found = judge(m * n, |i| found[i].wide(), |i| (if mask[i] { of.x[i] } else { of.y[i] }.wide(), 0.0));
    bench.beside_copy(&of.work("choose", 3.0 * size + 1.0), found, "choose", || {
        choose(&stream, &on_mask, &of.on_x, &of.on_y, &mut out)
    })
}

/// Heads of 128 elements, or of 2 where the rows are not a multiple of them.
fn turned<T: Measured>(bench: &mut Bench<'_>, of: &Matrices<T>) -> Result<()> {
    let (stream, [m, n]) = (bench.stream.clone(), of.shape);
    let d = if n.is_multiple_of(128) { 128 } else { 2 };
    let (heads, half) = (n / d, d / 2);
    let angles: Vec<f32> = (0..m * half).map(|i| (i % 1000) as f32 * 0.01).collect();
    let [cos, sin] = [f32::cos, f32::sin].map(|f| angles.iter().map(|x| f(*x)).collect::<Vec<_>>());
    let (on_cos, on_sin) = (bench.device.upload(&cos, [m, half])?, bench.device.upload(&sin, [m, half])?);
    let shape = [m, heads, d];
    let x = bench.device.upload(&of.x[..m * heads * d], shape)?;
    let mut out = bench.device.zeros::<T, 3>(shape)?;
    for (name, pairs) in [("rope, halves", Pairs::Halves), ("rope, adjacent", Pairs::Adjacent)] {
        rope(&stream, pairs, &x, &on_cos, &on_sin, &mut out)?;
        let found = out.download()?;
        let exact = |at: usize| {
            let (first, i) = (at / d * d, at % d);
            let is_half = pairs == Pairs::Halves;
            let pair = if is_half { i % half } else { i / 2 };
            let (p, q) = if is_half { (pair, pair + half) } else { (2 * pair, 2 * pair + 1) };
            let (re, im, angle) =
                (of.x[first + p].wide(), of.x[first + q].wide(), at / d / heads * half + pair);
            let (cos, sin) = (f64::from(cos[angle]), f64::from(sin[angle]));
            (if i == p { re * cos - im * sin } else { im * cos + re * sin }, 12.0 * T::ROUNDING)
        };
        let found = judge(m * heads * d, |i| found[i].wide(), exact);
        let bytes = 2.0 * size_of::<T>() as f64 + 4.0 / heads as f64;
        let work = Work::new(name, T::NAME, &shape, bytes, 3.0);
        bench.beside_copy(&work, found, "rope", || rope(&stream, pairs, &x, &on_cos, &on_sin, &mut out))?;
    }
    Ok(())
}

/// Rows and columns.
fn reductions<T: Measured>(bench: &mut Bench<'_>, of: &Matrices<T>) -> Result<()> {
    let kinds = [
        (["sum of rows", "sum of columns"], Reduction::Sum, SUM),
        (["mean of rows", "mean of columns"], Reduction::Mean, MEAN),
        (["variance of rows", "variance of columns"], Reduction::Variance(1.0), VARIANCE),
        (["max of rows", "max of columns"], Reduction::Max, MAX),
        (["min of rows", "min of columns"], Reduction::Min, MIN),
        (["logsumexp of rows", "logsumexp of columns"], Reduction::LogSumExp, LOGSUMEXP),
        (["product of rows", "product of columns"], Reduction::Product, PRODUCT),
    ];
    let (stream, [m, n], size) = (bench.stream.clone(), of.shape, size_of::<T>() as f64);
    // Their products stay in float32.
    let near_one: Vec<T> = of.x.iter().map(|x| T::near((1.0 + x.wide() / 100.0) as f32)).collect();
    let on_near_one = bench.device.upload(&near_one, of.shape)?;
    for axis in [1, 0] {
        let (count, shape) = if axis == 1 { (m, [m, 1]) } else { (n, [1, n]) };
        // Few of them: each is a row or a column.
        let step = count.div_ceil(512);
        let exact = |op: usize, at: usize| {
            let x = if op == PRODUCT { &near_one } else { &of.x };
            let line: Vec<f64> = match axis {
                1 => x[at * n..(at + 1) * n].iter().map(|x| x.wide()).collect(),
                _ => (0..m).map(|row| x[row * n + at].wide()).collect(),
            };
            let (exact, room) = reduced(op, 1.0, &line);
            (exact, room + 1e-30)
        };
        let look = |op: usize, found: Vec<f64>| {
            judge(
                count.div_ceil(step),
                |i| found[(i * step).min(count - 1)],
                |i| exact(op, (i * step).min(count - 1)),
            )
        };
        for (names, reduction, op) in kinds {
            let x = if op == PRODUCT { &on_near_one } else { &of.on_x };
            let mut out = bench.device.zeros::<f32, 2>(shape)?;
            reduce(&stream, reduction, axis, x, &mut out)?;
            let found = look(op, out.download()?.into_iter().map(f64::from).collect());
            let work = of.work(names[1 - axis], size);
            bench.beside_copy(&work, found, "reduce", || reduce(&stream, reduction, axis, x, &mut out))?;
        }
        for (names, extreme, op) in [
            (["argmax of rows", "argmax of columns"], Extreme::Max, ARGMAX),
            (["argmin of rows", "argmin of columns"], Extreme::Min, ARGMIN),
        ] {
            let mut out = bench.device.zeros::<u32, 2>(shape)?;
            index_of(&stream, extreme, axis, &of.on_x, &mut out)?;
            let found = look(op, out.download()?.into_iter().map(f64::from).collect());
            let work = of.work(names[1 - axis], size);
            bench.beside_copy(&work, found, "index_of", || {
                index_of(&stream, extreme, axis, &of.on_x, &mut out)
            })?;
        }
        for (names, kind, op) in [
            (["any of rows", "any of columns"], Test::Any, ANY),
            (["all of rows", "all of columns"], Test::All, ALL),
        ] {
            let mut out = bench.device.zeros::<u8, 2>(shape)?;
            test(&stream, kind, axis, &of.on_x, &mut out)?;
            let found = look(op, out.download()?.into_iter().map(f64::from).collect());
            let work = of.work(names[1 - axis], size);
            bench.beside_copy(&work, found, "test", || test(&stream, kind, axis, &of.on_x, &mut out))?;
        }
    }
    Ok(())
}

fn by_index<T: Measured>(bench: &mut Bench<'_>, of: &Matrices<T>) -> Result<()> {
    let (stream, [m, n], size) = (bench.stream.clone(), of.shape, size_of::<T>() as f64);
    let index: Vec<u32> = (0..m).map(|i| (i * 7919 % m) as u32).collect();
    let on_index = bench.device.upload(&index, [m])?;
    let mut out = bench.device.zeros::<T, 2>(of.shape)?;
    let from = |i: usize| index[i / n] as usize * n + i % n;
    select_rows(&stream, &of.on_x, &on_index, &mut out)?;
    let found = out.download()?;
    let found = judge(m * n, |i| found[i].wide(), |i| (of.x[from(i)].wide(), 0.0));
    bench.beside_copy(&of.work("select_rows", 2.0 * size), found, "select_rows", || {
        select_rows(&stream, &of.on_x, &on_index, &mut out)
    })?;
    let columns: Vec<u32> = (0..m * n).map(|i| (i * 7919 % n) as u32).collect();
    let on_columns = bench.device.upload(&columns, of.shape)?;
    gather(&stream, 1, &of.on_x, &on_columns, &mut out)?;
    let found = out.download()?;
    let found = judge(m * n, |i| found[i].wide(), |i| (of.x[i / n * n + columns[i] as usize].wide(), 0.0));
    bench.beside_copy(&of.work("gather", 2.0 * size + 4.0), found, "gather", || {
        gather(&stream, 1, &of.on_x, &on_columns, &mut out)
    })?;
    // To half of the rows, each from two.
    let halves: Vec<u32> = (0..m).map(|i| (i * 7919 % m / 2) as u32).collect();
    let on_halves = bench.device.upload(&halves, [m])?;
    let of_rows = on_halves.part(0, [m, n], [1, 0])?;
    let rows = m.div_ceil(2);
    let mut sums = bench.device.zeros::<f32, 2>([rows, n])?;
    scatter_add(&stream, 0, &of.on_x, &of_rows, &mut sums)?;
    let mut wanted = vec![0.0f64; rows * n];
    for (row, to) in halves.iter().enumerate() {
        (0..n).for_each(|j| wanted[*to as usize * n + j] += of.x[row * n + j].wide());
    }
    let found = sums.download()?;
    let found = judge(rows * n, |i| f64::from(found[i]), |i| (wanted[i], 1e-6));
    bench.beside_copy(&of.work("scatter_add", size + 4.0), found, "scatter_add", || {
        scatter_add(&stream, 0, &of.on_x, &of_rows, &mut sums)
    })
}

fn moves<T: Measured>(bench: &mut Bench<'_>, of: &Matrices<T>) -> Result<()> {
    let (stream, [m, n], size) = (bench.stream.clone(), of.shape, size_of::<T>() as f64);
    let mut out = bench.device.zeros::<T, 2>(of.shape)?;
    let look = |found: Vec<T>, from: &(dyn Fn(usize) -> Option<usize> + Sync)| {
        judge(found.len(), |i| found[i].wide(), |i| (from(i).map_or(0.0, |from| of.x[from].wide()), 0.0))
    };
    roll(&stream, [3, -5], &of.on_x, &mut out)?;
    let found = look(out.download()?, &|i| Some((i / n + m - 3 % m) % m * n + (i % n + 5) % n));
    bench.beside_copy(&of.work("roll", 2.0 * size), found, "moved", || {
        roll(&stream, [3, -5], &of.on_x, &mut out)
    })?;
    flip(&stream, [false, true], &of.on_x, &mut out)?;
    let found = look(out.download()?, &|i| Some(i / n * n + n - 1 - i % n));
    bench.beside_copy(&of.work("flip", 2.0 * size), found, "moved", || {
        flip(&stream, [false, true], &of.on_x, &mut out)
    })?;
    let mut turned = bench.device.zeros::<T, 2>([n, m])?;
    permute(&stream, [1, 0], &of.on_x, &mut turned)?;
    let found = look(turned.download()?, &|i| Some(i % m * n + i / m));
    bench.beside_copy(&of.work("permute", 2.0 * size), found, "moved", || {
        permute(&stream, [1, 0], &of.on_x, &mut turned)
    })?;
    let mut wide = bench.device.zeros::<T, 2>([m + 2, n + 3])?;
    pad(&stream, [1, 2], T::from_bits(0), &of.on_x, &mut wide)?;
    let place = |i: usize| {
        let (row, column) = ((i / (n + 3)).wrapping_sub(1), (i % (n + 3)).wrapping_sub(2));
        (row < m && column < n).then(|| row * n + column)
    };
    let found = look(wide.download()?, &place);
    bench.beside_copy(&of.work("pad", 2.0 * size), found, "moved", || {
        pad(&stream, [1, 2], T::from_bits(0), &of.on_x, &mut wide)
    })?;
    let mut both = bench.device.zeros::<T, 2>([m, 2 * n])?;
    let parts = [of.on_x.view(), of.on_x.view()];
    concat(&stream, 1, &parts, &mut both)?;
    let found = look(both.download()?, &|i| Some(i / (2 * n) * n + i % n));
    bench
        .beside_copy(&of.work("concat", 4.0 * size), found, "moved", || concat(&stream, 1, &parts, &mut both))
}

fn every<T: Measured>(bench: &mut Bench<'_>, shape: [usize; 2]) -> Result<()> {
    let of = Matrices::<T>::new(bench, shape)?;
    unaries(bench, &of)?;
    binaries(bench, &of)?;
    turned(bench, &of)?;
    reductions(bench, &of)?;
    by_index(bench, &of)?;
    moves(bench, &of)
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
    let shapes =
        if small { [[32, 256], [33, 67], [8, 7]] } else { [[8192, 8192], [8191, 8193], [513, 1027]] };
    for shape in shapes {
        every::<f32>(&mut bench, shape)?;
        every::<bf16>(&mut bench, shape)?;
    }
    bench.ledger.foot();
    Ok(())
}
