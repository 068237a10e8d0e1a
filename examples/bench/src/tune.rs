//! Kernels of the repository as problems of a tuner, and their spaces.
//!
//! Law: a set's result is compared with the float64 sum, or with the naive kernel's product, element by element, before it is timed.

use super::noise::{fill, noise};
use super::options::Common;
use super::progress::Progress;
use super::{Result, parallel};
use clap::{Args, ValueEnum};
use layout_cuda::tune::{Budget, Outcome, Problem, Search, Space, Tuner};
use layout_cuda::{
    Definition, Device, Elem, Element, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, bench, bf16,
};
use layout_examples::kernels::{block_tiled_vectorized, naive, scheduled};
use layout_kernels::kernels::gemm::gemm;
use layout_kernels::kernels::memory;
use std::path::PathBuf;

/// What can be tuned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// The 36 schedules of a tutorial: tiles of 8, 16, 32, of 8 or 16 along K, with vectors or without
    Schedule,
    /// The ladder's kernel of register tiles and vectors, float32
    Matmul,
    /// The persistent product by wgmma, bf16 by rows
    Gemm,
    /// The first kernel of the sum of a vector
    Sum,
    /// Products of thirty shapes, bf16 and float32: what the host's plan picks against a search of each
    Shapes,
}

/// The options of `tune`.
#[derive(Args, Clone)]
pub struct Options {
    /// What to tune
    workload: Workload,
    /// M, N and K of a product, or the length of a vector
    #[arg(long, num_args = 1..=3, value_parser = extent)]
    size: Vec<usize>,
    /// How to search
    #[arg(long, value_enum, default_value_t = How::Guided)]
    search: How,
    /// The seed of the search
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measures at most so many sets
    #[arg(long)]
    trials: Option<usize>,
    /// Searches at most so many seconds
    #[arg(long)]
    seconds: Option<f64>,
    /// Reads what this file knows, and adds each trial to it
    #[arg(long)]
    records: Option<PathBuf>,
}

/// A number of elements, of which there is one at least.
fn extent(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("nothing can be timed of no element; 1 is the least".into()),
        Ok(extent) => Ok(extent),
        Err(error) => Err(format!("{error}")),
    }
}

impl Options {
    /// The same with so many trials, where they say no other number.
    pub(super) fn or_trials(&self, trials: usize) -> Options {
        Options { trials: self.trials.or(Some(trials)), ..self.clone() }
    }
}

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// Every set; then also what other searches would have found
    All,
    /// At random
    Random,
    /// By an estimate and a regression
    Guided,
}

/// Searches, and prints what was found.
///
/// # Errors
/// A device that fails, or a file of records that cannot be read or written.
pub fn run(device: &Device, common: &Common, options: &Options) -> Result<usize> {
    let stream = device.new_stream()?;
    let small = device.is_simulator();
    let size = |usual: &[usize], little: &[usize]| match options.size.as_slice() {
        [] if small => little.to_vec(),
        [] => usual.to_vec(),
        own => own.to_vec(),
    };
    let outcome = match options.workload {
        Workload::Shapes => return super::shapes::run(device, common, options),
        Workload::Schedule => {
            let shape = three(&size(&[1024, 512, 2048], &[64, 64, 32]))?;
            let launch = scheduled::launch_with;
            let mut problem = Product::new(&stream, shape, |x: f32| x, |x| x, 0.0, launch)?;
            search(&stream, common, options, (&scheduled::DEFINITION, schedules()), &mut problem)?
        }
        Workload::Matmul => {
            let shape = three(&size(&[4096, 4096, 4096], &[64, 64, 64]))?;
            let launch = block_tiled_vectorized::launch_with;
            let mut problem = Product::new(&stream, shape, |x: f32| x, |x| x, 0.0, launch)?;
            let kernel = &block_tiled_vectorized::DEFINITION;
            search(&stream, common, options, (kernel, register_tiles()), &mut problem)?
        }
        Workload::Gemm => {
            let shape = three(&size(&[4096, 4096, 4096], &[256, 256, 128]))?;
            let round = 2f32.powi(-8);
            let launch = gemm::launch_with;
            let mut problem = Product::new(&stream, shape, bf16::from_f32, bf16::to_f32, round, launch)?;
            search(&stream, common, options, (&gemm::DEFINITION, pipelines()), &mut problem)?
        }
        Workload::Sum => {
            let len = size(&[1 << 28], &[100_000])[0];
            let mut problem = Sum::new(&stream, len)?;
            search(&stream, common, options, (&memory::sum_of_parts::DEFINITION, sums()), &mut problem)?
        }
    };
    println!("{outcome}");
    if options.search == How::All {
        shares(&outcome);
    }
    Ok(outcome.trials.iter().filter(|trial| matches!(trial.fate, layout_cuda::tune::Fate::Wrong(_))).count())
}

fn three(size: &[usize]) -> Result<[usize; 3]> {
    <[usize; 3]>::try_from(size)
        .map_err(|_| format!("a product has M, N and K; {size:?} are {}", size.len()).into())
}

/// One search, as the options say.
pub(super) fn search(
    stream: &Stream,
    common: &Common,
    options: &Options,
    (definition, space): (&'static Definition, Space),
    problem: &mut dyn Problem,
) -> Result<Outcome> {
    let bar = Progress::new(space.sets().len());
    let timing =
        bench::Options { warm_up: 1, samples: common.samples.clamp(3, 9), calls: 1, flush_l2: false };
    let mut tuner = Tuner::new(definition)
        .space(space)
        .timing(timing)
        .search(match options.search {
            How::All => Search::All,
            How::Random => Search::Random(options.seed),
            How::Guided => Search::Guided(options.seed),
        })
        .budget(Budget {
            trials: options.trials.unwrap_or(usize::MAX),
            seconds: options.seconds.unwrap_or(f64::INFINITY),
        })
        .progress(move |_, _, best| {
            bar.start(&format!("best {best:.4} ms"));
            bar.step();
        });
    if let Some(path) = &options.records {
        tuner = tuner.records(path);
    }
    Ok(tuner.run(stream, problem)?)
}

/// The 36 schedules.
fn schedules() -> Space {
    let tiles = [16, 8, 32];
    Space::of("TX", tiles).and("TY", tiles).and("TK", [8, 16]).and("VECTOR", [false, true])
}

fn number(set: &ParamSet, name: &str) -> i64 {
    match set.get(name) {
        Some(ParamValue::Int(value)) => value,
        _ => 0,
    }
}

fn register_tiles() -> Space {
    Space::of("BM", [128, 64, 32, 256])
        .and("BN", [128, 64, 32, 256])
        .and("BK", [16, 8, 32])
        .and("TM", [8, 4, 16])
        .and("TN", [8, 4, 16])
        .filter(|set| {
            let [bm, bn, bk, tm, tn] = ["BM", "BN", "BK", "TM", "TN"].map(|name| number(set, name));
            let threads = bm * bn / (tm * tn);
            // Each thread has the same share of a copy.
            (64..=512).contains(&threads)
                && threads % (bn / 4) == 0
                && bm * bk / 4 % threads == 0
                && bk * bn / 4 % threads == 0
        })
}

fn pipelines() -> Space {
    Space::of("T", [Elem::Bf16])
        .and("U", [Elem::Bf16])
        .and("A_MODE", [1])
        .and("B_MODE", [1])
        .and("BN", [256, 192, 128, 64])
        .and("STAGES", [4, 3, 2, 5])
        .and("SLABS", [2, 1])
        .and("GROUP", [16, 1, 4, 8])
        .and("DIRECT", [false, true])
}

fn sums() -> Space {
    Space::of("P", [1056, 132, 264, 396, 528, 792, 1584, 2112, 2640])
        .and("THREADS", [256, 64, 128, 512, 1024])
        .and("ROUNDS", [4, 1, 2, 3, 6, 8])
}

/// C = A B, with the naive kernel's product beside it.
pub(super) struct Product<T: Element, L> {
    a: Tensor<T, 2>,
    b: Tensor<T, 2>,
    c: Tensor<T, 2>,
    wanted: Vec<f32>,
    to_f32: fn(T) -> f32,
    /// The rounding of an element of C.
    round: f32,
    launch: L,
}

impl<T: Element + Sync, L> Product<T, L> {
    pub(super) fn new(
        stream: &Stream,
        [m, n, k]: [usize; 3],
        of: fn(f32) -> T,
        to_f32: fn(T) -> f32,
        round: f32,
        launch: L,
    ) -> Result<Product<T, L>> {
        let make = |len: usize, seed: u32| -> Vec<T> {
            parallel(len, |part| part.map(|i| of(noise(i, seed))).collect::<Vec<T>>()).concat()
        };
        let (a, b) = (make(m * k, 1), make(k * n, 2));
        let floats = |values: &[T]| -> Vec<f32> { values.iter().map(|value| to_f32(*value)).collect() };
        let (wide_a, wide_b) = (stream.upload(&floats(&a), [m, k])?, stream.upload(&floats(&b), [k, n])?);
        let mut c = stream.zeros::<f32, 2>([m, n])?;
        naive::launch(stream, &wide_a, &wide_b, &mut c)?;
        let wanted = c.download()?;
        let (a, b) = (stream.upload(&a, [m, k])?, stream.upload(&b, [k, n])?);
        Ok(Product { a, b, c: stream.zeros([m, n])?, wanted, to_f32, round, launch })
    }
}

impl<T, L> Problem for Product<T, L>
where
    T: Element + Sync,
    L: FnMut(
        LaunchConfig<'_>,
        &Stream,
        &Tensor<T, 2>,
        &Tensor<T, 2>,
        &mut Tensor<T, 2>,
    ) -> layout_cuda::Result<()>,
{
    fn launch(&mut self, stream: &Stream, config: LaunchConfig<'_>) -> layout_cuda::Result<()> {
        (self.launch)(config, stream, &self.a, &self.b, &mut self.c)
    }

    fn spoil(&mut self) -> layout_cuda::Result<()> {
        self.c.poison()
    }

    fn check(&mut self) -> std::result::Result<(), String> {
        let c = self.c.download().map_err(|error| error.to_string())?;
        let ([_, n], [_, k]) = (self.c.shape(), self.a.shape());
        // Two sums of k products of numbers below 1, in other orders: the error of each is below k^2 2^-24 at worst, and at
        // random near sqrt(k) of that.
        let depth = 8.0 * (k as f32).sqrt() * (k as f32).sqrt() * 2f32.powi(-24);
        let (to_f32, round, wanted) = (self.to_f32, self.round, &self.wanted);
        let wrong = |part: std::ops::Range<usize>| {
            let mut part = part;
            part.find(|i| {
                let (own, wanted) = (to_f32(c[*i]), wanted[*i]);
                // NaN is wrong, too.
                let far = (own - wanted).abs();
                far.is_nan() || far > depth + round * wanted.abs()
            })
        };
        match parallel(c.len(), wrong).into_iter().flatten().next() {
            Some(i) => Err(format!("element ({}, {}) is {}, not {}", i / n, i % n, to_f32(c[i]), wanted[i])),
            None => Ok(()),
        }
    }
}

/// The sum of a vector in parts.
struct Sum {
    x: Tensor<f32, 1>,
    parts: Tensor<f32, 1>,
    count: usize,
    wanted: f64,
}

impl Sum {
    fn new(stream: &Stream, len: usize) -> Result<Sum> {
        let mut x = stream.zeros::<f32, 1>([len])?;
        fill(stream, &mut x, 7)?;
        let wanted = parallel(len, |part| part.map(|i| f64::from(noise(i, 7))).sum::<f64>()).iter().sum();
        Ok(Sum { x, parts: stream.zeros([4096])?, count: 0, wanted })
    }
}

impl Problem for Sum {
    fn launch(&mut self, stream: &Stream, config: LaunchConfig<'_>) -> layout_cuda::Result<()> {
        self.count = config.set.map_or(1056, |set| number(set, "P") as usize);
        let mut parts = self.parts.part_mut(0, [self.count], [1])?;
        memory::sum_of_parts::launch_with(config, stream, &self.x, &mut parts)
    }

    fn spoil(&mut self) -> layout_cuda::Result<()> {
        self.parts.poison()
    }

    fn check(&mut self) -> std::result::Result<(), String> {
        let parts = self.parts.download().map_err(|error| error.to_string())?;
        let sum: f64 = parts[..self.count].iter().map(|part| f64::from(*part)).sum();
        // Compensated sums in each thread, then a few levels of float32.
        let bound = 1e-6 * (self.x.len() as f64).sqrt() + 1e-3;
        if (sum - self.wanted).abs() <= bound { Ok(()) } else { Err(format!("{sum}, not {}", self.wanted)) }
    }
}

/// After how many trials each search would have had a share of the best.
fn shares(outcome: &Outcome) {
    let timed = outcome.trials.iter().filter(|trial| trial.fate.ms().is_some()).count();
    let reached =
        |shares: &[f64], share: f64| shares.iter().position(|own| *own >= share).map_or(timed, |at| at + 1);
    println!("\n  of {timed} sets, trials until the share of the best (mean of 20 seeds):");
    println!("  {:<10} {:>8} {:>8} {:>8} {:>8}", "search", "0.90", "0.95", "0.98", "1.00");
    type Seeded = fn(u64) -> Search;
    let searches: [(&str, Seeded); 2] = [("guided", Search::Guided), ("random", Search::Random)];
    for (name, search) in searches {
        let runs: Vec<Vec<f64>> = (1..=20).map(|seed| outcome.replay(search(seed))).collect();
        let mean = |share: f64| {
            runs.iter().map(|shares| reached(shares, share) as f64).sum::<f64>() / runs.len() as f64
        };
        let [a, b, c, d] = [0.9, 0.95, 0.98, 1.0].map(mean);
        println!("  {name:<10} {a:>8.1} {b:>8.1} {c:>8.1} {d:>8.1}");
    }
}
