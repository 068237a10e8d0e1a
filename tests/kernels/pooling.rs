//! Pooling of 2 by 3 elements with padding: numbers whose sums float32 has.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::integers;
use crate::support::special::Float;
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{Error, bf16, f16};
use layout_kernels::kernels::pooling::pool;

/// Rows, columns, channels: empty, the smallest, several blocks.
const SIZES: [[usize; 3]; 5] = [[0, 3, 8], [5, 3, 0], [1, 1, 8], [4, 9, 56], [7, 20, 24]];

/// The cases, one for each element type.
pub fn cases() -> Vec<Case> {
    let of = |run, elem| Case::new(&pool::DEFINITION, SIZES.to_vec(), run).of(elem);
    vec![of(pooled::<f32>, Elem::F32), of(pooled::<bf16>, Elem::Bf16), of(pooled::<f16>, Elem::F16)]
}

fn pooled<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([h, w, c], v) = (run.size, run.number("V"));
    let is_maximum = run.set.get("MAXIMUM") == Some(ParamValue::Bool(true));
    let c = if v == 1 { c + 1 } else { c };
    let (p, q) = (h + 1, if w == 0 { 0 } else { w.div_ceil(2) });
    let numbers = integers(2 * h * w * c, 1, 4);
    let x: Vec<T> = numbers.iter().map(|x| T::rounded(*x as f64)).collect();
    let on_x = run.tensor(&x, [2, h, w, c])?;
    let (mut out, mut indices) = (run.output::<T, 2>([2 * p * q, c])?, run.output::<u32, 2>([2 * p * q, c])?);
    let (from, mut to, mut places) = (on_x.view()?, out.view_mut()?, indices.view_mut()?);
    let (config, stream) = (run.config(), run.stream());
    pool::launch_with(
        config,
        &stream,
        &from,
        &mut to,
        &mut places,
        p as u32,
        q as u32,
        2,
        3,
        1,
        2,
        1,
        1,
        6.0,
    )?;
    let elements = |at: usize| {
        let (image, i, j, channel) = (at / (p * q * c), at / (q * c) % p, at / c % q, at % c);
        let places = (0..6).map(move |tap| (i + tap / 3, 2 * j + tap % 3));
        let places = places.filter(move |(i, j)| (1..=h).contains(i) && (1..=w).contains(j));
        let numbers = &numbers;
        places.map(move |(i, j)| {
            let place = (i - 1) * w + j - 1;
            (place, numbers[(image * h * w + place) * c + channel] as f64)
        })
    };
    let all = 0..2 * p * q * c;
    if is_maximum && h > 0 {
        let most = |at| elements(at).reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap_or_default();
        let largest: Vec<T> = all.clone().map(|at| T::rounded(most(at).1)).collect();
        let places = all.map(|at| most(at).0 as u32).collect::<Vec<_>>();
        return Ok(Outcome::exact(out.read()?, largest).and(Outcome::exact(indices.read()?, places)));
    }
    if is_maximum {
        return Ok(Outcome::own(Vec::<T>::new()));
    }
    let means = all.map(|at| elements(at).map(|(_, x)| x).sum::<f64>() / 6.0).collect::<Vec<_>>();
    Ok(Outcome::within(1.01 * 2f64.powi(-T::DIGITS), out.read()?, means))
}
