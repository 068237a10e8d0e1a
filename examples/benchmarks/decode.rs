//! Decoding: one query over the keys of each sequence, checked against float64 on sampled heads and timed beside the bytes of K and V.
//!
//! Law: what is timed was checked before; the bytes are those of K and V, each read once.

use super::attention::{Operands, Options, SPREAD, changed};
use super::ledger::Ledger;
use super::options::Common;
use super::race::{Candidate, Length, race};
use super::record::Record;
use super::turns::{ROUND_MS, by_turns};
use super::{Result, parallel};
use crate::host::decode::{Decoding, Workspace};
use layout_cuda::{Device, Element, ParamSet, ParamValue, bf16, roofline};
use std::cell::RefCell;

/// Sequences, keys of each, heads of Q and of K and V, elements of a head, keys of a page where there are pages.
struct Case {
    name: String,
    sequences: usize,
    length: usize,
    heads: [usize; 2],
    depth: usize,
    page: Option<usize>,
}

/// Sequences and their length, heads and groups of them, the head dimension, and keys of a page.
type Shape = ([usize; 2], [usize; 2], usize, Option<usize>);

/// Heads that are sampled.
const SAMPLES: usize = 16;

/// What the goals name, and pages.
fn cases(small: bool) -> Vec<Case> {
    let shapes: &[Shape] = match small {
        true => &[([2, 300], [4, 2], 64, None), ([2, 300], [4, 2], 128, Some(24))],
        false => &[
            ([64, 8192], [32, 8], 128, None),
            ([1, 131_072], [32, 8], 128, None),
            ([16, 8192], [64, 8], 128, None),
            ([64, 8192], [32, 8], 128, Some(64)),
            ([64, 8192], [32, 8], 128, Some(16)),
            ([64, 8192], [32, 8], 64, None),
            ([4, 1000], [32, 8], 128, None),
        ],
    };
    let of = |([sequences, length], heads, depth, page): &Shape| {
        let pages = page.map_or(String::new(), |page| format!(" pages of {page}"));
        let [all, groups] = *heads;
        let name = format!("decode {sequences} x {length} {all} on {groups} d {depth}{pages}");
        Case { name, sequences: *sequences, length: *length, heads: *heads, depth: *depth, page: *page }
    };
    shapes.iter().map(of).collect()
}

impl Case {
    fn bytes(&self) -> f64 {
        4.0 * (self.sequences * self.length * self.heads[1] * self.depth) as f64
    }

    /// Sequences and heads that are looked at.
    fn samples(&self) -> Vec<[usize; 2]> {
        let pairs = self.sequences * self.heads[0];
        let count = SAMPLES.min(pairs);
        let of = |at: usize| at * (pairs - 1) / (count - 1).max(1);
        (0..count).map(|at| [of(at) / self.heads[0], of(at) % self.heads[0]]).collect()
    }

    /// Keys of a page and pages of a sequence: one of all keys where there are none.
    fn pages(&self) -> [usize; 2] {
        let keys = self.page.unwrap_or(self.length);
        [keys, self.length.div_ceil(keys)]
    }

    /// The page of a sequence's `i`-th keys: neighbours lie apart.
    fn page_of(&self, sequence: usize, i: usize) -> usize {
        let [_, pages] = self.pages();
        let all = self.sequences * pages;
        // Odd and no factor of the count: each page once.
        let step = [7919, 7907, 7901, 1].into_iter().find(|step| !all.is_multiple_of(*step)).unwrap_or(1);
        (sequence * pages + i) * step % all
    }

    fn json(&self, [worst, mean]: [f64; 2], wrong: usize) -> serde_json::Value {
        serde_json::json!({
            "case": self.name, "decode": true, "sequences": self.sequences, "length": self.length, "heads": self.heads,
            "depth": self.depth, "page": self.page, "bytes": self.bytes(), "spread": SPREAD, "samples": self.samples(),
            "round_ms": ROUND_MS, "rounds": 5, "worst": worst, "mean": mean, "wrong": wrong, "beside": null,
        })
    }

    /// The largest and the mean error of the sampled heads, and how many elements are beyond what rounding explains.
    fn errors(&self, [q, k, v]: [&Operands; 3], o: &[bf16]) -> ([f64; 2], usize) {
        let scale = 1.0 / (self.depth as f64).sqrt();
        let [keys, _] = self.pages();
        let of_head = |[sequence, head]: [usize; 2]| {
            let group = head * self.heads[1] / self.heads[0];
            let query: Vec<f64> = q.row([sequence, head], 0).collect();
            let place = |key: usize| match self.page {
                Some(_) => ([self.page_of(sequence, key / keys), group], key % keys),
                None => ([sequence, group], key),
            };
            let score = |key: usize| {
                let (at, row) = place(key);
                k.row(at, row).zip(&query).map(|(a, b)| a * b).sum::<f64>() * scale
            };
            let scores: Vec<f64> = (0..self.length).map(score).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (mut exact, mut size, mut total) = (vec![0.0; self.depth], vec![0.0; self.depth], 0.0);
            for (key, score) in scores.iter().enumerate() {
                let weight = (score - most).exp();
                total += weight;
                let (at, row) = place(key);
                for (e, value) in v.row(at, row).enumerate() {
                    exact[e] += weight * value;
                    size[e] += weight * value.abs();
                }
            }
            let first = (sequence * self.heads[0] + head) * self.depth;
            let each = (0..self.depth).map(|e| {
                let error = (f64::from(o[first + e]) - exact[e] / total).abs();
                (error, error <= size[e] / total / 128.0 + 1e-6)
            });
            each.fold((0.0f64, 0.0, 0), |(worst, sum, wrong), (error, within)| {
                (worst.max(error), sum + error, wrong + usize::from(!within))
            })
        };
        let samples = self.samples();
        let found = parallel(samples.len(), |range| range.map(|at| of_head(samples[at])).collect::<Vec<_>>());
        let all = found.into_iter().flatten();
        let (worst, sum, wrong) = all
            .fold((0.0, 0.0, 0), |(worst, sum, wrong), (w, s, n)| (f64::max(worst, w), sum + s, wrong + n));
        ([worst, sum / (samples.len() * self.depth) as f64], wrong)
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
        ledger.head("GB/s");
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
    let Case { sequences, length, heads: [heads, groups], depth, page, .. } = case;
    let [keys, pages] = case.pages();
    let places = if page.is_some() { sequences * pages } else { *sequences };
    let q = Operands::new(device, [*sequences, 1, *heads, *depth], 1)?;
    let k = Operands::new(device, [places, keys, *groups, *depth], 2)?;
    let v = Operands::new(device, [places, keys, *groups, *depth], 3)?;
    let lengths = device.upload(&vec![*length as i32; *sequences], [*sequences])?;
    let entries: Vec<i32> =
        (0..sequences * pages).map(|at| case.page_of(at / pages, at % pages) as i32).collect();
    let table = device.upload(&entries, [*sequences, pages])?;
    let mut o = device.zeros::<bf16, 4>([*sequences, *heads, 1, *depth])?;
    o.poison()?;
    let logs = device.zeros::<f32, 3>([*sequences, *heads, 1])?;
    let ((q_shape, q_strides), (k_shape, k_strides)) = (q.view(), k.view());
    let q_view = q.on_device.part(0, q_shape, q_strides)?;
    let k_view = k.on_device.part(0, k_shape, k_strides)?;
    let v_view = v.on_device.part(0, k_shape, k_strides)?;
    let what = Decoding { pages: page.map(|_| &table), ..Decoding::default() };
    let own = what.set(bf16::ELEM, [*depth; 2], heads / groups, keys);
    let (o, logs, memory) = (RefCell::new(o), RefCell::new(logs), RefCell::new(Workspace::default()));
    let launch = |set: &ParamSet| {
        let (mut o, mut logs, mut memory) = (o.borrow_mut(), logs.borrow_mut(), memory.borrow_mut());
        // `SPAN` is the host's.
        let span = match set.get("SPAN") {
            Some(ParamValue::Int(span)) => usize::try_from(span).ok(),
            _ => None,
        };
        let set = ParamSet(set.0.iter().filter(|(name, _)| name != "SPAN").cloned().collect());
        let what = Decoding { span, ..what };
        let out = (&mut o.view_mut(), &mut *logs);
        what.run_with(&set, &stream, &q_view, [&k_view, &v_view], &lengths, &mut memory, out)
    };
    if let Err(error) = launch(&own) {
        // The others are measured all the same.
        println!("{}: not run: {}", case.name, error.to_string().replace('\n', " "));
        return Ok(());
    }
    let (found, wrong) = case.errors([&q, &k, &v], &o.borrow().download()?);
    let mut candidates = vec![Candidate::new(case.name.clone(), || launch(&own))];
    for text in &options.set {
        let set = changed(own.clone(), text)?;
        o.borrow_mut().poison()?;
        match launch(&set) {
            Ok(()) => {
                let (_, wrong) = case.errors([&q, &k, &v], &o.borrow().download()?);
                let name = if wrong > 0 { format!("{text} WRONG") } else { text.clone() };
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
        println!("{:8.1} GB/s {}: {}", case.bytes() / candidate.ms() * 1e-6, case.name, candidate.name);
    }
    let candidate = &candidates[0];
    let elements = case.bytes() / 4.0;
    ledger.keep(&Record {
        workload: "attention",
        kernel: candidate.name.clone(),
        place: if device.is_simulator() { "simulator" } else { "gpu" },
        dtype: "bf16",
        shape: vec![*sequences, case.length, *heads, *groups, *depth],
        ms: candidate.ms(),
        iters: launches[0] * candidate.times.len(),
        work: roofline::Work { flops: 4.0 * elements * (heads / groups) as f64, bytes: case.bytes() },
        elements,
        unit: "GB/s",
        peer: None,
        steps: None,
        wrong,
        first_wrong: None,
        max_rel_err: found[0],
        spread: candidate.spread(),
    })
}
