//! Matrices of another size and pitch, and transposed.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{Operand, floats, untouched};
use layout_compiler::Elem;
use layout_cuda::{E4m3, Element, Error, bf16, f16};
use layout_kernels::kernels::{resize, transpose_pitched};

/// Empty, one element, one row of threads and around it, several blocks.
const SIZES: [[usize; 3]; 7] =
    [[0, 5, 0], [5, 0, 0], [1, 1, 0], [3, 256, 0], [2, 1025, 0], [7, 1023, 0], [2, 5100, 0]];

/// The same for tiles.
const TURNED: [[usize; 3]; 6] = [[0, 5, 0], [5, 0, 0], [1, 1, 0], [64, 64, 0], [63, 65, 0], [130, 70, 0]];

/// The cases, one for each element type.
pub fn cases() -> Vec<Case> {
    let case = |run| Case::new(&resize::DEFINITION, SIZES.to_vec(), run);
    vec![
        case(|run| moved(run, bf16::from_f32)).of(Elem::Bf16),
        case(|run| moved(run, f16::from_f32)).of(Elem::F16),
        case(|run| moved::<f32>(run, |value| value)).of(Elem::F32),
        case(|run| moved(run, E4m3::from_f32)).of(Elem::E4m3),
        Case::new(&transpose_pitched::DEFINITION, TURNED.to_vec(), |run| turned::<f32>(run, |value| value))
            .of(Elem::F32),
        Case::new(&transpose_pitched::DEFINITION, TURNED.to_vec(), |run| turned(run, E4m3::from_f32))
            .of(Elem::E4m3),
    ]
}

fn moved<T: Element>(run: &Run<'_>, round: fn(f32) -> T) -> Result<Outcome, Error> {
    let [m, n, _] = run.size;
    let values: Vec<T> = floats(m * n, 9).into_iter().map(round).collect();
    let x = Operand::new(run.device, &values, run.skew, [m, n], [n + 3, 1])?;
    let mut all: Option<Outcome> = None;
    // As large, larger with zeros, and smaller.
    for [p, q] in [[m, n], [m + 5, n + 260], [m, n.saturating_sub(3)]] {
        let untouched = vec![untouched::<T>(); p * q];
        let mut out = Operand::new(run.device, &untouched, run.skew, [p, q], [q + 8, 1])?;
        resize::launch_with(run.config(), &run.stream(), &x.view()?, &mut out.view_mut()?)?;
        let element = |at: usize| match (at / q, at % q) {
            (row, col) if row < m && col < n => values[row * n + col],
            _ => round(0.0),
        };
        let outcome = Outcome::exact(out.read()?, (0..p * q).map(element));
        all = Some(match all {
            Some(before) => before.and(outcome),
            None => outcome,
        });
    }
    Ok(all.expect("three outcomes"))
}

fn turned<T: Element>(run: &Run<'_>, round: fn(f32) -> T) -> Result<Outcome, Error> {
    let [m, n, _] = run.size;
    let values: Vec<T> = floats(m * n, 9).into_iter().map(round).collect();
    let x = Operand::new(run.device, &values, run.skew, [m, n], [n + 3, 1])?;
    let mut out = Operand::new(run.device, &vec![untouched::<T>(); m * n], run.skew, [n, m], [m + 8, 1])?;
    transpose_pitched::launch_with(run.config(), &run.stream(), &x.view()?, &mut out.view_mut()?)?;
    let wanted = (0..n * m).map(|at| values[at % m * n + at / m]);
    Ok(Outcome::exact(out.read()?, wanted))
}
