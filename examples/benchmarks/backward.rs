//! Attention backward: dQ, dK and dV of sampled rows checked against float64, all three timed together.
//!
//! Law: what is timed was checked before; of sequences beyond 4096 rows of dQ alone. The flops are those of five products, as the libraries count them; `of_keys` and `of_queries`
//! make seven.

use super::attention::{Operands, Options, SPREAD, changed};
use super::ledger::Ledger;
use super::options::Common;
use super::race::{Candidate, Length, race};
use super::record::Record;
use super::turns::{ROUND_MS, by_turns};
use super::{Result, parallel};
use crate::host::attention::{Attention, Mask};
use crate::host::backward::{Changes, Forward, Workspace};
use layout_cuda::{Device, Element, ParamSet, bf16, roofline};
use std::cell::RefCell;

/// Sequences of a length, heads, elements of a head, causal or not.
struct Case {
    name: String,
    sequences: usize,
    length: usize,
    heads: usize,
    depth: usize,
    causal: bool,
}

/// Rows that are sampled of dQ, and of dK and dV.
const SAMPLES: usize = 12;

/// What the goals name: 16384 tokens, heads x d = 2048.
fn cases(small: bool) -> Vec<Case> {
    let lengths: &[usize] = if small { &[130] } else { &[4096, 16_384] };
    let mut all = Vec::new();
    for depth in [64, 128] {
        for length in lengths {
            for causal in [false, true] {
                let name =
                    format!("backward d {depth} S {length} {}", if causal { "causal" } else { "full" });
                let heads = if small { 2 } else { 2048 / depth };
                let sequences = if small { 1 } else { 16_384 / length };
                all.push(Case { name, sequences, length: *length, heads, depth, causal });
            }
        }
    }
    all
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What a launch read and gave, on the host.
struct Found<'a> {
    operands: [&'a Operands; 4],
    logs: Vec<f32>,
    changes: [Vec<bf16>; 3],
}

impl Case {
    fn flops(&self) -> f64 {
        let pairs = (self.length * self.length) as f64 / if self.causal { 2.0 } else { 1.0 };
        10.0 * pairs * (self.sequences * self.heads * self.depth) as f64
    }

    fn seen(&self, query: usize, key: usize) -> bool {
        !self.causal || key <= query
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

    /// The largest and the mean error of sampled rows, and how many elements are beyond what rounding explains.
    fn errors(&self, found: &Found<'_>) -> ([f64; 2], usize) {
        // A row of dK and dV asks for every weight of every query.
        let samples: Vec<(usize, usize)> =
            (0..SAMPLES).map(|at| (if self.length > 4096 || at % 3 == 0 { 0 } else { at % 3 }, at)).collect();
        let pairs = self.sequences * self.heads;
        let one = |(which, at): (usize, usize)| {
            let pair = at * (pairs - 1) / (SAMPLES - 1);
            let (place, row) =
                ([pair / self.heads, pair % self.heads], at * (self.length - 1) / (SAMPLES - 1));
            let (exact, sizes) = self.exact(found, which, place, row);
            let first = ((place[0] * self.length + row) * self.heads + place[1]) * self.depth;
            let each = exact.iter().zip(&sizes).enumerate().map(|(e, (exact, size))| {
                let error = (f64::from(found.changes[which][first + e]) - exact).abs();
                (error, error <= size / 64.0 + 1e-5)
            });
            each.fold((0.0f64, 0.0, 0), |(worst, sum, wrong), (error, within)| {
                (worst.max(error), sum + error, wrong + usize::from(!within))
            })
        };
        let all = parallel(samples.len(), |range| range.map(|at| one(samples[at])).collect::<Vec<_>>());
        let (worst, sum, wrong) = all
            .into_iter()
            .flatten()
            .fold((0.0, 0.0, 0), |(worst, sum, wrong), (w, s, n)| (f64::max(worst, w), sum + s, wrong + n));
        ([worst, sum / (SAMPLES * self.depth) as f64], wrong)
    }

    fn json(&self, [worst, mean]: [f64; 2], wrong: usize) -> serde_json::Value {
        serde_json::json!({
            "case": self.name, "backward": true, "sequences": self.sequences, "length": self.length,
            "heads": [self.heads, self.heads], "depth": self.depth, "causal": self.causal, "flops": self.flops(),
            "spread": SPREAD, "round_ms": ROUND_MS, "rounds": 5, "worst": worst, "mean": mean, "wrong": wrong, "beside": null,
        })
    }
}

/// Measures what is asked for.
///
/// # Errors
/// A device without memory, a failing launch, and what the standard input and output say.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common, options: &Options) -> Result<()> {
    let cases: Vec<Case> =
        cases(device.is_simulator()).into_iter().filter(|case| options.wants(&case.name)).collect();
    if cases.is_empty() {
        return Ok(());
    }
    if !options.turns {
        ledger.head("GFLOPS/s");
    }
    for case in &cases {
        measure(ledger, device, common, case, options)?;
    }
    if !options.turns {
        ledger.foot();
    }
    Ok(())
}

fn measure(
    ledger: &mut Ledger,
    device: &Device,
    common: &Common,
    case: &Case,
    options: &Options,
) -> Result<()> {
    let stream = device.stream();
    let Case { sequences, length, heads, depth, causal, .. } = case;
    let operand = |seed| Operands::new(device, [*sequences, *length, *heads, *depth], seed);
    let (q, k, v, d_o) = (operand(1)?, operand(2)?, operand(3)?, operand(4)?);
    let (shape, strides) = q.view();
    let count = sequences * length * heads * depth;
    let mut o = device.zeros::<bf16, 1>([count])?;
    let mut logs = device.zeros::<f32, 3>([*sequences, *heads, *length])?;
    let mut changes = [(); 3].map(|()| device.zeros::<bf16, 1>([count]));
    for change in changes.iter_mut().flatten() {
        change.poison()?;
    }
    let [d_q, d_k, d_v] = changes;
    let changes = RefCell::new([d_q?, d_k?, d_v?]);
    let mask = if *causal { Mask::Causal } else { Mask::Every };
    let what = Attention { mask, ..Attention::default() };
    let q_view = q.on_device.part(0, shape, strides)?;
    let k_view = k.on_device.part(0, shape, strides)?;
    let v_view = v.on_device.part(0, shape, strides)?;
    let d_view = d_o.on_device.part(0, shape, strides)?;
    what.run(&stream, &q_view, [&k_view, &v_view], &mut o.part_mut(0, shape, strides)?, &mut logs)?;
    let o_view = o.part(0, shape, strides)?;
    let own = what.backward_set(bf16::ELEM, [*depth; 2]);
    let memory = RefCell::new(Workspace::default());
    let launch = |set: &ParamSet| {
        let [d_q, d_k, d_v] = &mut *changes.borrow_mut();
        let of = Forward { q: &q_view, k: &k_view, v: &v_view, o: &o_view, logs: &logs };
        let to = Changes {
            q: &mut d_q.part_mut(0, shape, strides)?,
            k: &mut d_k.part_mut(0, shape, strides)?,
            v: &mut d_v.part_mut(0, shape, strides)?,
        };
        what.backward_with([set; 2], &stream, &of, &d_view, &mut memory.borrow_mut(), to)
    };
    let judged = || -> Result<([f64; 2], usize)> {
        let [d_q, d_k, d_v] = &*changes.borrow();
        let changes = [d_q.download()?, d_k.download()?, d_v.download()?];
        Ok(case.errors(&Found { operands: [&q, &k, &v, &d_o], logs: logs.download()?, changes }))
    };
    if let Err(error) = launch(&own) {
        // The others are measured all the same.
        println!("{}: not run: {}", case.name, error.to_string().replace('\n', " "));
        return Ok(());
    }
    let (found, wrong) = judged()?;
    let mut candidates = vec![Candidate::new(case.name.clone(), || launch(&own))];
    for text in &options.set {
        let set = changed(own.clone(), text)?;
        for change in changes.borrow_mut().iter_mut() {
            change.poison()?;
        }
        match launch(&set) {
            Ok(()) => {
                let name = if judged()?.1 > 0 { format!("{text} WRONG") } else { text.clone() };
                let launch = &launch;
                candidates.push(Candidate::new(name, move || launch(&set)));
            }
            Err(error) => println!("{}, {text}: {}", case.name, error.to_string().replace('\n', " ")),
        }
    }
    if options.turns {
        return by_turns(&stream, &case.name, &mut candidates, case.json(found, wrong));
    }
    let length = Length { rounds: common.samples.min(5), round_ms: ROUND_MS, least: 1 };
    let launches = race(&stream, length, false, &mut candidates)?;
    for candidate in &candidates[1..] {
        println!("{:8.1} TFLOP/s {}: {}", case.flops() / candidate.ms() * 1e-9, case.name, candidate.name);
    }
    let candidate = &candidates[0];
    ledger.keep(&Record {
        workload: "attention",
        kernel: candidate.name.clone(),
        place: if device.is_simulator() { "simulator" } else { "gpu" },
        dtype: "bf16",
        shape: vec![*sequences, case.length, *heads, *heads, *depth],
        ms: candidate.ms(),
        iters: launches[0] * candidate.times.len(),
        work: roofline::Work { flops: case.flops(), bytes: 16.0 * count as f64 },
        elements: count as f64,
        unit: "TFLOP/s",
        peer: None,
        steps: None,
        wrong,
        first_wrong: None,
        max_rel_err: found[0],
        spread: candidate.spread(),
    })
}
