//! Attention forward: each shape checked against float64 on sampled rows and timed, alone or by turns with another program.
//!
//! Law: what is timed was checked before; the sampled rows are spread over heads and places, the first and the last among them.
//!
//! By turns (`--turns`), as `peers.py` asks between rounds of its peers.

use super::Result;
use super::ledger::Ledger;
use super::trial::{Case, Errors, Operands, Run, Trial, weighted};
use layout_cuda::{Element, ParamSet, bf16, roofline};
use layout_kernels::attention::{Attention, Kernel, Mask, Packed, Score};
use std::cell::RefCell;

/// Heads that are sampled, and rows of each.
const SAMPLES: [usize; 2] = [16, 8];

/// A case: sequences of one length, or packed ones.
pub struct Forward {
    name: String,
    sequences: usize,
    length: usize,
    heads: [usize; 2],
    depth: usize,
    mask: Mask,
    score: Score,
    /// The case of our own that this one is compared with, where no peer has it.
    beside: Option<String>,
    /// Where packed sequences begin, and the last one's end.
    ends: Option<Vec<i32>>,
}

/// A sampled row: its place in the tensor, the keys `from..to` that it sees, and what a key's distance counts from.
struct Sample {
    row: usize,
    keys: [usize; 2],
    place: i64,
}

fn mask_name(mask: Mask) -> &'static str {
    match mask {
        Mask::Every => "full",
        Mask::Causal => "causal",
        Mask::Sliding(_) => "window",
    }
}

impl Forward {
    fn new([sequences, length]: [usize; 2], heads: [usize; 2], depth: usize, mask: Mask) -> Forward {
        let groups =
            if heads[0] == heads[1] { String::new() } else { format!(" {} on {}", heads[0], heads[1]) };
        let name = format!("d {depth} S {length}{groups} {}", mask_name(mask));
        Forward { name, sequences, length, heads, depth, mask, score: Score::Plain, beside: None, ends: None }
    }

    /// The same with something more: its name, and the case it is compared with.
    fn with(self, more: &str, change: impl FnOnce(&mut Forward)) -> Forward {
        let mut case =
            Forward { name: format!("{} {more}", self.name), beside: Some(self.name.clone()), ..self };
        change(&mut case);
        case
    }

    /// Where each sequence begins in its batch, and how long it is.
    fn sequences(&self) -> Vec<[usize; 2]> {
        match &self.ends {
            Some(ends) => ends.windows(2).map(|end| [end[0] as usize, (end[1] - end[0]) as usize]).collect(),
            None => vec![[0, self.length]; self.sequences],
        }
    }

    /// The keys that a query of a sequence of this length sees.
    fn seen(&self, query: usize, length: usize) -> [usize; 2] {
        match self.mask {
            Mask::Every => [0, length],
            Mask::Causal => [0, query + 1],
            Mask::Sliding(window) => [(query + 1).saturating_sub(window), query + 1],
        }
    }

    /// Two products for each element of a pair of a query and a key that it sees.
    fn flops(&self) -> f64 {
        let keys = |query, length| {
            let [from, to] = self.seen(query, length);
            (to - from) as f64
        };
        let pairs = |length| (0..length).map(|query| keys(query, length)).sum::<f64>();
        let all: f64 = self.sequences().iter().map(|[_, length]| pairs(*length)).sum();
        4.0 * all * (self.heads[0] * self.depth) as f64
    }

    /// Heads of sequences, and rows of each.
    fn samples(&self) -> Vec<([usize; 2], Vec<Sample>)> {
        let sequences = self.sequences();
        let pairs = sequences.len() * self.heads[0];
        let heads = SAMPLES[0].min(pairs);
        let of_head = |at: usize| {
            let pair = at * (pairs - 1) / (heads - 1).max(1);
            let (sequence, head) = (pair / self.heads[0], pair % self.heads[0]);
            let [first, length] = sequences[sequence];
            let row = |at: usize| {
                let query = at * (length - 1) / (SAMPLES[1] - 1);
                let [from, to] = self.seen(query, length);
                Sample { row: first + query, keys: [first + from, first + to], place: (first + query) as i64 }
            };
            let batch = if self.ends.is_some() { 0 } else { sequence };
            ([batch, head], (0..SAMPLES[1]).map(row).collect())
        };
        (0..heads).map(of_head).collect()
    }

    /// A head's slope of ALiBi, and its cap.
    fn score(&self, score: f64, head: usize, distance: i64) -> f64 {
        match self.score {
            Score::Plain => score,
            Score::SoftCap(cap) => f64::from(cap) * (score / f64::from(cap)).tanh(),
            Score::Alibi => {
                score - 2f64.powf(-8.0 * (head + 1) as f64 / self.heads[0] as f64) * distance.abs() as f64
            }
        }
    }

    fn json(&self) -> serde_json::Value {
        let rows = |samples: &[Sample]| -> Vec<_> {
            samples
                .iter()
                .map(|sample| serde_json::json!([sample.row, sample.keys[0], sample.keys[1]]))
                .collect()
        };
        let samples: Vec<_> =
            self.samples().iter().map(|(head, all)| serde_json::json!([head, rows(all)])).collect();
        serde_json::json!({
            "sequences": self.sequences, "length": self.length, "heads": self.heads, "depth": self.depth,
            "mask": mask_name(self.mask), "window": if let Mask::Sliding(keys) = self.mask { keys } else { 0 },
            "cap": if let Score::SoftCap(cap) = self.score { cap } else { 0.0 }, "alibi": self.score == Score::Alibi,
            "ends": self.ends, "beside": self.beside, "flops": self.flops(), "samples": samples,
        })
    }
}

/// The errors of the sampled rows: weights and result are rounded to 8 bits.
fn errors(case: &Forward, [q, k, v]: [&Operands; 3], o: &[bf16]) -> Errors {
    let scale = 1.0 / (case.depth as f64).sqrt();
    Errors::of(&case.samples(), |(head, rows)| {
        let [batch, at] = *head;
        let group = [batch, at * case.heads[1] / case.heads[0]];
        let mut errors = Errors::default();
        for Sample { row, keys: [from, to], place } in rows {
            let query: Vec<f64> = q.row(*head, *row).collect();
            let score = |key: usize| {
                let product: f64 = k.row(group, key).zip(&query).map(|(a, b)| a * b).sum();
                case.score(product * scale, at, place - key as i64)
            };
            let scores: Vec<f64> = (*from..*to).map(score).collect();
            let (exact, size) = weighted(&scores, case.depth, |key| v.row(group, from + key));
            for (found, (exact, size)) in o[q.first(*head, *row)..].iter().zip(exact.iter().zip(size)) {
                errors.add(*found, *exact, size / 128.0 + 1e-6);
            }
        }
        errors
    })
}

impl Case for Forward {
    const RATES: &'static str = "GFLOPS/s";

    /// What the goals name: 16384 tokens, heads x d = 2048; groups of heads; masks, scores and packed sequences beside the plain case.
    fn all(small: bool) -> Vec<Self> {
        let (tokens, lengths, window): (_, &[usize], _) = match small {
            true => (300, &[100, 257], 64),
            false => (16_384, &[512, 1000, 2048, 4096, 4097, 16_384], 1024),
        };
        let sized = |length: usize| [((tokens + length / 2) / length).max(1), length];
        let mut all = Vec::new();
        for depth in [64, 128, 256] {
            for length in lengths {
                for mask in [Mask::Every, Mask::Causal] {
                    let heads = if small { 2 } else { 2048 / depth };
                    all.push(Forward::new(sized(*length), [heads; 2], depth, mask));
                }
            }
        }
        let few = if small { [4, 2] } else { [64, 8] };
        for length in if small { vec![257] } else { vec![2048, 4096, 16_384] } {
            for mask in [Mask::Every, Mask::Causal] {
                all.push(Forward::new(sized(length), few, 128, mask));
            }
        }
        let long = lengths[lengths.len() - 1];
        for depth in [64, 128] {
            let heads = if small { [2; 2] } else { [2048 / depth; 2] };
            let plain = |mask| Forward::new(sized(long), heads, depth, mask);
            let beside = plain(Mask::Causal).name;
            let windowed = Mask::Sliding(window);
            all.push(plain(windowed).with("", |case| case.beside = Some(beside)));
            all.push(plain(Mask::Causal).with("alibi", |case| case.score = Score::Alibi));
            all.push(plain(Mask::Causal).with("cap", |case| case.score = Score::SoftCap(30.0)));
            let ends = [0, 3, 40, 47, 130, 131, 220, 256].map(|part: i32| part * long as i32 / 256);
            all.push(plain(Mask::Causal).with("packed", |case| case.ends = Some(ends.to_vec())));
        }
        all
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn measure(&self, ledger: &mut Ledger, run: &Run<'_>) -> Result<()> {
        let (device, stream) = (run.device, run.device.stream());
        let Forward { sequences, length, heads: [heads, groups], depth, mask, score, ends, .. } = self;
        let batches = if ends.is_some() { 1 } else { *sequences };
        let operand = |heads, seed| Operands::new(device, [batches, *length, heads, *depth], seed);
        let (q, k, v) = (operand(*heads, 1)?, operand(*groups, 2)?, operand(*groups, 3)?);
        let (shape, strides) = q.view();
        let o = device.zeros::<bf16, 1>([batches * length * heads * depth])?;
        let logs = device.zeros::<f32, 3>([batches, *heads, *length])?;
        let starts = device.upload(ends.as_deref().unwrap_or(&[]), [ends.as_ref().map_or(0, Vec::len)])?;
        let longest = self.sequences().iter().map(|[_, length]| *length).max().unwrap_or(0);
        let packed = ends.as_ref().map(|_| Packed { queries: &starts, keys: &starts, longest });
        let kernel = run.options.warps.then_some(Kernel::Warps);
        let what = Attention { mask: *mask, score: *score, packed, kernel, ..Attention::default() };
        let views = {
            let view = |of: &'_ Operands| of.view();
            [view(&q), view(&k), view(&v)]
        };
        let q_view = q.on_device.part(0, views[0].0, views[0].1)?;
        let k_view = k.on_device.part(0, views[1].0, views[1].1)?;
        let v_view = v.on_device.part(0, views[2].0, views[2].1)?;
        let own = what.set(device, bf16::ELEM, q_view.shape(), v_view.shape());
        let (o, logs) = (RefCell::new(o), RefCell::new(logs));
        let launch = |set: &ParamSet| {
            let (mut o, mut logs) = (o.borrow_mut(), logs.borrow_mut());
            let mut o = o.part_mut(0, shape, strides)?;
            what.run_with(set, &stream, &q_view, &k_view, &v_view, &mut o, &mut *logs)
        };
        let elements = (batches * self.length * heads) as f64 * *depth as f64;
        let trial = Trial {
            name: &self.name,
            kernel: format!("attention{} {}", if run.options.warps { " by warps" } else { "" }, self.name),
            own,
            launch: &launch,
            poison: &|| o.borrow_mut().poison(),
            errors: &|| Ok(errors(self, [&q, &k, &v], &o.borrow().download()?)),
            about: self.json(),
            shape: vec![batches, self.length, *heads, *groups, *depth],
            work: roofline::Work {
                flops: self.flops(),
                bytes: 4.0 * elements * (1.0 + *groups as f64 / *heads as f64),
            },
            elements,
            unit: "TFLOP/s",
        };
        trial.run(ledger, &stream, run)
    }
}
