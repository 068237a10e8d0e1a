//! Small matrices of special rows, by their host functions: a factor or solution is that of float64, or not finite where numbers on the way
//! are not.

use super::bench::Bench;
use super::{Covered, Entry};
use layout_cuda::{Elem, Error};
use layout_kernels::kernels::linear as kernels;
use layout_kernels::linear::{Triangle, cholesky, lu, qr, solve_triangular};
use layout_tests::support::special::Rows;

pub fn entries() -> Vec<Entry> {
    vec![Entry::new(&kernels::definitions().map(|of| Covered::of(of, Elem::F32)), run)]
}

/// Each row is the first of a matrix whose others have ones on the diagonal and nothing else.
fn run(bench: &Bench<'_>) -> Result<(), Error> {
    let (n, stream) = (5, bench.stream());
    let x = bench.rows::<f32>(n);
    let matrix = |at: usize, of: &dyn Fn(usize, usize) -> bool| {
        let (i, j) = (at / n % n, at % n);
        if of(i, j) { x.values[at / (n * n) * n + i.max(j)] } else { f32::from(u8::from(i == j)) }
    };
    let of_rows: Vec<f32> = (0..x.m * n * n).map(|at| matrix(at, &|i, _| i == 0)).collect();
    let of_columns: Vec<f32> = (0..x.m * n * n).map(|at| matrix(at, &|_, j| j == 0)).collect();
    let shape = [x.m, n, n];
    let (mut factors, mut rows) = (bench.output::<f32, 3>(shape)?, bench.device.zeros::<u32, 2>([x.m, n])?);
    lu(&stream, &bench.tensor(&of_rows, shape)?.view()?, &mut factors.view_mut()?, &mut rows)?;
    let (found, places) = (factors.read()?, rows.download()?);
    for i in 0..x.m {
        let (row, found) = (&of_rows[i * n * n..][..n * n], &found[i * n * n..][..n * n]);
        // Zeros below the first number: the first row is the first, whatever it has.
        let same = found[..n].iter().zip(row).all(|(a, b)| a.to_bits() == b.to_bits());
        let is_so = same && places[i * n] == 0;
        bench.check_that(is_so, || format!("lu, {}: {found:?} of {row:?}", Rows::<f32>::name(i)));
    }
    let (mut q, mut r) = (bench.output::<f32, 3>(shape)?, bench.output::<f32, 3>(shape)?);
    qr(&stream, &bench.tensor(&of_rows, shape)?.view()?, &mut q.view_mut()?, &mut r.view_mut()?)?;
    let found = r.read()?;
    for i in 0..x.m {
        let (row, found) = (x.row(i), &found[i * n * n..][..n]);
        // The first row is turned round, or as it is; a column that is no number leaves none, large numbers may overflow.
        let is_near = |(x, found): (&f64, &f32)| {
            let found = f64::from(*found).abs();
            found == x.abs() || (found / x.abs() - 1.0).abs() < 4e-6
        };
        let is_large = row.iter().any(|x| x.abs() > f64::from(f32::MAX) / 8.0);
        let is_so = row.iter().zip(found).all(|(x, found)| {
            let is_number = row[0].is_finite() && x.is_finite();
            if is_number { is_near((x, found)) || is_large } else { !found.is_finite() }
        });
        bench.check_that(is_so, || format!("qr, {}: {found:?} of {row:?}", Rows::<f32>::name(i)));
    }
    let mut roots = bench.output::<f32, 3>(shape)?;
    cholesky(&stream, &bench.tensor(&of_columns, shape)?.view()?, &mut roots.view_mut()?)?;
    let mut solution = bench.output::<f32, 3>([x.m, n, 1])?;
    let right = bench.tensor(&x.values, [x.m, n, 1])?;
    let ones: Vec<f32> = (0..x.m * n * n).map(|at| f32::from(u8::from(at / n % n >= at % n))).collect();
    let on_ones = bench.tensor(&ones, shape)?;
    solve_triangular(&stream, Triangle::Lower, &on_ones.view()?, &right.view()?, &mut solution.view_mut()?)?;
    let (roots, solution) = (roots.read()?, solution.read()?);
    for i in 0..x.m {
        let row = x.row(i);
        let (first, root) = (row[0], f64::from(roots[i * n * n]));
        let is_root = if first < 0.0 || first.is_nan() {
            root.is_nan()
        } else {
            root == first.sqrt() || (root / first.sqrt() - 1.0).abs() < 1e-6
        };
        bench.check_that(is_root, || format!("cholesky, {}: {root} of {first}", Rows::<f32>::name(i)));
        // Differences of neighbours, the first as it is.
        for k in 0..n {
            let exact = if k == 0 { row[0] } else { row[k] - row[k - 1] };
            let found = f64::from(solution[i * n + k]);
            let size = row[..=k].iter().map(|x| x.abs()).sum::<f64>();
            let is_near = (found - exact).abs() <= 1e-6 * size;
            // Every row below one that is not finite subtracts it. Large finite numbers may overflow.
            let is_so = if !size.is_finite() {
                !found.is_finite()
            } else {
                is_near || (!found.is_finite() && size >= f64::from(f32::MAX) / 2.0)
            };
            bench.check_that(is_so, || {
                format!("solve_triangular, {}, {k}: {found}, not {exact}", Rows::<f32>::name(i))
            });
        }
    }
    Ok(())
}
