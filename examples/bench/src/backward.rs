//! Attention backward: dQ, dK and dV of sampled rows checked against float64, all three timed together.
//!
//! Law: what is timed was checked before; of sequences beyond 4096 rows of dQ alone. The flops are those of five products, as the libraries count them; of
//! packed sequences seven are made.

use super::Result;
use super::ledger::Ledger;
use super::trial::{Case, Errors, Operands, Run, Trial};
use layout_cuda::{Element, ParamSet, Tensor, bf16, roofline};
use layout_kernels::attention::{Attention, Kernel, Mask, Packed};
use layout_kernels::backward::{Changes, Forward, Workspace};
use std::cell::RefCell;

/// Sequences of a length, heads, elements of a head, causal or not, packed or not.
pub struct Backward {
    name: String,
    sequences: usize,
    length: usize,
    heads: usize,
    depth: usize,
    causal: bool,
    /// Where packed sequences begin, and the last one's end; of the length they are parts of.
    ends: Option<Vec<i32>>,
}

/// Rows that are sampled of dQ, and of dK and dV.
const SAMPLES: usize = 12;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What a launch read and gave, on the host.
struct Found<'a> {
    operands: [&'a Operands; 4],
    logs: Vec<f32>,
    changes: [Vec<bf16>; 3],
}

impl Backward {
    fn flops(&self) -> f64 {
        let whole = [0, self.length as i32];
        let ends = self.ends.as_deref().unwrap_or(&whole);
        let pairs: f64 = ends.windows(2).map(|end| f64::from(end[1] - end[0]).powi(2)).sum();
        let pairs = pairs / if self.causal { 2.0 } else { 1.0 };
        10.0 * pairs * (self.sequences * self.heads * self.depth) as f64
    }

    fn seen(&self, query: usize, key: usize) -> bool {
        let of = |row: usize| self.ends.as_ref().map(|ends| ends.partition_point(|end| *end as usize <= row));
        of(query) == of(key) && (!self.causal || key <= query)
    }

    /// Of one row of one head the exact change by `which` (0 of Q, 1 of K, 2 of V), and the sizes of what it is a sum of.
    fn exact(&self, found: &Found<'_>, which: usize, at: [usize; 2], row: usize) -> (Vec<f64>, Vec<f64>) {
        let [q, k, v, d_o] = found.operands;
        let scale = 1.0 / (self.depth as f64).sqrt();
        let of = |operand: &Operands, row: usize| operand.row(at, row).collect::<Vec<f64>>();
        let (keys, values): (Vec<_>, Vec<_>) = (0..self.length).map(|key| (of(k, key), of(v, key))).unzip();
        let mut sums = (vec![0.0; self.depth], vec![0.0; self.depth]);
        let mut add = |factor: f64, room: f64, row: &[f64]| {
            for (e, value) in row.iter().enumerate() {
                sums.0[e] += factor * value;
                sums.1[e] += room * value.abs();
            }
        };
        // Of one query its weights, what O's change is by each value, and the sum of both.
        let weights = |query: usize| {
            let (own, change) = (of(q, query), of(d_o, query));
            let log = f64::from(found.logs[(at[0] * self.heads + at[1]) * self.length + query]);
            let weight = |key: usize| {
                if self.seen(query, key) { (dot(&own, &keys[key]) * scale - log).exp() } else { 0.0 }
            };
            let each: Vec<(f64, f64)> =
                (0..self.length).map(|key| (weight(key), dot(&change, &values[key]))).collect();
            let whole: f64 = each.iter().map(|(weight, by)| weight * by).sum();
            (own, change, each, whole)
        };
        if which == 0 {
            let (_, _, each, whole) = weights(row);
            for ((weight, by), key) in each.iter().zip(&keys) {
                add(scale * weight * (by - whole), scale * weight * (by.abs() + whole.abs()), key);
            }
            return sums;
        }
        for query in (0..self.length).filter(|query| self.seen(*query, row)) {
            let (own, change, each, whole) = weights(query);
            let (weight, by) = each[row];
            match which {
                1 => add(scale * weight * (by - whole), scale * weight * (by.abs() + whole.abs()), &own),
                _ => add(weight, weight, &change),
            }
        }
        sums
    }

    /// The errors of sampled rows.
    fn errors(&self, found: &Found<'_>) -> Errors {
        // A row of dK and dV asks for every weight of every query.
        let samples: Vec<(usize, usize)> =
            (0..SAMPLES).map(|at| (if self.length > 4096 || at % 3 == 0 { 0 } else { at % 3 }, at)).collect();
        let pairs = self.sequences * self.heads;
        Errors::of(&samples, |(which, at)| {
            let pair = at * (pairs - 1) / (SAMPLES - 1);
            let (head, row) =
                ([pair / self.heads, pair % self.heads], at * (self.length - 1) / (SAMPLES - 1));
            let (exact, sizes) = self.exact(found, *which, head, row);
            let changes = &found.changes[*which][found.operands[0].first(head, row)..];
            let mut errors = Errors::default();
            for (found, (exact, size)) in changes.iter().zip(exact.iter().zip(sizes)) {
                errors.add(*found, *exact, size / 64.0 + 1e-5);
            }
            errors
        })
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "backward": true, "sequences": self.sequences, "length": self.length, "heads": [self.heads, self.heads],
            "depth": self.depth, "causal": self.causal, "ends": self.ends,
            "flops": self.flops(),
        })
    }
}

impl Case for Backward {
    const RATES: &'static str = "GFLOPS/s";

    /// What the goals name: 16384 tokens, heads x d = 2048.
    fn all(small: bool) -> Vec<Self> {
        let lengths: &[usize] = if small { &[130] } else { &[4096, 16_384] };
        let mut all = Vec::new();
        for depth in [64, 128] {
            for length in lengths {
                for causal in [false, true] {
                    let name =
                        format!("backward d {depth} S {length} {}", if causal { "causal" } else { "full" });
                    let heads = if small { 2 } else { 2048 / depth };
                    let sequences = if small { 1 } else { 16_384 / length };
                    all.push(Backward { name, sequences, length: *length, heads, depth, causal, ends: None });
                }
            }
            // As long and as uneven as those of the forward.
            let length = if small { 257 } else { 16_384 };
            let ends = [0, 3, 40, 47, 130, 131, 220, 256].map(|part: i32| part * length as i32 / 256);
            let (name, heads) = (
                format!("backward d {depth} S {length} causal packed"),
                if small { 2 } else { 2048 / depth },
            );
            let ends = Some(ends.to_vec());
            all.push(Backward { name, sequences: 1, length, heads, depth, causal: true, ends });
        }
        all
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn measure(&self, ledger: &mut Ledger, run: &Run<'_>) -> Result<()> {
        let (device, stream) = (run.device, run.device.stream());
        let Backward { sequences, length, heads, depth, causal, .. } = self;
        let operand = |seed| Operands::new(device, [*sequences, *length, *heads, *depth], seed);
        let (q, k, v, d_o) = (operand(1)?, operand(2)?, operand(3)?, operand(4)?);
        let (shape, strides) = q.view();
        let count = sequences * length * heads * depth;
        let mut o = device.zeros::<bf16, 1>([count])?;
        let mut logs = device.zeros::<f32, 3>([*sequences, *heads, *length])?;
        let change = || device.zeros::<bf16, 1>([count]);
        let changes = RefCell::new([change()?, change()?, change()?]);
        let mask = if *causal { Mask::Causal } else { Mask::Every };
        let starts =
            device.upload(self.ends.as_deref().unwrap_or(&[]), [self.ends.as_ref().map_or(0, Vec::len)])?;
        let packed = self.ends.as_ref().map(|_| Packed { queries: &starts, keys: &starts, longest: *length });
        let kernel = run.options.warps.then_some(Kernel::Warps);
        let what = Attention { mask, packed, kernel, ..Attention::default() };
        let q_view = q.on_device.part(0, shape, strides)?;
        let k_view = k.on_device.part(0, shape, strides)?;
        let v_view = v.on_device.part(0, shape, strides)?;
        let d_view = d_o.on_device.part(0, shape, strides)?;
        what.run(&stream, &q_view, &k_view, &v_view, &mut o.part_mut(0, shape, strides)?, &mut logs)?;
        let o_view = o.part(0, shape, strides)?;
        let sets = what.backward_sets(device, bf16::ELEM, [*depth; 2]);
        let memory = RefCell::new(Workspace::default());
        // A set of one's own is of both kernels.
        let launch = |set: &ParamSet| {
            let [d_q, d_k, d_v] = &mut *changes.borrow_mut();
            let of = Forward { q: &q_view, k: &k_view, v: &v_view, o: &o_view, logs: &logs };
            let to = Changes {
                q: &mut d_q.part_mut(0, shape, strides)?,
                k: &mut d_k.part_mut(0, shape, strides)?,
                v: &mut d_v.part_mut(0, shape, strides)?,
            };
            let of_queries = if *set == sets[0] { &sets[1] } else { set };
            what.backward_with([set, of_queries], &stream, &of, &d_view, &mut memory.borrow_mut(), to)
        };
        let errors = || {
            let [d_q, d_k, d_v] = &*changes.borrow();
            let changes = [d_q.download()?, d_k.download()?, d_v.download()?];
            Ok(self.errors(&Found { operands: [&q, &k, &v, &d_o], logs: logs.download()?, changes }))
        };
        let trial = Trial {
            name: &self.name,
            kernel: format!("{}{}", self.name, if run.options.warps { " by warps" } else { "" }),
            own: sets[0].clone(),
            launch: &launch,
            poison: &|| changes.borrow_mut().iter_mut().try_for_each(Tensor::poison),
            errors: &errors,
            about: self.json(),
            shape: vec![*sequences, self.length, *heads, *heads, *depth],
            work: roofline::Work { flops: self.flops(), bytes: 16.0 * count as f64 },
            elements: count as f64,
            unit: "TFLOP/s",
        };
        trial.run(ledger, &stream, run)
    }
}
