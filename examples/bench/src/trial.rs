//! What the measurements of attention share: operands, options, the errors of samples, and how a case is timed.
//!
//! Law: what is timed was checked before; another set of parameters whose result is wrong is named so.

use super::ledger::Ledger;
use super::noise::noise;
use super::options::{Common, assignments};
use super::race::{Candidate, Length, race};
use super::record::Record;
use super::turns::{ROUND_MS, by_turns};
use super::{Result, parallel};
use clap::Args;
use layout_cuda::{Device, ParamSet, Stream, Tensor, bf16, roofline};

/// The options of `attention`.
#[derive(Args)]
pub struct Options {
    /// Only the cases whose name has this in it; several times for several
    #[arg(long)]
    pub only: Vec<String>,
    /// Other parameters of the kernel to time beside its own, as `BN=160,STAGES=2`; several times for several
    #[arg(long, value_name = "NAME=VALUE,..")]
    pub set: Vec<String>,
    /// By `mma.sync` and asynchronous copies alone, as cards before Hopper run it
    #[arg(long)]
    pub warps: bool,
    /// Waits for `time` and `next` on the standard input
    #[arg(long)]
    pub turns: bool,
}

/// Noise times this has variance one, as a normal variable's.
pub const SPREAD: f32 = 1.732_050_8;
/// Rounds of a case.
pub const ROUNDS: usize = 5;

/// Tensors in memory as batch, row, head, element.
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

    /// Shape and strides of the view as batch, head, row, element.
    pub fn view(&self) -> ([usize; 4], [usize; 4]) {
        let [batches, rows, heads, depth] = self.shape;
        ([batches, heads, rows, depth], [rows * heads * depth, depth, heads * depth, 1])
    }

    /// The number of a row's first element.
    pub fn first(&self, [batch, head]: [usize; 2], row: usize) -> usize {
        let [_, rows, heads, depth] = self.shape;
        ((batch * rows + row) * heads + head) * depth
    }

    pub fn row(&self, at: [usize; 2], row: usize) -> impl Iterator<Item = f64> {
        let first = self.first(at, row);
        self.host[first..first + self.shape[3]].iter().map(|value| f64::from(*value))
    }
}

/// Errors of samples: the largest, the mean, and how many elements are beyond what rounding explains.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errors {
    pub worst: f64,
    sum: f64,
    count: usize,
    pub wrong: usize,
}

impl Errors {
    /// With one element more, and how far it may be off.
    pub fn add(&mut self, found: bf16, exact: f64, room: f64) {
        let error = (f64::from(found) - exact).abs();
        // What is no number is beyond every room.
        let within = error <= room;
        let both = Errors { worst: error, sum: error, count: 1, wrong: usize::from(!within) };
        *self = self.with(both);
    }

    fn with(self, other: Errors) -> Errors {
        Errors {
            worst: self.worst.max(other.worst),
            sum: self.sum + other.sum,
            count: self.count + other.count,
            wrong: self.wrong + other.wrong,
        }
    }

    /// Those of all samples, a core each.
    pub fn of<S: Sync>(samples: &[S], one: impl Fn(&S) -> Errors + Sync) -> Errors {
        let all = parallel(samples.len(), |range| range.map(|at| one(&samples[at])).collect::<Vec<_>>());
        all.into_iter().flatten().fold(Errors::default(), Errors::with)
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// One row of O in float64: `softmax` of the scores times the values, and per element the sum of weights times magnitudes.
pub fn weighted<V: Iterator<Item = f64>>(
    scores: &[f64],
    depth: usize,
    values: impl Fn(usize) -> V,
) -> (Vec<f64>, Vec<f64>) {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut exact, mut size, mut total) = (vec![0.0; depth], vec![0.0; depth], 0.0);
    for (key, score) in scores.iter().enumerate() {
        let weight = (score - most).exp();
        total += weight;
        for (e, value) in values(key).enumerate() {
            exact[e] += weight * value;
            size[e] += weight * value.abs();
        }
    }
    let share = |sums: Vec<f64>| sums.into_iter().map(|sum| sum / total).collect();
    (share(exact), share(size))
}

/// A case of a family: attention, decoding, its backward.
pub trait Case: Sized {
    /// The unit of the table's rates.
    const RATES: &'static str;

    /// The cases, few and small ones on the simulator.
    fn all(small: bool) -> Vec<Self>;

    fn name(&self) -> &str;

    /// Checks and times it.
    fn measure(&self, ledger: &mut Ledger, run: &Run<'_>) -> Result<()>;
}

/// What a run measures on, and what it was asked for.
pub struct Run<'a> {
    pub device: &'a Device,
    pub common: &'a Common,
    pub options: &'a Options,
}

impl Run<'_> {
    /// Measures each case of a family that is asked for, under one table.
    ///
    /// # Errors
    /// A device without memory, a failing launch, and what the standard input and output say.
    pub fn family<C: Case>(&self, ledger: &mut Ledger) -> Result<()> {
        let only = &self.options.only;
        let wanted = |case: &C| only.is_empty() || only.iter().any(|part| case.name().contains(part));
        let cases: Vec<C> = C::all(self.device.is_simulator()).into_iter().filter(wanted).collect();
        let table = !cases.is_empty() && !self.options.turns;
        if table {
            ledger.head(C::RATES);
        }
        for case in &cases {
            case.measure(ledger, self)?;
        }
        if table {
            ledger.foot();
        }
        Ok(())
    }
}

/// A case to time: a launch with any set of parameters, and what is to be said of it.
pub struct Trial<'a> {
    pub name: &'a str,
    /// What the ledger calls it.
    pub kernel: String,
    /// The parameters that the host picks.
    pub own: ParamSet,
    pub launch: &'a dyn Fn(&ParamSet) -> layout_cuda::Result<()>,
    /// Makes what a launch writes no numbers.
    pub poison: &'a dyn Fn() -> layout_cuda::Result<()>,
    /// Of what the last launch wrote.
    pub errors: &'a dyn Fn() -> Result<Errors>,
    /// The case as JSON, its own part.
    pub about: serde_json::Value,
    pub shape: Vec<usize>,
    pub work: roofline::Work,
    pub elements: f64,
    /// `TFLOP/s` or `GB/s`.
    pub unit: &'static str,
}

impl Trial<'_> {
    /// Checks and times the host's parameters, and beside them those of the options.
    ///
    /// # Errors
    /// What the device and the standard input and output say. A launch that is refused is printed: the others are measured all the same.
    pub fn run(self, ledger: &mut Ledger, stream: &Stream, run: &Run<'_>) -> Result<()> {
        let (Trial { name, own, launch, .. }, options) = (&self, run.options);
        (self.poison)()?;
        if let Err(error) = launch(own) {
            println!("{name}: not run: {}", error.to_string().replace('\n', " "));
            return Ok(());
        }
        let found = (self.errors)()?;
        let mut candidates = vec![Candidate::new(self.kernel.clone(), || launch(own))];
        for text in &options.set {
            let assigned = assignments(text, &[])?.into_iter();
            let set = assigned.fold(own.clone(), |set, (name, value)| set.with(name, value));
            (self.poison)()?;
            match launch(&set) {
                Ok(()) => {
                    let wrong = if (self.errors)()?.wrong > 0 { " WRONG" } else { "" };
                    candidates.push(Candidate::new(format!("{text}{wrong}"), move || launch(&set)));
                }
                Err(error) => println!("{name}, {text}: {}", error.to_string().replace('\n', " ")),
            }
        }
        if options.turns {
            return by_turns(stream, name, &mut candidates, self.json(&found));
        }
        let length = Length { rounds: ROUNDS.min(run.common.samples), round_ms: ROUND_MS, least: 1 };
        let launches = race(stream, length, false, &mut candidates)?;
        let record = |candidate: &Candidate<'_>| Record {
            workload: "attention",
            kernel: candidate.name.clone(),
            place: if stream.device().is_simulator() { "simulator" } else { "gpu" },
            dtype: "bf16",
            shape: self.shape.clone(),
            ms: candidate.ms(),
            iters: launches[0] * candidate.times.len(),
            work: self.work,
            elements: self.elements,
            unit: self.unit,
            peer: None,
            steps: None,
            wrong: found.wrong,
            first_wrong: None,
            max_rel_err: found.worst,
            spread: candidate.spread(),
        };
        for other in &candidates[1..] {
            println!("{:8.1} {} {name}: {}", record(other).rate(), self.unit, other.name);
        }
        ledger.keep(&record(&candidates[0]))
    }

    /// The case as a line of JSON.
    fn json(&self, found: &Errors) -> serde_json::Value {
        let mut all = serde_json::json!({
            "case": self.name, "spread": SPREAD, "round_ms": ROUND_MS, "rounds": ROUNDS,
            "worst": found.worst, "mean": found.mean(), "wrong": found.wrong, "beside": null,
        });
        if let (Some(all), serde_json::Value::Object(about)) = (all.as_object_mut(), &self.about) {
            all.extend(about.clone());
        }
        all
    }
}
