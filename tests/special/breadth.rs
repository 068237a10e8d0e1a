//! Elementwise functions, reductions and moves, by their host functions.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_bench::operations;
use layout_cuda::{Definition, Elem, Error, bf16, f16};
use layout_kernels::Real;
use layout_kernels::elementwise::{Binary, Pairs, Unary};
use layout_kernels::kernels::{elementwise::*, movement::*, reductions::*};
use layout_kernels::movement;
use layout_kernels::reductions::{Extreme, Reduction, Test, index_of, reduce, test};
use layout_tests::support::special::{Float, Rows};

/// Kernels in these types.
fn covered(kernels: &[&'static Definition], types: &[Elem]) -> Vec<Covered> {
    kernels.iter().flat_map(|of| types.iter().map(|elem| Covered::of(of, *elem))).collect()
}

pub fn entries() -> Vec<Entry> {
    let (all, both) = ([Elem::F32, Elem::Bf16, Elem::F16], [Elem::F32, Elem::Bf16]);
    vec![
        Entry::new(&covered(&[&unary::DEFINITION, &unary_strided::DEFINITION], &all), |bench| {
            of_one::<f32>(bench)?;
            of_one::<bf16>(bench)?;
            of_one::<f16>(bench)
        }),
        Entry::new(
            &covered(
                &[
                    &binary::DEFINITION,
                    &binary_strided::DEFINITION,
                    &choose::DEFINITION,
                    &choose_strided::DEFINITION,
                    &rope::DEFINITION,
                ],
                &all,
            ),
            |bench| {
                of_two::<f32>(bench)?;
                of_two::<bf16>(bench)?;
                of_two::<f16>(bench)
            },
        ),
        Entry::new(&covered(&[&reduce_rows::DEFINITION, &reduce_axis::DEFINITION], &all), |bench| {
            reduced::<f32>(bench)?;
            reduced::<bf16>(bench)?;
            reduced::<f16>(bench)
        }),
        Entry::new(
            &covered(
                &[
                    &select_rows::DEFINITION,
                    &gather::DEFINITION,
                    &scatter_add::DEFINITION,
                    &moved::DEFINITION,
                    &moved_rows::DEFINITION,
                ],
                &both,
            ),
            |bench| {
                moves::<f32>(bench)?;
                moves::<bf16>(bench)
            },
        ),
    ]
}

/// Within some units of float32, rounded to the type.
fn near<T: Float>(exact: f64) -> Want {
    let rounding = 2f64.powi(-T::DIGITS);
    Want::Near(exact, (3e-6 + rounding) * exact.abs() + T::TINY + 2e-38)
}

fn of_one<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    let functions = [
        (Unary::Cast, "identity", 0.0, 0.0),
        (Unary::Affine(-0.5, 1.25), "affine", -0.5, 1.25),
        (Unary::Exp, "exp", 0.0, 0.0),
        (Unary::Log, "log", 0.0, 0.0),
        (Unary::Sqrt, "sqrt", 0.0, 0.0),
        (Unary::Sigmoid, "sigmoid", 0.0, 0.0),
        (Unary::Relu, "relu", 0.0, 0.0),
        (Unary::Clamp(-0.5, 1.25), "clamp", -0.5, 1.25),
        (Unary::Silu, "silu", 0.0, 0.0),
        (Unary::Gelu, "gelu", 0.0, 0.0),
        (Unary::GeluTanh, "gelu_tanh", 0.0, 0.0),
    ];
    let n = 37;
    let x = bench.rows::<T>(n);
    for (f, name, a, b) in functions {
        let want = |x: &T| near::<T>(operations::unary(name, x.wide(), a, b));
        let (on_x, mut out) = (bench.tensor(&x.values, [x.m, n])?, bench.output::<T, 2>([x.m, n])?);
        layout_kernels::elementwise::unary(&bench.stream(), f, &on_x.view()?, &mut out.view_mut()?)?;
        let found = out.read()?;
        bench.check(name, &found, x.values.iter().map(want), |at| Rows::<T>::name(at / n));
        // Rows that are a little apart.
        let mut out = bench.pitched(&found, [x.m, n], n + 3)?;
        layout_kernels::elementwise::unary(&bench.stream(), f, &on_x.view()?, &mut out.view_mut()?)?;
        bench.check(name, &out.read()?, x.values.iter().map(want), |at| Rows::<T>::name(at / n));
    }
    Ok(())
}

fn of_two<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    let functions = [
        (Binary::Add, "add"),
        (Binary::Sub, "sub"),
        (Binary::Mul, "mul"),
        (Binary::Div, "div"),
        (Binary::Maximum, "maximum"),
        (Binary::Minimum, "minimum"),
        (Binary::Swiglu, "swiglu"),
    ];
    let n = 34;
    let x = bench.rows::<T>(n);
    let stream = bench.stream();
    // Another kind of row beside each, and then the same ordinary one.
    let turned: Vec<T> = (0..x.m * n).map(|at| x.values[(at + 5 * n) % (x.m * n)]).collect();
    let once: Vec<T> = (0..n).map(|at| T::rounded([0.5, -1.0, 2.0, 0.25, -1.5][at % 5])).collect();
    let (on_x, on_turned) = (bench.tensor(&x.values, [x.m, n])?, bench.tensor(&turned, [x.m, n])?);
    let on_once = bench.tensor(&once, [1, n])?;
    let name = |at: usize| Rows::<T>::name(at / n);
    for (f, of) in functions {
        let mut out = bench.output::<T, 2>([x.m, n])?;
        let room = |x: f64, y: f64| match operations::binary(of, x, y) {
            // What is far below zero is 0 before it is multiplied.
            exact if of == "swiglu" => Want::Near(
                exact,
                (3e-6 + 2f64.powi(-T::DIGITS)) * exact.abs() + T::TINY + 2e-38 * (1.0 + y.abs().min(1e38)),
            ),
            exact => near::<T>(exact),
        };
        layout_kernels::elementwise::binary(
            &stream,
            f,
            &on_x.view()?,
            &on_turned.view()?,
            &mut out.view_mut()?,
        )?;
        let wanted = (0..x.m * n).map(|at| room(x.values[at].wide(), turned[at].wide()));
        bench.check(of, &out.read()?, wanted, name);
        layout_kernels::elementwise::binary(
            &stream,
            f,
            &on_x.view()?,
            &on_once.view()?,
            &mut out.view_mut()?,
        )?;
        let wanted = (0..x.m * n).map(|at| room(x.values[at].wide(), once[at % n].wide()));
        bench.check(of, &out.read()?, wanted, name);
    }
    let mask: Vec<bool> = (0..n).map(|at| at % 3 == 0).collect();
    let mut out = bench.output::<T, 2>([x.m, n])?;
    let whole = bench.device.upload(&mask.repeat(x.m), [x.m, n])?;
    let of_columns = bench.device.upload(&mask, [1, n])?;
    let wanted: Vec<u64> =
        (0..x.m * n).map(|at| if mask[at % n] { x.values[at] } else { turned[at] }).map(T::to_bits).collect();
    for mask in [&whole, &of_columns] {
        layout_kernels::elementwise::choose(
            &stream,
            mask,
            &on_x.view()?,
            &on_turned.view()?,
            &mut out.view_mut()?,
        )?;
        let found: Vec<u64> = out.read()?.into_iter().map(T::to_bits).collect();
        bench.check_that(found == wanted, || format!("choose of {:?}: other bits", T::ELEM));
    }
    // By a quarter: each element is another one, or its negative.
    let half = n / 2;
    let (cos, sin) =
        (bench.device.zeros([x.m, half])?, bench.device.upload(&vec![1.0f32; x.m * half], [x.m, half])?);
    let on_x = bench.tensor(&x.values, [x.m, 1, n])?;
    let mut out = bench.output::<T, 3>([x.m, 1, n])?;
    layout_kernels::elementwise::rope(
        &stream,
        Pairs::Halves,
        &on_x.view()?,
        &cos,
        &sin,
        &mut out.view_mut()?,
    )?;
    let wanted = (0..x.m * n).map(|at| {
        let (row, i) = (at / n * n, at % n);
        let (re, im) = (x.values[row + i % half].wide(), x.values[row + half + i % half].wide());
        Want::exact(if i < half { re * 0.0 - im } else { im * 0.0 + re })
    });
    bench.check("rope", &out.read()?, wanted, name);
    Ok(())
}

/// What a reduction may give: where parts of it leave float32, no finite number is right, too.
fn want<T: Float>(op: usize, x: &[f64]) -> Want {
    let (exact, room) = operations::reduced(op, 0.0, x);
    let size = match op {
        VARIANCE => x.iter().filter(|x| x.is_finite()).map(|x| 8.0 * x * x).sum(),
        PRODUCT => x.iter().filter(|x| x.is_finite()).map(|x| x.abs().max(1.0)).product(),
        _ => x.iter().filter(|x| x.is_finite()).map(|x| x.abs()).sum(),
    };
    let room = room + 2f64.powi(-T::DIGITS) * exact.abs() + T::TINY + 1e-37;
    match op {
        MAX | MIN | LOGSUMEXP => Want::Near(exact, room),
        // Through what is below float32, a product does not come back.
        PRODUCT if x.iter().map(|x| x.abs().min(1.0)).product::<f64>() < 1e-37 && exact != 0.0 => {
            Want::Loose(exact, f64::INFINITY)
        }
        _ => Want::of(exact, size, room),
    }
}

fn reduced<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    let reductions = [
        (Reduction::Sum, SUM),
        (Reduction::Mean, MEAN),
        (Reduction::Variance(0.0), VARIANCE),
        (Reduction::Max, MAX),
        (Reduction::Min, MIN),
        (Reduction::LogSumExp, LOGSUMEXP),
        (Reduction::Product, PRODUCT),
    ];
    let stream = bench.stream();
    for n in [1, 9, 40, 301] {
        let x = bench.rows::<T>(n);
        let turned: Vec<T> = (0..n * x.m).map(|at| x.values[at % x.m * n + at / x.m]).collect();
        let (on_x, on_turned) = (bench.tensor(&x.values, [x.m, n])?, bench.tensor(&turned, [n, x.m])?);
        for (reduction, op) in reductions {
            let mut of_rows = bench.output::<T, 2>([x.m, 1])?;
            reduce(&stream, reduction, 1, &on_x.view()?, &mut of_rows.view_mut()?)?;
            let wanted = || (0..x.m).map(|row| want::<T>(op, &x.row(row)));
            let what = format!("{reduction:?} of {n} of {:?}", T::ELEM);
            bench.check(&what, &of_rows.read()?, wanted(), Rows::<T>::name);
            let mut of_columns = bench.output::<T, 2>([1, x.m])?;
            reduce(&stream, reduction, 0, &on_turned.view()?, &mut of_columns.view_mut()?)?;
            bench.check(&what, &of_columns.read()?, wanted(), Rows::<T>::name);
        }
        let place = |op: usize| (0..x.m).map(move |row| (row, op));
        let exact = |(row, op): (usize, usize)| operations::reduced(op, 0.0, &x.row(row)).0;
        let (mut at, mut bits) =
            (bench.device.zeros::<u32, 2>([x.m, 1])?, bench.device.zeros::<u8, 2>([1, x.m])?);
        for (extreme, op) in [(Extreme::Max, ARGMAX), (Extreme::Min, ARGMIN)] {
            index_of(&stream, extreme, 1, &on_x.view()?, &mut at)?;
            let found: Vec<f64> = at.download()?.into_iter().map(f64::from).collect();
            let wanted: Vec<f64> = place(op).map(exact).collect();
            bench.check_that(found == wanted, || format!("{extreme:?} of {n}: {found:?}, not {wanted:?}"));
        }
        for (kind, op) in [(Test::Any, ANY), (Test::All, ALL)] {
            test(&stream, kind, 0, &on_turned.view()?, &mut bits)?;
            let found: Vec<f64> = bits.download()?.into_iter().map(f64::from).collect();
            let wanted: Vec<f64> = place(op).map(exact).collect();
            bench.check_that(found == wanted, || format!("{kind:?} of {n}: {found:?}, not {wanted:?}"));
        }
    }
    Ok(())
}

fn moves<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    let (stream, n) = (bench.stream(), 33);
    let x = bench.rows::<T>(n);
    let on_x = bench.tensor(&x.values, [x.m, n])?;
    let index: Vec<u32> = (0..x.m as u32).rev().collect();
    let on_index = bench.device.upload(&index, [x.m])?;
    let backwards: Vec<u64> =
        (0..x.m * n).map(|at| x.values[(x.m - 1 - at / n) * n + at % n].to_bits()).collect();
    let mut out = bench.output::<T, 2>([x.m, n])?;
    let same = |what: &str, found: Vec<T>| {
        let found: Vec<u64> = found.into_iter().map(T::to_bits).collect();
        bench.check_that(found == backwards, || format!("{what} of {:?}: other bits", T::ELEM));
    };
    movement::select_rows(&stream, &on_x.view()?, &on_index, &mut out.view_mut()?)?;
    same("select_rows", out.read()?);
    // One index for each row.
    let of_rows = on_index.part(0, [x.m, n], [1, 0])?;
    movement::gather(&stream, 0, &on_x.view()?, &of_rows, &mut out.view_mut()?)?;
    same("gather", out.read()?);
    movement::flip(&stream, [true, false], &on_x.view()?, &mut out.view_mut()?)?;
    same("flip", out.read()?);
    // Rows backwards, and back.
    let mut turned = bench.output::<T, 2>([x.m, n])?;
    movement::flip(&stream, [true, true], &on_x.view()?, &mut turned.view_mut()?)?;
    movement::flip(&stream, [false, true], &turned.view()?, &mut out.view_mut()?)?;
    same("flip of rows", out.read()?);
    let mut sums = bench.device.zeros::<f32, 2>([x.m, n])?;
    movement::scatter_add(&stream, 0, &on_x.view()?, &of_rows, &mut sums)?;
    // Atomic additions take subnormal numbers for zeros.
    let normal = |value: f64| if (value as f32).is_subnormal() { 0.0 } else { value };
    let wanted = (0..x.m * n).map(|at| Want::exact(normal(x.values[(x.m - 1 - at / n) * n + at % n].wide())));
    bench.check("scatter_add", &sums.download()?, wanted, |at| Rows::<T>::name(x.m - 1 - at / n));
    Ok(())
}
