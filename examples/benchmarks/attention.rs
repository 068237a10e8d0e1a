//! Attention forward: each shape checked against float64 on sampled rows and timed, alone or by turns with another program.
//!
//! Law: what is timed was checked before; the sampled rows are spread over heads and places, the first and the last among them.
//!
//! By turns (`--turns`), as `peers.py` asks between rounds of its peers.

use super::ledger::Ledger;
use super::noise::noise;
use super::options::{Common, assignments};
use super::race::{Candidate, Length, race};
use super::record::Record;
use super::turns::by_turns;
use super::{Result, parallel};
use crate::host::attention::{Attention, Mask, Packed, Score};
use clap::Args;
use layout_cuda::{Device, Element, ParamSet, Tensor, bf16, roofline};
use std::cell::RefCell;

/// The options of `attention`.
#[derive(Args)]
pub struct Options {
    /// Only the cases whose name has this in it; several times for several
    #[arg(long)]
    pub only: Vec<String>,
    /// Other parameters of the kernel to time beside its own, as `BN=160,STAGES=2`; several times for several
    #[arg(long, value_name = "NAME=VALUE,..")]
    pub set: Vec<String>,
    /// Waits for `time` and `next` on the standard input
    #[arg(long)]
    pub turns: bool,
}

impl Options {
    /// Whether a case of this name is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
    }
}

/// Noise times this has variance one, as a normal variable's.
pub const SPREAD: f32 = 1.732_050_8;
/// Heads that are sampled, and rows of each.
const SAMPLES: [usize; 2] = [16, 8];
/// Milliseconds of a round, and rounds.
const ROUND_MS: f64 = super::turns::ROUND_MS;
const ROUNDS: usize = 5;

/// A case: sequences of one length, or packed ones.
struct Case {
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

impl Case {
    fn new([sequences, length]: [usize; 2], heads: [usize; 2], depth: usize, mask: Mask) -> Case {
        let groups =
            if heads[0] == heads[1] { String::new() } else { format!(" {} on {}", heads[0], heads[1]) };
        let name = format!("d {depth} S {length}{groups} {}", mask_name(mask));
        Case { name, sequences, length, heads, depth, mask, score: Score::Plain, beside: None, ends: None }
    }

    /// The same with something more: its name, and the case it is compared with.
    fn with(self, more: &str, change: impl FnOnce(&mut Case)) -> Case {
        let mut case =
            Case { name: format!("{} {more}", self.name), beside: Some(self.name.clone()), ..self };
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

    fn json(&self, [worst, mean]: [f64; 2], wrong: usize) -> serde_json::Value {
        let rows = |samples: &[Sample]| -> Vec<_> {
            samples
                .iter()
                .map(|sample| serde_json::json!([sample.row, sample.keys[0], sample.keys[1]]))
                .collect()
        };
        let samples: Vec<_> =
            self.samples().iter().map(|(head, all)| serde_json::json!([head, rows(all)])).collect();
        serde_json::json!({
            "case": self.name, "sequences": self.sequences, "length": self.length, "heads": self.heads, "depth": self.depth,
            "mask": mask_name(self.mask), "window": if let Mask::Sliding(keys) = self.mask { keys } else { 0 },
            "cap": if let Score::SoftCap(cap) = self.score { cap } else { 0.0 }, "alibi": self.score == Score::Alibi,
            "ends": self.ends, "beside": self.beside, "flops": self.flops(), "spread": SPREAD, "samples": samples,
            "round_ms": ROUND_MS, "rounds": ROUNDS, "worst": worst, "mean": mean, "wrong": wrong,
        })
    }
}

/// What the goals name: 16384 tokens, heads x d = 2048; groups of heads; masks, scores and packed sequences beside the plain case.
fn cases(small: bool) -> Vec<Case> {
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
                all.push(Case::new(sized(*length), [heads; 2], depth, mask));
            }
        }
    }
    let few = if small { [4, 2] } else { [64, 8] };
    for length in if small { vec![257] } else { vec![2048, 4096, 16_384] } {
        for mask in [Mask::Every, Mask::Causal] {
            all.push(Case::new(sized(length), few, 128, mask));
        }
    }
    let long = lengths[lengths.len() - 1];
    for depth in [64, 128] {
        let heads = if small { [2; 2] } else { [2048 / depth; 2] };
        let plain = |mask| Case::new(sized(long), heads, depth, mask);
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

/// Tensors in memory as batch, place, head, element.
pub struct Operands {
    shape: [usize; 4],
    host: Vec<bf16>,
    pub on_device: Tensor<bf16, 1>,
}

impl Operands {
    pub fn new(device: &Device, shape: [usize; 4], seed: u32) -> Result<Operands> {
        let count = shape.iter().product();
        let parts = parallel(count, |range| {
            range.map(|i| bf16::from_f32(noise(i, seed) * SPREAD)).collect::<Vec<_>>()
        });
        let host = parts.concat();
        let on_device = device.upload(&host, [count])?;
        Ok(Operands { shape, host, on_device })
    }

    /// Shape and strides of the view as batch, head, place, element.
    pub fn view(&self) -> ([usize; 4], [usize; 4]) {
        let [batches, rows, heads, depth] = self.shape;
        ([batches, heads, rows, depth], [rows * heads * depth, depth, heads * depth, 1])
    }

    pub fn row(&self, [batch, head]: [usize; 2], row: usize) -> impl Iterator<Item = f64> {
        let [_, rows, heads, depth] = self.shape;
        let first = ((batch * rows + row) * heads + head) * depth;
        self.host[first..first + depth].iter().map(|value| f64::from(*value))
    }
}

/// The largest and the mean error of the sampled rows, and how many elements are beyond what rounding explains.
fn errors(case: &Case, [q, k, v]: [&Operands; 3], o: &[bf16]) -> ([f64; 2], usize) {
    let samples = case.samples();
    let scale = 1.0 / (case.depth as f64).sqrt();
    let of_head = |(head, rows): &([usize; 2], Vec<Sample>)| {
        let [batch, at] = *head;
        let group = [batch, at * case.heads[1] / case.heads[0]];
        let (mut worst, mut sum, mut wrong) = (0.0f64, 0.0, 0);
        for Sample { row, keys: [from, to], place } in rows {
            let query: Vec<f64> = q.row(*head, *row).collect();
            let score = |key: usize| {
                let product: f64 = k.row(group, key).zip(&query).map(|(a, b)| a * b).sum();
                case.score(product * scale, at, place - key as i64)
            };
            let scores: Vec<f64> = (*from..*to).map(score).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (mut exact, mut size, mut total) = (vec![0.0; case.depth], vec![0.0; case.depth], 0.0);
            for (score, key) in scores.iter().zip(*from..*to) {
                let weight = (score - most).exp();
                total += weight;
                for (e, value) in v.row(group, key).enumerate() {
                    exact[e] += weight * value;
                    size[e] += weight * value.abs();
                }
            }
            let first = ((batch * q.shape[1] + row) * case.heads[0] + at) * case.depth;
            for e in 0..case.depth {
                let error = (f64::from(o[first + e]) - exact[e] / total).abs();
                (worst, sum) = (worst.max(error), sum + error);
                // Weights and result are rounded to 8 bits; a number that is none is wrong.
                let within = error <= size[e] / total / 128.0 + 1e-6;
                wrong += usize::from(!within);
            }
        }
        (worst, sum, wrong)
    };
    let found = parallel(samples.len(), |range| range.map(|at| of_head(&samples[at])).collect::<Vec<_>>());
    let all = found.into_iter().flatten();
    let (worst, sum, wrong) =
        all.fold((0.0, 0.0, 0), |(worst, sum, wrong), (w, s, n)| (f64::max(worst, w), sum + s, wrong + n));
    let count = samples.iter().map(|(_, rows)| rows.len()).sum::<usize>() * case.depth;
    ([worst, sum / count as f64], wrong)
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
    let Case { sequences, length, heads: [heads, groups], depth, mask, score, ends, .. } = case;
    let batches = if ends.is_some() { 1 } else { *sequences };
    let operand = |heads, seed| Operands::new(device, [batches, *length, heads, *depth], seed);
    let (q, k, v) = (operand(*heads, 1)?, operand(*groups, 2)?, operand(*groups, 3)?);
    let (shape, strides) = q.view();
    let mut o = device.zeros::<bf16, 1>([q.host.len()])?;
    o.poison()?;
    let logs = device.zeros::<f32, 3>([batches, *heads, *length])?;
    let starts = device.upload(ends.as_deref().unwrap_or(&[]), [ends.as_ref().map_or(0, Vec::len)])?;
    let longest = case.sequences().iter().map(|[_, length]| *length).max().unwrap_or(0);
    let packed = ends.as_ref().map(|_| Packed { queries: &starts, keys: &starts, longest });
    let what = Attention { mask: *mask, score: *score, packed, ..Attention::default() };
    let views = {
        let view = |of: &'_ Operands| of.view();
        [view(&q), view(&k), view(&v)]
    };
    let q_view = q.on_device.part(0, views[0].0, views[0].1)?;
    let k_view = k.on_device.part(0, views[1].0, views[1].1)?;
    let v_view = v.on_device.part(0, views[2].0, views[2].1)?;
    let own = what.set(device, bf16::ELEM, [*depth; 2], *length);
    let (o, logs) = (RefCell::new(o), RefCell::new(logs));
    let launch = |set: &ParamSet| {
        let (mut o, mut logs) = (o.borrow_mut(), logs.borrow_mut());
        let mut o = o.part_mut(0, shape, strides)?;
        what.run_with(set, &stream, &q_view, [&k_view, &v_view], &mut o, &mut logs)
    };
    if let Err(error) = launch(&own) {
        // The others are measured all the same.
        println!("{}: not run: {}", case.name, error.to_string().replace('\n', " "));
        return Ok(());
    }
    let (found, wrong) = errors(case, [&q, &k, &v], &o.borrow().download()?);
    let mut candidates = vec![Candidate::new(format!("attention {}", case.name), || launch(&own))];
    for text in &options.set {
        let set = changed(own.clone(), text)?;
        o.borrow_mut().poison()?;
        match launch(&set) {
            Ok(()) => {
                let (_, wrong) = errors(case, [&q, &k, &v], &o.borrow().download()?);
                let name = if wrong > 0 { format!("{text} WRONG") } else { text.clone() };
                candidates.push(Candidate::new(name, move || launch(&set)));
            }
            Err(error) => println!("{}, {text}: {}", case.name, error.to_string().replace('\n', " ")),
        }
    }
    if options.turns {
        return by_turns(&stream, &case.name, &mut candidates, case.json(found, wrong));
    }
    let length = Length { rounds: ROUNDS.min(common.samples), round_ms: ROUND_MS, least: 1 };
    let launches = race(&stream, length, false, &mut candidates)?;
    let candidate = &candidates[0];
    let elements = (batches * case.length * heads) as f64 * *depth as f64;
    ledger.keep(&Record {
        workload: "attention",
        kernel: candidate.name.clone(),
        place: if device.is_simulator() { "simulator" } else { "gpu" },
        dtype: "bf16",
        shape: vec![batches, case.length, *heads, *groups, *depth],
        ms: candidate.ms(),
        iters: launches[0] * candidate.times.len(),
        work: roofline::Work {
            flops: case.flops(),
            bytes: 4.0 * elements * (1.0 + *groups as f64 / *heads as f64),
        },
        elements,
        unit: "TFLOP/s",
        peer: None,
        steps: None,
        wrong,
        first_wrong: None,
        max_rel_err: found[0],
        spread: candidate.spread(),
    })
}

/// Parameters with some replaced.
pub fn changed(set: ParamSet, text: &str) -> Result<ParamSet> {
    Ok(assignments(text)?.into_iter().fold(set, |set, (name, value)| set.with(name, value)))
}
