//! Products of thirty shapes: what [`Plan`](layout_kernels::product::Plan) picks against the best that a search finds.
//!
//! Law: a pick and its rivals are timed one after the other in the same rounds, the copies of odd operands with them; each
//! rival's product was right before it was timed. A rival that cannot be is left out.

use super::Result;
use super::ledger::Ledger;
use super::options::Common;
use super::record::Record;
use super::tune::{Options, Product, search};
use layout_cuda::roofline::Work;
use layout_cuda::tune::{Problem, Space};
use layout_cuda::{Device, Elem, Element, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, bench, bf16};
use layout_examples::kernels::block_tiled_vectorized;
use layout_kernels::product::{self, Kernel, Workspace, multiply};
use std::cell::RefCell;

/// M, N and K: squares, skinny and tall, few and many tiles, and extents that nothing divides.
const SHAPES: [[usize; 3]; 30] = [
    [512, 512, 512],
    [1024, 1024, 1024],
    [2048, 2048, 2048],
    [3072, 3072, 3072],
    [4096, 4096, 4096],
    [6144, 6144, 6144],
    [8192, 8192, 8192],
    [16, 4096, 4096],
    [64, 8192, 8192],
    [128, 8192, 8192],
    [256, 4096, 4096],
    [512, 11008, 4096],
    [4096, 64, 4096],
    [8192, 128, 8192],
    [16384, 256, 1024],
    [4096, 512, 4096],
    [256, 256, 32768],
    [512, 512, 16384],
    [1024, 1024, 8192],
    [1024, 512, 2048],
    [8192, 1024, 1024],
    [2048, 8192, 512],
    [4096, 11008, 4096],
    [4096, 4096, 11008],
    [1000, 1000, 1000],
    [1023, 1025, 1027],
    [2047, 2049, 2048],
    [4095, 4097, 4093],
    [3001, 5003, 1009],
    [333, 777, 5555],
];

/// Those of the simulator, which has no clock of a GPU: a square and an odd one.
const SMALL: [[usize; 3]; 2] = [[128, 128, 64], [65, 63, 33]];

/// Sets that the search of a shape measures, where `--trials` says no other number.
const TRIALS: usize = 12;

/// Rounds in which the pick and its rivals are timed by turns.
const ROUNDS: usize = 7;

/// A type of operands: how its elements are made and read, its kernels, and the space of the first of them.
struct Kind<T> {
    of: fn(f32) -> T,
    to_f32: fn(T) -> f32,
    /// The rounding of an element of C.
    round: f32,
    /// The kernels, with what their sets have otherwise than the attribute's first.
    rivals: &'static [(Kernel, &'static [(&'static str, i32)])],
    space: Space,
}

/// What is timed: a kernel with a set, or what the plan picks.
struct Rival {
    kernel: Option<Kernel>,
    set: Option<ParamSet>,
    samples: Vec<f64>,
}

impl Rival {
    fn name(&self) -> String {
        match (self.kernel, &self.set) {
            (None, _) => "the plan's pick".to_owned(),
            (Some(kernel), None) => kernel.to_string(),
            (Some(kernel), Some(set)) => format!("{kernel} {}", set.key()),
        }
    }

    fn median_ms(&mut self) -> f64 {
        self.samples.sort_by(f64::total_cmp);
        self.samples.get(self.samples.len() / 2).copied().unwrap_or(f64::INFINITY)
    }
}

/// The kernels in full float32, with what their sets have otherwise than the attribute's first.
const FULL: &[(Kernel, &[(&str, i32)])] = &[
    (Kernel::SgemmFed, &[]),
    (Kernel::SgemmSlicedFed, &[]),
    (Kernel::Sgemm, &[]),
    (Kernel::Own(&block_tiled_vectorized::DEFINITION), &[]),
    (Kernel::Own(&block_tiled_vectorized::DEFINITION), &[("BM", 32), ("BK", 32), ("TN", 4)]),
];

/// Measures products of bf16 and of float32.
///
/// # Errors
/// A device that fails, or a file of records that cannot be read or written.
pub fn run(device: &Device, common: &Common, options: &Options) -> Result<usize> {
    let mut ledger = Ledger::new(device, common)?;
    let stream = device.new_stream()?;
    let half = Kind {
        of: bf16::from_f32,
        to_f32: bf16::to_f32,
        round: 2f32.powi(-8),
        rivals: &[
            (Kernel::Gemm, &[]),
            (Kernel::GemmPair, &[]),
            (Kernel::GemmSplit, &[]),
            (Kernel::GemmSplit, &[("SPLIT", 4)]),
            (Kernel::GemmSplit, &[("SPLIT", 8)]),
            (Kernel::GemmSplit, &[("SPLIT", 4), ("BM", 64)]),
        ],
        space: pipelines(),
    };
    all(&mut ledger, &stream, common, options, &half)?;
    let full = Kind { of: |x| x, to_f32: |x| x, round: 0.0, rivals: FULL, space: fed() };
    all(&mut ledger, &stream, common, options, &full)?;
    Ok(ledger.close())
}

/// Tiles and pipelines of `gemm`.
fn pipelines() -> Space {
    let types = Space::of("T", [Elem::Bf16]).and("U", [Elem::Bf16]).and("A_MODE", [1]).and("B_MODE", [1]);
    let of = |widths: &[i32], stages: &[i32]| {
        let tiles = types.clone().and("BN", widths.to_vec()).and("STAGES", stages.to_vec());
        tiles.and("SLABS", [2, 1]).and("GROUP", [16, 4])
    };
    of(&[256, 192], &[4, 3]).or(of(&[128, 64], &[6, 4, 8]))
}

/// Tiles and stages of `sgemm_fed`.
fn fed() -> Space {
    let of = |slices: &[i32], tiles: &[i32], depths: &[i32]| {
        let tiles = Space::of("SLICES", slices.to_vec()).and("BM", tiles.to_vec()).and("BN", tiles.to_vec());
        tiles
            .and("BK", depths.to_vec())
            .and("WM", [64])
            .and("WN", [64])
            .and("STAGES", [3, 2, 4])
            .and("UNROLL", [4, 2])
    };
    of(&[1], &[128, 64, 256], &[32]).or(of(&[8, 4], &[64], &[128, 64]))
}

/// Every shape of one type.
fn all<T: Element + Sync>(
    ledger: &mut Ledger,
    stream: &Stream,
    common: &Common,
    options: &Options,
    kind: &Kind<T>,
) -> Result<()> {
    let shapes: &[[usize; 3]] = if stream.device().is_simulator() { &SMALL } else { &SHAPES };
    let mut logarithms = 0.0;
    ledger.head("GFLOPS/s");
    for [m, n, k] in shapes {
        let record = one(stream, common, options, kind, [*m, *n, *k])?;
        logarithms += record.ratio().unwrap_or(1.0).ln();
        ledger.keep(&record)?;
    }
    ledger.foot();
    let mean = (logarithms / shapes.len() as f64).exp();
    println!("{}: the best over the pick, geometric mean of {} shapes: {mean:.4}", T::ELEM, shapes.len());
    Ok(())
}

/// One shape: the search, then the pick, what was found and the other kernels by turns.
fn one<T: Element + Sync>(
    stream: &Stream,
    common: &Common,
    options: &Options,
    kind: &Kind<T>,
    shape: [usize; 3],
) -> Result<Record> {
    let (first, _) = kind.rivals[0];
    let kernel = RefCell::new(Some(first));
    let mut workspace = Workspace::<T, T>::default();
    let launch = |config: LaunchConfig<'_>, stream: &Stream, a: &Tensor<T, 2>, b: &_, c: &mut _| {
        let options = product::Options { kernel: *kernel.borrow(), config, ..product::Options::default() };
        multiply(stream, options, &mut workspace, a, b, c)
    };
    let mut problem = Product::new(stream, shape, kind.of, kind.to_f32, kind.round, launch)?;
    let budget = options.or_trials(TRIALS);
    let found = search(stream, common, &budget, (first.definition(), kind.space.clone()), &mut problem)?;
    let tuned = found.best().map(|(set, _)| set.clone());
    let rival = |kernel, set| Rival { kernel, set, samples: vec![] };
    let mut rivals = vec![rival(None, None)];
    rivals.extend(tuned.map(|set| rival(Some(first), Some(set))));
    rivals.extend(kind.rivals.iter().map(|(kernel, changes)| {
        let own = kernel
            .sets()
            .find(|own| own.iter().all(|(name, value)| *name != "T" || *value == ParamValue::Type(T::ELEM)));
        let own = ParamSet(
            own.unwrap_or_default().iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        );
        let set = changes.iter().fold(own, |set, (name, value)| set.with(name, (*value).into()));
        rival(Some(*kernel), Some(set).filter(|_| !changes.is_empty()))
    }));
    let mut wrong = 0;
    rivals.retain(|rival| {
        kernel.replace(rival.kernel);
        let config = LaunchConfig { set: rival.set.as_ref(), ..LaunchConfig::default() };
        let right =
            problem.spoil().is_ok() && problem.launch(stream, config).is_ok() && stream.synchronize().is_ok();
        let checked = right && problem.check().is_ok();
        wrong += usize::from(right && !checked);
        checked
    });
    // The others are measured against it.
    if rivals.first().is_none_or(|first| first.kernel.is_some()) {
        let [m, n, k] = shape;
        return Err(format!(
            "{m} x {n} x {k}, {}: what the plan picks is wrong, or cannot be launched",
            T::ELEM
        )
        .into());
    }
    let flops = 2.0 * shape.iter().map(|extent| *extent as f64).product::<f64>();
    // About as many calls in a sample as take a millisecond.
    let calls = (1e12 / flops / 4.0).clamp(1.0, 50.0) as usize;
    let timing = bench::Options { warm_up: 1, samples: 3, calls, flush_l2: false };
    let rounds = if stream.device().is_simulator() { 1 } else { ROUNDS };
    for _ in 0..rounds {
        for rival in &mut rivals {
            kernel.replace(rival.kernel);
            let config = LaunchConfig { set: rival.set.as_ref(), ..LaunchConfig::default() };
            let time = bench::time(stream, &timing, || problem.launch(stream, config))?;
            rival.samples.push(time.median_ms());
        }
    }
    let medians: Vec<f64> = rivals.iter_mut().map(Rival::median_ms).collect();
    let pick_ms = medians.first().copied().unwrap_or(f64::INFINITY);
    let best = (0..rivals.len()).min_by(|a, b| medians[*a].total_cmp(&medians[*b])).unwrap_or(0);
    let [m, n, k] = shape;
    let bytes = (size_of::<T>() * (m * k + k * n + m * n)) as f64;
    Ok(Record {
        workload: "shapes",
        kernel: format!("{m} x {n} x {k} {}", rivals.get(best).map_or(String::new(), Rival::name)),
        place: if stream.device().is_simulator() { "simulator" } else { "gpu" },
        dtype: if T::ELEM == Elem::F32 { "f32" } else { "bf16" },
        shape: shape.to_vec(),
        ms: medians.get(best).copied().unwrap_or(f64::INFINITY),
        iters: ROUNDS * timing.samples * calls,
        work: Work { flops, bytes },
        elements: (m * n) as f64,
        unit: "TFLOP/s",
        peer: Some(("the plan's pick".to_owned(), pick_ms)),
        steps: None,
        wrong,
        first_wrong: None,
        // Each product was compared with the naive one; how far it was is not kept.
        max_rel_err: f64::NAN,
        spread: None,
    })
}
