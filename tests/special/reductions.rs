//! Sums, products of vectors, largest elements, prefix sums, and counts of bytes.

use super::bench::{Bench, Want, set_of, with};
use super::{Covered, Entry};
use layout_cuda::{Definition, Error, LaunchConfig};
use layout_kernels::kernels::memory::*;
use layout_kernels::memory::{SCAN_UNITS, SPLITS, SUM_UNITS, ScanState};
use layout_tests::support::special::{Float, Kind, Rows};

/// Fewer blocks and threads than the usual set has: tiles of 256 elements.
fn small(definition: &Definition) -> layout_cuda::ParamSet {
    set_of(definition, &[("P", PARTS), ("THREADS", 64), ("ROUNDS", 1)], &[])
}

const PARTS: usize = 3;
const LENGTHS: [usize; 4] = [1, 255, 257, 1030];

pub fn entries() -> Vec<Entry> {
    let plain = |all: &[&'static Definition]| all.iter().map(|one| Covered::plain(one)).collect::<Vec<_>>();
    vec![
        Entry::new(
            &plain(&[&sum_of_parts::DEFINITION, &total_sum::DEFINITION, &dot_of_parts::DEFINITION]),
            sums,
        ),
        Entry::new(
            &plain(&[
                &max_of_parts::DEFINITION,
                &total_max::DEFINITION,
                &argmax_of_parts::DEFINITION,
                &total_argmax::DEFINITION,
            ]),
            largest,
        ),
        Entry::new(
            &plain(&[&row_sums::DEFINITION, &column_sums_of_parts::DEFINITION, &column_sums::DEFINITION]),
            axes,
        ),
        Entry::new(&plain(&[&scan::DEFINITION, &scan_start::DEFINITION]), prefix),
        Entry::new(&plain(&[&gemv::DEFINITION]), by_vector),
    ]
}

/// The set of the launch that combines the parts.
fn total(definition: &Definition) -> layout_cuda::ParamSet {
    set_of(definition, &[("P", PARTS), ("THREADS", 64)], &[])
}

fn sums(bench: &Bench<'_>) -> Result<(), Error> {
    let (first, second, last) =
        (small(&sum_of_parts::DEFINITION), small(&dot_of_parts::DEFINITION), total(&total_sum::DEFINITION));
    for (kind, n) in every(&LENGTHS) {
        let (x, y) = (bench.row::<f32>(kind, n, 1), ordinary(n));
        let (on_x, on_y) = (bench.tensor(&x, [n])?, bench.tensor(&y, [n])?);
        let (mut parts, mut out) = (bench.output::<f32, 1>([PARTS])?, bench.output::<f32, 1>([1])?);
        sum_of_parts::launch_with(with(&first), &bench.stream(), &on_x.view()?, &mut parts.view_mut()?)?;
        total_sum::launch_with(with(&last), &bench.stream(), &parts.view()?, &mut out.view_mut()?)?;
        let name = |_| format!("{kind:?} of {n}");
        bench.check("sum", &out.read()?, [Want::sum(x.iter().map(|x| x.wide()), SUM_UNITS)], name);
        let both = [(&on_x, &on_y), (&on_y, &on_x)];
        for (x_view, y_view) in both {
            let (x_view, y_view) = (x_view.view()?, y_view.view()?);
            dot_of_parts::launch_with(
                with(&second),
                &bench.stream(),
                &x_view,
                &y_view,
                &mut parts.view_mut()?,
            )?;
            total_sum::launch_with(with(&last), &bench.stream(), &parts.view()?, &mut out.view_mut()?)?;
            let terms = x.iter().zip(&y).map(|(x, y)| x.wide() * y.wide());
            bench.check("dot", &out.read()?, [Want::sum(terms, SUM_UNITS)], name);
        }
    }
    Ok(())
}

/// Ordinary factors, no zero among them.
pub fn ordinary(n: usize) -> Vec<f32> {
    (0..n).map(|i| [0.5, -1.0, 2.0, 0.25, -1.5, 1.0, 0.75][i % 7]).collect()
}

/// Every kind at every length.
pub fn every(lengths: &[usize]) -> impl Iterator<Item = (Kind, usize)> + use<'_> {
    Kind::ALL.into_iter().flat_map(|kind| lengths.iter().map(move |n| (kind, *n)))
}

/// A NaN is passed over: the largest of the others, and its first place, none of what is not above minus infinity.
fn largest(bench: &Bench<'_>) -> Result<(), Error> {
    let sets = [
        small(&max_of_parts::DEFINITION),
        total(&total_max::DEFINITION),
        small(&argmax_of_parts::DEFINITION),
        total(&total_argmax::DEFINITION),
    ];
    let [of_parts, of_all, place_of_parts, place_of_all] = sets.each_ref().map(with);
    for (kind, n) in every(&LENGTHS) {
        let x = bench.row::<f32>(kind, n, 1);
        let on_x = bench.tensor(&x, [n])?;
        let (mut parts, mut out) = (bench.output::<f32, 1>([PARTS])?, bench.output::<f32, 1>([1])?);
        max_of_parts::launch_with(of_parts, &bench.stream(), &on_x.view()?, &mut parts.view_mut()?)?;
        total_max::launch_with(of_all, &bench.stream(), &parts.view()?, &mut out.view_mut()?)?;
        let most = x.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
        bench.check("max", &out.read()?, [Want::exact(most.wide())], |_| format!("{kind:?} of {n}"));
        let (mut places, mut place) =
            (bench.device.zeros::<u32, 1>([PARTS])?, bench.device.zeros::<u32, 1>([1])?);
        let mut on_parts = parts.view_mut()?;
        argmax_of_parts::launch_with(
            place_of_parts,
            &bench.stream(),
            &on_x.view()?,
            &mut on_parts,
            &mut places,
        )?;
        total_argmax::launch_with(place_of_all, &bench.stream(), &parts.view()?, &places, &mut place)?;
        let first = x.iter().position(|x| *x == most && most > f32::NEG_INFINITY);
        let (found, first) = (place.download()?[0], first.map_or(u32::MAX, |first| first as u32));
        bench.check_that(found == first, || format!("argmax, {kind:?} of {n}: {found}, not {first}"));
    }
    Ok(())
}

fn axes(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&row_sums::DEFINITION, &[("THREADS", 64), ("ROUNDS", 1)], &[]);
    for n in [1, 5, 256, 601] {
        let x = bench.rows::<f32>(n);
        let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n])?, bench.output::<f32, 1>([x.m])?);
        row_sums::launch_with(with(&set), &bench.stream(), &on_x.view()?, &mut out.view_mut()?)?;
        let wanted = (0..x.m).map(|row| Want::sum(x.row(row), SUM_UNITS));
        bench.check(&format!("row_sums of {n}"), &out.read()?, wanted, Rows::<f32>::name);
        // The same rows as columns.
        let turned: Vec<f32> = (0..n * x.m).map(|at| x.values[at % x.m * n + at / x.m]).collect();
        let (on_x, mut parts) = (bench.tensor(&turned, [n, x.m])?, bench.output::<f32, 2>([SPLITS, x.m])?);
        let config = LaunchConfig::default();
        column_sums_of_parts::launch_with(config, &bench.stream(), &on_x.view()?, &mut parts.view_mut()?)?;
        column_sums::launch_with(config, &bench.stream(), &parts.view()?, &mut out.view_mut()?)?;
        let wanted = (0..x.m).map(|row| Want::sum(x.row(row), SUM_UNITS));
        bench.check(&format!("column_sums of {n}"), &out.read()?, wanted, Rows::<f32>::name);
    }
    Ok(())
}

fn prefix(bench: &Bench<'_>) -> Result<(), Error> {
    // The longest has more than 128 tiles of 256: what is carried from one 128 to the next is not finite, either.
    let long = [Kind::Infinity, Kind::NegInfinity, Kind::BothInfinities, Kind::NanFirst, Kind::Offset];
    let lengths = every(&[1, 255, 700]).chain(long.map(|kind| (kind, 256 * 129 + 5)));
    for ((kind, n), exclusive) in lengths.flat_map(|of| [(of, false), (of, true)]) {
        let x = bench.row::<f32>(kind, n, 1);
        let stream = bench.stream();
        let (on_x, mut out) = (bench.device.upload(&x, [n])?, bench.device.zeros::<f32, 1>([n])?);
        let mut state = ScanState::tiled(&stream, n.div_ceil(256))?;
        layout_kernels::memory::scan(&stream, exclusive, [64, 1], false, &on_x, &mut out, &mut state)?;
        let (mut sum, mut size) = (0.0, 0.0);
        let wanted: Vec<Want> = x
            .iter()
            .map(|x| {
                let before = of_sum(sum, size);
                sum += x.wide();
                size += if x.is_finite() { x.wide().abs() } else { 0.0 };
                if exclusive { before } else { of_sum(sum, size) }
            })
            .collect();
        bench.check("scan", &out.download()?, wanted, |_| format!("{kind:?} of {n}, exclusive: {exclusive}"));
    }
    Ok(())
}

fn of_sum(sum: f64, size: f64) -> Want {
    Want::of(sum, size, SCAN_UNITS * size * 2f64.powi(-24))
}

fn by_vector(bench: &Bench<'_>) -> Result<(), Error> {
    let set = set_of(&gemv::DEFINITION, &[("THREADS", 64), ("ROWS", 4)], &[]);
    for n in [1, 6, 301] {
        let (a, x) = (bench.rows::<f32>(n), ordinary(n));
        let (on_a, on_x) = (bench.tensor(&a.values, [a.m, n])?, bench.tensor(&x, [n])?);
        let mut y = bench.output::<f32, 1>([a.m])?;
        gemv::launch_with(with(&set), &bench.stream(), &on_a.view()?, &on_x.view()?, &mut y.view_mut()?)?;
        let wanted =
            (0..a.m).map(|row| Want::sum(a.row(row).iter().zip(&x).map(|(a, x)| a * x.wide()), 64.0));
        bench.check(&format!("gemv of {n}"), &y.read()?, wanted, Rows::<f32>::name);
        // The vector of every kind, the rows ordinary.
        let (rows, a) = (5, ordinary(5 * n));
        let (on_a, mut y) = (bench.tensor(&a, [rows, n])?, bench.output::<f32, 1>([rows])?);
        for kind in Kind::ALL {
            let x = bench.row::<f32>(kind, n, 3);
            let on_x = bench.tensor(&x, [n])?;
            gemv::launch_with(with(&set), &bench.stream(), &on_a.view()?, &on_x.view()?, &mut y.view_mut()?)?;
            let of = |row: usize| (0..n).map(move |j| (row * n + j, j));
            let wanted =
                (0..rows).map(|row| Want::sum(of(row).map(|(at, j)| a[at].wide() * x[j].wide()), 64.0));
            bench.check("gemv by a vector", &y.read()?, wanted, |_| format!("{kind:?} of {n}"));
        }
    }
    Ok(())
}
