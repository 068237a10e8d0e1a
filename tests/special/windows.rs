//! Convolutions and poolings: an element reaches its own windows and no other one.

use super::bench::{Bench, Want, set_of, with};
use super::reductions::{every, ordinary};
use super::{Covered, Entry};
use layout_cuda::{Error, LaunchConfig};
use layout_examples::kernels::puzzles::{conv_1d_block_boundary, conv_1d_simple, conv_2d_halo, pooling};
use layout_kernels::kernels::memory::*;
use layout_tests::support::special::{Float, Rows};

pub fn entries() -> Vec<Entry> {
    vec![
        Entry::new(&[Covered::plain(&conv1d::DEFINITION)], |bench| {
            let set = set_of(&conv1d::DEFINITION, &[("THREADS", 64)], &[]);
            let taps = ordinary(5);
            for (kind, n) in every(&[1, 7, 255, 300]) {
                let x = bench.row::<f32>(kind, n, 1);
                let (on_x, on_taps, mut out) =
                    (bench.tensor(&x, [n])?, bench.tensor(&taps, [5])?, bench.output::<f32, 1>([n])?);
                conv1d::launch_with(
                    with(&set),
                    &bench.stream(),
                    &on_x.view()?,
                    &on_taps.view()?,
                    &mut out.view_mut()?,
                )?;
                let terms = |i: usize| (0..5).filter_map(move |k| Some((k, (i + k).checked_sub(2)?)));
                let wanted = (0..n).map(|i| {
                    Want::sum(terms(i).filter_map(|(k, at)| Some(taps[k].wide() * x.get(at)?.wide())), 5.0)
                });
                bench.check("conv1d", &out.read()?, wanted, |_| format!("{kind:?} of {n}"));
            }
            Ok(())
        }),
        Entry::new(&[Covered::plain(&conv2d::DEFINITION)], |bench| {
            for (side, n) in [(3, 5), (3, 133), (5, 36)] {
                let set = set_of(&conv2d::DEFINITION, &[("SIZE", side)], &[]);
                let (x, weights) = (bench.rows::<f32>(n), ordinary(side * side));
                let (on_x, on_weights) =
                    (bench.tensor(&x.values, [x.m, n])?, bench.tensor(&weights, [side, side])?);
                let mut out = bench.output::<f32, 2>([x.m, n])?;
                conv2d::launch_with(
                    with(&set),
                    &bench.stream(),
                    &on_x.view()?,
                    &on_weights.view()?,
                    &mut out.view_mut()?,
                )?;
                let wanted = (0..x.m * n).map(|place| {
                    let near = near(&x, place, side, side / 2);
                    Want::sum(near.map(|(k, value)| weights[k].wide() * value), (side * side) as f64)
                });
                bench.check(&format!("conv2d {side} of {n}"), &out.read()?, wanted, |at| {
                    Rows::<f32>::name(at / n)
                });
            }
            Ok(())
        }),
        Entry::new(&[Covered::plain(&pool1d::DEFINITION), Covered::plain(&pool2d::DEFINITION)], pools),
        Entry::new(
            &[
                &pooling::DEFINITION,
                &conv_1d_simple::DEFINITION,
                &conv_1d_block_boundary::DEFINITION,
                &conv_2d_halo::DEFINITION,
            ]
            .map(Covered::plain),
            puzzles,
        ),
    ]
}

/// Of the window of an element, which begins so many rows and columns before it, what is inside, with its number in the window.
fn near(
    x: &Rows<f32>,
    place: usize,
    side: usize,
    before: usize,
) -> impl Iterator<Item = (usize, f64)> + use<'_> {
    let (i, j) = (place / x.n, place % x.n);
    (0..side * side).filter_map(move |k| {
        let (row, col) = ((i + k / side).checked_sub(before)?, (j + k % side).checked_sub(before)?);
        (row < x.m && col < x.n).then(|| (k, x.values[row * x.n + col].wide()))
    })
}

/// Sum, mean or largest of what there is; a NaN is none of the largest.
fn pooled(kind: usize, there: impl Iterator<Item = f64>, units: f64) -> Want {
    let there: Vec<f64> = there.collect();
    let count = there.len() as f64;
    match (kind, Want::sum(there.iter().copied(), units)) {
        (0, sum) => sum,
        (1, Want::Near(sum, room)) => Want::Near(sum / count, room / count + (sum / count).abs() * 1e-7),
        (1, Want::Loose(sum, room)) => Want::Loose(sum / count, room / count + (sum / count).abs() * 1e-7),
        (..) => Want::exact(there.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b))),
    }
}

fn pools(bench: &Bench<'_>) -> Result<(), Error> {
    for pool in 0..3 {
        let set = set_of(&pool1d::DEFINITION, &[("KIND", pool), ("THREADS", 64), ("ROUNDS", 1)], &[]);
        for (kind, n) in every(&[1, 7, 255, 300]) {
            let x = bench.row::<f32>(kind, n, 1);
            let (on_x, mut out) = (bench.tensor(&x, [n])?, bench.output::<f32, 1>([n])?);
            pool1d::launch_with(with(&set), &bench.stream(), &on_x.view()?, &mut out.view_mut()?)?;
            let wanted =
                (0..n).map(|i| pooled(pool, x[i.saturating_sub(2)..=i].iter().map(|x| x.wide()), 3.0));
            bench.check(&format!("pool1d {pool}"), &out.read()?, wanted, |_| format!("{kind:?} of {n}"));
        }
        let set = set_of(&pool2d::DEFINITION, &[("KIND", pool)], &[]);
        for n in [1, 7, 133] {
            let x = bench.rows::<f32>(n);
            let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n])?, bench.output::<f32, 2>([x.m, n])?);
            pool2d::launch_with(with(&set), &bench.stream(), &on_x.view()?, &mut out.view_mut()?)?;
            let wanted =
                (0..x.m * n).map(|place| pooled(pool, near(&x, place, 3, 2).map(|(_, value)| value), 9.0));
            bench.check(&format!("pool2d {pool} of {n}"), &out.read()?, wanted, |at| {
                Rows::<f32>::name(at / n)
            });
        }
    }
    Ok(())
}

fn puzzles(bench: &Bench<'_>) -> Result<(), Error> {
    let (config, stream) = (LaunchConfig::default(), bench.stream());
    for (kind, n) in every(&[1, 2, 7, 8, 9, 20]) {
        let (a, name) = (bench.row::<f32>(kind, n, 1), |_| format!("{kind:?} of {n}"));
        let (on_a, mut out) = (bench.tensor(&a, [n])?, bench.output::<f32, 1>([n])?);
        pooling::launch_with(config, &stream, &mut out.view_mut()?, &on_a.view()?)?;
        let wanted = (0..n).map(|i| Want::sum(a[i.saturating_sub(2)..=i].iter().map(|a| a.wide()), 3.0));
        bench.check("pooling", &out.read()?, wanted, name);
        let of = |taps: &[f32], i: usize| {
            Want::sum((i..n).zip(taps).map(|(at, tap)| a[at].wide() * tap.wide()).collect::<Vec<_>>(), 4.0)
        };
        if n <= 8 {
            let on_taps = bench.tensor(&ordinary(3), [3])?;
            conv_1d_simple::launch_with(
                config,
                &stream,
                &mut out.view_mut()?,
                &on_a.view()?,
                &on_taps.view()?,
            )?;
            bench.check("conv_1d_simple", &out.read()?, (0..n).map(|i| of(&ordinary(3), i)), name);
        }
        let on_taps = bench.tensor(&ordinary(4), [4])?;
        conv_1d_block_boundary::launch_with(
            config,
            &stream,
            &mut out.view_mut()?,
            &on_a.view()?,
            &on_taps.view()?,
        )?;
        bench.check("conv_1d_block_boundary", &out.read()?, (0..n).map(|i| of(&ordinary(4), i)), name);
    }
    for n in [1, 9, 17] {
        let (x, weights) = (bench.rows::<f32>(n), ordinary(9));
        let (on_x, on_weights) = (bench.tensor(&x.values, [x.m, n])?, bench.tensor(&weights, [3, 3])?);
        let mut out = bench.output::<f32, 2>([x.m, n])?;
        conv_2d_halo::launch_with(config, &stream, &mut out.view_mut()?, &on_x.view()?, &on_weights.view()?)?;
        let wanted = (0..x.m * n)
            .map(|place| Want::sum(near(&x, place, 3, 0).map(|(k, value)| weights[k].wide() * value), 9.0));
        bench.check(&format!("conv_2d_halo of {n}"), &out.read()?, wanted, |at| Rows::<f32>::name(at / n));
    }
    Ok(())
}
