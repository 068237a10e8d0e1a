//! Exercises of single chapters: the first kernel, and attention.

use super::{Case, Exercise};
use crate::data::{Given, Tensor};

/// What a reader begins with.
pub const FIRST: &[Exercise] = &[Exercise {
    name: "first",
    title: "a first kernel: a thread for each element",
    edit: include_str!("../../exercises/first.edit"),
    hint: "The place of a thread in the grid is `block_idx.x * 4 + thread_idx.x`. The last block has threads without an element: `if i < N`.",
    solution: (include_str!("../../listings/answers.rs"), "squares"),
    cases: squares,
    limits: &[],
}];

/// What comes after the products.
pub const LATER: &[Exercise] = &[Exercise {
    name: "attention",
    title: "attention: a larger score comes",
    edit: include_str!("../../exercises/attention.edit"),
    hint: "`let kept = (most[[half]] - next).exp();` before `most` changes: what was summed up is worth `kept` of itself now, `sum[[half]]` and each `out` of this row.",
    solution: (include_str!("../../listings/attention.rs"), "attention_simple"),
    cases: attention,
    limits: &[],
}];

fn squares() -> Vec<Case> {
    let one = |n: usize| {
        let x = Tensor::of(&[n], |i| i as f64 - 3.0);
        let expected = x.values.iter().map(|x| x * x + 1.0).collect();
        let given = vec![x.into(), Tensor::unwritten(&[n]).into()];
        Case { what: format!("N = {n}"), given, out: 1, expected, within: 0.0 }
    };
    vec![one(8), one(6), one(1), one(33)]
}

/// Small multiples of 1/16, which bf16 holds; the largest score of a row comes now early, now late.
fn numbers(shape: &[usize], seed: usize) -> Tensor {
    Tensor::of(shape, |i| ((i * 37 + seed * 11 + i / 64 * 5) % 41) as f64 / 16.0 - 1.25)
}

fn attention() -> Vec<Case> {
    let one = |m: usize, n: usize| {
        let (q, k, v) = (numbers(&[1, m, 64], 1), numbers(&[1, n, 64], 2), numbers(&[1, n, 64], 3));
        let mut expected = vec![];
        for query in q.values.chunks(64) {
            let dot = |key: &[f64]| key.iter().zip(query).map(|(x, y)| x * y).sum::<f64>();
            let weights: Vec<f64> = k.values.chunks(64).map(|key| (0.125 * dot(key)).exp()).collect();
            let sum: f64 = weights.iter().sum();
            let value = |d: usize| {
                weights.iter().zip(v.values.chunks(64)).map(move |(weight, value)| weight * value[d])
            };
            expected.extend((0..64).map(|d| value(d).sum::<f64>() / sum));
        }
        let unwritten = Tensor::unwritten(&[1, m, 64]);
        let given = vec![q.into(), k.into(), v.into(), unwritten.into(), Given::Scalar(0.125)];
        // The weights are rounded to bf16, and no value is larger than 1.25.
        Case { what: format!("H = 1, M = {m}, N = {n}"), given, out: 3, expected, within: 1.25 / 256.0 }
    };
    vec![one(16, 32), one(64, 64), one(20, 45)]
}
