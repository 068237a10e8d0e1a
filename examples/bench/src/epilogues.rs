//! Products with epilogues: each checked against float64 on sampled elements and timed, alone or by turns with PyTorch's (`peers.py`).
//!
//! Law: what is timed was checked before.

use super::ledger::Ledger;
use super::noise::noise;
use super::options::Common;
use super::race::{Candidate, Length, race};
use super::record::Record;
use super::trial::SPREAD;
use super::turns::{ROUND_MS, by_turns};
use super::{Result, parallel};
use clap::Args;
use layout_cuda::{Device, E4m3, Element, Stream, Tensor, bf16, roofline};
use layout_kernels::product::{
    Epilogue, Kernel, Machine, Options as How, Workspace, multiply, multiply_then_by,
};

/// The options of `epilogues`.
#[derive(Args)]
pub struct Options {
    /// Only the cases whose name has this in it
    #[arg(long)]
    only: Option<String>,
    /// By `mma.sync` alone, as a card without Hopper's units runs it
    #[arg(long)]
    warps: bool,
    /// Waits for `time` and `next` on the standard input
    #[arg(long)]
    turns: bool,
}

/// What is done beside the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    BiasGelu,
    Plus,
    SiluTimes,
    ToE4m3,
    Int8,
}

const KINDS: [(&str, Kind); 6] = [
    ("bf16", Kind::Plain),
    ("bf16 bias gelu", Kind::BiasGelu),
    ("bf16 plus", Kind::Plus),
    ("bf16 silu times", Kind::SiluTimes),
    ("bf16 to e4m3", Kind::ToE4m3),
    ("i8 scales", Kind::Int8),
];
/// Elements of C that are checked.
const SAMPLES: usize = 4096;

/// A matrix of noise: its values as the kernel has them.
struct Noise<T: Element> {
    host: Vec<T>,
    on_device: Tensor<T, 2>,
}

impl<T: Element> Noise<T> {
    fn new(
        device: &Device,
        shape: [usize; 2],
        strides: [usize; 2],
        seed: u32,
        round: fn(f32) -> T,
    ) -> Result<Self> {
        let of = |range: std::ops::Range<usize>| range.map(|i| round(noise(i, seed))).collect::<Vec<_>>();
        let host = parallel(shape[0] * shape[1], of).concat();
        let on_device = device.upload_strided(&host, shape, strides)?;
        Ok(Noise { host, on_device })
    }
}

/// Measures what is asked for.
///
/// # Errors
/// A device without memory, a failing launch, and what the standard input and output say.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common, options: &Options) -> Result<()> {
    let sides: &[usize] = if device.is_simulator() { &[130] } else { &[4096, 8192] };
    if !options.turns {
        ledger.head("GFLOPS/s");
    }
    let kernel = if options.warps { Kernel::GemmMma } else { Kernel::with_epilogues(Machine::of(device)) };
    for side in sides {
        for (name, kind) in KINDS {
            let name = format!("{name} {side}{}", if options.warps { ", mma.sync" } else { "" });
            if options.only.as_ref().is_none_or(|part| name.contains(part)) {
                match kind {
                    Kind::Int8 => int8(ledger, device, common, kernel, (&name, *side, options.turns))?,
                    _ => floats(ledger, device, common, kernel, (&name, kind, *side, options.turns))?,
                }
            }
        }
    }
    if !options.turns {
        ledger.foot();
    }
    Ok(())
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh())
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// The largest error of sampled elements over what is allowed, and how many are beyond; `wanted` gives the value and the allowed error.
fn judge(
    side: usize,
    found: impl Fn(usize) -> f64 + Sync,
    wanted: impl Fn(usize, usize) -> (f64, f64) + Sync,
) -> (f64, usize) {
    let parts = parallel(SAMPLES, |range| {
        range.fold((0.0f64, 0), |(worst, wrong), at| {
            let [row, column] = [at * 7919 % side, at * 104_729 % side];
            let (value, bound) = wanted(row, column);
            let error = (found(row * side + column) - value).abs();
            // NaN is not within.
            let within = error <= bound;
            (worst.max(error), wrong + usize::from(!within))
        })
    });
    parts.into_iter().fold((0.0, 0), |(worst, wrong), (w, n)| (worst.max(w), wrong + n))
}

fn floats(
    ledger: &mut Ledger,
    device: &Device,
    common: &Common,
    kernel: Kernel,
    (name, kind, side, turns): (&str, Kind, usize, bool),
) -> Result<()> {
    let rows = [side, 1];
    let matrix = |seed| Noise::new(device, [side; 2], rows, seed, |x| bf16::from_f32(x * SPREAD));
    let (a, b, d) = (matrix(1)?, matrix(2)?, matrix(3)?);
    let bias = device.upload(&d.host[..side], [side])?;
    let stream = device.stream();
    let sum = |row: usize, column: usize| -> (f64, f64) {
        let pair = |k: usize| f64::from(a.host[row * side + k]) * f64::from(b.host[k * side + column]);
        ((0..side).map(pair).sum(), (0..side).map(|k| pair(k).abs()).sum::<f64>() * 1e-6)
    };
    // The sums are about sqrt(K): a scale brings them to where the functions bend, as weights of a model do. Here they are as they are.
    let wanted = |row: usize, column: usize| -> (f64, f64) {
        let ((x, slack), other) = (sum(row, column), f64::from(d.host[row * side + column]));
        let value = match kind {
            Kind::BiasGelu => gelu(x + f64::from(d.host[column])),
            Kind::Plus => x + other,
            Kind::SiluTimes => silu(x) * other,
            Kind::ToE4m3 => x / 4.0,
            _ => x,
        };
        let bits = if kind == Kind::ToE4m3 { 1.0 / 16.0 } else { 1.0 / 256.0 };
        // The tangent is an approximation of 11 bits.
        (value, value.abs() * bits + x.abs() * 2f64.powi(-11) + slack + 2e-3)
    };
    if kind == Kind::ToE4m3 {
        let mut c = device.zeros::<E4m3, 2>([side; 2])?;
        let mut workspace = Workspace::default();
        let mut launch = |c: &mut Tensor<E4m3, 2>| {
            let epilogue = Epilogue::<f32>::Scaled(0.25);
            multiply_then_by(kernel, &stream, epilogue, &mut workspace, &a.on_device, &b.on_device, c)
        };
        launch(&mut c)?;
        let host = c.download()?;
        let found = judge(
            side,
            |at| f64::from(host[at].to_f32()).clamp(-448.0, 448.0),
            |r, k| {
                let (value, bound) = wanted(r, k);
                (value.clamp(-448.0, 448.0), bound)
            },
        );
        let candidate = Candidate::new(name, || launch(&mut c));
        return keep(ledger, common, &stream, (name, side, turns, "bf16"), found, candidate);
    }
    let mut c = device.zeros::<bf16, 2>([side; 2])?;
    let mut workspace = Workspace::default();
    let mut launch = |c: &mut Tensor<bf16, 2>| {
        let (a, b) = (&a.on_device, &b.on_device);
        let epilogue = match kind {
            Kind::Plain if kernel == Kernel::GemmMma => {
                return multiply(&stream, kernel, &mut workspace, a, b, c);
            }
            Kind::Plain => return multiply(&stream, How::default(), &mut workspace, a, b, c),
            Kind::BiasGelu => Epilogue::BiasGelu(&bias),
            Kind::Plus => Epilogue::Plus(&d.on_device, 1.0),
            _ => Epilogue::SiluTimes(&d.on_device),
        };
        multiply_then_by(kernel, &stream, epilogue, &mut workspace, a, b, c)
    };
    launch(&mut c)?;
    let host = c.download()?;
    let found = judge(side, |at| f64::from(host[at]), wanted);
    let candidate = Candidate::new(name, || launch(&mut c));
    keep(ledger, common, &stream, (name, side, turns, "bf16"), found, candidate)
}

fn int8(
    ledger: &mut Ledger,
    device: &Device,
    common: &Common,
    kernel: Kernel,
    (name, side, turns): (&str, usize, bool),
) -> Result<()> {
    let round = |x: f32| (x * 127.0).round() as i8;
    let a = Noise::new(device, [side; 2], [side, 1], 1, round)?;
    let b = Noise::new(device, [side; 2], [1, side], 2, round)?;
    let scale = |seed: u32| (0..side).map(|i| noise(i, seed).abs() + 0.5).collect::<Vec<f32>>();
    let (of_rows, of_columns) = (scale(4), scale(5));
    let (rows, columns) = (device.upload(&of_rows, [side])?, device.upload(&of_columns, [side])?);
    let stream = device.stream();
    let mut c = device.zeros::<bf16, 2>([side; 2])?;
    let mut workspace = Workspace::default();
    let mut launch = |c: &mut Tensor<bf16, 2>| {
        let scales = Epilogue::ScaledBoth(&rows, &columns);
        multiply_then_by(kernel, &stream, scales, &mut workspace, &a.on_device, &b.on_device, c)
    };
    launch(&mut c)?;
    let host = c.download()?;
    let found = judge(
        side,
        |at| f64::from(host[at]),
        |row, column| {
            let pair = |k: usize| i64::from(a.host[row * side + k]) * i64::from(b.host[column * side + k]);
            let sum = (0..side).map(pair).sum::<i64>() as f64;
            let value = sum * f64::from(of_rows[row]) * f64::from(of_columns[column]);
            (value, value.abs() / 255.0)
        },
    );
    let candidate = Candidate::new(name, || launch(&mut c));
    keep(ledger, common, &stream, (name, side, turns, "i8"), found, candidate)
}

fn keep(
    ledger: &mut Ledger,
    common: &Common,
    stream: &Stream,
    (name, side, turns, dtype): (&str, usize, bool, &'static str),
    (worst, wrong): (f64, usize),
    candidate: Candidate<'_>,
) -> Result<()> {
    let flops = 2.0 * (side as f64).powi(3);
    let mut candidates = [candidate];
    if turns {
        let about = serde_json::json!({
            "product": name, "case": name, "side": side, "flops": flops, "spread": SPREAD, "beside": format!("bf16 {side}"),
            "round_ms": ROUND_MS, "rounds": 7, "worst": worst, "mean": 0.0, "wrong": wrong,
        });
        return by_turns(stream, name, &mut candidates, about);
    }
    let length = Length { rounds: 5.min(common.samples), round_ms: ROUND_MS, least: 1 };
    let launches = race(stream, length, false, &mut candidates)?;
    let [candidate] = &candidates;
    ledger.keep(&Record {
        workload: "epilogues",
        kernel: candidate.name.clone(),
        place: if stream.device().is_simulator() { "simulator" } else { "gpu" },
        dtype,
        shape: vec![side; 3],
        ms: candidate.ms(),
        iters: launches[0] * candidate.times.len(),
        work: roofline::Work { flops, bytes: 6.0 * (side as f64).powi(2) },
        elements: (side as f64).powi(2),
        unit: "TFLOP/s",
        peer: None,
        steps: None,
        wrong,
        first_wrong: None,
        max_rel_err: worst,
        spread: candidate.spread(),
    })
}
