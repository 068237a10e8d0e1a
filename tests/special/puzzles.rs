//! The puzzles' sums, products of vectors and prefix sums.

use super::bench::{Bench, Want};
use super::reductions::{every, ordinary};
use super::{Covered, Entry};
use layout_cuda::{Error, LaunchConfig};
use layout_examples::kernels::puzzles::*;
use layout_tests::support::special::{Float, Rows};

pub fn entries() -> Vec<Entry> {
    let sums = [&dot_product::DEFINITION, &row_sum::DEFINITION, &column_sum::DEFINITION];
    let scans = [
        &prefix_sum_simple::DEFINITION,
        &prefix_sum_blelloch::DEFINITION,
        &prefix_sum_local::DEFINITION,
        &prefix_sum_add_totals::DEFINITION,
    ];
    vec![Entry::new(&sums.map(Covered::plain), reduced), Entry::new(&scans.map(Covered::plain), scanned)]
}

fn reduced(bench: &Bench<'_>) -> Result<(), Error> {
    let (config, stream) = (LaunchConfig::default(), bench.stream());
    for n in [1, 7, 20] {
        let x = bench.rows::<f32>(n);
        let (on_x, mut sums) = (bench.tensor(&x.values, [x.m, n])?, bench.output::<f32, 2>([x.m, 1])?);
        row_sum::launch_with(config, &stream, &mut sums.view_mut()?, &on_x.view()?)?;
        let wanted = || (0..x.m).map(|row| Want::sum(x.row(row), n as f64));
        bench.check(&format!("row_sum of {n}"), &sums.read()?, wanted(), Rows::<f32>::name);
        let turned: Vec<f32> = (0..n * x.m).map(|at| x.values[at % x.m * n + at / x.m]).collect();
        let (on_x, mut sums) = (bench.tensor(&turned, [n, x.m])?, bench.output::<f32, 2>([1, x.m])?);
        column_sum::launch_with(config, &stream, &mut sums.view_mut()?, &on_x.view()?)?;
        bench.check(&format!("column_sum of {n}"), &sums.read()?, wanted(), Rows::<f32>::name);
        for row in 0..x.m {
            let (a, b) = (&x.values[row * n..(row + 1) * n], ordinary(n));
            let (on_a, on_b, mut out) =
                (bench.tensor(a, [n])?, bench.tensor(&b, [n])?, bench.output::<f32, 1>([1])?);
            dot_product::launch_with(config, &stream, &mut out.view_mut()?, &on_a.view()?, &on_b.view()?)?;
            let want = Want::sum(a.iter().zip(&b).map(|(a, b)| a.wide() * b.wide()), n as f64);
            bench.check(&format!("dot_product of {n}"), &out.read()?, [want], |_| Rows::<f32>::name(row));
        }
    }
    Ok(())
}

fn scanned(bench: &Bench<'_>) -> Result<(), Error> {
    let (config, stream) = (LaunchConfig::default(), bench.stream());
    for (kind, n) in every(&[1, 7, 8, 20]) {
        let (a, name) = (bench.row::<f32>(kind, n, 1), |_| format!("{kind:?} of {n}"));
        let upto = |first: usize, i: usize| Want::sum(a[first..=i].iter().map(|a| a.wide()), n as f64);
        let on_a = bench.tensor(&a, [n])?;
        if n <= 8 {
            let mut out = bench.output::<f32, 1>([n])?;
            prefix_sum_simple::launch_with(config, &stream, &mut out.view_mut()?, &on_a.view()?)?;
            bench.check("prefix_sum_simple", &out.read()?, (0..n).map(|i| upto(0, i)), name);
            prefix_sum_blelloch::launch_with(config, &stream, &mut out.view_mut()?, &on_a.view()?)?;
            bench.check("prefix_sum_blelloch", &out.read()?, (0..n).map(|i| upto(0, i)), name);
        }
        let blocks = n.div_ceil(8);
        let mut out = bench.output::<f32, 1>([n + blocks])?;
        prefix_sum_local::launch_with(config, &stream, &mut out.view_mut()?, &on_a.view()?)?;
        let totals = || (0..blocks).map(|block| upto(8 * block, (8 * block + 7).min(n - 1)));
        let local = (0..n).map(|i| upto(i / 8 * 8, i)).chain(totals());
        bench.check("prefix_sum_local", &out.read()?, local, name);
        prefix_sum_add_totals::launch_with(config, &stream, &mut out.view_mut()?, n)?;
        let whole = (0..n).map(|i| upto(0, i)).chain(totals());
        bench.check("prefix_sum_add_totals", &out.read()?, whole, name);
    }
    Ok(())
}
