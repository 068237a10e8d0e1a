//! Orders of layout-kernels, each kernel by itself.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::integers;
use crate::support::special::Float;
use layout_compiler::Elem;
use layout_cuda::{Element, Error, ParamValue, bf16, f16};
use layout_kernels::kernels::orders::*;

/// Calls a function in the type of `T`, that of its bits, and that of these with a place.
macro_rules! typed {
    ($run:ident, $function:ident) => {
        match $run.set.get("T") {
            Some(ParamValue::Type(Elem::F32)) => $function::<f32, u32, u64>($run),
            Some(ParamValue::Type(Elem::Bf16)) => $function::<bf16, u16, u32>($run),
            _ => $function::<f16, u16, u32>($run),
        }
    };
}

/// Rows of few numbers, so that many are equal, and where each row's elements are in descending order.
fn rows<T: Float>(m: usize, n: usize) -> (Vec<T>, Vec<Vec<u32>>) {
    let x: Vec<T> = integers(m * n, 1, 50).iter().map(|x| T::rounded(*x as f64)).collect();
    let places = |row: &[T]| {
        let mut places: Vec<u32> = (0..n as u32).collect();
        places.sort_by(|a, b| row[*b as usize].wide().total_cmp(&row[*a as usize].wide()));
        places
    };
    let places = (0..m).map(|i| places(&x[i * n..(i + 1) * n])).collect();
    (x, places)
}

/// What the kernel gives for a place: itself, or what `places` has there.
fn given(is_placed: bool, m: usize, n: usize) -> Vec<u32> {
    (0..m * n).map(|at| if is_placed { at as u32 ^ 0x55 } else { (at % n) as u32 }).collect()
}

fn is_placed(run: &Run<'_>) -> bool {
    run.set.get("PLACED") == Some(ParamValue::Bool(true))
}

#[expect(clippy::extra_unused_type_parameters, reason = "a macro names all of these functions alike")]
fn firsts<T: Float, U: Element, W: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let ((x, wanted), given) = (rows::<T>(m, n), given(is_placed(run), m, n));
    let (on_x, places) = (run.tensor(&x, [m, n])?, run.tensor(&given, [m, n])?);
    let (mut values, mut indices) = (run.output::<T, 3>([m, 1, k])?, run.output::<u32, 3>([m, 1, k])?);
    top_k::launch_with(
        run.config(),
        &run.stream(),
        &on_x.view()?,
        &places.view()?,
        &mut values.view_mut()?,
        &mut indices.view_mut()?,
        U::from_bits(u64::MAX),
        u64::MAX,
        0,
    )?;
    Ok(Outcome::exact(
        indices.read()?,
        (0..m * k).map(|at| given[at / k * n + wanted[at / k][at % k] as usize]),
    ))
}

fn short<T: Float, U: Element, W: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, _] = run.size;
    let ((x, wanted), given) = (rows::<T>(m, n), given(is_placed(run), m, n));
    let (on_x, places) = (run.tensor(&x, [m, n])?, run.tensor(&given, [m, n])?);
    let (mut values, mut indices) = (run.output::<T, 2>([m, n])?, run.output::<u32, 2>([m, n])?);
    sort_short::launch_with(
        run.config(),
        &run.stream(),
        &on_x.view()?,
        &places.view()?,
        &mut values.view_mut()?,
        &mut indices.view_mut()?,
        U::from_bits(u64::MAX),
        W::from_bits(u64::MAX),
    )?;
    Ok(Outcome::exact(
        indices.read()?,
        (0..m * n).map(|at| given[at / n * n + wanted[at / n][at % n] as usize]),
    ))
}

/// The digits of an element in descending order.
fn digits<T: Element>(x: T) -> Vec<usize> {
    let (bits, top) = (x.to_bits(), 1u64 << (8 * size_of::<T>() - 1));
    let least = match T::ELEM {
        Elem::F32 => 0x7f_ffff,
        Elem::Bf16 => 0x7f,
        _ => 0x3ff,
    };
    let key = !((if bits & top != 0 { !bits } else { bits | top }) & (2 * top - 1)).wrapping_sub(least);
    (0..size_of::<T>()).map(|pass| (key >> (8 * pass)) as usize % 256).collect()
}

/// How often each digit of a row occurs.
#[expect(clippy::extra_unused_type_parameters, reason = "a macro names all of these functions alike")]
fn counted<T: Float, U: Element, W: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, _] = run.size;
    let ((x, _), of_row) = (rows::<T>(m, n), size_of::<T>() * 256);
    let (on_x, mut counts) = (run.tensor(&x, [m, n])?, run.tensor(&vec![0u32; m * of_row], [m, of_row])?);
    let all = U::from_bits(u64::MAX);
    radix_count::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut counts.view_mut()?, all)?;
    let mut wanted = vec![0u32; m * of_row];
    for (at, x) in x.iter().enumerate() {
        for (pass, digit) in digits(*x).into_iter().enumerate() {
            wanted[at / n * of_row + pass * 256 + digit] += 1;
        }
    }
    Ok(Outcome::exact(counts.read()?, wanted))
}

/// A pass by the highest digit.
#[expect(clippy::extra_unused_type_parameters, reason = "a macro names all of these functions alike")]
fn passed<T: Float, U: Element, W: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([m, n, _], kind) = (run.size, run.number("PLACES"));
    let ((x, _), given, pass) = (rows::<T>(m, n), given(kind == 2, m, n), size_of::<T>() - 1);
    let tiles = m * n.div_ceil(run.number("THREADS") * run.number("ITEMS"));
    let mut counts = vec![0u32; m * 256];
    x.iter().enumerate().for_each(|(at, x)| counts[at / n * 256 + digits(*x)[pass]] += 1);
    let (on_x, places) = (run.tensor(&x, [m, n])?, run.tensor(&given, [m, n])?);
    let (mut out, mut to) = (run.output::<T, 2>([m, n])?, run.output::<u32, 2>([m, n])?);
    let (counts, mut state) =
        (run.tensor(&counts, [m, 256])?, run.tensor(&vec![0u32; tiles * 256], [tiles, 256])?);
    radix_pass::launch_with(
        run.config(),
        &run.stream(),
        &on_x.view()?,
        &mut out.view_mut()?,
        &places.view()?,
        &mut to.view_mut()?,
        &counts.view()?,
        &mut state.view_mut()?,
        U::from_bits(u64::MAX),
        8 * pass as u32,
    )?;
    let mut wanted: Vec<usize> = (0..m * n).collect();
    wanted.sort_by_key(|at| (at / n, digits(x[*at])[pass]));
    if kind == 0 {
        return Ok(Outcome::exact(out.read()?, wanted.into_iter().map(|at| x[at])));
    }
    Ok(Outcome::exact(to.read()?, wanted.into_iter().map(|at| given[at])))
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    let of_rows = || vec![[0, 3, 1], [1, 1, 1], [3, 255, 1], [2, 256, 1]];
    let long = || vec![[0, 3, 1], [1, 1, 1], [2, 6143, 1], [2, 6145, 1]];
    vec![
        Case::new(&top_k::DEFINITION, vec![[0, 3, 1], [1, 1, 1], [2, 2047, 7], [3, 4099, 64]], |run| {
            typed!(run, firsts)
        }),
        Case::new(&sort_short::DEFINITION, of_rows(), |run| typed!(run, short)),
        Case::new(&radix_count::DEFINITION, long(), |run| typed!(run, counted)),
        Case::new(&radix_pass::DEFINITION, long(), |run| typed!(run, passed)),
    ]
}
