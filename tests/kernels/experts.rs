//! A mixture of experts but for its products: gating, the sort by expert, SwiGLU, the weighted sum; logits with many that are equal.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{doubles, floats, integers};
use crate::support::special::Float;
use layout_bench::operations;
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{Error, bf16, f16};
use layout_kernels::kernels::experts::{combine_experts, gate, sort_by_expert, swiglu};

/// Tokens, experts, experts of a token.
const GATES: [[usize; 3]; 6] = [[0, 3, 2], [1, 1, 1], [7, 3, 3], [9, 40, 8], [16, 64, 1], [17, 33, 32]];

/// Places, experts, places of a token: none, around a round of 2048, more experts than places.
const ROUTES: [[usize; 3]; 7] =
    [[0, 2, 1], [1, 1, 1], [5, 9, 1], [254, 8, 2], [2047, 3, 1], [2049, 3, 3], [4100, 2, 4]];

/// Rows, vectors of a row, experts of a token.
const ROWS: [[usize; 3]; 6] = [[0, 3, 2], [4, 0, 2], [1, 1, 0], [1, 1, 1], [9, 5, 2], [87, 3, 8]];

/// The cases of this file, one for each type.
pub fn cases() -> Vec<Case> {
    let of = |definition, sizes: &[[usize; 3]], run| Case::new(definition, sizes.to_vec(), run);
    vec![
        of(&gate::DEFINITION, &GATES, gated::<f32>).of(Elem::F32),
        of(&gate::DEFINITION, &GATES, gated::<bf16>).of(Elem::Bf16),
        of(&gate::DEFINITION, &GATES, gated::<f16>).of(Elem::F16),
        of(&sort_by_expert::DEFINITION, &ROUTES, sorted),
        of(&swiglu::DEFINITION, &ROWS, halves::<bf16>).of(Elem::Bf16),
        of(&swiglu::DEFINITION, &ROWS, halves::<f16>).of(Elem::F16),
        of(&swiglu::DEFINITION, &ROWS, halves::<f32>).of(Elem::F32),
        of(&combine_experts::DEFINITION, &ROWS, summed::<bf16>).of(Elem::Bf16),
        of(&combine_experts::DEFINITION, &ROWS, summed::<f16>).of(Elem::F16),
        of(&combine_experts::DEFINITION, &ROWS, summed::<f32>).of(Elem::F32),
    ]
}

fn gated<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, e, k] = run.size;
    let logits = doubles(m * e, 1);
    let rounded: Vec<T> = logits.iter().map(|x| T::rounded(*x)).collect();
    let on_logits = run.tensor(&rounded, [m, e])?;
    let (mut experts, mut weights) = (run.output::<u32, 2>([m, k])?, run.output::<f32, 2>([m, k])?);
    let (mut to, mut of) = (experts.view_mut()?, weights.view_mut()?);
    gate::launch_with(run.config(), &run.stream(), &on_logits.view()?, &mut to, &mut of, 0.5)?;
    let is = |name| run.set.get(name) == Some(ParamValue::Bool(true));
    let score = |x: f64| if is("SIGMOID") { 1.0 / (1.0 + (-x).exp()) } else { x.exp() };
    let (mut wanted, mut shares) = (Vec::new(), Vec::new());
    for row in logits.chunks(e) {
        let mut order: Vec<usize> = (0..e).collect();
        order.sort_by(|a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
        let own = if is("NORMALISED") { &order[..k] } else { &order[..] };
        let sum: f64 = own.iter().map(|expert| score(row[*expert])).sum();
        let sum = if is("SIGMOID") && !is("NORMALISED") { 1.0 } else { sum };
        wanted.extend(order[..k].iter().map(|expert| *expert as f64));
        shares.extend(order[..k].iter().map(|expert| score(row[*expert]) / sum * 0.5));
    }
    let experts = Outcome::within(0.0, experts.read()?, wanted);
    Ok(experts.and(Outcome::within(2e-6, weights.read()?, shares)))
}

fn sorted(run: &Run<'_>) -> Result<Outcome, Error> {
    let [p, e, k] = run.size;
    // One more than there are is none.
    let experts: Vec<u32> =
        integers(p, 2, e as i64).iter().map(|expert| expert.unsigned_abs() as u32).collect();
    let on_experts = run.tensor(&experts, [p])?;
    let (mut tokens, mut places) = (run.output::<u32, 1>([p])?, run.output::<u32, 1>([p])?);
    let mut ends = run.output::<i32, 1>([e])?;
    let (mut to, mut of, mut at) = (tokens.view_mut()?, places.view_mut()?, ends.view_mut()?);
    let from = on_experts.view()?;
    sort_by_expert::launch_with(run.config(), &run.stream(), &from, &mut to, &mut of, &mut at, k as u32)?;
    let mut order: Vec<usize> = (0..p).collect();
    order.sort_by_key(|at| experts[*at]);
    let (mut of_places, mut of_tokens) = (vec![u32::MAX; p], vec![u32::MAX; p]);
    for (place, at) in order.into_iter().enumerate().filter(|(_, at)| experts[*at] < e as u32) {
        (of_places[at], of_tokens[place]) = (place as u32, (at / k) as u32);
    }
    let upto = |expert: usize| experts.iter().filter(|own| **own as usize <= expert).count() as i32;
    let both = Outcome::exact(tokens.read()?, of_tokens).and(Outcome::exact(places.read()?, of_places));
    Ok(both.and(Outcome::exact(ends.read()?, (0..e).map(upto))))
}

fn halves<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, vectors, _] = run.size;
    let h = vectors * run.number("V");
    let x: Vec<T> = floats(m * 2 * h, 3).into_iter().map(|x| T::rounded(f64::from(x))).collect();
    let (on_x, mut out) = (run.tensor(&x, [m, 2 * h])?, run.output::<T, 2>([m, h])?);
    swiglu::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
    let at = |at: usize, half: usize| x[at / h * 2 * h + half * h + at % h].wide();
    let wanted = (0..m * h).map(|place| operations::binary("swiglu", at(place, 0), at(place, 1)));
    Ok(Outcome::within(3e-6 + 2f64.powi(-T::DIGITS), out.read()?, wanted))
}

fn summed<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, vectors, k] = run.size;
    let (d, rows) = (vectors * run.number("V"), m + 1);
    let (of_y, weights) = (doubles(rows * d, 4), floats(m * k, 5));
    let y: Vec<T> = of_y.iter().map(|y| T::rounded(*y)).collect();
    // One row more than there are is none.
    let places: Vec<u32> =
        integers(m * k, 6, rows as i64).iter().map(|row| row.unsigned_abs() as u32).collect();
    let (on_y, on_places) = (run.tensor(&y, [rows, d])?, run.tensor(&places, [m, k])?);
    let (on_weights, mut out) = (run.tensor(&weights, [m, k])?, run.output::<T, 2>([m, d])?);
    let (from, by, mut to) = (on_places.view()?, on_weights.view()?, out.view_mut()?);
    combine_experts::launch_with(run.config(), &run.stream(), &on_y.view()?, &from, &by, &mut to)?;
    let term = |row: usize, column: usize, j: usize| match places[row * k + j] as usize {
        place if place < rows => f64::from(weights[row * k + j]) * of_y[place * d + column],
        _ => 0.0,
    };
    let wanted =
        (0..m * d).map(|at| T::rounded((0..k).map(|j| term(at / d, at % d, j)).fold(0.0, |a, b| a + b)));
    Ok(Outcome::exact(out.read()?, wanted))
}
