//! Times ours beside the peer's, by turns in one process, and keeps the records.
//!
//! Law: every candidate of a contest is measured as often as every other, each round in another order, each sample with
//! a cold L2 cache; a figure is the median.

use crate::progress::Progress;
use layout_cuda::bench;
use layout_cuda::cublas::Blas;
use layout_cuda::{Device, Error, Stream};
use layout_examples::kernels::memory::copy;
use layout_examples::noise::fill;
use layout_examples::record::Record;
use std::cell::RefCell;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A candidate: its name and its call.
pub type Candidate<'a> = (&'a str, &'a mut dyn FnMut() -> std::result::Result<(), Error>);

/// What a check found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Elements out of bound.
    pub wrong: usize,
    /// The largest error over the element's magnitude.
    pub max_rel_err: f64,
    /// The first wrong element.
    pub first: Option<usize>,
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct Work {
    /// What is done: `sum`.
    pub workload: &'static str,
    /// On which elements.
    pub dtype: &'static str,
    /// The sizes.
    pub shape: Vec<usize>,
    /// Bytes read and written, each once.
    pub bytes: f64,
    /// Elements of the input.
    pub elements: f64,
}

/// What is measured on one device.
pub struct Bench {
    pub device: Device,
    pub stream: Stream,
    pub samples: usize,
    pub records: Vec<Record>,
}

impl Bench {
    /// The median time of each candidate, milliseconds.
    pub fn race(&self, candidates: &mut [Candidate<'_>]) -> Result<Vec<f64>> {
        let once = bench::Options { warm_up: 0, samples: 1, calls: 1, flush_l2: true };
        let rounds = if self.device.is_simulator() { 1 } else { self.samples };
        let mut times = vec![Vec::new(); candidates.len()];
        if !self.device.is_simulator() {
            for (_, call) in candidates.iter_mut() {
                call()?;
            }
        }
        let progress = Progress::new(rounds * candidates.len());
        for round in 0..rounds {
            for turn in 0..candidates.len() {
                let at = (turn + round) % candidates.len();
                progress.start(candidates[at].0);
                let timing = bench::time(&self.stream, &once, &mut *candidates[at].1)?;
                times[at].push(timing.median_ms());
                progress.step();
            }
        }
        Ok(times
            .into_iter()
            .map(|mut of| {
                of.sort_by(f64::total_cmp);
                of[of.len() / 2]
            })
            .collect())
    }

    /// Ours beside device copies of as many bytes: the driver's and a kernel's. The better one is the peer.
    pub fn beside_copy(&mut self, work: &Work, found: Found, ours: &mut [Candidate<'_>]) -> Result<()> {
        let elements = ((work.bytes / 8.0) as usize).max(1);
        let mut x = self.stream.zeros::<f32, 1>([elements])?;
        fill(&self.stream, &mut x, 1)?;
        let to = RefCell::new(self.stream.zeros::<f32, 1>([elements])?);
        let stream = self.stream.clone();
        let mut by_driver = || to.borrow_mut().copy_from(&x);
        let mut by_kernel = || copy::launch(&stream, &x, &mut *to.borrow_mut());
        let mut all: Vec<Candidate<'_>> = Vec::new();
        for (name, call) in ours.iter_mut() {
            all.push((name, &mut **call));
        }
        all.push(("copy by the driver", &mut by_driver));
        all.push(("copy by a kernel", &mut by_kernel));
        let times = self.race(&mut all)?;
        let (ours, copies) = times.split_at(all.len() - 2);
        let names: Vec<String> = all.iter().map(|(name, _)| (*name).to_owned()).collect();
        let best = copies[0].min(copies[1]);
        for (name, ms) in names.iter().zip(ours) {
            self.keep(work, found, name, *ms, Some(("best device copy", best)));
        }
        let rate = |ms: f64| work.bytes / ms * 1e-6;
        println!("  copies: driver {:.0} GB/s, kernel {:.0} GB/s", rate(copies[0]), rate(copies[1]));
        Ok(())
    }

    /// Ours beside cuBLAS's dot product of vectors of `n` elements; the peer's time is that of as many bytes as ours.
    pub fn beside_dot(
        &mut self,
        work: &Work,
        found: Found,
        n: usize,
        ours: &mut [Candidate<'_>],
    ) -> Result<()> {
        let (mut x, mut y) = (self.stream.zeros::<f32, 1>([n])?, self.stream.zeros::<f32, 1>([n])?);
        fill(&self.stream, &mut x, 1)?;
        fill(&self.stream, &mut y, 2)?;
        let mut out = self.stream.zeros::<f32, 1>([1])?;
        let blas = if self.device.is_simulator() { None } else { Some(Blas::new(&self.stream)?) };
        let mut dot = || match &blas {
            Some(blas) => Ok(blas.sdot(&x, &y, &mut out)?),
            None => Ok(()),
        };
        let mut all: Vec<Candidate<'_>> = Vec::new();
        for (name, call) in ours.iter_mut() {
            all.push((name, &mut **call));
        }
        all.push(("cublas sdot", &mut dot));
        let times = self.race(&mut all)?;
        let (peer, ours) = times.split_last().ok_or("a contest without candidates")?;
        let names: Vec<String> = all.iter().map(|(name, _)| (*name).to_owned()).collect();
        let same_bytes = peer * work.bytes / (8.0 * n as f64);
        for (name, ms) in names.iter().zip(ours) {
            self.keep(work, found, name, *ms, blas.as_ref().map(|_| ("cublas sdot", same_bytes)));
        }
        println!("  cublas sdot of 2 x {n}: {:.0} GB/s", 8.0 * n as f64 / peer * 1e-6);
        Ok(())
    }

    fn keep(&mut self, work: &Work, found: Found, kernel: &str, ms: f64, peer: Option<(&str, f64)>) {
        let record = Record {
            workload: work.workload,
            kernel: kernel.to_owned(),
            place: if self.device.is_simulator() { "simulator" } else { "gpu" },
            dtype: work.dtype,
            shape: work.shape.clone(),
            ms,
            iters: self.samples,
            work: work.bytes,
            elements: work.elements,
            unit: "GB/s",
            peer: peer.map(|(name, ms)| (name.to_owned(), ms)),
            wrong: found.wrong,
            max_rel_err: found.max_rel_err,
        };
        println!(
            "{:<16} {:<28} {:?}: {:.4} ms, {:.0} GB/s, {:.3} of {}, {} wrong (error {:.2e}{})",
            work.workload,
            kernel,
            work.shape,
            ms,
            record.rate(),
            record.ratio().unwrap_or(f64::NAN),
            peer.map_or("nothing", |(name, _)| name),
            found.wrong,
            found.max_rel_err,
            found.first.map_or(String::new(), |first| format!(", first at {first}")),
        );
        self.records.push(record);
    }
}

/// The parts of `0..n`, a core each: for references that one core would take too long for.
pub fn parallel<T: Send>(n: usize, part: impl Fn(std::ops::Range<usize>) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let size = n.div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let part = &part;
        let handles: Vec<_> = (0..cores)
            .map(|core| scope.spawn(move || part((core * size).min(n)..((core + 1) * size).min(n))))
            .collect();
        // A panic of a part is a panic here.
        handles.into_iter().flat_map(|handle| handle.join()).collect()
    })
}

/// Compares `found[i]` with `wanted(i)`: the value in float64 and the error that is allowed. Of more than 2^30 elements
/// every 16th stretch of 65536, and the last ones.
pub fn compare(found: &[f32], wanted: impl Fn(usize) -> (f64, f64) + Sync) -> Found {
    let n = found.len();
    let parts = parallel(n, |range| {
        let mut all = Found::default();
        for i in range.filter(|i| n <= 1 << 30 || (i >> 16) % 16 == 0 || i + (1 << 20) > n) {
            let (value, bound) = wanted(i);
            let error = (f64::from(found[i]) - value).abs();
            all.add(i, error, bound);
        }
        all
    });
    parts.into_iter().fold(Found::default(), Found::and)
}

impl Found {
    /// Notes the error of an element. The largest is kept in units of 1: callers say what it is relative to.
    pub fn add(&mut self, i: usize, error: f64, bound: f64) {
        if error > bound || error.is_nan() {
            self.wrong += 1;
            self.first = self.first.or(Some(i));
        }
        self.max_rel_err = self.max_rel_err.max(error);
    }

    /// Both.
    pub fn and(self, other: Found) -> Found {
        Found {
            wrong: self.wrong + other.wrong,
            max_rel_err: self.max_rel_err.max(other.max_rel_err),
            first: self.first.or(other.first),
        }
    }
}
