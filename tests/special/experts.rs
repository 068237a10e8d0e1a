//! A mixture of experts but for its products, by its host functions. Of softmax and normalised weights a NaN makes all NaN; the experts are
//! those of the largest logits all the same.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_bench::operations;
use layout_cuda::{Elem, Error, bf16, f16};
use layout_kernels::Real;
use layout_kernels::experts::{Gating, Score, combine, gate, sort_by_expert, swiglu};
use layout_kernels::kernels::experts as kernels;
use layout_tests::support::special::{Float, Rows};

pub fn entries() -> Vec<Entry> {
    let of_types =
        [&kernels::gate::DEFINITION, &kernels::swiglu::DEFINITION, &kernels::combine_experts::DEFINITION];
    let mut covered = vec![Covered::plain(&kernels::sort_by_expert::DEFINITION)];
    for elem in [Elem::F32, Elem::Bf16, Elem::F16] {
        covered.extend(of_types.map(|of| Covered::of(of, elem)));
    }
    vec![Entry::new(&covered, |bench| {
        run::<f32>(bench)?;
        run::<bf16>(bench)?;
        run::<f16>(bench)
    })]
}

fn run<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    for n in [5, 37, 64] {
        gated::<T>(bench, n)?;
        rows::<T>(bench, n)?;
    }
    Ok(())
}

/// The places of a token's largest logits.
fn places(row: &[f64], k: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    // A NaN is above all, and zeros of both signs are equal.
    let key = |at: usize| if row[at].is_nan() { f64::MAX } else { row[at].clamp(-1e300, 1e300) };
    order.sort_by(|a, b| key(*b).partial_cmp(&key(*a)).expect("no NaN").then(a.cmp(b)));
    order.truncate(k);
    order
}

/// The sort by expert is of what the gate gives.
fn gated<T: Float + Real>(bench: &Bench<'_>, n: usize) -> Result<(), Error> {
    let (x, stream, k) = (bench.rows::<T>(n), bench.stream(), 3);
    let on_x = bench.tensor(&x.values, [x.m, n])?;
    let wanted: Vec<Vec<usize>> = (0..x.m).map(|row| places(&x.row(row), k)).collect();
    for (score, normalised) in
        [Score::Softmax, Score::Sigmoid].into_iter().flat_map(|of| [(of, true), (of, false)])
    {
        let mut experts = bench.device.zeros::<u32, 2>([x.m, k])?;
        let mut weights = bench.output::<f32, 2>([x.m, k])?;
        let gating = Gating { score, normalised, scale: 2.0 };
        gate(&stream, gating, &on_x.view()?, &mut experts, &mut weights.view_mut()?)?;
        let of_rows: Vec<u32> = wanted.iter().flatten().map(|at| *at as u32).collect();
        let found = experts.download()?;
        bench.check_that(found == of_rows, || {
            format!("gate of {n} of {:?}: {found:?}, not {of_rows:?}", T::ELEM)
        });
        let weight = |row: usize, j: usize| {
            let (line, own) = (x.row(row), &wanted[row]);
            let most = line[own[0]];
            let of = |at: &usize| match score {
                Score::Softmax => (line[*at] - most).exp(),
                Score::Sigmoid if normalised && most < 0.0 => {
                    (line[*at] - most).exp() / (1.0 + line[*at].exp())
                }
                Score::Sigmoid => 1.0 / (1.0 + (-line[*at]).exp()),
            };
            let all: Vec<usize> = (0..n).collect();
            let sum = match (normalised, score) {
                (true, _) => own.iter().map(of).sum(),
                (false, Score::Softmax) => all.iter().map(of).sum(),
                (false, Score::Sigmoid) => 1.0,
            };
            let exact: f64 = 2.0 * of(&own[j]) / sum;
            // A difference of float32 has an error of its own size, and exp makes it a relative one.
            Want::Near(exact, 1e-5 * exact.abs() + 2e-38)
        };
        let what = format!("gate, {score:?}, normalised {normalised}");
        let shares = (0..x.m * k).map(|at| weight(at / k, at % k));
        bench.check(&what, &weights.read()?, shares, |at| Rows::<T>::name(at / k));
        let mut tokens = bench.device.zeros::<u32, 1>([x.m * k])?;
        let (mut of_tokens, mut ends) = (bench.device.zeros([x.m, k])?, bench.device.zeros([n])?);
        sort_by_expert(&stream, &experts, &mut tokens, &mut of_tokens, &mut ends)?;
        let mut order: Vec<usize> = (0..x.m * k).collect();
        order.sort_by_key(|at| of_rows[*at]);
        let order: Vec<u32> = order.into_iter().map(|at| (at / k) as u32).collect();
        let found = tokens.download()?;
        bench.check_that(found == order, || format!("sort_by_expert: {found:?}, not {order:?}"));
    }
    Ok(())
}

/// Rows of two halves of a kind; the sum of each row with the next but one.
fn rows<T: Float + Real>(bench: &Bench<'_>, n: usize) -> Result<(), Error> {
    let (x, stream) = (bench.rows::<T>(2 * n), bench.stream());
    let rounding = 2f64.powi(-T::DIGITS);
    let (on_x, mut out) = (bench.tensor(&x.values, [x.m, 2 * n])?, bench.output::<T, 2>([x.m, n])?);
    swiglu(&stream, &on_x.view()?, &mut out.view_mut()?)?;
    let of = |row: usize, column: usize| x.values[row * 2 * n + column].wide();
    let wanted = (0..x.m * n).map(|at| {
        let exact = operations::binary("swiglu", of(at / n, at % n), of(at / n, n + at % n));
        Want::Near(exact, (3e-6 + rounding) * exact.abs() + T::TINY + 2e-38)
    });
    bench.check("swiglu", &out.read()?, wanted, |at| Rows::<T>::name(at / n));
    let places: Vec<u32> = (0..x.m).flat_map(|row| [row, (row + 2) % x.m]).map(|row| row as u32).collect();
    let weights: Vec<f32> = (0..x.m).flat_map(|_| [0.5, 2.0]).collect();
    let (on_places, on_weights) =
        (bench.device.upload(&places, [x.m, 2])?, bench.device.upload(&weights, [x.m, 2])?);
    let mut out = bench.output::<T, 2>([x.m, 2 * n])?;
    combine(&stream, &on_x.view()?, &on_places, &on_weights, &mut out.view_mut()?)?;
    let wanted = (0..x.m * 2 * n).map(|at| {
        let (row, column) = (at / (2 * n), at % (2 * n));
        let terms = [0.5 * of(row, column), 2.0 * of((row + 2) % x.m, column)];
        let (sum, size) =
            (terms[0] + terms[1], terms.iter().filter(|x| x.is_finite()).map(|x| x.abs()).sum());
        Want::of(sum, size, 2e-7 * size + rounding * sum.abs() + T::TINY + 2e-38)
    });
    bench.check("combine", &out.read()?, wanted, |at| Rows::<T>::name(at / (2 * n)));
    Ok(())
}
