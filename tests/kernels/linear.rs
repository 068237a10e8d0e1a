//! Small matrices: the products of their factors, and of solutions.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{floats, noise};
use layout_compiler::ParamValue;
use layout_cuda::Error;
use layout_kernels::kernels::linear::{cholesky, lu, qr, triangular};

/// Matrices, rows, right sides: none, fewer and more of each than a block has.
const SIZES: [[usize; 3]; 7] =
    [[0, 3, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1], [2, 8, 3], [9, 7, 65], [17, 5, 2]];

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    let large = |case: Case| Case { sizes: vec![[1, 33, 2], [2, 64, 5]], ..case };
    let each = [
        (&lu::DEFINITION, factors as fn(&Run<'_>) -> _),
        (&cholesky::DEFINITION, roots),
        (&triangular::DEFINITION, solved),
        (&qr::DEFINITION, reflected),
    ];
    let of = |n, (definition, run)| Case::new(definition, SIZES.to_vec(), run).with("N", ParamValue::Int(n));
    each.into_iter().flat_map(|one| [of(8, one), large(of(64, one))]).collect()
}

/// Numbers between -1 and 1, of any bits.
fn any(count: usize, seed: u64) -> Vec<f32> {
    noise(count, seed).map(|bits| (bits >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// Elements of the products of matrices of K columns with those of K rows.
fn products(
    k: usize,
    len: usize,
    a: impl Fn(usize, usize) -> f64,
    b: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    (0..len).map(|at| 2.0 * k as f64 + (0..k).map(|k| a(at, k) * b(at, k)).sum::<f64>()).collect()
}

fn factors(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, k, _] = run.size;
    let (a, len) = (any(m * k * k, 1), m * k * k);
    let (on_a, mut out, mut rows) =
        (run.tensor(&a, [m, k, k])?, run.output::<f32, 3>([m, k, k])?, run.output::<u32, 2>([m, k])?);
    lu::launch_with(run.config(), &run.stream(), &on_a.view()?, &mut out.view_mut()?, &mut rows.view_mut()?)?;
    let (out, rows) = (out.read()?, rows.read()?);
    let found = products(
        k,
        len,
        |at, j| match (at / k % k).cmp(&j) {
            std::cmp::Ordering::Greater => f64::from(out[at / k * k + j]),
            of => f64::from(u8::from(of.is_eq())),
        },
        |at, j| if j <= at % k { f64::from(out[(at / (k * k) * k + j) * k + at % k]) } else { 0.0 },
    );
    let from = |at: usize| (at / (k * k) * k + rows[at / k] as usize) * k + at % k;
    let wanted = (0..len).map(|at| 2.0 * k as f64 + f64::from(a[from(at)]));
    Ok(Outcome::within(1e-5, found, wanted.collect::<Vec<_>>()))
}

fn roots(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, k, _] = run.size;
    let (x, len) = (any(m * k * k, 2), m * k * k);
    let x = |of: usize, i: usize, j: usize| f64::from(x[(of * k + i) * k + j]);
    let a: Vec<f32> = (0..len)
        .map(|at| {
            let (of, i, j) = (at / (k * k), at / k % k, at % k);
            let sum = (0..k).map(|l| x(of, i, l) * x(of, j, l)).sum::<f64>() + f64::from(u8::from(i == j));
            // Above the diagonal is nothing.
            if j > i { f32::NAN } else { sum as f32 }
        })
        .collect();
    let (on_a, mut out) = (run.tensor(&a, [m, k, k])?, run.output::<f32, 3>([m, k, k])?);
    cholesky::launch_with(run.config(), &run.stream(), &on_a.view()?, &mut out.view_mut()?)?;
    let out = out.read()?;
    let above = |at: usize| at % k > at / k % k;
    let mut found = products(
        k,
        len,
        |at, j| f64::from(out[at / k * k + j]),
        |at, j| f64::from(out[(at / (k * k) * k + at % k) * k + j]),
    );
    // The product is symmetric; what the factor has above its diagonal is 0.
    (0..len).filter(|at| above(*at)).for_each(|at| found[at] = f64::from(out[at]));
    let wanted = (0..len).map(|at| if above(at) { 0.0 } else { 2.0 * k as f64 + f64::from(a[at]) });
    Ok(Outcome::within(2e-5, found, wanted.collect::<Vec<_>>()))
}

fn reflected(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, k, _] = run.size;
    let (a, len) = (any(m * k * k, 5), m * k * k);
    let (on_a, mut q, mut r) =
        (run.tensor(&a, [m, k, k])?, run.output::<f32, 3>([m, k, k])?, run.output::<f32, 3>([m, k, k])?);
    qr::launch_with(run.config(), &run.stream(), &on_a.view()?, &mut q.view_mut()?, &mut r.view_mut()?)?;
    let (q, r) = (q.read()?, r.read()?);
    let of = |at: usize| at / (k * k) * k;
    let column = |all: &[f32], row: usize, column: usize| f64::from(all[row * k + column]);
    let (left, right) = (|at, j| f64::from(q[at / k * k + j]), |at, j| column(&r, of(at) + j, at % k));
    let product = Outcome::within(
        1e-5,
        products(k, len, left, right),
        a.iter().map(|a| 2.0 * k as f64 + f64::from(*a)),
    );
    let (left, right) = (|at, j| column(&q, of(at) + j, at / k % k), |at, j| column(&q, of(at) + j, at % k));
    let ones = (0..len).map(|at| 2.0 * k as f64 + f64::from(u8::from(at / k % k == at % k)));
    let square = Outcome::within(1e-5, products(k, len, left, right), ones);
    let below: Vec<f32> = (0..len).filter(|at| at / k % k > at % k).map(|at| r[at]).collect();
    let zeros = vec![0.0f32; below.len()];
    Ok(product.and(square).and(Outcome::exact(below, zeros)))
}

fn solved(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, k, r] = run.size;
    let is = |name| run.set.get(name) == Some(ParamValue::Bool(true));
    let (a, b) = (any(m * k * k, 3), floats(m * k * r, 4));
    // Small numbers off the diagonal: solutions of every size would leave nothing to compare.
    let a: Vec<f32> =
        (0..m * k * k).map(|at| if at / k % k == at % k { 2.0 + a[at] } else { a[at] / 8.0 }).collect();
    let rows: Vec<u32> = (0..m * k).map(|at| ((at % k + 1) % k) as u32).collect();
    let (on_a, on_b) = (run.tensor(&a, [m, k, k])?, run.tensor(&b, [m, k, r])?);
    let (on_rows, mut x) = (run.tensor(&rows, [m, k])?, run.output::<f32, 3>([m, k, r])?);
    let (from, by, moved, mut to) = (on_a.view()?, on_b.view()?, on_rows.view()?, x.view_mut()?);
    triangular::launch_with(run.config(), &run.stream(), &from, &by, &moved, &mut to)?;
    let x = x.read()?;
    let element = |of: usize, i: usize, j: usize| match (i == j, (j > i) == is("UPPER")) {
        (true, _) if is("UNIT") => 1.0,
        (true, _) | (_, true) => f64::from(a[(of * k + i) * k + j]),
        _ => 0.0,
    };
    let found: Vec<f64> = (0..m * k * r)
        .map(|at| {
            let (of, i, j) = (at / (k * r), at / r % k, at % r);
            32.0 + (0..k).map(|l| element(of, i, l) * f64::from(x[(of * k + l) * r + j])).sum::<f64>()
        })
        .collect();
    let wanted = (0..m * k * r).map(|at| {
        let row = if is("MOVED") { rows[at / r] as usize } else { at / r % k };
        32.0 + f64::from(b[(at / (k * r) * k + row) * r + at % r])
    });
    Ok(Outcome::within(1e-5, found, wanted.collect::<Vec<_>>()))
}
