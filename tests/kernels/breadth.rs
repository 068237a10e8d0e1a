//! Elementwise functions, reductions and moves of layout-kernels, each kernel by itself.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{floats, integers};
use crate::support::special::Float;
use layout_bench::operations;
use layout_compiler::Elem;
use layout_cuda::{Element, Error, ParamValue, bf16, f16};
use layout_kernels::kernels::{elementwise::*, movement::*, reductions::*};

/// A parameter's type.
fn elem(run: &Run<'_>, name: &str) -> Elem {
    match run.set.get(name) {
        Some(ParamValue::Type(elem)) => elem,
        other => panic!("{name} is {other:?}"),
    }
}

/// The name of the kernel's function.
fn function(run: &Run<'_>) -> &'static str {
    match run.set.get("F") {
        Some(ParamValue::Function(name)) => name,
        other => panic!("F is {other:?}"),
    }
}

/// Small numbers of a type.
fn some<T: Float>(n: usize, seed: u64) -> Vec<T> {
    floats(n, seed).into_iter().map(|x| T::rounded(f64::from(x))).collect()
}

/// Calls a function in the type of `T`.
macro_rules! typed {
    ($run:ident, $function:ident) => {
        match elem($run, "T") {
            Elem::F32 => $function::<f32>($run),
            Elem::Bf16 => $function::<bf16>($run),
            _ => $function::<f16>($run),
        }
    };
}

/// Calls a function in the types of `T` and `U`.
macro_rules! cast {
    ($run:ident, $function:ident) => {
        match (elem($run, "T"), elem($run, "U")) {
            (Elem::F32, Elem::F32) => $function::<f32, f32>($run),
            (Elem::F32, Elem::Bf16) => $function::<f32, bf16>($run),
            (Elem::F32, Elem::F16) => $function::<f32, f16>($run),
            (Elem::Bf16, Elem::F32) => $function::<bf16, f32>($run),
            (Elem::Bf16, Elem::Bf16) => $function::<bf16, bf16>($run),
            (Elem::F16, Elem::F32) => $function::<f16, f32>($run),
            _ => $function::<f16, f16>($run),
        }
    };
}

/// The same of reductions, which also give indices and bits.
macro_rules! reduced {
    ($run:ident, $function:ident) => {
        match elem($run, "U") {
            Elem::U32 => $function::<f32, u32>($run),
            Elem::U8 => $function::<f32, u8>($run),
            _ => cast!($run, $function),
        }
    };
}

/// A unit in the last place, relative, and a little more.
fn bound(elem: Elem) -> f64 {
    match elem {
        Elem::F32 => 3e-6,
        Elem::F16 => 5e-4,
        _ => 4e-3,
    }
}

fn of_one<T: Float, U: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [n, ..] = run.size;
    let x = some::<T>(n, 1);
    let (on_x, mut out) = (run.tensor(&x, [n])?, run.output::<U, 1>([n])?);
    unary::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?, -0.5, 1.25)?;
    let wanted = x.iter().map(|x| operations::unary(function(run), x.wide(), -0.5, 1.25));
    Ok(Outcome::within(bound(U::ELEM), out.read()?, wanted))
}

fn of_two<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [n, ..] = run.size;
    let (x, y) = (some::<T>(n, 1), some::<T>(n, 2));
    let (on_x, on_y, mut out) = (run.tensor(&x, [n])?, run.tensor(&y, [n])?, run.output::<T, 1>([n])?);
    binary::launch_with(run.config(), &run.stream(), &on_x.view()?, &on_y.view()?, &mut out.view_mut()?)?;
    let wanted = x.iter().zip(&y).map(|(x, y)| operations::binary(function(run), x.wide(), y.wide()));
    Ok(Outcome::within(bound(T::ELEM), out.read()?, wanted))
}

fn of_three<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [n, ..] = run.size;
    let (x, y) = (some::<T>(n, 1), some::<T>(n, 2));
    let mask: Vec<bool> = integers(n, 3, 1).iter().map(|bit| *bit == 0).collect();
    let (on_x, on_y, mut out) = (run.tensor(&x, [n])?, run.tensor(&y, [n])?, run.output::<T, 1>([n])?);
    let (on_mask, mut on_out) = (run.tensor(&mask, [n])?, out.view_mut()?);
    choose::launch_with(
        run.config(),
        &run.stream(),
        &on_mask.view()?,
        &on_x.view()?,
        &on_y.view()?,
        &mut on_out,
    )?;
    Ok(Outcome::exact(out.read()?, (0..n).map(|i| if mask[i] { x[i] } else { y[i] })))
}

/// The modes of a strided walk: of two modes the others are one element.
fn modes(run: &Run<'_>) -> [usize; 4] {
    let [m, n, _] = run.size;
    if run.number("MODES") == 2 { [1, 1, m, n] } else { [2, m, 3, n] }
}

fn of_one_strided<T: Float, U: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let shape = modes(run);
    let x = some::<T>(shape.iter().product(), 1);
    let (on_x, mut out) = (run.tensor(&x, shape)?, run.output::<U, 4>(shape)?);
    unary_strided::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?, 0.0, 0.0)?;
    Ok(Outcome::within(bound(U::ELEM), out.read()?, x.iter().map(|x| x.wide())))
}

fn of_two_strided<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let shape = modes(run);
    let (x, y) = (some::<T>(shape.iter().product(), 1), some::<T>(shape.iter().product(), 2));
    let (on_x, on_y, mut out) = (run.tensor(&x, shape)?, run.tensor(&y, shape)?, run.output::<T, 4>(shape)?);
    binary_strided::launch_with(
        run.config(),
        &run.stream(),
        &on_x.view()?,
        &on_y.view()?,
        &mut out.view_mut()?,
    )?;
    let wanted = x.iter().zip(&y).map(|(x, y)| x.wide() + y.wide());
    Ok(Outcome::within(bound(T::ELEM), out.read()?, wanted))
}

fn of_three_strided<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let shape = modes(run);
    let n = shape.iter().product();
    let (x, y) = (some::<T>(n, 1), some::<T>(n, 2));
    let mask: Vec<bool> = integers(n, 3, 1).iter().map(|bit| *bit == 0).collect();
    let (on_x, on_y, mut out) = (run.tensor(&x, shape)?, run.tensor(&y, shape)?, run.output::<T, 4>(shape)?);
    let (on_mask, mut on_out, config) = (run.tensor(&mask, shape)?, out.view_mut()?, run.config());
    choose_strided::launch_with(
        config,
        &run.stream(),
        &on_mask.view()?,
        &on_x.view()?,
        &on_y.view()?,
        &mut on_out,
    )?;
    Ok(Outcome::exact(out.read()?, (0..n).map(|i| if mask[i] { x[i] } else { y[i] })))
}

fn turned<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, h, ..] = run.size;
    let (v, is_adjacent) = (run.number("V"), run.set.get("ADJACENT") == Some(ParamValue::Bool(true)));
    let (d, half) = (6 * v, 3 * v);
    let x = some::<T>(m * h * d, 1);
    let (cos, sin) = (floats(m * half, 2), floats(m * half, 3));
    let (on_x, mut out) = (run.tensor(&x, [m, h, d])?, run.output::<T, 3>([m, h, d])?);
    let (on_cos, on_sin) = (run.tensor(&cos, [m, half])?, run.tensor(&sin, [m, half])?);
    let (config, stream, mut on_out) = (run.config(), run.stream(), out.view_mut()?);
    rope::launch_with(config, &stream, &on_x.view()?, &on_cos.view()?, &on_sin.view()?, &mut on_out)?;
    let element = |at: usize| {
        let (first, i) = (at / d * d, at % d);
        let pair = if is_adjacent { i / 2 } else { i % half };
        let (p, q) = if is_adjacent { (2 * pair, 2 * pair + 1) } else { (pair, pair + half) };
        let (re, im, angle) = (x[first + p].wide(), x[first + q].wide(), at / d / h * half + pair);
        let (cos, sin) = (f64::from(cos[angle]), f64::from(sin[angle]));
        T::rounded(if i == p { re * cos - im * sin } else { im * cos + re * sin })
    };
    Ok(Outcome::exact(out.read()?, (0..x.len()).map(element)))
}

fn rows_reduced<T: Float, U: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let x = some::<T>(m * n, 1);
    let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output::<U, 1>([m])?);
    reduce_rows::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?, 1.0)?;
    let row = |i: usize| x[i * n..(i + 1) * n].iter().map(|x| x.wide()).collect::<Vec<_>>();
    let wanted = (0..m).map(|i| operations::reduced(run.number("OP"), 1.0, &row(i)).0);
    Ok(Outcome::within(bound(T::ELEM).max(2e-5), out.read()?, wanted))
}

fn axis_reduced<T: Float, U: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [k, n, ..] = run.size;
    let x = some::<T>(2 * n * k, 1);
    let (on_x, mut out) = (run.tensor(&x, [2, n, k])?, run.output::<U, 2>([2, k])?);
    reduce_axis::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?, 1.0)?;
    let column = |at: usize| (0..n).map(|j| x[(at / k * n + j) * k + at % k].wide()).collect::<Vec<_>>();
    let wanted = (0..2 * k).map(|at| operations::reduced(run.number("OP"), 1.0, &column(at)).0);
    Ok(Outcome::within(bound(T::ELEM).max(2e-5), out.read()?, wanted))
}

fn rows_selected<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let d = 3 * run.number("V");
    let x = some::<T>(n * d, 1);
    let index: Vec<u32> = (0..m).map(|i| (i * 7 % (n + 1)) as u32).collect();
    let (on_x, on_index, mut out) =
        (run.tensor(&x, [n, d])?, run.tensor(&index, [m])?, run.output::<T, 2>([m, d])?);
    select_rows::launch_with(
        run.config(),
        &run.stream(),
        &on_x.view()?,
        &on_index.view()?,
        &mut out.view_mut()?,
    )?;
    let element = |at: usize| x.get(index[at / d] as usize * d + at % d).copied().unwrap_or(T::rounded(0.0));
    Ok(Outcome::exact(out.read()?, (0..m * d).map(element)))
}

/// Indices of `[2, i, b]` into `[2, n, b]`, of which some are beyond, and the offset that each names.
fn indices([i, n, b]: [usize; 3]) -> (Vec<u32>, Vec<Option<usize>>) {
    let index: Vec<u32> = (0..2 * i * b).map(|at| (at * 5 % (n + 1)) as u32).collect();
    let place = |at: usize| (at / b / i * n + index[at] as usize) * b + at % b;
    let places = (0..index.len()).map(|at| ((index[at] as usize) < n).then(|| place(at))).collect();
    (index, places)
}

fn gathered<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let size @ [i, n, b] = run.size;
    let (x, (index, places)) = (some::<T>(2 * n * b, 1), indices(size));
    let (on_x, on_index) = (run.tensor(&x, [2, n, b])?, run.tensor(&index, [2, i, b])?);
    let mut out = run.output::<T, 3>([2, i, b])?;
    gather::launch_with(run.config(), &run.stream(), &on_x.view()?, &on_index.view()?, &mut out.view_mut()?)?;
    Ok(Outcome::exact(
        out.read()?,
        places.iter().map(|place| place.map_or(T::rounded(0.0), |place| x[place])),
    ))
}

fn scattered<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let size @ [i, n, b] = run.size;
    let (x, (index, places)) = (some::<T>(2 * i * b, 1), indices(size));
    let (on_x, on_index) = (run.tensor(&x, [2, i, b])?, run.tensor(&index, [2, i, b])?);
    let mut out = run.tensor(&vec![0.5f32; 2 * n * b], [2, n, b])?;
    scatter_add::launch_with(
        run.config(),
        &run.stream(),
        &on_x.view()?,
        &on_index.view()?,
        &mut out.view_mut()?,
    )?;
    let mut wanted = vec![0.5f32; 2 * n * b];
    for (x, place) in x.iter().zip(places) {
        place.into_iter().for_each(|place| wanted[place] += x.wide() as f32);
    }
    Ok(Outcome::exact(out.read()?, wanted))
}

fn found_elsewhere<T: Float, U: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, ..] = run.size;
    let wraps = run.set.get("WRAPS") == Some(ParamValue::Bool(true));
    let x = some::<T>(2 * m * n, 1);
    let (on_x, mut out) = (run.tensor(&x, [1, 2, m, n])?, run.output::<U, 4>([1, 2, m, n])?);
    // Backwards in one mode, on in the others.
    let mut first = if wraps { [0, 1, m.saturating_sub(1) as isize, 0] } else { [0, 1, -1, 1] };
    let mut step = if wraps { [1, 1, 1, 1] } else { [1, -1, 1, 1] };
    let (config, stream, from, value) = (run.config(), run.stream(), on_x.view()?, U::rounded(7.0));
    let mut to = out.view_mut()?;
    match run.set.get("SHIFTED") {
        None => moved::launch_with(
            config, &stream, &from, &mut to, value, first[0], first[1], first[2], first[3], step[0], step[1],
            step[2], step[3],
        )?,
        Some(shifted) => {
            first[3] = if shifted == ParamValue::Bool(true) { n as isize / 3 } else { 0 };
            if run.set.get("REVERSED") == Some(ParamValue::Bool(true)) {
                (first[3], step[3]) = (n as isize - 2, -1);
            }
            moved_rows::launch_with(
                config, &stream, &from, &mut to, value, first[0], first[1], first[2], first[3], step[0],
                step[1], step[2],
            )?;
        }
    }
    let element = |at: usize| {
        let (own, extents) = ([at / n / m, at / n % m, at % n], [2, m, n]);
        let mut from = 0;
        for mode in 0..3 {
            let place = first[mode + 1] + step[mode + 1] * own[mode] as isize;
            let extent = extents[mode] as isize;
            let place = if wraps && place >= extent { place - extent } else { place };
            if !(0..extent).contains(&place) {
                return U::rounded(7.0);
            }
            from = from * extents[mode] + place as usize;
        }
        U::rounded(x[from].wide())
    };
    Ok(Outcome::exact(out.read()?, (0..x.len()).map(element)))
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    let vectors = || vec![[0, 1, 1], [1, 1, 1], [4095, 1, 1], [4097, 1, 1]];
    let matrices = || vec![[0, 3, 1], [1, 1, 1], [5, 205, 1], [33, 32, 1]];
    let reduced = || vec![[0, 3, 1], [1, 0, 1], [3, 1, 1], [17, 131, 1], [33, 264, 1], [2, 2055, 1]];
    let indexed = || vec![[0, 2, 3], [1, 1, 1], [3, 0, 5], [7, 4, 9], [64, 3, 5]];
    vec![
        Case::new(&unary::DEFINITION, vectors(), |run| cast!(run, of_one)),
        Case::new(&binary::DEFINITION, vectors(), |run| typed!(run, of_two)),
        Case::new(&choose::DEFINITION, vectors(), |run| typed!(run, of_three)),
        Case::new(&unary_strided::DEFINITION, matrices(), |run| cast!(run, of_one_strided)),
        Case::new(&binary_strided::DEFINITION, matrices(), |run| typed!(run, of_two_strided)),
        Case::new(&choose_strided::DEFINITION, matrices(), |run| typed!(run, of_three_strided)),
        Case::new(&rope::DEFINITION, vec![[0, 1, 1], [1, 1, 1], [5, 3, 1], [86, 1, 1]], |run| {
            typed!(run, turned)
        }),
        Case::new(&reduce_rows::DEFINITION, reduced(), |run| reduced!(run, rows_reduced)),
        Case::new(&reduce_axis::DEFINITION, reduced(), |run| reduced!(run, axis_reduced)),
        Case::new(&select_rows::DEFINITION, vec![[0, 3, 1], [1, 1, 1], [5, 0, 1], [87, 4, 1]], |run| {
            typed!(run, rows_selected)
        }),
        Case::new(&gather::DEFINITION, indexed(), |run| typed!(run, gathered)),
        Case::new(&scatter_add::DEFINITION, indexed(), |run| typed!(run, scattered)),
        Case::new(&moved::DEFINITION, matrices(), |run| cast!(run, found_elsewhere)),
        Case::new(&moved_rows::DEFINITION, matrices(), |run| cast!(run, found_elsewhere)),
    ]
}
